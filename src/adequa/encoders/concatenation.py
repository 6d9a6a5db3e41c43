"""Several encoders as one: their vectors, one after the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.errors import AdequaError
from adequa.remarks import Remark


class Concatenation(Encoder):
    """Vectors of several encoders put one after the other."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        if not parts:
            raise AdequaError("There are no encoders to put together; name at least one.")
        self.parts = tuple(parts)
        self.specification = " + ".join(part.specification for part in self.parts)
        self.name = "+".join(part.name for part in self.parts)
        self.dimension = sum(part.dimension for part in self.parts)
        self.is_quick = all(part.is_quick for part in self.parts)
        described = json.dumps(["concatenation", *(part.fingerprint for part in self.parts)])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    def noticed(self) -> tuple[Remark, ...]:
        return tuple(remark for part in self.parts for remark in part.noticed())

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = np.empty((len(sentences), self.dimension), dtype=np.float32)
        start = 0
        for part in self.parts:
            vectors[:, start : start + part.dimension] = part.encode(sentences)
            start += part.dimension
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage | None:
        found = (part.coverage(sentences) for part in self.parts)
        return next((each for each in found if each is not None), None)
