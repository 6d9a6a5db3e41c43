"""Encoders: sentences to vectors.

base, registry          the contract, encoders with cached vectors, and encoders by name
transformer             Hugging Face encoders; transformer_files finds, loads and tokenizes
word_vectors            means of GloVe or word2vec vectors; word_vector_files reads them
published               Skip-Thought, InferSent and Quick-Thought; recurrent has what they share
converters              a command that converts published weights
precomputed             vectors from a file
matching, surface       features of a hypothesis and a reference together
syntax, parses          features of dependency trees, and parsers
token_vectors           vectors of the words of trees
device                  the device that networks run on
"""
