"""Systems against systems: which is better, how sure we are, and where."""
