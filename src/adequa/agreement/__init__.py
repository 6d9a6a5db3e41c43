"""Metrics against judgements: protocols, tables, and how sure we are of them."""
