"""Run the campaign: PYTHONPATH=tests python -m campaign --seconds 600 --seed 7.

`--target NAME --number N` runs one trial again, which a report names.
"""

from __future__ import annotations

import argparse
import sys

from campaign.base import Outcome, run_trial, shares_of_time, trials
from campaign.targets import TARGETS


def _show(outcome: Outcome) -> None:
    print(f"{outcome.target}, seed {outcome.seed}, number {outcome.number}:\n{outcome.report}")


def main() -> int:
    """Run trials and print failures; return 1 where there are some."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=[target.name for target in TARGETS])
    parser.add_argument("--number", type=int, help="run this trial alone, with --target")
    args = parser.parse_args()
    targets = [target for target in TARGETS if args.target in {None, target.name}]
    if args.number is not None:
        outcomes = [run_trial(target, args.seed, args.number) for target in targets]
        failures = [outcome for outcome in outcomes if outcome.report is not None]
    else:
        failures = []
        for target in targets:
            count = 0
            seconds = shares_of_time(targets, args.seconds)[target.name]
            for outcome in trials(target, args.seed, seconds=seconds):
                count += 1
                if outcome.report is not None:
                    failures.append(outcome)
            print(f"{target.name}: {count} trials")
    for failure in failures:
        _show(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
