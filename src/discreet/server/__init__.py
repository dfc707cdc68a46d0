"""The API over HTTP, with the pages mounted beside it."""
