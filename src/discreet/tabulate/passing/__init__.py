"""Who passes the filters of a question."""
