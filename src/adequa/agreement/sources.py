"""Where scores come from: a metric of ours that scores the texts, or a file of scores.

Both become the same thing, an array of statistics that add up (one row a text) with two functions
that turn statistics into segment scores and sums of them into system scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from adequa.agreement.groups import rows_by
from adequa.agreement.matching import scores_by_ids, scores_by_row, wanted
from adequa.errors import AdequaError, nearest
from adequa.io.score_files import ScoreFile, read_score_file
from adequa.judgements import FileRows, Ids, Preferences
from adequa.metrics.base import MeanMetric, Metric
from adequa.metrics.batched import batched_statistics
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import is_saved
from adequa.progress import Progress
from adequa.segments import FloatArray, IntArray, Segments, concatenate
from adequa.statistics.arrays import check_finite

_DIRECTIONS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Source:
    """A metric or a score file, under the name that tables show."""

    name: str
    higher_is_better: bool
    metric: Metric | None = None
    file: ScoreFile | None = None
    path: str = ""
    settings: str = ""  # what was chosen from the file

    @property
    def sign(self) -> float:
        """What makes higher better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def is_mean(self) -> bool:
        """Whether the system score is the mean of the segment scores."""
        return self.metric is None or isinstance(self.metric, MeanMetric)

    @property
    def is_of_systems(self) -> bool:
        """Whether there are scores of whole systems only."""
        ids = {} if self.file is None else self.file.ids
        return "system" in ids and "segment" not in ids

    def signature(self, reference_count: int | None, level: str = "segment") -> str:
        """The line that lets someone else get the same scores."""
        if self.metric is None:
            direction = str(self.higher_is_better).lower()
            file = f"{self.name}|file:{Path(self.path).name}"
            return f"{file}|higher_is_better:{direction}{self.settings}"
        if level == "segment":
            return str(self.metric.segment_signature(reference_count))
        return str(self.metric.signature(reference_count))

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """One score a row of statistics, higher is better."""
        if self.metric is None:
            return self.sign * statistics[:, 0]
        return self.sign * self.metric.segment_scores(statistics)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        """One score a row of summed statistics, higher is better."""
        if self.metric is None:
            return self.sign * totals[:, 0] / totals[:, 1]
        return self.sign * self.metric.system_scores(totals)


# What to evaluate: a metric with its settings or a path, as on the command line, or an object.
Specification: TypeAlias = str | Metric | ScoreFile | Source


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """What is to be scored: texts where there are any, and the ids by which files find them."""

    ids: Ids  # lp, system, segment, where they are known
    segments: Segments | None
    file_rows: FileRows  # the rows that scores without ids are given for
    sides: int = 1  # 2 for preferences: all better ones, then all worse ones
    judgement_ids: Ids = field(default_factory=dict)  # of preferences, which have two texts each

    def __len__(self) -> int:
        return self.sides * len(self.file_rows.rows)

    @property
    def said(self) -> list[tuple[str, tuple[str, ...]]] | None:
        """Every hypothesis with its references."""
        if self.segments is None:
            return None
        return list(zip(self.segments.hypotheses, self.segments.references, strict=True))


def both_sides(preferences: Preferences) -> Texts:
    """The texts of preferences: all better ones, then all worse ones."""
    ids = preferences.ids
    sides = {name: ids[name] * 2 for name in ids if name not in {"better_system", "worse_system"}}
    if "better_system" in ids and "worse_system" in ids:
        sides["system"] = ids["better_system"] + ids["worse_system"]
    segments = None
    if preferences.better is not None and preferences.worse is not None:
        segments = concatenate([preferences.better, preferences.worse])
    return Texts(sides, segments, preferences.file_rows, sides=2, judgement_ids=ids)


def sources(
    specifications: Sequence[Specification], load: Callable[[str], Metric] = load_metric
) -> tuple[Source, ...]:
    """Metrics and score files, as the command line names them or as objects, under names of theirs.

    Where two have one name, the words of the command line tell them apart. `load` makes a metric of
    its words.
    """
    found = [_source(specification, load) for specification in specifications]
    names = [source.name for source in found]
    shown = [
        specification
        if isinstance(specification, str) and names.count(source.name) > 1
        else source.name
        for source, specification in zip(found, specifications, strict=True)
    ]
    for name in shown:
        if shown.count(name) > 1:
            raise AdequaError(f'"{name}" is given more than once; name each metric once.')
    return tuple(replace(source, name=name) for source, name in zip(found, shown, strict=True))


def _source(specification: Specification, load: Callable[[str], Metric]) -> Source:
    if isinstance(specification, Source):
        return specification
    if isinstance(specification, Metric):
        return Source(specification.name, specification.higher_is_better, metric=specification)
    if isinstance(specification, ScoreFile):
        check_finite(specification.name, specification.scores)
        name = specification.name
        return Source(name, higher_is_better=True, file=specification, path=name)
    if not isinstance(specification, str):
        raise AdequaError(
            f"A metric to evaluate is its name, a metric or a ScoreFile, not {specification!r}."
        )
    path, settings = _file_of(specification)
    if path is None:
        metric = load(specification)
        return Source(metric.name, metric.higher_is_better, metric=metric)
    higher = _direction(path, settings.pop("higher_is_better", "true"))
    file = read_score_file(path, metric=settings.get("metric"))
    for column, value in settings.items():
        if column != "metric":
            file = _only(path, file, column, value)
    chosen = "".join(f"|{column}:{value}" for column, value in settings.items())
    return Source(file.name, higher, file=file, path=path, settings=chosen)


