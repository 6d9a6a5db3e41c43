"""What teachers say: asked for once, shared between processes, and kept until it is not needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.pair.devices import Processes
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import Plan, StagePlan
from adequa.learned.pair.teachers import Teachers, clear_teacher_cache
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_transformer import outputs, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

TEXTS, _ = outputs(12, seed=9)
CPU = torch.device("cpu")
CHRF = load_metric("chrf").score(TEXTS).segments


def teaching(folder: Path | None, stages: list[str] | None = None) -> Teachers:
    stage = (lambda _: None) if stages is None else stages.append
    return Teachers(folder, Processes(CPU), Progress(stage=stage))


def test_one_teacher_is_taken_at_its_word() -> None:
    assert teaching(None)(("chrf",), TEXTS) == pytest.approx(CHRF, abs=1e-9)
    ter = load_metric("ter").score(TEXTS).segments
    assert teaching(None)(("ter",), TEXTS) == pytest.approx(-ter, abs=1e-9)


def test_of_several_the_mean_on_a_common_scale() -> None:
    ter = -load_metric("ter").score(TEXTS).segments
    alike = [(each - each.mean()) / each.std() for each in (CHRF, ter)]
    expected = (
        np.mean(alike, axis=0) * (CHRF.std() + ter.std()) / 2 + (CHRF.mean() + ter.mean()) / 2
    )
    assert teaching(None)(("chrf", "ter"), TEXTS) == pytest.approx(expected)


def test_a_teacher_is_asked_once(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "kept"
    first = teaching(folder)
    found = first(("chrf", "ter"), TEXTS)
    assert len(list(folder.iterdir())) == 2
    assert [signature.partition("|")[0] for signature in first.signatures] == ["chrf", "ter"]
    stages: list[str] = []
    again = teaching(folder, stages)
    assert again(("chrf", "ter"), TEXTS).tobytes() == found.tobytes()
    assert stages == []
    assert again.signatures == first.signatures
    # Other texts, or the same teacher with another setting, are another matter.
    again(("chrf",), TEXTS.select(range(11)))
    again(("chrf:word_order=2",), TEXTS)
    assert len(stages) == 2
    (folder / "of-someone-else.npy").touch()
    clear_teacher_cache(folder)
    assert [path.name for path in folder.iterdir()] == ["of-someone-else.npy"]


def test_a_teacher_that_says_the_same_of_all() -> None:
    same = Segments(("the cat",) * 3, (("a dog",),) * 3)
    with pytest.raises(AdequaError, match="chrf says the same of every text"):
        teaching(None)(("chrf",), same)


class Together(Processes):
    """The first of two processes; what the other would add is worked out here."""

    def all_reduce(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            assert not tensor[1::2].any()  # nobody has scored the other's texts
            tensor[1::2] = torch.from_numpy(CHRF[1::2])

    def broadcast(self, tensors: Iterable[Any]) -> None:
        """The first is what it is."""


def test_two_processes_share_the_texts(tmp_path: Path) -> None:
    stages: list[str] = []
    both = Teachers(tmp_path, Together(CPU, count=2), Progress(stage=stages.append))
    assert both(("chrf",), TEXTS) == pytest.approx(CHRF)
    assert both(("chrf",), TEXTS) == pytest.approx(CHRF)
    assert stages == ["chrf scores 6 texts to teach"]


def test_a_stopped_training_is_taught_once(tmp_path: Path) -> None:
    from adequa.learned.checkpoints import Checkpoints

    encoder = str(write_tiny_encoder(tmp_path / "tiny", dropout=0.1))
    stage = StagePlan("distillation", teacher=("chrf",), batch=(8,), epochs=(1.0,))
    metric = PairRegressor(
        Plan(encoder=encoder, stage=(stage,)), device="cpu", checkpoints=tmp_path / "kept",
        seconds_between_checkpoints=0,
    )  # fmt: skip
    whole = replace(metric, checkpoints=None).fit(tiny_ratings(24))
    write = Checkpoints.write

    def stopping(self: Checkpoints, *given: Any) -> None:
        write(self, *given)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "write", stopping)
        with pytest.raises(KeyboardInterrupt):
            metric.fit(tiny_ratings(24))
    stages: list[str] = []
    metric.fit(tiny_ratings(24), Progress(stage=stages.append))
    assert not [stage for stage in stages if "to teach" in stage]
    assert (metric.score(TEXTS).segments == whole.score(TEXTS).segments).all()
    assert list((tmp_path / "kept").glob("taught-*.npy"))
    metric.save(tmp_path / "m")
    Checkpoints(tmp_path / "kept", "").remove()
    assert not (tmp_path / "kept").exists()
