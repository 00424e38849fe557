"""The RELIEF family, IM4E and IMMIGRATE: the options, the label-free stage and the warnings that they share."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Options, option
from fastfs._inputs.checks import as_count, as_float, as_int, as_not_negative, as_seed, choose, some_of
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense
from fastfs._inputs.streams import sample_rows
from fastfs._machine.run import Run, core
from fastfs._types import Array, Integers

Labels = npt.NDArray[np.int64]


def as_scaling(name: str, scaling: Any, words: tuple[str, ...] = ("range", "standard")) -> str:
    return "none" if scaling is None else choose(name, scaling, words, "None")


def as_positive(name: str, value: Any) -> float:
    """Return value as a finite float above 0, or say which parameter isn't one."""
    number = as_float(name, value)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return number


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
        return {key: value for key, value in super().core().items() if key not in self.stage()}

    def stage(self) -> dict[str, Any]:
        """Return the options of the label-free stage under the names of the core."""
        return {"scaling": self.scaling}


@dataclass(frozen=True, kw_only=True)
class IterationOptions(MarginOptions):
    """Options of IM4E and IMMIGRATE."""

    sigma: float | str = option(as_sigma)
    max_iter: int = option(lambda name, value: as_int(name, value, low=1, high=1_000_000))
    tol: float = option(as_not_negative)
    n_rows: int = option(as_count)
    random_state: int = option(lambda _, value: as_seed(value), key="seed")

    def core(self) -> dict[str, Any]:
        return {key: value for key, value in super().core().items() if key != "n_rows"}


def read(X: Any, y: Any, options: IterationOptions, run: Run) -> tuple[Array, Array, Labels, Integers | None]:
    """Return X as of `as_dense`, the classes, the label of each sample, and the rows as of `sample_rows`."""
    X, y, rows = sample_rows(X, y, options.n_rows, options.random_state, run)
    data = as_dense(X, run)
    classes, labels = encode_labels(y, *data.shape)
    require_classes(classes)
    return data, classes, labels, rows


class Stage:
    """The label-free stage: fits of the same X with different labels repeat only what depends on them.

    Parameters
    ----------
    X : ndarray or sparse matrix
        As of `as_matrix`; sparse for the RELIEF family but RELIEF only.
    options : dict
        Of `MarginOptions.stage`, and what else the core takes.
    run : Run
        Also of the calls that use the stage.
    keep : {"none", "manhattan", "sqeuclidean"}
        Distances to compute once, 8 n_samples^2 bytes, unless that exceeds the budget: those of the RELIEF family and
        the first iteration of IM4E, or those of RELIEF and the first iteration of IMMIGRATE.
    """

    def __init__(self, X: Any, options: Mapping[str, Any], run: Run, keep: str = "none") -> None:
        self.X, self.options, self.run = X, {**options, "keep": keep}, run

    @cached_property
    def core(self) -> Any:
        """The core's object, made when it is first needed: bad options are found before."""
        return core().Margin(self.X, self.options, self.run)


def algorithm(found: dict[str, Any]) -> str:
    return "stored" if found["stored"] else "blocks"


def messages(flags: int, classes: Array | None, labels: Labels | None, *, method: str) -> list[str]:
    """Return the warnings of the core that several methods have, in words."""
    from fastfs import _core

    found = []
    if flags & _core.MARGIN_ONE_SAMPLE and classes is not None and labels is not None:
        alone = some_of([f"class {c}" for c in classes[np.bincount(labels, minlength=len(classes)) == 1]])
        effect = "is skipped as a target" if method == "relief" else "counts by its misses only"
        found.append(f"one sample only in {alone}: it has no other of its class to be compared with, so it {effect}")
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
    return found
