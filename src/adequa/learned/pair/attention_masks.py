"""Which tokens may be looked at, in the form in which an encoder takes it at once.

Given one number a token, Hugging Face's encoders ask whether anything is padded, and the program
then waits for all that a GPU has still to do, at each part of a step. A mask that is ready for
attention, of shape (texts, 1, tokens, tokens), they take as it is.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

# Architectures that use the mask for attention alone, and for attention to the whole text alone.
_KNOWN = frozenset(
    {"albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
)
_MAKER = "create_bidirectional_mask"  # of transformers; it is what takes ready masks as they are


def attention_mask(encoder: Any, there: Tensor) -> Tensor:
    """The mask to give to an encoder for one that is 1 for tokens and 0 for padding.

    An encoder that is not known to take a ready mask is given what there is.
    """
    attention = getattr(encoder.config, "_attn_implementation", None)
    if attention not in {"sdpa", "eager"} or not _takes_ready_masks(encoder):
        return there
    texts, tokens = there.shape
    seen = there.bool()[:, None, None, :].expand(texts, 1, tokens, tokens)
    if attention == "sdpa":
        return seen
    # The plain implementation adds the mask to what the softmax is taken of.
    return torch.zeros_like(seen, dtype=encoder.dtype).masked_fill(
        ~seen, torch.finfo(encoder.dtype).min
    )


def _takes_ready_masks(encoder: Any) -> bool:
    config = encoder.config
    # Older versions of transformers make masks otherwise, and refuse ready ones.
    made_there = hasattr(sys.modules[type(encoder).__module__], _MAKER)
    is_decoder = getattr(config, "is_decoder", False)  # its tokens look back only
    return made_there and config.model_type in _KNOWN and not is_decoder
