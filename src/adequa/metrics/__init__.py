"""Metrics: the contract, the registry and one lexical metric a file."""
