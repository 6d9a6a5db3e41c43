"""Learned metrics: one published system a file."""
