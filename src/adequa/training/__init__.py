"""Training: folds, grid search and what else learns from judgements."""
