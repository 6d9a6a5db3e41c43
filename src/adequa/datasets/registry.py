"""The named datasets as data: what they are, where they come from, and what their files must be.

`sha256` is the digest of the prepared file in a mirror folder, which was hashed here. The bytes of
official archives were never seen here: their digests are recorded when they are first fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adequa.errors import AdequaError, nearest

Kind: TypeAlias = Literal["ratings", "preferences", "similarity", "systems"]

_STATMT = "https://www.statmt.org"


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset: human judgements of a campaign, or of a similarity task."""

    name: str
    kind: Kind
    summary: str
    rows: int  # judgements; rated systems where whole systems are rated
    pairs: tuple[str, ...]
    origin: str  # the page that describes it
    mirror_file: str
    sha256: str
    archives: tuple[str, ...] = ()  # official addresses; empty where there is none to read from
    licence: str = ""  # what is known of it, which is little: campaigns rarely state one


def dataset(name: str) -> Dataset:
    """The dataset of a name, or a sentence on what there is.

    >>> dataset("wmt17-da").rows
    3920
    """
    if name not in DATASETS:
        raise AdequaError(
            f'There is no dataset "{name}".{nearest(name, DATASETS)} '
            "`adequa datasets` lists them all."
        )
    return DATASETS[name]


def _to_english(*sources: str) -> tuple[str, ...]:
    return tuple(f"{source}-en" for source in sources)


