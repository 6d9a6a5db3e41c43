"""Names of language pairs: `cs-en`, ISO 639-1, whatever way a file writes them."""

from __future__ import annotations

from functools import cache

_SIDES = 2
# By ISO 639-1: the other codes of ISO 639-2 and 639-3, and what people write instead.
_ALSO_WRITTEN = {
    "ar": "ara arabic",
    "bn": "ben bengali",
    "ca": "cat catalan",
    "cs": "ces cze cz czech",
    "da": "dan danish",
    "de": "deu ger german",
    "el": "ell gre greek",
    "en": "eng english",
    "es": "spa spanish",
    "et": "est estonian",
    "eu": "eus baq basque",
    "fi": "fin finnish",
    "fr": "fra fre french",
    "gu": "guj gujarati",
    "ha": "hau hausa",
    "he": "heb hebrew",
    "hi": "hin hindi",
    "hr": "hrv croatian",
    "hu": "hun hungarian",
    "id": "ind indonesian",
    "is": "isl ice icelandic",
    "it": "ita italian",
    "iu": "iku inuktitut",
    "ja": "jpn japanese",
    "kk": "kaz kazakh",
    "km": "khm khmer",
    "ko": "kor korean",
    "lt": "lit lithuanian",
    "lv": "lav latvian",
    "mr": "mar marathi",
    "ne": "nep nepali",
    "nl": "nld dut dutch",
    "no": "nor norwegian",
    "pl": "pol polish",
    "ps": "pus pashto",
    "pt": "por portuguese",
    "ro": "ron rum romanian",
    "ru": "rus russian",
    "si": "sin sinhala",
    "sk": "slk slo slovak",
    "sl": "slv slovenian",
    "sv": "swe swedish",
    "ta": "tam tamil",
    "tr": "tur turkish",
    "uk": "ukr ukrainian",
    "vi": "vie vietnamese",
    "xh": "xho xhosa",
    "zh": "zho chi chinese",
    "zu": "zul zulu",
}
_CODES = {
    written: code for code, others in _ALSO_WRITTEN.items() for written in (code, *others.split())
}


@cache
def language_pair(text: str) -> str:
    """A language pair as `cs-en`; what is not known to be one stays as it is.

    >>> language_pair("cz-en"), language_pair("ces-eng"), language_pair("Czech-English")
    ('cs-en', 'cs-en', 'cs-en')
    >>> language_pair("de-de_AT"), language_pair("medical")
    ('de-de_AT', 'medical')
    """
    sides = [_CODES.get(side.strip().lower(), "") for side in text.split("-")]
    return "-".join(sides) if len(sides) == _SIDES and all(sides) else text.strip()
