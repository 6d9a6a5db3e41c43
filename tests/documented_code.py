"""Code that documents show: console examples and their outputs, other commands, and classes.

`make documents` runs this file as a program: it runs every console example of the documents and
writes what the command prints now in place of what the document shows.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adequa.cli.main import VERBS, UsageError, load_verb
from adequa.segments import ENVIRONMENT_FIELDS

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = ("examples", "plans", "results")  # folders of the checkout that examples read
# Fields of signatures that differ between installations and machines, and digests of weights
# trained by the example, whose last digits a processor may change.
FIELDS = "|".join(sorted(ENVIRONMENT_FIELDS))
VARYING = re.compile(rf"((?:{FIELDS}|(?<!best\|)weights):)[\w.-]+")
# Scores of a network, their differences and effects, which the last digits of a processor change.
SCORE = re.compile(r"(?<=[\s*+(-])\d\.\d{2,3}\b")
NEAR = 2  # units of the last digit
# Errors of commands that are not written in full.
INCOMPLETE = {"MissingParameter", "BadParameter", "BadOptionUsage", "NoArgsIsHelpError"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A command of a console block, and the output that the document shows below it."""

    document: str
    command: str
    output: str

    @property
    def dataset(self) -> str | None:
        """The dataset that the command reads from the folder ADEQUA_DATA, if any."""
        named = re.search(
            r"\b(?:evaluate|differences|analyse|bands --ratings) (wmt\S+)", self.command
        )
        return named[1] if named else None


def fences(document: Path) -> list[tuple[str, str]]:
    """The blocks of code of a document: the language and the text of each."""
    return FENCE.findall(document.read_text(encoding="utf-8"))


def console_examples(document: Path) -> list[Example]:
    """The commands of a document that are shown with their outputs, in order."""
    return [
        Example(document.name, command, output)
        for language, block in fences(document)
        if language == "console"
        for command, _, output in (
            each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        )
    ]


def working_folder(folder: Path) -> Path:
    """Prepare a folder in which the commands of a document run, one after the other."""
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").mkdir()
    return folder


def run_example(example: Example, folder: Path) -> str:
    """Run a command in a folder; return what it prints on both streams."""
    programs = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-c", example.command],
        cwd=folder,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    ).stdout


def comparable(text: str) -> tuple[str, list[int]]:
    """An output without what may differ between machines, and scores in units of the last digit."""
    text = VARYING.sub(r"\1*", text)
    if not re.search(r"adequa( ↑|\||  | \d)", text):
        return text, []
    scores = [int(each.replace(".", "")) for each in SCORE.findall(text)]
    return SCORE.sub(lambda match: "0." + "*" * (len(match[0]) - 2), text), scores


def is_same(printed: str, shown: str) -> bool:
    """Whether an output is the one that a document shows, but for differences of machines.

    >>> is_same("adequa ↑  0.961 +1.47", "adequa ↑  0.962 +1.46")
    True
    >>> is_same("adequa ↑  0.961", "adequa ↑  0.968"), is_same("bleu 0.961", "bleu 0.962")
    (False, False)
    """
    (text, scores), (expected, near) = comparable(printed), comparable(shown)
    return text == expected and all(
        abs(score - other) <= NEAR for score, other in zip(scores, near, strict=True)
    )


def refresh(document: Path) -> int:
    """Write the outputs of a document's console examples anew; return how many have changed."""
    text, changed = document.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as folder:
        working_folder(Path(folder))
        for example in console_examples(document):
            if example.dataset and not os.environ.get("ADEQUA_DATA"):
                print(f"{document.name}: not run without ADEQUA_DATA: {example.command}")
                continue
            printed = run_example(example, Path(folder))
            if not is_same(printed, example.output):
                changed += 1
                shown = f"$ {example.command}\n{example.output}"
                text = text.replace(shown, f"$ {example.command}\n{printed}", 1)
    document.write_text(text, encoding="utf-8")
    return changed


# Commands that are shown without their outputs