_ALL = (
    Dataset(
        name="wmt12-rr",
        kind="preferences",
        summary="WMT 2012 relative ranking",
        rows=44_345,
        pairs=_to_english("cs", "de", "es", "fr"),
        origin=f"{_STATMT}/wmt12/results.html",
        mirror_file="wmt12-rr.jsonl.gz",
        sha256="d9ebb903b52fb551e2589a388d343e26998b3e94a04a4fd435451a1d04f09e7e",
        archives=(
            "http://www.statmt.org/wmt12/manual-eval-judgments-2012.tgz",
            f"{_STATMT}/wmt12/wmt12-data.tar.gz",
        ),
    ),
    Dataset(
        name="wmt13-rr",
        kind="preferences",
        summary="WMT 2013 relative ranking",
        rows=362_710,
        pairs=_to_english("cs", "de", "es", "fr"),
        origin=f"{_STATMT}/wmt13/results.html",
        mirror_file="wmt13-rr.jsonl.gz",
        sha256="1fb547bb00827886e5fd4e04bb239c022751ed5c510c976fe8f5ba9ea7d56663",
        archives=(
            f"{_STATMT}/wmt13/wmt13-manual-evaluation.tgz",
            f"{_STATMT}/wmt13/wmt13-data.tar.gz",
        ),
    ),
    Dataset(
        name="wmt14-rr",
        kind="preferences",
        summary="WMT 2014 relative ranking",
        rows=101_103,
        pairs=_to_english("cs", "de", "fr", "hi", "ru"),
        origin=f"{_STATMT}/wmt14/results.html",
        mirror_file="wmt14-rr.jsonl.gz",
        sha256="2932ae1031373d2db3f059bf5ece48f7ce69b3103b59fc5bc2ba2181e5656b4d",
        archives=(
            f"{_STATMT}/wmt14/wmt14-manual-evaluation.tgz",
            f"{_STATMT}/wmt14/submissions.tgz",
        ),
    ),
    Dataset(
        name="wmt15-rr",
        kind="preferences",
        summary="WMT 2015 relative ranking, equal outputs shown once",
        rows=89_576,
        pairs=_to_english("cs", "de", "fi", "fr", "ru"),
        origin=f"{_STATMT}/wmt15/results.html",
        mirror_file="wmt15-rr.jsonl.gz",
        sha256="246673ac97dcb3adc7f832bb77f249da8a673cffd90243ac739e8ce7506d4690",
        archives=(
            f"{_STATMT}/wmt15/translation-judgements.zip",
            f"{_STATMT}/wmt15/wmt15-submitted-data.tgz",
        ),
    ),
    Dataset(
        name="wmt16-rr",
        kind="preferences",
        summary="WMT 2016 relative ranking, equal outputs shown once",
        rows=97_328,
        pairs=_to_english("cs", "de", "fi", "ro", "ru", "tr"),
        origin=f"{_STATMT}/wmt16/results.html",
        mirror_file="wmt16-rr.jsonl.gz",
        sha256="e73f67e4f732b3ddc202ba8712e9b2f535fcaa982953818f3b90a7f6cd45a3ea",
        archives=(
            "http://data.statmt.org/wmt16/translation-task/wmt16-translation-judgements.zip",
            "http://data.statmt.org/wmt16/translation-task/wmt16-submitted-data-v2.tgz",
        ),
    ),
    Dataset(
        name="wmt13-da",
        kind="ratings",
        summary="newstest2013 direct assessment",
        rows=1_120,
        pairs=_to_english("es", "cs", "de", "fr", "ru"),
        origin="https://github.com/ygraham/segment-mteval",
        mirror_file="wmt13-da.jsonl.gz",
        sha256="c81c59eb9233539a93a420efc6d5efc5769ef2b470e9bf056de8f8beabedc143",
    ),
    Dataset(
        name="wmt15-da",
        kind="ratings",
        summary="WMT 2015 direct assessment, standardised",
        rows=2_000,
        pairs=_to_english("cs", "de", "fi", "ru"),
        origin=f"{_STATMT}/wmt15/results.html",
        mirror_file="wmt15-da.jsonl.gz",
        sha256="a77d90d249d536e6cbbc153e230913c334cb6e69101703cce267ced94e04ce34",
        archives=("http://www.computing.dcu.ie/~ygraham/DAseg-wmt-newstest2015.tar.gz",),
    ),
    Dataset(
        name="wmt16-da",
        kind="ratings",
        summary="WMT 2016 direct assessment, standardised",
        rows=3_360,
        pairs=_to_english("cs", "de", "fi", "ro", "ru", "tr"),
        origin=f"{_STATMT}/wmt16/results.html",
        mirror_file="wmt16-da.jsonl.gz",
        sha256="c1a635f03ad3099f9545f006ac50339fb72f115909b518e5855f83e94524dde1",
        archives=("http://www.computing.dcu.ie/~ygraham/DAseg-wmt-newstest2016.tar.gz",),
    ),
    Dataset(
        name="wmt17-da",
        kind="ratings",
        summary="WMT 2017 direct assessment, standardised",
        rows=3_920,
        pairs=_to_english("cs", "de", "fi", "lv", "ru", "tr", "zh"),
        origin=f"{_STATMT}/wmt17/results.html",
        mirror_file="wmt17-da.jsonl.gz",
        sha256="04fc590f9e55255a32f412aa214295724b298745a7e48461d37fec5c2e34a4fb",
        archives=("http://ufallab.ms.mff.cuni.cz/~bojar/wmt17-metrics-task-package.tgz",),
    ),
    Dataset(
        name="wmt20-da",
        kind="ratings",
        summary="WMT 2020 direct assessment, few judgements a row",
        rows=30_481,
        pairs=_to_english("zh", "cs"),
        origin=f"{_STATMT}/wmt20/results.html",
        mirror_file="wmt20-da.jsonl.gz",
        sha256="3b2ab124304257bc38de2857997060d3506472d561637de53e957cf9ce4bec14",
    ),
    Dataset(
        name="wmt21-da",
        kind="ratings",
        summary="WMT 2021 direct assessment, few judgements a row",
        rows=31_454,
        pairs=_to_english("is", "ja", "ru"),
        origin=f"{_STATMT}/wmt21/results.html",
        mirror_file="wmt21-da.jsonl.gz",
        sha256="b0d0ded1ad96fa541b9ff8878de4028bbb5d14650c6af17c2fb2b6fda7910663",
        licence="for research purposes only",
    ),
    Dataset(
        name="wmt20-21-mqm",
        kind="ratings",
        summary="WMT 2020 and 2021 MQM, 0 is perfect, lower is worse",
        rows=29_750,
        pairs=_to_english("zh"),
        origin="https://github.com/google/wmt-mqm-human-evaluation",
        mirror_file="wmt20-21-mqm.jsonl.gz",
        sha256="b58d87680a67521b096a1a074a7ee2226f7e3e04a90ccb84a03d6d59238bd7b9",
    ),
    Dataset(
        name="sick",
        kind="similarity",
        summary="SICK, relatedness of sentences from 1 to 5",
        rows=9_927,
        pairs=(),
        origin="https://zenodo.org/record/2787612",
        licence="free for research purposes",
        mirror_file="sick.jsonl.gz",
        sha256="503283b477b2c30bc8af01e42d73816a4e448f521fb0b83806d92658c76ad6d9",
        archives=("https://zenodo.org/record/2787612/files/SICK.zip",),
    ),
    Dataset(
        name="stsb",
        kind="similarity",
        summary="STS benchmark, similarity of sentences from 0 to 5",
        rows=8_628,
        pairs=(),
        origin="http://ixa2.si.ehu.eus/stswiki",
        mirror_file="stsb.jsonl.gz",
        sha256="102ff7bc7d2b2a935c4690b293f7f85c3bb6c309fe0fb681efdead165ca1cca6",
        archives=("http://ixa2.si.ehu.eus/stswiki/images/4/48/Stsbenchmark.tar.gz",),
    ),
    Dataset(
        name="wmt17-systems",
        kind="systems",
        summary="WMT 2017 systems, outputs and direct assessment",
        rows=65,
        pairs=_to_english("cs", "de", "fi", "lv", "ru", "tr", "zh"),
        origin=f"{_STATMT}/wmt17/results.html",
        mirror_file="wmt17-systems.tar.xz",
        sha256="2ee9883a53d413e23de1f6dd784165bfff5f438a45b5619d5649309b4ccdb644",
    ),
    Dataset(
        name="wmt18-systems",
        kind="systems",
        summary="WMT 2018 systems, outputs and direct assessment",
        rows=71,
        pairs=_to_english("cs", "de", "et", "fi", "ru", "tr", "zh"),
        origin=f"{_STATMT}/wmt18/results.html",
        mirror_file="wmt18-systems.tar.xz",
        sha256="d1788d7268a5a0014c9bbfc24fdaa9f513b614c32276009276a83a58b2a67fe7",
    ),
)

DATASETS: Mapping[str, Dataset] = {entry.name: entry for entry in _ALL}
