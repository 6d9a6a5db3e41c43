"""One of several processes that train together; the first writes the weights to a file.

python -m torch.distributed.run ... shared_training.py FILE
"""

from __future__ import annotations

import sys

import numpy as np

import tiny_training as tiny
from adequa.learned.pair.devices import launched_processes
from adequa.learned.pair.train import PairStage, StageObjective


def stages() -> list[PairStage]:
    """With steps of a single item, of which a second process has no share."""
    mixed = (
        StageObjective(tiny.ratings(), tiny.LEARNT - 1),
        StageObjective(tiny.preferences(), 2, 0.5),
    )
    return [
        PairStage("mixed", (tiny.trial(*mixed, epochs=2), tiny.trial(*mixed, rate=1e-2))),
        PairStage("preferences", (tiny.trial(StageObjective(tiny.preferences(), 5), average=0.5),)),
    ]


def main(path: str) -> None:
    """Train, and say what each process is."""
    here = launched_processes("cpu")
    found, outcome = tiny.trained(stages(), processes=here, start=tiny.network(dropout=0.0))
    learnt = {name: p.detach().numpy() for name, p in found.named_parameters()}
    print(f"process {here.index} of {here.count}", sum(each["loss"] for each in outcome.history))
    if here.is_first:
        np.savez(path, **learnt)  # type: ignore[arg-type]  # no weight is named as its settings


if __name__ == "__main__":
    main(*sys.argv[1:])
