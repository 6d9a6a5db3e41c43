"""Vectors of words: from a file, from the spelling, by a transformer, and concatenated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adequa.encoders.parses import Parses
from adequa.encoders.token_vectors import (
    JoinedVectors,
    WordVectorTable,
    load_token_vectors,
    spelling_vectors,
)
from adequa.errors import AdequaError
from tiny_transformer import IDS, POSITIONS, write_tiny_encoder, write_tiny_roberta

LOWER = "the 1 0\nbrno 0 1\n"
CASED = "the 1 0\nBrno 0 1\nUSA 2 2\nParis 3 3\n"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


def written(folder: Path, text: str, name: str = "vectors.txt") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def sentence(*words: str) -> Parses:
    return Parses.of([(words, [-1, *[0] * (len(words) - 1)])])


def look_up(vectors: WordVectorTable, *words: str) -> list[list[float]]:
    lexicon = vectors.look_up(sentence(*words))
    rounded: list[list[float]] = lexicon.table[lexicon.rows].round(6).tolist()
    return rounded


def test_a_table_of_lower_case_words(tmp_path: Path) -> None:
    vectors = WordVectorTable.load(written(tmp_path, LOWER))
    assert look_up(vectors, "The", "BRNO", "the") == [[1, 0], [0, 1], [1, 0]]


def test_a_table_with_upper_case(tmp_path: Path) -> None:
    vectors = WordVectorTable.load(written(tmp_path, CASED), unknown="0")
    assert look_up(vectors, "Brno", "brno", "The", "USA") == [[0, 1], [0, 1], [1, 0], [2, 2]]
    assert look_up(vectors, "BRNO", "usa") == [[0, 1], [0, 0]]  # capitalised; not all in capitals


def test_unknown_words_are_the_same_for_the_same_spelling(tmp_path: Path) -> None:
    vectors = WordVectorTable.load(written(tmp_path, LOWER), unknown="0.5")
    lexicon = vectors.look_up(sentence("Hetin", "the", "hetin", "Telnice"))
    first, in_vocabulary, second, other = lexicon.table[lexicon.rows]
    assert (first == second).all()
    assert (first != other).any()
    assert in_vocabulary.tolist() == [1, 0]
    assert lexicon.in_vocabulary.tolist() == [False, True, False, False]
    assert np.abs(first).max() <= 0.5 * 0.5 * 3**0.5  # the spread of the table is 0.5
    assert look_up(WordVectorTable.load(written(tmp_path, LOWER), unknown="0"), "Hetin") == [[0, 0]]


def test_spelling_vectors_are_uniform_and_never_change() -> None:
    numbers = spelling_vectors([f"word{number}" for number in range(200)], 100)
    assert numbers.mean() == pytest.approx(0, abs=0.03)
    assert numbers.std() == pytest.approx(1, abs=0.02)
    assert np.abs(numbers).max() <= 3**0.5
    # The first two bytes of SHAKE256("brno"), by OpenSSL: what is saved today is read tomorrow.
    import hashlib

    first = int.from_bytes(hashlib.shake_256(b"brno").digest(2), "little")
    assert spelling_vectors(["Brno"], 1)[0, 0] == pytest.approx(
        ((first + 0.5) / 65536 - 0.5) * 12**0.5
    )
    assert spelling_vectors([], 3).shape == (0, 3)


def test_vectors_of_several_sources_are_concatenated(tmp_path: Path) -> None:
    first = f"words:{written(tmp_path, LOWER)},unknown=0"
    second = f"words:{written(tmp_path, 'the 7' + chr(10) + 'cat 8' + chr(10), 'b.txt')},unknown=0"
    both = load_token_vectors([first, second])
    assert isinstance(both, JoinedVectors)
    assert (both.dimension, both.name) == (3, "vectors.txt+b.txt")
    lexicon = both.look_up(sentence("the", "cat", "brno", "none", "cat"))
    assert lexicon.table[lexicon.rows].tolist() == [
        [1, 0, 7], [0, 0, 8], [0, 1, 0], [0, 0, 0], [0, 0, 8],
    ]  # fmt: skip
    assert lexicon.in_vocabulary.tolist() == [True, True, True, False, True]
    assert len(lexicon.table) < 5  # a row for what occurs twice
    assert both.fingerprint != load_token_vectors([second, first]).fingerprint


@pytest.mark.parametrize(
    ("specifications", "message"),
    [
        ([], "Name vectors as KIND:PATH; the kinds are words, transformer."),
        (["wrods:a.txt"], 'no word vectors of the kind "wrods".*"words"'),
        (["infersent:a.pkl"], 'no word vectors of the kind "infersent"'),
        (["words:{file},unknown=2"], "unknown must be a number from 0 to 1, not '2'"),
        (["words:{file},unknown=x"], "unknown must be a number from 0 to 1, not 'x'"),
        (["words:{file},lowercase=maybe"], "lowercase must be auto, true or false"),
        (["words:{file},tokenize=13a"], 'words has no setting named "tokenize"'),
        (["words:nowhere.txt"], "nowhere.txt is not there"),
    ],
    ids=["none", "kind", "encoder", "unknown", "word", "lowercase", "setting", "file"],
)
def test_wrong_specifications_are_refused(
    specifications: list[str], message: str, tmp_path: Path
) -> None:
    file = written(tmp_path, LOWER)
    with pytest.raises(AdequaError, match=message):
        load_token_vectors([each.format(file=file) for each in specifications])


def test_what_changes_the_vectors_changes_the_fingerprint(tmp_path: Path) -> None:
    file = written(tmp_path, LOWER)
    one, same, other = (
        load_token_vectors([f"words:{file},unknown={value}"]) for value in ("0.1", "0.10", "0.2")
    )
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert load_token_vectors([one.specification]).fingerprint == one.fingerprint


def test_a_transformer_reads_words_in_their_sentence(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="transformers need PyTorch")
    transformers = pytest.importorskip("transformers")
    folder = write_tiny_encoder(tmp_path / "tiny")
    vectors = load_token_vectors([f"transformer:{folder},layer=1"])
    sentences = [("the", "cat", "sat"), (), ("a", "dog-cat", "ran", "far", "away"), ("cat",)]
    parses = Parses.of([(w, [-1, *[0] * (len(w) - 1)] if w else []) for w in sentences])
    lexicon = vectors.look_up(parses)
    assert vectors.is_contextual
    assert lexicon.table.shape == (9, 16)
    assert lexicon.in_vocabulary.all()

    network = transformers.BertModel.from_pretrained(folder).eval()
    # [CLS] a dog - cat ran far away [SEP]; the second word is three pieces, "-" being unknown.
    pieces = ["[CLS]", "a", "dog", "[UNK]", "cat", "ran", "far", "away", "[SEP]"]
    ids = torch.tensor([[IDS[piece] for piece in pieces]])
    with torch.no_grad():
        states = network(ids, output_hidden_states=True).hidden_states[1][0].numpy()
    expected = [states[1], states[2:5].mean(0), states[5], states[6], states[7]]
    got = lexicon.table[lexicon.rows][3:8]
    assert got == pytest.approx(np.array(expected), abs=2e-3)  # 16 bits
    again = vectors.look_up(parses.take([3, 2]))
    assert again.table[again.rows][1:] == pytest.approx(got, abs=2e-3)
    assert np.abs(again.table[0] - lexicon.table[1]).max() > 0.01  # "cat" in another sentence


def test_sentences_of_as_many_pieces_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="transformers need PyTorch")
    vectors = load_token_vectors([f"transformer:{write_tiny_encoder(tmp_path / 'tiny')}"])
    shapes: list[tuple[int, ...]] = []
    vectors._network.register_forward_pre_hook(  # type: ignore[attr-defined]
        lambda _, __, inputs: shapes.append(tuple(inputs["input_ids"].shape)), with_kwargs=True
    )
    monkeypatch.setattr("adequa.encoders.token_vectors._BATCH_TOKENS", 16)
    # Two words each: of 2, 8, 2 and 8 pieces, and those at the ends of the sentence.
    long = "cat-cat-cat-cat"
    words = [("a", "cat"), ("a", long), ("the", "dog"), ("the", long)]
    vectors.look_up(Parses.of([(pair, [-1, 0]) for pair in words]))
    assert shapes == [(1, 10), (1, 10), (2, 4)]


def test_words_beyond_what_a_transformer_can_read(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="transformers need PyTorch")
    folder = write_tiny_encoder(tmp_path / "tiny")
    vectors = load_token_vectors([f"transformer:{folder}"])
    lexicon = vectors.look_up(sentence(*["cat"] * 40))
    assert lexicon.in_vocabulary.tolist() == [True] * (POSITIONS - 2) + [False] * (42 - POSITIONS)
    assert not lexicon.table[~lexicon.in_vocabulary].any()
    assert vectors.remarks() == (f"tiny.2 read the first {POSITIONS} tokens only of 1 sentence.",)
    for layer, message in ((3, "has the layers 0 to 2"), (-2, "not -2")):
        with pytest.raises(AdequaError, match=message):
            load_token_vectors([f"transformer:{folder},layer={layer}"])


@pytest.mark.parametrize("kind", ["RobertaTokenizer", "PreTrainedTokenizerFast"])
def test_words_begin_with_a_space_for_a_tokenizer_over_bytes(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="transformers need PyTorch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer

    folder = write_tiny_roberta(tmp_path / "tiny", kind)
    vectors = load_token_vectors([f"transformer:{folder}"])
    pieces = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(" the cat sat .")
    assert pieces.tokens == ["<s>", "Ġthe", "Ġcat", "Ġsat", "Ġ", ".", "</s>"]
    network = transformers.RobertaModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = network(torch.tensor([pieces.ids])).last_hidden_state[0].numpy()
    expected = [states[1], states[2], states[3], states[4:6].mean(0)]
    lexicon = vectors.look_up(sentence("the", "cat", "sat", "."))
    assert lexicon.table[lexicon.rows] == pytest.approx(np.array(expected), abs=5e-3)  # 16 bits


def test_a_last_word_without_pieces_is_not_cut_off(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="transformers need PyTorch")
    vectors = load_token_vectors([f"transformer:{write_tiny_encoder(tmp_path / 'tiny')}"])
    lexicon = vectors.look_up(sentence("cat", "sat", "\u00a0"))  # white space to the tokenizer
    assert lexicon.in_vocabulary.tolist() == [True, True, False]
    assert vectors.remarks() == ()


def test_numbers_that_16_bits_do_not_hold(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="transformers need PyTorch")
    folder = write_tiny_encoder(tmp_path / "tiny")
    vectors = load_token_vectors([f"transformer:{folder},layer=0"])
    vectors._network.embeddings.LayerNorm.weight.data.mul_(1e6)  # type: ignore[attr-defined]
    with pytest.raises(AdequaError, match=r"tiny\.0 gives vectors with numbers that 16 bits"):
        vectors.look_up(sentence("cat"))


def test_networks_read_on_the_device_unless_another_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="transformers need PyTorch")
    folder = write_tiny_encoder(tmp_path / "tiny")
    with pytest.raises(AdequaError, match='no device "abacus"'):
        load_token_vectors([f"transformer:{folder}"], "abacus")
    one = load_token_vectors([f"transformer:{folder},device=cpu"], "abacus")
    assert one.fingerprint == load_token_vectors([f"transformer:{folder}"], "cpu").fingerprint
    table = load_token_vectors([f"words:{written(tmp_path, LOWER)}"], "abacus")  # has no device
    assert table.dimension == 2
