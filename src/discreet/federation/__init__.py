"""Several offices, one table: a hub whose data live at sites; see docs/federation.md."""
