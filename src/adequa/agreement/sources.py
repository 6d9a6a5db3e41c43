"""Where scores come from: a metric that scores the texts, or a file of scores.

Both become the same thing, an array of statistics that add up (one row per text) with two functions
that turn statistics into segment scores and sums of them into system scores. Scores of files are
matched with what was judged by the ids that both have, or row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adequa.agreement.groups import ALL, JOINED, SYSTEMS, rows_by, splitter
from adequa.errors import AdequaError, counted, nearest
from adequa.languages import TargetLanguage
from adequa.metrics.base import MeanMetric, Metric, batched_statistics
from adequa.metrics.registry import distinct_labels, load_metric
from adequa.metrics.saved import is_saved
from adequa.progress import Progress
from adequa.segments import FloatArray, IntArray, Segments, check_finite, concatenate

if TYPE_CHECKING:
    from adequa.io.score_files import ScoreFile
    from adequa.judgements import FileRows, Ids, Preferences

_DIRECTIONS = {"true": True, "false": False}
_SAME = 1e-4  # share of a score by which those of one text may differ
Key: TypeAlias = tuple[str, ...]
Score: TypeAlias = "float | list[float]"  # one, or better and worse
# The ids that distinguish judged outputs.
_KEY_COLUMNS = ("lp", "year", "doc", "segment", *SYSTEMS)
# What an id is unique within: a system in a language and a year, a segment in a document.
_CONTEXT = {"lp": "system", "year": "system", "doc": "segment"}


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
        """Whether the scores are of whole systems only."""
        ids = {} if self.file is None else self.file.ids
        return "system" in ids and "segment" not in ids

    def signature(
        self, reference_count: int | None, level: str = "segment", *, sources: bool | None = None
    ) -> str:
        """The line that lets someone else get the same scores."""
        if self.metric is None:
            direction = str(self.higher_is_better).lower()
            file = f"{self.name}|file:{Path(self.path).name}"
            return f"{file}|higher_is_better:{direction}{self.settings}"
        if level == "segment":
            return str(self.metric.segment_signature(reference_count, sources=sources))
        return str(self.metric.signature(reference_count, sources=sources))

    def for_language(self, target: TargetLanguage) -> Source:
        """The source with the settings of its metric that a language needs."""
        if self.metric is None:
            return self
        return replace(self, metric=self.metric.for_language(target.code))

    def language_warning(self, target: TargetLanguage) -> str | None:
        """A sentence where the scores of a language mean little; else None."""
        return None if self.metric is None else self.metric.language_warning(target)

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """One score per row of statistics, higher is better."""
        if self.metric is None:
            return self.sign * statistics[:, 0]
        return self.sign * self.metric.segment_scores(statistics)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        """One score per row of summed statistics, higher is better."""
        if self.metric is None:
            return self.sign * totals[:, 0] / totals[:, 1]
        return self.sign * self.metric.system_scores(totals)


# A metric with its settings or the path of a score file, as on the command line, or an object.
Specification: TypeAlias = "str | Path | Metric | ScoreFile | Source"
Specifications: TypeAlias = "Specification | Sequence[Specification]"


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts to score, if any, and the ids by which score files are matched."""

    ids: Ids  # lp, system, segment, where they are known
    segments: Segments | None
    file_rows: FileRows  # the rows of a score file without ids
    sides: int = 1  # 2 for preferences: all better ones, then all worse ones
    judgement_ids: Ids = field(default_factory=dict)  # of preferences, which have two texts each

    def __len__(self) -> int:
        return self.sides * len(self.file_rows.rows)

    @property
    def identities(self) -> list[tuple[str, tuple[str, ...], str]] | None:
        """Every hypothesis with its references and its source, which may be absent."""
        return None if self.segments is None else list(_texts(self.segments))


