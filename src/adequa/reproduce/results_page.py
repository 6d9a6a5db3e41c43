"""RESULTS.md: a section for each paper, from the stored figures, prose and plots.

The prose of a section is `results/SECTION.md`, how its settings were chosen is in
`results/details/SECTION.md`, and its plot is `results/plots/SECTION.svg`. The page of a folder
without these files has the tables alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from adequa.errors import AdequaError
from adequa.io.atomic import atomic_write
from adequa.reproduce.paper_table import PaperResults, load_table, merged_rows, side_by_side
from adequa.tables import MISSING, Column, Table, decimal

_HEAD = """\
# Results

Tables of the papers, measured again: the paper's figures beside ours. `adequa reproduce` writes
this page; do not edit it. All figures and intervals, the command that measured each row and its
signature are in `results/TABLE.json`. Every figure comes from a score file, and anyone can compute
it again: `adequa evaluate DATASET --statistic STATISTIC -m results/scores/TABLE/SYSTEM.tsv.gz`.

- `paper` and `ours` are means over language pairs; the interval is a bootstrap interval of `ours`.
- Columns of language pairs show our figure, with the paper's in parentheses.
- In plots, dots are our figures with their intervals, and diamonds are the paper's.
- mpnet is all-mpnet-base-v2 and MiniLM is all-MiniLM-L6-v2. `adequa` is the metric that ships.

"""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section of the page: a paper and its tables."""

    name: str
    title: str
    tables: tuple[str, ...]
    merged: bool = False  # whether the tables are shown as one

    def read(self, folder: Path) -> list[PaperResults]:
        """The results of the tables that were measured."""
        results = (PaperResults.read(load_table(name), folder) for name in self.tables)
        return [each for each in results if each.figures]


SECTIONS = (
    PageSection("shimanaka-2018", "SVR over sentence embeddings (WMT16)", ("wmt16",)),
    PageSection("shimanaka-2019", "RUSE and the BERT regressor (WMT17)", ("wmt17",)),
    PageSection("gupta-2015", "ReVal (WMT16, SICK, systems)", ("reval",)),
    PageSection(
        "guzman-2015",
        "Pairwise ranker (WMT12)",
        ("wmt12", "wmt12-bleucomp", "wmt12-vectors", "wmt12-depth", "wmt12-loss"),
        merged=True,
    ),
    PageSection("systems", "Whole systems (WMT17, WMT18)", ("wmt17-systems", "wmt18-systems")),
)


def page_path(folder: Path) -> Path:
    """The path of the page: beside a folder named results, and inside one of another name.

    >>> page_path(Path("work/results")).as_posix(), page_path(Path("work/trial")).as_posix()
    ('work/RESULTS.md', 'work/trial/RESULTS.md')
    """
    return (folder.parent if folder.name == "results" else folder) / "RESULTS.md"


def plot_path(section: PageSection, folder: Path) -> Path:
    """The path of a section's plot."""
    return folder / "plots" / f"{section.name}.svg"


def write_page(folder: Path) -> None:
    """Write RESULTS.md from a folder of results."""
    with atomic_write(page_path(folder)) as file:
        file.write(page(folder))


def page(folder: Path, sections: Sequence[PageSection] = SECTIONS) -> str:
    """The whole page, from a folder of results."""
    measured = [(section, section.read(folder)) for section in sections]
    measured = [(section, results) for section, results in measured if results]
    parts = [_HEAD]
    if measured:
        parts.append(_summary(measured).to_markdown())
    for section, results in measured:
        parts += ["\n", *_section(section, results, folder)]
    return "".join(parts)


def _summary(measured: Sequence[tuple[PageSection, list[PaperResults]]]) -> Table:
    """The best row of every table that is not merged into another."""
    columns = (
        *map(Column, ("section", "test set", "statistic")),
        Column("paper", align="right"),
        Column("row", heading="best row of the paper"),
        Column("ours", align="right"),
        Column("best", heading="best row here"),
    )
    rows = []
    for section, results in measured:
        for parts in [results] if section.merged else [[each] for each in results]:
            table = parts[0].table
            rows.append((section.title, table.dataset, table.statistic, *_best_rows(parts)))
    return Table(columns, rows)


def _best_rows(results: list[PaperResults]) -> list[str]:
    """The highest figure and its row, in the paper and here."""
    main, decimals = results[0].table.main, results[0].table.decimals
    papers, ours = [], []
    for each, row in merged_rows(results):
        figure = each.figure(row.name, main)
        if main in row.paper:
            papers.append((row.paper[main], row.label))
        if figure is not None and figure.measured is not None:
            ours.append((figure.measured, row.label))
    cells = []
    for figures in (papers, ours):
        if figures:
            value, label = max(reversed(figures), key=itemgetter(0))
            cells += [decimal(value, decimals), label]
        else:
            cells += [MISSING, MISSING]
    return cells


def _section(section: PageSection, results: list[PaperResults], folder: Path) -> Iterator[str]:
    base = page_path(folder).parent
    yield f"## {section.title}\n\n"
    yield from _origins(results)
    prose = folder / f"{section.name}.md"
    if prose.is_file():
        yield f"\n{_read_text(prose)}"
    for table in [side_by_side(results)] if section.merged else _tables(results):
        yield f"\n{table.to_markdown()}"
    plot = plot_path(section, folder)
    if plot.is_file():
        yield f"\n![{section.title}, paper and ours]({plot.relative_to(base).as_posix()})\n"
    details = folder / "details" / prose.name
    if details.is_file():
        link = details.relative_to(base).as_posix()
        yield f"\nHow settings were chosen and what was tried: [{link}]({link}).\n"


def _origins(results: list[PaperResults]) -> Iterator[str]:
    """The paper, the datasets, and the commands that measure the tables."""
    yield f"{results[0].table.paper[0].upper()}{results[0].table.paper[1:]}.\n"
    commands: dict[tuple[str, str], list[str]] = {}
    for each in results:
        key = (each.table.dataset, each.table.statistic)
        commands.setdefault(key, []).append(f"`adequa reproduce {each.table.name}`")
    for (dataset, statistic), verbs in commands.items():
        yield f"Dataset `{dataset}`, statistic `{statistic}`: {', '.join(verbs)}.\n"


def _tables(results: list[PaperResults]) -> Iterator[Table]:
    for each in results:
        yield from each.tables()


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AdequaError(f"{path} cannot be read: {error}.") from error
