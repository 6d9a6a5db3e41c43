"""What pipelines of others use: the GitHub Action, the pre-commit hook, workflows, releases."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import dependencies
from documented_code import command_problem
from release import (
    build,
    differing,
    main,
    package_version,
    pypi_readme,
    sdist_problems,
    wheel_problems,
)

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), EXAMPLES / "github/gate.yml"]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


# The action


def run_step(number: int, inputs: dict[str, str], folder: Path, **more: str) -> tuple[int, str]:
    """Run the script of a step of the action as GitHub does; return exit code and output."""
    step = ACTION["runs"]["steps"][number]
    values = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    values |= inputs
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], template)
        for name, template in step["env"].items()
    }
    for name in ("temp", "work"):
        (folder / name).mkdir(exist_ok=True)
    script = folder / "script.sh"
    script.write_text(step["run"], encoding="utf-8")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=folder / "work",
        env={
            **os.environ,
            **environment,
            "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            **more,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A folder as a runner has it after the first step, with this environment's adequa."""
    (tmp_path / "temp" / "adequa").mkdir(parents=True)
    (tmp_path / "temp" / "adequa" / "bin").symlink_to(Path(sys.executable).parent)
    return tmp_path


def outputs(folder: Path) -> dict[str, str]:
    lines = (folder / "output").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def inputs(candidate: str, baseline: str = "literal", **more: str) -> dict[str, str]:
    files = {"baseline": baseline, "candidate": candidate, "references": "reference"}
    return {name: str(EXAMPLES / f"{file}.txt") for name, file in files.items()} | more


def test_the_action_passes(runner: Path) -> None:
    code, shown = run_step(1, inputs("fluent", metrics="chrf  ter\n"), runner)
    assert code == 0, shown
    assert shown.startswith("PASS: fluent is no regression from literal: chrf 63.23 → 82.29")
    assert outputs(runner) == {"result": "pass", "verdict": outputs(runner)["verdict"]}
    assert outputs(runner)["verdict"] in shown
    assert "| chrf ↑ |" in (runner / "summary").read_text("utf-8")
    cases = ET.parse(runner / "work" / "adequa-gate.xml").getroot().iter("testcase")
    assert len(list(cases)) == 2
    assert (runner / "work" / "adequa-gate.html").read_text("utf-8").endswith("</html>\n")


def test_the_action_fails_on_a_regression(runner: Path) -> None:
    chosen = inputs(
        "literal", "fluent",
        references=f"{EXAMPLES / 'reference.txt'}\n\n{EXAMPLES / 'fluent.txt'}\n",
        source=str(EXAMPLES / "source.txt"),
        rules=str(EXAMPLES / "github" / "gate.toml"),
        args="--format\ntsv\n-q", junit="j.xml", report="r.html",
    )  # fmt: skip
    code, shown = run_step(1, chosen, runner)
    assert code == 1, shown
    assert outputs(runner)["result"] == "regression"
    assert {path.name for path in (runner / "work").iterdir()} == {"j.xml", "r.html"}
    root = ET.parse(runner / "work" / "j.xml").getroot()
    assert root.attrib["failures"] == "2"


def test_the_action_summarises_the_worst_new_errors(runner: Path) -> None:
    """They are in the summary; the verdict is a sentence, without them."""
    code, shown = run_step(1, inputs("literal", "fluent", metrics="chrf"), runner)
    assert code == 1, shown
    assert outputs(runner)["verdict"].endswith("(p = 0.0001 ≤ 0.05)")
    summary = (runner / "summary").read_text("utf-8")
    assert "\n- segment 35: critical substitution, " in summary


