"""The Child-Sum Tree-LSTM as its equations read: one node after the other, by recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from adequa.io.trees import ROOT
from adequa.learned.reval.forest import EMPTY, Forest

if TYPE_CHECKING:
    from adequa.learned.reval.network import TreeNetwork


class RecursiveTreeLSTM:
    """Composes with the weights of a network, a tree at a time and a node at a time."""

    def __init__(self, network: TreeNetwork) -> None:
        self.network = network
        self.gated = network.shape.output_gate

    def compose(self, forest: Forest, table: Tensor) -> Tensor:
        """h of the root of each tree."""
        roots = []
        for begin, end in zip(forest.starts[:-1], forest.starts[1:], strict=True):
            vectors = self._vectors(forest.words[begin:end], table)
            parents = forest.parents[begin:end].tolist()
            children: list[list[int]] = [[] for _ in parents]
            for node, parent in enumerate(parents):
                if parent != ROOT:
                    children[parent].append(node)
            roots.append(self._node(parents.index(ROOT), children, vectors)[0])
        return torch.stack(roots)

    def __call__(self, forest: Forest, table: Tensor) -> Tensor:
        """log p̂ of the pairs, one after the other."""
        h = self.compose(forest, table)
        half = len(h) // 2
        return torch.cat(
            [self.network.compare(h[k : k + 1], h[half + k : half + k + 1]) for k in range(half)]
        )

    def _vectors(self, words: np.ndarray, table: Tensor) -> Tensor:
        rows = torch.from_numpy(words)
        if EMPTY in words:
            return self.network.nothing[None]
        return table[rows]

    def _node(
        self, node: int, children: Sequence[Sequence[int]], vectors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """h_j and c_j: equations 2 to 8 of Tai et al. (2015)."""
        below = [self._node(child, children, vectors) for child in children[node]]
        weights, memory = self.network, self.network.shape.memory
        x = linear(vectors[node], weights.w, weights.b)
        iuo, f_x = x[:-memory], x[-memory:]
        if not below:
            return self._state(iuo, 0.0)
        h_k = torch.stack([h for h, _ in below])
        c_k = torch.stack([c for _, c in below])
        iuo = iuo + linear(h_k.sum(0), weights.u)
        f = torch.sigmoid(f_x + linear(h_k, weights.u_f))
        return self._state(iuo, (f * c_k).sum(0))

    def _state(self, iuo: Tensor, passed: Tensor | float) -> tuple[Tensor, Tensor]:
        i, u, *o = iuo.chunk(2 + self.gated)
        c = torch.sigmoid(i) * torch.tanh(u) + passed
        return (torch.sigmoid(o[0]) * torch.tanh(c) if o else torch.tanh(c)), c
