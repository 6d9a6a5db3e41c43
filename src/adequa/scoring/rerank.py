"""Candidates of a sentence in the order of their scores, the best first.

They are scored against the references of the sentence, its source or both, as the metric reads.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, overload

import numpy as np

from adequa.errors import AdequaError
from adequa.io.candidates import CandidateList
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage, target_language
from adequa.metrics.base import Metric, Part, score_column, warning_notes
from adequa.metrics.language import warn_of_languages
from adequa.metrics.registry import load_metric
from adequa.scoring.api import default_metric
from adequa.segments import (
    FloatArray,
    ReferenceLayout,
    Segments,
    as_strings,
    as_tuple,
    references_by_segment,
)
from adequa.tables import Cell, Column, Result, Table, finite

_BATCH = 4096  # candidates that are scored in one call of the metric
_DETECTED = 1000  # sentences by which the language is detected


@dataclass(frozen=True, slots=True, eq=False)
class RankedCandidates:
    """The candidates of one sentence, with their order and scores."""

    id: Any
    candidates: tuple[str, ...]
    order: tuple[int, ...]  # indices of candidates, the best first; ties in the order of the input
    scores: FloatArray  # by candidate
    reference_count: int
    has_source: bool = False

    @property
    def best(self) -> str:
        """The best candidate."""
        return self.candidates[self.order[0]]

    def to_dict(self, metric: str) -> dict[str, Any]:
        """The object that JSONL has of a sentence; candidates are numbered from 1."""
        ordered = [
            {
                "mt": self.candidates[index],
                "candidate": index + 1,
                metric: finite(float(self.scores[index])),
            }
            for index in self.order
        ]
        return {"id": self.id, "candidates": ordered}


@dataclass(frozen=True, eq=False, repr=False)
class Reranking(Result, Sequence[RankedCandidates]):
    """The candidates of all sentences in order; a sequence of `RankedCandidates`."""

    sentences: tuple[RankedCandidates, ...]
    metric: Metric
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the candidates

    @overload
    def __getitem__(self, index: int) -> RankedCandidates: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RankedCandidates, ...]: ...
    def __getitem__(self, index: int | slice) -> RankedCandidates | tuple[RankedCandidates, ...]:
        """The ranked candidates of a sentence."""
        return self.sentences[index]

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def signature(self) -> str:
        """The signature of the scores."""
        counts = {each.reference_count for each in self.sentences}
        references = counts.pop() if len(counts) == 1 else None
        return str(self.metric.segment_signature(references, sources=self._has_sources))

    @property
    def _has_sources(self) -> bool:
        return any(each.has_source for each in self.sentences)

    def tables(self) -> tuple[Table, ...]:
        """One row per candidate, the best of a sentence first."""
        return (self.long_table(),)

    def long_table(self) -> Table:
        """One row per candidate, the best of a sentence first."""
        columns = (
            Column("id"),
            Column("rank", "integer"),
            Column("candidate", "integer"),
            metric_column(self.metric, self.language),
            Column("mt"),
        )
        rows = [
            (
                cell_of(each.id),
                rank,
                index + 1,
                finite(float(each.scores[index])),
                each.candidates[index],
            )
            for each in self.sentences
            for rank, index in enumerate(each.order, 1)
        ]
        return Table(columns, rows, notes=choice_notes(self.metric, self.language, self.signature))

    def to_dict(self) -> dict[str, Any]:
        """The metric, its signature, and a list with one object per sentence, as JSONL has it."""
        return {
            **metric_facts(self.metric, self.language, self.signature),
            "sentences": [each.to_dict(self.metric.name) for each in self.sentences],
        }


def metric_column(metric: Metric, language: TargetLanguage) -> Column:
    """The column of a metric's scores, marked where it does not know the language."""
    return score_column(
        metric.name,
        metric.higher_is_better,
        metric.decimals,
        warning=metric.language_warning(language),
    )


def choice_notes(metric: Metric, language: TargetLanguage, signature: str) -> tuple[str, ...]:
    """The lines below a table of choices."""
    return (*warning_notes([metric.language_warning(language)]), signature)


def metric_facts(metric: Metric, language: TargetLanguage, signature: str) -> dict[str, Any]:
    """What JSON holds of the metric of choices."""
    warning = metric.language_warning(language)
    return {
        "metric": metric.name,
        "signature": signature,
        "language": language.to_dict(),
        **({} if warning is None else {"warning": warning}),
    }


def cell_of(sentence_id: Any) -> Cell:
    """The id of a sentence, which may be any JSON value, in a table."""
    is_text = isinstance(sentence_id, str)
    return sentence_id if is_text else json.dumps(sentence_id, ensure_ascii=False)


def check_pairwise(metric: Metric) -> None:
    """Raise unless a metric can score one text against another."""
    if metric.needs_whole_corpus or metric.columns:
        raise AdequaError(f"{metric.name} cannot score single pairs of texts; use another metric.")


