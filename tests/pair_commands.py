"""`adequa train pair-regressor` on tiny files in a folder of its own, for tests of the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adequa.cli.main import main
from adequa.judgements import Preferences, Ratings
from tiny_transformer import tiny_preferences, tiny_ratings, write_tiny_encoder

Run = Callable[..., tuple[int, str, str]]
PLAN = '[[stage]]\nobjective = "ratings"\ndata = "rated.tsv"\n'


def settle(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Work in a folder with an encoder, ratings and preferences, and alone."""
    patch.setenv("ADEQUA_CACHE", str(folder / "cache"))
    patch.setenv("OMP_NUM_THREADS", "1")
    for name in ("WORLD_SIZE", "RANK"):
        patch.delenv(name, raising=False)
    patch.chdir(folder)
    write_tiny_encoder(Path("tiny"), layers=4)
    write_ratings("rated.tsv", tiny_ratings())
    write_preferences("ranked.tsv", tiny_preferences())


def write_ratings(path: str, found: Ratings) -> None:
    texts = found.segments
    assert texts is not None
    columns = (found.ids["lp"], texts.hypotheses, texts.references, found.scores)
    rows = (f"{lp}\t{mt}\t{ref}\t{score}\n" for lp, mt, (ref,), score in zip(*columns, strict=True))
    Path(path).write_text("".join(["lp\tmt\tref\tscore\n", *rows]))


def write_preferences(path: str, found: Preferences) -> None:
    assert found.better is not None
    assert found.worse is not None
    columns = (found.better.hypotheses, found.worse.hypotheses, found.better.references)
    rows = (f"cs-en\t{one}\t{two}\t{ref}\n" for one, two, (ref,) in zip(*columns, strict=True))
    Path(path).write_text("".join(["lp\tbetter\tworse\tref\n", *rows]))


def runner(patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process, to save the start of PyTorch."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        patch.setattr(sys, "argv", ["adequa", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.out, shown.err

    return ran


def command(*more: str, encoder: str = "tiny", output: str = "new") -> tuple[str, ...]:
    begin = ("--encoder", encoder) if encoder else ()
    return ("train", "pair-regressor", *begin, "--device", "cpu", "-o", output, *more)


def rated(*more: str, output: str = "new") -> tuple[str, ...]:
    few = ("--ratings", "rated.tsv", "--batch", "8", "--epochs", "2", "--learning-rate", "1e-3")
    return command(*few, *more, output=output)


def description(folder: str = "new") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "metric.json").read_text())
    return found


def weights(folder: str) -> bytes:
    files = (Path(folder, "encoder", "model.safetensors"), Path(folder, "weights.npz"))
    return b"".join(path.read_bytes() for path in files)
