"""Configuration of Sphinx, and the pages of the documentation site that are generated.

The site is built from a folder of pages (`make docs`: build/pages) that this file fills: the
documents of docs/, README.md, RESULTS.md and the like, a page for every command from the command
line itself, and the Python reference from docstrings. Documents link to each other by their paths
in the repository, so that links also work where the files are read as they are; `rewrite_links`
turns them into links between pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from typer.main import get_command

from adequa.cli.main import VERBS, app, load_verb
from adequa.version import __version__

ROOT = Path(__file__).parent.parent
DOCUMENTS = ROOT / "docs"

project = "adequa"
copyright = "The adequa authors"  # noqa: A001 - the name that Sphinx reads
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4  # of the form that GitHub gives
smartquotes = False  # text is shown as it is written: two hyphens begin an option
default_role = "code"  # docstrings mark code by single backticks
autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
# Nothing is loaded from other servers: no fonts, scripts or images.
html_theme = "furo"
html_title = f"adequa {__version__}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00695c", "color-brand-content": "#00695c"},
    "dark_css_variables": {"color-brand-primary": "#4db6ac", "color-brand-content": "#4db6ac"},
}

# Model cards of the metrics that ship, by the name of the metric.
CARDS = {
    path.parent.name: path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "src" / "adequa" / "pretrained").glob("adequa*/README.md"))
}
# Pages from files outside docs/, by path in the repository.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
    "RESULTS.md": "results/index.md",
    **{path: f"model-card-{name}.md" for name, path in CARDS.items()},
    **{
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "results" / "details").glob("*.md"))
    },
}
# The navigation: groups of pages. Lists of commands and of the Python reference are on the pages
# that list them.
NAVIGATION = {
    "Get started": [
        "Tutorial for engineers <tutorial-engineer>",
        "Tutorial for researchers <tutorial-researcher>",
        "Coming from other tools <coming-from>",
    ],
    "Guides": [
        "scoring",
        "explain",
        "confidence",
        "languages",
        "comparison",
        "continuous-integration",
        "choosing",
    ],
    "Metrics": [
        "The metric adequa <adequa>",
        *(f"Model card of {name} <model-card-{name}>" for name in CARDS),
        "Lexical metrics <metrics>",
        "pairwise-ranker",
    ],
    "Meta-evaluation": ["agreement", "datasets", "analysis", "perturbations"],
    "Training": ["training", "pair-regressor", "tree-lstm", "encoders", "encoders-published"],
    "Service and scale": ["service", "security", "scale", "benchmarks"],
    "Reference": [
        "commands/index",
        "reference/index",
        "contributing",
        "security-policy",
        "changelog",
    ],
    "Results": ["results/index"],
}
# Pages of the Python reference: title, introduction, and the packages whose public names they show.
REFERENCE = {
    "scoring": (
        "Scoring",
        "Scores of translations and what they come from, metrics, and the texts that they read.",
        (
            "scoring",
            "explanation",
            "metrics",
            "segments",
            "languages",
            "io",
            "errors",
            "tables",
            "version",
        ),
    ),
    "comparing": (
        "Comparing",
        "Comparisons and rankings of systems, and the quality gate.",
        ("comparison", "statistics"),
    ),
    "meta-evaluation": (
        "Meta-evaluation",
        "Human judgements, and how well metrics agree with them.",
        ("agreement", "judgements", "datasets"),
    ),
    "training": ("Training", "Metrics that are trained, and encoders.", ("learned", "encoders")),
    "service": ("Service", "The client of the HTTP service.", ("service",)),
}
LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```)", flags=re.DOTALL | re.MULTILINE)


def setup(sphinx: Any) -> None:
    """Fill the folder of pages before Sphinx reads it, and read docstrings as they are written."""
    sphinx.connect("config-inited", lambda started, _: write_pages(_checked(started.srcdir)))
    sphinx.connect("autodoc-process-docstring", _process_docstring)


def _checked(source: str) -> Path:
    """The folder of pages; raise where files that are no pages would be lost in it."""
    from sphinx.errors import ConfigError  # noqa: PLC0415 - readers of this file may lack Sphinx

    if not is_folder_of_pages(Path(source)):
        raise ConfigError(
            f"{source} cannot be the source folder: it is filled with generated pages, and all "
            "other files in it are deleted. Give a folder below build/: sphinx-build -c docs "
            "build/pages build/site (make docs)."
        )
    return Path(source)


def is_folder_of_pages(folder: Path) -> bool:
    """Whether a folder is outside the repository, or below build/.

    >>> [is_folder_of_pages(each) for each in (DOCUMENTS, ROOT, ROOT.parent, ROOT / "build/pages")]
    [False, False, False, True]
    """
    folder, root = folder.resolve(), ROOT.resolve()
    is_apart = folder != root and root not in folder.parents and folder not in root.parents
    return is_apart or root / "build" in folder.parents


def _process_docstring(*event: Any) -> None:
    lines: list[str] = event[-1]
    lines[:] = as_restructured_text(lines)


def write_pages(folder: Path) -> None:
    """Write all pages and the files that they link to; files that have not changed stay."""
    contents = {path: text.encode() for path, text in all_pages().items()}
    contents |= {site_path(path): (ROOT / path).read_bytes() for path in linked_files()}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in contents:
            path.unlink()
    for name, content in contents.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def all_pages() -> dict[str, str]:
    """The text of every page, by its path on the site."""
    documents = {
        site_path(source): rewrite_links(text, source) for source, text in sources().items()
    }
    listings = "".join(
        toctree(pages, caption=title, hidden=True) for title, pages in NAVIGATION.items()
    )
    documents["index.md"] += f"\n{listings}"
    details = [path.removesuffix(".md") for path in PAGES.values() if "/details/" in path]
    nested = [Path(each).relative_to("results").as_posix() for each in details]
    documents["results/index.md"] += f"\n{toctree(nested, hidden=True)}"
    return {**documents, **command_pages(), **reference_pages()}


def sources() -> dict[str, str]:
    """The text of the documents in the repository, by their paths."""
    paths = [ROOT / path for path in PAGES] + sorted(DOCUMENTS.glob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def toctree(pages: Sequence[str], *, caption: str = "", hidden: bool = False) -> str:
    """A list of pages, which also places them in the navigation."""
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * hidden
    return "\n".join(["```{toctree}", *options, "", *pages, "```", ""])


def site_path(path: str) -> str:
    """The path on the site of a file of the repository.

    >>> site_path("docs/scoring.md"), site_path("README.md"), site_path("plans/example.toml")
    ('scoring.md', 'index.md', 'files/plans/example.toml')
    """
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"


def outside_code(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a document, each with whether it is outside blocks of code."""
    for part in FENCE.split(text):
        yield not part.startswith("```"), part


