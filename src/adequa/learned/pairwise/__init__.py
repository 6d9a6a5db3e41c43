"""The pairwise neural ranker (Guzmán et al., 2015): which of two hypotheses is better?

metric          the metric that users fit, save, load and rank with
network         the forward pass, its gradient, and the logistic and the Kendall cost
inputs          scores and vectors of hypotheses and references, and their scaling
data            preferences, split by use
train           AdaGrad and early stopping, for the shared training loop
"""
