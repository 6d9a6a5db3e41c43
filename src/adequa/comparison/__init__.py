"""Systems against systems: which is better, and how sure we are."""