def test_the_action_passes_every_input_on(runner: Path) -> None:
    """Each input is one argument of `adequa gate`, with its spaces; a program here records them."""
    programs = runner / "temp" / "adequa" / "bin"
    programs.unlink()
    programs.mkdir()
    (programs / "adequa").write_text(
        '#!/bin/bash\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/arguments"\n'
    )
    (programs / "adequa").chmod(0o755)
    chosen = {
        "baseline": "old one.txt", "candidate": "new.txt", "references": "a b.txt\nc.txt",
        "source": "s.txt", "metrics": "bleu:tokenize=zh\nchrf", "language": "en-zh",
        "max-drop": "0.5", "args": "--alpha\n0.01\n",
    }  # fmt: skip
    assert run_step(1, chosen, runner) == (0, "\n")
    arguments = (runner / "temp" / "arguments").read_text().splitlines()
    summary = str(runner / "temp" / "adequa-gate.md")
    assert arguments == [
        "gate", "--baseline", "old one.txt", "--candidate", "new.txt", "--reference", "a b.txt",
        "--reference", "c.txt", "--metric", "bleu:tokenize=zh", "--metric", "chrf",
        "--source", "s.txt", "--language", "en-zh", "--max-drop", "0.5", "--alpha", "0.01",
        "--junit", "adequa-gate.xml", "--report", "adequa-gate.html", "--markdown", summary,
    ]  # fmt: skip


def test_the_action_reports_bad_input(runner: Path) -> None:
    code, shown = run_step(1, inputs("fluent") | {"candidate": "missing.txt"}, runner)
    assert code == 2
    assert "adequa: error: " in shown
    assert outputs(runner)["result"] == "error"


def test_an_error_shows_nothing_of_an_earlier_run(runner: Path) -> None:
    assert run_step(1, inputs("fluent", metrics="chrf"), runner)[0] == 0
    (runner / "summary").unlink()
    code, _ = run_step(1, inputs("fluent") | {"candidate": "missing.txt"}, runner)
    assert code == 2
    assert not (runner / "summary").exists()
    assert list((runner / "work").iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "new="])
def test_the_action_deletes_no_input(runner: Path, prefix: str) -> None:
    candidate = runner / "candidate.txt"
    candidate.write_bytes((EXAMPLES / "fluent.txt").read_bytes())
    chosen = inputs("fluent", metrics="chrf", report=str(candidate))
    code, shown = run_step(1, chosen | {"candidate": f"{prefix}{candidate}"}, runner)
    assert code == 2, shown
    assert candidate.read_bytes() == (EXAMPLES / "fluent.txt").read_bytes()


def test_the_action_names_the_language(runner: Path) -> None:
    """Of texts that are too short to detect it: BLEU takes the tokenizer of Chinese."""
    texts = {
        "old": "猫坐。\n狗跑。\n",
        "new": "猫坐了。\n狗跑了。\n",
        "ref": "猫坐了。\n狗跑了。\n",
    }
    for name, text in texts.items():
        (runner / f"{name}.txt").write_text(text, encoding="utf-8")
    chosen = {
        "baseline": str(runner / "old.txt"), "candidate": str(runner / "new.txt"),
        "references": str(runner / "ref.txt"), "metrics": "bleu", "language": "en-zh",
    }  # fmt: skip
    code, shown = run_step(1, chosen, runner)
    assert code == 0, shown
    assert "tok:zh" in (runner / "work" / "adequa-gate.html").read_text("utf-8")
    code, shown = run_step(1, chosen | {"language": "klingon"}, runner)
    assert code == 2
    assert "klingon" in shown


ATTACK = "\"; touch pwned; $(touch pwned) `touch pwned` *' && touch pwned"


def test_inputs_are_never_run(runner: Path) -> None:
    """No text of an input is executed or expanded, whatever the input is for."""
    python = runner / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    attacked = dict.fromkeys(ACTION["inputs"], ATTACK)
    assert run_step(0, attacked | {"python": str(python)}, runner)[0] == 3
    assert run_step(1, attacked, runner)[0] == 2
    assert not list(runner.rglob("pwned"))


