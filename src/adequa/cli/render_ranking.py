"""A ranking as text, JSON or TSV."""

from __future__ import annotations

import json
from collections.abc import Iterator

from adequa.cli.output import aligned
from adequa.comparison.ranking import Figure, Ranking
from adequa.comparison.ranking_as_dict import as_dict
from adequa.errors import printable


def as_text(ranking: Ranking, signature: str) -> Iterator[str]:
    """The systems in order, and how likely each is better than each other one."""
    header = ["rank", "system", "expected wins", "", "Bradley-Terry", ""]
    rows = [
        [str(place), system, *_shown(wins), *_shown(strength)]
        for place, system, wins, strength in _standings(ranking)
    ]
    yield from aligned(lambda: [header, *rows], right=[0, 2, 4])
    yield "\nHow likely the system of a row is better than that of a column, on a segment:\n"
    table = [["", *ranking.systems]]
    for at, system in enumerate(ranking.systems):
        others = enumerate(ranking.probabilities[at].tolist())
        table.append([system, *("–" if at == by else f"{value:.3f}" for by, value in others)])
    yield from aligned(lambda: table, right=range(1, len(table)))
    yield f"\nin brackets: {ranking.confidence:.0%} intervals over segments\n{signature}\n"


def segments_as_text(ranking: Ranking, signature: str) -> Iterator[str]:
    """For every segment, how likely each system wins against the others."""
    yield from aligned(
        lambda: [
            ["segment", *ranking.systems],
            *(
                [str(number), *(f"{score:.3f}" for score in scores)]
                for number, scores in enumerate(ranking.segments.tolist(), 1)
            ),
        ],
        right=range(len(ranking.systems) + 1),
    )
    yield f"\n{signature}\n"


def as_tsv(ranking: Ranking) -> Iterator[str]:
    """One row a system, a header on top."""
    names = ("expected_wins", "strength")
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    yield "\t".join(["rank", "system", *columns]) + "\n"
    for place, system, wins, strength in _standings(ranking):
        figures = (wins.value, wins.low, wins.high, strength.value, strength.low, strength.high)
        yield "\t".join([str(place), printable(system), *map(_exact, figures)]) + "\n"


def segments_as_tsv(ranking: Ranking) -> Iterator[str]:
    """One row a system and segment, as score files have them."""
    yield "system\tsegment\tscore\n"
    for at, system in enumerate(ranking.systems):
        for number, score in enumerate(ranking.segments[:, at].tolist(), 1):
            yield f"{printable(system)}\t{number}\t{_exact(score)}\n"


def as_json(ranking: Ranking, signature: str, *, segments: bool) -> Iterator[str]:
    """Everything; the scores of segments where they were asked for."""
    shown = as_dict(ranking, signature, segments=segments)
    yield json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def _standings(ranking: Ranking) -> Iterator[tuple[int, str, Figure, Figure]]:
    yield from zip(
        ranking.ranks, ranking.systems, ranking.expected_wins, ranking.strengths, strict=True
    )


def _shown(figure: Figure) -> list[str]:
    return [f"{figure.value:.3f}", f"[{figure.low:.3f}, {figure.high:.3f}]"]


def _exact(number: float) -> str:
    return repr(float(number))
