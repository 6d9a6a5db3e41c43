"""Measures explanations against known damage and human judgements, and their speed.

    ADEQUA_DATA=FOLDER python benchmarks/explanations.py localisation [--data wmt17-da]
    ADEQUA_DATA=FOLDER python benchmarks/explanations.py severity [--year 2021]
    ADEQUA_DATA=FOLDER python benchmarks/explanations.py thresholds
    ADEQUA_DATA=FOLDER python benchmarks/explanations.py quality [--data wmt17-da]
    ADEQUA_DATA=FOLDER python benchmarks/explanations.py speed [--data wmt17-da]

All take `-m METRIC`, by default adequa.
`localisation` damages references and good outputs, as `adequa robustness` does, and counts how
often the costliest piece is the damaged one, over texts that are damaged in one place.
`severity` asks whether the summed severities of a segment's pieces tell which segments of MQM have
a major error, and `thresholds` searches the thresholds on the year 2020, which no figure is
reported on. `quality` compares the pieces of the best and the worst tenth of outputs, and checks
that costs add up. `speed` is the ratio of explaining to scoring, on segments of 20 to 30 words, in
one thread.
Development data are WMT13, WMT16 and MQM of 2020.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import rankdata

from adequa.agreement.damaged_pairs import DamageSettings, damaged_pairs, good_texts
from adequa.agreement.selection import is_human
from adequa.damage.apply import SEVERITIES, damage_texts
from adequa.damage.registry import perturbation
from adequa.datasets.load import load_dataset
from adequa.explanation import costs as repair
from adequa.explanation.costs import align_to_repair
from adequa.explanation.explain import explain_segments
from adequa.explanation.pieces import PENALTIES, SEVERITY_THRESHOLDS, Piece, SeverityThresholds
from adequa.explanation.results import ExplainedSegment
from adequa.io.storage import cache_folder
from adequa.judgements import Ratings
from adequa.languages import parse_language
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments

ENGLISH = parse_language("en")
MAJOR = -5.0  # MQM score of a segment with a major error, or with five minor ones
TENTH = 10
SHORTEST, LONGEST = 20, 30  # words of a segment whose speed is measured
FEWEST = 10  # texts of a kind of damage, for its rate to count
LARGEST_FRACTION = 1 / 3  # of the words of a text that are one place
CACHE_BYTES = 2_000_000_000


def explain(
    segments: Segments, metric: Metric, *, thorough: bool = False
) -> Sequence[ExplainedSegment]:
    """The explained segments of one system."""
    return explain_segments(segments, metric, language=ENGLISH, thorough=thorough).segments


def area(positive: FloatArray, negative: FloatArray) -> float:
    """The area under the ROC curve: how often a positive value is above a negative one."""
    count = len(positive)
    ranks = rankdata(np.concatenate([positive, negative]))
    return float((ranks[:count].sum() - count * (count + 1) / 2) / (count * len(negative)))


# Localisation


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged text, and the characters that are damaged; an empty span where words are gone."""

    kind: str
    text: str
    reference: str
    span: tuple[int, int]


def damaged_references(data: str, each: int) -> Iterator[tuple[str, str, str, str]]:
    """Kind, text before, text after and reference, for references."""
    texts = good_texts(load_dataset(data))
    references = list(dict.fromkeys(texts[0] for texts in texts.references))
    np.random.default_rng(0).shuffle(references)
    counts: dict[str, int] = defaultdict(int)
    damaged = damage_texts(references, seed=0, severities=SEVERITIES, corpus=tuple(references))
    for row, kind, text in zip(damaged.rows.tolist(), damaged.kinds, damaged.texts, strict=True):
        if counts[kind] < each:
            counts[kind] += 1
            yield kind, references[row], text, references[row]


