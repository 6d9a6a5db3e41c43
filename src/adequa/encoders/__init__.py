"""Encoders: the contract, the registry and one encoder a file."""
