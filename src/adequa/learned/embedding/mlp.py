"""The multi-layer perceptron of RUSE: the trained model, and the grid search for its settings.

§5 of the BERT regressor paper: Adam, and the batch size, dropout rate, number of hidden layers and
of their units chosen by grid search, with the epoch, on development data. What the paper leaves
open is decided here: the criterion is Pearson correlation; the loss is the mean squared error;
hidden units are ReLU and the output is linear; dropout is on hidden layers and not on the input;
weights and biases are initialised uniformly within ±1/√(inputs); targets are standardised for
training, and the last layer is scaled back afterwards, so that predictions are on the scale of the
targets. The paper splits off its development data at random; here rows of one reference stay
together.

Training needs PyTorch. The trained model is plain arrays, which predict without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.device import to_device, torch_device
from adequa.errors import AdequaError
from adequa.io.arrays import check_shape
from adequa.learned.embedding.features import Features, Standardisation, row_blocks
from adequa.learned.folds import FittedRegressor, Mask, split_off
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

# The weights, shape (outputs, inputs), and the biases of each layer.
Layers: TypeAlias = tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], ...]


# Settings


@dataclass(frozen=True, slots=True)
class MLPSetting:
    """The hyper-parameters that a grid search chooses, besides the epoch."""

    batch: int
    dropout: float
    layers: int  # hidden ones
    units: int  # in each of them


@dataclass(frozen=True, slots=True)
class MLPGrid:
    """Values to combine, and what is the same for all. With `scaled`, features are standardised."""

    batch: tuple[int, ...]
    dropout: tuple[float, ...]
    layers: tuple[int, ...]
    units: tuple[int, ...]
    scaled: bool
    epochs: int = 30
    learning_rate: float = 1e-3

    def settings(self) -> tuple[MLPSetting, ...]:
        """Return all combinations."""
        values = product(self.batch, self.dropout, self.layers, self.units)
        return tuple(MLPSetting(*each) for each in values)


MLP_GRIDS = {
    # Six settings, for a CPU. Standardised features are learnt from in fewer and smaller steps.
    "scaled": MLPGrid(
        batch=(512,),
        dropout=(0.1, 0.3, 0.5),
        layers=(1, 2),
        units=(1024,),
        scaled=True,
        epochs=20,
        learning_rate=3e-4,
    ),
    # §5 of the BERT regressor paper: 180 settings, for a GPU.
    "paper": MLPGrid(
        batch=(64, 128, 256, 512, 1024),
        dropout=(0.1, 0.3, 0.5),
        layers=(1, 2, 3),
        units=(512, 1024, 2048, 4096),
        scaled=False,
    ),
}


# The trained model


@dataclass(frozen=True, slots=True, eq=False)
class MLP:
    """A trained perceptron: ReLU between the layers, one linear output."""

    layers: Layers
    standardisation: Standardisation | None = None

    @property
    def dimension(self) -> int:
        """The number of features in a row."""
        return int(self.layers[0][0].shape[1])

    def predict(self, features: Features) -> FloatArray:
        """Return one prediction per row.

        Sums are formed in float64, so that a row's score does not depend on the rows beside it
        by more than its last digits.
        """
        layers = [(weights.T.astype(np.float64), biases) for weights, biases in self.layers]
        predictions = np.empty(len(features))
        for rows in row_blocks(features):
            block = features[rows]
            if self.standardisation is not None:
                block = self.standardisation(block)
            activations = block.astype(np.float64)
            for weights, biases in layers[:-1]:
                activations = np.maximum(activations @ weights + biases, 0.0)
            weights, biases = layers[-1]
            predictions[rows] = (activations @ weights + biases)[:, 0]
        return predictions

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it as arrays by name, for an .npz file."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for number, (weights, biases) in enumerate(self.layers, 1):
            arrays |= {f"weights_{number}": weights, f"biases_{number}": biases}
        return arrays | (self.standardisation.arrays() if self.standardisation else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> MLP:
        """Return the model of saved arrays."""
        count = sum(name.startswith("weights_") for name in arrays)
        layers = tuple((arrays[f"weights_{n}"], arrays[f"biases_{n}"]) for n in range(1, count + 1))
        inputs: int | None = None
        for number, (weights, biases) in enumerate(layers, 1):
            check_shape(f"weights_{number}", weights, 1 if number == count else None, inputs)
            check_shape(f"biases_{number}", biases, len(weights))
            inputs = len(weights)
        return cls(layers, Standardisation.from_arrays(arrays, layers[0][0].shape[1]))


# The network while it is trained


def build_network(dimension: int, setting: MLPSetting, generator: torch.Generator) -> nn.Sequential:
    """Return a network with initial weights, and later dropout masks, from the generator."""
    import torch  # noqa: PLC0415  # an extra, and heavy
    from torch import nn  # noqa: PLC0415

    class Dropout(nn.Module):
        """Dropout whose masks come from a generator; torch's own uses the global one."""

        def forward(self, values: Tensor) -> Tensor:
            if not self.training:
                return values
            noise = torch.rand(values.shape, generator=generator, device=values.device)
            return values * (noise >= setting.dropout) / (1 - setting.dropout)

    def uniform(inputs: int, *shape: int) -> nn.Parameter:
        values = torch.rand(shape, generator=generator, device=generator.device)
        return nn.Parameter(values.mul_(2).sub_(1).div_(inputs**0.5))

    def linear(inputs: int, outputs: int) -> nn.Linear:
        layer = nn.Linear(inputs, outputs, device="meta")  # without weights of its own
        layer.weight = uniform(inputs, outputs, inputs)
        layer.bias = uniform(inputs, outputs)
        return layer

    network = nn.Sequential()
    *hidden, last = pairwise([dimension, *[setting.units] * setting.layers, 1])
    for sizes in hidden:
        network.extend([linear(*sizes), nn.ReLU(), *([Dropout()] if setting.dropout else [])])
    return network.append(linear(*last)).append(nn.Flatten(0))


