"""Codes of languages, and detection on text that the model has not seen."""

from __future__ import annotations

import gzip
import random
from collections import defaultdict
from pathlib import Path

import pytest

from adequa.errors import AdequaError
from adequa.languages import (
    TargetLanguage,
    detect_language,
    known_language,
    ngram_model,
    parse_language,
    target_language,
)
from judgements import judgement_rows, needs_judgements

# Articles 21 to 30 of the Universal Declaration of Human Rights, which the model was not trained
# on; see benchmarks/language_detection.py.
SAMPLE = Path(__file__).parent / "vendor" / "udhr.tsv.gz"


def declaration() -> dict[str, list[str]]:
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for line in gzip.decompress(SAMPLE.read_bytes()).decode().splitlines():
        code, text = line.split("\t")
        texts[code].append(text)
    return texts


DECLARATION = declaration()


@pytest.mark.parametrize(
    ("written", "pair", "variant"),
    [
        ("de", "de", None),
        ("DE", "de", None),
        ("deu", "de", None),
        ("ger", "de", None),
        ("German", "de", None),
        (" en-de ", "en-de", None),
        ("en_de", "en-de", None),
        ("EN-DE", "en-de", None),
        ("en→de", "en-de", None),
        ("eng-deu", "en-de", None),
        ("English-German", "en-de", None),
        ("zh-CN", "zh", "CN"),
        ("zh_TW", "zh", "TW"),
        ("zh-tw", "zh", "tw"),
        ("zh-Hant", "zh", "Hant"),
        ("zh-Hans-CN", "zh", "Hans-CN"),
        ("pt_BR", "pt", "BR"),
        ("pt-br", "pt", "br"),
        ("es-419", "es", "419"),
        ("en-zh_CN", "en-zh", "CN"),
        ("en-US-de-DE", "en-de", "DE"),
        ("en_GB-pt_BR", "en-pt", "BR"),
        ("sr-Latn", "sr", "Latn"),
        ("fr-ca", "fr-ca", None),
        ("cz-en", "cs-en", None),
        ("mai", "mai", None),
        ("cmn-eng", "zh-en", None),
    ],
)
def test_a_code_a_name_or_a_pair_says_the_target_language(
    written: str, pair: str, variant: str | None
) -> None:
    target = parse_language(written)
    assert (target.pair, target.variant, target.origin) == (pair, variant, "given")


@pytest.mark.parametrize("written", ["", "xx", "en-xx", "de-en-fr", "medical", "en-", "-", "12"])
def test_what_is_no_language_gets_a_sentence(written: str) -> None:
    with pytest.raises(AdequaError, match=r'^".*" is no language; write a code as de'):
        parse_language(written)
    assert known_language(written, "column") is None


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(AdequaError, match='Did you mean "german"'):
        parse_language("Germann")


def test_the_dictionary_names_the_language() -> None:
    assert parse_language("en-de").to_dict() == {
        "code": "de", "name": "German", "origin": "given", "source": "en",
    }  # fmt: skip
    assert TargetLanguage(None, "unknown").to_dict() == {
        "code": None, "name": None, "origin": "unknown",
    }  # fmt: skip


def test_the_given_language_comes_first_then_the_column_then_detection() -> None:
    german = DECLARATION["de"]
    assert target_language("fr", german, ["en-cs"]) == TargetLanguage("fr", "given")
    assert target_language(None, german, ["en-cs"]) == TargetLanguage("cs", "column", "en")
    assert target_language(None, german, ["news"]) == TargetLanguage("de", "detected")
    assert target_language(None, german, ["en-cs", "de-cs"]) == TargetLanguage("cs", "column")
    with pytest.raises(AdequaError, match="several language pairs: en-cs, en-de"):
        target_language(None, german, ["en-de", "en-cs"])


@pytest.mark.parametrize("code", sorted(DECLARATION))
def test_every_language_of_the_declaration_is_detected(code: str) -> None:
    assert detect_language(DECLARATION[code]) == TargetLanguage(code, "detected")


def test_five_words_are_never_answered_wrongly() -> None:
    """A script that one language alone has is answered; everything else is not known."""
    answers = {
        (code, detect_language([" ".join(words[start : start + 5])]).code)
        for code, texts in DECLARATION.items()
        for words in map(str.split, texts)
        for start in range(0, max(1, len(words) - 4), 5)
        if code not in {"zh", "ja", "th"}  # whose words have no spaces
    }
    assert {(code, answer) for code, answer in answers if answer not in {code, None}} == set()
    assert {answer for _, answer in answers} <= {
        None, "el", "gu", "hy", "ka", "ko", "ta", "te", "ur", "ar", "he",
    }  # fmt: skip


@pytest.mark.parametrize("code", ["zh", "ja", "th"])
def test_ten_characters_without_spaces_are_never_answered_wrongly(code: str) -> None:
    text = "".join(DECLARATION[code])
    parts = [text[start : start + 10] for start in range(0, len(text), 10)]
    assert {detect_language([part]).code for part in parts} <= {None, code}


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["1234 5678", "2,000.50 €"],
        ["😀 🎉 🎉", "👍🏽"],
        ["\x00\x01", "\ud800"],
        ["東京都"],  # Japanese or Chinese
        ["Москва привет hello world как дела you too"],
        ["abc " * 500],
        [*DECLARATION["de"][:15], *DECLARATION["en"][:15]],
        [*DECLARATION["ru"], *DECLARATION["en"]],
    ],
)
def test_texts_without_evidence_are_not_known(texts: list[str]) -> None:
    assert detect_language(texts).code is None


def test_a_few_untranslated_texts_do_not_matter() -> None:
    texts = DECLARATION["de"] + DECLARATION["en"][:3]
    assert detect_language(texts).code == "de"


def test_decomposed_letters_and_capitals_are_the_same_language() -> None:
    from unicodedata import normalize

    texts = DECLARATION["vi"]
    assert detect_language([normalize("NFD", text) for text in texts]).code == "vi"
    assert detect_language([text.upper() for text in DECLARATION["cs"]]).code == "cs"


def test_iterators_and_long_inputs_are_sampled() -> None:
    assert detect_language(iter(DECLARATION["pl"] * 10_000)).code == "pl"
    assert detect_language([" ".join(DECLARATION["pl"] * 1000)]).code == "pl"


def test_the_model_never_answers_languages_without_a_name() -> None:
    rare = {code for code in ngram_model().codes if known_language(code, "detected") is None}
    assert len(rare) > 200


@needs_judgements
def test_detection_of_fifty_segments_of_real_text() -> None:
    """Sources, references and outputs in 31 languages: news, wiki pages, speeches."""
    pools = real_texts()
    assert len(pools) == 31
    rng = random.Random(1)
    wrong, right, count = [], 0, 0
    for code, texts in pools.items():
        for _ in range(5):
            answer = detect_language(rng.sample(texts, min(50, len(texts)))).code
            right += answer == code
            count += 1
            if answer not in {code, None}:
                wrong.append((code, answer))
    assert wrong == []
    assert right >= 0.99 * count


def real_texts() -> dict[str, list[str]]:
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    names = ["wmt20-enx-da", "indicmt-mqm", "mlqe-pe", "qe23-indic-da", "qe22-da-extra"]
    for name in [*names, "wmt13-da", "wmt16-da", "wmt17-da", "wmt21-da"]:
        for row in judgement_rows(name):
            source, target = row["lp"].split("-")
            texts[source].setdefault(row["src"])
            texts[target].setdefault(row.get("ref") or row.get("post_edit") or row["mt"])
    return {code: list(filter(str.strip, each)) for code, each in sorted(texts.items())}
