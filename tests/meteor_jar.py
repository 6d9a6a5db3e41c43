"""The official Meteor 1.5 as an oracle: where it is and how to run it.

The jar comes inside `pycocoevalcap` (`pip install --no-deps pycocoevalcap`), or from the folder in
`ADEQUA_METEOR`, which holds `meteor-1.5.jar` and `data/paraphrase-en.gz`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class JarScores:
    """What the jar prints: its id for the settings, a score a segment, the final score."""

    evaluation_id: str
    segments: list[float]
    system: float


def meteor_folder() -> Path | None:
    """The folder with the jar and its tables, or None."""
    named = os.environ.get("ADEQUA_METEOR")
    spec = find_spec("pycocoevalcap")
    packages = (spec.submodule_search_locations or []) if spec else []
    folders = [Path(named)] if named else [Path(package, "meteor") for package in packages]
    return next((folder for folder in folders if (folder / "meteor-1.5.jar").is_file()), None)


def missing() -> str:
    """Why the jar cannot run here; empty where it can."""
    if shutil.which("java") is None:
        return "Java is not installed"
    return "" if meteor_folder() else "meteor-1.5.jar is not installed (pycocoevalcap)"


def jar_command(hypotheses: Path, references: Path, modules: str, *flags: str) -> list[str]:
    """The command line for two files, one segment per line, and modules written as exact+stem."""
    folder = meteor_folder()
    assert folder is not None, missing()
    jar = str(folder / "meteor-1.5.jar")
    chosen = ["-l", "en", "-m", modules.replace("+", " ")]
    return ["java", "-Xmx2G", "-jar", jar, str(hypotheses), str(references), *chosen, *flags]


def run_jar(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    modules: str,
    flags: Sequence[str] = ("-norm",),
) -> JarScores:
    """Score segments with the jar; every segment has the same number of references."""
    with TemporaryDirectory() as folder:
        files = Path(folder, "hypotheses"), Path(folder, "references")
        lines = list(hypotheses), [line for several in references for line in several]
        for file, texts in zip(files, lines, strict=True):
            file.write_text("".join(text + "\n" for text in texts), encoding="utf-8", newline="\n")
        count = str(len(references[0]))
        command = jar_command(*files, modules, *flags, "-r", count)
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = output.splitlines()
    return JarScores(
        evaluation_id=next(row.split()[-1] for row in rows if row.startswith("Eval ID:")),
        segments=[float(row.split("\t")[1]) for row in rows if row.startswith("Segment ")],
        system=float(next(row.split()[-1] for row in rows if row.startswith("Final score:"))),
    )
