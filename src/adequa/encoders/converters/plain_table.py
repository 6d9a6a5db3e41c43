"""Tables of numbers from pickles, without running code that a pickle may hold.

Unpickling calls any function that a file names, so that an untrusted file can do anything. The
unpickler here admits only the names from which NumPy arrays, numbers and ordered dictionaries are
built, and refuses the file at the first other name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.text import unreadable

_NUMPY_MODULES: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
_ADMITTED: Final = frozenset(
    {
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("collections", "OrderedDict"),
        ("_codecs", "encode"),  # how Python 3 pickles bytes in the protocols of Python 2
        *((module, "_reconstruct") for module in _NUMPY_MODULES),
        *((module, "scalar") for module in _NUMPY_MODULES),
    }
)
_NPY: Final = np.lib.format.MAGIC_PREFIX
_MATRIX: Final = 2  # axes


class _RefusedError(Exception):
    """A pickle names something other than arrays and numbers."""


class _NumbersOnly(pickle.Unpickler):
    """An unpickler of arrays, numbers, texts, lists and dictionaries."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise _RefusedError(f"{module}.{name}")
        # Newer versions of NumPy have renamed the module that older files name.
        if hasattr(np, "_core"):
            module = module.replace("numpy.core.", "numpy._core.")
        return super().find_class(module, name)


def read_plain(path: Path) -> object:
    """Read an .npy file or a pickle that holds nothing but arrays, numbers and texts."""
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_NPY))
            stream.seek(0)
            if start == _NPY:
                return _read_npy(stream)
            return _NumbersOnly(stream, encoding="latin1").load()
    except OSError as error:
        raise unreadable(str(path), error) from error
    except _RefusedError as error:
        raise AdequaError(
            f"{path} is not read: it is a pickle that would run {error}, where only NumPy arrays "
            "and plain Python values are admitted."
        ) from error
    except (ValueError, EOFError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise _damaged(path) from error
    except (pickle.UnpicklingError, ImportError, MemoryError, OverflowError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> AdequaError:
    return AdequaError(f"{path} is neither a NumPy array nor a pickle of one, or is damaged.")


def _read_npy(stream: io.BufferedReader) -> object:
    """Read the array of an .npy file, or the Python objects where it is an array of objects."""
    version = np.lib.format.read_magic(stream)
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    _, _, dtype = header(stream)
    if not dtype.hasobject:
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)
    return _NumbersOnly(stream, encoding="latin1").load()


def read_table(path: Path, words: list[str]) -> npt.NDArray[np.float32]:
    """Read the vectors of words: an array, a list of rows, or a dictionary by word."""
    content = read_plain(path)
    if isinstance(content, np.ndarray) and content.ndim == 0:
        content = content.item()  # how NumPy saves a dictionary
    rows = _rows_by_word(path, content, words) if isinstance(content, Mapping) else content
    try:
        # An array of objects holds one array a row.
        if isinstance(rows, np.ndarray) and rows.dtype == object:
            rows = list(rows)
        table = np.asarray(rows, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise AdequaError(f"{path} does not hold one vector of the same length a word.") from error
    if table.ndim != _MATRIX or len(table) != len(words):
        raise AdequaError(
            f"{path} should hold {len(words)} vectors, one a word of the dictionary, but its shape "
            f"is {' × '.join(map(str, table.shape)) or 'that of a single number'}."
        )
    return table


def _rows_by_word(path: Path, content: Mapping[Any, Any], words: list[str]) -> list[Any]:
    # Python 2 pickles bytes as texts of one character a byte.
    table = {_word(key): value for key, value in content.items()}
    missing = [word for word in words if word not in table]
    if missing:
        raise AdequaError(f'{path} lacks the word "{missing[0]}" of the dictionary.')
    return [table[word] for word in words]


def _word(key: object) -> str:
    text = key.decode("latin1") if isinstance(key, bytes) else str(key)
    try:
        return text.encode("latin1").decode("utf-8").strip()
    except UnicodeError:
        return text.strip()
