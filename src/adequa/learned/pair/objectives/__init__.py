"""What the pair regressor can learn from."""
