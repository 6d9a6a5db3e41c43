"""Builds the files of a release and checks them: `make release-check`, and the release workflow.

The sdist and the wheel are built from a copy of what the sdist holds. In the copy, README.md gets
links that also work on PyPI, which shows it without the files beside it: with the address of the
repository they lead there, at the tag of the release; without one they become plain text.

The same sources give the same files, to the last byte. `--twice` checks it, and SOURCE_DATE_EPOCH
sets the time that the files inside have.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", flags=re.DOTALL | re.MULTILINE)
PRETRAINED = ("adequa", "adequa-fast", "adequa-1", "ranker")  # folders of metrics that ship
# Pages of the project on PyPI, by path in the repository.
PAGES = {
    "Documentation": "tree/v{version}/docs",
    "Changelog": "blob/v{version}/CHANGELOG.md",
    "Issues": "issues",
}


def pypi_readme(text: str, repository: str, version: str) -> str:
    """The text of README.md with links that do not depend on files beside it.

    >>> page = "[a guide](docs/a.md#b) ![picture](c.png)"
    >>> pypi_readme(page, "https://example.org/x", "1.0").split()[1]
    'guide](https://example.org/x/blob/v1.0/docs/a.md#b)'
    >>> pypi_readme(page, "", "1.0")
    'a guide '
    """

    def link(match: re.Match[str]) -> str:
        is_image, label, path = match.groups()
        if not repository:
            return "" if is_image else label
        kind = "raw" if is_image else "blob"
        return f"{is_image}[{label}]({repository}/{kind}/v{version}/{path})"

    return "".join(
        part if part.startswith("```") else LINK.sub(link, part) for part in FENCE.split(text)
    )


def project_urls(repository: str, version: str) -> str:
    """The table of addresses that PyPI shows beside the project, as TOML."""
    pages = {"Repository": repository} | {
        name: f"{repository}/{path.format(version=version)}" for name, path in PAGES.items()
    }
    return "\n[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in pages.items())


def package_version() -> str:
    """The version in the source code."""
    text = (ROOT / "src" / "adequa" / "version.py").read_text("utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE)
    if match is None:
        raise SystemExit("src/adequa/version.py has no __version__.")
    return match[1]


def copy_sources(folder: Path, repository: str) -> None:
    """Copy what the sdist holds, with the README and the addresses for PyPI."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    included = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in included:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy2(source, folder / name)
    version = package_version()
    readme = pypi_readme((ROOT / "README.md").read_text("utf-8"), repository, version)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    urls = project_urls(repository, version) if repository else ""
    (folder / "pyproject.toml").write_text(text + urls, encoding="utf-8")


def build(folder: Path, repository: str, options: Sequence[str] = ()) -> tuple[Path, Path]:
    """Build sdist and wheel into a folder; return their paths."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as sources:
        copy_sources(Path(sources), repository)
        command = [sys.executable, "-m", "build", "--outdir", str(folder.resolve()), *options]
        subprocess.run([*command, sources], check=True, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def digests(files: Sequence[Path]) -> dict[str, str]:
    """The SHA-256 of each file, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def differing(files: Sequence[Path], again: Sequence[Path]) -> list[str]:
    """The files that are not the same in two builds, a sentence for each."""
    first, second = digests(files), digests(again)
    return [
        f"{name} differs between two builds: the build is not reproducible."
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    ]


def wheel_problems(wheel: Path) -> list[str]:
    """What is wrong with the content of a wheel, a sentence for each."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    problems = [
        f"{wheel.name} holds {name}, which is no part of the package."
        for name in sorted(top)
        if name != "adequa" and not name.endswith(".dist-info")
    ]
    needed = ["adequa/py.typed", "adequa/cli/main.py"]
    needed += [f"adequa/pretrained/{name}/metric.json" for name in PRETRAINED]
    problems += [f"{wheel.name} lacks {name}." for name in needed if name not in names]
    data = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "adequa").rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".py"}
    }
    problems += [f"{wheel.name} lacks {name}." for name in sorted(data - set(names))]
    return problems


def sdist_problems(sdist: Path) -> list[str]:
    """What a user would miss in an sdist: files of the repository that tests and builds read."""
    with tarfile.open(sdist) as archive:
        top = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    included = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return [f"{sdist.name} lacks {name}." for name in included if name not in top]


def main(arguments: Sequence[str] | None = None) -> None:
    """Build and check; exit with the problems, if there are any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repository", default="", help="address, for links on PyPI")
    parser.add_argument("--tag", default="", help="tag of the release, which must be the version")
    parser.add_argument("--output", default="dist", type=Path)
    parser.add_argument("--no-isolation", action="store_true", help="build with what is installed")
    parser.add_argument("--twice", action="store_true", help="build again and compare the files")
    options = parser.parse_args(arguments)
    if options.tag and options.tag != f"v{package_version()}":
        raise SystemExit(f"The tag {options.tag} is not v{package_version()}, the version.")
    more = ["--no-isolation"] if options.no_isolation else []
    sdist, wheel = build(options.output, options.repository.rstrip("/"), more)
    problems = [*wheel_problems(wheel), *sdist_problems(sdist)]
    if options.twice:
        with tempfile.TemporaryDirectory() as folder:
            again = build(Path(folder) / "dist", options.repository.rstrip("/"), more)
            problems += differing((sdist, wheel), again)
    if problems:
        raise SystemExit("\n".join(problems))
    twine = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    subprocess.run(twine, check=True)
    for name, digest in digests((sdist, wheel)).items():
        print(f"{digest}  {name}")


if __name__ == "__main__":
    main()
