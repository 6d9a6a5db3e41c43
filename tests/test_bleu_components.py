"""BLEUCOMP: sacreBLEU's own counts, precisions and penalty, as sixteen named columns."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.metrics.sacrebleu_metrics import COLUMNS, bleu_components
from adequa.segments import Segments

SENTENCE = st.lists(st.sampled_from(["the", "The", "cat", "sat,", "3.5%"]), max_size=8)
REFERENCES = st.lists(SENTENCE.filter(bool).map(" ".join), min_size=1, max_size=3).map(tuple)


def test_worked_by_hand() -> None:
    segments = Segments(("The cat sat on mat",), (("the cat sat on the mat .",),))
    row = dict(zip(COLUMNS, bleu_components(segments)[0].tolist(), strict=True))
    assert row == {
        "precision_1": 1.0,
        "precision_2": 3 / 4,
        "precision_3": 2 / 3,
        "precision_4": 1 / 2,
        "matches_1": 5,
        "matches_2": 3,
        "matches_3": 2,
        "matches_4": 1,
        "totals_1": 5,
        "totals_2": 4,
        "totals_3": 3,
        "totals_4": 2,
        "hypothesis_length": 5,
        "reference_length": 7,
        "length_ratio": 5 / 7,
        "brevity_penalty": pytest.approx(np.exp(1 - 7 / 5)),
    }


@settings(max_examples=100)
@given(hypothesis=SENTENCE.map(" ".join), references=REFERENCES, lowercase=st.booleans())
def test_equals_sacrebleu(hypothesis: str, references: tuple[str, ...], lowercase: bool) -> None:
    segments = Segments((hypothesis,), (references,))
    row = bleu_components(segments, lowercase=lowercase)[0]
    theirs = sacrebleu.BLEU(smooth_method="none", lowercase=lowercase).corpus_score(
        [hypothesis], [[reference] for reference in references]
    )
    np.testing.assert_allclose(row[:4], np.array(theirs.precisions) / 100)
    np.testing.assert_array_equal(row[4:8], theirs.counts)
    np.testing.assert_array_equal(row[8:12], theirs.totals)
    np.testing.assert_array_equal(row[12:14], [theirs.sys_len, theirs.ref_len])
    np.testing.assert_allclose(row[14:], [theirs.sys_len / theirs.ref_len, theirs.bp])


def test_nothing_to_count_gives_numbers_still() -> None:
    """The tokenizer 13a leaves nothing of "<skipped>"."""
    segments = Segments(("", "a", "", "!"), (("a",), ("<skipped>",), ("<skipped>",), ("a b c",)))
    components = bleu_components(segments)
    assert components.shape == (4, len(COLUMNS))
    assert np.isfinite(components).all()
    assert components[:, COLUMNS.index("brevity_penalty")].tolist() == [
        0.0,
        1.0,
        1.0,
        pytest.approx(np.exp(1 - 3)),
    ]


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(AdequaError, match='"14a" is not a value of tokenize'):
        bleu_components(Segments(("a",), (("a",),)), tokenize="14a")
