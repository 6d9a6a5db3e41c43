"""The ratings of one language pair as arrays, beside metrics' scores of the same outputs."""

from __future__ import annotations

from dataclasses import dataclass

from adequa.agreement.groups import codes, one_system_a_row, parts_of_systems, segment_names
from adequa.agreement.measured import Statistic
from adequa.agreement.protocol import Protocol
from adequa.errors import AdequaError
from adequa.judgements import Ids
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson, spearman
from adequa.statistics.kendall import kendall_b, kendall_c

CORRELATIONS: dict[str, Statistic] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall-b": kendall_b,
    "kendall-c": kendall_c,
}


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """The ratings of one language pair and K metrics' scores of the same outputs."""

    name: str
    human: FloatArray  # (n,)
    metrics: FloatArray  # (K, n), higher is better
    segments: IntArray  # (n,) codes
    systems: IntArray | None  # (n,) codes, where systems are known
    items: int  # ratings; fewer than n where an output stands for several systems

    def __len__(self) -> int:
        return len(self.human)


def rated(name: str, human: FloatArray, metrics: FloatArray, ids: Ids, protocol: Protocol) -> Rated:
    """Arrays of one language pair.

    An output of several systems (`A+B`) counts for each where systems are averaged over. Where
    they are resampled or swapped it goes with the first of them: what is measured does not depend
    on how sure we are asked to be.
    """
    count = len(human)
    segments = codes(segment_names(ids), count)
    by_system = protocol.over in {"systems", "both"} or protocol.test == "systems"
    if protocol.average != "system" and not by_system:
        return Rated(name, human, metrics, segments, None, count)
    if "system" not in ids or not all(ids["system"]):
        raise AdequaError(
            f"{name}: the judgements do not say which system each output comes from, so that "
            "nothing can be resampled, swapped or averaged by system."
        )
    parts = parts_of_systems((name,) * count, ids["system"])
    if protocol.average != "system":
        first = codes([system for system, *_ in parts], count)
        return Rated(name, human, metrics, segments, first, count)
    rows, names = one_system_a_row(parts)
    systems = codes(names, len(names))
    return Rated(name, human[rows], metrics[:, rows], segments[rows], systems, count)
