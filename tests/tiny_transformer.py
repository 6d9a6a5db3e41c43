"""A tiny random transformer, and made-up judgements that it can learn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adequa.encoders.transformer_files import TokenRows
from adequa.judgements import Preferences, Ratings
from adequa.segments import Segments

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = ("the", "cat", "dog", "sat", "ran", "on", "a", "mat", "far", "away", "good", "bad", ".")
IDS = {word: at for at, word in enumerate([*SPECIAL, *WORDS])}
POSITIONS = 24  # tokens that it can read


def tiny_network(seed: int = 7, dropout: float = 0.0, layers: int = 2, **settings: Any) -> Any:
    """A random BERT of 16 numbers a token, the same for the same seed.

    Further settings are those of its configuration.
    """
    import torch
    import transformers

    chosen = {
        "vocab_size": len(IDS), "hidden_size": 16, "num_hidden_layers": layers,
        "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": POSITIONS,
        "initializer_range": 0.2, "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout, **settings,
    }  # fmt: skip
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return transformers.BertModel(transformers.BertConfig(**chosen))


def write_tiny_encoder(
    folder: Path, seed: int = 7, dropout: float = 0.0, layers: int = 2, **settings: Any
) -> Path:
    """Such a BERT as a folder of Hugging Face, with a tokenizer that knows a few words."""
    tiny_network(seed, dropout, layers, **settings).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def write_tokenizer(folder: Path) -> None:
    """Words between spaces, in lower case or not at all."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel(IDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", IDS["[CLS]"]), ("[SEP]", IDS["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def write_tiny_roberta(folder: Path, tokenizer_class: str = "RobertaTokenizer") -> Path:
    """A random RoBERTa, whose tokenizer over bytes has pieces for words after a space."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([" the cat sat on a mat far away"] * 20, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", special.index("</s>")), ("<s>", special.index("<s>")), add_prefix_space=False
    )
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))
    named = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>",
             "unk": "<unk>", "mask": "<mask>"}  # fmt: skip
    settings = {f"{name}_token": token for name, token in named.items()}
    written = json.dumps({"tokenizer_class": tokenizer_class, **settings})
    (folder / "tokenizer_config.json").write_text(written)
    configuration = transformers.RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=POSITIONS,
        initializer_range=0.2, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    with torch.random.fork_rng([]):
        torch.manual_seed(7)
        transformers.RobertaModel(configuration).save_pretrained(folder)
    return folder


def token_rows(texts: Sequence[Sequence[int]]) -> TokenRows:
    """Token ids as a tokenizer would give them, without types."""
    return TokenRows(
        ids=np.array([number for text in texts for number in text], np.int32),
        types=None,
        starts=np.cumsum([0, *map(len, texts)]),
        padding=(0, 0),
    )


def random_rows(count: int, seed: int = 0, longest: int = 12) -> TokenRows:
    """Texts of 3 and more tokens, of which many are "good" or "bad"."""
    random = np.random.default_rng(seed)
    words = [IDS[word] for word in ("good", "bad", "good", "bad", "the", "cat", ".")]
    lengths = random.integers(3, longest + 1, count).tolist()
    return token_rows([random.choice(words, length).tolist() for length in lengths])


def praise(rows: TokenRows) -> np.ndarray:
    """What is easy to learn: the share of "good" less the share of "bad" in each text."""
    good, bad = ((rows.ids == IDS[word]).astype(float) for word in ("good", "bad"))
    return np.asarray(np.add.reduceat(good - bad, rows.starts[:-1]) / rows.lengths)


def outputs(count: int, seed: int = 0, systems: int = 3) -> tuple[Segments, np.ndarray]:
    """Outputs of some systems for each reference, and how good they are: good words less bad."""
    random = np.random.default_rng(seed)
    references = [
        " ".join([*random.choice(WORDS[:10], random.integers(3, 6)), f"{seed}.{at}"])
        for at in range(-(-count // systems))
    ]
    hypotheses, quality = [], []
    for at in range(count):
        words = references[at // systems].split()[:-1]
        praised = int(random.integers(-2, 3))
        hypotheses.append(" ".join([*words, *["good" if praised > 0 else "bad"] * abs(praised)]))
        quality.append(praised)
    several = tuple((references[at // systems],) for at in range(count))
    return Segments(tuple(hypotheses), several), np.array(quality, float)


def tiny_ratings(count: int = 48, seed: int = 0, name: str = "rated") -> Ratings:
    """Ratings of outputs; two language pairs in turn."""
    segments, quality = outputs(count, seed)
    pairs = tuple("cs-en" if at // 3 % 2 else "de-en" for at in range(count))
    return Ratings(10 * quality + 50, {"lp": pairs}, segments, name=name)


def tiny_preferences(count: int = 48, seed: int = 1, name: str = "ranked") -> Preferences:
    """All preferences between outputs of one reference that differ."""
    segments, quality = outputs(count, seed)
    rows = [
        (one, other)
        for one in range(count)
        for other in range(count)
        if segments.references[one] == segments.references[other] and quality[one] > quality[other]
    ]
    better, worse = zip(*rows, strict=True)
    return Preferences(
        {"lp": ("cs-en",) * len(rows)}, segments.select(better), segments.select(worse), name=name
    )
