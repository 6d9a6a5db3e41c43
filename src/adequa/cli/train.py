"""`adequa train`: gathers the metrics that can be trained, each in a file of its own."""

from __future__ import annotations

import typer

from adequa.cli.train_average import average
from adequa.cli.train_blend import blend
from adequa.cli.train_embedding import embedding_regressor
from adequa.cli.train_ensemble import ensemble
from adequa.cli.train_pair import pair_regressor
from adequa.cli.train_pairwise import pairwise_ranker
from adequa.cli.train_tree import tree_lstm

app = typer.Typer(
    no_args_is_help=True,
    help="Train a metric on judgements of your own; `adequa score -m FOLDER` then uses it.",
)
app.command("pair-regressor")(pair_regressor)
app.command("embedding-regressor")(embedding_regressor)
app.command("pairwise-ranker")(pairwise_ranker)
app.command("tree-lstm")(tree_lstm)
app.command("blend")(blend)
app.command("ensemble")(ensemble)
app.command("average")(average)
