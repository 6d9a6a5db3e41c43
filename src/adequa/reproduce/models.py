"""Encoders that tables are measured with: files in the folder that ADEQUA_MODELS names.

No model is downloaded. A table names an encoder; the folder holds it under its published name, or
under the short one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from adequa.encoders.base import Encoder, PairEncoder, cached
from adequa.encoders.registry import load_encoders
from adequa.encoders.transformer_files import MODELS, SHORT_NAMES
from adequa.errors import AdequaError


@dataclass(frozen=True, slots=True)
class Model:
    """A file or folder of weights, under any of these names; the first is the published one."""

    places: tuple[str, ...]


def transformer(name: str) -> Model:
    """A transformer of this published name, under which or under its short one it is found."""
    return Model((name, SHORT_NAMES[name]))


MPNET = transformer("all-mpnet-base-v2")
MINILM = transformer("all-MiniLM-L6-v2")
GLOVE_840B = Model(
    ("glove.840B.300d.txt", "glove-840b-300d-common/glove.840B.300d_filtered.txt"),
)
GLOVE_6B = Model(("glove.6B.50d.txt",))
GLOVE_6B_100 = Model(("glove.6B.100d.txt",))
E5_SMALL = Model(("e5-small-v1", "e5-small"))
SPACY = Model(("spacy-en-md", "en_core_web_md"))
METEOR_TABLES = Model(("meteor",))


def encoder(kind: str, *models: Model, settings: str = "") -> Encoder | PairEncoder:
    """An encoder of a table, with its vectors cached; of several models one after the other."""
    return cached(load_encoders([specification(kind, model, settings) for model in models]))


def specification(kind: str, model: Model, settings: str = "") -> str:
    """Command-line words that name a file of the folder of models."""
    named = os.environ.get(MODELS)
    if not named:
        raise AdequaError(
            f"This row is measured with {model.places[0]}: name the folder that holds it in the "
            f"environment variable {MODELS}."
        )
    for place in model.places:
        path = Path(named) / place
        if path.exists():
            return ",".join(filter(None, [f"{kind}:{path}", settings]))
    raise AdequaError(f"There is no {model.places[0]} in {named}, the folder that {MODELS} names.")
