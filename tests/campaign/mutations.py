"""Random damage to bytes: flipped, cut, repeated, moved and overwritten."""

from __future__ import annotations

from random import Random

_NUMBERS = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\n", b"\r", b'"', b",", b"0", b"9999999999")


def mutated(random: Random, content: bytes, most: int = 4) -> bytes:
    """The content with one or more pieces of damage."""
    for _ in range(random.randint(1, most)):
        content = _mutated_once(random, content)
    return content


def _mutated_once(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    end = min(start + random.choice((1, 1, 2, 4, 16, 256)), len(content))
    piece = content[start:end]
    match random.randrange(6):
        case 0:  # bits
            changed = bytes(byte ^ 1 << random.randrange(8) for byte in piece)
            return content[:start] + changed + content[end:]
        case 1:  # cut short
            return content[:start]
        case 2:  # left out
            return content[:start] + content[end:]
        case 3:  # repeated
            return content[:end] + piece * random.choice((1, 2, 50)) + content[end:]
        case 4:  # moved
            rest = content[:start] + content[end:]
            place = random.randrange(len(rest) + 1)
            return rest[:place] + piece + rest[place:]
        case _:  # overwritten
            return content[:start] + random.choice(_NUMBERS) + content[end:]
