"""Published tables, measured again, and tables of our own: one file a table or a kind of them."""
