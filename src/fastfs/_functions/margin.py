"""RELIEF, ReliefF, MultiSURF, IM4E, IMMIGRATE: the options, the label-free stage and the warnings that they share."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Options, option
from fastfs._inputs.checks import as_float, as_int, as_not_negative, choose, some_of
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense
from fastfs._machine.run import Run, core
from fastfs._types import Array

Labels = npt.NDArray[np.int64]


def as_scaling(name: str, scaling: Any) -> str:
    return "none" if scaling is None else choose(name, scaling, ("range", "standard"), "None")


def as_sigma(name: str, sigma: Any) -> float | str:
    if isinstance(sigma, str):
        return choose(name, sigma, ("auto",), "a positive number")
    value = as_float(name, sigma)
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be 'auto' or a positive number, not {sigma!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class MarginOptions(Options):
    """Options of every margin method; `scaling` is that of the label-free stage."""

    scaling: str = option(as_scaling)

    def core(self) -> dict[str, Any]:
        return {key: value for key, value in super().core().items() if key != "scaling"}


@dataclass(frozen=True, kw_only=True)
class IterationOptions(MarginOptions):
    """Options of IM4E and IMMIGRATE."""

    sigma: float | str = option(as_sigma)
    max_iter: int = option(lambda name, value: as_int(name, value, low=1, high=1_000_000))
    tol: float = option(as_not_negative)


def read(X: Any, y: Any, run: Run) -> tuple[Array, Array, Labels]:
    """Return X as of `as_dense`, the classes and the label of each sample."""
    data = as_dense(X, run)
    classes, labels = encode_labels(y, *data.shape)
    require_classes(classes)
    return data, classes, labels


class Stage:
    """The label-free stage: fits of the same X with different labels repeat only what depends on them.

    Parameters
    ----------
    X : ndarray
        As of `as_dense`.
    scaling : {"none", "range", "standard"}
    run : Run
        Also of the calls that use the stage.
    keep : {"none", "manhattan", "sqeuclidean"}
        Distances to compute once, 8 n_samples^2 bytes, unless that exceeds the budget: those of ReliefF, MultiSURF and
        the first iteration of IM4E, or those of RELIEF and the first iteration of IMMIGRATE.
    """

    def __init__(self, X: Array, scaling: str, run: Run, keep: str = "none") -> None:
        self.X, self.scaling, self.run, self.keep = X, scaling, run, keep

    @cached_property
    def core(self) -> Any:
        """The core's object, made when it is first needed: bad options are found before."""
        return core().Margin(self.X, self.scaling, self.keep, self.run)


def algorithm(found: dict[str, Any]) -> str:
    return "stored" if found["stored"] else "blocks"


def messages(flags: int, classes: Array, labels: Labels, *, method: str, n_neighbors: int = 0) -> list[str]:
    """Return the warnings of the core in words."""
    from fastfs import _core

    sizes = np.bincount(labels, minlength=len(classes))
    found = []
    if flags & _core.MARGIN_ONE_SAMPLE:
        alone = some_of([f"class {c}" for c in classes[sizes == 1]])
        effect = "is skipped as a target" if method == "relief" else "counts by its misses only"
        found.append(f"one sample only in {alone}: it has no other of its class to be compared with, so it {effect}")
    if flags & _core.MARGIN_FEW_NEIGHBORS:
        small = [f"class {c} ({n})" for c, n in zip(classes, sizes, strict=True) if n <= n_neighbors]
        found.append(
            f"n_neighbors = {n_neighbors} is more than some classes have to offer, so all their samples were used: "
            + some_of(small)
        )
    if flags & _core.MARGIN_NO_WEIGHT:
        if method == "relief":
            found.append("no feature is nearer among hits than among misses, so all scores are 0")
        else:
            found.append(
                "hits came to lie no nearer than misses, which leaves nothing to weigh, so the weights of the "
                "iteration before stay: the classes don't differ locally, or sigma is too small or too large"
            )
    if flags & _core.MARGIN_UNEVEN:
        found.append(
            "the standard deviations of the features lie more than 1000 times apart, so that those with the largest "
            "decide alone: choose scaling='standard' or 'range', or scale the features"
        )
    if flags & _core.MARGIN_NO_NEIGHBORS:
        found.append("no sample has a neighbour nearer than its threshold, so all scores are 0")
    return found
