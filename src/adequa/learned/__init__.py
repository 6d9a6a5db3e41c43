"""Learned metrics: a folder for each published system, and what they share.

embedding       SVR and RUSE: regression over sentence embeddings (Shimanaka et al., 2018)
pair            the BERT pair regressor (Shimanaka et al., 2019)
reval           ReVal: a Tree-LSTM over dependency trees (Gupta et al., 2015)
pairwise        the pairwise neural ranker (Guzmán et al., 2015)
packed          a pair regressor as an ONNX model that runs without PyTorch
blend, ensemble metrics over the scores of other metrics

base            the class that all learned metrics extend: fit, save, load
training        the training loop of all networks; checkpoints stores its state
folds           held-out data
saved, cards    restoring a saved metric, and its model card
"""
