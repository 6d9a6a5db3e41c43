"""Meta-evaluation: agreement of metrics with human judgements, error analysis and robustness."""