def shell_commands(block: str) -> Iterator[list[str]]:
    """The commands of a shell script as lists of words, without assignments before them."""
    script = re.sub(r"(^|\s)#.*$", r"\1", re.sub(r"\\\n\s*", " ", block), flags=re.MULTILINE)
    lexer = shlex.shlex(script, posix=True, punctuation_chars="|&;<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;\n"):
            if words:
                yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)


def command_problem(words: list[str], *, complete: bool = True) -> str:
    """What is wrong with a command as a document shows it; empty where nothing is.

    Commands of adequa are parsed by the command line itself: verb, options and their values.
    Of others, what they name in this project must exist. Without `complete`, as in running text,
    required options may be missing and values may be placeholders.
    """
    if words[0] in {"accelerate", "torchrun"} and "-m" in words:
        words = words[words.index("-m") + 1 :]
    if words[0] == "adequa":
        return _adequa_problem(words[1:], complete=complete)
    if words[0] == "make":
        targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        missing = [each for each in words[1:] if "=" not in each and each not in targets]
        return f"Makefile has no target {missing[0]}" if missing else ""
    if words[:2] == ["pip", "install"]:
        return _install_problem(words[2:])
    if words[0] in {"python", "python3"} and words[1].endswith(".py"):
        return "" if (ROOT / words[1]).is_file() else f"there is no file {words[1]}"
    if words[:2] == ["python", "-m"] and words[2].startswith("adequa"):
        path = ROOT / "src" / words[2].replace(".", "/")
        return "" if path.is_dir() or path.with_suffix(".py").is_file() else f"no module {words[2]}"
    return ""


def _adequa_problem(words: list[str], *, complete: bool) -> str:
    if not words or words[0].startswith("-") or {"-h", "--help"} & set(words):
        return ""
    if not any(words[0] in verbs for verbs in VERBS.values()):
        return f"there is no command adequa {words[0]}"
    command, rest = load_verb(words[0]), words[1:]
    nested: dict[str, Any] = getattr(command, "commands", {})
    if nested and rest and not rest[0].startswith("-"):
        if rest[0] not in nested:
            return f"there is no command adequa {words[0]} {rest[0]}"
        command, rest = nested[rest[0]], rest[1:]
    try:
        command.make_context(words[0], rest)
    except UsageError as error:
        is_part = type(error).__name__ in INCOMPLETE
        return "" if is_part and not complete else str(error.format_message())
    return ""


def _install_problem(words: list[str]) -> str:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for word in words:
        named = re.fullmatch(r"(?:\.|adequa)\[([\w,]+)\]", word)
        for extra in named[1].split(",") if named else ():
            if not re.search(rf"^{extra} = ", extras, flags=re.MULTILINE):
                return f"there is no extra {extra}"
    return ""


def inline_commands(document: Path) -> Iterator[list[str]]:
    """The commands in the running text of a document."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for code in re.findall(r"`((?:adequa|make|pip install) [^`]*)`", text):
        words = shlex.split(re.sub(r"\s+", " ", code.replace("…", "").replace("...", "")))
        yield next(shell_commands(shlex.join(words)))


# Classes


def documented_module(
    document: str, heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, str]:
    """Make the Python block under a heading importable; return name, target and summary of it.

    These three are in the line that the document adds to a table.
    """
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = re.search(r"```python\n(.*?)```", section, flags=re.DOTALL)
    line = re.search(r'`"(.+)": (?:Encoder)?Entry\("adequa\.\w+\.(\w+):(\w+)", "(.+)"\),`', section)
    assert block
    assert line
    name, module, attribute, summary = line.groups()
    (folder / f"{module}.py").write_text(block[1], encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, module, raising=False)
    return name, f"{module}:{attribute}", summary


if __name__ == "__main__":
    chosen = [Path(each) for each in sys.argv[1:]] or DOCUMENTS
    for each_document in chosen:
        print(f"{each_document.name}: {refresh(each_document)} outputs changed")
