"""METEOR against the official jar on every WMT16 direct-assessment segment, in each mode."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from adequa.metrics.meteor import METEOR
from adequa.metrics.meteor.words import stem, words_of
from adequa.segments import Segments
from judgements import needs_judgements, rated_segments, read_judgements
from meteor_jar import meteor_folder, missing, run_jar

pytestmark = [needs_judgements, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture(scope="module")
def segments() -> Segments:
    return rated_segments([row for rows in read_judgements("wmt16-da").values() for row in rows])


@pytest.mark.parametrize(
    "modules",
    ["exact", "exact+stem", "exact+stem+synonym", "exact+stem+synonym+paraphrase"],
)
def test_equals_the_jar_on_all_segments(segments: Segments, modules: str) -> None:
    jar = run_jar(segments.hypotheses, segments.references, modules)
    scores = METEOR(modules=modules, tables=str(meteor_folder())).score(segments)
    np.testing.assert_allclose(scores.segments, jar.segments, rtol=0, atol=1e-12)
    assert scores.system == pytest.approx(jar.system, abs=1e-12)
    assert dict(scores.signature.fields)["id"] == jar.evaluation_id


def test_equals_the_jar_with_several_references(segments: Segments) -> None:
    hypotheses = segments.hypotheses[:300]
    # Neighbours as further references: most are worse, some tie with no match at all.
    texts = [references[0] for references in segments.references]
    references = tuple(zip(texts[1:301], texts[:300], texts[2:302], strict=True))
    jar = run_jar(hypotheses, references, "exact+stem")
    scores = METEOR().score(Segments(hypotheses, references))
    np.testing.assert_allclose(scores.segments, jar.segments, rtol=0, atol=1e-12)
    assert scores.system == pytest.approx(jar.system, abs=1e-12)


def test_stems_equal_the_jars(segments: Segments) -> None:
    texts = [*segments.hypotheses, *(text for texts in segments.references for text in texts)]
    words = sorted({word for text in texts for word in words_of(text, "norm")})
    command = ["java", "-Dfile.encoding=UTF-8", "-cp", f"{meteor_folder()}/meteor-1.5.jar"]
    stems = subprocess.run(
        [*command, "Stemmer", "en"],
        input="\n".join(words),
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout.splitlines()
    assert [stem(word) for word in words] == [line.strip() for line in stems]
