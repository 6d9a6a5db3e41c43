"""Documents: every command runs or at least parses, outputs are true, links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from documented_code import (
    DOCUMENTS,
    LINKED,
    ROOT,
    Example,
    command_problem,
    console_examples,
    fences,
    inline_commands,
    is_same,
    refresh,
    run_example,
    shell_commands,
    working_folder,
)
from judgements import FOLDER

EXAMPLES = [example for document in DOCUMENTS for example in console_examples(document)]
# Commands that the suite cannot run are in blocks of `sh`, in these documents alone; they are
# parsed.
NOT_RUN = {
    "README.md": "installs packages",
    "CONTRIBUTING.md": "installs packages, runs the suite itself, or needs a GPU",
    "adequa.md": "needs a GPU for hours, translation models and the shared judgements",
    "agreement.md": "needs encoders and, for some rows, a GPU",
    "analysis.md": "needs judgements of WMT16, and scores take minutes",
    "comparison.md": "needs the outputs of the systems of WMT18",
    "confidence.md": "needs judgements of WMT, and scores take minutes",
    "encoders-published.md": "needs the authors' weights and TensorFlow",
    "encoders.md": "needs the class of the document; tests/encoders runs it",
    "metrics.md": "downloads METEOR's tables",
    "pair-regressor.md": "needs encoders and a GPU",
    "scale.md": "needs a cluster",
    "service.md": "starts a server; tests/test_service_document.py sends the requests",
    "training.md": "needs encoders and judgements of WMT",
    "tree-lstm.md": "needs encoders, a parser and judgements",
    "tutorial-engineer.md": "installs packages",
    "tutorial-researcher.md": "downloads judgements, or needs a GPU",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A working folder for the commands of each document, which follow each other."""
    return {
        document.name: working_folder(tmp_path_factory.mktemp(document.stem))
        for document in DOCUMENTS
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.document}: {each.command}")
def test_example(example: Example, folders: dict[str, Path]) -> None:
    """A console example prints what the document shows; `make documents` refreshes all of them."""
    if example.dataset and not FOLDER:
        pytest.skip(f"needs {example.dataset} in the folder that ADEQUA_DATA names")
    printed = run_example(example, folders[example.document])
    assert printed == example.output or is_same(printed, example.output), printed


def test_there_are_examples() -> None:
    documents = {example.document for example in EXAMPLES}
    assert {"README.md", "tutorial-engineer.md", "tutorial-researcher.md"} <= documents


def test_outputs_are_refreshed(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    text = "# A\n\n```console\n$ echo one\n{}$ echo two; echo three\n{}```\n"
    document.write_text(text.format("old\n", ""))
    assert refresh(document) == 2
    assert document.read_text() == text.format("one\n", "two\nthree\n")
    assert refresh(document) == 0


def test_no_command_escapes() -> None:
    """What is not run stands in a block of `sh` of a document that is listed with a reason."""
    with_blocks = set()
    for document in DOCUMENTS:
        for language, block in fences(document):
            if language == "sh":
                assert document.name in NOT_RUN, f"{document.name}: {block}"
                with_blocks.add(document.name)
            elif language in {"", "text", "bash", "shell"}:
                line = re.search(
                    r"^(\$ )?(\w+=\S* )*(adequa|make|pip|python3?) .*", block, re.MULTILINE
                )
                assert line is None, f"{document.name}: {line and line[0]}"
    assert with_blocks == set(NOT_RUN)


def test_shown_commands_parse() -> None:
    """Verbs, options and values of commands that are not run exist; so do extras and targets."""
    for document in DOCUMENTS:
        for language, block in fences(document):
            commands = list(shell_commands(block)) if language == "sh" else []
            if language == "yaml":
                commands = [
                    words
                    for line in re.findall(r"\badequa [a-z-]+ -.*(?:\n +-[\w-].*)*", block)
                    for words in shell_commands(" ".join(line.split()))
                ]
            for words in commands:
                assert not command_problem(words), f"{document.name}: {' '.join(words)}"
        for words in inline_commands(document):
            problem = command_problem(words, complete=False)
            assert not problem, f"{document.name}: {' '.join(words)}: {problem}"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("adequa scores -t a.txt", "there is no command adequa scores"),
        ("adequa train nothing", "there is no command adequa train nothing"),
        ("adequa score -t a.txt -r b.txt --segment-level", "No such option"),
        ("adequa score -t a.txt -r b.txt --engine spark", "--engine"),
        ("adequa gate --baseline a.txt -r b.txt", "--candidate"),
        ("pip install 'adequa[nothing]'", "there is no extra nothing"),
        ("make nothing", "Makefile has no target nothing"),
        ("python -m adequa.nothing", "no module adequa.nothing"),
    ],
)
def test_wrong_commands_are_recognised(command: str, problem: str) -> None:
    (words,) = shell_commands(command)
    assert problem in command_problem(words)


