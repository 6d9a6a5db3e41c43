"""One of several processes that train together; the first writes the weights to a file.

python -m torch.distributed.run ... shared_training.py FILE
"""

from __future__ import annotations

import sys

import numpy as np

import tiny_training as tiny
from adequa.learned.pair.devices import Processes, launched_processes
from adequa.learned.pair.network import PairNetwork, output_scales
from adequa.learned.pair.objectives import RatingRegression
from adequa.learned.pair.train import PairStage, StageObjective


def stages() -> list[PairStage]:
    """With steps of a single item, of which a second process has no share."""
    mixed = (
        StageObjective(tiny.ratings(), tiny.LEARNT - 1),
        StageObjective(tiny.preferences(), 2, 0.5),
    )
    return [
        PairStage("mixed", (tiny.trial(*mixed, epochs=2), tiny.trial(*mixed, rate=1e-2))),
        PairStage("scaled", (tiny.trial(StageObjective(_scaled_ratings(), 7)),)),
        PairStage("preferences", (tiny.trial(StageObjective(tiny.preferences(), 5), average=0.5),)),
    ]


def _scaled_ratings() -> RatingRegression:
    """Every other rating is on a scale of its own, and some weigh more; a last step has 2 items."""
    numbers = np.arange(tiny.LEARNT) % 2
    return RatingRegression(
        np.arange(tiny.LEARNT),
        tiny.QUALITY[: tiny.LEARNT] * (1 + numbers) + numbers,
        1 + np.arange(tiny.LEARNT, dtype=np.float64) % 3,
        numbers,
    )


def trained(processes: Processes | None = None) -> tuple[PairNetwork, list[float], float]:
    """The network, its output scale, and the sum of all losses."""
    start = tiny.network(dropout=0.0)
    with output_scales(start, 1) as scales:
        network, outcome = tiny.trained(stages(), processes=processes, start=start)
        return network, list(scales.values()[1]), sum(each["loss"] for each in outcome.history)


def main(path: str) -> None:
    """Train, and say what each process is."""
    here = launched_processes("cpu")
    found, scale, loss = trained(here)
    learnt = {name: p.detach().numpy() for name, p in found.named_parameters()}
    learnt["scale"] = np.array(scale)
    print(f"process {here.index} of {here.count}", loss)
    if here.is_first:
        np.savez(path, **learnt)  # type: ignore[arg-type]  # no weight is named as its settings


if __name__ == "__main__":
    main(*sys.argv[1:])
