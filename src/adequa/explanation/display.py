"""Explanations to look at: text with marks or colours, and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adequa.errors import counted, printable
from adequa.explanation.alignment import has_spaces
from adequa.explanation.pieces import Kind, Piece, Severity
from adequa.tables import WARNING, decimal, html_lines, html_page, html_text, text_lines

if TYPE_CHECKING:
    from adequa.explanation.results import ExplainedSegment, Explanation

_SHOWN = 6  # pieces listed below a segment in text, besides critical and major ones
_LONGEST = 60  # characters of the words of a piece in a line
# Codes of terminals: background red, red, yellow, and none.
_COLOURS: dict[Severity, str] = {"critical": "1;37;41", "major": "1;31", "minor": "33", "none": "2"}


class MarkedPart(NamedTuple):
    """A part of a hypothesis: plain, or a piece, whose text is empty where words are missing."""

    text: str
    piece: Piece | None = None


def parts(segment: ExplainedSegment) -> Iterator[MarkedPart]:
    """The hypothesis in parts that add up to it, with the places of omissions.

    >>> from adequa.explanation.results import ExplainedSegment
    >>> piece = Piece("cat", "dog", "substitution", 0.1, "major", (2, 5), (2, 5))
    >>> each = ExplainedSegment("a", 1, 0.9, 1.0, "a cat ran", "a dog ran", 1, 1, (piece,))
    >>> [part.text for part in parts(each)]
    ['a ', 'cat', ' ran']
    """
    position = 0
    for piece in segment.in_order:
        # The place of missing words may lie inside words that are moved: it is after them.
        start, end = (max(position, each) for each in piece.hypothesis_span)
        if start > position:
            yield MarkedPart(segment.hypothesis[position:start])
        yield MarkedPart(segment.hypothesis[start:end], piece)
        position = end
    if position < len(segment.hypothesis):
        yield MarkedPart(segment.hypothesis[position:])


# Text


def text(explanation: Explanation, *, colour: bool) -> Iterator[str]:
    """Segments with their pieces, and where systems lose their scores."""
    for number, segment in enumerate(explanation.segments):
        yield "\n" if number else ""
        yield from _segment_lines(segment, explanation, colour=colour)
    for table in explanation.loss_tables():
        yield "\n"
        yield from text_lines(table)
    yield "\n"
    yield from (f"{line}\n" for line in _legend(explanation, colour=colour))


def _legend(explanation: Explanation, *, colour: bool) -> Iterator[str]:
    if any(segment.pieces for segment in explanation.segments):
        if colour:
            names = (_coloured(severity, severity) for severity in _COLOURS)
            yield f"severity: {', '.join(names)}; {{+missing+}}"
        else:
            yield "[-in the translation-] {+in the reference+} [~elsewhere in the reference~]"
    yield from map(printable, explanation.legend())


def _segment_lines(
    segment: ExplainedSegment, explanation: Explanation, *, colour: bool
) -> Iterator[str]:
    score = decimal(segment.score, explanation.decimals)
    name = f"{printable(segment.system)}, segment {segment.segment}"
    mark = WARNING if explanation.warning else ""
    yield f"{name}: {explanation.metric} {score}{mark}{_reference_name(segment)}\n"
    is_empty = not segment.hypothesis.strip()
    yield f"  {'(empty)' if is_empty else _marked(segment, colour=colour)}\n"
    if not segment.pieces:
        yield "  no differences from the reference\n"
    listed, rest = _listed(segment.pieces)
    rows = [_piece_cells(piece, explanation.decimals) for piece in listed]
    severities, kinds, costs = (
        max((len(row[column]) for row in rows), default=0) for column in range(3)
    )
    for piece, (severity, kind, cost, change) in zip(listed, rows, strict=True):
        padded = severity.ljust(severities)
        shown = _coloured(padded, piece.severity) if colour else padded
        yield f"    {shown}  {kind.ljust(kinds)}  {cost.rjust(costs)}  {change}\n"
    if rest:
        cost = decimal(sum(piece.cost for piece in rest), explanation.decimals)
        yield f"    and {counted(len(rest), 'more piece')}: {cost}\n"


def _reference_name(segment: ExplainedSegment) -> str:
    """Which reference explains, where there are several."""
    if segment.reference_count == 1:
        return ""
    return f", reference {segment.reference_number} of {segment.reference_count}"


def _listed(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """The costliest pieces and all that are critical or major; and the others."""
    listed: list[Piece] = []
    rest: list[Piece] = []
    for number, piece in enumerate(pieces):
        is_listed = number < _SHOWN or piece.severity in {"critical", "major"}
        (listed if is_listed else rest).append(piece)
    return listed, rest


def _piece_cells(piece: Piece, decimals: int) -> tuple[str, str, str, str]:
    change = change_in_words(piece.kind, piece.hypothesis, piece.reference)
    return piece.severity, piece.kind, decimal(piece.cost, decimals), change


def change_in_words(kind: Kind, hypothesis: str, reference: str, between: str = "→") -> str:
    """How a piece differs from the reference, in a line.

    >>> change_in_words("number", "300", "500")
    '"300" → "500"'
    >>> change_in_words("punctuation", ".", ".")
    'space before "."'
    """
    if kind == "move":
        return f"moved: {_quoted(hypothesis)}"
    if hypothesis == reference:
        return f"space before {_quoted(hypothesis)}"
    if not hypothesis:
        return f"missing: {_quoted(reference)}"
    if not reference:
        return f"added: {_quoted(hypothesis)}"
    return f"{_quoted(hypothesis)} {between} {_quoted(reference)}"


def _quoted(words: str) -> str:
    words = printable(words)
    if len(words) > _LONGEST:
        half = _LONGEST // 2
        words = f"{words[:half].rstrip()} … {words[-half:].lstrip()}"
    return f"‘{words}’" if '"' in words else f'"{words}"'


def _marked(segment: ExplainedSegment, *, colour: bool) -> str:
    """The hypothesis with its pieces in marks or colours, and spaces around missing words."""
    line, after_missing = "", False
    for part in parts(segment):
        words = _in_colour(part) if colour else _in_marks(part)
        is_missing = bool(words) and not part.text
        starts_spaced = has_spaces(part.piece.reference if part.piece else "")
        if is_missing:
            is_apart = bool(line) and not line.endswith(" ") and starts_spaced
        else:
            is_apart = after_missing and part.text[:1].isalnum() and has_spaces(part.text)
        line += (" " if is_apart else "") + words
        after_missing = is_missing
    return line


def _is_marked(piece: Piece) -> bool:
    """Whether a piece is marked: entities whatever they cost, since metrics may miss them."""
    if piece.hypothesis == piece.reference and piece.kind != "move":
        return False
    return piece.severity != "none" or piece.kind in {"negation", "number", "name"}


def _in_marks(part: MarkedPart) -> str:
    piece, words = part.piece, printable(part.text)
    if piece is None or not _is_marked(piece):
        return words
    if piece.kind == "move":
        return f"[~{words}~]"
    removed = f"[-{words}-]" if words else ""
    return removed + (f"{{+{printable(piece.reference)}+}}" if piece.reference else "")


def _in_colour(part: MarkedPart) -> str:
    piece, words = part.piece, printable(part.text)
    if piece is None or not (words or _is_marked(piece)):
        return words
    return _coloured(words or f"{{+{printable(piece.reference)}+}}", piece.severity)


def _coloured(words: str, severity: Severity) -> str:
    return f"\x1b[{_COLOURS[severity]}m{words}\x1b[0m"


# HTML

_STYLE = """\
<style>
.adequa-explained { margin: 1rem 0 1.5rem; font: 1rem/1.7 system-ui, sans-serif; }
.adequa-explained p { margin: 0.2rem 0; }
.adequa-explained mark { color: #1a1a1a; border-radius: 3px; padding: 0 0.15em; }
.adequa-explained mark.critical { background: #d9483b; color: #fff; font-weight: 600; }
.adequa-explained mark.major { background: #f5a397; }
.adequa-explained mark.minor { background: #fce8a6; }
.adequa-explained mark.none { background: #ececec; }
.adequa-explained mark.missing { background: none; border: 1px dashed #999; color: inherit; }
.adequa-explained mark.missing.minor { border-color: #c99a00; }
.adequa-explained mark.missing.major { border-color: #b3261e; color: #b3261e; }
.adequa-explained mark.missing.critical { border: 2px solid #b3261e; color: #b3261e; }
.adequa-explained .of { color: #5a5a5a; }
.adequa-explained table { border-collapse: collapse; margin: 0.4rem 0; font-size: 0.9rem; }
.adequa-explained th, .adequa-explained td { padding: 0.1rem 0.7rem; text-align: left; }
.adequa-explained td.cost { text-align: right; font-variant-numeric: tabular-nums; }
</style>
"""


def page(explanation: Explanation) -> Iterator[str]:
    """One HTML file that runs no script and loads nothing."""
    title = f"What differences cost under {explanation.metric}"
    body = fragment(explanation, tables=False)
    yield from html_page(explanation.loss_tables(), body, title=title)


def fragment(explanation: Explanation, *, tables: bool = True) -> Iterator[str]:
    """The segments as elements of a page, for a notebook with the tables."""
    yield _STYLE
    for table in explanation.loss_tables() if tables else ():
        yield from html_lines(table)
    for segment in explanation.segments:
        yield from _segment_html(segment, explanation)
    severities = (f'<mark class="{each}">{each}</mark>' for each in _COLOURS)
    missing = '<mark class="missing">+missing words</mark>'
    yield f'<p class="adequa-explained">{" ".join(severities)} {missing}</p>\n'
    yield '<p class="adequa"><small>'
    yield "<br>".join(map(html_text, explanation.legend()))
    yield "</small></p>\n"


def _segment_html(segment: ExplainedSegment, explanation: Explanation) -> Iterator[str]:
    score = decimal(segment.score, explanation.decimals)
    yield '<section class="adequa-explained">\n'
    yield f"<p><b>{html_text(segment.system)}</b>, segment {segment.segment}: "
    mark = WARNING if explanation.warning else ""
    yield f"{html_text(explanation.metric)} {score}{mark}{_reference_name(segment)}</p>\n"
    yield f'<p dir="auto">{"".join(map(_part_html, parts(segment))) or "<i>(empty)</i>"}</p>\n'
    yield f'<p dir="auto" class="of">{html_text(segment.reference)}</p>\n'
    if segment.pieces:
        yield "<table><thead><tr><th>severity</th><th>kind</th><th>cost</th>"
        yield "<th>translation</th><th>reference</th></tr></thead><tbody>\n"
        for piece in segment.pieces:
            yield f"<tr><td>{piece.severity}</td><td>{piece.kind}</td>"
            yield f'<td class="cost">{decimal(piece.cost, explanation.decimals)}</td>'
            yield f"<td>{html_text(piece.hypothesis)}</td>"
            yield f"<td>{html_text(piece.reference)}</td></tr>\n"
        yield "</tbody></table>\n"
    yield "</section>\n"


def _part_html(part: MarkedPart) -> str:
    piece, words = part.piece, html_text(part.text)
    if piece is None:
        return words
    change = change_in_words(piece.kind, piece.hypothesis, piece.reference)
    title = html_text(f"{piece.severity}, {piece.kind}: {change}")
    if not part.text:
        missing = html_text(piece.reference)
        space = " " if has_spaces(piece.reference) else ""
        return f'{space}<mark class="{piece.severity} missing" title="{title}">+{missing}</mark>'
    return f'<mark class="{piece.severity}" title="{title}">{words}</mark>'
