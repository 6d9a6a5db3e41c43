"""Datasets for tests: small archives, and entries put into the registry."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from adequa.datasets.registry import DATASETS, Dataset
from adequa.errors import AdequaError


def known(monkeypatch: pytest.MonkeyPatch, entry: Dataset) -> Dataset:
    """The entry, which the registry has for this test in place of its own."""
    monkeypatch.setitem(cast("dict[str, Dataset]", DATASETS), entry.name, entry)
    return entry


def known_rows(
    monkeypatch: pytest.MonkeyPatch, name: str, rows: Sequence[Mapping[str, object]]
) -> Dataset:
    """A named dataset with these rows in the folder `mirror`; the score is the row's number."""
    lines = "".join(json.dumps({**row, "score": i}) + "\n" for i, row in enumerate(rows))
    content = gzip.compress(lines.encode(), mtime=0)
    entry = replace(DATASETS[name], sha256=hashlib.sha256(content).hexdigest())
    Path("mirror").mkdir(exist_ok=True)
    Path("mirror", entry.mirror_file).write_bytes(content)
    return known(monkeypatch, entry)


def error(call: Callable[..., object], *arguments: object) -> str:
    """The sentence that a call ends with."""
    with pytest.raises(AdequaError) as caught:
        call(*arguments)
    return str(caught.value)


def tar_of(members: Mapping[str, str] | Mapping[str, bytes] | Mapping[str, str | bytes]) -> bytes:
    """A tar archive of these members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def four_files(pair: str, scores: str = "0.5\n-1\n", prefix: str = "DAseg.") -> dict[str, str]:
    """DA of one pair, as in the archives of 2015 and 2016."""
    name = f"DAseg-wmt-newstest2015/{prefix}newstest2015"
    return {
        f"{name}.source.{pair}": "s1\ns2\n",
        f"{name}.reference.{pair}": "r1\nr2\n",
        f"{name}.mt-system.{pair}": "h1\nh2\n",
        f"{name}.human.{pair}": scores,
    }


def zip_of(members: Mapping[str, str]) -> bytes:
    """A zip archive of these members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            # Of a fixed date, so that equal members give equal bytes.
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()
