"""Words: a word that has nothing to do with the text in the place of a right one."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, by_share, like
from adequa.damage.wording import content_spans, listed, lower_words

_UNRELATED = listed(
    "apron bagpipe barrel basket beetle blanket bucket button cabbage candle carpet cheese "
    "chimney clarinet compass cookie cushion dentist donkey drawer eyebrow feather fiddle "
    "furnace garlic giraffe glove goat hammer helmet hinge kettle ladder lantern lemon "
    "mattress mirror mushroom napkin needle onion oyster parrot pencil penguin pickle pillow "
    "pocket puddle pumpkin rabbit ribbon sandal saucer scarf shovel sponge spoon squirrel "
    "stove teapot thimble tractor turnip umbrella velvet violin walnut whistle zebra"
)
_ENOUGH = 5  # words of other sentences to draw from


@by_share
def wrong_word(text: str, random: Random, context: Context) -> list[Edit]:
    """Words that carry content become unrelated ones, of another sentence where there is one."""
    options = _options(text, random, context)
    return [
        Edit(start, end, like(text[start:end], random.choice(options)))
        for start, end in content_spans(text)
        if text[start:end].isalpha() and not text[start:end].isupper()
    ]


def _options(text: str, random: Random, context: Context) -> Sequence[str]:
    own = lower_words(text)
    if context.others:
        other = context.others[random.randrange(len(context.others))]
        places = (other[slice(*place)] for place in content_spans(other))
        found = [word for word in places if word.isalpha() and word.islower() and word not in own]
        if len(found) >= _ENOUGH:
            return found
    return [word for word in _UNRELATED if word not in own] or _UNRELATED
