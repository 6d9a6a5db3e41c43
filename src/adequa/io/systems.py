"""Names of systems: a file's stem, and more of its path where two systems would share one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from adequa.io.text import STDIN, FilePath, uncompressed_name


def stem(path: FilePath) -> str:
    """A file's name without folder, compression and suffix.

    >>> stem("runs/baseline.de.gz"), stem("-")
    ('baseline', 'stdin')
    """
    return _stem(_written(path))


def _stem(path: str) -> str:
    return "stdin" if path == STDIN else Path(uncompressed_name(path)).stem


def system_names(systems: Sequence[tuple[FilePath, str]]) -> list[str]:
    """One name each for systems given by their file and, where it holds several, the name there.

    >>> system_names([("a/out.txt", ""), ("b/out.txt", ""), ("c.txt", "")])
    ['a/out', 'b/out', 'c']
    >>> system_names([("out.A", ""), ("out.B", ""), ("wmt.xml", "uedin"), ("wmt.xml", "nrc")])
    ['out.A', 'out.B', 'uedin', 'nrc']
    """
    forms = [_forms(_written(path), inner) for path, inner in systems]
    lengths = [0] * len(forms)
    while True:
        names = [form[length] for form, length in zip(forms, lengths, strict=True)]
        times = Counter(names)
        longer = [
            length + (times[name] > 1 and length + 1 < len(form))
            for name, form, length in zip(names, forms, lengths, strict=True)
        ]
        if longer == lengths:
            return _numbered(names)
        lengths = longer


def _numbered(names: list[str]) -> list[str]:
    """Names that are still equal (of files whose names cannot be written) told apart by number.

    >>> _numbered(["a", "b", "a"])
    ['a', 'b', 'a #2']
    """
    before: Counter[str] = Counter()
    numbered = []
    for name in names:
        before[name] += 1
        numbered.append(name if before[name] == 1 else f"{name} #{before[name]}")
    return numbered


def _forms(path: str, inner: str) -> tuple[str, ...]:
    """Names for one system, from the short one to the longest."""
    folder = Path(path).parent.name
    short, full = _stem(path), Path(path).name
    forms = (
        short,
        f"{folder}/{short}" if folder else short,
        full,
        f"{folder}/{full}" if folder else full,
        path,
    )
    return (inner, *(f"{form}/{inner}" for form in forms)) if inner else forms


def _written(path: FilePath) -> str:
    """A path in characters that can be written: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
