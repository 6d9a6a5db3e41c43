"""ReVal (Gupta et al., 2015): a Tree-LSTM composes two sentences, and a network compares them.

metric          the metric that users fit, save, load and score with
network         the equations: composition, comparison and loss
forest          trees as arrays, and their nodes by level
words           word vectors
data            ratings and preferences as similarities from 1 to 5
train           settings, batches and evaluation, for the shared training loop
"""