def _texts(segments: Segments) -> Iterator[tuple[str, tuple[str, ...], str]]:
    sources = segments.sources or ("",) * len(segments)
    return zip(segments.hypotheses, segments.references, sources, strict=True)


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
    specifications: Specifications, load: Callable[[str], Metric] = load_metric
) -> tuple[Source, ...]:
    """Metrics and score files, as the command line names them or as objects; one or more.

    Where two have the same name, the whole specification becomes the name. `load` returns the
    metric of a specification.
    """
    if isinstance(specifications, str) or not isinstance(specifications, Iterable):
        specifications = [specifications]
    listed = [str(each) if isinstance(each, Path) else each for each in specifications]
    if not listed:
        raise AdequaError("Name at least one metric or score file.")
    loaded = [_source(specification, load) for specification in listed]
    written = [
        specification if isinstance(specification, str) else source.name
        for source, specification in zip(loaded, listed, strict=True)
    ]
    labels = distinct_labels(written, [source.name for source in loaded])
    return tuple(replace(source, name=label) for source, label in zip(loaded, labels, strict=True))


def _source(specification: Specification, load: Callable[[str], Metric]) -> Source:
    if isinstance(specification, Source):
        return specification
    if isinstance(specification, Metric):
        return Source(specification.name, specification.higher_is_better, metric=specification)
    if not isinstance(specification, str):
        return _file_source(specification)
    path, settings = _file_of(specification)
    if path is None:
        metric = load(specification)
        return Source(metric.name, metric.higher_is_better, metric=metric)
    from adequa.io.score_files import read_score_file  # noqa: PLC0415 - only files need it

    higher = _direction(path, settings.pop("higher_is_better", "true"))
    file = read_score_file(path, metric=settings.get("metric"))
    for column, value in settings.items():
        if column != "metric":
            file = _only(path, file, column, value)
    chosen = "".join(f"|{column}:{value}" for column, value in settings.items())
    return Source(file.name, higher, file=file, path=path, settings=chosen)


def _file_source(file: object) -> Source:
    from adequa.io.score_files import ScoreFile  # noqa: PLC0415 - only files need it

    if not isinstance(file, ScoreFile):
        raise AdequaError(f"A metric is its name, a metric or a ScoreFile, not {file!r}.")
    check_finite(file.name, file.scores)
    return Source(file.name, higher_is_better=True, file=file, path=file.name)


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
    rows = [row for row, cell in enumerate(file.ids[column]) if cell == value]
    if not rows:
        values = dict.fromkeys(file.ids[column])
        raise AdequaError(
            f'{path} has no {column} "{value}".{nearest(value, values)} There are: '
            f"{', '.join(values)}."
        )
    ids = {name: tuple(cells[row] for row in rows) for name, cells in file.ids.items()}
    return replace(file, ids=ids, scores=file.scores[rows])


def _direction(path: str, word: str) -> bool:
    if word.lower() not in _DIRECTIONS:
        raise AdequaError(f"{path}: higher_is_better must be true or false, not {word!r}.")
    return _DIRECTIONS[word.lower()]


def scoring_notes(scorers: Sequence[Source]) -> Iterator[str]:
    """What metrics remark on their scoring; what more than one remarks, once."""
    remarks = (note for source in scorers if source.metric for note in source.metric.remarks())
    yield from dict.fromkeys(remarks)


def check_texts(scorers: Iterable[Source], texts: Texts) -> None:
    """Raise, before anything is scored, where a metric lacks texts that it reads."""
    for source in scorers:
        if source.metric is not None and texts.segments is not None and len(texts):
            source.metric.check_reads(texts.segments)


def text_statistics(
    source: Source,
    texts: Texts,
    corpora: Sequence[str],
    progress: Progress,
    *,
    repeated: bool = False,
) -> FloatArray:
    """Statistics that add up, one row per text.

    `corpora` names the corpus of each text, for metrics that look at a whole one. The same text
    against the same reference is scored once, unless `repeated` is true and the metric needs whole
    corpora.
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
    whole = repeated and source.metric.needs_whole_corpus
    parts = []
    for rows in rows_by(corpora).values():
        segments = texts.segments.select(rows.tolist())
        if source.metric.columns:
            segments = _with_columns(source.metric, segments, texts.ids, rows)
        first, index = (
            (np.arange(len(rows)),) * 2 if whole else _distinct(segments, source.metric.columns)
        )
        parts.append((rows, segments.select(first.tolist()), index))
    progress.expect(sum(len(distinct) for _, distinct, _ in parts))
    statistics = np.empty((0, 0))
    for rows, distinct, index in parts:
        part = batched_statistics(source.metric, distinct, progress.texts_scored)
        check_finite(source.name, source.metric.segment_scores(part))
        if not statistics.size:
            statistics = np.empty((len(texts), part.shape[1]))
        statistics[rows] = part[index]
    return statistics


def _with_columns(metric: Metric, segments: Segments, ids: Ids, rows: IntArray) -> Segments:
    """Segments with the columns that the metric reads beside the texts."""
    names = [name for name in metric.columns if name in ids]
    cells = {name: tuple(ids[name][row] for row in rows.tolist()) for name in names}
    return replace(segments, ids={**segments.ids, **cells})


def _distinct(segments: Segments, columns: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct text with its references and source, and that of each row."""
    codes: dict[object, int] = {}
    cells = [segments.ids[name] for name in columns if name in segments.ids]
    keys = zip(_texts(segments), *cells, strict=True)
    index = np.array([codes.setdefault(key, len(codes)) for key in keys])
    return np.unique(index, return_index=True)[1], index


