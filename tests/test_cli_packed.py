"""Packed metrics on the command line: scores that are kept, devices, and what is told of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adequa.cli.inputs import SCORES_FILE, MetricLoader
from adequa.cli.main import main
from adequa.learned.packed.metric import PackedPair
from test_cli import EXAMPLES
from tiny_packed import packed_by_hand, tiny_packed

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FILES = ("-t", "hyp.txt", "-r", "ref.txt")
RATINGS = EXAMPLES / "ratings.tsv"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts, a packed metric, and a place for caches."""
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    tiny_packed(tmp_path / "metric")
    (tmp_path / "hyp.txt").write_text("a cat\nthe dog ran\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("the cat\na dog ran\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def adequa(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in that folder, in this process, since starting others takes long."""
    monkeypatch.chdir(place)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = ["adequa", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


def kept(place: Path) -> Path:
    return place / "cache" / SCORES_FILE


def test_scores_are_kept_between_runs(adequa: Run, place: Path) -> None:
    first = adequa("score", *FILES, "-m", "metric", "--segments", "--format", "tsv")
    assert (first.returncode, first.stderr) == (0, "")
    scores = [float(line.split("\t")[-1]) for line in first.stdout.splitlines()[1:]]
    expected = [packed_by_hand("a cat", "the cat"), packed_by_hand("the dog ran", "a dog ran")]
    assert scores == pytest.approx(expected, abs=1e-5)
    before = kept(place).stat()
    again = adequa("score", *FILES, "-m", "metric", "--segments", "--format", "tsv")
    assert again.stdout == first.stdout
    assert kept(place).stat().st_mtime_ns == before.st_mtime_ns  # nothing new to keep


def test_no_cache_leaves_the_cache_alone(adequa: Run, place: Path) -> None:
    shown = adequa("score", *FILES, "-m", "metric", "--no-cache")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert not kept(place).parent.exists()


def test_lexical_metrics_keep_nothing(adequa: Run, place: Path) -> None:
    assert adequa("score", *FILES, "-m", "chrf").returncode == 0
    assert not kept(place).parent.exists()


def test_a_damaged_cache_changes_no_score_and_is_told_of_once(adequa: Run, place: Path) -> None:
    expected = adequa("score", *FILES, "-m", "metric", "--no-cache").stdout
    kept(place).parent.mkdir()
    kept(place).write_bytes(b"no database" * 999)
    tiny_packed(place / "second", name="second")
    shown = adequa("score", *FILES, "-m", "metric", "-m", "second")
    assert shown.returncode == 0
    assert [line.split()[1] for line in shown.stdout.splitlines()[:2]] == [
        line.split()[1] for line in expected.splitlines()[:2]
    ]
    assert shown.stderr.startswith(f"note: {kept(place)} was damaged (")
    assert shown.stderr.count("\n") == 1
    assert adequa("score", *FILES, "-m", "metric").stderr == ""


def test_a_cache_that_cannot_be_is_no_reason_to_fail(adequa: Run, place: Path) -> None:
    (place / "cache").write_text("in the way")
    shown = adequa("score", *FILES, "-m", "metric")
    assert shown.returncode == 0
    assert shown.stderr.startswith("note: ")
    assert "is of no use as a cache" in shown.stderr
    assert adequa("score", *FILES, "-m", "metric", "-q").stderr == ""


def test_the_size_of_the_cache(adequa: Run, place: Path) -> None:
    metric = MetricLoader(cache_limit_mb=3)(str(place / "metric"))
    assert isinstance(metric, PackedPair)
    assert metric._cache is not None
    assert (metric._cache.path, metric._cache.limit) == (kept(place), 3_000_000)
    for size in ("0", "1000001", "9" * 400):
        refused = adequa("score", *FILES, "--cache-size", size)
        assert refused.returncode == 2
        assert "adequa: error: --cache-size must be" in refused.stderr


@pytest.mark.skipif(os.name != "posix", reason="the cache folder is not in the home")
def test_nothing_but_our_own_is_left_in_the_home(place: Path) -> None:
    """onnxruntime would keep a file of its own there, and report to its makers."""
    home = place / "home"
    home.mkdir()
    ours = {"ADEQUA_CACHE", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    found = subprocess.run(
        [sys.executable, "-m", "adequa", "score", *FILES, "-m", "metric"],
        cwd=place, env={**environment, "HOME": str(home)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    left = [path for path in home.rglob("*") if path.is_file()]
    assert {path.parent.name for path in left} == {"adequa"}
    assert SCORES_FILE in {path.name for path in left}


def test_a_cache_folder_with_an_impossible_name(
    adequa: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = adequa("score", *FILES, "-m", "metric", "--no-cache").stdout
    monkeypatch.setenv("ADEQUA_CACHE", "x" * 300)
    shown = adequa("score", *FILES, "-m", "metric")
    assert (shown.returncode, shown.stdout) == (0, expected)
    assert "is of no use as a cache" in shown.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "some/file"), "some/file cannot be used: Perm"),
        (OSError(12, "Cannot allocate memory"), "The operating system reports an error: Cannot al"),
        (OSError(110, "Connection timed out"), "The operating system reports an error: Connection"),
    ],
    ids=["file", "memory", "network"],
)
def test_other_errors_of_the_system_are_not_laid_to_the_output(
    adequa: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(PackedPair, "compute_segment_scores", failing)
    shown = adequa("score", *FILES, "-m", "metric")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith(f"adequa: error: {said}")
    assert shown.stderr.count("\n") == 1


def test_a_user_without_a_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("adequa.io.storage.cache_folder", homeless)
    metric = MetricLoader(cache_limit_mb=3)(str(place / "metric"))
    assert isinstance(metric, PackedPair)
    assert metric._cache is None


def test_several_processes_share_a_cache(adequa: Run, place: Path) -> None:
    """They begin it together, and all are right."""
    expected = adequa("score", *FILES, "-m", "metric", "--no-cache").stdout
    command = [sys.executable, "-m", "adequa", "score", *FILES, "-m", "metric"]
    running = [
        subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in running:
        out, told = process.communicate(timeout=120)
        assert (process.returncode, told.decode()) == (0, "")
        assert out.decode() == expected


@pytest.mark.parametrize(
    "verb",
    [
        ["evaluate", str(RATINGS), "--resamples", "20"],
        ["analyse", str(RATINGS)],
        ["robustness", "--data", str(RATINGS), "--group", "empty", "--kind", "negation_added"],
    ],
    ids=["evaluate", "analyse", "robustness"],
)
def test_other_verbs_keep_scores_too(adequa: Run, place: Path, verb: list[str]) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return adequa(*verb, "-m", place / "metric", "-m", "chrf", *more)

    without = run("--no-cache")
    assert without.returncode == 0
    assert not kept(place).exists()
    first, second = run(), run("--device", "cpu")
    assert first.stdout == second.stdout == without.stdout
    assert kept(place).exists()


def test_analyse_tells_of_the_texts(adequa: Run, place: Path) -> None:
    tiny_packed(place / "short", model={"notes": {"max_length": "12"}})
    shown = adequa("analyse", RATINGS, "-m", place / "short", "-m", "chrf")
    assert shown.returncode == 0
    assert "of hypothesis and reference in windows, as they are longer than 12" in shown.stderr


def test_what_is_told_of_the_texts(adequa: Run, place: Path) -> None:
    tiny_packed(place / "short", model={"notes": {"max_length": "12"}})
    german = "Das ist nicht die Antwort, die ich von dir und deiner Schwester erwartet habe."
    (place / "hyp.txt").write_text(f"a cat\n{german}\n", encoding="utf-8")
    shown = adequa("score", *FILES, "-m", "short")
    assert shown.returncode == 0
    windows, english = shown.stderr.splitlines()
    assert windows == (
        "note: tiny read 1 pair of hypothesis and reference in windows, as they are longer than 12 "
        "tokens."
    )
    assert english.startswith("note: 1 hypothesis of 2 that tiny scored is plainly not in English")
    assert english.endswith("-m chrf is for every language.")
    # What is kept remembers the windows.
    assert adequa("score", *FILES, "-m", "short").stderr == shown.stderr


def test_devices(adequa: Run, place: Path) -> None:
    import onnxruntime

    plain = adequa("score", *FILES, "-m", "metric", "-m", "chrf")
    named = adequa("score", *FILES, "-m", "metric", "-m", "chrf", "--device", "cpu")
    assert (named.returncode, named.stdout) == (0, plain.stdout)
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        refused = adequa("score", *FILES, "-m", "metric", "--device", "cuda")
        assert refused.returncode == 2
        assert refused.stderr.startswith("adequa: error: The onnxruntime that is installed has no")
        assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["score", *FILES, "-m", "bleu", "-m", "chrf", "--device", "cpu"],
            "--device goes with trained metrics, and there is none among these: bleu, chrf.",
        ),
        (
            ["evaluate", str(RATINGS), "-m", "chrf", "--device", "cuda"],
            "--device goes with trained metrics, and there is none among these: chrf.",
        ),
        (
            ["analyse", str(RATINGS), "-m", "chrf", "-m", "ter", "--device", "cpu"],
            "--device goes with trained metrics, and there is none among these: chrf, ter.",
        ),
        (
            ["robustness", *FILES, "-m", "chrf", "--device", "cpu"],
            "--device goes with trained metrics, and there is none among these: chrf.",
        ),
        (
            ["score", *FILES, "-m", "metric:device=cpu", "--device", "cpu"],
            "metric: device is given more than once.",
        ),
    ],
    ids=["score", "evaluate", "analyse", "robustness", "twice"],
)
def test_devices_that_nobody_asked_for(
    adequa: Run, place: Path, arguments: list[str], said: str
) -> None:
    shown = adequa(*arguments)
    assert shown.returncode == 2
    assert shown.stderr == f"adequa: error: {said}\n"


def test_settings_of_the_shipped_metric_are_listed(adequa: Run) -> None:
    shown = adequa("metrics", "adequa").stdout
    assert shown.startswith("adequa: human ratings, predicted by a small trained model")
    assert "0 to 1" in shown
    assert "references  best     best, mean\n" in shown
    assert "threads     none     a whole number or none\n" in shown
