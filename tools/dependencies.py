"""Lists what an installed release depends on, and checks it for known vulnerabilities.

`python tools/dependencies.py PYTHON` looks at the environment of this Python, in which a release is
installed. It writes the bill of materials (CycloneDX) as JSON, and the report of pip-audit. The
packages cyclonedx-bom and pip-audit are needed where it runs, and not in that environment.

The exit code is 1 if a dependency has a known vulnerability. What could not be checked, such as
everything where there is no network, is named: pip-audit alone would report no vulnerabilities.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SBOM, AUDIT = "sbom.cdx.json", "audit.json"
PACKAGE = "adequa"  # which is in no database yet when it is released


def write_sbom(python: str, path: Path) -> None:
    """Write all packages of an environment, with their versions, licences and dependencies."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    command += ["--output-format", "JSON", "--output-file", str(path), python]
    subprocess.run(command, check=True)


def audit(python: str, path: Path) -> dict[str, Any] | None:
    """The report of pip-audit on an environment; None if the database cannot be reached."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    command = [sys.executable, "-m", "pip_audit", "--path", done.stdout.strip()]
    command += ["--progress-spinner", "off", "--format", "json", "--output", str(path)]
    path.unlink(missing_ok=True)
    audited = subprocess.run(command, check=False, capture_output=True, text=True)
    if not path.is_file():
        print((audited.stderr.strip().splitlines() or ["pip-audit wrote no report."])[-1])
        return None
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def vulnerabilities(report: Mapping[str, Any]) -> list[str]:
    """The known vulnerabilities in a report, a line for each.

    >>> found = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
    >>> vulnerabilities({"dependencies": [found, {"name": "b", "skip_reason": "unknown"}]})
    ['a 1 has X-1 (fixed in 2).']
    """
    return [
        f"{each['name']} {each['version']} has {vulnerability['id']} "
        f"(fixed in {', '.join(vulnerability['fix_versions']) or 'no version'})."
        for each in report["dependencies"]
        for vulnerability in each.get("vulns", ())
    ]


def unchecked(report: Mapping[str, Any]) -> list[str]:
    """The names of dependencies that pip-audit skipped.

    >>> unchecked({"dependencies": [{"name": "a", "vulns": []}, {"name": "b", "skip_reason": "?"}]})
    ['b']
    """
    return [
        each["name"]
        for each in report["dependencies"]
        if "skip_reason" in each and each["name"] != PACKAGE
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both files; return 1 if there are known vulnerabilities."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("python", help="the interpreter of the environment")
    parser.add_argument("--output", default="build", type=Path, help="folder of the files")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    write_sbom(options.python, options.output / SBOM)
    report = audit(options.python, options.output / AUDIT)
    if report is None:
        print("Dependencies are NOT CHECKED: the database of vulnerabilities is out of reach.")
        return 0
    skipped, problems = unchecked(report), vulnerabilities(report)
    if skipped:
        print(f"NOT CHECKED, as the database does not have them: {', '.join(skipped)}.")
    checked = len([each for each in report["dependencies"] if "vulns" in each])
    print(
        f"{checked} dependencies checked, {len(problems)} known vulnerabilities.",
        *problems,
        sep="\n",
    )
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
