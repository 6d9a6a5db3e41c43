"""Run by `make fresh` in an environment of its own: what users have after `pip install adequa`."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
EXTRAS = ("torch", "transformers", "onnx", "sklearn", "pyarrow", "matplotlib", "pytest")


def main() -> None:
    """Score the examples without any extra; a failure ends with its sentence."""
    present = [name for name in EXTRAS if find_spec(name) is not None]
    if present:
        sys.exit(f"This is no fresh environment: it has {', '.join(present)}.")
    command = [sys.executable, "-m", "adequa", "score", "--no-cache"]
    for system in ("fluent", "literal", "broken"):
        command += ["-t", str(EXAMPLES / f"{system}.txt")]
    command += ["-r", str(EXAMPLES / "reference.txt"), "--format", "tsv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"adequa score failed in a fresh environment: {done.stderr}")
    print(done.stdout, end="")
    (_, *metrics), *rows = (line.split("\t") for line in done.stdout.splitlines())
    for metric, column in zip(metrics, zip(*(row[1:] for row in rows), strict=True), strict=True):
        scores = [float(score) for score in column]
        if scores != sorted(scores, reverse=True):
            sys.exit(f"{metric} does not put fluent before literal before broken: {scores}.")
    check_report()


def check_report() -> None:
    """Compare two systems, with a page, whose parts must have been installed too."""
    command = [sys.executable, "-m", "adequa", "compare", "-m", "chrf", "--report", "report.html"]
    for system in ("literal", "fluent"):
        command += ["-t", str(EXAMPLES / f"{system}.txt")]
    command += ["-r", str(EXAMPLES / "reference.txt"), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not Path("report.html").read_text(encoding="utf-8").endswith("</html>\n"):
        sys.exit(f"adequa compare failed in a fresh environment: {done.stderr}")


if __name__ == "__main__":
    main()
