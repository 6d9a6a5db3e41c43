"""Every console example in the documents shows what the command really prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adequa.segments import ENVIRONMENT_FIELDS
from judgements import FOLDER

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Fields of signatures that differ between installations and machines, and digests of weights
# trained by the example, whose last digits a processor may change.
FIELDS = "|".join(sorted(ENVIRONMENT_FIELDS))
VARYING = re.compile(rf"((?:{FIELDS}|(?<!best\|)weights):)[\w.-]+")
SCORE = re.compile(r"(?<=[\s*])[01]\.\d{3}\b")  # from 0 to 1, such as those of a network
NEAR = 0.002  # that such a score may differ from one processor to another


def examples() -> list[tuple[str, str, str]]:
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                found.append((document.name, command, output))
    return found


@pytest.mark.parametrize(("document", "command", "output"), examples())
def test_example(document: str, command: str, output: str) -> None:
    named = re.search(r"\b(?:evaluate|differences) (wmt\S+)", command)
    if named and not FOLDER:
        pytest.skip(f"needs {named[1]} in the folder that ADEQUA_DATA names")
    folder = Path(sys.executable).parent
    shown = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    found, expected = (VARYING.sub(r"\1*", text) for text in (shown.stdout, output))
    if command.startswith("adequa score") and "adequa ↑" in expected:
        near = [float(each) for each in SCORE.findall(expected)]
        assert [float(each) for each in SCORE.findall(found)] == pytest.approx(near, abs=NEAR)
        found, expected = (SCORE.sub("0.*", text) for text in (found, expected))
    assert found == expected


def test_there_are_examples() -> None:
    assert len(examples()) > 5


def test_the_first_command_of_the_readme_is_that_of_make_demo() -> None:
    makefile = (ROOT / "Makefile").read_text()
    demo = re.search(r"^DEMO := (.*?)\n\n", makefile, flags=re.DOTALL | re.MULTILINE)
    assert demo
    command = re.sub(r"\s*\\\n\s*", " ", demo[1])
    assert command == next(each for name, each, _ in examples() if name == "README.md")


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a document follow each other, as in one session; their files go elsewhere."""
    for folder in ("examples", "plans", "results"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        session: dict[str, object] = {}
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(block, document.name, "exec"), session)


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in headings}


def test_links_lead_to_files_and_headings() -> None:
    for document in (*DOCUMENTS, ROOT / "RESULTS.md", *sorted((ROOT / "results").rglob("*.md"))):
        text = document.read_text(encoding="utf-8")
        for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", text):
            target = document.parent / path if path else document
            assert target.exists(), f"{document.name}: {path}"
            if anchor and target.suffix == ".md":
                assert anchor in anchors(target), f"{document.name}: {path}#{anchor}"
