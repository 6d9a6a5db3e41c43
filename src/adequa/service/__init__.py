"""Service: scores, comparisons and rankings over HTTP, and a web page."""
