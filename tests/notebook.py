"""Run the code of a notebook without Jupyter, and store what it shows.

    python tests/notebook.py FILE          # refresh the stored outputs
    python tests/notebook.py --check FILE  # fail if they would change

Cells run one after the other in one namespace, in the folder of the notebook. As in Jupyter, a cell
shows what it prints, the value of its last expression, and the figures that it draws.
"""

from __future__ import annotations

import argparse
import ast
import base64
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
TOLERANCE = 0.02  # relative, and absolute: scores of a network differ a little between processors
# Fields of signatures that differ between installations and machines.
VARYING = re.compile(r"(version|onnxruntime|isa|sacrebleu|weights):[\w.-]+")


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells as they are now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        count += 1
        outputs = list(_outputs("".join(cell["source"]), count, namespace))
        cells.append({**cell, "execution_count": count, "outputs": outputs})
    return {**notebook, "cells": cells}


def _outputs(source: str, count: int, namespace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"cell {count}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, f"cell {count}", "eval"), namespace)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if value is not None and not source.rstrip().endswith(";"):
        yield {
            "data": _shown(value),
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }
    yield from _figures()


def _shown(value: object) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": _lines(repr(value))}
    html = getattr(value, "_repr_html_", lambda: None)()
    return data if html is None else {"text/html": _lines(html), **data}


def _figures() -> Iterator[dict[str, Any]]:
    """The figures that are open, each as a PNG; they are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    from matplotlib import pyplot as plt

    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=70, bbox_inches="tight")
        image = base64.b64encode(buffer.getvalue()).decode() + "\n"
        yield {
            "data": {"image/png": image, "text/plain": ["<Figure>"]},
            "metadata": {},
            "output_type": "display_data",
        }
    plt.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(notebook: dict[str, Any]) -> list[str]:
    """What the cells show as plain text, one string per cell."""
    return [
        "".join(
            "".join(output.get("text") or output["data"]["text/plain"])
            for output in cell["outputs"]
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def same(stored: str, shown: str) -> bool:
    """Whether two texts agree but for versions, spaces, and the last digits of numbers."""
    one, other = (VARYING.sub(r"\1", text) for text in (stored, shown))
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (one, other)]
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=False)
    return words[0] == words[1] and all(
        abs(float(a) - float(b)) <= TOLERANCE * max(1, abs(float(a))) for a, b in pairs
    )


def main() -> None:
    """Refresh or check a notebook."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = arguments.notebook.resolve()
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(path.parent)
    stored = json.loads(path.read_text(encoding="utf-8"))
    fresh = executed(stored)
    if not arguments.check:
        text = json.dumps(fresh, ensure_ascii=False, indent=1) + "\n"
        path.write_text(text, encoding="utf-8")
        return
    for number, (before, now) in enumerate(zip(texts(stored), texts(fresh), strict=True), 1):
        if not same(before, now):
            sys.exit(f"Cell {number} shows\n{now}\nand the notebook has\n{before}")


if __name__ == "__main__":
    main()
