"""`adequa analyse` as its users find it: tables, listings, the page and sentences."""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from adequa.agreement.analysis_results import VERDICTS, Analysis
from adequa.agreement.error_analysis import AnalysisSettings, analyse
from adequa.io.score_files import ScoreFile
from adequa.judgements import Ratings
from adequa.segments import Segments
from test_cli import EXAMPLES, adequa
from test_error_analysis import Vocabulary

RATINGS = EXAMPLES / "ratings.tsv"
TWO = ("-m", "chrf", "-m", "ter")
EVIL = '<script>alert("1")</script>\t&amp; \x1b[2J\nBrno'


def analysed(*more: str | Path, dataset: str | Path = RATINGS) -> subprocess.CompletedProcess[str]:
    return adequa("analyse", dataset, *more)


def small(text: str = EVIL, name: str = "m|<b>") -> Analysis:
    """One language pair of a hostile name, whose best output only A finds."""
    texts = Segments((text, "b", "c"), (("a <i>",), ("b",), ("c",)), ("</td>", "", ""))
    ids = {"lp": ("cs-en",) * 3, "system": ('"><img src=x onerror=alert(1)>',) * 3}
    ratings = Ratings(np.array([3.0, 2.0, 1.0]), ids, texts, name="<title>")
    files = [
        ScoreFile(name, {}, np.array(each))
        for name, each in ((name, [9.0, 1, 1]), ("n", [0.0, 1, 2]))
    ]
    return analyse(ratings, files, AnalysisSettings(top=0.3), encoders=[Vocabulary("a")])


def test_text_tables() -> None:
    shown = analysed(*TWO, "--list", "only-a", "--limit", "1")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "ratings.tsv: the 20% that people rate highest, 23 of 108 outputs"
    counts = lines[3].split()
    assert counts[:2] == ["de-en", "23"]
    assert sum(map(int, counts[2:])) == 23
    assert "only chrf: 3 outputs, 1 shown (--limit)" in lines
    assert "unknown" not in shown.stdout
    assert shown.stderr.count("note: ") == 3
    assert "at the cut; analysed beyond 20%: de-en 1" in shown.stderr
    assert shown.stdout.endswith("\n")


def test_json_has_every_count_and_the_listed_rows() -> None:
    shown = analysed(
        *TWO, "--top", "0.1", "--format", "json", "--list", "all", "--limit", "2", "-q"
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    found = json.loads(shown.stdout, parse_constant=pytest.fail)
    assert found["settings"] == {"top": 0.1, "overlap": None, "short": 15}
    (part,) = found["parts"]
    verdicts = part["verdicts"]
    assert sum(each["outputs"] for each in verdicts.values()) == part["analysed"]
    assert part["found"][0] == verdicts["both"]["outputs"] + verdicts["only-a"]["outputs"]
    assert len(found["rows"]) == sum(min(2, each["outputs"]) for each in verdicts.values())


def test_files_are_written_by_their_endings(tmp_path: Path) -> None:
    out, rows = tmp_path / "a.tsv", tmp_path / "rows.jsonl"
    shown = analysed(*TWO, "-o", out, "--listing", rows, "-q")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    assert out.read_text().startswith("a\tb\tlp\trated\tanalysed\tverdict\toutputs\t")
    parsed = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(parsed) == 23
    assert set(parsed[0]["scores"]) == {"chrf", "ter"}
    human = [row["human"] for row in parsed]
    assert human == sorted(human, reverse=True)


def test_score_files(tmp_path: Path) -> None:
    """A score file that is the human score finds everything; turned around, nothing."""
    header, *rows = RATINGS.read_text().splitlines()
    column = header.split("\t").index("score")
    scores = tmp_path / "human.txt"
    scores.write_text("".join(row.split("\t")[column] + "\n" for row in rows))
    turned = f"{scores}:higher_is_better=false"
    shown = analysed("-m", scores, "-m", turned, "--format", "json", "-q")
    (part,) = json.loads(shown.stdout)["parts"]
    assert part["found"] == [part["analysed"], 0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "chrf"], "exactly two"),
        ([*TWO, "-m", "wer"], "exactly two"),
        (["-m", "chrf", "-m", "chrf"], "more than once"),
        (["-m", "chfr", "-m", "ter"], 'Did you mean "chrf"'),
        ([*TWO, "--top", "20"], "a share such as 20% or 0.2"),
        ([*TWO, "--top", "many"], "a share such as 20% or 0.2"),
        ([*TWO, "--overlap", "2"], "from 0 to 1"),
        ([*TWO, "--lp", "fr-en"], "There are: de-en"),
        ([*TWO, "--encoder", "wrods:x"], "no kind of encoder"),
        ([*TWO, "--listing", "rows.txt"], ".tsv, .jsonl or .html"),
        ([*TWO, "--listing", "no/such/folder/rows.tsv"], "no folder"),
        ([*TWO, "-o", str(RATINGS)], "read as input"),
        ([*TWO, "-o", "x.tsv", "--listing", "x.tsv"], "is named for two results"),
        ([*TWO, "--list", "all", "--format", "tsv"], "--listing FILE"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str], sentence: str) -> None:
    shown = analysed(*arguments)
    assert shown.returncode == 2
    assert sentence in shown.stderr
    assert "Traceback" not in shown.stderr
    assert (shown.stdout, len(shown.stderr.splitlines())) == ("", 1)


