"""Paired tests: sacreBLEU's numbers, the level that they keep, and what they find."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from adequa import load_metric
from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments
from adequa.statistics import paired
from adequa.statistics.paired import (
    bootstrap_p_values,
    bootstrap_scores,
    randomisation,
    score_scale,
    swap_sums,
)
from adequa.statistics.resampling import bootstrap_chunks
from damaged_systems import references, system

SACREBLEU_SEED = 12345
METRICS: Mapping[str, Callable[[], object]] = {
    "bleu": sacrebleu.BLEU,
    "chrf": sacrebleu.CHRF,
    "ter": sacrebleu.TER,
}
REFERENCES = references(120)
SYSTEMS = {
    f"s{place}": system(REFERENCES, wrong, seed=place)
    for place, wrong in enumerate((0.20, 0.21, 0.23, 0.24))
}


def counted(metric: Metric, systems: Mapping[str, list[str]]) -> FloatArray:
    """Statistics of systems, (systems, segments, k)."""
    given = tuple((text,) for text in REFERENCES)
    return np.stack([metric.statistics(Segments(tuple(of), given)) for of in systems.values()])


def oriented(metric: Metric) -> Callable[[FloatArray], FloatArray]:
    sign = 1 if metric.higher_is_better else -1
    return lambda totals: sign * metric.system_scores(totals)


def sacrebleu_p_values(test: str, samples: int) -> dict[str, list[float]]:
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    paired = PairedTest(
        list(SYSTEMS.items()),
        {name: make() for name, make in METRICS.items()},  # type: ignore[misc]
        [REFERENCES],
        test_type=test,
        n_samples=samples,
    )
    _, scores = paired()
    found = {}
    for name, results in scores.items():
        if name != "System":
            found[name.lower().replace("chrf2", "chrf")] = [
                float(result.p_value)  # type: ignore[union-attr,arg-type]
                for result in results[1:]
            ]
    return found


def test_p_values_are_those_of_sacrebleu() -> None:
    metrics = [load_metric(name) for name in METRICS]
    statistics = [counted(metric, SYSTEMS) for metric in metrics]
    scores = [oriented(metric) for metric in metrics]
    resampled = bootstrap_scores(statistics, scores, 400, SACREBLEU_SEED)
    swapped = randomisation(statistics, scores, 300, SACREBLEU_SEED, ties=False)
    by_bootstrap, by_swaps = sacrebleu_p_values("bs", 400), sacrebleu_p_values("ar", 300)
    for place, name in enumerate(METRICS):
        observed = scores[place](statistics[place].sum(axis=1))
        ours = bootstrap_p_values(observed, resampled[place], ties=False)[0, 1:]
        assert ours.tolist() == by_bootstrap[name]
        assert swapped[place].two_sided[0, 1:].tolist() == by_swaps[name]
    assert len({p for values in by_swaps.values() for p in values}) > 6


def test_equal_systems_are_not_told_apart() -> None:
    """sacreBLEU is surest where nothing differs; here p is 1."""
    bleu = load_metric("bleu")
    statistics = counted(bleu, {"one": SYSTEMS["s0"], "other": SYSTEMS["s0"]})
    (found,) = randomisation([statistics], [bleu.system_scores], 99, 1)
    assert found.two_sided.tolist() == found.leading.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    (resampled,) = bootstrap_scores([statistics], [bleu.system_scores], 99, 1)
    observed = bleu.system_scores(statistics.sum(axis=1))
    assert bootstrap_p_values(observed, resampled).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_one_segment_proves_nothing() -> None:
    """Where one segment differs, every swap is as extreme as what was observed."""
    other = ["nothing right", *SYSTEMS["s0"][1:]]
    chrf = load_metric("chrf")
    statistics = counted(chrf, {"one": SYSTEMS["s0"], "other": other})
    (found,) = randomisation([statistics], [chrf.system_scores], 99, 1)
    assert found.two_sided[0, 1] == 1.0


def test_scores_about_zero_have_ties_too() -> None:
    """One segment differs by a lot, in scores whose sums cancel out: every swap is as extreme."""
    first = np.array([1e6, -1e6, 0.1, 0.2, 0.3, -0.6])
    second = first + np.array([0, 0, 0, 0, 0, 1e-3])
    scores = np.stack([first - first.mean(), second - first.mean()])
    statistics = np.stack([scores, np.ones_like(scores)], axis=2)

    def mean(sums: FloatArray) -> FloatArray:
        return np.asarray(sums[:, 0] / sums[:, 1])

    (found,) = randomisation([statistics], [mean], 999, 1)
    assert found.two_sided[0, 1] == 1.0
    assert score_scale(statistics, mean) == pytest.approx(np.abs(scores).mean(), rel=1e-3)


def test_halves_do_not_depend_on_memory() -> None:
    columns = np.arange(21.0).reshape(3, 7)
    (whole,) = swap_sums(columns, 100, seed=5)
    parts = list(swap_sums(columns, 100, seed=5, limit=1))
    assert len(parts) == 4
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))
    masks = np.random.default_rng(5).integers(2, size=(100, 7), dtype=bool)
    np.testing.assert_array_equal(whole, columns @ masks.T)


def test_tests_do_not_depend_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extreme swaps add up over chunks, and scores stand side by side."""
    chrf = load_metric("chrf")
    given = [counted(chrf, SYSTEMS)], [chrf.system_scores]
    (whole,), (drawn,) = randomisation(*given, 100, 5), bootstrap_scores(*given, 20, 5)
    monkeypatch.setattr(paired, "swap_sums", partial(swap_sums, limit=1))
    monkeypatch.setattr(paired, "bootstrap_chunks", partial(bootstrap_chunks, limit=1))
    seen: list[tuple[int, int]] = []
    (parts,) = randomisation(*given, 100, 5, done=lambda *at: seen.append(at))
    np.testing.assert_array_equal(whole.two_sided, parts.two_sided)
    np.testing.assert_array_equal(whole.leading, parts.leading)
    assert sorted(set(seen)) == [(at, 100) for at in (0, 32, 64, 96, 100)]
    np.testing.assert_array_equal(drawn, bootstrap_scores(*given, 20, 5)[0])


