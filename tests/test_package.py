"""The package itself: light to install, quick to start."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata

HEAVY = (
    *("numpy", "scipy", "sacrebleu", "rapidfuzz", "rich.progress", "pyarrow", "torch"),
    *("onnxruntime", "tokenizers", "sqlite3"),
)


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_import_and_help_load_nothing_heavy() -> None:
    """Start-up time is what is imported; the names are checked here, seconds in benchmarks/."""
    assert not modules_after("import adequa") & set(HEAVY)
    assert not modules_after("import adequa.cli.main") & set(HEAVY)


def base_requirements(package: str, seen: set[str]) -> set[str]:
    """Everything that an install without extras brings, by the installed packages' own word."""
    for requirement in metadata.requires(package) or []:
        name = re.match(r"[\w.-]+", requirement)
        assert name
        wanted = name.group().lower().replace("_", "-")
        if "extra ==" in requirement or wanted in seen:
            continue
        try:
            metadata.version(wanted)
        except metadata.PackageNotFoundError:
            continue  # for another platform or Python
        seen.add(wanted)
        base_requirements(wanted, seen)
    return seen


def test_base_install_is_small() -> None:
    needed = base_requirements("adequa", set())
    assert {"numpy", "sacrebleu", "rapidfuzz", "typer", "rich"} <= needed
    assert not needed & {"torch", "transformers", "scikit-learn", "pyarrow", "spacy", "ray"}


def test_the_package_is_typed() -> None:
    from importlib import resources

    assert resources.files("adequa").joinpath("py.typed").is_file()
