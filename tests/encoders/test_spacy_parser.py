"""spaCy's parses: with a stand-in for the package, and with the real one where it is installed."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adequa.encoders.parses import Parser, Parses, SpacyParser, load_parser
from adequa.errors import AdequaError

MODEL = Path(os.environ.get("ADEQUA_MODELS", ""), "spacy-en-md")
needs_spacy = pytest.mark.skipif(
    find_spec("spacy") is None or not (MODEL / "config.cfg").is_file(),
    reason="needs spaCy, and a model spacy-en-md in the folder named by ADEQUA_MODELS",
)


@dataclass
class Token:
    text: str
    i: int
    head: Any = None

    @property
    def is_space(self) -> bool:
        return self.text.isspace()


class Pipeline:
    """Hangs each token from the next, white space included, up to a full stop."""

    def __init__(self) -> None:
        self.meta = {"lang": "en", "name": "tiny", "version": "1.0"}
        self.max_length = 100
        self.asked: list[str] = []

    def pipe(self, texts: Sequence[str], batch_size: int) -> Iterator[list[Token]]:
        assert batch_size > 0
        for text in texts:
            self.asked.append(text)
            if len(text) > self.max_length:
                raise ValueError("[E088] Text is too long")
            text.encode()
            warnings.warn("[W000] about a text", UserWarning, stacklevel=1)
            tokens = [Token(each, at) for at, each in enumerate(re.findall(r"\s+|\S+", text))]
            for token in tokens:
                is_last = token.text == "." or token is tokens[-1]
                token.head = token if is_last else tokens[token.i + 1]
            yield tokens


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """What the stand-in was asked to load, and which parts it was to leave out."""
    calls: list[tuple[str, list[str]]] = []

    def load(folder: Path, exclude: list[str]) -> Pipeline:
        calls.append((str(folder), exclude))
        if (folder / "broken").exists():
            raise KeyError("E002: no such factory\nmore words")
        warnings.warn("[W095] Model is of another version.\nMore.", UserWarning, stacklevel=1)
        return Pipeline()

    util = SimpleNamespace(is_package=lambda name: False, get_package_path=Path)
    stand_in = SimpleNamespace(load=load, util=util, __version__="3.8")
    monkeypatch.setitem(sys.modules, "spacy", stand_in)
    return calls


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "tiny"
    (folder / "parser").mkdir(parents=True)
    (folder / "ner").mkdir()
    (folder / "config.cfg").write_text("[nlp]")
    (folder / "parser" / "model").write_bytes(b"weights")
    parts = ["tok2vec", "tagger", "parser", "ner", "lemmatizer"]
    (folder / "meta.json").write_text(json.dumps({"pipeline": parts, "disabled": ["senter"]}))
    return folder


def plain(parses: Parses) -> list[tuple[tuple[str, ...], list[int]]]:
    trees = map(parses.tree, range(len(parses)))
    return [(words, parents.tolist()) for words, parents in trees]


def test_white_space_is_no_word_and_a_segment_has_one_root(loaded: list[Any], model: Path) -> None:
    parser = load_parser(f"spacy:{model}")
    texts = ["a b", "", " \n ", "a . b c", " a b\n", "a b", "w " * 500]
    assert plain(parser.parse(texts)) == [
        (("a", "b"), [1, -1]),
        ((), []),
        ((), []),
        (("a", ".", "b", "c"), [1, -1, 3, 1]),
        (("a", "b"), [1, -1]),  # what hung from the white space at the end
        (("a", "b"), [1, -1]),
        (("w",) * 500, [*range(1, 500), -1]),
    ]
    assert len(parser.parse([])) == 0


def test_a_text_is_parsed_once(loaded: list[Any], model: Path) -> None:
    parser = SpacyParser.load(str(model))
    parser.parse(["a", "b", "a"])
    assert parser._pipeline.asked == ["a", "b"]


def test_only_what_the_parser_needs_is_loaded(loaded: list[Any], model: Path) -> None:
    parser = SpacyParser.load(str(model))
    assert loaded == [(str(model.resolve()), ["ner", "lemmatizer", "senter"])]
    assert parser.name == "en_tiny-1.0"
    assert parser.specifications == (f"spacy:{model.resolve()}",)
    assert parser.remarks() == ("[W095] Model is of another version",)


def test_the_fingerprint_is_of_what_is_used(loaded: list[Any], model: Path, tmp_path: Path) -> None:
    def fingerprint(folder: Path = model) -> str:
        return SpacyParser.load(str(folder)).fingerprint

    first = fingerprint()
    (model / "ner" / "model").write_bytes(b"other")
    assert fingerprint() == first
    moved = model.rename(tmp_path / "moved")
    assert fingerprint(moved) == first
    (moved / "parser" / "model").write_bytes(b"changed")
    assert fingerprint(moved) != first


def test_a_model_is_found_by_name(
    loaded: list[Any], model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_MODELS", str(model.parent))
    assert SpacyParser.load("tiny").folder == model.resolve()
    assert isinstance(load_parser(str(model)), SpacyParser)
    util = sys.modules["spacy"].util
    monkeypatch.setattr(util, "is_package", lambda name: name == "en_tiny")
    monkeypatch.setattr(util, "get_package_path", lambda name: model.parent)
    assert SpacyParser.load("en_tiny").folder == model.resolve()  # one folder further down


def test_a_model_is_found_under_its_short_name(
    loaded: list[Any], model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.rename(model.parent / "spacy-en-md")
    monkeypatch.setenv("ADEQUA_MODELS", str(model.parent))
    assert SpacyParser.load("en_core_web_md").folder == model.parent / "spacy-en-md"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "There is no folder nowhere, and no spaCy model of that name is installed"),
        ("no/where", "There is no folder no/where"),
        ("file", "is a file; a spaCy model is a folder."),
        ("bare", "lacks config.cfg or meta.json, so it is no spaCy model."),
        ("listed", "lacks config.cfg or meta.json, so it is no spaCy model."),
        ("odd", "cannot be read as JSON"),
        ("blind", "has no parser, only ner; name a model that parses, such as en_core_web_md."),
        ("tiny", "cannot be loaded as a spaCy model: 'E002: no such factory"),
    ],
)
def test_what_is_no_model_is_said(
    loaded: list[Any], model: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    models = model.parent
    monkeypatch.chdir(models)
    monkeypatch.delenv("ADEQUA_MODELS", raising=False)
    (models / "file").write_text("")
    for folder, meta in [("bare", None), ("listed", "[]"), ("odd", "{"), ("blind", None)]:
        (models / folder).mkdir()
        if meta is not None:
            (models / folder / "meta.json").write_text(meta)
            (models / folder / "config.cfg").write_text("")
    (models / "blind" / "config.cfg").write_text("")
    (models / "blind" / "meta.json").write_text('{"pipeline": ["ner"]}')
    (model / "broken").write_text("")
    with pytest.raises(AdequaError) as raised:
        SpacyParser.load(name)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_half_a_character_is_named(loaded: list[Any], model: Path) -> None:
    with pytest.raises(AdequaError, match="half a character"):
        SpacyParser.load(str(model)).parse(["a", "b\ud800"])


def test_without_spacy_a_sentence_says_how_to_get_it(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(AdequaError) as raised:
        load_parser(f"spacy:{model}")
    assert str(raised.value) == (
        "Parsing needs spaCy; install it with: pip install 'adequa[parse]', or give parses as "
        "CoNLL-U files (conllu:FILE)."
    )


@pytest.fixture(scope="module")
def english() -> Parser:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what importing spaCy says is not ours to change
        return load_parser(f"spacy:{MODEL}")


@needs_spacy
def test_english_is_parsed(english: Parser) -> None:
    trees = plain(english.parse(["Dogs chase the old cat.", "Stop! Dogs bark."]))
    assert trees == [
        (("Dogs", "chase", "the", "old", "cat", "."), [1, -1, 4, 4, 1, 1]),
        (("Stop", "!", "Dogs", "bark", "."), [-1, 0, 3, 0, 3]),
    ]


@needs_spacy
def test_whatever_the_text_there_is_a_tree(english: Parser) -> None:
    texts = ["of the the cat banana to to", "  \n", "x" * 5000, "word " * 500, "\t\ta", "!?", "猫"]
    assert [len(words) for words, _ in plain(english.parse(texts))] == [7, 0, 1, 500, 1, 2, 1]


@needs_spacy
def test_trees_do_not_depend_on_the_other_texts(english: Parser) -> None:
    texts = [f"{number} dogs {'really ' * (number % 7)}chase cats." for number in range(60)]
    together = plain(english.parse(texts))
    assert together == [plain(english.parse([text]))[0] for text in texts]
