"""The documentation site: it builds without a warning, is complete, and needs no other server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import adequa
import adequa.metrics
from adequa.cli.main import VERBS, load_verb
from browser import browser, needs_browser

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    find_spec("sphinx") is None, reason="needs the extra docs: pip install '.[docs]'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: warnings are errors."""
    pages, site = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", pages, site],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return site


def text(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_every_command_has_a_page_with_all_its_options(site: Path) -> None:
    for verb in (verb for verbs in VERBS.values() for verb in verbs):
        command = load_verb(verb)
        pages = {f"commands/{verb}.html": command}
        nested = getattr(command, "commands", {})
        pages |= {f"commands/{verb}-{name}.html": each for name, each in nested.items()}
        for page, each in pages.items():
            shown = re.sub(r"<[^>]*>", "", text(site, page))
            options = [option for parameter in each.params for option in parameter.opts]
            options = [option for option in options if option.startswith("-")]
            assert [option for option in options if option not in shown] == [], page
            assert page.rpartition("/")[2] in text(site, "commands/index.html")


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    names = [f"adequa.{name}" for name in adequa.__all__ if name != "__version__"]
    names += [f"adequa.metrics.{name}" for name in adequa.metrics.__all__]
    assert [name for name in names if f'id="{name}"' not in pages] == []


def test_nothing_is_loaded_from_other_servers(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]+src="(https?:)?//|<link[^>]+href="(https?:)?//|'
        r"@import[^;]+//|url\([\"']?(https?:)?//"
    )
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(files) > 60
    assert [path.name for path in files if loaded.search(path.read_text("utf-8"))] == []


def test_links_to_files_of_the_repository_lead_to_copies(site: Path) -> None:
    (copy,) = (site / "_downloads").rglob("example.toml")
    assert copy.read_bytes() == (ROOT / "plans" / "example.toml").read_bytes()
    assert f"{copy.parent.name}/example.toml" in text(site, "pair-regressor.html")
    assert 'src="_images/report.png"' in text(site, "index.html")


@needs_browser
def test_search_works_without_a_server(site: Path) -> None:
    with browser() as started:
        page = started.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{(site / 'search.html').as_uri()}?q=bootstrap")
        page.wait_for_selector("#search-results li a", timeout=60_000)
        titles = page.locator("#search-results li a").all_text_contents()
    assert any("compare" in title.lower() for title in titles)
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_links_are_those_of_the_site() -> None:
    from conf import rewrite_links

    page = "[a](docs/scoring.md#from-python) ![b](docs/images/report.png)"
    shown = "[a](scoring.md#from-python) ![b](images/report.png)"
    assert rewrite_links(page, "README.md") == shown
    code = "```sh\n[e](f.md)\n```\n"
    assert rewrite_links(f"[g](../README.md)\n{code}", "docs/a.md") == f"[g](index.md)\n{code}"
    assert rewrite_links("[h](../plans/x.toml)", "docs/a.md") == "[h](files/plans/x.toml)"
    assert rewrite_links("[i](https://a.b/c)", "docs/a.md") == "[i](https://a.b/c)"


def test_folders_of_the_repository_are_never_filled(tmp_path: Path) -> None:
    """In a copy, since the files that are no pages are deleted from the folder of pages."""
    from conf import is_folder_of_pages

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_bytes((ROOT / "docs" / "conf.py").read_bytes())
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "docs", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 2
    assert "docs cannot be the source folder" in built.stderr
    folders = (".", "..", "src/adequa", "build", "build/pages", "../elsewhere")
    shown = {name: is_folder_of_pages(ROOT / name) for name in folders}
    assert [name for name, fits in shown.items() if fits] == ["build/pages", "../elsewhere"]
