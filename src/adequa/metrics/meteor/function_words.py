"""The 93 English function words of Meteor 1.5, which count (1 - delta) where others count delta.

They are the words whose relative frequency in a large monolingual text is above 10^-3 (Denkowski
and Lavie 2011), so that what counts as a word of function follows from a corpus and
punctuation belongs to them. Texts differ; the list is therefore data and not a rule.
"""

from __future__ import annotations

from typing import Final

_WRITTEN: Final = (
    "the , . to of and a in that for \" is on 's it with was as said at he by be from have has are "
    "his but an this not i will ’ they ) -rrb- ( -lrb- who their had we which were been more or s "
    "its would about new one after you : also up when there than $ all out her people she year two "
    "- can if last first “ over other ” into some what so -- no time years could ? 't — '"
)
FUNCTION_WORDS: Final = frozenset(_WRITTEN.split())
