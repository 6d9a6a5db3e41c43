"""TOML files: settings that people write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.io.text import FilePath


def read_toml(path: FilePath) -> dict[str, Any]:
    """What a TOML file says."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  # not there in older versions
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        read: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise AdequaError(f"{path} is no TOML file: {error}.") from error
    return read
