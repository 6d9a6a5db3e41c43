"""Words that differ, marked: cases that the command line and the page must agree on."""

from __future__ import annotations

# A text, another one, and the text with what the other does not have in brackets.
MARKED = {
    "words": ("The big cat sat.", "The dog sat.", "The [big cat] sat."),
    "joined": ("a 3.5 don't", "a 3.4 don't", "a [3.5] don't"),
    "devanagari": ("नमस्ते दुनिया", "नमस्ते दुनियां", "नमस्ते [दुनिया]"),
    "decomposed": ("le cafe\u0301 noir", "le cafe noir", "le [cafe\u0301] noir"),
    "thai": ("กินข้าว", "กนขาว", "[กิ]น[ข้]าว"),
    "chinese": ("我爱猫", "我爱狗", "我爱[猫]"),
    "emoji": ("fine \u2764\ufe0f", "fine \u2764", "fine [\u2764\ufe0f]"),
}
