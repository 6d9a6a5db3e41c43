"""Several processes that train together end where one does, and say what they lack."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adequa.errors import AdequaError

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # noqa: E402  # it needs PyTorch
from adequa.learned.pair import devices  # noqa: E402
from adequa.learned.pair.devices import (  # noqa: E402
    Processes,
    check_training_memory,
    launched_processes,
)
from shared_training import trained  # noqa: E402

HERE = Path(__file__).parents[2]
CPU = torch.device("cpu")
# Attention does not depend on the first, nor preferences on the others, which shift all scores
# alike: their gradients are rounding errors, and Adam makes steps of them.
MOVED_BY_ROUNDING = ("key.bias", "layer.1.output.LayerNorm.bias", "output.bias")


def lacking() -> str:
    """Why no second process can take part here, if so."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        return "this PyTorch has no processes that work together"
    try:
        import accelerate  # noqa: F401

        with socket.create_server(("127.0.0.1", 0)):
            return ""
    except (ImportError, OSError) as error:
        return f"processes cannot work together here: {error}"


def started_together(count: int, *command: Path) -> list[str]:
    """What each process says in the end; they are started as torchrun starts them."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "OMP_NUM_THREADS": "1"}
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    if sys.platform == "linux":  # the name of a machine need not lead to itself
        shared["GLOO_SOCKET_IFNAME"] = "lo"
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", *command],
            env=os.environ | shared | {"RANK": str(number), "LOCAL_RANK": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        said = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * count, said
    return [out.splitlines()[-1] for out, _ in said]


@pytest.mark.skipif(bool(lacking()), reason=lacking() or "never")
def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    said = sorted(started_together(2, HERE / "shared_training.py", tmp_path / "weights.npz"))
    assert [line[:14] for line in said] == ["process 0 of 2", "process 1 of 2"]
    assert said[0].split()[-1] == said[1].split()[-1]  # the loss is that of both together
    alone, scale, _ = trained()
    before, far, apart = tiny.weights(tiny.network(dropout=0.0)), 0.0, 0.0
    with np.load(tmp_path / "weights.npz") as together:
        for name, weight in alone.named_parameters():
            if not name.endswith(MOVED_BY_ROUNDING):
                ours = weight.detach().numpy()
                far += float(np.square(ours - before[name]).sum())
                apart += float(np.square(ours - together[name]).sum())
        assert together["scale"] == pytest.approx(scale, rel=1e-4)
        assert min(np.abs(np.array(scale) - (1, 0))) > 0.01
    assert far > 0.1
    assert apart < 1e-8 * far


def test_shares_are_all_items_once() -> None:
    items = np.array([5, 3, 8, 1, 9])
    shares = [Processes(CPU, number, 3).shard(items).tolist() for number in range(3)]
    assert shares == [[5, 1], [3, 9], [8]]
    assert Processes(CPU).shard(items).tolist() == items.tolist()


def test_one_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    alone = launched_processes("cpu")
    assert (alone.device, alone.index, alone.count, alone.is_first) == (CPU, 0, 1, True)
    tensor = torch.ones(2)
    alone.all_reduce([tensor])
    alone.broadcast([tensor])
    assert tensor.tolist() == [1, 1]


def test_several_need_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        launched_processes("cpu")


def test_a_device_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(AdequaError, match="no device"):
        launched_processes("tpu9")


def test_what_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = torch.nn.Linear(3000, 1000, bias=False)  # 3 * 10**6 weights, of 4 * (4 + 3) bytes each
    monkeypatch.setattr(devices, "_total_memory", lambda _: 84 * 10**6)
    check_training_memory(layer, torch.device("cpu"))
    monkeypatch.setattr(devices, "_total_memory", lambda _: 56 * 10**6)
    with pytest.raises(AdequaError) as caught:
        check_training_memory(layer, torch.device("cpu"))
    assert str(caught.value) == (
        "Training 3 million weights takes 0.1 GiB and more, and cpu has 0.1 GiB; an encoder of up "
        "to 2 million weights would fit."
    )


def test_the_memory_of_this_machine_is_known() -> None:
    assert devices._total_memory(torch.device("cpu")) > 1 << 20
