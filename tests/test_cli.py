"""The command line as its users find it: output, exit codes and sentences."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path

import pytest
import sacrebleu

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SYSTEMS = ("fluent", "literal", "broken")


def adequa(
    *arguments: str | Path, stdin: str = "", cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "adequa", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        check=False,
    )


def in_shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=cwd, check=False
    )


def example(*more: str | Path) -> subprocess.CompletedProcess[str]:
    systems = [argument for name in SYSTEMS for argument in ("-t", EXAMPLES / f"{name}.txt")]
    return adequa("score", *systems, "-r", EXAMPLES / "reference.txt", *more)


def test_text_table() -> None:
    shown = example("-m", "bleu", "-m", "wer", "--decimals", "1")
    assert shown.returncode == 0
    assert shown.stderr == ""
    header, *rows, blank, legend, bleu, wer = shown.stdout.splitlines()
    assert header.split() == ["system", "bleu", "↑", "wer", "↓"]
    assert [row.split()[0] for row in rows] == list(SYSTEMS)
    assert all("*" in cell for cell in rows[0].split()[1:])  # the fluent one is the best
    assert "*" not in "".join(rows[1:])
    assert len({len(line) for line in (header, *rows)}) == 1
    assert blank == ""
    assert legend == "* best, ↑ higher is better, ↓ lower is better"
    assert (
        bleu == f"bleu|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert wer.startswith("wer|nrefs:1|tokenize:13a|lowercase:false|sacrebleu:")


def test_json_shape_and_values() -> None:
    shown = example("-m", "chrf", "--format", "json", "--segments")
    (metric,) = json.loads(shown.stdout)["metrics"]
    assert list(metric) == ["name", "signature", "higher_is_better", "systems"]
    assert [system["name"] for system in metric["systems"]] == list(SYSTEMS)
    reference = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()
    for system in metric["systems"]:
        assert list(system) == ["name", "score", "segments"]
        text = (EXAMPLES / f"{system['name']}.txt").read_text(encoding="utf-8").splitlines()
        expected = sacrebleu.CHRF().corpus_score(text, [reference]).score
        assert system["score"] == pytest.approx(expected, abs=1e-9)
        sentences = [
            sacrebleu.sentence_chrf(hypothesis, [each]).score
            for hypothesis, each in zip(text, reference, strict=True)
        ]
        assert system["segments"] == pytest.approx(sentences, abs=1e-9)


def test_json_of_many_segments_and_odd_names(tmp_path: Path) -> None:
    """JSON is written piece by piece; every piece must fit."""
    names = ['quote"d', "tab\tbed", "日本"]
    rows = [
        {"system": n, "mt": "a", "ref": "b" if k % 3 else "a"} for n in names for k in range(2500)
    ]
    (tmp_path / "in.json").write_text(json.dumps(rows), encoding="utf-8")
    for more in ([], ["--segments"], ["--decimals", "1", "--segments"], ["--by", "system"]):
        metrics = ["-m", "wer", "-m", "per"]
        shown = adequa("score", "-i", "in.json", *metrics, "--format", "json", *more, cwd=tmp_path)
        found = json.loads(shown.stdout)
        assert [metric["name"] for metric in found["metrics"]] == ["wer", "per"]
        for metric in found["metrics"]:
            assert [system["name"] for system in metric["systems"]] == names
            if "--segments" in more:
                expected = [float(k % 3 > 0) for k in range(2500)]
                assert all(system["segments"] == expected for system in metric["systems"])
    tsv = adequa("score", "-i", "in.json", "-m", "wer", "--format", "tsv", cwd=tmp_path).stdout
    assert [line.split("\t")[0] for line in tsv.splitlines()[1:]] == ['quote"d', "tab bed", "日本"]


def test_segment_scores_of_bleu_are_signed_as_they_are_made() -> None:
    """Without effective order a short segment would score 0."""
    system = example("-m", "bleu").stdout.splitlines()[-1]
    segments = example("-m", "bleu", "--segments").stdout.splitlines()[-1]
    assert segments == system.replace("eff:no", "eff:yes")
    (metric,) = json.loads(example("-m", "bleu", "--segments", "--format", "json").stdout)[
        "metrics"
    ]
    assert metric["signature"] == system
    assert metric["segment_signature"] == segments


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_closed_and_full_streams(unbuffered: str) -> None:
    command = (
        f'PYTHONUNBUFFERED={unbuffered} "{sys.executable}" -m adequa '
        "score -t fluent.txt -r reference.txt -m wer --format tsv"
    )
    for redirection, code, heard in (
        ("2>&-", 0, "system\twer"),
        (">&-", 0, ""),
        ("> /dev/full", 2, "Standard output cannot be written: No space left on device."),
        ("-t <(sed 1s/.*// fluent.txt) 2>/dev/full", 0, "system\twer"),  # a note is lost
        ("-r none.txt 2>&-", 2, ""),
        ("-r none.txt 2>/dev/full", 2, ""),
        ("--nonsense 2>/dev/full", 2, ""),
        ("> /dev/full 2>/dev/full", 2, ""),
    ):
        shown = in_shell(f"{command} {redirection}", EXAMPLES)
        assert shown.returncode == code, redirection
        assert heard in shown.stdout + shown.stderr
        assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    "words",
    [
        "compare -t fluent.txt literal.txt -r reference.txt -m wer --report {folder}/r.html",
        "evaluate ratings.tsv -m wer --resamples 9 --plot {folder}/p.svg",
        "analyse ratings.tsv -m wer -m chrf",
        "gate --baseline literal.txt --candidate fluent.txt -r reference.txt -m wer",
        "rank -t fluent.txt literal.txt -r reference.txt -m wer",
        "explain -t fluent.txt -r reference.txt -m wer",
        "mbr -i candidates.jsonl -m wer",
        "rerank -i candidates.jsonl -m wer",
        "differences ratings.tsv -m wer",
        "metrics",
        "datasets",
        "--help",
    ],
    ids=lambda words: words.split()[0],
)
def test_full_standard_output_of_every_verb(words: str, tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m adequa {words.format(folder=tmp_path)} > /dev/full'
    shown = in_shell(command, EXAMPLES)
    assert shown.returncode == 2
    assert "adequa: error: Standard output cannot be written: No space left" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_json_has_segments_only_when_asked() -> None:
    (metric,) = json.loads(example("-m", "wer", "--format", "json").stdout)["metrics"]
    assert all(list(system) == ["name", "score"] for system in metric["systems"])


def test_tsv() -> None:
    lines = example("-m", "bleu", "-m", "ter", "--format", "tsv").stdout.splitlines()
    assert lines[0] == "system\tbleu\tter"
    assert [line.split("\t")[0] for line in lines[1:]] == list(SYSTEMS)
    segments = example("-m", "wer", "--format", "tsv", "--segments", "--decimals", "3").stdout
    first, second, *rest = segments.splitlines()
    assert first == "system\tsegment\twer"
    assert second.startswith("fluent\t1\t0.")
    assert len(rest) == 3 * 36 - 1


def test_text_segments() -> None:
    lines = example("-m", "wer", "--segments").stdout.splitlines()
    assert lines[0].split() == ["system", "segment", "wer", "↓"]
    assert lines[1].split()[:2] == ["fluent", "1"]
    assert lines[-2] == "↓ lower is better"


def test_the_same_metric_twice_has_two_names() -> None:
    shown = example("-m", "bleu", "-m", "bleu:lowercase=true", "-m", "chrf", "--format", "tsv")
    assert shown.stdout.splitlines()[0] == "system\tbleu\tbleu:lowercase=true\tchrf"


def test_tsv_on_standard_input_and_groups() -> None:
    table = "mt\tref\tdoc\na b c d\ta b c d\tone\nx\ty\ttwo\na b\ta b\tone\n"
    shown = adequa("score", "-i", "-", "-m", "wer", "--by", "doc", "--format", "json", stdin=table)
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["by"] == "doc"
    (system,) = found["metrics"][0]["systems"]
    assert system["groups"] == [{"name": "one", "score": 0.0}, {"name": "two", "score": 1.0}]
    assert system["score"] == pytest.approx(1 / 7)
    text = adequa("score", "-i", "-", "-m", "wer", "--by", "doc", stdin=table).stdout
    assert "one  0.0000" in text
    rows = adequa("score", "-i", "-", "-m", "wer", "--by", "doc", "--format", "tsv", stdin=table)
    assert rows.stdout.splitlines()[0] == "system\tdoc\twer"


def test_columns_by_other_names() -> None:
    table = "out\tgold\tgold2\nb\ta\tb\n"
    columns = ["--column", "mt=out", "--column", "ref=gold", "--column", "ref=gold2"]
    shown = adequa("score", "-i", "-", *columns, "-m", "wer", "--format", "tsv", stdin=table)
    assert shown.stdout.splitlines()[1].endswith("\t0.0")


def test_empty_hypotheses_are_noted_and_scored(tmp_path: Path) -> None:
    (tmp_path / "hyp.txt").write_text("a b\n\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("a b\nc d\n", encoding="utf-8")
    arguments = ["score", "-t", "hyp.txt", "-r", "ref.txt", "-m", "wer"]
    shown = adequa(*arguments, cwd=tmp_path)
    assert "0.5000" in shown.stdout
    assert shown.stderr == "note: empty hypotheses of hyp: 1 of 2, scored as they are.\n"
    assert adequa(*arguments, "-q", cwd=tmp_path).stderr == ""


def test_systems_of_different_size_are_noted() -> None:
    table = "system\tmt\tref\na\tx\tx\na\tx\tx\nb\tx\tx\n"
    shown = adequa("score", "-i", "-", "-m", "wer", stdin=table)
    assert shown.stderr == (
        "note: standard input: 2 segments, 2 systems, 1 reference\n"
        "note: the systems have different numbers of segments (a 2, b 1).\n"
    )


def test_output_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    assert example("-m", "wer", "-o", target).stdout == ""
    assert json.loads(target.read_text(encoding="utf-8"))["metrics"]  # format by the file's ending
    before = target.read_bytes()
    failed = adequa("score", "-t", "none.txt", "-r", "none.txt", "-o", target)
    assert failed.returncode == 2
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_output_never_replaces_input(tmp_path: Path) -> None:
    (tmp_path / "hyp.txt").write_text("a\n", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to("hyp.txt")
    for target in ("hyp.txt", "./hyp.txt", "link.txt"):
        shown = adequa("score", "-t", "hyp.txt", "-r", "hyp.txt", "-o", target, cwd=tmp_path)
        assert shown.returncode == 2
        assert "is read as input" in shown.stderr
    assert (tmp_path / "hyp.txt").read_text(encoding="utf-8") == "a\n"


def test_an_output_that_cannot_be_is_told_before_the_work(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "no" / "where.tsv", f"{tmp_path}/folder/"):
        shown = adequa("score", "-t", "no-such-file", "-r", "no-such-file", "-o", target)
        assert str(target) in shown.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_is_utf8_whatever_the_terminal_says(
    encoding: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    (tmp_path / "système.txt").write_text("a\n", encoding="utf-8")
    shown = adequa("score", "-t", "système.txt", "-r", "système.txt", "-m", "wer", cwd=tmp_path)
    assert "système  0.0000" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["score"], "Name the translations with -t and the reference with -r"),
        (["score", "-t", "hyp.txt"], "Name the translations with -t and the reference with -r"),
        (
            ["score", "-t", "hyp.txt", "-r", "ref.txt", "-i", "x.tsv"],
            "Give either one file with -i",
        ),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "--column", "mt=x"], "--column names columns"),
        (["score", "-t", "nope.txt", "-r", "ref.txt"], "nope.txt"),
        (["score", "-t", ".", "-r", "ref.txt"], ". is a folder, not a file."),
        (["score", "-t", "empty.txt", "-r", "empty.txt"], "empty.txt is empty"),
        (
            ["score", "-t", "hyp.txt", "-r", "short.txt"],
            "hyp.txt has 2 lines, short.txt has 1 line",
        ),
        (["score", "-t", "hyp.txt", "-r", "gap.txt"], "gap.txt, line 2"),
        (
            ["score", "-t", "a=hyp.txt", "a=ref.txt", "-r", "ref.txt"],
            'Two systems are called "a": hyp.txt and ref.txt; name one of them',
        ),
        (["score", "-t", "hyp=ref.txt", "hyp.txt", "-r", "ref.txt"], 'are called "hyp"'),
        (["score", "-t", "new=nope.txt", "-r", "ref.txt"], "nope.txt"),
        (["score", "-t", "latin.txt", "-r", "ref.txt"], "latin.txt, line 2"),
        (["score", "-t", "table.tsv", "-r", "ref.txt"], "table.tsv is a table by its name"),
        (["score", "-t", "packed.txt", "-r", "ref.txt"], "packed.txt is a gzip file"),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "-m", "blue"], 'Did you mean "bleu"?'),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "-m", "bleu:tok=13a"], "no setting named"),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "--by", "doc"], '"doc"'),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "--by", "d", "--segments"], "choose one"),
        (["score", "-t", "hyp.txt", "-r", "ref.txt", "-o", "no/where.txt"], "no/where.txt"),
        (["score", "-i", "x.docx"], "x.docx"),
        (["score", "-i", "table.tsv", "--column", "mt=hyp"], '"hyp"'),
        (["metrics", "chfr"], 'Did you mean "chrf"?'),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "hyp.txt").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "short.txt").write_text("a\n", encoding="utf-8")
    (tmp_path / "gap.txt").write_text("a\n\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    (tmp_path / "packed.txt").write_bytes(gzip.compress(b"a\nb\n"))
    (tmp_path / "latin.txt").write_bytes(b"a\ncaf\xe9\n")
    (tmp_path / "table.tsv").write_text("mt\tref\na\ta\n", encoding="utf-8")
    shown = adequa(*arguments, cwd=tmp_path)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith("adequa: error: ")
    assert sentence in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_unknown_option_exits_2() -> None:
    shown = adequa("score", "--nonsense")
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr


def test_metrics_are_listed_with_their_settings() -> None:
    listed = adequa("metrics").stdout
    assert all(line.count("  ") for line in listed.splitlines()[:10])
    assert "chrf         references  character n-gram F-score\n" in listed
    names = [line.partition(" ")[0] for line in listed.splitlines()]
    assert names[1:4] == ["adequa", "adequa-fast", "adequa-1"]
    described = adequa("metrics", "WER").stdout
    assert "lower is better" in described
    assert "tokenize   13a      13a, intl, zh, char, none\n" in described
    assert "lowercase  false    true or false\n" in described
    assert "references  best     best, mean\n" in adequa("metrics", "adequa").stdout


def test_version() -> None:
    from adequa import __version__

    assert adequa("--version").stdout == f"adequa {__version__}\n"


def test_help_has_groups_and_whole_summaries() -> None:
    from adequa.cli.main import VERBS, load_verb

    shown = adequa("--help").stdout
    for group, verbs in VERBS.items():
        assert f"\n{group}:\n" in shown
        assert all(f"\n  {verb} " in shown for verb in verbs)
    listed = shown.partition("\nScore:\n")[2].splitlines()
    assert not any(
        "..." in line or line.startswith("   ") for line in listed
    )  # one whole line each
    assert shown.strip() == (adequa().stderr + adequa().stdout).strip()
    for verbs in VERBS.values():
        for verb, (_, summary) in verbs.items():
            help_ = cleandoc(load_verb(verb).help)
            assert " ".join(help_.partition("\n\n")[0].split()) == summary


def test_an_option_takes_several_files_and_names_of_systems(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "lr=0.1.txt", "r.txt"):
        (tmp_path / name).write_text("one two\n" * 2, encoding="utf-8")
    files = ["-t", "a.txt", "new=b.txt", "lr=0.1.txt", "-r", "r.txt", "a.txt"]
    shown = adequa("score", *files, "-m", "wer", "per", "--format", "tsv", cwd=tmp_path)
    header, *rows = shown.stdout.splitlines()
    assert header == "system\twer\tper"
    assert [row.split("\t")[0] for row in rows] == ["a", "new", "lr=0.1"]
    glob = in_shell(f'"{sys.executable}" -m adequa score -t [ab].txt -r r.txt -m wer', tmp_path)
    assert [line.split()[0] for line in glob.stdout.splitlines()[1:3]] == ["a", "b"]
    gate = ["--baseline", "old=a.txt", "--candidate", "new=b.txt"]
    assert "new is no regression from old" in adequa("gate", *gate, *files[4:], cwd=tmp_path).stdout


def test_completion_offers_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    # Typer would look for the shell above, which may be one that it has no completion for.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    from adequa.cli.options import complete_metric

    assert [name for name, _ in complete_metric("ch")] == ["chrf", "chrf++", "character"]
    assert "_ADEQUA_COMPLETE" in adequa("--show-completion", "bash").stdout


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    # More than a pipe holds, so that writing meets the closed end.
    (tmp_path / "text.txt").write_text("a\n" * 20_000, encoding="utf-8")
    command = f'"{sys.executable}" -m adequa score -t text.txt -r text.txt -m wer --segments -q'
    shown = in_shell(f'{command} | head -n 1; echo "${{PIPESTATUS[0]}}"', tmp_path)
    assert shown.stdout.splitlines()[0].startswith("system")
    assert shown.stdout.splitlines()[1] == "1"
    assert shown.stderr == ""


def test_no_bar_for_quick_work_on_a_terminal() -> None:
    """On a terminal, standard error stays clean unless work takes long."""
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "adequa", "score", "-t", "fluent.txt", "-r", "reference.txt"]
    shown = subprocess.run(
        [*command, "-m", "wer"],
        stderr=writer,
        stdout=subprocess.PIPE,
        cwd=EXAMPLES,
        check=True,
    )
    os.close(writer)
    try:
        seen = os.read(reader, 1000)
    except OSError:  # Linux says so when the other end is closed and nothing was written
        seen = b""
    os.close(reader)
    assert seen == b""
    assert b"wer" in shown.stdout
