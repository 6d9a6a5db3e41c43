"""The description of the API holds: what it allows is answered as it says, and the rest refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.checks import positive_data_acceptance

from adequa.service.app import ServiceSettings, create_app
from adequa.service.limits import Limits
from live_service import Live, served

LIMITS = Limits(segments=60, characters=60, resamples=50, draws=20_000)
SETTINGS = ServiceSettings(metrics=("wer", "chrf"), limits=LIMITS)

# A schema cannot say that columns have the same length, nor which metrics there are.
BEYOND_SCHEMAS: Any = [positive_data_acceptance]

schema = schemathesis.openapi.from_dict(create_app(SETTINGS).openapi())


@schemathesis.serializer("application/x-ndjson")
def _lines(_: object, value: object) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with served(SETTINGS) as server:
        yield server


@schema.parametrize()
@settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case: schemathesis.Case[Any], live: Live) -> None:
    checks: Any = CHECKS.get_all()
    case.call_and_validate(base_url=live.url, checks=checks, excluded_checks=BEYOND_SCHEMAS)
