"""SVR and RUSE (Shimanaka et al., 2018): regressors over sentence embeddings.

metric          the metric that users fit, save, load and score with
features        the features of a hypothesis and a reference
svr             support vector regression, and the search over its grid
mlp             the multi-layer perceptron of RUSE: network, loss, training and grid search
"""
