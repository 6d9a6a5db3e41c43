"""docs/service.md and its examples: every line of curl is answered, and every option exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adequa.service.app import ServiceSettings
from adequa.service.limits import THOROUGH, VARIANTS
from live_service import Live, served
from test_cli import ROOT, adequa

TEXT = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
HERE = "http://127.0.0.1:8000"
LINES = [
    block for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL) if "curl" in block
]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with served(ServiceSettings(workers=1)) as server:
        yield server


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("block", LINES, ids=range(len(LINES)))
def test_curl(live: Live, block: str, tmp_path: Path) -> None:
    (tmp_path / ".curlrc").write_text("fail\n")  # an error is an exit code
    completed = subprocess.run(
        ["bash", "-o", "pipefail", "-e", "-c", block.replace(HERE, live.url)],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path), "CURL_HOME": str(tmp_path)},
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert '"error":' not in completed.stdout


def test_the_explanation_shown_is_the_answer(live: Live) -> None:
    """With scores as they are rounded in the document; the last digits depend on the machine."""
    block = TEXT.partition("/v1/explain")[2]
    request = json.loads(re.findall(r"-d '(.*?)'\n```", block, flags=re.DOTALL)[0])
    shown = json.loads(re.findall(r"```json\n(.*?)```", block, flags=re.DOTALL)[0])
    answer = live.post("/v1/explain", request).json["segments"]
    assert len(answer) == len(shown) == 1
    for one, other in (
        (answer[0], shown[0]),
        *zip(answer[0]["pieces"], shown[0]["pieces"], strict=True),
    ):
        assert list(one) == list(other)
        for name, value in one.items():
            if isinstance(value, float):
                assert other[name] == pytest.approx(value, abs=0.005)
            elif name != "pieces":
                assert other[name] == value


def test_every_endpoint_has_a_line(live: Live) -> None:
    for path in live.get("/openapi.json").json["paths"]:
        assert any(f"{HERE}{path.partition('/{')[0]}" in block for block in LINES), path


def test_every_line_has_an_endpoint(live: Live) -> None:
    paths = live.get("/openapi.json").json["paths"]
    for path in re.findall(rf"{HERE}(/[\w$./]*)", "".join(LINES)):
        assert path.replace("$ID", "{name}") in paths


def test_the_client_of_the_document(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```py\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(block.replace(HERE, live.url), "service.md", "exec"), {})
    first = capsys.readouterr().out.splitlines()[0]
    assert json.loads(first.replace("'", '"'))["segment"] == 1


def test_options_exist() -> None:
    help_text = adequa("serve", "--help").stdout
    table = TEXT.partition("| option |")[2].partition("\n\n")[0]
    files = [file.read_text() for file in (ROOT / "examples" / "service").iterdir()]
    commands = re.findall(r"adequa\"?,? \"?serve\"?.*", "\n".join(files))
    assert len(commands) == 2
    options = set(re.findall(r"--[a-z][a-z-]+", "\n".join([table, *commands])))
    assert options == {option for option in options if option in help_text}
    assert {"--token-file", "--host", "--workers", "--insecure"} <= options


def test_an_image_is_built_of_the_package_alone() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    taken = {rule[1:] for rule in rules if rule.startswith("!")}
    assert taken == {"LICENSE", "README.md", "pyproject.toml", "src"}
    assert all((ROOT / name).exists() for name in taken)
    container = (ROOT / "examples" / "service" / "Containerfile").read_text(encoding="utf-8")
    assert not re.search(r"^(COPY|ADD) ", container, flags=re.MULTILINE)


def test_limits_are_those_of_the_server(live: Live) -> None:
    limits = live.service.limits
    for completed in (
        *(f"{limits.body // 10**6} MB", f"{limits.segments:,} hypotheses"),
        *(f"{limits.characters:,} characters", f"{limits.queue:,} segments wait"),
        *(f"{limits.timeout:g} seconds", f"{limits.pace:,} bytes per second"),
        f"{limits.bodies // 10**6} MB together",
        *(f"explains {limits.explained:,}", f"or {limits.explained // THOROUGH:,} thoroughly"),
        *(f"more than {limits.explained:,}", f"{limits.body // VARIANTS:,} characters together"),
    ):
        assert completed in TEXT
