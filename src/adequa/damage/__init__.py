"""Perturbations: a good English sentence becomes one that any person would rate lower.

`registry.py` names the kinds, `damage.py` applies them to many texts, and each other file holds
the kinds of one subject.
"""
