"""Patterns of paths, as shells have them: which paths match, and which folders lead to such.

`*`, `?` and `[...]` stand for letters within a name, `**` for any folders or none, and at the end
for all that is below. As with `glob`, none of them stands for the dot that a hidden name begins
with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

_MAGIC = "*?["
_FOLDERS = "**"


def is_pattern(path: str) -> bool:
    """Whether a path may stand for several files.

    >>> is_pattern("corpus/*.parquet"), is_pattern("corpus/a.parquet")
    (True, False)
    """
    return bool(set(path) & set(_MAGIC))


def fixed_root(pattern: str) -> str:
    """The deepest folder of a pattern that is the same for all that matches.

    >>> fixed_root("corpus/*/part-?.parquet"), fixed_root("corpus/a.jsonl"), fixed_root("*.jsonl")
    ('corpus', 'corpus', '')
    """
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    return "/".join(parts[: min(fixed, len(parts) - 1)]) or ("/" if pattern[:1] == "/" else "")


def parts_below(path: str, root: str) -> tuple[str, ...]:
    """The parts of a path, or of a pattern, behind the folder that it begins with.

    A slash at the end asks for a folder, and so for a last part that no file has.

    >>> parts_below("corpus//*/a.jsonl", "corpus"), parts_below("corpus/*/", "corpus")
    (('*', 'a.jsonl'), ('*', ''))
    """
    behind = path[len(root) :].lstrip("/")
    return PurePosixPath(behind).parts + (("",) if behind.endswith("/") else ())


def is_match(path: Sequence[str], pattern: Sequence[str], *, hidden: bool = False) -> bool:
    """Whether the parts of a file's path match those of a pattern; `hidden` has dots match too.

    >>> is_match(("a", "b.jsonl"), ("**",)), is_match(("a", ".b.jsonl"), ("a", "*"))
    (True, False)
    """
    if not pattern or not path:
        return not pattern and not path
    if all(part == _FOLDERS for part in pattern):
        return hidden or not any(map(_is_hidden, path))
    if pattern[0] == _FOLDERS:
        return is_match(path, pattern[1:], hidden=hidden) or (
            (hidden or not _is_hidden(path[0])) and is_match(path[1:], pattern, hidden=hidden)
        )
    return _is_name(path[0], pattern[0], hidden) and is_match(path[1:], pattern[1:], hidden=hidden)


def leads_on(folder: Sequence[str], pattern: Sequence[str], *, hidden: bool = False) -> bool:
    """Whether something below a folder may match.

    >>> leads_on(("a",), ("*", "b.jsonl")), leads_on(("a", "b"), ("*", "b.jsonl"))
    (True, False)
    """
    if not pattern or not folder:
        return bool(pattern)
    if pattern[0] == _FOLDERS:
        return leads_on(folder, pattern[1:], hidden=hidden) or (
            (hidden or not _is_hidden(folder[0])) and leads_on(folder[1:], pattern, hidden=hidden)
        )
    return _is_name(folder[0], pattern[0], hidden) and leads_on(
        folder[1:], pattern[1:], hidden=hidden
    )


def walked(folder: str, enters: Callable[[str], bool]) -> Iterator[str]:
    """All that is below a folder of this machine, through links too, but never round in a circle.

    `enters` says of the path of a folder whether to look into it.
    """
    real = PurePosixPath(os.path.realpath(folder))
    return _walked(folder, enters, frozenset(map(str, real.parents)))


def _walked(folder: str, enters: Callable[[str], bool], above: frozenset[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in above:  # a link leads up again
        return
    begins = f"{folder}/" if folder.rstrip("/") else folder
    with os.scandir(folder or ".") as entries:
        found = sorted((f"{begins}{entry.name}", _is_folder(entry)) for entry in entries)
    for path, is_folder in found:
        yield path
        if is_folder and enters(path):
            yield from _walked(path, enters, above | {real})


def _is_folder(entry: os.DirEntry[str]) -> bool:
    linked = entry.is_symlink() and Path(entry).is_dir()  # the entry itself fails on some links
    return linked or entry.is_dir(follow_symlinks=False)


def _is_name(name: str, pattern: str, hidden: bool) -> bool:
    if _is_hidden(name) and not hidden and pattern[:1] != ".":
        return False
    return fnmatchcase(name, pattern)


def _is_hidden(name: str) -> bool:
    return name.startswith(".")
