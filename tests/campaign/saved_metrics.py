"""Folders of saved metrics from anyone: they load or are refused, and nothing else is opened."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors

from adequa.errors import AdequaError
from adequa.metrics.registry import load_metric
from adequa.pretrained import RANKER_FOLDER
from adequa.runtime.tokens import PairTokenizer
from campaign.base import Target, Trial
from campaign.mutations import mutated

_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, "", "a\0b", "/dev/zero", "../metric.json", "bleu:tokenize=flores200",
    [], {}, [[]], ["bleu"], "chrf", "transformer:no/name", "x" * 300,
)  # fmt: skip
_WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "the", "##s", "cat", "1", ".")


def _changed(random: Random, value: Any) -> Any:
    """The value with another one somewhere in it."""
    if random.random() < 0.2 or not isinstance(value, list | dict) or not value:
        return random.choice(_VALUES)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = random.choice(keys)
    copy = value.copy()
    copy[key] = _changed(random, value[key])
    return copy


def _load_folder(trial: Trial) -> None:
    folder, random = trial.folder / "metric", trial.random
    shutil.copytree(RANKER_FOLDER, folder)
    description = json.loads((folder / "metric.json").read_bytes())
    match random.randrange(4):
        case 0:
            weights = mutated(random, (folder / "weights.npz").read_bytes())
            (folder / "weights.npz").write_bytes(weights)
            description["digest"] = hashlib.sha256(weights).hexdigest()
        case 1:
            description["files"] = {random.choice(("/dev/zero", "../a", "pipe", "a\0b")): "0"}
            os.mkfifo(folder / "pipe")
        case 2:
            name = random.choice(("weights.npz", "metric.json", "more"))
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(random.choice(("/dev/zero", "../..", name, "/etc/passwd")))
        case _:
            description = _changed(random, description)
    if not (folder / "metric.json").is_symlink():
        content = json.dumps(description).encode()
        content = mutated(random, content) if random.random() < 0.2 else content
        (folder / "metric.json").write_bytes(content)
    with suppress(AdequaError):
        load_metric(str(folder))


def _tokenizer() -> bytes:
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(_WORDS)}))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer.to_str().encode()


def _open_tokenizer(trial: Trial) -> None:
    path = Path(trial.folder, "tokenizer.json")
    written = json.loads(_tokenizer())
    changed = json.dumps(_changed(trial.random, written)).encode()
    path.write_bytes(changed if trial.random.random() < 0.5 else mutated(trial.random, changed))
    with suppress(AdequaError):
        PairTokenizer.open(path, 16).encode([("the cats", "a . b 1"), ("", "x")])


TARGETS = (Target("saved-metrics", _load_folder, 2), Target("tokenizers", _open_tokenizer))