def _file_scores(path: str, file: ScoreFile, texts: Texts) -> FloatArray:
    """Scores of texts, one after the other; of preferences first the better, then the worse."""
    columns = 1 if file.scores.ndim == 1 else 2
    if file.ids and columns == 1:
        return scores_by_ids(path, file, texts.ids, _identities(texts.ids, texts.identities))
    if columns != texts.sides:
        raise AdequaError(
            f"{path} has {'one column' if columns == 1 else 'two columns'} of scores; ratings take "
            "one, preferences two: better and worse."
        )
    if file.ids:
        half = len(texts.file_rows.rows)
        single = texts.identities
        pairs = None if single is None else list(zip(single[:half], single[half:], strict=True))
        ids = texts.judgement_ids
        return np.asarray(scores_by_ids(path, file, ids, _identities(ids, pairs)).T.ravel())
    return np.asarray(_scores_by_row(path, file, texts.file_rows).T.ravel())


def _identities(ids: Ids, texts: Sequence[Hashable] | None) -> Sequence[Hashable]:
    """What distinguishes rows: their texts, or ids where there are no texts."""
    if texts is not None:
        return texts
    names = [name for name in _KEY_COLUMNS if name in ids]
    count = len(next(iter(ids.values()), ()))
    identified = "segment" in names and any(system in names for system in SYSTEMS)
    rows = _keys(ids, names) if identified else iter([()] * count)
    # A row that is not fully identified equals no other.
    return [key if all(key) and key else row for row, key in enumerate(rows)]


def _scores_by_row(path: str, file: ScoreFile, file_rows: FileRows) -> FloatArray:
    """Scores without ids, one row per judgement: those of the judgements that are used."""
    if len(file) != file_rows.row_count:
        raise AdequaError(
            f"{path} has {counted(len(file), 'score')}, but the judgements have "
            f"{counted(file_rows.row_count, 'row')}; scores without ids must be one per line in "
            "the order of the judgements."
        )
    chosen: FloatArray = file.scores[file_rows.rows]
    return chosen


def scores_by_ids(
    path: str, file: ScoreFile, ids: Ids, identities: Sequence[Hashable]
) -> FloatArray:
    """Scores looked up by every id that both the file and the rows have.

    Rows of one key may share a score only if their identities are equal: one text judged twice.
    """
    names = [name for name in file.ids if name in ids]
    _refuse_unknown(path, file, ids)
    _refuse_lacking(path, names, ids)
    keys = list(_keys(ids, names))
    _refuse_sharing(path, names, keys, identities)
    of = _index(path, file, names)
    scores = [_lookup(of, names, key) for key in keys]
    missing = [key for key, score in zip(keys, scores, strict=True) if score is None]
    if missing:
        raise AdequaError(
            f"{path} has no score for {len(missing):,} of {len(keys):,} judged outputs, the first "
            f"of them {_described(names, missing[0])}; --lp chooses language pairs."
        )
    return np.array(scores, dtype=np.float64)


def _refuse_unknown(path: str, file: ScoreFile, ids: Ids) -> None:
    """Raise where scores are identified by an id that the judgements do not have."""
    for name in _KEY_COLUMNS:
        one_context = name in _CONTEXT and len(set(file.ids.get(name, ()))) == 1
        if name in file.ids and name not in ids and not one_context:
            raise AdequaError(
                f"{path} names its scores by {name}, but the judgements do not say which {name} "
                "each output is of; give one score per line in their order instead."
            )
    if not set(file.ids) & set(ids):
        raise AdequaError(
            f"{path} names its scores by {', '.join(file.ids)}, but the judgements have "
            f"{', '.join(ids) or 'no ids'}; give one score per line in their order instead."
        )