def rerank(
    candidates: Iterable[Sequence[str]],
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> Reranking:
    """Order the candidates of each sentence by their scores.

    `references`, `layout`, `language` and the default of `metric` are those of `score`. `sources`
    are texts, one for each sentence, for metrics that read them.

    >>> (ranked,) = rerank([["A dog sat.", "The cat sat."]], ["The cat sat."], "chrf")
    >>> ranked.best, ranked.order, ranked.scores.round(1)
    ('The cat sat.', (1, 0), array([ 19.7, 100. ]))
    """
    if references is None and sources is None:
        raise AdequaError(
            "Give references: one string, or a list of strings, for each list of candidates; or "
            "sources, for metrics that need no reference."
        )
    lists = list(numbered_candidates(candidates, sources))
    if references is not None:
        all_references = references_by_segment(references, len(lists), layout, "candidates")
        pairs = zip(lists, all_references, strict=True)
        lists = [replace(each, references=texts) for each, texts in pairs]
    target, sentences = candidate_language(lists, language)
    scorer = metric_for_candidates(metric, target)
    return Reranking(tuple(ranked_candidates(sentences, scorer)), scorer, target)


def metric_for_candidates(metric: str | Metric | None, target: TargetLanguage) -> Metric:
    """The metric that chooses among candidates, with warnings where it does not know them."""
    chosen = load_metric(default_metric(target) if metric is None else metric)
    scorer = chosen.for_language(target.code)
    warn_of_languages([scorer.language_warning(target)], ())
    return scorer


def candidate_language(
    sentences: Iterable[CandidateList], given: str | TargetLanguage | None
) -> tuple[TargetLanguage, Iterator[CandidateList]]:
    """The language of candidates, by the references or else by the first ones, and all of them."""
    iterator = iter(sentences)
    if given is not None:
        return target_language(given, ()), iterator
    first = list(islice(iterator, _DETECTED))
    texts = chain.from_iterable(each.references or each.candidates[:1] for each in first)
    return target_language(given, texts), chain(first, iterator)


def numbered_candidates(
    lists: Iterable[Sequence[str]], sources: Iterable[str] | None = None
) -> Iterator[CandidateList]:
    """Lists of candidates without references, numbered from 1."""
    every = as_tuple("candidates", lists)
    source_texts = None if sources is None else as_strings("sources", sources)
    if source_texts is not None and len(source_texts) != len(every):
        raise AdequaError(
            f"candidates and sources differ in length: {len(every)} and {len(source_texts)}."
        )
    for index, texts in enumerate(every):
        source = "" if source_texts is None else source_texts[index]
        yield CandidateList(
            index + 1,
            as_strings(f"candidates[{index}]", texts),
            (),
            f"Sentence {index + 1}",
            source if source.strip() else None,
        )


_FIELDS: Mapping[Part, tuple[str, str]] = {
    "reference": ("ref", "give one, or name a file of references with -r"),
    "source": ("src", "give it, or name a file of sources with -s"),
}


def checked_candidates(
    sentences: Iterable[CandidateList], metric: Metric, parts: Collection[Part] = tuple(_FIELDS)
) -> Iterator[CandidateList]:
    """The sentences; raise for one that lacks a part that the metric needs.

    What the metric reads only if given, all sentences have or none: scores with and without it are
    not those of one signature.
    """
    expected: dict[Part, bool] | None = None
    for each in sentences:
        if expected is None:
            expected = _expected_parts(each, metric, parts)
        given = _given_parts(each)
        for part in (part for part in expected if given[part] != expected[part]):
            name, advice = _FIELDS[part]
            if given[part]:
                raise AdequaError(
                    f'{each.place} has "{name}", and the sentences before it have none; give it to '
                    "all of them, or to none."
                )
            raise AdequaError(f'{each.place} has no "{name}", which {metric.name} reads; {advice}.')
        yield each


def _given_parts(sentence: CandidateList) -> dict[Part, bool]:
    return {"reference": bool(sentence.references), "source": sentence.source is not None}


def _expected_parts(
    first: CandidateList, metric: Metric, parts: Collection[Part]
) -> dict[Part, bool]:
    """Which of these parts every sentence has to have, and which none may have."""
    given = _given_parts(first)
    expected = {
        part: need == "required" or given[part]
        for part, need in metric.reads.items()
        if part in parts
    }
    if len(expected) == len(metric.reads) and not any(expected.values()):
        names = " nor ".join(f'"{_FIELDS[part][0]}"' for part in expected)
        raise AdequaError(f"{first.place} has neither {names}; {metric.name} needs one of them.")
    return expected


def sources_for(metric: Metric, sentences: Iterable[CandidateList]) -> tuple[str, ...] | None:
    """The sources of checked sentences, if there are any and the metric reads them."""
    if "source" not in metric.reads:
        return None
    sources = [each.source for each in sentences]
    return None if None in sources else tuple(each or "" for each in sources)


def ranked_candidates(
    sentences: Iterable[CandidateList], metric: Metric
) -> Iterator[RankedCandidates]:
    """Order the candidates of sentences as they come; several sentences are scored at a time."""
    check_pairwise(metric)
    batch: list[CandidateList] = []
    size = 0
    for sentence in checked_candidates(sentences, metric):
        if not sentence.candidates:
            raise AdequaError("A sentence has no candidates to put in order.")
        batch.append(sentence)
        size += len(sentence.candidates)
        if size >= _BATCH:
            yield from _ranked(batch, metric)
            batch, size = [], 0
    if batch:
        yield from _ranked(batch, metric)


def _ranked(batch: Sequence[CandidateList], metric: Metric) -> Iterator[RankedCandidates]:
    reads_references = "reference" in metric.reads
    sentence_of = [each for each in batch for _ in each.candidates]
    segments = Segments(
        tuple(chain.from_iterable(each.candidates for each in batch)),
        tuple(each.references if reads_references else () for each in sentence_of),
        sources_for(metric, sentence_of),
    )
    scores = metric.segment_scores(metric.checked_statistics(segments))
    ends = np.cumsum([len(each.candidates) for each in batch])
    sign = -1 if metric.higher_is_better else 1
    for each, part in zip(batch, np.split(scores, ends[:-1]), strict=True):
        order = tuple(np.argsort(sign * part, kind="stable").tolist())
        yield RankedCandidates(
            each.id, each.candidates, order, part, len(each.references), each.source is not None
        )
