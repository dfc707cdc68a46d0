"""Methods on records, before any table is made."""
