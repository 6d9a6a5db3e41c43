"""The pair regressor (Shimanaka et al., 2019): BERT reads hypothesis and reference together.

metric          the metric that users fit, save, load and score with; its model card
network         encoder, pooling and head; texts to scores
objectives      losses on ratings, teachers' scores, preferences and damaged texts; gradients
plan            all settings of a training, in TOML
views           reference, source or both beside the hypothesis
subsets, data   from judgements to numbered pairs and objectives
development     held-out references, and the figures on them
teachers        scores to distil
round_trips     more texts to distil, by translating there and back
initial_model   a pretrained encoder with a new head, or a saved metric
train           the stages of a plan, for the shared training loop; optimiser and checkpoints
devices         precision, memory, several processes
"""
