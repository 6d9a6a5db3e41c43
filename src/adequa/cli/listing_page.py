"""Analysed outputs as one HTML page that needs nothing else: it sorts, filters and runs offline.

Every text is escaped, and the page allows no script or style but its own, by their digests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape

from adequa.agreement.error_analysis import Analysis, Row
from adequa.agreement.surface import marked_parts
from adequa.agreement.top_share import VERDICTS
from adequa.cli.render_analysis import verdict_name

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 25%, transparent); }
body { margin: 1rem; font: 1rem/1.4 system-ui, sans-serif; background: Canvas; color: CanvasText; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0; }
form[hidden], tr[hidden] { display: none; }
input, select, button { font: inherit; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .4rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
th button { border: 0; padding: 0; background: none; color: inherit; font-weight: bold; }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
td p { margin: 0 0 .3rem; overflow-wrap: anywhere; }
small { opacity: .7; }
@media (max-width: 50rem) {
  thead { display: none; }
  table, tbody, tr { display: block; }
  tr { padding: .5rem 0; border-top: 1px solid var(--line); }
  td { display: inline-block; border: 0; padding: 0 1rem .2rem 0; }
  td:last-child { display: block; }
  td[data-label]::before { content: attr(data-label) " "; opacity: .7; }
}
"""

_SCRIPT = """
const body = document.querySelector("tbody");
const rows = [...body.rows];
const form = document.querySelector("form");
const shown = document.querySelector("output");
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

function filter() {
  const { verdict, pair, text } = form.elements;
  const wanted = text.value.toLowerCase();
  let count = 0;
  for (const row of rows) {
    row.hidden = (verdict.value && row.dataset.verdict !== verdict.value)
      || (pair.value && row.dataset.pair !== pair.value)
      || !texts.get(row).includes(wanted);
    count += row.hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${rows.length} shown`;
}

function compare(first, second) {
  const difference = Number(first) - Number(second);
  return Number.isNaN(difference) ? first.localeCompare(second) : difference;
}

function sort(header) {
  const direction = header.getAttribute("aria-sort") === "descending" ? 1 : -1;
  const value = (row) => row.cells[header.cellIndex].dataset.value;
  rows.sort((first, second) => direction * compare(value(first), value(second)));
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  for (const row of rows) body.append(row);
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentNode));
}
form.hidden = false;
filter();
"""


def as_page(found: Analysis) -> Iterator[str]:
    """The page, piece by piece."""
    title = escape(f"{found.dataset}: {' and '.join(metric.name for metric in found.metrics)}")
    policy = (
        f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield (
        f"<p>The {found.settings.top * 100:g}% that people rate highest: {found.total.analysed:,} "
        f"of {found.total.outputs:,} outputs. Percentiles of the language pair are in brackets.\n"
    )
    yield from (f"<br><small>{escape(metric.signature)}</small>\n" for metric in found.metrics)
    yield from ("</p>\n", *_controls(found), "<table>\n<thead><tr>")
    for name in _labels(found):
        yield f'<th scope="col"><button type="button">{escape(name)}</button></th>'
    yield '<th scope="col">texts</th></tr></thead>\n<tbody>\n'
    yield from (_row(found, row) for row in found.rows)
    yield f"</tbody>\n</table>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _labels(found: Analysis) -> list[str]:
    metrics = (metric.name for metric in found.metrics)
    return ["found by", "lp", "system", "segment", "human", *metrics, "overlap", "words"]


def _controls(found: Analysis) -> Iterator[str]:
    """Filters, hidden until the script that they need runs."""
    verdicts = {verdict.value: verdict_name(found, verdict) for verdict in VERDICTS}
    pairs = {part.name: part.name for part in found.parts}
    yield "<form hidden>\n"
    for name, label, choices in (("verdict", "found by", verdicts), ("pair", "lp", pairs)):
        yield f'<label>{label} <select name="{name}"><option value="">all</option>'
        for value, shown in choices.items():
            yield f'<option value="{escape(value)}">{escape(shown)}</option>'
        yield "</select></label>\n"
    yield '<label>text <input type="search" name="text"></label>\n<output></output>\n</form>\n'


def _row(found: Analysis, row: Row) -> str:
    segment = row.segment or f"row {row.row}"
    values = [verdict_name(found, row.verdict), row.lp, row.system, segment]
    shown = list(values)
    numbers = (row.human, *row.scores)
    for number, place in zip(numbers, (row.human_percentile, *row.percentiles), strict=True):
        values.append(repr(place))  # by what is better, also where lower scores are
        shown.append(f"{number:.4g} ({place:.0f}%)")
    values += [repr(row.overlap), repr(row.length)]
    shown += [f"{row.overlap:.2f}", f"{row.length:,}"]
    cells = "".join(
        f'<td data-label="{escape(label)}" data-value="{escape(value)}">{escape(text)}</td>'
        for label, value, text in zip(_labels(found), values, shown, strict=True)
    )
    opening = f'<tr data-verdict="{row.verdict.value}" data-pair="{escape(row.lp)}">'
    return f"{opening}{cells}<td>{_texts(row)}</td></tr>\n"


def _texts(row: Row) -> str:
    output = "".join(
        f"<mark>{escape(piece)}</mark>" if unknown else escape(piece)
        for piece, unknown in marked_parts(row.hypothesis, row.unknown or ())
    )
    texts = {"output": output, "reference": escape(row.reference), "source": escape(row.source)}
    texts["unknown"] = escape(" ".join(row.unknown or ()))
    return "".join(
        f'<p dir="auto"><small>{name}</small> {text}</p>' for name, text in texts.items() if text
    )
