"""Published tables, measured again: one file per paper, and RESULTS.md with its plots."""
