"""Checkpoints: whole or not there, of one plan, plain numbers, and one at a time."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from adequa.errors import AdequaError
from adequa.io.atomic import LOCK, locked
from adequa.learned.checkpoints import Checkpoints, Snapshot, training_into, training_saved

torch = pytest.importorskip("torch", reason="training needs PyTorch")
safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")


def snapshot(step: int) -> Snapshot:
    matrix = torch.arange(6.0).reshape(2, 3) * step
    kept = {"network": {"a.weight": matrix, "a.bias": torch.tensor([step])}, "best": {}}
    return Snapshot(kept | {"first": {"a.weight": matrix.T}}, {"step": step, "figures": {"f": 0.5}})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def sentence(checkpoints: Checkpoints) -> str:
    with pytest.raises(AdequaError) as caught:
        checkpoints.latest()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "deep" / "kept", "plan")
    assert checkpoints.latest() is None
    checkpoints.write(snapshot(3))
    found = checkpoints.latest()
    assert found is not None
    assert found.facts == {"step": 3, "figures": {"f": 0.5}}
    assert found.tensors["network"]["a.weight"].tolist() == [[0, 3, 6], [9, 12, 15]]
    assert found.tensors["network"]["a.bias"].dtype == torch.int64
    assert found.tensors["first"]["a.weight"].tolist() == [[0, 9], [3, 12], [6, 15]]


def test_only_the_newest_stays(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "plan")
    for step in range(1, 13):  # 10 comes after 9
        checkpoints.write(snapshot(step))
        assert len(names(tmp_path)) == 1
    found = checkpoints.latest()
    assert found is not None
    assert found.facts["step"] == 12


def test_slices_and_shared_tensors_are_written(tmp_path: Path) -> None:
    """Weights may be views of larger memory, or one tensor under two names."""
    large = torch.arange(10.0)
    kept = {"network": {"part": large[2:4], "same": large[2:4]}}
    Checkpoints(tmp_path, "plan").write(Snapshot(kept, {}))
    found = Checkpoints(tmp_path, "plan").latest()
    assert found is not None
    assert found.tensors["network"]["same"].tolist() == [2, 3]


def test_another_plan_is_a_sentence(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "one").write(snapshot(1))
    found = sentence(Checkpoints(tmp_path, "other"))
    assert "another plan" in found
    assert str(tmp_path / "checkpoint-1") in found
    assert "delete" in found


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "no-json", "no-facts", "list"])
def test_damage_is_a_sentence(tmp_path: Path, damage: str) -> None:
    Checkpoints(tmp_path, "plan").write(snapshot(1))
    folder = tmp_path / "checkpoint-1"
    state, tensors = folder / "state.json", folder / "tensors.safetensors"
    match damage:
        case "cut":
            tensors.write_bytes(tensors.read_bytes()[:-4])
        case "empty":
            tensors.write_bytes(b"")
        case "gone":
            tensors.unlink()
        case "no-json":
            state.write_bytes(b"\xff{")
        case "no-facts":
            state.write_text('{"plan": "plan"}')
        case _:
            state.write_text("[]")
    found = sentence(Checkpoints(tmp_path, "plan"))
    assert str(folder) in found
    assert "delete it" in found


def test_an_interrupted_writing_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path, "plan")
    checkpoints.write(snapshot(1))

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors, "save_file", stopped)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.write(snapshot(2))
    assert names(tmp_path) == ["checkpoint-1"]
    found = checkpoints.latest()
    assert found is not None
    assert found.facts["step"] == 1


def test_what_a_kill_leaves_goes_with_the_next(tmp_path: Path) -> None:
    """Killed while it wrote, and killed between writing and deleting the one before."""
    checkpoints = Checkpoints(tmp_path, "plan")
    checkpoints.write(snapshot(1))
    shutil.copytree(tmp_path / "checkpoint-1", tmp_path / "checkpoint-2")
    (tmp_path / "checkpoint-1" / "state.json").unlink()  # half deleted
    (tmp_path / ".adequa-ba9876543210.tmp").mkdir()  # killed before the first file
    (tmp_path / ".adequa-aa9876543210.tmp").mkdir()  # and while the first one was written
    (tmp_path / ".adequa-aa9876543210.tmp" / ".tmp44omaR").write_bytes(b"half")
    half = tmp_path / ".adequa-0123456789ab.tmp"
    half.mkdir()
    (half / "tensors.safetensors").write_bytes(b"half")
    found = checkpoints.latest()
    assert found is not None
    assert found.facts["step"] == 1
    with training_into(tmp_path):
        checkpoints.write(snapshot(5))
    assert names(tmp_path) == ["checkpoint-3"]


def test_what_another_training_writes_is_left_alone(tmp_path: Path) -> None:
    """Without the lock, what is half written may be written still."""
    half = tmp_path / ".adequa-0123456789ab.tmp"
    half.mkdir()
    (half / "tensors.safetensors").write_bytes(b"half")
    checkpoints = Checkpoints(tmp_path, "plan")
    checkpoints.write(snapshot(1))
    checkpoints.write(snapshot(2))
    checkpoints.remove()
    assert names(tmp_path) == [half.name]


def test_one_training_at_a_time(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "kept", "plan")
    with training_into(tmp_path / "kept"):
        with pytest.raises(AdequaError) as caught, training_into(tmp_path / "kept"):
            pass
        checkpoints.write(snapshot(1))
        with training_saved(tmp_path / "kept") as may_go:  # of a training that ended before
            assert not may_go
    assert str(caught.value) == (
        f"{tmp_path / 'kept'} is being trained into by another command; wait for it, or name "
        "another folder."
    )
    assert names(tmp_path / "kept") == ["checkpoint-1"]
    with training_saved(tmp_path / "kept") as may_go:
        assert may_go
        checkpoints.remove()
    assert names(tmp_path) == []


def test_without_locks_nothing_half_written_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on a system that has none
    (tmp_path / ".adequa-0123456789ab.tmp").mkdir()
    with training_into(tmp_path), training_into(tmp_path):
        assert names(tmp_path) == [".adequa-0123456789ab.tmp", LOCK]


def test_a_file_that_was_half_written_goes(tmp_path: Path) -> None:
    (tmp_path / ".adequa-0123456789ab.tmp").write_bytes(b"half")
    with training_into(tmp_path), locked(tmp_path) as holder:
        assert holder == "others"
    assert names(tmp_path) == []


def test_removal_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "kept", "plan")
    checkpoints.remove()  # of nothing
    checkpoints.write(snapshot(1))
    (tmp_path / "kept" / "notes.txt").write_text("mine")
    other = tmp_path / "kept" / ".adequa-aaaaaaaaaaaa.tmp"  # someone saves a metric there
    other.mkdir()
    (other / "metric.json").write_text("{}")
    with training_into(tmp_path / "kept"), pytest.raises(KeyboardInterrupt):
        raise KeyboardInterrupt
    with training_saved(tmp_path / "kept"):
        checkpoints.remove()
    assert names(tmp_path / "kept") == [other.name, "notes.txt"]


def test_no_pickle_is_written_or_read(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "plan").write(snapshot(1))
    folder = tmp_path / "checkpoint-1"
    assert names(folder) == ["state.json", "tensors.safetensors"]
    assert json.loads((folder / "state.json").read_text())["plan"] == "plan"
    torch.save({"network/a": torch.ones(1)}, folder / "tensors.safetensors")
    assert "no checkpoint that can be read" in sentence(Checkpoints(tmp_path, "plan"))


def test_a_folder_that_takes_no_files_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AdequaError, match="cannot be written"):
        Checkpoints(tmp_path / "file" / "kept", "plan").write(snapshot(1))


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import SafetensorError

    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(AdequaError, match="cannot be written: .*No space left on device"):
        Checkpoints(tmp_path, "plan").write(snapshot(1))
    assert names(tmp_path) == []