def _file_of(specification: str) -> tuple[str | None, dict[str, str]]:
    """The path of a score file and its settings, or no path for the name of a metric."""
    if Path(specification).is_file():
        return specification, {}
    path, _, written = specification.partition(":")
    if is_saved(specification) or is_saved(path):
        return None, {}
    looks_like_path = "/" in path or "." in path
    if not Path(path).is_file() and not looks_like_path:
        return None, {}
    settings = {}
    for assignment in filter(None, written.split(",")):
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise AdequaError(
                f'"{assignment}" is no setting of a score file; there are higher_is_better=false, '
                "for scores where lower is better, metric=NAME, for files of several metrics, and "
                "COLUMN=VALUE, for some of the rows."
            )
        settings[key] = value
    return path, settings


def _only(path: str, file: ScoreFile, column: str, value: str) -> ScoreFile:
    """The rows of a file whose column has a value."""
    if column not in file.ids:
        listed = ", ".join(file.ids) or "none"
        raise AdequaError(
            f'{path} has no column "{column}" to choose rows by.{nearest(column, file.ids)} Its '
            f"columns of ids: {listed}."
        )
    rows = [row for row, found in enumerate(file.ids[column]) if found == value]
    if not rows:
        there = dict.fromkeys(file.ids[column])
        raise AdequaError(
            f'{path} has no {column} "{value}".{nearest(value, there)} There are: '
            f"{', '.join(there)}."
        )
    ids = {name: tuple(cells[row] for row in rows) for name, cells in file.ids.items()}
    return replace(file, ids=ids, scores=file.scores[rows])


def _direction(path: str, word: str) -> bool:
    if word.lower() not in _DIRECTIONS:
        raise AdequaError(f"{path}: higher_is_better must be true or false, not {word!r}.")
    return _DIRECTIONS[word.lower()]


def text_statistics(
    source: Source,
    texts: Texts,
    corpora: Sequence[str],
    progress: Progress,
    *,
    repeated: bool = False,
) -> FloatArray:
    """Statistics that add up, one row a text.

    `corpora` names the corpus of each text, for metrics that look at a whole one. The same text
    against the same reference is scored once, unless `repeated` asks for corpora as they are.
    """
    if source.file is not None:
        scores = _file_scores(source.path, source.file, texts)
        return np.column_stack([scores, np.ones_like(scores)])
    if texts.segments is None or source.metric is None:
        raise AdequaError(
            f"{source.name} needs texts to score, and these judgements have none: only score "
            "files can be evaluated on them."
        )
    progress.stage(f"Scoring with {source.name}")
    parts = []
    for rows in rows_by(corpora).values():
        segments = texts.segments.select(rows.tolist())
        if source.metric.columns:
            segments = _with_columns(source.metric, segments, texts.ids, rows)
        as_it_is = repeated and source.metric.needs_whole_corpus
        first, back = (
            (np.arange(len(rows)),) * 2 if as_it_is else _distinct(segments, source.metric.columns)
        )
        found = batched_statistics(source.metric, segments.select(first.tolist()), progress.scored)
        check_finite(source.name, source.metric.segment_scores(found))
        parts.append((rows, found[back]))
    statistics = np.empty((len(texts), parts[0][1].shape[1]))
    for rows, found in parts:
        statistics[rows] = found
    return statistics


def _with_columns(metric: Metric, segments: Segments, ids: Ids, rows: IntArray) -> Segments:
    """Segments with the columns that the metric reads beside the texts, where there are such."""
    read = [name for name in metric.columns if name in ids]
    cells = {name: tuple(ids[name][row] for row in rows.tolist()) for name in read}
    return replace(segments, ids={**segments.ids, **cells})


def _distinct(segments: Segments, columns: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct text with its references, and where each row finds its own."""
    seen: dict[object, int] = {}
    sources_ = segments.sources or ("",) * len(segments)
    read = [segments.ids[name] for name in columns if name in segments.ids]
    keys = zip(segments.hypotheses, segments.references, sources_, *read, strict=True)
    back = np.array([seen.setdefault(key, len(seen)) for key in keys])
    return np.unique(back, return_index=True)[1], back


def _file_scores(path: str, file: ScoreFile, texts: Texts) -> FloatArray:
    """Scores of texts, one after the other; of preferences first the better, then the worse."""
    columns = 1 if file.scores.ndim == 1 else 2
    said = texts.said
    if file.ids and columns == 1:
        return scores_by_ids(path, file, wanted(texts.ids, said))
    if columns != texts.sides:
        raise AdequaError(
            f"{path} has {'one column' if columns == 1 else 'two columns'} of scores; ratings take "
            "one, preferences two: better and worse."
        )
    if file.ids:
        half = len(texts.file_rows.rows)
        pairs = None if said is None else list(zip(said[:half], said[half:], strict=True))
        return np.asarray(scores_by_ids(path, file, wanted(texts.judgement_ids, pairs)).T.ravel())
    return np.asarray(scores_by_row(path, file, texts.file_rows).T.ravel())
