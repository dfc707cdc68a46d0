"""Disclosure risk of a table of counts, before and after protection.

Everything here is for the custodian except `public_quality` and `public_gate`, which take the
released table and the description of the method alone.
"""