def test_commands_are_read_as_a_shell_reads_them() -> None:
    script = "A=1 make test | tee log && adequa score \\\n    -t 'a b.txt'  # remark\n"
    assert list(shell_commands(script)) == [
        ["make", "test"], ["tee", "log"], ["adequa", "score", "-t", "a b.txt"],
    ]  # fmt: skip


def test_the_first_command_of_the_readme_is_that_of_make_demo() -> None:
    makefile = (ROOT / "Makefile").read_text()
    demo = re.search(r"^DEMO := (.*?)\n\n", makefile, flags=re.DOTALL | re.MULTILINE)
    assert demo
    command = re.sub(r"\s*\\\n\s*", " ", demo[1])
    assert command == next(each.command for each in EXAMPLES if each.document == "README.md")


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    assert "make demo" in text
    assert "make test" in text


def test_figures_in_the_readme_are_those_that_were_measured() -> None:
    """Agreement as in results/ and the researcher's tutorial, speed as in docs/scale.md."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = readme.partition("| metric | segments of WMT17")[2].splitlines()[2:7]
    rows = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in lines]
    shown = {name.split()[0].lower(): figures for name, *figures in rows}
    for column, (table, average) in enumerate((("wmt17", "average"), ("wmt18-systems", "pooled"))):
        results = json.loads((ROOT / "results" / f"{table}.json").read_text(encoding="utf-8"))
        measured = {
            row["system"].removeprefix("sent"): f"{row['measured']:.3f}".lstrip("0")
            for row in results["rows"]
            if row["column"] == average and row["system"] in {"adequa", "sentbleu", "bleu", "chrf"}
        }
        assert measured
        assert {name: shown[name][column] for name in measured} == measured
    tutorial = (ROOT / "docs" / "tutorial-researcher.md").read_text(encoding="utf-8")
    for name in ("chrf", "meteor"):
        assert re.search(rf"^\d +{name} .* 0\{shown[name][0]}  ", tutorial, flags=re.MULTILINE)
    rates = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for name in ("adequa", "bleu", "chrf"):
        assert f"| `{name}` | {shown[name][2]} |" in rates


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a document follow each other, as in one session; their files go elsewhere."""
    for folder in LINKED:
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for document in DOCUMENTS:
        session: dict[str, object] = {}
        for language, block in fences(document):
            if language == "python":
                exec(compile(block, document.name, "exec"), session)


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in headings}


def test_links_lead_to_files_and_headings() -> None:
    single = ("CHANGELOG.md", "RESULTS.md", "SECURITY.md")
    more = (*(ROOT / name for name in single), *sorted((ROOT / "results").rglob("*.md")))
    for document in (*DOCUMENTS, *more):
        text = document.read_text(encoding="utf-8")
        for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", text):
            target = document.parent / path if path else document
            assert target.exists(), f"{document.name}: {path}"
            if anchor and target.suffix == ".md":
                assert anchor in anchors(target), f"{document.name}: {path}#{anchor}"
