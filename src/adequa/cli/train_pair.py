"""`adequa train pair-regressor`: fine-tune a transformer on preferences and ratings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Pairs, Quiet
from adequa.cli.output import print_message
from adequa.cli.training import (
    DownloadOption,
    NameOption,
    OutputOption,
    References,
    ReportOption,
    TrainingDevice,
    check_target,
    data_option,
    encoder_option,
    load_ratings,
    save_and_report,
    training_progress,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.learned.embedding.metric import EmbeddingRegressor
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.plan import Plan, PlanOptions

_INTERRUPTED = 130  # the exit code of shells for a command that Ctrl-C stopped


class SettingsName(str, Enum):
    """Settings with a name."""

    default = "default"
    paper = "paper"
    paper_frozen = "paper-frozen"


class Precision(str, Enum):
    """Number format of training; bf16 has 16 bits."""

    auto = "auto"
    fp32 = "fp32"
    bf16 = "bf16"


def pair_regressor(
    output: OutputOption,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A training plan in TOML, instead of the options for data."
        ),
    ] = None,
    encoder: Annotated[str | None, encoder_option("Pretrained transformer to fine-tune.")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="A saved pair regressor to train further, instead of an encoder."
        ),
    ] = None,
    ratings: Annotated[
        list[str] | None, data_option("Ratings with texts: mt, ref, score. Repeat for more.")
    ] = None,
    preferences: Annotated[
        list[str] | None,
        data_option(
            "Preferences with texts, to learn from before the ratings: better, worse, ref. "
            "Repeat for more."
        ),
    ] = None,
    settings: Annotated[
        SettingsName | None,
        typer.Option(
            help="Default settings, the paper's grid, or the paper's variant without fine-tuning."
        ),
    ] = None,
    surface: Annotated[
        bool | None,
        typer.Option(
            "--surface/--no-surface",
            help="Add features of case, punctuation, spacing and emoji.",
        ),
    ] = None,
    references: Annotated[
        References | None,
        typer.Option(
            help="Score of a segment with several references. Default: best, or that of the "
            "--start."
        ),
    ] = None,
    lp: Pairs = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of random rows per stage."),
    ] = None,
    batch: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="Ratings per step (without ratings: quarters of the preferences on a segment). "
            "Repeat to try several values; the same holds for the next two options.",
        ),
    ] = None,
    learning_rate: Annotated[
        list[float] | None,
        typer.Option(metavar="RATE", help="Highest learning rate of the schedule."),
    ] = None,
    epochs: Annotated[
        list[float] | None, typer.Option(metavar="N", help="Passes over the ratings.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Random seed. Default: 0.")
    ] = None,
    name: NameOption = None,
    device: TrainingDevice = "auto",
    precision: Annotated[
        Precision | None,
        typer.Option(help="Precision of training. Default: auto, bf16 on a GPU that supports it."),
    ] = None,
    most_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Tokens per batch: fewer take less memory and more time, and change the dropout. "
            "Default: 32768.",
        ),
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder that the same command resumes from. Default: OUTPUT.training.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Seconds between two checkpoints. Default: 300."
        ),
    ] = None,
    download: DownloadOption = False,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Fine-tune a transformer that reads hypothesis and reference together (BERT regressor).

    Train by a --plan, or on --preferences first and --ratings second.
    """
    from adequa.encoders.registry import transformer_name
    from adequa.languages import language_pair
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.plan import PlanOptions

    name = check_target(output, name, format_)
    quiet = quiet or not _is_first_process()
    options = PlanOptions(
        ratings=ratings or (),
        preferences=preferences or (),
        encoder=transformer_name(encoder) if encoder else "",
        start=start or "",
        surface=bool(surface),
        references=references.value if references else "",
        lp=[language_pair(pair) for pair in lp or ()],
        sample=sample or 0,
        batch=batch or (),
        learning_rate=learning_rate or (),
        epochs=epochs or (),
        seed=seed or 0,
    )
    if settings is SettingsName.paper_frozen and plan is None:
        unused = {
            "--precision": precision,
            "--most-tokens": most_tokens,
            "--checkpoints": checkpoints,
            "--checkpoint-every": checkpoint_every is not None,
        }
        _check_frozen(options, unused)
        if _is_first_process():  # the others have nothing to do
            frozen = _train_frozen(options, name, device=device, download=download, quiet=quiet)
            save_and_report(frozen, output, format_, quiet)
        return
    used_plan = _plan(plan, settings, options, surface=surface, seed=seed)
    if most_tokens is not None:
        used_plan = replace(used_plan, most_tokens=most_tokens).validated("The command line")
    metric = PairRegressor(
        plan=used_plan,
        device=device,
        precision=(precision or Precision.auto).value,
        checkpoints=_checkpoints(checkpoints, output),
        seconds_between_checkpoints=300.0 if checkpoint_every is None else checkpoint_every,
        download=download,
        name=name,
    )
    _train(metric, quiet)
    if _is_first_process():
        save_and_report(metric, output, format_, quiet)
    _leave_others()


def _plan(
    path: str | None,
    settings: SettingsName | None,
    options: PlanOptions,
    *,
    surface: bool | None,
    seed: int | None,
) -> Plan:
    """The plan of a file with what the flags change in it, or the one that they stand for."""
    from adequa.learned.pair.plan import preset_plan

    if path is None:
        plan = preset_plan((settings or SettingsName.default).value, options)
        if plan.start and settings is SettingsName.paper:
            raise AdequaError(
                f"--settings paper goes with an encoder, whose head it decides; {plan.start} keeps "
                "the head that it has: leave out --settings, and give --batch, --learning-rate and "
                "--epochs."
            )
    else:
        plan = _overridden_plan(path, settings, options, surface, seed)
    if surface is not None and plan.start:
        raise AdequaError(
            f"--{'' if surface else 'no-'}surface goes with an encoder; {plan.start} keeps the "
            "features that it has."
        )
    return plan


