"""Explanations of scores: what each difference from the reference costs."""
