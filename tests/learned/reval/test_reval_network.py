"""The Tree-LSTM against recursion, PyTorch's own LSTM, values by hand, and its laws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.trees import ROOT
from adequa.learned.reval.forest import Forest, build_forest

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.reval.network import (  # noqa: E402  # it needs PyTorch
    TreeNetwork,
    TreeShape,
    expected_similarity,
    kl_divergence,
    target_distributions,
)
from recursive_tree_lstm import RecursiveTreeLSTM  # noqa: E402
from tiny_trees import forests  # noqa: E402

DIMENSION, MEMORY = 4, 3
TABLE = torch.randn(7, DIMENSION, generator=torch.Generator().manual_seed(2))


def network(**shape: Any) -> TreeNetwork:
    """A small one, with large weights, so that no gate is half open, and a word for nothing."""
    made = TreeNetwork(TreeShape(DIMENSION, MEMORY, hidden=5, **shape), seed=3)
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(2)
        made.nothing.copy_(torch.tensor([0.3, -0.2, 0.1, 0.5]))
    return made


def composed(made: TreeNetwork, forest: Forest) -> Any:
    with torch.no_grad():
        return made.compose(made.levels(forest), TABLE).numpy()


@pytest.mark.parametrize("gated", [True, False], ids=["output gate", "none"])
@given(forest=forests())
@settings(max_examples=40)
def test_levels_are_the_recursion(gated: bool, forest: Forest) -> None:
    made = network(output_gate=gated)
    order, table = made.levels(forest), TABLE.clone().requires_grad_()
    weights = [made.w, made.b, made.u, made.u_f, made.nothing, table]
    by_level = made.compose(order, table)
    by_node = RecursiveTreeLSTM(made).compose(forest, table)
    assert by_level.detach().numpy() == pytest.approx(by_node.detach().numpy(), abs=1e-6)
    shares = torch.linspace(-1, 1, by_level.numel()).view_as(by_level)
    for one, other in zip(
        *(
            torch.autograd.grad(
                (h * shares).sum(), weights, allow_unused=True, materialize_grads=True
            )
            for h in (by_level, by_node)
        ),
        strict=True,
    ):
        assert one.numpy() == pytest.approx(other.numpy(), abs=1e-5)


@given(forest=forests(), data=st.data())
@settings(max_examples=40)
def test_the_order_of_trees_does_not_matter(forest: Forest, data: st.DataObject) -> None:
    made = network()
    order = data.draw(st.permutations(range(len(forest))))
    found = composed(made, forest.select(order))
    assert found == pytest.approx(composed(made, forest)[list(order)], abs=1e-6)


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
    made = network()
    shuffled = build_forest(words, parents, forest.starts)
    assert composed(made, shuffled) == pytest.approx(composed(made, forest), abs=1e-6)


@given(forest=forests())
@settings(max_examples=30)
def test_a_chain_is_an_lstm(forest: Forest) -> None:
    # PyTorch's gates are i, f, g (our u), o, and it has two biases, of which one is 0 here.
    made = network(structure="chain")
    lstm = torch.nn.LSTM(DIMENSION, MEMORY, batch_first=True)
    w, b = (weight.detach().chunk(4) for weight in (made.w, made.b))
    u = [*made.u.detach().chunk(3), made.u_f.detach()]
    theirs = (0, 3, 1, 2)
    with torch.no_grad():
        for weight, parts in ((lstm.weight_ih_l0, w), (lstm.weight_hh_l0, u), (lstm.bias_ih_l0, b)):
            weight.copy_(torch.cat([parts[gate] for gate in theirs]))
        lstm.bias_hh_l0.zero_()
        expected = [
            lstm(
                torch.stack(
                    [TABLE[word] if word >= 0 else made.nothing for word in forest.words[begin:end]]
                )[None]
            )[0][0, -1].numpy()
            for begin, end in zip(forest.starts[:-1], forest.starts[1:], strict=True)
        ]
    assert composed(made, forest) == pytest.approx(np.array(expected), abs=1e-6)


def test_a_chain_of_two_by_hand() -> None:
    # One unit, all weights 1 and biases 0: the leaf sees x = 1, the root x = 2 and the leaf.
    made = TreeNetwork(TreeShape(1, 1, hidden=1), seed=0)
    with torch.no_grad():
        for weight in made.parameters():
            weight.fill_(1)
        made.b.zero_()
    forest = build_forest([0, 1], [1, -1], [0, 2])
    found = made.compose(made.levels(forest), torch.tensor([[1.0], [2.0]]))

    def sigma(value: float) -> float:
        return float(1 / (1 + np.exp(-value)))

    c_leaf = sigma(1) * np.tanh(1)
    h_leaf = sigma(1) * np.tanh(c_leaf)
    c = sigma(2 + h_leaf) * np.tanh(2 + h_leaf) + sigma(2 + h_leaf) * c_leaf
    assert found.item() == pytest.approx(sigma(2 + h_leaf) * np.tanh(c), abs=1e-6)


def test_the_comparison_by_hand() -> None:
    made = network()
    weights = {name: array.astype(float) for name, array in made.arrays().items()}
    h_ref, h_tra = np.array([[0.5, -0.2, 0.1]]), np.array([[0.4, 0.3, -0.6]])
    h = np.concatenate([h_ref * h_tra, abs(h_ref - h_tra)], axis=1)
    h_s = 1 / (1 + np.exp(-(h @ weights["w_h"].T + weights["b_h"])))
    p = np.exp(h_s @ weights["w_p"].T + weights["b_p"])
    p /= p.sum()
    tensors = (torch.tensor(side, dtype=torch.float32) for side in (h_ref, h_tra))
    log_p = made.compare(*tensors)
    assert log_p.exp().detach().numpy() == pytest.approx(p, abs=1e-6)
    assert expected_similarity(log_p).item() == pytest.approx(
        float(p[0] @ [1, 2, 3, 4, 5]), abs=1e-5
    )


def test_pairs_are_references_then_translations() -> None:
    made = network().eval()
    forest = build_forest([0, 1, 2, 3, 4, 5], [1, -1, -1, -1, 0, -1], [0, 2, 3, 5, 6])
    with torch.no_grad():
        h = made.compose(made.levels(forest), TABLE)
        both = made(made.levels(forest), TABLE)
        assert both.numpy() == pytest.approx(made.compare(h[[0, 1]], h[[2, 3]]).numpy(), abs=1e-6)


@given(st.lists(st.floats(1, 5), min_size=1))
def test_targets_have_their_similarity_as_mean(y: list[float]) -> None:
    p = target_distributions(y)
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert p @ np.arange(1, 6) == pytest.approx(y, abs=1e-5)
    assert ((p > 0).sum(axis=1) <= 2).all()


def test_the_paper_s_own_target() -> None:
    assert target_distributions([2.7])[0] == pytest.approx([0, 0.3, 0.7, 0, 0])  # §4


@pytest.mark.parametrize("y", [0.99, 5.01, np.nan, np.inf])
def test_similarities_outside_the_scale(y: float) -> None:
    with pytest.raises(AdequaError, match="Similarities are from 1 to 5, but one is "):
        target_distributions([3, y])


def test_the_loss_by_hand() -> None:
    p = target_distributions([2.7, 4])
    q = np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0.05, 0.05, 0.1, 0.5, 0.3]])
    expected = (0.3 * np.log(0.3 / 0.2) + 0.7 * np.log(0.7 / 0.4) + np.log(1 / 0.5)) / 2
    found = kl_divergence(torch.from_numpy(p), torch.tensor(np.log(q), dtype=torch.float32))
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("memory", "published"), [(300, 541_800), (150, 203_400)])
def test_published_parameters_of_composition(memory: int, published: int) -> None:
    # Gupta et al. (2015, §4) and Tai et al. (2015, table 1): no output gate, two biases a gate.
    arrays = TreeNetwork(TreeShape(300, memory, output_gate=False), seed=0).arrays()
    composing = sum(arrays[name].size for name in ("w", "b", "u", "u_f"))
    assert composing + 3 * memory == published


def test_a_network_is_made_only_of_weights_that_fit() -> None:
    made = network()
    again = TreeNetwork.from_arrays(made.shape, made.arrays())
    assert all((again.arrays()[name] == array).all() for name, array in made.arrays().items())
    larger: list[dict[str, Any]] = [{name: 10**9} for name in ("dimension", "memory", "hidden")]
    for wrong in (*larger, {"output_gate": not made.shape.output_gate}):
        with pytest.raises(ValueError, match="weights of another network: "):
            TreeNetwork.from_arrays(replace(made.shape, **wrong), made.arrays())


def test_it_learns_which_word_is_the_root() -> None:
    # The same two words in all sentences: only the tree tells pairs that agree from those that do
    # not, so that a chain cannot learn what a tree learns.
    forest = build_forest([0, 1] * 4, [1, -1, 1, -1, -1, 0, 1, -1], [0, 2, 4, 6, 8])
    targets = torch.from_numpy(target_distributions([1, 5]))
    left = {}
    for structure in ("dependency", "chain"):
        made = network(structure=structure)
        order = made.levels(forest)
        optimiser = torch.optim.Adam(made.parameters(), lr=0.05)
        for _ in range(40):
            optimiser.zero_grad()
            loss = kl_divergence(targets, made(order, TABLE))
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        left[structure] = loss.item()
    assert left["dependency"] < 0.1
    assert left["chain"] == pytest.approx(np.log(2), abs=0.05)


def test_long_and_empty_sentences() -> None:
    length = 500
    words, parents = [1] * length + [2], [*range(1, length), ROOT, ROOT]
    forest = build_forest(words, parents, [0, length, length, length + 1])
    made = network()
    h = made.compose(made.levels(forest), TABLE)
    log_p = made.compare(h[[0, 1]], h[[2, 1]])
    log_p.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(log_p).all()
    assert all(torch.isfinite(weight.grad).all() for weight in made.parameters())
    assert made.nothing.grad is not None
    assert made.nothing.grad.abs().sum() > 0


def test_no_trees_at_all() -> None:
    assert composed(network(), build_forest([], [], [0])).shape == (0, MEMORY)


def test_a_seed_decides_and_leaves_the_rest_of_the_program_alone() -> None:
    before = torch.random.get_rng_state()
    one, same, other = (TreeNetwork(TreeShape(DIMENSION), seed=seed).arrays() for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all((one[name] == same[name]).all() for name in one)
    assert (one["w"] != other["w"]).any()


def test_weights_come_back_from_arrays() -> None:
    made, again = network(), TreeNetwork(TreeShape(DIMENSION, MEMORY, hidden=5), seed=9)
    again.load_arrays(made.arrays())
    forest = build_forest([0, 1, 2], [1, -1, 1], [0, 3])
    assert (composed(again, forest) == composed(made, forest)).all()
    with pytest.raises(ValueError, match="weights of another network: b, u, w$"):
        network(output_gate=False).load_arrays(made.arrays())


def test_dropout_is_for_training_alone() -> None:
    made = network(word_dropout=0.5, dropout=0.5)
    order = made.levels(build_forest([0, 1, 2, 3] * 4, [1, -1] * 8, range(0, 17, 2)))
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(1)
        dropped = made(order, TABLE)
        made.eval()
        assert torch.equal(made(order, TABLE), made(order, TABLE))
        assert not torch.allclose(dropped, made(order, TABLE))


def test_a_word_beyond_the_table() -> None:
    made = network()
    with pytest.raises(ValueError, match="word 7 is not in a table of 7"):
        made.compose(made.levels(build_forest([7], [-1], [0, 1])), TABLE)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"memory": 0}, "each have 1 or more units"),
        ({"structure": "bush"}, 'structure is dependency or chain, not "bush".'),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1."),
        ({"word_dropout": -0.1}, "word_dropout must be at least 0"),
    ],
    ids=["memory", "structure", "dropout", "word dropout"],
)
def test_shapes_that_make_no_sense(shape: dict[str, Any], message: str) -> None:
    with pytest.raises(AdequaError, match=message):
        TreeNetwork(TreeShape(**{"dimension": 2} | shape), seed=0)
