"""Controlled tabular adjustment: sensitive cells moved away, the others as little as possible."""