def _refuse_lacking(path: str, names: Sequence[str], ids: Ids) -> None:
    """Raise where one name means different things in several languages, years or documents."""
    for context, within in _CONTEXT.items():
        if context not in ids or context in names or len(set(ids[context])) == 1:
            continue
        if within in ids:
            places = set(zip(ids[within], ids[context], strict=True))
            if len(places) == len(set(ids[within])):
                continue
        raise AdequaError(
            f"{path} has no column {context}, but the judgements are of several, which share the "
            f"name of a {within}; add the column, or choose one of them."
        )


def _refuse_sharing(
    path: str, names: Sequence[str], keys: Sequence[Key], identities: Sequence[Hashable]
) -> None:
    """Raise where one score would serve different outputs."""
    first: dict[Key, Hashable] = {}
    for key, identity in zip(keys, identities, strict=True):
        if first.setdefault(key, identity) != identity:
            raise AdequaError(
                f"{path} names its scores by {', '.join(names)}, but several of the judged outputs "
                f"are {_described(names, key)}; give every id that tells them apart, or one score "
                "a line in the order of the judgements."
            )


def _index(path: str, file: ScoreFile, names: Sequence[str]) -> dict[Key, Score]:
    """Scores by key; an output of several systems ("A+B") also under each of them."""
    of: dict[Key, Score] = {}
    row_of: dict[Key, int] = {}
    scores: list[Score] = file.scores.tolist()
    keys = list(_keys(file.ids, names))
    for row, (key, score) in enumerate(zip(keys, scores, strict=True)):
        if of.setdefault(key, score) != score:
            raise _ambiguous(path, file, names, (row_of[key], row))
        row_of.setdefault(key, row)
    if "system" not in names or "segment" not in names:
        return of
    place = names.index("system")
    columns = file.ids.get("lp", (ALL,) * len(file))
    parts = splitter(columns, [key[place] for key in keys])
    shared: dict[Key, Score] = {}
    for column, key, score in zip(columns, keys, scores, strict=True):
        for part in parts(column, key[place]):
            of_part = (*key[:place], part, *key[place + 1 :])
            if shared.setdefault(of_part, score) != score and of_part not in of:
                raise AdequaError(f"{path} has different scores for {_described(names, of_part)}.")
    return shared | of


def _ambiguous(
    path: str, file: ScoreFile, names: Sequence[str], rows: tuple[int, int]
) -> AdequaError:
    """The error for scores that differ only by columns which the judgements do not have."""
    first, second = rows
    others = [
        name
        for name, cells in file.ids.items()
        if name not in names and cells[first] != cells[second]
    ]
    key = tuple(file.ids[name][first] for name in names)
    return AdequaError(
        f"{path} has different scores for {_described(names, key)}, distinguished by "
        f"{', '.join(others)}, which the judgements do not have; choose one with "
        f"{path}:{others[0]}=VALUE."
    )


def _lookup(of: Mapping[Key, Score], names: Sequence[str], key: Key) -> Score | None:
    """The score of a key; of an output of several systems, that of all of them, if they agree."""
    if key in of or "system" not in names:
        return of.get(key)
    place = names.index("system")
    apart = [(*key[:place], part, *key[place + 1 :]) for part in key[place].split(JOINED)]
    if not all(part in of for part in apart):
        return None
    scores = np.array([of[part] for part in apart], dtype=np.float64)
    # Scores of the same text may differ in their last digits, from one batch to another.
    if not np.allclose(scores, scores[0], rtol=_SAME):
        return None
    mean: Score = scores.mean(axis=0).tolist()
    return mean


def _keys(ids: Ids, names: Sequence[str]) -> Iterable[Key]:
    """Rows of ids; systems that are joined by commas, as in rankings, are written alike."""
    from adequa.io.rankings import joined_systems  # noqa: PLC0415 - only score files need it

    columns = (map(joined_systems, ids[name]) if name in SYSTEMS else ids[name] for name in names)
    return zip(*columns, strict=True)


def _described(names: Sequence[str], key: Key) -> str:
    return ", ".join(f"{name} {part or '(unknown)'}" for name, part in zip(names, key, strict=True))
