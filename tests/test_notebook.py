"""The notebooks of the examples run, and show what is stored in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from notebook import same

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    """Offline and without the folder of human judgements."""
    for package in ("matplotlib", "pandas", "sklearn", "torch"):
        pytest.importorskip(package)
    check = ROOT / "tests" / "notebook.py"
    ran = subprocess.run(
        [sys.executable, check, "--check", path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any(cell["outputs"] for cell in code)


@pytest.mark.parametrize(
    ("stored", "shown", "equal"),
    [
        ("a 0.961", "a  0.960", True),
        ("bleu|version:1.2", "bleu|version:3", True),
        ("a 0.961", "b 0.961", False),
        ("a 1 2", "a 1", False),
        ("a 50.0", "a 60.0", False),
    ],
)
def test_outputs_may_differ_in_last_digits_only(stored: str, shown: str, equal: bool) -> None:
    assert same(stored, shown) is equal
