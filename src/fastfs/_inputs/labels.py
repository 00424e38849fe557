"""Checks and encoding of labels."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.storage import refuse_sparse
from fastfs._inputs.values import as_values
from fastfs._types import Array, Integers

# Advice for numbers if a method needs labels.
BIN = "bin them"


def encode_labels(y: Any, n_samples: int, n_features: int, of_number: str = BIN) -> tuple[Array, Integers]:
    """Return the classes in sorted order and each sample's position among them.

    `of_number` ends the error about a number instead of a label: advice on numbers. Raise ValueError if labels are
    missing, can't be sorted, are fractions, or mostly belong to one sample each.
    """
    classes, labels = number_labels(as_labels(y, n_samples, n_features), "y", "for sample")
    require_shared(classes, labels, of_number)
    return classes, labels


def as_labels(y: Any, n_samples: int, n_features: int, item: str = "label") -> Array:
    """Return y as a 1-D array, one value per sample; a single column is taken. Errors call a value `item`.

    Raise ValueError for None, sparse or masked values, records, and other shapes.
    """
    if y is None:
        raise ValueError(f"this method requires y to be passed, but the target y is None: give the samples' {item}s")
    refuse_sparse(y, f"y must be an array of {item}s; got a sparse one: give y.toarray()")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(f"y has masked {item}s: drop these samples first")
    try:
        y = as_values(y)
    except ValueError:
        raise ValueError(f"y must be a 1-D array of {item}s; got entries of different lengths") from None
    if y.dtype.names:
        raise ValueError(
            f"y must hold {item}s; got records with the fields {', '.join(y.dtype.names)}: give one field, or "
            "events and times to RReliefF(target_type='survival')"
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be a 1-D array of {item}s; got {y.ndim}-D")
    if len(y) != n_samples:
        hint = "; is X transposed? Its rows must be samples" if len(y) == n_features else ""
        raise ValueError(f"y must have one {item} for each of the {n_samples} samples of X; got {len(y)}{hint}")
    values: Array = y
    return values


def number_labels(y: Array, name: str, where: str, *, any_number: bool = False) -> tuple[Array, Integers]:
    """Return the classes in sorted order and the number of each label's class.

    Errors call the 1-D array `name`, and the position of a label `where`. Fractions raise ValueError, as measurements
    rather than labels, unless `any_number` is True. Missing labels, and values that can't be sorted, also raise
    ValueError.
    """
    if (missing := mark_missing(y)).any():
        position = int(missing.argmax())
        raise ValueError(f"{name} has no label ({y[position]}) {where} {position}: give one, or drop it")
    if y.dtype.kind == "f" and not any_number:
        continuous = np.flatnonzero(y != np.floor(y))  # NaN was found above, and infinity is caught by isfinite
        if len(continuous) or not np.isfinite(y).all():
            value = y[continuous[0]] if len(continuous) else np.inf
            raise ValueError(
                f"Unknown label type: continuous. {name} must hold classes; got values such as {value:g}: bin them "
                "first, or give labels as integers or strings"
            )
    return sort_values(y, f"{name} must hold labels of one kind")


def sort_values(y: Array, expected: str) -> tuple[Array, Integers]:
    """Return the distinct values of a 1-D array in sorted order, and the number of each; none may be missing.

    Raise ValueError if they can't be sorted.
    """
    try:
        values, positions = np.unique(y, return_inverse=True)
        in_order = y.dtype != object or all(a < b for a, b in itertools.pairwise(values))  # False for sets
    except TypeError:
        in_order = False
    if not in_order:
        raise ValueError(f"{expected}, such as strings or integers, that can be sorted; got others: convert them")
    return values, positions.astype(np.int64).reshape(-1)


def require_classes(classes: Array) -> None:
    """Raise ValueError unless there are at least two classes."""
    if len(classes) == 0:
        raise ValueError("X must have samples; got none")
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got one class: {classes.tolist()}")


def require_shared(classes: Array, labels: Integers, of_number: str = BIN) -> None:
    """Raise ValueError if most labels belong to one sample only: they are ids or numbers.

    `of_number` ends errors about labels that can be numbers: advice on numbers.
    """
    if (n_alone := _count_alone(labels, len(classes))) == 0:
        return
    advice = "if these are ids, give the labels instead"
    if _are_numbers(classes):
        as_floats = "" if classes.dtype.kind in "biuf" else "convert them to floats and "
        advice += f", and if they are numbers, {as_floats}{of_number}"
    first = classes.tolist()[np.flatnonzero(np.bincount(labels, minlength=len(classes)) == 1)[0]]
    raise ValueError(
        f"y must hold labels that samples share; got {n_alone} of {len(labels)} samples alone in their class, "
        f"such as {first!r}: {advice}"
    )


def require_few_classes(labels: Array, otherwise: str = "") -> None:
    """Raise ValueError for numbers that differ in most samples, which are a measurement, not classes.

    `otherwise` ends the error: further advice.
    """
    different, codes = np.unique(labels, return_inverse=True)
    are_many = len(different) > max(20, len(labels) / 2) or _count_alone(codes, len(different)) > 0
    if are_many and _are_numbers(different):
        raise ValueError(
            f"labels must be classes; got {len(different)} different numbers for {len(labels)} samples, such as "
            f"{different[0]}: bin them first{otherwise}"
        )


def _count_alone(labels: Integers, n_classes: int) -> int:
    """Return the number of samples alone in their class, if they are most and there are more than two classes, else
    0.
    """
    n_alone = int(np.count_nonzero(np.bincount(labels, minlength=n_classes) == 1))
    return n_alone if 2 * n_alone > len(labels) and n_classes > 2 else 0


def _are_numbers(classes: Array) -> bool:
    """Return True if classes are numbers, or text that can be read as numbers."""
    try:
        classes.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def mark_missing(values: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the missing values of a 1-D array; see `is_missing`."""
    if values.dtype.kind in "biuSU":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "fmM":
        return np.asarray(values != values)  # NaN and NaT are not equal to themselves
    return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def is_missing(label: Any) -> bool:
    """Return True for None, NaN, NaT and pandas.NA."""
    if label is None:
        return True
    try:
        return bool(label != label)  # NaN and NaT are not equal to themselves
    except TypeError:  # raised by pandas.NA
        return True
