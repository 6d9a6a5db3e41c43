"""The Child-Sum Tree-LSTM by recursion, one node at a time: the reference for the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from adequa.io.conllu import ROOT
from adequa.learned.reval.forest import EMPTY, Forest

if TYPE_CHECKING:
    from adequa.learned.reval.network import TreeNetwork


class RecursiveTreeLSTM:
    """Composes with the weights of a network, a tree and a node at a time."""

    def __init__(self, network: TreeNetwork) -> None:
        self.network = network

    def compose(self, forest: Forest, table: Tensor) -> Tensor:
        """Return h of the root of each tree."""
        roots = []
        for start, end in zip(forest.starts[:-1], forest.starts[1:], strict=True):
            x = self._word_vectors(forest.words[start:end], table)
            parents = forest.parents[start:end].tolist()
            children: list[list[int]] = [[] for _ in parents]
            for node, parent in enumerate(parents):
                if parent != ROOT:
                    children[parent].append(node)
            roots.append(self._node(parents.index(ROOT), children, x)[0])
        return torch.stack(roots)

    def __call__(self, forest: Forest, table: Tensor) -> Tensor:
        """Return log p̂ of the pairs, one after the other."""
        h = self.compose(forest, table)
        half = len(h) // 2
        return torch.cat(
            [self.network.compare(h[k : k + 1], h[half + k : half + k + 1]) for k in range(half)]
        )

    def _word_vectors(self, words: np.ndarray, table: Tensor) -> Tensor:
        return self.network.nothing[None] if EMPTY in words else table[torch.from_numpy(words)]

    def _node(self, j: int, children: Sequence[Sequence[int]], x: Tensor) -> tuple[Tensor, Tensor]:
        """Return h_j and c_j: equations 2 to 8 of Tai et al. (2015)."""
        weights, memory = self.network, self.network.shape.memory
        wx = linear(x[j], weights.w, weights.b)
        gates, wx_f = wx[:-memory], wx[-memory:]
        states = [self._node(k, children, x) for k in children[j]]
        if not states:
            return self._state(gates, 0.0)
        h_k = torch.stack([h for h, _ in states])
        c_k = torch.stack([c for _, c in states])
        gates = gates + linear(h_k.sum(0), weights.u)
        f = torch.sigmoid(wx_f + linear(h_k, weights.u_f))
        return self._state(gates, (f * c_k).sum(0))

    def _state(self, gates: Tensor, fc_sum: Tensor | float) -> tuple[Tensor, Tensor]:
        i, u, *o = gates.chunk(2 + self.network.shape.output_gate)
        c = torch.sigmoid(i) * torch.tanh(u) + fc_sum
        return (torch.sigmoid(o[0]) * torch.tanh(c) if o else torch.tanh(c)), c
