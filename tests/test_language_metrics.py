"""What the target language decides: tokenizers, default metrics, warnings, and rows of tables."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

import adequa
from adequa import AdequaError, AdequaWarning, LanguageWarning, Segments
from adequa.languages import TargetLanguage, parse_language
from adequa.metrics import BLEU, METEOR, NIST, PER, TER, WER, SentBLEU
from adequa.metrics.language import default_metrics, read_language
from adequa.metrics.registry import load_metric
from test_languages import DECLARATION

GERMAN, ENGLISH, CHINESE = DECLARATION["de"], DECLARATION["en"], DECLARATION["zh"]


def worse(texts: list[str]) -> list[str]:
    """Texts without their last third."""
    return [text[: 1 + 2 * len(text) // 3] for text in texts]


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "adequa", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture
def german(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("\n".join(worse(GERMAN)) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(t[5:] for t in GERMAN) + "\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    return tmp_path


# Tokenizers


@pytest.mark.parametrize(
    ("code", "tokenize", "package"),
    [("zh", "zh", "sacrebleu"), ("ja", "ja-mecab", "MeCab"), ("ko", "ko-mecab", "mecab_ko")],
)
def test_bleu_has_the_tokenizer_that_sacrebleu_recommends(
    code: str, tokenize: str, package: str
) -> None:
    pytest.importorskip(package, reason=f"the extra {code} is not installed")
    references = DECLARATION[code]
    hypotheses = worse(references)
    scores = adequa.score(hypotheses, references, "bleu")
    oracle = sacrebleu.BLEU(tokenize=tokenize)
    assert scores.system == oracle.corpus_score(hypotheses, [references]).score
    assert f"|tok:{tokenize}" in str(scores.signature)
    assert scores.language == TargetLanguage(code, "detected")
    assert scores.warning is None
    named = load_metric(f"sentbleu:tokenize={tokenize}").score(hypotheses, references)
    assert adequa.score(hypotheses, references, "sentbleu").system == named.system


def test_other_languages_keep_13a() -> None:
    assert "|tok:13a|" in str(adequa.score(worse(GERMAN), GERMAN, "bleu").signature)
    assert BLEU().for_language("de") == BLEU()
    assert "tokenize:13a" in str(SentBLEU().signature(1))
    assert BLEU(tokenize="intl").for_language("zh") == BLEU(tokenize="intl")


def test_a_tokenizer_that_the_user_chose_stays_with_a_warning() -> None:
    with pytest.warns(LanguageWarning, match="bleu finds words by the spaces between them"):
        scores = adequa.score(worse(CHINESE), CHINESE, "bleu:tokenize=13a")
    assert "|tok:13a|" in str(scores.signature)
    assert "†" in scores.to_text()


def test_a_missing_tokenizer_gets_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: object) -> None:
        raise RuntimeError("Please install it.")

    monkeypatch.setattr("adequa.metrics.sacrebleu_metrics.sacrebleu.BLEU", missing)
    with pytest.raises(AdequaError, match=r"needs packages .*: pip install 'adequa\[ja\]'"):
        BLEU().for_language("ja")
    assert default_metrics(parse_language("ja")) == ("chrf",)


# Metrics that do not know a language


@pytest.mark.parametrize("metric", [BLEU(), SentBLEU(), TER(), WER(), PER(), NIST()], ids=str)
@pytest.mark.parametrize("code", ["th", "km", "my", "lo"])
def test_metrics_of_words_warn_where_there_are_no_spaces(metric: adequa.Metric, code: str) -> None:
    target = parse_language(code)
    assert "is written without" in str(metric.language_warning(target))
    assert metric.language_warning(parse_language("de")) is None
    assert metric.language_warning(TargetLanguage(None, "unknown")) is None
    assert load_metric("chrf").language_warning(target) is None


def test_meteor_refuses_other_languages_than_english() -> None:
    with pytest.raises(AdequaError, match="meteor is defined here for English alone.* -l en"):
        adequa.score(worse(GERMAN), GERMAN, "meteor")
    assert METEOR().for_language("en") == METEOR()
    assert adequa.score(worse(ENGLISH), ENGLISH, "meteor", language="en").warning is None


def test_the_default_metrics_are_those_that_know_the_language() -> None:
    assert default_metrics(parse_language("en")) == ("adequa", "bleu", "chrf")
    assert default_metrics(TargetLanguage(None, "unknown")) == ("adequa", "bleu", "chrf")
    assert default_metrics(parse_language("en-de")) == ("bleu", "chrf")


def test_scores_without_a_metric_are_chrf_with_a_warning_in_other_languages() -> None:
    with pytest.warns(LanguageWarning, match="The translations are German.*chrf scores them"):
        scores = adequa.score(worse(GERMAN), GERMAN)
    assert scores.signature.metric == "chrf"


def test_a_metric_that_does_not_know_the_language_warns_and_marks_its_numbers() -> None:
    hypotheses = worse(GERMAN)
    with pytest.warns(LanguageWarning, match="adequa knows English alone"):
        result = adequa.score(hypotheses, GERMAN, metrics=["adequa", "chrf"])
    adequa_, chrf = result.metrics
    assert chrf.warning is None
    content = result.to_dict()
    assert content["language"] == {"code": "de", "name": "German", "origin": "detected"}
    assert content["metrics"][0]["warning"] == adequa_.warning
    assert "warning" not in content["metrics"][1]
    assert json.loads(result.to_json()) == content
    header, row, *notes = result.to_text().splitlines()
    assert header.split()[1] == "adequa"
    assert row.split()[1].endswith("†")
    assert not row.split()[2].endswith("†")
    assert f"† {adequa_.warning}" in notes
    assert not any("plainly not in English" in note for note in notes)  # said already
    assert result.to_pandas()["adequa"].dtype == float  # without marks


def test_an_english_text_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = adequa.score(worse(ENGLISH), ENGLISH, metrics=["adequa", "bleu", "meteor"])
    assert [each.warning for each in result.metrics] == [None, None, None]


def test_comparison_gate_and_ranking_warn() -> None:
    systems = {"a": worse(GERMAN), "b": [text[5:] for text in GERMAN]}
    with pytest.warns(LanguageWarning, match="adequa knows English alone"):
        comparison = adequa.compare(systems, GERMAN, ["adequa", "chrf"])
    assert [each.warning is None for each in comparison.metrics] == [False, True]
    content = comparison.to_dict(segments=False)
    assert content["language"]["code"] == "de"
    assert "warning" in content["metrics"][0]
    assert "† adequa knows English alone" in comparison.to_text()
    assert [each.name for each in adequa.compare(systems, GERMAN).metrics] == ["bleu", "chrf"]
    with pytest.warns(LanguageWarning, match="adequa knows English alone"):
        gate = adequa.gate(systems["a"], systems["b"], GERMAN, ["adequa"])
    assert gate.to_dict()["checks"][0]["warning"] == gate.checks[0].warning
    assert "†" in gate.sentence
    assert "† adequa knows" in gate.to_markdown()
    assert len(adequa.gate(systems["a"], systems["b"], GERMAN).checks) == 2
    with pytest.warns(LanguageWarning, match="ranker knows English alone"):
        ranking = adequa.rank(systems, GERMAN, adequa.pretrained.ranker_folder())
    assert "†" in ranking.to_text()
    assert adequa.rank(systems, GERMAN).signature.startswith("chrf|")


def test_choices_warn() -> None:
    candidates = [[text, text[5:], text[9:]] for text in GERMAN]
    with pytest.warns(LanguageWarning, match="adequa knows English alone"):
        choices = adequa.mbr(candidates, "adequa")
    assert "warning" in choices.to_dict()
    assert "†" in choices.to_text()
    with pytest.warns(LanguageWarning, match="chrf scores them"):
        ranked = adequa.rerank(candidates, GERMAN)
    assert ranked.metric.name == "chrf"
    assert ranked.to_dict()["language"]["code"] == "de"
    assert adequa.mbr(candidates, "bleu", language="zh").metric == BLEU(tokenize="zh")


# Segments of one language


def mixed() -> Segments:
    texts = (*GERMAN, *CHINESE)
    pairs = ("en-de",) * len(GERMAN) + ("en-zh_CN",) * len(CHINESE)
    return Segments(tuple(worse(list(texts))), tuple(zip(texts)), ids={"lp": pairs})


def test_several_languages_are_refused_and_one_is_selected() -> None:
    segments = mixed()
    with pytest.raises(AdequaError, match=r"several language pairs: en-de, en-zh_CN.*with -l"):
        adequa.score(segments, metric="chrf")
    german = adequa.score(segments, metric="chrf", language="de")
    assert german.system == adequa.score(worse(GERMAN), GERMAN, "chrf").system
    assert len(adequa.score(segments, metric="bleu", language="en-zh").segments) == len(CHINESE)
    with pytest.raises(AdequaError, match="No segment is of fr; there are: en-de, en-zh_CN"):
        adequa.score(segments, metric="chrf", language="fr")


def test_a_later_language_of_a_stream_is_refused() -> None:
    segments = mixed()
    german = segments.select(range(len(GERMAN)))
    stream = read_language([german] * 100 + [segments])
    assert stream.target == TargetLanguage("de", "column", "en")
    with pytest.raises(AdequaError, match="several language pairs: en-de, en-zh_CN"):
        list(stream.batches)


def test_a_stream_is_read_once_and_not_to_its_end() -> None:
    taken = []

    def batches() -> object:
        for number in range(1000):
            taken.append(number)
            yield Segments(tuple(GERMAN), tuple(zip(GERMAN)))

    stream = read_language(batches())  # type: ignore[arg-type]
    assert stream.target.code == "de"
    assert len(taken) < 100
    assert sum(map(len, stream.batches)) == 1000 * len(GERMAN)
    assert taken == list(range(1000))


def test_a_column_that_names_no_languages_decides_nothing() -> None:
    segments = Segments(tuple(worse(GERMAN)), tuple(zip(GERMAN)), ids={"lp": ("news",) * 31})
    assert adequa.score(segments, metric="chrf").language == TargetLanguage("de", "detected")


# What is told of outputs


def test_the_reference_among_the_systems_is_told() -> None:
    systems = {"good": GERMAN, "bad": worse(GERMAN)}
    note = "31 of 31 outputs of good are identical to a reference"
    with pytest.warns(AdequaWarning, match=note):
        comparison = adequa.compare(systems, GERMAN, "chrf")
    assert any(each.startswith(note) for each in comparison.notes)
    with pytest.warns(AdequaWarning, match="31 of 31 outputs of the system are identical"):
        adequa.score(GERMAN, GERMAN, "chrf")


def test_outputs_of_another_language_are_told() -> None:
    with pytest.warns(LanguageWarning, match="outputs of the system look English.*source text"):
        adequa.score(ENGLISH, GERMAN, "chrf", sources=ENGLISH)
    with pytest.warns(LanguageWarning, match="the references look German, and the .* is French"):
        adequa.score(worse(GERMAN), GERMAN, "chrf", language="fr")
    with pytest.warns(LanguageWarning, match="look German, and the references are English") as all_:
        scores = adequa.score(GERMAN, ENGLISH, "adequa")
    assert len(all_) == 1
    assert scores.remarks == ()  # that the hypotheses are not English is said already


# The command line


def test_the_table_of_the_command_line_marks_every_number(german: Path) -> None:
    shown = run("score", "-t", "a.txt", "b.txt", "-r", "ref.txt", "-m", "adequa", cwd=german)
    assert "note: target language: German (detected; -l sets another).\n" in shown.stderr
    assert "plainly not in English" not in shown.stderr  # the table says it
    rows = shown.stdout.splitlines()[1:3]
    assert all(row.endswith("†") for row in rows)
    assert "*" not in shown.stdout  # nor is one of them the best
    both = run(
        "score", "-t", "a.txt", "b.txt", "-r", "ref.txt", "-m", "adequa", "-m", "chrf", cwd=german
    )
    assert both.stdout.count("*") == 2  # of chrf, and in the legend
    assert "\n† adequa knows English alone: its scores of German" in shown.stdout
    default = run("score", "-t", "a.txt", "-r", "ref.txt", cwd=german)
    assert default.stdout.splitlines()[0].split() == ["system", "bleu", "↑", "chrf", "↑"]
    assert "note: adequa is left out: it knows English alone" in default.stderr
    english = run("score", "-t", "a.txt", "-r", "ref.txt", "-l", "en", "-m", "adequa", cwd=german)
    assert "note: the references look German, and the language given is English." in english.stderr
    wrong = run("score", "-t", "a.txt", "-r", "ref.txt", "-l", "xx", cwd=german)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert '"xx" is no language' in wrong.stderr


def test_compare_and_gate_on_the_command_line(german: Path) -> None:
    files = ("-t", "a.txt", "b.txt", "-r", "ref.txt", "-l", "en-de", "-m", "adequa")
    compared = run("compare", *files, cwd=german)
    assert compared.stdout.count("†") >= 4  # two scores, a difference, and the note
    named = ("--baseline", "a.txt", "--candidate", "b.txt", "-r", "ref.txt")
    gate = run("gate", *named, "-m", "adequa", cwd=german)
    assert "† adequa knows English alone" in gate.stdout
    both = run("gate", *named, "--json", "gate.json", "-q", cwd=german)
    checks = json.loads((german / "gate.json").read_text())["checks"]
    assert (both.stderr, [check["metric"] for check in checks]) == ("", ["bleu", "chrf"])


def test_rank_and_choices_on_the_command_line(german: Path) -> None:
    ranked = run("rank", "-t", "a.txt", "b.txt", "-r", "ref.txt", cwd=german)
    assert "chrf|nrefs:1" in ranked.stdout
    lines = ({"candidates": [text, text[5:]], "ref": text} for text in GERMAN)
    (german / "nbest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    chosen = run("mbr", "-i", "nbest.jsonl", "-m", "adequa", "--format", "table", cwd=german)
    assert "†" in chosen.stdout
    default = run("rerank", "-i", "nbest.jsonl", "--format", "json", cwd=german)
    assert json.loads(default.stdout)["metric"] == "chrf"
    assert "note: chrf chooses: adequa knows English alone." in default.stderr


def test_tables_of_several_languages(tmp_path: Path) -> None:
    segments = mixed()
    rows = zip(segments.ids["lp"], segments.hypotheses, segments.references, strict=True)
    text = "pair\tmt\tref\n" + "".join(f"{pair}\t{mt}\t{ref}\n" for pair, mt, (ref,) in rows)
    (tmp_path / "table.tsv").write_text(text, encoding="utf-8")
    read = ("score", "-i", "table.tsv", "--column", "lp=pair", "--format", "tsv", "-m", "bleu")
    refused = run(*read, cwd=tmp_path)
    assert refused.returncode == 2
    assert "several language pairs: en-de, en-zh_CN" in refused.stderr
    chinese = run(*read, "-l", "zh", cwd=tmp_path)
    expected = sacrebleu.corpus_bleu(worse(CHINESE), [CHINESE], tokenize="zh").score
    assert np.isclose(float(chinese.stdout.splitlines()[1].split("\t")[1]), expected)


# Corpora of shards


def write_shard(path: Path, texts: list[str], **more: str) -> None:
    rows = ({"mt": mt, "ref": ref, **more} for mt, ref in zip(worse(texts), texts, strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_corpus_has_one_language_which_its_folder_records(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_shard(tmp_path / "in" / "a.jsonl", CHINESE)
    write_shard(tmp_path / "in" / "b.jsonl", CHINESE)
    scored = adequa.score_corpus(tmp_path / "in", tmp_path / "out", "bleu")
    assert scored.results.language == TargetLanguage("zh", "detected")
    expected = sacrebleu.corpus_bleu(worse(CHINESE) * 2, [CHINESE * 2], tokenize="zh").score
    assert np.isclose(scored.results.system["bleu"], expected)
    job = json.loads((tmp_path / "out" / "_adequa" / "job.json").read_text())
    assert job["language"] == "zh"
    again = adequa.score_corpus(tmp_path / "in", tmp_path / "out", "bleu", language="zh")
    assert again.results.system == scored.results.system
    with pytest.raises(AdequaError, match="out"):
        adequa.score_corpus(tmp_path / "in", tmp_path / "out", "bleu", language="de")
    with pytest.warns(LanguageWarning, match="wer finds words by the spaces"):
        adequa.score_corpus(tmp_path / "in", tmp_path / "wer", "wer")


def test_rows_of_another_language_have_no_score(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_shard(tmp_path / "in" / "a.jsonl", GERMAN, lp="en-de")
    write_shard(tmp_path / "in" / "b.jsonl", CHINESE, lp="en-zh")
    scored = adequa.score_corpus(tmp_path / "in", tmp_path / "out", "chrf")
    assert scored.results.language == TargetLanguage("de", "column", "en")
    assert scored.unscored == len(CHINESE)
    assert "it is of en-zh, and the corpus is scored as German" in str(scored.first_reason)
    assert scored.results.system["chrf"] == pytest.approx(
        adequa.score(worse(GERMAN), GERMAN, "chrf").system
    )


def test_metric_objects_detect_the_language_too() -> None:
    scores = BLEU().score(worse(CHINESE), CHINESE)
    expected = sacrebleu.corpus_bleu(worse(CHINESE), [CHINESE], tokenize="zh").score
    assert scores.system == pytest.approx(expected, abs=1e-9)
    assert scores.language.code == "zh"
    with pytest.warns(LanguageWarning, match="bleu finds words by the spaces"):
        assert BLEU(tokenize="13a").score(worse(CHINESE), CHINESE).warning
    with pytest.warns(LanguageWarning, match="wer finds words by the spaces"):
        WER().corpus_score(worse(CHINESE), [CHINESE])
    with pytest.raises(AdequaError, match="English alone"):
        METEOR().score(worse(GERMAN), GERMAN)
    assert METEOR().score(worse(GERMAN), GERMAN, language="en").warning is None


def test_tokenized_outputs_are_reported() -> None:
    tokenized = [f"{text.rstrip('.')} ." for text in ENGLISH]
    with pytest.warns(AdequaWarning, match="of the system end in a separate period"):
        adequa.score(tokenized, ENGLISH, metric="chrf")