def linear_layers(network: nn.Sequential, mean: float, scale: float) -> Layers:
    """Return the layers as numpy arrays, the last one scaled to targets of that mean and scale."""
    arrays = [parameter.detach().cpu().numpy() for parameter in network.parameters()]
    *hidden, (weights, biases) = zip(arrays[::2], arrays[1::2], strict=True)
    last = (weights * scale).astype(np.float32), (biases * scale + mean).astype(np.float32)
    return (*hidden, last)


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """Training and development rows, copied to the device once for all settings."""

    features: Tensor
    targets: Tensor
    development_features: Tensor
    development_targets: Tensor

    @classmethod
    def on(
        cls, device: torch.device, features: Features, targets: FloatArray, development: Mask
    ) -> _Data:
        parts = (~development, development)
        return cls(
            *(
                to_device(array[part], device)
                for part in parts
                for array in (features, targets.astype(np.float32))
            )
        )


# Grid search


@dataclass(frozen=True, slots=True, eq=False)
class MLPSearch:
    """Every setting with its development correlations, and the model of the best."""

    settings: tuple[MLPSetting, ...]
    correlations: FloatArray  # (settings, epochs); -inf for a setting that diverged
    model: MLP  # of the best setting after its best epoch

    @property
    def best_index(self) -> int:
        """Index of the setting with the highest correlation of any epoch; the first of equals."""
        return int(self.correlations.max(axis=1).argmax())

    @property
    def best(self) -> MLPSetting:
        """The setting with the highest development correlation."""
        return self.settings[self.best_index]

    @property
    def best_epoch(self) -> int:
        """The epoch, from 1, after which the best setting agreed best."""
        return int(self.correlations[self.best_index].argmax()) + 1


def search_mlp(
    features: Features,
    targets: FloatArray,
    development: Mask,
    grid: MLPGrid,
    seed: int,
    *,
    device: str = "auto",
    tf32: bool = False,
    advance: Callable[[int, int], None] = lambda _done, _total: None,  # settings
) -> MLPSearch:
    """Train every setting on the rows outside the development mask, and choose on those inside.

    Each setting starts from the same seed, so that its result does not depend on the others, and
    the global generators are left alone. `device` is "auto" (a GPU where there is one), "cpu",
    "cuda" or the like; `tf32` lets a GPU multiply with fewer digits, at a multiple of the speed.
    """
    standardisation = Standardisation.fit(features[~development]) if grid.scaled else None
    if standardisation is not None:
        features = standardisation(features)
    mean, scale = targets[~development].mean(), targets[~development].std()
    data = _Data.on(torch_device(device), features, (targets - mean) / scale, development)
    settings = grid.settings()
    correlations = np.full((len(settings), grid.epochs), -np.inf)
    best, layers = -np.inf, None
    with _matmul_precision(data.features.device, tf32):
        for index, setting in enumerate(settings):
            network = _train(data, setting, grid, seed, correlations[index])
            if network is not None and correlations[index].max() > best:
                best = correlations[index].max()
                layers = linear_layers(network, mean, scale)
            advance(index + 1, len(settings))
    if layers is None:
        raise AdequaError(
            "No perceptron could be trained, because weights grew beyond all bounds; standardise "
            "the features."
        )
    return MLPSearch(settings, correlations, MLP(layers, standardisation))


