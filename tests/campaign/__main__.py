"""The fault campaign: gives the product damaged inputs until the time is over.

`make campaign MINUTES=10` runs it. The exit code is 1 if a trial fails; a failure is printed with
the command that repeats it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

from campaign.base import Outcome, Target, run_trial, shares_of_time, summary, trials
from campaign.targets import TARGETS

TRIAL_SECONDS = 60.0  # a trial that takes longer has failed
_MINUTE = 60
_SEEDS = 1_000_000


def main(arguments: Sequence[str] | None = None, targets: Sequence[Target] = TARGETS) -> int:
    """Run trials and print failures and a summary; return 1 if a trial failed."""
    names = [target.name for target in targets]
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="time in all. Default: 1")
    parser.add_argument("--seed", type=int, help="by default a new one, which is printed")
    parser.add_argument("--target", choices=names, help="try this target only")
    parser.add_argument("--number", type=int, help="run this trial only; needs --target and --seed")
    options = parser.parse_args(arguments)
    if options.number is not None and None in {options.target, options.seed}:
        parser.error("--number needs --target and --seed.")
    seed = random.randrange(_SEEDS) if options.seed is None else options.seed
    chosen = [target for target in targets if options.target in {None, target.name}]
    print(f"seed {seed}", flush=True)
    counts: dict[str, tuple[int, int]] = {}
    seconds = shares_of_time(chosen, options.minutes * _MINUTE)
    for target in chosen:
        count = failures = 0
        outcomes = (
            trials(target, seed, seconds=seconds[target.name], limit=TRIAL_SECONDS)
            if options.number is None
            else iter([run_trial(target, seed, options.number, limit=TRIAL_SECONDS)])
        )
        for outcome in outcomes:
            count += 1
            if outcome.report is not None:
                failures += 1
                _show(outcome)
        counts[target.name] = (count, failures)
    print(summary(counts))
    return int(any(failures for _, failures in counts.values()))


def _show(outcome: Outcome) -> None:
    print(
        f"\n{outcome.target}, seed {outcome.seed}, number {outcome.number}:\n{outcome.report}\n"
        f"Repeat it with: PYTHONPATH=tests python -m campaign --target {outcome.target} "
        f"--seed {outcome.seed} --number {outcome.number}\n",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