def _overridden_plan(
    path: str,
    settings: SettingsName | None,
    options: PlanOptions,
    surface: bool | None,
    seed: int | None,
) -> Plan:
    from adequa.io.text import read_toml
    from adequa.learned.pair.plan import plan_from

    conflicts = _used_flags(
        {"--settings": settings, **_data_flags(options), **_setting_flags(options)}
    )
    if conflicts:
        raise AdequaError(
            f"{path} says itself what to learn from and how; leave out {conflicts}, or write it "
            "there."
        )
    table = read_toml(path)
    plan_from(table, path)  # errors of the file should name the file
    if options.encoder or options.start:
        table |= {"encoder": options.encoder, "start": options.start}
    flags = {"surface": surface, "seed": seed}
    table |= {key: value for key, value in flags.items() if value is not None}
    return plan_from(table, "The command line")


def _data_flags(options: PlanOptions) -> dict[str, object]:
    """The options for data, by their flags."""
    return {
        "--ratings": options.ratings,
        "--preferences": options.preferences,
        "--references": options.references,
        "--lp": options.lp,
        "--sample": options.sample,
    }


def _setting_flags(options: PlanOptions) -> dict[str, object]:
    """The settings of a stage, by their flags."""
    return {
        "--batch": options.batch,
        "--learning-rate": options.learning_rate,
        "--epochs": options.epochs,
    }


def _used_flags(flags: Mapping[str, object]) -> str:
    return " and ".join(flag for flag, value in flags.items() if value)


def _checkpoints(folder: str | None, output: str) -> Path:
    """The folder of checkpoints, once it is clear that it can be one."""
    from adequa.io.atomic import check_new_folder

    target = Path(output).resolve()
    metric = Path(output) if Path(output).name == target.name else target  # "." has no name
    checkpoints = Path(folder) if folder else metric.with_name(f"{metric.name}.training")
    if target in {checkpoints.resolve(), *checkpoints.resolve().parents}:
        raise AdequaError(
            f"{checkpoints} lies in the folder of the metric, which is written when all is done; "
            "give another to --checkpoints."
        )
    if not checkpoints.is_dir():
        check_new_folder(checkpoints)
    return checkpoints


def _is_first_process() -> bool:
    """Whether this process is the only one, or the one of several that writes and prints."""
    is_alone = int(os.environ.get("WORLD_SIZE", "1")) <= 1
    return is_alone or os.environ.get("RANK", "0") == "0"


def _train(metric: PairRegressor, quiet: bool) -> None:
    """Train as the plan says, from where an earlier run was stopped."""
    folder = metric.checkpoints
    if folder is None:
        raise TypeError("the command always has a folder of checkpoints")
    with _stoppable(folder, quiet), training_progress(quiet) as progress:
        metric.fit(progress=progress)


@contextmanager
def _stoppable(folder: Path, quiet: bool) -> Iterator[None]:
    """On Ctrl-C say in one line how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet and _has_checkpoint(folder):
            print_message(f"stopped; the same command goes on from {folder}.")
        elif not quiet:
            print_message("stopped before there was a checkpoint; the same command begins anew.")
        raise typer.Exit(_INTERRUPTED) from None


def _has_checkpoint(folder: Path) -> bool:
    return any(folder.glob("checkpoint-*/state.json"))


def _leave_others() -> None:
    """Leave the process group, if there is one; PyTorch warns of one that is left open.

    All processes leave together: where one leaves while another still writes, Gloo may abort it.
    """
    import torch.distributed

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def _check_frozen(options: PlanOptions, unused: Mapping[str, object]) -> None:
    """Raise where a flag would have no effect on a perceptron, or one is lacking."""
    learnt = {
        "--preferences": options.preferences,
        "--start": options.start,
        "--surface": options.surface,
    }
    conflicts = _used_flags({**learnt, **_setting_flags(options), **unused})
    if conflicts:
        raise AdequaError(
            "The settings paper-frozen train a perceptron on ratings, over an encoder that stays "
            f"as it is; leave out {conflicts}."
        )
    if not options.ratings or not options.encoder:
        raise AdequaError("The settings paper-frozen need --ratings and --encoder PATH.")


def _train_frozen(
    options: PlanOptions, name: str, *, device: str, download: bool, quiet: bool
) -> EmbeddingRegressor:
    """The paper's variant that is not fine-tuned (§5): a perceptron over four layers."""
    from adequa.encoders.base import cached
    from adequa.encoders.transformer import TransformerPair
    from adequa.learned.embedding.metric import EmbeddingRegressor

    ratings = load_ratings(options.ratings, options.lp, options.sample or None, options.seed, quiet)
    encoder = TransformerPair.load(
        options.encoder, device="" if device == "auto" else device, download=download
    )
    with training_progress(quiet) as progress:
        return EmbeddingRegressor(
            encoder=cached(encoder, progress=progress.texts_scored),
            model="mlp",
            grid="paper",
            references="mean" if options.references == "mean" else "best",
            seed=options.seed,
            device=device,
            name=name,
        ).fit(ratings, progress)