def link_target(source: str, link: str) -> str:
    """The path in the repository that a link of a document leads to."""
    return normpath(f"{Path(source).parent.as_posix()}/{link}")


def rewrite_links(markdown: str, source: str) -> str:
    """Markdown of a file of the repository, with links as they are on the site."""
    folder = Path(site_path(source)).parent.as_posix()

    def link(match: re.Match[str]) -> str:
        address = relpath(site_path(link_target(source, match[2])), folder)
        return f"{match[1]}{address}{match[3] or ''})"

    return "".join(
        LINK.sub(link, part) if is_text else part for is_text, part in outside_code(markdown)
    )


def linked_files() -> list[str]:
    """The files that documents link to which are no pages, by path in the repository."""
    targets = {
        link_target(source, match[2])
        for source, text in sources().items()
        for is_text, part in outside_code(text)
        if is_text
        for match in LINK.finditer(part)
    }
    pages = sources()
    return sorted(path for path in targets if path not in pages and (ROOT / path).is_file())


# Commands


def commands() -> list[tuple[str, Any]]:
    """Every command of the command line, by the name of its page: `score`, `train-blend`."""
    pages = []
    for verbs in VERBS.values():
        for verb in verbs:
            command = load_verb(verb)
            pages.append((verb, command))
            nested = getattr(command, "commands", {})
            pages += [(f"{verb}-{name}", each) for name, each in nested.items()]
    return pages


def command_pages() -> dict[str, str]:
    """The pages of all commands, and the page that lists them."""
    pages = {f"commands/{name}.md": command_page(name, each) for name, each in commands()}
    lines = ["# Commands", "", "Every command prints its options with `--help`.", ""]
    for title, verbs in VERBS.items():
        lines += [f"## {title}", "", "| command | description |", "|---|---|"]
        for verb, (_, summary) in verbs.items():
            lines.append(f"| [`adequa {verb}`]({verb}.md) | {summary} |")
            for name, each in getattr(load_verb(verb), "commands", {}).items():
                lines.append(f"| [`adequa {verb} {name}`]({verb}-{name}.md) | {_summary(each)} |")
        lines.append("")
    program = get_command(app)
    context = _context(program, "adequa")
    lines += ["## Options of `adequa` itself", "", *_table(program, context, "option"), ""]
    lines.append(toctree([name for name, _ in commands()], hidden=True))
    return {"commands/index.md": "\n".join(lines), **pages}


def command_page(name: str, command: Any) -> str:
    """The page of a command: what it does, its usage, arguments, options and subcommands."""
    words = f"adequa {name.replace('-', ' ', 1) if _is_nested(name) else name}"
    context = _context(command, words)
    usage = " ".join([words, *command.collect_usage_pieces(context)])
    lines = [f"# {words}", "", *_help(command), "", "```text", usage, "```", ""]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = _table(command, context, kind)
        lines += [f"## {title}", "", *rows, ""] if rows else []
    nested = getattr(command, "commands", {})
    if nested:
        lines += ["## Commands", "", "| command | description |", "|---|---|"]
        for each, subcommand in nested.items():
            lines.append(f"| [`{words} {each}`]({name}-{each}.md) | {_summary(subcommand)} |")
    return "\n".join(lines) + "\n"


def _is_nested(name: str) -> bool:
    return not any(name in verbs for verbs in VERBS.values())


