"""The desk: an expert works on a table of their own."""
