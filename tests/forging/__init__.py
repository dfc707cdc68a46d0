"""What somebody could do to a file, format by format."""
