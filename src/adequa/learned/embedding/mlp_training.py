"""Training of the RUSE regressor: a multi-layer perceptron, and the grid search for its settings.

§5 of the BERT regressor paper: hidden layers of ReLU units, Adam, and the batch size, dropout rate,
number of layers and of units chosen by grid search, with the epoch, on development data. What the
paper leaves open is decided here: the loss is the mean squared error; the output is linear; dropout
is on hidden layers and not on the input; weights and biases begin uniform within ±1/√(inputs);
targets are brought to mean 0 and standard deviation 1 for training, and the last layer is scaled
back afterwards, so that predictions are in the scale of the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.learned.device import training_device
from adequa.learned.embedding.distances import Features
from adequa.learned.embedding.standardisation import (
    Standardisation,
    checked_training_rows,
    standardisation,
)
from adequa.learned.folds import Mask
from adequa.segments import FloatArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Of each layer the weights, shape (outputs, inputs), and the biases.
Layers: TypeAlias = tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], ...]
TensorLayers: TypeAlias = "list[tuple[Tensor, Tensor]]"
Progress: TypeAlias = Callable[[int, int], None]  # settings done, settings in all


@dataclass(frozen=True, slots=True)
class PerceptronSetting:
    """The hyper-parameters that a grid search chooses, besides the epoch."""

    batch: int
    dropout: float
    layers: int  # hidden ones
    units: int  # in each of them

    def __post_init__(self) -> None:
        if min(self.batch, self.layers, self.units) < 1 or not 0 <= self.dropout < 1:
            raise AdequaError(
                "A perceptron has at least 1 hidden layer, 1 unit and 1 row a batch, and a dropout "
                f"rate from 0 to below 1, but here is {self}."
            )


@dataclass(frozen=True, slots=True)
class PerceptronGrid:
    """Values to combine, and what is the same for all. With `scaled`, features are standardised."""

    batch: tuple[int, ...]
    dropout: tuple[float, ...]
    layers: tuple[int, ...]
    units: tuple[int, ...]
    scaled: bool
    epochs: int = 30
    learning_rate: float = 1e-3

    def settings(self) -> tuple[PerceptronSetting, ...]:
        """All combinations."""
        values = product(self.batch, self.dropout, self.layers, self.units)
        return tuple(PerceptronSetting(*each) for each in values)


# §5 of the BERT regressor paper: 180 settings, for a GPU.
PAPER = PerceptronGrid(
    batch=(64, 128, 256, 512, 1024),
    dropout=(0.1, 0.3, 0.5),
    layers=(1, 2, 3),
    units=(512, 1024, 2048, 4096),
    scaled=False,
)
# Six settings, for a CPU. Standardised features are learnt from in fewer and smaller steps.
SHORT = PerceptronGrid(
    batch=(512,),
    dropout=(0.1, 0.3, 0.5),
    layers=(1, 2),
    units=(1024,),
    scaled=True,
    epochs=20,
    learning_rate=3e-4,
)


@dataclass(frozen=True, slots=True, eq=False)
class PerceptronSearch:
    """Every setting with its development correlations, and the weights of the best."""

    settings: tuple[PerceptronSetting, ...]
    correlations: FloatArray  # (settings, epochs)
    layers: Layers  # of the best setting after its best epoch
    standardisation: Standardisation | None

    @property
    def best_index(self) -> int:
        """Of the setting with the highest correlation after any epoch; the first among equals."""
        return int(self.correlations.max(axis=1).argmax())

    @property
    def best(self) -> PerceptronSetting:
        """The setting with the highest development correlation."""
        return self.settings[self.best_index]

    @property
    def best_epoch(self) -> int:
        """The epoch, from 1, after which the best setting agreed best."""
        return int(self.correlations[self.best_index].argmax()) + 1


def search_perceptrons(
    features: Features,
    targets: FloatArray,
    development: Mask,
    grid: PerceptronGrid,
    seed: int,
    *,
    device: str = "auto",
    tf32: bool = False,
    advance: Progress = lambda _done, _total: None,
) -> PerceptronSearch:
    """Train every setting on the rows outside the development mask, and choose on those inside.

    Each setting begins from the same seed, so that its result does not depend on the others, and
    the global generators are left alone. `device` is "auto" (a GPU where there is one), "cpu",
    "cuda" or the like; `tf32` lets a GPU multiply with fewer digits, at a multiple of the speed.
    """
    features, targets = checked_training_rows(features, targets)
    _check_split(development, targets)
    scaling = standardisation(features[~development]) if grid.scaled else None
    if scaling is not None:
        features = scaling(features)
    target_mean, target_scale = targets[~development].mean(), targets[~development].std()
    rows = _Rows.on(
        training_device(device), features, (targets - target_mean) / target_scale, development
    )
    settings = grid.settings()
    correlations = np.empty((len(settings), grid.epochs))
    best, layers = -np.inf, []
    with _precision(rows.device, tf32):
        for done, setting in enumerate(settings, 1):
            found, kept = _trained(rows, setting, grid, seed)
            correlations[done - 1] = found.cpu().numpy()
            if correlations[done - 1].max() > best:
                best, layers = correlations[done - 1].max(), kept
            advance(done, len(settings))
    return PerceptronSearch(
        settings, correlations, _scaled_back(layers, target_mean, target_scale), scaling
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Training and development rows, on the device once for all settings."""

    features: Tensor
    targets: Tensor
    development_features: Tensor
    development_targets: Tensor

    @property
    def device(self) -> torch.device:
        return self.features.device

    @classmethod
    def on(
        cls, device: torch.device, features: Features, targets: FloatArray, development: Mask
    ) -> _Rows:
        import torch  # noqa: PLC0415  # an extra, and heavy

        def there(array: npt.NDArray[np.float32]) -> Tensor:
            return torch.from_numpy(array).to(device)

        train, targets32 = ~development, targets.astype(np.float32)
        halves = features[train], targets32[train], features[development], targets32[development]
        return cls(*(there(array) for array in halves))


