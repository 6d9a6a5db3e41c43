"""Service: scores, comparisons and rankings over HTTP, and a page for people."""