def _train(
    data: _Data, setting: MLPSetting, grid: MLPGrid, seed: int, correlations: FloatArray
) -> nn.Sequential | None:
    """Return the network after its best epoch, or None where it diverged.

    The development correlation after each epoch is written into `correlations`.
    """
    import torch  # noqa: PLC0415  # an extra, and heavy

    from adequa.learned.training import (  # noqa: PLC0415
        DivergedError,
        Evaluation,
        Stage,
        Trial,
        train,
    )

    device, rows = data.features.device, len(data.targets)
    generator = torch.Generator(device).manual_seed(seed)
    network = build_network(data.features.shape[1], setting, generator)
    # One stream for all epochs: this training is short and never resumed from a checkpoint.
    batches: list[Tensor] = []  # of the epoch; the next one is the last of the list

    def gradients(_step: int) -> tuple[Tensor, float]:
        if not batches:
            order = torch.randperm(rows, generator=generator, device=device)
            batches.extend(reversed(torch.split(order, setting.batch)))
        batch = batches.pop()
        loss = (network(data.features[batch]) - data.targets[batch]).square().mean()
        loss.backward()
        return loss.detach(), 1.0

    @torch.no_grad()
    def evaluate() -> Evaluation:
        predictions = network(data.development_features)
        pearson = _pearson(predictions, data.development_targets)
        return Evaluation(pearson, {"pearson": pearson})

    steps = -(-rows // setting.batch)
    trial = Trial(
        steps=grid.epochs * steps,
        optimizer=lambda: torch.optim.Adam(
            network.parameters(), lr=grid.learning_rate, fused=device.type == "cuda"
        ),
        gradients=gradients,
        evaluate=evaluate,
        evaluate_after=range(steps, grid.epochs * steps + 1, steps),
    )
    try:
        outcome = train(network, [Stage(str(setting), (trial,), ties="first")])
    except DivergedError:
        return None
    correlations[:] = [epoch["pearson"] for epoch in outcome.history]
    return network


def _pearson(predictions: Tensor, targets: Tensor) -> float:
    """Return the correlation in float64; 0 where a side is constant, NaN where it is not finite."""
    x, y = (side.double() - side.double().mean() for side in (predictions, targets))
    correlation = float((x @ y / (x.norm() * y.norm())).clamp(-1, 1))
    return 0.0 if np.isnan(correlation) and bool(predictions.isfinite().all()) else correlation


@contextmanager
def _matmul_precision(device: torch.device, tf32: bool) -> Iterator[None]:
    """Multiply matrices on a GPU with or without TF32; restore the setting at the end."""
    import torch  # noqa: PLC0415  # an extra, and heavy

    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


# Split, then search


def check_mlp(groups: Sequence[str], development: float, seed: int, device: str) -> None:
    """Raise what `fit_mlp` would raise: better before texts are encoded than after."""
    torch_device(device)
    split_off(groups, development, seed)


def fit_mlp(
    features: Features,
    targets: FloatArray,
    groups: Sequence[str],
    grid: MLPGrid,
    *,
    development: float,
    seed: int,
    device: str = "auto",
    progress: Progress = NO_PROGRESS,
) -> FittedRegressor[MLP]:
    """Train a perceptron with the setting and the epoch of the best Pearson on a split."""
    progress.stage("Searching for settings")
    validation = split_off(groups, development, seed)
    search = search_mlp(
        features,
        targets,
        validation,
        grid,
        seed,
        device=device,
        tf32=True,  # on a GPU; the lost digits are far fewer than dropout blurs
        advance=progress.step,
    )
    return FittedRegressor(
        regressor=search.model,
        chosen=asdict(search.best) | {"epoch": search.best_epoch},
        settings_tried=len(search.settings),
        folds=0,
        criterion=float(search.correlations.max()),
        rows=np.flatnonzero(validation),
        fold_of_row=np.zeros(validation.sum(), np.intp),
        predictions=search.model.predict(features[validation]),
    )