def _context(command: Any, words: str) -> Any:
    return command.make_context(words, [], resilient_parsing=True)


def _help(command: Any) -> list[str]:
    """The paragraphs of a command's help; Click marks paragraphs to leave as they are by \\b."""
    paragraphs = (command.help or "").replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs).split("\n")


def _summary(command: Any) -> str:
    return _help(command)[0]


def _table(command: Any, context: Any, kind: str) -> list[str]:
    """The rows of a table of arguments or options, hidden ones included."""
    rows = []
    for each in command.get_params(context):
        if each.param_type_name != kind:
            continue
        each.hidden = False
        record = each.get_help_record(context)
        name, text = record or (each.name, "")
        if kind == "argument":
            name = str(each.metavar or each.name.upper())
        code = " ".join(name.split()).replace("|", "\\|")
        rows.append(f"| `{code}` | {_cell(text)} |")
    return [f"| {kind} | description |", "|---|---|", *rows] if rows else []


def _cell(text: str) -> str:
    """Text in a cell of a table, shown as it is but for what is between backticks."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        each if each[:1] == "`" else re.sub(r"([\\*_|<>\[\]{}&])", r"\\\1", each) for each in parts
    )


# Python reference


def public_names(module: Path) -> dict[str, str]:
    """The public names of a module and the modules that define them, by its own imports."""
    tree = ast.parse(module.read_text("utf-8"))
    exported: Sequence[str] = next(
        ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    origins = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {name: origins[name] for name in exported if not name.startswith("__")}


def reference_pages() -> dict[str, str]:
    """The pages of the Python reference; every public name is on one of them."""
    names = public_names(ROOT / "src" / "adequa" / "__init__.py")
    groups = {
        page: [name for name, module in names.items() if module.split(".")[1] in packages]
        for page, (_, _, packages) in REFERENCE.items()
    }
    missing = set(names) - {name for group in groups.values() for name in group}
    if missing:
        raise ValueError(f"docs/conf.py: REFERENCE has no page for {', '.join(sorted(missing))}.")
    pages = {
        page: (*REFERENCE[page][:2], [f"adequa.{name}" for name in _functions_first(group)])
        for page, group in groups.items()
    }
    classes = public_names(ROOT / "src" / "adequa" / "metrics" / "__init__.py")
    pages["metrics"] = (
        "Metrics",
        "The classes of lexical metrics, in `adequa.metrics`. Their fields are the settings.",
        [f"adequa.metrics.{name}" for name in classes],
    )
    index = ["# Python reference", ""]
    for page, (title, introduction, shown) in pages.items():
        links = ", ".join(f"{{py:obj}}`{name}`" for name in shown)
        index += [f"## [{title}]({page}.md)", "", f"{introduction} {links}.", ""]
    index.append(toctree(list(pages), hidden=True))
    texts = {f"reference/{page}.md": reference_page(*each) for page, each in pages.items()}
    return {"reference/index.md": "\n".join(index), **texts}


def reference_page(title: str, introduction: str, names: Sequence[str]) -> str:
    """A page of the Python reference, whose entries Sphinx takes from docstrings."""
    lines = [f"# {title}", "", introduction, ""]
    for name in names:
        is_class = name.rpartition(".")[2][0].isupper()
        directive = "autoclass" if is_class else "autofunction"
        lines += ["```{eval-rst}", f".. {directive}:: {name}", "```", ""]
    return "\n".join(lines)


def _functions_first(names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: (name[0].isupper(), name.lower()))


_MARKUP = re.compile(r"([*|]|(?<=\w)_(?!\w))")  # characters that reStructuredText would interpret
_PARAMETER = re.compile(r"(\w+): (.*)")


def as_restructured_text(docstring: Sequence[str]) -> list[str]:
    """The lines of a docstring, which is plain text, as reStructuredText.

    Text is shown as it is; parameters become a list, and examples stay.

    >>> as_restructured_text(["Return |a| of `b*`.", "", ">>> a_ * b_"])
    ['Return \\\\|a\\\\| of `b*`.', '', '>>> a_ * b_']
    >>> as_restructured_text(["Parameters", "----------", "a: one", "    thing.", "b: two."])
    ['**Parameters**', '', '- `a`: one', '  thing.', '- `b`: two.']
    """
    lines: list[str] = []
    in_example = in_parameters = False
    for line in docstring:
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if in_example:
            lines.append(line)
            continue
        parts = re.split(r"(`[^`]*`)", line)
        text = "".join(each if each[:1] == "`" else _MARKUP.sub(r"\\\1", each) for each in parts)
        if set(line) == {"-"} and lines:
            lines[-1:] = [f"**{lines[-1]}**", ""]
            in_parameters = True
            continue
        in_parameters = in_parameters and bool(line.strip())
        parameter = _PARAMETER.fullmatch(text) if in_parameters else None
        if parameter is not None:
            text = f"- `{parameter[1]}`: {parameter[2]}"
        elif in_parameters:
            text = f"  {text.strip()}"
        lines.append(text)
    return lines
