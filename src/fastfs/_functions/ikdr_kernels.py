"""The kernels of I-KDR: Gaussian kernels of features or of groups of them, custom functions, or matrices."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastfs._functions.options import Needs, Options, option_class, option_field
from fastfs._inputs.labels import number_labels
from fastfs._inputs.matrix import as_decoded, as_dense, as_floats, describe_not_finite
from fastfs._inputs.storage import by_columns, dense
from fastfs._inputs.values import for_core
from fastfs._machine.params import as_float, check_choice, word_or_none
from fastfs._machine.run import Run
from fastfs._types import Array, Integers


def _as_kernel(name: str, value: Any) -> Any:
    return value if callable(value) else check_choice(name, value, ("rbf", "precomputed"), "a callable")


def _as_width(name: str, value: Any) -> float | str:
    if isinstance(value, str):
        return check_choice(name, value, ("mean_squared", "mean"), "a positive number")
    if not 0 < (width := as_float(name, value)) < np.inf:
        raise ValueError(f"{name} must be 'mean_squared', 'mean' or a positive number; got {width!r}")
    return width


@option_class
class KernelFields:
    """Options that define the kernels, as the estimator and the functions take them."""

    kernel: Any = option_field(_as_kernel, default="rbf")
    # Checked by _encode_groups, when n_features is known.
    groups: Any = option_field(lambda _, value: value, default=None)
    width: float | str = option_field(_as_width, needs=Needs("kernel", ("rbf",)), default="mean_squared")
    scaling: str | None = option_field(word_or_none("standard"), default="standard")


@dataclass(kw_only=True)
class KernelOptions(KernelFields, Options):
    """Options that define the kernels, as the core takes them."""

    def core_options(self) -> dict[str, Any]:
        """Return the options of Gaussian kernels under the names of the core."""
        width = {"width": self.width} if isinstance(self.width, str) else {"width": "given", "delta": self.width}
        return {"scaling": self.scaling} | width


@dataclass(frozen=True)
class Kernels:
    """Kernels between samples in the form of the core: Gaussian kernels of features, or matrices."""

    options: KernelOptions
    n_kernels: int
    X: Any = None  # None with precomputed kernels
    matrices: Array | None = None
    which: Integers | None = None  # the kernel that each matrix is; constant features have no matrix
    kernel_of: Integers | None = None  # the kernel that each feature belongs to
    group_labels: Array | None = None
    constant: Array | None = None  # True for each constant feature; None: the core finds them

    def core_arguments(self) -> dict[str, Any]:
        """Return the kernels under the names of the core: matrices, or X with the groups of its features (none: each
        its kernel).
        """
        if self.matrices is not None:
            return {"matrices": self.matrices, "n_kernels": len(self.matrices)}
        if self.n_kernels == 1:
            source: dict[str, Any] = {"n_kernels": 1}
        elif self.group_labels is not None:
            source = {"n_kernels": self.n_kernels, "groups": self.kernel_of}
        else:
            source = {"n_kernels": 0}
        return {"X": self.X} | source | self.options.core_options()

    def name_in_core(self, m: int) -> str:
        """Return the name of kernel or matrix m of the core."""
        return self.kernel_name(m if self.which is None else self.which[m])

    def kernel_name(self, m: Any) -> str:
        """Return the name of kernel m for messages."""
        if self.X is None:
            return f"matrix {m}"
        if self.group_labels is not None:
            return f"the kernel of group {self.group_labels[m]}"
        return f"the kernel of feature {m}" if self.n_kernels > 1 else "the kernel of all features"

    def columns_of_kernels(self, chosen: Integers, constant: Array) -> list[Integers]:
        """Return the columns of X that belong to each chosen kernel, without constant columns."""
        assert self.kernel_of is not None
        features = np.flatnonzero(~constant & np.isin(self.kernel_of, chosen))
        features = features[np.argsort(self.kernel_of[features], kind="stable")]
        return np.split(features, np.searchsorted(self.kernel_of[features], chosen[1:]))


def read_data(X: Any, kernel: Any, run: Run) -> Any:
    """Return X, or with "precomputed" all matrices as one array. Copies are charged to the budget of the run."""
    if callable(kernel):
        return as_dense(X, run) if hasattr(X, "__next__") else as_decoded(X, run)
    return _as_matrices(X, run) if kernel == "precomputed" else as_dense(X, run)


def _as_matrices(K: Any, run: Run) -> Array:
    """Return one or several precomputed kernels as one array of shape (n_kernels, n_samples, n_samples).

    Raise ValueError for none, or for kernels of different shapes.
    """
    several = getattr(K, "ndim", 0) == 3 or (isinstance(K, list | tuple) and all(np.ndim(k) == 2 for k in K))
    kernels = list(K) if several else [K]
    if not kernels:
        raise ValueError("X must hold at least one kernel, a matrix of samples x samples; got none")
    matrices: list[Array] = []
    for k in kernels:
        matrices.append(as_dense(k, run))
        if matrices[-1].shape != matrices[0].shape:
            raise ValueError(
                f"all kernels must have the shape of the first, {matrices[0].shape}; got {matrices[-1].shape} "
                f"for kernel {len(matrices) - 1}"
            )
    if len(matrices) == 1:
        return for_core(matrices[0], dtype=np.float64)[None]
    _reserve_matrices(run, len(matrices), matrices[0].size)
    return np.array(matrices, dtype=np.float64)


def _reserve_matrices(run: Run, number: int, size: int) -> None:
    """Charge kernels of n_samples x n_samples to the budget of the run."""
    advice = "take fewer of them, each of a group of features"
    run.reserve_memory(8 * number * size, f"{number} kernels of samples x samples", advice)


def make_kernels(data: Any, options: KernelOptions, run: Run) -> Kernels:
    """Return the kernels of data from `read_data`: one per feature, one per group of features, or one for 'all'.

    A custom kernel is evaluated here. Precomputed kernels must be square, and `groups` left out (ValueError).
    """
    groups = options.groups
    if options.kernel == "precomputed":
        if groups is not None:
            raise ValueError("groups must be left out with kernel='precomputed', since X then has no features to group")
        if data.shape[1] != data.shape[2]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix of samples x samples; got {data.shape[1]} x "
                f"{data.shape[2]}: for features take kernel='rbf'"
            )
        return Kernels(options, len(data), matrices=data)
    d = data.shape[1]
    labels = None
    if groups is None:
        kernel_of = np.arange(d)
    elif isinstance(groups, str):
        check_choice("groups", groups, ("all",), "one label for each feature")
        kernel_of = np.zeros(d, dtype=np.int64)
    else:
        labels, kernel_of = _encode_groups(groups, d)
    n_kernels = d if groups is None else 1 if labels is None else len(labels)
    kernels = Kernels(options, n_kernels, X=data, kernel_of=kernel_of, group_labels=labels)
    return _with_matrices(kernels, run) if callable(options.kernel) else kernels


def _encode_groups(groups: Any, n_features: int) -> tuple[Array, Integers]:
    """Return the distinct labels in `groups`, which has one per feature, and the number of each feature's group.

    Raise ValueError for another shape.
    """
    try:
        group_labels = np.asarray(groups)
        got = f"the shape {group_labels.shape}"
    except ValueError:  # of NumPy, for sequences of different lengths
        group_labels, got = np.empty(0), "sequences"
    if group_labels.shape != (n_features,):
        raise ValueError(f"groups must be None, 'all' or one label for each of the {n_features} features; got {got}")
    return number_labels(group_labels, "groups", "for feature", any_number=True)


def _with_matrices(kernels: Kernels, run: Run) -> Kernels:
    """Return the kernels with matrices: a custom kernel on the columns of each group in which a feature varies.

    Raise ValueError if none varies, or a value isn't finite.
    """
    X = kernels.X
    if said := describe_not_finite(X):
        raise ValueError(said)
    high, low = (dense(extreme) for extreme in (X.max(0), X.min(0)))
    constant = np.asarray(high == low).reshape(-1)
    if constant.all():
        raise ValueError(f"X must have a feature that varies; got {X.shape[1]} constant ones")
    assert kernels.kernel_of is not None
    which = np.unique(kernels.kernel_of[~constant])
    n = X.shape[0]
    _reserve_matrices(run, len(which), n * n)
    matrices = np.empty((len(which), n, n))
    columns = kernels.columns_of_kernels(which, constant)
    by_column = by_columns(X)
    for matrix, m, columns_of_group in zip(matrices, which, columns, strict=True):
        part = by_column[:, columns_of_group]
        matrix[:] = call_kernel(kernels.options.kernel, part, part, kernels.kernel_name(m))
    return replace(kernels, matrices=matrices, which=which, constant=constant)


def call_kernel(kernel: Callable[[Any, Any], Any], A: Any, B: Any, name: str) -> Array:
    """Call a custom kernel on the rows of A and the rows of B; return its result as a dense array of floats.

    Raise ValueError for another shape than rows of A x rows of B.
    """
    K = np.asarray(dense(kernel(A, B)))
    if K.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"{name} must return an array of shape {(A.shape[0], B.shape[0])} for these samples; got "
            f"the shape {K.shape}"
        )
    return as_floats(K, f"what {name} returns")
