"""The pairwise neural ranker: which of two hypotheses is better?"""
