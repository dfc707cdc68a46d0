"""Controlled tabular adjustment: sensitive cells moved to safety, everything still additive."""
