"""The Tree-LSTM against recursion, PyTorch's LSTM, values by hand, and its invariants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.io.conllu import ROOT
from adequa.learned.reval.forest import Forest, build_forest

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.reval.network import (  # noqa: E402  # it needs PyTorch
    TreeNetwork,
    TreeShape,
    compose_trees,
    expected_similarity,
    kl_divergence,
    target_distributions,
)
from recursive_tree_lstm import RecursiveTreeLSTM  # noqa: E402
from tiny_trees import forests  # noqa: E402

DIMENSION, MEMORY = 4, 3
TABLE = torch.randn(7, DIMENSION, generator=torch.Generator().manual_seed(2))


def network(**shape: Any) -> TreeNetwork:
    """A small network with large weights, so that its gates saturate, and a vector for EMPTY."""
    net = TreeNetwork(TreeShape(DIMENSION, MEMORY, hidden=5, **shape), seed=3)
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(2)
        net.nothing.copy_(torch.tensor([0.3, -0.2, 0.1, 0.5]))
    return net


def composed(net: TreeNetwork, forest: Forest) -> Any:
    with torch.no_grad():
        return net.compose(net.levels(forest), TABLE).numpy()


@pytest.mark.parametrize("gated", [True, False], ids=["output gate", "none"])
@given(forest=forests())
@settings(max_examples=40)
def test_levels_are_the_recursion(gated: bool, forest: Forest) -> None:
    net = network(output_gate=gated)
    levels, table = net.levels(forest), TABLE.clone().requires_grad_()
    weights = [net.w, net.b, net.u, net.u_f, net.nothing, table]
    by_level = net.compose(levels, table)
    by_node = RecursiveTreeLSTM(net).compose(forest, table)
    assert by_level.detach().numpy() == pytest.approx(by_node.detach().numpy(), abs=1e-6)
    weighting = torch.linspace(-1, 1, by_level.numel()).view_as(by_level)
    for one, other in zip(
        *(
            torch.autograd.grad(
                (h * weighting).sum(), weights, allow_unused=True, materialize_grads=True
            )
            for h in (by_level, by_node)
        ),
        strict=True,
    ):
        assert one.numpy() == pytest.approx(other.numpy(), abs=1e-5)


@given(forest=forests(), data=st.data())
@settings(max_examples=40)
def test_the_order_of_trees_does_not_matter(forest: Forest, data: st.DataObject) -> None:
    net = network()
    order = data.draw(st.permutations(range(len(forest))))
    outputs = composed(net, forest.select(order))
    assert outputs == pytest.approx(composed(net, forest)[list(order)], abs=1e-6)


@given(forest=forests(), data=st.data())
@settings(max_examples=40)
def test_the_order_of_nodes_and_so_of_children_does_not_matter(
    forest: Forest, data: st.DataObject
) -> None:
    words, parents = [], []
    for begin, length in zip(forest.starts.tolist(), forest.lengths.tolist(), strict=False):
        order = data.draw(st.permutations(range(length)))  # what was node order[k] is node k
        place = {node: new for new, node in enumerate(order)} | {ROOT: ROOT}
        words += [int(forest.words[begin + node]) for node in order]
        parents += [place[int(forest.parents[begin + node])] for node in order]
    net = network()
    shuffled = build_forest(words, parents, forest.starts)
    assert composed(net, shuffled) == pytest.approx(composed(net, forest), abs=1e-6)


@given(forest=forests())
@settings(max_examples=30)
def test_a_chain_is_an_lstm(forest: Forest) -> None:
    # PyTorch's gates are i, f, g (our u), o, and it has two biases, of which one is 0 here.
    net = network(structure="chain")
    lstm = torch.nn.LSTM(DIMENSION, MEMORY, batch_first=True)
    w, b = (weight.detach().chunk(4) for weight in (net.w, net.b))
    u = [*net.u.detach().chunk(3), net.u_f.detach()]
    theirs = (0, 3, 1, 2)
    with torch.no_grad():
        for weight, parts in ((lstm.weight_ih_l0, w), (lstm.weight_hh_l0, u), (lstm.bias_ih_l0, b)):
            weight.copy_(torch.cat([parts[gate] for gate in theirs]))
        lstm.bias_hh_l0.zero_()
        expected = [
            lstm(
                torch.stack(
                    [TABLE[word] if word >= 0 else net.nothing for word in forest.words[begin:end]]
                )[None]
            )[0][0, -1].numpy()
            for begin, end in zip(forest.starts[:-1], forest.starts[1:], strict=True)
        ]
    assert composed(net, forest) == pytest.approx(np.array(expected), abs=1e-6)


def test_a_chain_of_two_by_hand() -> None:
    # One unit, all weights 1 and biases 0: the leaf sees x = 1, the root x = 2 and the leaf.
    net = TreeNetwork(TreeShape(1, 1, hidden=1), seed=0)
    with torch.no_grad():
        for weight in net.parameters():
            weight.fill_(1)
        net.b.zero_()
    forest = build_forest([0, 1], [1, -1], [0, 2])
    output = net.compose(net.levels(forest), torch.tensor([[1.0], [2.0]]))

    def sigma(value: float) -> float:
        return float(1 / (1 + np.exp(-value)))

    c_leaf = sigma(1) * np.tanh(1)
    h_leaf = sigma(1) * np.tanh(c_leaf)
    c = sigma(2 + h_leaf) * np.tanh(2 + h_leaf) + sigma(2 + h_leaf) * c_leaf
    assert output.item() == pytest.approx(sigma(2 + h_leaf) * np.tanh(c), abs=1e-6)


def test_the_comparison_by_hand() -> None:
    net = network()
    weights = {name: array.astype(float) for name, array in net.arrays().items()}
    h_ref, h_tra = np.array([[0.5, -0.2, 0.1]]), np.array([[0.4, 0.3, -0.6]])
    h = np.concatenate([h_ref * h_tra, abs(h_ref - h_tra)], axis=1)
    h_s = 1 / (1 + np.exp(-(h @ weights["w_h"].T + weights["b_h"])))
    p = np.exp(h_s @ weights["w_p"].T + weights["b_p"])
    p /= p.sum()
    tensors = (torch.tensor(side, dtype=torch.float32) for side in (h_ref, h_tra))
    log_p = net.compare(*tensors)
    assert log_p.exp().detach().numpy() == pytest.approx(p, abs=1e-6)
    assert expected_similarity(log_p).item() == pytest.approx(
        float(p[0] @ [1, 2, 3, 4, 5]), abs=1e-5
    )


def test_pairs_are_references_then_translations() -> None:
    net = network().eval()
    forest = build_forest([0, 1, 2, 3, 4, 5], [1, -1, -1, -1, 0, -1], [0, 2, 3, 5, 6])
    with torch.no_grad():
        h = net.compose(net.levels(forest), TABLE)
        both = net(net.levels(forest), TABLE, torch.arange(len(forest)))
        assert both.numpy() == pytest.approx(net.compare(h[[0, 1]], h[[2, 3]]).numpy(), abs=1e-6)


@given(st.lists(st.floats(1, 5), min_size=1))
def test_targets_have_their_similarity_as_mean(y: list[float]) -> None:
    p = target_distributions(y)
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert p @ np.arange(1, 6) == pytest.approx(y, abs=1e-5)
    assert ((p > 0).sum(axis=1) <= 2).all()


def test_the_paper_s_own_target() -> None:
    assert target_distributions([2.7])[0] == pytest.approx([0, 0.3, 0.7, 0, 0])  # §4


def test_the_loss_by_hand() -> None:
    p = target_distributions([2.7, 4])
    q = np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0.05, 0.05, 0.1, 0.5, 0.3]])
    expected = (0.3 * np.log(0.3 / 0.2) + 0.7 * np.log(0.7 / 0.4) + np.log(1 / 0.5)) / 2
    output = kl_divergence(torch.from_numpy(p), torch.tensor(np.log(q), dtype=torch.float32))
    assert output.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("memory", "published"), [(300, 541_800), (150, 203_400)])
def test_published_parameters_of_composition(memory: int, published: int) -> None:
    # Gupta et al. (2015, §4) and Tai et al. (2015, table 1): no output gate, two biases a gate.
    arrays = TreeNetwork(TreeShape(300, memory, output_gate=False), seed=0).arrays()
    composing = sum(arrays[name].size for name in ("w", "b", "u", "u_f"))
    assert composing + 3 * memory == published


def test_it_learns_which_word_is_the_root() -> None:
    # The same two words in all sentences: only the tree tells pairs that agree from those that do
    # not, so that a chain cannot learn what a tree learns.
    forest = build_forest([0, 1] * 4, [1, -1, 1, -1, -1, 0, 1, -1], [0, 2, 4, 6, 8])
    targets = torch.from_numpy(target_distributions([1, 5]))
    left = {}
    for structure in ("dependency", "chain"):
        net = network(structure=structure)
        levels = net.levels(forest)
        optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
        for _ in range(40):
            optimiser.zero_grad()
            loss = kl_divergence(targets, net(levels, TABLE, torch.arange(len(forest))))
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        left[structure] = loss.item()
    assert left["dependency"] < 0.1
    assert left["chain"] == pytest.approx(np.log(2), abs=0.05)


def test_long_and_empty_sentences() -> None:
    length = 500
    words, parents = [1] * length + [2], [*range(1, length), ROOT, ROOT]
    forest = build_forest(words, parents, [0, length, length, length + 1])
    net = network()
    h = net.compose(net.levels(forest), TABLE)
    log_p = net.compare(h[[0, 1]], h[[2, 1]])
    log_p.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(log_p).all()
    assert all(torch.isfinite(weight.grad).all() for weight in net.parameters())
    assert net.nothing.grad is not None
    assert net.nothing.grad.abs().sum() > 0


def test_no_trees_at_all() -> None:
    assert composed(network(), build_forest([], [], [0])).shape == (0, MEMORY)


def test_a_seed_decides_and_leaves_the_rest_of_the_program_alone() -> None:
    before = torch.random.get_rng_state()
    one, same, other = (TreeNetwork(TreeShape(DIMENSION), seed=seed).arrays() for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all((one[name] == same[name]).all() for name in one)
    assert (one["w"] != other["w"]).any()


def test_weights_come_back_from_arrays() -> None:
    net = network()
    again = TreeNetwork.from_arrays(net.shape, net.arrays())
    forest = build_forest([0, 1, 2], [1, -1, 1], [0, 3])
    assert (composed(again, forest) == composed(net, forest)).all()


def test_dropout_is_for_training_alone() -> None:
    net = network(word_dropout=0.5, dropout=0.5)
    forest = build_forest([0, 1, 2, 3] * 4, [1, -1] * 8, range(0, 17, 2))
    levels, trees = net.levels(forest), torch.arange(len(forest))
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(1)
        dropped = net(levels, TABLE, trees)
        net.eval()
        assert torch.equal(net(levels, TABLE, trees), net(levels, TABLE, trees))
        assert not torch.allclose(dropped, net(levels, TABLE, trees))


FOREST = build_forest([0, 1, 2, 3, 1, 2, 0, 3], [1, -1, 1, -1, 1, -1, 1, -1], [0, 3, 4, 4, 7, 8])


def test_trees_are_composed_the_same_whatever_stands_beside_them() -> None:
    net = network()
    many = np.tile(np.arange(len(FOREST)), 120)
    together = compose_trees(net, TABLE, FOREST.select(many))
    alone = torch.cat([compose_trees(net, TABLE, FOREST.select([tree])) for tree in range(5)])
    assert together.numpy() == pytest.approx(alone[many].numpy(), abs=1e-6)


def test_long_sentences_are_composed_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network()
    expected = compose_trees(net, TABLE, FOREST)
    sizes: list[int] = []
    levels = net.levels

    def recorded_levels(forest: Any) -> Any:
        sizes.append(len(forest.words))
        return levels(forest)

    monkeypatch.setattr(net, "levels", recorded_levels)
    monkeypatch.setattr("adequa.learned.reval.network._BATCH_NODES", 3)
    assert compose_trees(net, TABLE, FOREST).numpy() == pytest.approx(expected.numpy(), abs=1e-6)
    assert sizes == [3, 3, 3]
