"""Targets of ProjSe: labels, columns of numbers, or none."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from numbers import Real
from typing import Any

import numpy as np

from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import as_labels, encode_labels, number_labels, require_classes
from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.storage import refuse_sparse
from fastfs._inputs.values import as_values, for_core
from fastfs._machine.run import Run, warn
from fastfs._types import Array, Integers


@dataclass(frozen=True)
class Target:
    """Target in the form of the core: ``numbers`` (2-D), or ``labels`` below the number of ``classes``, or nothing."""

    numbers: Any = None
    labels: Any = None
    classes: Array | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns of numbers, or of one-hot labels."""
        if self.classes is not None:
            return len(self.classes)
        return 0 if self.numbers is None else int(self.numbers.shape[1])

    def slice_rows(self, begin: int, end: int) -> "Target":
        """Return the target of a range of rows."""
        numbers = None if self.numbers is None else self.numbers[begin:end]
        labels = None if self.labels is None else self.labels[begin:end]
        return Target(numbers, labels, self.classes)


# Function that reads a target for samples with an X of the given shape.
Reader = Callable[[Any, tuple[int, int], Run], Target]


def as_target(y: Any, name: str = "y") -> Array:
    """Return y as a 1-D or 2-D array of any real values.

    Raise ValueError for sparse, masked or complex y, an iterator, or other dimensions.
    """
    refuse_sparse(y, f"a sparse target isn't supported: give {name}.toarray()")
    if hasattr(y, "__next__"):
        raise ValueError(f"{name} must be one array, since X is one; got an iterator: stack its chunks")
    if np.ma.is_masked(y):
        raise ValueError(f"{name} has masked values: impute or drop them first")
    values: Array = _values_of_target(y)
    if values.ndim not in (1, 2):
        what = f"{values.ndim}-D" if values.ndim else type(y).__name__
        raise ValueError(
            f"{name} must be a 1-D array of labels or numbers, or a 2-D array of samples x targets; got {what}"
        )
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real; got complex numbers: give their real part")
    return values


@singledispatch
def _values_of_target(y: Any) -> Any:
    return as_values(y)


@_values_of_target.register(Genotypes)
def _(y: Genotypes) -> Any:
    return y


def as_columns(y: Array, run: Run, name: str = "y") -> Any:
    """Return an array from `as_target` as a 2-D matrix of numbers for the core; errors about text tell how to give
    labels.
    """
    try:
        return as_matrix(y[:, None] if y.ndim == 1 else y, run, name)
    except (TypeError, ValueError) as error:
        if y.ndim == 2 and y.dtype.kind in "OSUT":
            error.args = (f"{error}; labels are given as a 1-D array",)
        raise


def as_records(numbers: Array) -> Array:
    """Return rows of numbers as a 1-D array with one element per row: a float, or a record of several floats."""
    rows = for_core(numbers, dtype=np.float64)
    if rows.shape[1] == 1:
        return rows[:, 0]
    return rows.view([(f"column {j}", np.float64) for j in range(rows.shape[1])])[:, 0]


def as_rows(records: Array) -> Array:
    """Return the rows of numbers from which `as_records` made records."""
    rows: Array = for_core(records).view(np.float64).reshape(len(records), -1)
    return rows


def read_target(y: Any, shape: tuple[int, int], run: Run) -> Target:
    """Read a target; like scikit-learn's `type_of_target`, take a 1-D array without fractions for labels.

    None is an empty target, and a 2-D array holds numbers. Raise ValueError for a single class; warn if many labels are
    different numbers.
    """
    if y is None:
        return Target()
    y = as_target(y)
    if y.ndim == 2 or not _is_labels(y):
        return _read_numbers(y, shape, run)
    classes, labels = encode_labels(y, *shape, of_number="give np.reshape(y, (-1, 1))")
    require_classes(classes)
    if len(classes) > max(20, len(y) / 2) and classes.dtype.kind in "iuf":
        warn(
            [
                f"y is taken as labels, and has {len(classes)} different ones in {len(y)} samples: "
                "if these are numbers, give y.reshape(-1, 1)"
            ]
        )
    return Target(labels=labels, classes=classes)


def read_chunk(y: Any, shape: tuple[int, int], run: Run, *, classes: Array | None = None) -> Target:
    """Read the target of a chunk that isn't the last one: labels if the classes are known, else numbers.

    Labels must be among them, and y is required. Without classes, words raise ValueError, and whole numbers a warning.
    """
    if y is None:
        if classes is not None:
            raise ValueError("y must come with every chunk, since classes were given; got None")
        return Target()
    y = as_target(y)
    if classes is not None:
        number_labels(as_labels(y, *shape), "y", "for sample")  # raises an error for a bad label
        return Target(labels=_encode_known(y, classes), classes=classes)
    how = "give classes at the first call of partial_fit, or y as one array of all labels"
    if y.ndim == 1 and y.dtype.kind in "OSUT" and not all(isinstance(value, Real) for value in y):
        raise ValueError(f"a chunk of labels doesn't tell which classes there are: {how}")
    if y.ndim == 1 and y.dtype.kind != "f":
        warn(
            ["y is taken as numbers, because a chunk doesn't tell which classes there are: if these are labels, " + how]
        )
    return _read_numbers(y, shape, run)


def read_classes(classes: Any) -> Array:
    """Return the classes in sorted order, each once; raise ValueError for fewer than two, or a missing one."""
    values = as_values(classes).ravel()
    if len(values) == 0:
        raise ValueError("classes must have at least two labels; got none")
    known, _ = number_labels(values, "classes", "at position")
    if len(known) < 2:
        raise ValueError(f"classes must have at least two labels; got {known.tolist()}")
    return known


def _read_numbers(y: Array, shape: tuple[int, int], run: Run) -> Target:
    values = as_columns(y, run)
    if values.shape[0] != shape[0]:
        raise ValueError(f"X and y must have the same number of rows; got {shape[0]} and {values.shape[0]}")
    return Target(numbers=values)


def _is_labels(y: Array) -> bool:
    """Return True if a 1-D target holds labels: anything except floats with a fractional or infinite one."""
    if y.dtype.kind == "O" and all(isinstance(value, Real) for value in y):
        y = y.astype(np.float64)
    if y.dtype.kind != "f":
        return True
    y = y[~np.isnan(y)]  # NaN is a missing label
    return bool(np.all(np.isfinite(y) & (y == np.floor(y))))


def _encode_known(y: Array, classes: Array) -> Integers:
    """Return each label's position among the sorted classes; raise ValueError for a label that isn't among them."""
    if y.ndim != 1:
        raise ValueError(f"y must be a 1-D array of labels; got {y.ndim}-D")
    labels = np.searchsorted(classes, y)
    labels[labels == len(classes)] = 0
    unknown = np.flatnonzero(classes[labels] != y)
    if len(unknown):
        raise ValueError(
            f"y must hold labels of the classes {classes.tolist()}; got {y[unknown].tolist()[0]!r} for sample "
            f"{unknown[0]}"
        )
    known: Integers = labels.astype(np.int64)
    return known
