"""`adequa encoders` as its users find it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from adequa.encoders.registry import ENCODERS, encoder_class, settings_of
from test_cli import adequa


def test_every_kind_is_listed_and_nothing_heavy_is_imported() -> None:
    code = (
        "import json, sys; from adequa.cli.main import main\n"
        "try: main()\n"
        "finally: print(json.dumps(list(sys.modules)), file=sys.stderr)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, "encoders"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0
    header, *lines, blank, usage = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(ENCODERS)
    assert (header.split(), blank) == (["kind", "summary"], "")
    assert "--encoder KIND:PATH,SETTING=VALUE" in usage
    imported = {name.partition(".")[0] for name in json.loads(shown.stderr)}
    assert not imported & {"torch", "transformers", "sklearn", "pyarrow"}


def test_the_settings_of_one_kind() -> None:
    shown = adequa("encoders", "transformer:")  # as the shell completes it
    assert (shown.returncode, shown.stderr) == (0, "")
    text, _, table = shown.stdout.partition("\nsetting ")
    assert text.startswith("transformer: any Hugging Face encoder")
    assert "concatenates the vectors of these layers" in text
    defaults = {line.split()[0]: line.split()[1] for line in table.splitlines()[1:]}
    assert list(defaults) == list(settings_of(encoder_class("transformer")))
    assert (defaults["normalize"], defaults["batch_tokens"]) == ("auto", "8192")


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_kind_says_how_it_is_loaded(kind: str) -> None:
    pytest.importorskip("torch", reason="most encoders need PyTorch")
    assert encoder_class(kind).load.__doc__


def test_a_kind_without_settings_and_one_that_is_unknown() -> None:
    assert "setting " not in adequa("encoders", "precomputed").stdout
    shown = adequa("encoders", "wrods")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert len(shown.stderr.splitlines()) == 1
    assert 'There is no kind of encoder named "wrods". Did you mean "words"?' in shown.stderr