def test_memory_does_not_grow_with_swaps_and_resamples() -> None:
    """Two segments of wide statistics, where a number for each swap of each would be 320 MB."""
    statistics = np.random.default_rng(3).random((2, 2, 400))

    def mean(sums: FloatArray) -> FloatArray:
        return np.asarray(sums.mean(axis=1))

    for test in (randomisation, bootstrap_scores):
        tracemalloc.start()
        try:
            test([statistics], [mean], 50_000, 1)
            assert tracemalloc.get_traced_memory()[1] < 200e6
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(("side", "level"), [("two_sided", 0.05), ("leading", 0.05)])
def test_false_alarms_under_the_null(side: str, level: float) -> None:
    """Outputs swapped at random, many times: p <= 0.05 in 5% of the cases.

    Of 800 trials 40 are expected, with a standard deviation of 6.2; the bounds are four of them on
    either side, which a right test misses once in 16,000 sets of draws. These are seeded.
    """
    bleu = load_metric("bleu")
    first, second = counted(bleu, {name: SYSTEMS[name] for name in ("s0", "s3")})
    generator = np.random.default_rng(11)
    alarms = 0
    for trial in range(800):
        swap = generator.random((len(first), 1)) < 0.5
        pair = np.stack([np.where(swap, second, first), np.where(swap, first, second)])
        (found,) = randomisation([pair], [bleu.formula], 199, trial)  # type: ignore[attr-defined]
        alarms += getattr(found, side)[0, 1] <= level
    assert 40 - 25 <= alarms <= 40 + 25


def test_a_planted_loss_is_found() -> None:
    """A tenth more of the words wrong, in 120 segments: found in 19 of 20 cases and more.

    Of 20 made-up pairs 18 are found at least, which a test of power 0.99 misses once in 1,000 sets.
    """
    chrf, found = load_metric("chrf"), 0
    for trial in range(20):
        good, bad = (
            system(REFERENCES, wrong, seed=1000 + 2 * trial + place)
            for place, wrong in enumerate((0.2, 0.3))
        )
        statistics = counted(chrf, {"good": good, "bad": bad})
        (tested,) = randomisation([statistics], [chrf.system_scores], 199, trial)
        found += tested.leading[0, 1] <= 0.05
    assert found >= 18
