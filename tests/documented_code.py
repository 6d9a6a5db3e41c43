"""The class that a document shows for a table of ours, as a module that can be imported."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def documented_module(
    document: str, heading: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, str]:
    """Make the Python block under a heading importable; return name, target and summary of it.

    These three are in the line that the document adds to a table.
    """
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = re.search(r"```python\n(.*?)```", section, flags=re.DOTALL)
    line = re.search(r'`"(.+)": (?:Encoder)?Entry\("adequa\.\w+\.(\w+):(\w+)", "(.+)"\),`', section)
    assert block
    assert line
    name, module, attribute, summary = line.groups()
    (folder / f"{module}.py").write_text(block[1], encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, module, raising=False)
    return name, f"{module}:{attribute}", summary
