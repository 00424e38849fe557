"""Options, label-free stage and warnings that the RELIEF family, IM4E and IMMIGRATE share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Options, RandomCall, option_class, option_field
from fastfs._functions.outcome import Outcome
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense
from fastfs._inputs.streams import sample_rows
from fastfs._machine.errors import in_rows
from fastfs._machine.params import as_count, as_float, as_int, as_not_negative, as_seed, check_choice
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Integers

Labels = npt.NDArray[np.int64]
_Result = TypeVar("_Result")
_IterationOptions = TypeVar("_IterationOptions", bound="IterationOptions")


def as_scaling(name: str, scaling: Any, words: tuple[str, ...] = ("range", "standard")) -> str:
    return "none" if scaling is None else check_choice(name, scaling, words, "None")


def as_sigma(name: str, sigma: Any) -> float | str:
    if isinstance(sigma, str):
        return check_choice(name, sigma, ("auto",), "a positive number")
    value = as_float(name, sigma)
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be 'auto' or a positive number; got {sigma!r}")
    return value


class MarginOptions(Options):
    """Options of every margin method; `scaling` belongs to the label-free stage."""

    scaling: str | None

    def core_options(self) -> dict[str, Any]:
        """Return the options of a fit under the names of the core."""
        return {key: value for key, value in super().core_options().items() if key not in self.stage_options()}

    def stage_options(self) -> dict[str, Any]:
        """Return the options of the label-free stage under the names of the core."""
        return {"scaling": self.scaling}


@option_class
class IterationFields:
    """Options of IM4E and IMMIGRATE, as an estimator or a function takes them."""

    sigma: float | str = option_field(as_sigma, default="auto")
    max_iter: int = option_field(lambda name, value: as_int(name, value, low=1, high=1_000_000), default=10)
    tol: float = option_field(as_not_negative, default=1e-4)
    n_rows: int | None = option_field(as_count, default=None)
    scaling: str | None = option_field(as_scaling, default="standard")
    random_state: Any = option_field(lambda _, value: as_seed(value), key="seed", default=0)


@option_class
class IterationCall(RandomCall):
    """Arguments of the functions of IM4E and IMMIGRATE besides their options."""

    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)

    def fit_samples(
        self,
        options_class: type[_IterationOptions],
        fit: Callable[["MarginStage", Labels, Array, _IterationOptions], Outcome[_Result]],
    ) -> _Result:
        """Return the result of a fit to all samples, or to those that are drawn, and issue its warnings."""
        options, run = options_class.from_arguments(self), self.make_run()
        data, classes, labels, rows = read_labelled_samples(self.X, self.y, options, run)
        stage = MarginStage(data, options.stage_options(), run)
        with in_rows(rows):
            return fit(stage, labels, classes, options).warn_and_return()


@dataclass(kw_only=True)
class IterationOptions(IterationFields, MarginOptions):
    """Options of IM4E and IMMIGRATE, as the core takes them."""

    def core_options(self) -> dict[str, Any]:
        """Return the options of a fit under the names of the core."""
        core_options = {key: value for key, value in super().core_options().items() if key not in ("n_rows", "sigma")}
        if isinstance(self.sigma, str):
            return core_options | {"sigma_rule": self.sigma}
        return core_options | {"sigma_rule": "given", "sigma": self.sigma}


def read_labelled_samples(
    X: Any, y: Any, options: IterationOptions, run: Run
) -> tuple[Array, Array, Labels, Integers | None]:
    """Return X as a dense array, the classes, the label of each sample, and the rows that were drawn, if any.

    Raise ValueError for a single class.
    """
    X, y, rows = sample_rows(X, y, options.n_rows or 0, options.random_state, run)
    data = as_dense(X, run)
    classes, labels = encode_labels(y, *data.shape)
    require_classes(classes)
    return data, classes, labels, rows


def iteration_fields(core_result: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that describe the iteration."""
    fields = {name: core_result[name] for name in ("sigma", "cost", "objective", "converged")}
    return fields | {"n_iter": len(core_result["cost"]), "algorithm": algorithm_name(core_result)}


class MarginStage:
    """The label-free stage: fits of one X with different labels repeat only the work that depends on labels.

    Parameters
    ----------
    X : ndarray or sparse matrix
        From `as_matrix`; RELIEF, IM4E and IMMIGRATE don't take sparse matrices.
    options : dict
        From `MarginOptions.stage_options`, with further options of the core.
    run : Run
        Run of the stage and of all calls that use it.
    keep : {"none", "manhattan", "sqeuclidean"}
        Distances to compute once, in 8 n_samples^2 bytes, unless they exceed the budget: "manhattan" for the RELIEF
        family and the first iteration of IM4E, "sqeuclidean" for RELIEF and the first iteration of IMMIGRATE.
    with_blas : bool
        False for the RELIEF family, which calls no BLAS.
    """

    def __init__(
        self, X: Any, options: Mapping[str, Any], run: Run, keep: str = "none", *, with_blas: bool = True
    ) -> None:
        self.X, self.options, self.run, self.with_blas = X, {**options, "keep": keep}, run, with_blas

    @cached_property
    def core_margin(self) -> Any:
        """The core's object, made at its first use, so that wrong options are found before."""
        return load_core(with_blas=self.with_blas).Margin(self.X, self.options, self.run)


def algorithm_name(core_result: dict[str, Any]) -> str:
    """Return "stored" if the core stored all distances, "blocks" if it computed them by blocks of rows."""
    return "stored" if core_result["stored"] else "blocks"
