"""Methods that change each cell by itself."""
