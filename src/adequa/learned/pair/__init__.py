"""The pair regressor: BERT reads hypothesis and reference together."""
