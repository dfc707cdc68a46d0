"""Methods that draw a whole table at once."""
