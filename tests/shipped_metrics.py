"""The metrics that ship: parameters of tests, which skip where the weights of one are absent."""

from __future__ import annotations

import pytest

from adequa.pretrained import SHIPPED, lacks_weights


def with_weights(name: str) -> pytest.MarkDecorator:
    """Skip a test where this copy was built without the weights of a metric."""
    return pytest.mark.skipif(lacks_weights(name), reason=f"there are no weights of {name}")


SHIPPED_WITH_WEIGHTS = [pytest.param(name, marks=with_weights(name)) for name in SHIPPED]
