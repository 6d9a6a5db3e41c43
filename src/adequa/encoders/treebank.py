"""Words in the manner of the Penn Treebank, as the authors of sentence encoders split them.

InferSent, Skip-Thought and Quick-Thought were trained on words that NLTK's `word_tokenize` had
split: punctuation by itself, `do n't`, `it 's`, `` and '' for straight quotation marks. The rules
here give the same words, but for odd quotation marks, without NLTK, which needs a download to find
where sentences end. A full stop inside a text is taken off its word where a
capital letter follows and the word is no well-known abbreviation.
"""

from __future__ import annotations

import re
from typing import Final

_ALONE: Final = r"\[\](){}<>?!;@#$%&*‒–—―«»“”‘’„"
_PIECE: Final = re.compile(
    rf"""\.{{2,}} | -- | `+ | '' | " | [{_ALONE}] | [:,](?!\d)
    | (?: [^\s{_ALONE}`".,:'-] | \.(?!\.) | [:,](?=\d) | -(?!-) | '(?!') )+""",
    re.VERBOSE,
)
_OPENING: Final = re.compile(r"""(?:^|(?<=[\s(\[{<]))(?:"|'')""")
_FINAL_STOP: Final = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’\s]*$)""")
_INNER_STOP: Final = re.compile(r"""(\S+)\.(?=[\])}>"'»”’]*\s+[(\["'“‘«]*[^\W\d_])""")
_CLITIC: Final = re.compile(r"(.*[^'])('[sSmMdD]|'ll|'LL|'re|'RE|'ve|'VE|n't|N'T|')")
_OPENING_APOSTROPHE: Final = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_JOINED: Final = {
    "cannot": 3,
    "d'ye": 1,
    "gimme": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "more'n": 4,
    "wanna": 3,
}
_ABBREVIATED: Final = (
    "adm brig capt cmdr co col corp dr drs e.g etc gen gov hon i.e inc jr lt ltd maj messrs "
    "mr mrs ms mt prof rep rev sen sgt sr st ste vs jan feb mar apr aug sept oct nov "
    "dec"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())


def treebank_words(text: str) -> list[str]:
    """The words of a text.

    >>> treebank_words('He didn\\'t say "No." Mr. Wu\\'s cat cannot.')
    ['He', 'did', "n't", 'say', '``', 'No', '.', "''", 'Mr.', 'Wu', "'s", 'cat', 'can', 'not', '.']
    >>> treebank_words("It costs $3,500.50 (roughly), in the U.S. -- or so...")[:8]
    ['It', 'costs', '$', '3,500.50', '(', 'roughly', ')', ',']
    """
    marked = _OPENING.sub(" `` ", text)
    marked = _FINAL_STOP.sub(" . ", _INNER_STOP.sub(_without_stop, marked))
    words: list[str] = []
    for piece in _PIECE.findall(marked):
        words += _parted(piece)
    return words


def _without_stop(found: re.Match[str]) -> str:
    """A word whose full stop is followed by a capital letter: the stop apart if it ends here."""
    word = found[1]
    if not _next_letter(found).isupper():
        return found[0]
    bare = word.lstrip("([{<\"'“‘«`")
    is_abbreviation = len(bare) == 1 or bare.lower() in _ABBREVIATIONS or "." in bare
    return found[0] if is_abbreviation and not bare.isdigit() else f"{word} . "


def _next_letter(found: re.Match[str]) -> str:
    """The first letter after the stop; the pattern has made sure that there is one."""
    rest = found.string[found.end() :]
    return next(letter for letter in rest if letter.isalpha())


def _parted(piece: str) -> list[str]:
    """A piece without spaces, its clitics taken apart."""
    if piece == '"':
        return ["''"]
    at = _JOINED.get(piece.lower())
    if at is not None:
        return [piece[:at], piece[at:]]
    if _OPENING_APOSTROPHE.match(piece):
        return ["'", *_parted(piece[1:])]
    clitic = _CLITIC.fullmatch(piece)
    return [clitic[1], clitic[2]] if clitic else [piece]
