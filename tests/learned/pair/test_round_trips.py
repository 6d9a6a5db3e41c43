"""Sentences there and back: what is kept, batches like single sentences, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adequa.cli import main
from adequa.errors import AdequaError
from adequa.learned.pair.round_trips import round_trips

torch = pytest.importorskip("torch")
sentencepiece = pytest.importorskip("sentencepiece")

EXAMPLES = Path(__file__).parents[3] / "examples"
SENTENCES = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()


class Fake:
    """Translates by hand, and tells the seeds that it was given."""

    def __init__(self, translated: Callable[[str, float], str]) -> None:
        self.translated, self.seeds = translated, list[int]()

    def translate(
        self,
        texts: Sequence[str],
        temperatures: Sequence[float] = (0.0,),
        *,
        seed: int = 0,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[list[str]]:
        self.seeds.append(seed)
        done(len(texts) * len(temperatures))
        return [[self.translated(text, heat) for text in texts] for heat in temperatures]


def test_what_comes_back_is_kept_once() -> None:
    there = Fake(lambda text, _: text.upper())
    back = Fake(lambda text, heat: "" if text == "B" and heat else f" {text.lower()}{heat:g} ")
    finished: list[int] = []
    (made,) = round_trips(["a", "b"], there, back, [0, 0, 1], done=finished.append)
    assert list(zip(made.hypotheses, made.references, strict=True)) == [
        ("a0", ("a",)),
        ("a1", ("a",)),
        ("b0", ("b",)),
    ]
    assert sum(finished) == 2 + 2 * 3


def test_many_sentences_go_in_chunks() -> None:
    there, back = (Fake(lambda text, _: text) for _ in range(2))
    sentences = [f"sentence {number}" for number in range(10_000)]
    made = list(round_trips(sentences, there, back, [0.5]))
    assert [text for some in made for text in some.hypotheses] == sentences
    assert len(made) == 2
    assert len(set(back.seeds)) == 2


@pytest.mark.parametrize(("given", "said"), [([], "none"), ([0.5, -1], "-1"), ([11], "11")])
def test_temperatures_that_make_no_sense(given: list[float], said: str) -> None:
    way = Fake(lambda text, _: text)
    with pytest.raises(AdequaError, match=f"to 10, not {said}"):
        next(round_trips(["a"], way, way, given))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Marian model, of which every word is as likely as its neighbours let it be."""
    import transformers

    place = tmp_path_factory.mktemp("marian")
    text = place / "text.txt"
    text.write_text("\n".join(SENTENCES), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(place / "source"), vocab_size=120, minloglevel=2
    )
    (place / "source.model").rename(place / "source.spm")
    (place / "target.spm").write_bytes((place / "source.spm").read_bytes())
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(place / "source.spm"))
    words = [pieces.id_to_piece(at) for at in range(3, pieces.get_piece_size())]
    vocabulary = {word: at for at, word in enumerate(["</s>", "<unk>", *words, "<pad>"])}
    (place / "vocab.json").write_text(json.dumps(vocabulary))
    (place / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer"}')
    pad = vocabulary["<pad>"]
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        config = transformers.MarianConfig(
            vocab_size=len(vocabulary), d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
            decoder_ffn_dim=16, max_position_embeddings=64, init_std=0.5, pad_token_id=pad,
            eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0,
        )  # fmt: skip
        transformers.MarianMTModel(config).save_pretrained(place)
    return place


def test_batches_translate_as_single_sentences_do(folder: Path) -> None:
    from adequa.learned.pair.round_trips import TransformerTranslator

    translator = TransformerTranslator.load(folder, torch.device("cpu"))
    network, tokenizer = translator.network, translator.tokenizer
    (found,) = translator.translate(SENTENCES)
    for sentence, translation in zip(SENTENCES, found, strict=True):
        inputs = tokenizer([sentence], return_tensors="pt")
        longest = min(max(len(tokenizer(each)["input_ids"]) for each in SENTENCES) * 1.5 + 10, 64)
        alone = network.generate(**inputs, num_beams=1, do_sample=False, max_length=round(longest))
        assert tokenizer.batch_decode(alone, skip_special_tokens=True) == [translation]
    drawn = translator.translate(SENTENCES, [0, 1], seed=3)
    assert drawn == translator.translate(SENTENCES, [0, 1], seed=3)
    assert drawn != translator.translate(SENTENCES, [0, 1], seed=4)
    assert drawn[0] == found != drawn[1]
    assert translator.translate([], [0, 1]) == [[], []]


def _run(patch: pytest.MonkeyPatch, *arguments: Any) -> int:
    patch.setattr("sys.argv", ["adequa", "round-trip", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


def test_the_command(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sentences, output = tmp_path / "sentences.txt", tmp_path / "made.jsonl"
    sentences.write_text("\n".join([*SENTENCES[:3], "", SENTENCES[0]]) + "\n", encoding="utf-8")
    ways = ("--there", folder, "--back", folder, "--temperature", 0, "--temperature", 1)
    assert _run(monkeypatch, "-i", sentences, *ways, "-o", output) == 0
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert {row["ref"] for row in rows} <= set(SENTENCES[:3])
    assert all(set(row) == {"mt", "ref"} and row["mt"] for row in rows)
    assert f"{len(rows)} translations of 3 sentences are in {output}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "made.tsv"), "made.tsv would hold JSONL; give it a name that ends in .jsonl."),
        (("-o", "made.jsonl", "--temperature", "-1"), "A temperature is from 0"),
        (("-o", "made.jsonl", "-i", "empty.txt"), "empty.txt is empty: there is nothing"),
        (("-o", "made.jsonl", "--there", "nowhere"), "There is no folder nowhere"),
        (("-o", "made.jsonl", "--there", "."), "lacks config.json"),
    ],
)
def test_what_cannot_be_translated(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADEQUA_MODELS", raising=False)
    Path("sentences.txt").write_text("One.\n")
    Path("empty.txt").write_text("\n")
    given = ("-i", "sentences.txt", "--there", "here", "--back", "here", *arguments)
    assert _run(monkeypatch, *given) == 2
    assert said in capsys.readouterr().err
    assert not Path("made.jsonl").exists()
