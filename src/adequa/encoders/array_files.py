"""Weights as named arrays in an .npz file, without pickles, and digests of them."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.text import unreadable

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_ROWS = 1 << 12
# Raised when words or equations of a published encoder change, so that vectors that were made
# before are not taken for those that would be made now.
_EQUATIONS = 1


def array_names(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an .npz file."""
    with _opened(path) as archive:
        return tuple(archive.files)


def read_arrays(path: Path, names: Sequence[str]) -> Arrays:
    """These arrays of an .npz file, all of floating-point numbers; others are left unread."""
    with _opened(path) as archive:
        lacking = [name for name in names if name not in archive.files]
        if lacking:
            raise AdequaError(
                f"{path} lacks the array {lacking[0]}; it must hold {', '.join(names)}."
            )
        arrays = {name: _array(path, archive, name) for name in names}
    for name, array in arrays.items():
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise AdequaError(f"The array {name} of {path} should hold finite numbers only.")
    return arrays


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an .npz file of 32-bit numbers; the same arrays give the same bytes.

    `numpy.savez` would pickle what is not numbers.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(member, "w", force_zip64=True) as stream:
                plain = np.asarray(array, dtype=np.float32)
                np.lib.format.write_array(stream, plain, allow_pickle=False)


def _array(path: Path, archive: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise AdequaError(
            f"The array {name} of {path} is damaged, or Python objects and not plain numbers."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        stream = path.open("rb")  # NumPy would leave the file open where it is not what it seems
    except OSError as error:
        raise unreadable(str(path), error) from error
    with stream:
        try:
            archive = np.load(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise AdequaError(f"{path} is not an .npz file of NumPy arrays.") from error
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise AdequaError(f"{path} is a single NumPy array, not an .npz file of several.")
        with archive:
            yield archive


def content_digest(settings: Mapping[str, object], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """A hexadecimal digest of settings and of what arrays hold, wherever they were read from.

    >>> one = content_digest({"mode": "uni"}, {"W": np.ones((2, 3))})
    >>> one == content_digest({"mode": "uni"}, {"W": np.ones((2, 3), dtype=np.float32)})
    True
    >>> one == content_digest({"mode": "uni"}, {"W": np.ones((3, 2))})
    False
    """
    digest = hashlib.sha256(json.dumps([_EQUATIONS, settings], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.shape]).encode())
        flat = array if array.ndim else array[None]
        for start in range(0, len(flat), _ROWS):  # a table may be larger than memory
            digest.update(np.ascontiguousarray(flat[start : start + _ROWS], np.float32).data)
    return digest.hexdigest()