def test_a_mistake_leaves_files_as_they_were(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("before")
    assert analysed("-m", "chrf", "--listing", page).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "before"


def test_preferences_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    row = {"lp": "cs-en", "segment": 1, "ref": "a b", "better": "a b", "worse": "a"}
    path.write_text(json.dumps(row) + "\n")
    shown = analysed(*TWO, dataset=path)
    assert shown.returncode == 2
    assert "needs ratings" in shown.stderr


def test_unknown_words_have_columns_and_marks() -> None:
    found = small("a Brno, a")
    text = found.to_text()
    assert "unknown and short" in text
    assert "not known to knows-1" in text
    shown = found.with_listing(VERDICTS, 5).to_text()
    assert "  unknown    brno,\n" in shown
    assert "  output     a [Brno,] a\n" in shown
    assert "mean length" in found.to_markdown()
    cells = [line.split("\t") for line in found.long_table().to_tsv().splitlines()]
    assert len(set(map(len, cells))) == 1
    row = dict(zip(cells[0], cells[2], strict=True))
    assert (row["verdict"], row["outputs"], row["unknown_and_short"]) == ("only-a", "1", "1")
    assert dict(zip(cells[0], cells[1], strict=True))["mean_length"] == ""  # of none


def test_hostile_texts_do_no_harm() -> None:
    found = small()
    shown = found.with_listing(VERDICTS, 5).to_text()
    assert not set(shown) & {"\x1b", "\t"}
    header, *rows = "".join(found.listing_lines("x.tsv")).split("\n")[:-1]
    assert [row.count("\t") for row in rows] == [header.count("\t")]
    markdown = found.to_markdown()
    assert "<b>" not in markdown
    first = markdown.split("\n\n")[0].splitlines()
    assert len({line.replace(r"\|", "").count("|") for line in first}) == 1
    (row,) = map(json.loads, found.listing_lines("x.JSONL"))
    assert row["hypothesis"] == EVIL


class Page(HTMLParser):
    """What a browser makes of a page: its elements, and the texts that are no script or style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.within = ""
        self.texts: list[str] = []
        self.own: dict[str, str] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.within = tag

    def handle_data(self, data: str) -> None:
        if self.within in {"script", "style"} and self.within not in self.own:
            self.own[self.within] = data
        else:
            self.texts.append(data)


def test_the_page_is_escaped_and_allows_only_its_own_script() -> None:
    text = "".join(small().listing_lines("x.html"))
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert (tags.count("script"), tags.count("style"), tags.count("tr")) == (1, 1, 2)
    assert not {"img", "i", "b", "link", "iframe"} & set(tags)
    attributes = {name for _, found in page.elements for name in found}
    assert not [name for name in attributes if name.startswith("on") or name in {"src", "style"}]
    (policy,) = (str(found["content"]) for _, found in page.elements if "http-equiv" in found)
    assert policy.startswith("default-src 'none';")
    for name, own in page.own.items():
        digest = b64encode(sha256(own.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert not re.search("https?:", text)
    assert "brno" in [text.lower() for text in page.texts]  # marked, on its own
    assert ("mark", {}) in page.elements
    assert '<script>alert("1")</script>' in "".join(page.texts)  # as text


def test_the_page_has_every_row(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert analysed(*TWO, "--listing", path, "-q").returncode == 0
    page = Page(path.read_text(encoding="utf-8"))
    rows = [found for tag, found in page.elements if tag == "tr" and "data-verdict" in found]
    assert len(rows) == 23
    assert {row["data-pair"] for row in rows} == {"de-en"}
