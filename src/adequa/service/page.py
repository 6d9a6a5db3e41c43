"""The page at `/`: what it is made of, the parts that show a report among it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from adequa.comparison import html as report
from adequa.version import __version__

_ASSETS = resources.files("adequa.service") / "assets"
_SCRIPTS = ("ask.js", "inputs.js", "told.js", "page.js")
_STYLES = ("page.css",)
ICON = "icon.svg"


@dataclass(frozen=True, slots=True)
class Page:
    """All files of the page."""

    html: str
    style: str
    script: str
    icon: str

    @classmethod
    def made(cls) -> Page:
        """The page, from the files beside this one and those of the report."""
        return cls(
            html=report.fill_template(
                _asset("page.html"), {"sections": report.sections(), "version": __version__}
            ),
            style="\n".join([report.style(), *map(_asset, _STYLES)]),
            script=report.script(*map(_asset, _SCRIPTS)),
            icon=_asset(ICON),
        )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