def damaged_outputs(data: str, each: int) -> Iterator[tuple[str, str, str, str]]:
    """Kind, text before, text after and reference, for outputs in the better half."""
    pairs = damaged_pairs(good_texts(load_dataset(data)), DamageSettings(each=each))
    columns = pairs.kinds, pairs.before.hypotheses, pairs.after.hypotheses, pairs.before.references
    for kind, before, after, references in zip(*columns, strict=True):
        yield kind.name, before, after, references[0]


def in_one_place(rows: Sequence[tuple[str, str, str, str]]) -> list[Damaged]:
    """The texts that are damaged in one place, of kinds with some such texts.

    The place is all that lies between the words that both texts begin and end with. If it has more
    than a third of the words of either, the text is damaged in several places, or as a whole.
    """
    by_kind: dict[str, list[Damaged]] = defaultdict(list)
    for kind, before, after, reference in rows:
        span = place_of_damage(before, after)
        if span is not None:
            by_kind[kind].append(Damaged(kind, after, reference, span))
    return [each for part in by_kind.values() if len(part) >= FEWEST for each in part]


def place_of_damage(before: str, after: str) -> tuple[int, int] | None:
    """The characters of `after` that differ from `before`, or None if they are not in one place."""
    old, new = (list(re.finditer(r"\S+", text)) for text in (before, after))
    words, other_words = [match[0] for match in old], [match[0] for match in new]
    start = common_length(words, other_words)
    end = common_length(words[start:][::-1], other_words[start:][::-1])
    if any(LARGEST_FRACTION * len(each) < len(each) - start - end for each in (words, other_words)):
        return None
    if start + end < len(new):
        return new[start].start(), new[len(new) - end - 1].end()
    position = new[start - 1].end() if start else 0
    return position, position


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Number of equal words at the beginning of both."""
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def touches(piece: Piece, span: tuple[int, int]) -> bool:
    """Whether a piece is at a place; missing words are beside it."""
    (start, end), (low, high) = piece.hypothesis_span, span
    if low == high or start == end:
        return start <= high + 1 and low <= end + 1
    return start < high and low < end


def localisation(metric: str, data: str, each: int, *, thorough: bool) -> None:
    """Print how often the costliest piece is the damaged one."""
    cached = cached_metric(metric)
    for name, rows in (
        ("references", damaged_references(data, each)),
        ("outputs", damaged_outputs(data, each)),
    ):
        every = list(rows)
        damaged = in_one_place(every)
        texts = tuple(one.text for one in damaged)
        segments = Segments(texts, tuple((one.reference,) for one in damaged))
        hits: dict[str, list[bool]] = defaultdict(list)
        pieces, severe = [], defaultdict(list)
        for one, explained in zip(
            damaged, explain(segments, cached, thorough=thorough), strict=True
        ):
            hit = bool(explained.pieces) and touches(explained.pieces[0], one.span)
            hits[one.kind].append(hit)
            pieces.append(len(explained.pieces))
            if explained.pieces:
                group = perturbation(one.kind)
                name_of_group = "critical" if group.critical else group.group
                is_severe = explained.pieces[0].severity in {"critical", "major"}
                severe[name_of_group].append(is_severe)
        pooled = np.concatenate([np.array(part) for part in hits.values()])
        macro = float(np.mean([np.mean(part) for part in hits.values()]))
        print(
            f"{data} {name}: {len(hits)} kinds, {len(damaged):,} texts of {len(every):,}, "
            f"{np.mean(pieces):.1f} pieces each: costliest is damaged {macro:.1%} (mean of kinds), "
            f"{pooled.mean():.1%} (all texts)"
        )
        shares = (f"{group} {np.mean(part):.0%}" for group, part in severe.items())
        print(f"  costliest piece critical or major, by group: {', '.join(shares)}")
        if name == "outputs":
            worst = sorted(hits, key=lambda kind: float(np.mean(hits[kind])))
            print(", ".join(f"{kind} {np.mean(hits[kind]):.0%}" for kind in worst))


# Severity


def mqm(year: int, count: int) -> tuple[Segments, FloatArray]:
    """A sample of the outputs of systems in a year, without people, and their MQM scores."""
    data = load_dataset("wmt20-21-mqm")
    if not isinstance(data, Ratings) or data.segments is None:
        raise SystemExit("wmt20-21-mqm holds no ratings of texts.")
    rows = [
        row
        for row, (given, system) in enumerate(
            zip(data.ids["year"], data.ids["system"], strict=True)
        )
        if given == str(year) and not is_human(system)
    ]
    chosen = np.random.default_rng(1).permutation(rows)[:count].tolist()
    return replace(data.segments.select(chosen), ids={}), data.scores[chosen]


def severity(metric: str, year: int, count: int) -> None:
    """Print how well severities tell segments with a major error."""
    segments, scores = mqm(year, count)
    explained = explain(segments, cached_metric(metric))
    major = scores <= MAJOR
    values = {
        "metric's score": np.array([-each.score for each in explained]),
        "summed severities": np.array([each.penalty for each in explained]),
        "severest piece": np.array(
            [max((PENALTIES[p.severity] for p in each.pieces), default=0) for each in explained]
        ),
        "costliest piece": np.array(
            [max((piece.cost for piece in each.pieces), default=0.0) for each in explained]
        ),
        "number of pieces": np.array([float(len(each.pieces)) for each in explained]),
    }
    print(f"MQM {year}: {len(major):,} segments, {major.mean():.1%} with a major error; AUC")
    for name, value in values.items():
        correlation = np.corrcoef(value, -scores)[0, 1]
        print(f"  {name:18} {area(value[major], value[~major]):.3f}, Pearson {correlation:.3f}")
    counts = {
        name: np.mean([sum(p.severity == name for p in each.pieces) for each in explained])
        for name in PENALTIES
    }
    print("  pieces per segment:", ", ".join(f"{name} {mean:.2f}" for name, mean in counts.items()))


def thresholds(metric: str, count: int) -> None:
    """Search thresholds on MQM of 2020: the best area under the curve, and what is close to it."""
    segments, scores = mqm(2020, count)
    explained = explain(segments, cached_metric(metric))
    lengths = [align_to_repair(each.hypothesis, each.reference).words for each in explained]
    major = scores <= MAJOR
    rows = []
    for power, minor, at_major, critical in product(
        (0.0, 0.5, 0.75, 1.0),
        (0.01, 0.015, 0.02, 0.03),
        (0.05, 0.06, 0.08, 0.1, 0.12),
        (0.15, 0.2, 0.25, 0.3, 0.4),
    ):
        limits = SeverityThresholds(minor, at_major, critical, power)
        penalties = np.array(
            [
                sum(PENALTIES[limits.severity(p.cost, words, p.kind)] for p in each.pieces)
                for each, words in zip(explained, lengths, strict=True)
            ]
        )
        rows.append(
            (
                area(penalties[major], penalties[~major]),
                float(np.corrcoef(penalties, -scores)[0, 1]),
                limits,
            )
        )
    rows.sort(key=lambda row: -row[0])
    for auc, correlation, limits in rows[:12]:
        print(f"{auc:.4f} Pearson {correlation:.3f} {limits}")
    print("now:", SEVERITY_THRESHOLDS)


# Pieces of good and bad outputs, and whether costs add up


def quality(metric: str, data: str) -> None:
    """Print how pieces of the best and the worst tenth differ, and how well costs add up."""
    ratings = load_dataset(data)
    if not isinstance(ratings, Ratings) or ratings.segments is None:
        raise SystemExit(f"{data} holds no ratings of texts.")
    order = ratings.scores.argsort(kind="stable")
    tenth = len(order) // TENTH
    cached = cached_metric(metric)
    parts = []
    for rows in (order[-tenth:], order[:tenth]):
        segments = replace(ratings.segments.select(rows.tolist()), ids={})
        parts.append(explain(segments, cached))
    best, worst = (np.array([p.cost for each in part for p in each.pieces]) for part in parts)
    print(
        f"{data}: pieces of the top tenth cost {best.mean():.3f}, of the bottom tenth "
        f"{worst.mean():.3f}; AUC {area(worst, best):.3f} ({len(best):,} and {len(worst):,} pieces)"
    )
    explained = [each for part in parts for each in part if len(each.pieces)]
    gains = np.array([each.repaired - each.score for each in explained])
    sums = np.array([sum(piece.cost for piece in each.pieces) for each in explained])
    print(f"costs against repaired score - score: Pearson {np.corrcoef(sums, gains)[0, 1]:.4f}")
    segments = replace(ratings.segments.select([*order[-tenth:], *order[:tenth]]), ids={})
    with patch.object(repair, "scaled", lambda values, _: values):
        unscaled = [
            sum(piece.cost for piece in each.pieces)
            for each in explain(segments, cached)
            if each.pieces
        ]
    print(f"  before they are scaled: Pearson {np.corrcoef(unscaled, gains)[0, 1]:.4f}")


# Speed


def speed(metric: str, data: str, count: int, rounds: int) -> None:
    """Print the ratio of explaining to scoring, in one thread and without caches."""
    ratings = load_dataset(data)
    if not isinstance(ratings, Ratings) or ratings.segments is None:
        raise SystemExit(f"{data} holds no ratings of texts.")
    lengths = np.array([len(text.split()) for text in ratings.segments.hypotheses])
    rows = np.flatnonzero((lengths >= SHORTEST) & (lengths <= LONGEST))
    rows = np.random.default_rng(2).permutation(rows)[:count]
    segments = replace(ratings.segments.select(rows.tolist()), ids={})
    ratios = []
    for _ in range(rounds):
        scoring = _seconds(metric, segments, lambda opened: opened.checked_statistics(segments))
        explaining = _seconds(metric, segments, lambda opened: explain(segments, opened))
        ratios.append(explaining / scoring)
        print(f"  scored in {scoring:.2f} s, explained in {explaining:.2f} s: {ratios[-1]:.2f}")
    words = lengths[rows].mean()
    print(f"{data}: {len(rows)} segments of {words:.1f} words: {np.median(ratios):.2f} times")


def _seconds(name: str, segments: Segments, work: Callable[[Metric], object]) -> float:
    """The CPU seconds that work with an open metric takes that has scored none of the segments."""
    metric = load_metric(f"{name}:threads=1")
    metric.checked_statistics(replace(segments.select([0]), hypotheses=("warm up",)))
    start = time.process_time()
    work(metric)
    return time.process_time() - start


def cached_metric(name: str) -> Metric:
    """A metric with scores on disk."""
    metric = load_metric(name)
    metric.enable_cache(cache_folder() / "explanations.db", CACHE_BYTES)
    return metric


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("localisation", "quality", "speed"):
        commands.add_parser(name).add_argument("--data", default="wmt17-da")
    for name in ("severity", "thresholds"):
        commands.add_parser(name).add_argument("--count", type=int, default=1500)
    for command in commands.choices.values():
        command.add_argument("-m", "--metric", default="adequa")
    commands.choices["severity"].add_argument("--year", type=int, default=2021)
    commands.choices["localisation"].add_argument("--each", type=int, default=100)
    commands.choices["localisation"].add_argument("--thorough", action="store_true")
    commands.choices["speed"].add_argument("--count", type=int, default=200)
    commands.choices["speed"].add_argument("--rounds", type=int, default=3)
    arguments: dict[str, Any] = vars(parser.parse_args())
    work: dict[str, Callable[..., None]] = {
        "localisation": localisation,
        "severity": severity,
        "thresholds": thresholds,
        "quality": quality,
        "speed": speed,
    }
    work[arguments.pop("command")](**arguments)


if __name__ == "__main__":
    main()
