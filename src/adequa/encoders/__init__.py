"""Encoders: sentences to vectors.

base, registry          the contract, and encoders by name
transformer             Hugging Face encoders; transformer_files finds and loads them
word_vectors            means of GloVe or word2vec vectors; word_vector_files reads them
skip_thought, infersent, quick_thought
                        the published recurrent encoders; recurrent has what they share
precomputed             vectors from a file
matching, surface       features of a hypothesis and a reference together
syntax, parses          features of dependency trees, and parsers
tokens, token_vectors   tokenization, and vectors of the words of trees
cached                  any encoder with its vectors cached on disk
converters              commands that convert published weights
"""
