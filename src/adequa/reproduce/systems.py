"""Pairwise accuracy on the whole systems of WMT17 and WMT18, to English: tables of our own."""

from __future__ import annotations

from adequa.agreement.results import AVERAGE, POOLED, Agreement
from adequa.metrics.registry import load_metric
from adequa.reproduce.outputs import of_outputs
from adequa.reproduce.pair_rows import DISTILLED, PREFERENCES
from adequa.reproduce.table import System, Table, average


def pooled(found: Agreement) -> float:
    """The accuracy over the pairs of systems of all language pairs together."""
    if found.pooled is None:
        raise TypeError("only accuracies are pooled")
    return float(found.pooled.values[0])


_SYSTEMS = (
    System(name="bleu", label="BLEU", scores=of_outputs(lambda: load_metric("bleu"))),
    System(name="chrf", label="chrF", scores=of_outputs(lambda: load_metric("chrf"))),
    PREFERENCES,
    DISTILLED,
)
_SHIPPED = System(
    name="adequa",
    label="adequa",
    scores=of_outputs(lambda: load_metric("adequa")),
    note="The metric that ships, as in table wmt17. Its teacher was asked about these outputs; "
    "nobody's scores of them were used.",
)
_COLUMNS = (
    "The column of a language pair is the share of its pairs of systems that the metric orders as "
    "people do. `average` is the plain mean of these columns, as `adequa evaluate` shows it. "
    "`pooled` is the share of the pairs of systems of all language pairs together, as in Kocmi et "
    "al. (2021), so that a language pair of many systems counts for more: the mean of the columns "
    "weighted by their numbers of pairs of systems, "
)
_METRICS = (
    "BLEU is corpus BLEU and chrF that of the whole corpus, both as sacreBLEU has them by default: "
    "nothing was chosen on these data."
)


def _table(
    year: int, count: int, counts: str, note: str, systems: tuple[System, ...] = _SYSTEMS
) -> Table:
    return Table(
        name=f"wmt{year}-systems",
        title=f"WMT{year}, pairwise accuracy on {count} systems",
        paper=f"a table of our own; human scores are direct assessments of the WMT{year} news task",
        dataset=f"wmt{year}-systems",
        statistic="accuracy",
        systems=systems,
        notes=(_COLUMNS + counts, _METRICS, note),
        summaries={AVERAGE: average, POOLED: pooled},
    )


WMT17 = _table(
    17,
    65,
    "which are 6 (cs-en), 55 (de-en), 15 (fi-en), 36 (lv-en), 36 (ru-en), 45 (tr-en) and 120 "
    "(zh-en), 313 in all.",
    "The outputs and references of this set are tokenised and, but for letters outside ASCII, "
    "lower-cased: metrics see hardly any case here, and their scores are not the official ones.",
)
WMT18 = _table(
    18,
    71,
    "which are 10 (cs-en), 120 (de-en), 91 (et-en), 36 (fi-en), 28 (ru-en), 10 (tr-en) and 91 "
    "(zh-en), 386 in all.",
    "Two systems of et-en have the same human score; a metric that does not tie them too is wrong "
    "there, so that 90 of 91 pairs are the most that it can reach. The five systems of tr-en lie "
    "within 0.1 of each other in human score, and the one that BLEU and chrF put first is last but "
    "one for people: 10 pairs of systems that weigh as much in `average` as the 120 of de-en.",
    (*_SYSTEMS, _SHIPPED),
)