def test_names_of_files_are_never_run(runner: Path) -> None:
    """Names of files reach the verdict, which goes to the log and to the outputs of the step."""
    candidate = runner / f"{ATTACK.replace('/', '')}\nresult=pass.txt"
    candidate.write_bytes((EXAMPLES / "literal.txt").read_bytes())
    chosen = inputs("literal", "fluent", metrics="chrf") | {"candidate": str(candidate)}
    code, shown = run_step(1, chosen, runner)
    assert code == 1, shown
    assert not list(runner.rglob("pwned"))
    assert outputs(runner)["result"] == "regression"
    assert "touch pwned" in outputs(runner)["verdict"]


def test_the_action_declares_what_it_uses() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert {"baseline", "candidate", "references", "metrics", "language", "args"} <= set(
        ACTION["inputs"]
    )
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        used = set(re.findall(r"\$\{?([A-Z_]+)", step["run"]))
        assert used - {
            "RUNNER_TEMP",
            "GITHUB_OUTPUT",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_ACTION_PATH",
        } == set(step["env"])
    mentioned = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert mentioned == set(ACTION["inputs"])
    document = (ROOT / "docs" / "continuous-integration.md").read_text("utf-8")
    assert [name for name in ACTION["inputs"] if f"`{name}`" not in document] == []


# The hook


