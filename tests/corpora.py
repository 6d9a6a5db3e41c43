"""Small corpora of shards, and what was written for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"
SYSTEMS = ("fluent", "literal", "broken")
Rows = list[dict[str, Any]]


def texts(name: str) -> list[str]:
    return (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def rows_of(system: str) -> Rows:
    pairs = zip(texts(system), texts("reference"), strict=True)
    return [{"id": at, "mt": mt, "ref": ref} for at, (mt, ref) in enumerate(pairs)]


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_corpus(folder: Path) -> Path:
    """The three example systems as a shard each, one of them in a folder of its own."""
    write_jsonl(folder / "fluent.jsonl", rows_of("fluent"))
    write_jsonl(folder / "literal.jsonl", rows_of("literal"))
    write_jsonl(folder / "more" / "broken.jsonl", rows_of("broken"))
    return folder


def write_german(folder: Path) -> Path:
    """Two shards of 5 rows: 3 hypotheses in German, 1 in English and a blank one."""
    german = "Das ist nicht die Antwort, die ich von dir und deiner Schwester erwartet habe."
    same = [{"mt": text, "ref": text} for text in (german, "So it is.", german, german)]
    write_jsonl(folder / "a.jsonl", same[:2])
    write_jsonl(folder / "b.jsonl", [*same[2:], {"mt": " ", "ref": german}])
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by place."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
