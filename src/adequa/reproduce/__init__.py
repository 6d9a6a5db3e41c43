"""Published tables, measured again: one file a table."""