def test_the_hook_runs_as_pre_commit_runs_it(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    document = (ROOT / "docs" / "continuous-integration.md").read_text("utf-8")
    block = re.search(r"```yaml\n(repos:.*?)```", document, flags=re.DOTALL)
    assert block
    (configured,) = yaml.safe_load(block[1])["repos"][0]["hooks"]
    assert configured["id"] == hook["id"]
    assert re.search(configured["files"], "tests/candidate.txt")
    assert not command_problem([*shlex.split(hook["entry"]), *configured["args"]])
    (tmp_path / "tests").mkdir()
    names = {"baseline": "fluent", "candidate": "literal", "reference": "reference"}
    for name, example in names.items():
        (tmp_path / "tests" / f"{name}.txt").symlink_to(EXAMPLES / f"{example}.txt")
    program = Path(sys.executable).parent / shlex.split(hook["entry"])[0]
    command = [program, *shlex.split(hook["entry"])[1:], *configured["args"]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("REGRESSION: candidate is worse than baseline")


# Workflows


def workflow_steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def needed_jobs(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else needs


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_the_right_shape(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"], name
        assert set(needed_jobs(job)) <= set(workflow["jobs"])
    for step in workflow_steps(workflow):
        assert ("uses" in step) != ("run" in step)
        assert "${{" not in step.get("run", "")
        assert "@" in step.get("uses", "@")


def test_ci_runs_every_check() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    commands = [step["run"] for step in workflow_steps(workflow) if "run" in step]
    assert commands == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_release_is_tested_built_tried_and_only_then_published() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    jobs = workflow["jobs"]
    assert (jobs["try"]["needs"], jobs["publish"]["needs"]) == (
        "build",
        ["test", "try", "dependencies"],
    )
    assert jobs["dependencies"]["needs"] == "build"
    assert jobs["test"]["steps"][-1] == {"run": ".ci/run"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    scripts = "\n".join(step.get("run", "") for step in workflow_steps(workflow))
    assert re.search(r"python tools/release.py .*--twice$", scripts, re.MULTILINE)
    assert "SOURCE_DATE_EPOCH=" in scripts
    assert "python tools/dependencies.py clean/bin/python" in scripts
    assert "../tests/fresh_environment.py" in scripts


def test_the_example_workflow_uses_inputs_that_exist() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github" / "gate.yml").read_text("utf-8"))
    (step,) = (each for each in workflow_steps(workflow) if "/adequa@" in each.get("uses", ""))
    assert set(step["with"]) <= set(ACTION["inputs"])
    required = {name for name, each in ACTION["inputs"].items() if each.get("required")}
    assert required <= set(step["with"])
    used = re.findall(r"steps\.gate\.outputs\.(\w+)", str(workflow))
    assert set(used) <= set(ACTION["outputs"])
    assert step["uses"].endswith(f"@v{package_version()}")


# Releases


@pytest.fixture(scope="module")
def release_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("release") / "dist"
    return build(folder, "https://example.org/a/adequa", ["--no-isolation"])


def test_release_files_hold_what_they_should(release_files: tuple[Path, Path]) -> None:
    sdist, wheel = release_files
    assert wheel_problems(wheel) == []
    assert sdist_problems(sdist) == []
    twine = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    checked = subprocess.run(twine, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_readme_renders_on_pypi(release_files: tuple[Path, Path]) -> None:
    """As PyPI renders it: every link and image has an address of its own."""
    import zipfile

    from readme_renderer.markdown import render

    with zipfile.ZipFile(release_files[1]) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        metadata = archive.read(name).decode()
    assert "Project-URL: Repository, https://example.org/a/adequa\n" in metadata
    page = render(metadata.partition("\n\n")[2])
    assert page is not None
    addresses = re.findall(r'(?:href|src)="([^"]*)"', page)
    at_tag = f"https://example.org/a/adequa/blob/v{package_version()}"
    assert f"{at_tag}/docs/comparison.md" in addresses
    assert f"{at_tag.replace('blob', 'raw')}/docs/images/report.png" in addresses
    assert [each for each in addresses if not each.startswith(("https://", "#"))] == []
    assert "<table>" in page


def test_a_readme_without_a_repository_has_no_dead_links() -> None:
    text = pypi_readme((ROOT / "README.md").read_text("utf-8"), "", "1.0")
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"\]\((?!https?:)", outside) == []


def test_a_tag_must_be_the_version() -> None:
    with pytest.raises(SystemExit, match=r"The tag v9\.9 is not v"):
        main(["--tag", "v9.9"])


def test_a_second_build_gives_the_same_files(
    release_files: tuple[Path, Path], tmp_path: Path
) -> None:
    again = build(tmp_path / "dist", "https://example.org/a/adequa", ["--no-isolation"])
    assert differing(release_files, again) == []
    again[1].write_bytes(b"other")
    (sentence,) = differing(release_files, again)
    assert sentence.startswith(f"{again[1].name} differs between two builds")


AUDITS = {
    "sound": ([{"name": "a", "version": "1", "vulns": []}], 0, "1 dependencies checked, 0 known"),
    "vulnerable": (
        [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": []}]}],
        1,
        "a 1 has CVE-1 (fixed in no version).",
    ),
    "skipped": ([{"name": "a", "skip_reason": "?"}], 0, "NOT CHECKED, as the database does not"),
    "offline": (None, 0, "Dependencies are NOT CHECKED"),
}


@pytest.mark.parametrize("kind", AUDITS)
def test_dependencies_are_checked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only known vulnerabilities end a release; what is not checked is named."""
    found, code, shown = AUDITS[kind]
    report = None if found is None else {"dependencies": found}
    monkeypatch.setattr(dependencies, "write_sbom", lambda python, path: path.write_text("{}"))
    monkeypatch.setattr(dependencies, "audit", lambda python, path: report)
    assert dependencies.main(["python", "--output", str(tmp_path / "new")]) == code
    assert shown in capsys.readouterr().out
    assert (tmp_path / "new" / dependencies.SBOM).is_file()


def test_the_action_installs_a_version(release_files: tuple[Path, Path], tmp_path: Path) -> None:
    """The first step for real: a new environment, with the wheel of this checkout as an index."""
    code, shown = run_step(
        0, {"version": package_version(), "python": sys.executable}, tmp_path,
        PIP_NO_INDEX="1", PIP_FIND_LINKS=str(release_files[1].parent), PIP_NO_DEPS="1",
    )  # fmt: skip
    assert code == 0, shown
    assert (tmp_path / "temp" / "adequa" / "bin" / "adequa").is_file()
