"""The table of kinds of damage."""

from __future__ import annotations

import pytest

from adequa.damage.base import CRITICAL_GROUPS
from adequa.damage.registry import PERTURBATIONS, perturbation, trained_kinds
from adequa.errors import AdequaError


def test_there_are_enough_kinds() -> None:
    kinds = PERTURBATIONS.values()
    assert len(kinds) >= 28
    is_test_only = [kind for kind in kinds if kind.is_test_only]
    assert len(is_test_only) >= 7
    assert len({kind.group for kind in is_test_only}) >= 7
    assert {kind.group for kind in kinds if kind.critical} == CRITICAL_GROUPS
    assert not {kind.name for kind in is_test_only} & set(trained_kinds())
    assert len(is_test_only) + len(trained_kinds()) == len(kinds)
    # Every critical group has kinds to train on.
    assert {perturbation(name).group for name in trained_kinds()} >= CRITICAL_GROUPS
    assert all(kind.function.__name__ == kind.name for kind in kinds)


def test_an_unknown_group() -> None:
    with pytest.raises(AdequaError, match='"cse".* Did you mean "case"'):
        trained_kinds(["cse"])


def test_no_kind_left_to_train_on() -> None:
    groups = {kind.group for kind in PERTURBATIONS.values()}
    for excluded in (groups, groups - {"pronoun"}):  # whose only kind is never trained on
        with pytest.raises(AdequaError, match="No kind of damage is left"):
            trained_kinds(excluded)
