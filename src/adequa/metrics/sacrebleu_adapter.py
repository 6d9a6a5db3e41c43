"""sacreBLEU's metrics behind our contract: its counts, its formulas and its signature fields.

sacreBLEU is used, not rewritten: text goes through the hooks of its metric base class (prepare a
segment, collect reference information, count one segment, score counts), so every number is its
own. What is added is that counts stay as arrays, that references shared by several systems are
prepared once, and that many rows of summed counts, as resampling has them, are scored together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments, Signature

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuScorer

# References of at most this many segments are kept prepared for the next system. A batch of a
# stream is far below it; a whole corpus passed at once is not worth its memory.
KEPT_REFERENCES = 1024
# Systems that are scored one by one; more rows than these are resamples.
_FEW = 64


class SacrebleuMetric(Metric):
    """Base of the metrics that sacreBLEU computes."""

    @abstractmethod
    def make_scorer(self, *, for_segments: bool) -> SacrebleuScorer:
        """sacreBLEU's metric object with these settings, for system or for segment scores."""

    def statistics(self, segments: Segments) -> FloatArray:
        prepare = self._system_scorer._preprocess_segment  # noqa: SLF001 - see the module's text
        count = self._system_scorer._compute_segment_statistics  # noqa: SLF001
        return np.array(
            [
                count(prepare(hypothesis), information)
                for hypothesis, information in zip(
                    segments.hypotheses,
                    self._reference_information(segments.references),
                    strict=True,
                )
            ],
            dtype=np.float64,
        )

    @abstractmethod
    def formula(self, totals: FloatArray) -> FloatArray:
        """sacreBLEU's system scores of many rows of summed counts, computed on arrays."""

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        return _scores(self._segment_scorer, statistics)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        if len(totals) > _FEW:
            return self.formula(totals)
        return _scores(self._system_scorer, totals)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return self._signed(self._system_scorer)

    def segment_signature(self, reference_count: int | None) -> Signature:
        references = self.signature(reference_count).fields[:1]
        return Signature(self.name, (*references, *self._signed(self._segment_scorer)))

    def _signed(self, scorer: SacrebleuScorer) -> tuple[tuple[str, str], ...]:
        # sacreBLEU signs only once it has seen references; their number is signed by the caller.
        signed = scorer._SIGNATURE_TYPE({**vars(scorer), "num_refs": 1}).format()  # noqa: SLF001
        _, *settings, version = (_key_and_value(item) for item in signed.split("|"))
        return (*settings, *self.unsigned_settings().items(), version)

    def unsigned_settings(self) -> Mapping[str, str]:
        """Settings off their default that change the score and that sacreBLEU does not sign."""
        return {}

    @cached_property
    def _system_scorer(self) -> SacrebleuScorer:
        return self.make_scorer(for_segments=False)

    @cached_property
    def _segment_scorer(self) -> SacrebleuScorer:
        return self.make_scorer(for_segments=True)

    @cached_property
    def _last_references(self) -> list[tuple[object, list[dict[str, Any]]]]:
        return []

    def _reference_information(
        self, references: tuple[tuple[str, ...], ...]
    ) -> Iterable[dict[str, Any]]:
        """What sacreBLEU needs to know of each segment's references.

        Systems that are scored side by side share one tuple of references, recognised by identity:
        the first system pays for the preparation, the others find it done.
        """
        for known, prepared in tuple(self._last_references):  # a copy: other threads may set it
            if known is references:
                return prepared
        prepare = self._system_scorer._preprocess_segment  # noqa: SLF001
        extract = self._system_scorer._extract_reference_info  # noqa: SLF001
        made = (extract([prepare(reference) for reference in each]) for each in references)
        if len(references) > KEPT_REFERENCES:
            return made
        prepared = list(made)
        self._last_references[:] = [(references, prepared)]
        return prepared


def _scores(scorer: SacrebleuScorer, rows: FloatArray) -> FloatArray:
    # Lists, because sacreBLEU's add-k smoothing would change an array's row in place.
    score = scorer._compute_score_from_stats  # noqa: SLF001
    return np.array([score(row).score for row in rows.tolist()], dtype=np.float64)


def _key_and_value(item: str) -> tuple[str, str]:
    key, _, value = item.partition(":")
    return key, value