def _trained(
    rows: _Rows, setting: PerceptronSetting, grid: PerceptronGrid, seed: int
) -> tuple[Tensor, TensorLayers]:
    """The development correlation after each epoch, and the layers after the best.

    Nothing in here waits for the device: what is compared stays there.
    """
    import torch  # noqa: PLC0415  # an extra, and heavy

    generator = torch.Generator(rows.device).manual_seed(seed)
    layers = _initial_layers(rows.features.shape[1], setting, generator)
    weights = [tensor for layer in layers for tensor in layer]
    adam = torch.optim.Adam(weights, lr=grid.learning_rate, fused=rows.device.type == "cuda")
    best = torch.full((), -torch.inf, device=rows.device)
    kept = [tensor.detach().clone() for tensor in weights]
    correlations = []
    for _ in range(grid.epochs):
        order = torch.randperm(len(rows.targets), generator=generator, device=rows.device)
        for batch in torch.split(order, setting.batch):
            predicted = forward(rows.features[batch], layers, setting.dropout, generator)
            loss = (predicted - rows.targets[batch]).square().mean()
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        with torch.no_grad():
            predicted = forward(rows.development_features, layers)
            correlations.append(_correlation(predicted, rows.development_targets))
            better = correlations[-1] > best
            best = torch.where(better, correlations[-1], best)
            for old, new in zip(kept, weights, strict=True):
                old.copy_(torch.where(better, new, old))
    return torch.stack(correlations), list(zip(kept[::2], kept[1::2], strict=True))


def forward(
    features: Tensor,
    layers: TensorLayers,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """One number a row: linear maps with ReLU between them, and dropout on what ReLU gives.

    Masks come from the generator, because torch's own dropout would draw on the global one.
    """
    import torch  # noqa: PLC0415  # an extra, and heavy

    values = features
    for weights, biases in layers[:-1]:
        values = torch.relu(torch.nn.functional.linear(values, weights, biases))
        if dropout:
            drawn = torch.rand(values.shape, generator=generator, device=values.device)
            values = values * (drawn >= dropout) / (1 - dropout)
    return torch.nn.functional.linear(values, *layers[-1]).squeeze(1)


def _initial_layers(
    dimension: int, setting: PerceptronSetting, generator: torch.Generator
) -> TensorLayers:
    import torch  # noqa: PLC0415  # an extra, and heavy

    def drawn(inputs: int, *shape: int) -> Tensor:
        uniform = torch.rand(shape, generator=generator, device=generator.device)
        return uniform.mul_(2).sub_(1).div_(inputs**0.5).requires_grad_()

    sizes = [dimension, *[setting.units] * setting.layers, 1]
    return [
        (drawn(inputs, outputs, inputs), drawn(inputs, outputs))
        for inputs, outputs in pairwise(sizes)
    ]


def _correlation(predicted: Tensor, targets: Tensor) -> Tensor:
    """Pearson's correlation in float64, on the device; 0 where a side is constant."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    sides = [side.double() - side.double().mean() for side in (predicted, targets)]
    spread = sides[0].norm() * sides[1].norm()
    return torch.nan_to_num(sides[0] @ sides[1] / spread, nan=0.0).clamp(-1, 1)


def _scaled_back(layers: TensorLayers, mean: float, scale: float) -> Layers:
    """As numpy arrays, the last layer in the scale of the targets."""
    *hidden, (weights, biases) = [tuple(t.cpu().numpy() for t in layer) for layer in layers]
    if not all(
        np.isfinite(array).all() for layer in (*hidden, (weights, biases)) for array in layer
    ):
        raise AdequaError(
            "No perceptron could be trained, because weights grew beyond all bounds; standardise "
            "the features."
        )
    last = (weights * scale).astype(np.float32), (biases * scale + mean).astype(np.float32)
    return (*((each[0], each[1]) for each in hidden), last)


def _check_split(development: Mask, targets: FloatArray) -> None:
    if development.shape != targets.shape:
        raise AdequaError(
            f"Every row is for training or for development, but {targets.size} rows have "
            f"{development.size} marks."
        )
    for what, rows in (("training", ~development), ("development", development)):
        if np.unique(targets[rows]).size < 2:  # noqa: PLR2004  # a constant has no correlation
            raise AdequaError(
                f"The {what} rows need at least 2 different targets, but there are "
                f"{int(rows.sum())} rows with the same; give more judgements."
            )


@contextmanager
def _precision(device: torch.device, tf32: bool) -> Iterator[None]:
    """Matrix products on a GPU with or without TF32; the setting before is restored."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
