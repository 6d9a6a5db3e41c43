"""Published tables, measured again: one file a paper, and RESULTS.md with its plots."""
