"""Targets of the RELIEF family: classes, numbers, or times to an event."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fastfs._inputs.labels import BIN, as_labels, encode_labels, is_missing, number_labels, require_classes
from fastfs._inputs.values import exact_floats, for_core
from fastfs._types import Array, Floats

# Largest number of distinct integers that are taken for classes.
MOST_CLASSES = 20

_TIMES = np.dtype([("event", np.int32), ("time", np.float64)])


@dataclass(frozen=True)
class Response:
    """Target of the RELIEF family in the form of the core.

    Parameters
    ----------
    kind : {"class", "number", "survival"}
    values : ndarray of shape (n_samples,)
        Labels from 0, numbers, or records of an event (0 or 1) and a time. A permutation of them is another target of
        this kind: see `with_values`.
    classes : ndarray, optional
        Classes in sorted order, if there are any.
    """

    kind: str
    values: Array
    classes: Array | None = None

    def with_values(self, values: Array) -> Self:
        """Return a target of this kind with other values."""
        return replace(self, values=values)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """Labels of the samples if the target is of classes."""
        return self.values if self.kind == "class" else None

    @property
    def n_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

    def core_arguments(self) -> dict[str, Any]:
        """Return the target under the names of the core's options: its kind, and numbers or times with events; not
        labels.
        """
        options: dict[str, Any] = {"target": self.kind}
        if self.kind == "number":
            options["y"] = self.values
        if self.kind == "survival":
            options |= {"y": for_core(self.values["time"])}
            options |= {"events": for_core(self.values["event"])}
        return options


def read_response(
    y: Any, n_samples: int, n_features: int, kind: str, *, numbers_only: bool = False, of_number: str = BIN
) -> Response:
    """Read y as a target of n_samples samples.

    Raise ValueError for a single class, numbers or times of one sample, or a DataFrame of two columns.

    Parameters
    ----------
    kind : {"auto", "class", "number", "survival"}
        "auto": records are times; bools, strings, categories and integers of at most 20 different values are classes;
        floats that aren't all whole are numbers, and two whole ones classes; anything else is an error.
    numbers_only : bool
        True if the method takes no classes, so that "auto" reads all numbers as numbers.
    of_number : str
        Advice on numbers, as for `encode_labels`.
    """
    if hasattr(y, "columns") and hasattr(y, "to_records") and len(y.columns) == 2:
        raise ValueError(
            "y must be one column; got a DataFrame of two: choose one, or for RReliefF give an event and a time as the "
            "structured array y.to_records(index=False)"
        )
    if kind == "auto":
        kind = _detect_kind(y, n_samples, n_features, numbers_only)
    if kind != "class" and n_samples == 1:
        raise ValueError("y must hold different numbers or times; got one sample: give more")
    if kind == "survival":
        return Response(kind, _as_times(y, n_samples))
    if kind == "number":
        return Response(kind, _read_numbers(as_labels(y, n_samples, n_features, "number")))
    classes, labels = encode_labels(y, n_samples, n_features, of_number)
    require_classes(classes)
    return Response(kind, labels, classes)


def _detect_kind(y: Any, n_samples: int, n_features: int, numbers_only: bool) -> str:
    """Return "class", "number", or "survival" for records; raise ValueError if y can be classes or numbers.

    Fractions are numbers; words, categories, few integers and two whole floats are classes. With `numbers_only`, all
    numbers are numbers.
    """
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "names", None):
        return "survival"
    values = as_labels(y, n_samples, n_features)
    if hasattr(dtype, "categories"):  # a categorical of pandas, even one of numbers
        return "class"
    if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values):
        values = np.array(values.tolist())
    if values.dtype.kind not in "iuf":
        return "class"
    if numbers_only:
        return "number"
    n_different = len(np.unique(values))
    if values.dtype.kind in "iu" and n_different <= MOST_CLASSES:
        return "class"
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        if not np.all(known == np.floor(known)):
            return "number"
        if len(np.unique(known)) <= 2:
            return "class"
    classes, _ = number_labels(values, "y", "for sample")
    require_classes(classes)
    description = (
        f"{n_different} different integers" if values.dtype.kind in "iu" else f"whole floats, such as {classes[0]:g}"
    )
    raise ValueError(
        f"y holds {description}, which can be classes or numbers: give target_type='class' or target_type='number'"
    )


def _read_numbers(values: Array) -> npt.NDArray[np.float64]:
    """Return y as finite float64; raise ValueError for a missing, infinite or other value, and name its sample."""
    for sample, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"y has no number ({value}) for sample {sample}: drop the sample")
        if not isinstance(value, Real | np.bool_):
            raise ValueError(
                f"y must hold numbers; got {str(value)[:30]!r} for sample {sample}: give numbers, or labels with "
                "target_type='class'"
            )
    numbers = for_core(exact_floats(values, "y"))
    _require_finite(numbers, "number")
    return numbers


def _require_finite(numbers: Array, what: str) -> None:
    if (infinite := np.isinf(numbers)).any():
        sample = int(infinite.argmax())
        raise ValueError(f"y must hold finite {what}s; got {numbers[sample]} for sample {sample}: drop the sample")


def as_events(values: Array, name: str) -> npt.NDArray[np.bool_]:
    """Return True for each event that happened, from bools, 1 and 0, or TRUE and FALSE.

    Raise ValueError for others; it calls the values `name`.
    """
    words = np.array([str(value).upper() for value in values.tolist()])
    happened = np.isin(words, ("TRUE", "1", "1.0"))
    is_known = happened | np.isin(words, ("FALSE", "0", "0.0"))
    if not is_known.all():
        other = values.tolist()[int(np.argmin(is_known))]
        raise ValueError(f"{name} must hold True and False, or 1 and 0 (1: the event happened); got {other!r}")
    return happened


def _as_times(y: Any, n_samples: int) -> Array:
    """Return an array with the fields event and time from records with these, or with a bool and a number.

    Raise ValueError for other fields or types, another shape, or times that are missing or infinite.
    """
    values = np.asarray(y)
    names = values.dtype.names or ()
    kinds = {name: values.dtype[name].kind for name in names}
    if {"event", "time"} <= kinds.keys():
        event, time = "event", "time"
    elif len(kinds) == 2 and sorted(kind == "b" for kind in kinds.values()) == [False, True]:
        event, time = sorted(kinds, key=lambda name: kinds[name] != "b")
    else:
        raise ValueError(
            "y must be a structured array with the fields event (bool) and time for target_type='survival', such as "
            "scikit-survival's; got "
            + (f"one with the fields {', '.join(names)}" if names else f"an array of {values.dtype}")
        )
    if values.shape != (n_samples,):
        raise ValueError(f"y must have one record for each of the {n_samples} samples of X; got shape {values.shape}")
    times = np.empty(n_samples, _TIMES)
    if kinds[event] not in "biufOUST" or kinds[time] not in "iuf":
        raise ValueError(
            f"the fields {event} and {time} of y must hold bools and numbers; got the types "
            f"{values.dtype[event]} and {values.dtype[time]}: convert them"
        )
    times["event"], times["time"] = as_events(values[event], f"the field {event} of y"), values[time]
    if (unknown := np.isnan(times["time"])).any():
        raise ValueError(f"y has no time (nan) for sample {unknown.argmax()}: drop the sample")
    _require_finite(times["time"], "time")
    return times


def martingale_residuals(records: Array) -> Floats:
    """Return the events less the Nelson-Aalen estimate of the hazard up to the time of each sample.

    Raise ValueError if all are equal, as without events.
    """
    times, events = records["time"], records["event"].astype(np.float64)
    distinct, place = np.unique(times, return_inverse=True)
    n_events = np.bincount(place, events, len(distinct))
    at_risk = np.cumsum(np.bincount(place, minlength=len(distinct))[::-1])[::-1]
    residuals: Floats = events - np.cumsum(n_events / at_risk)[place]
    if np.ptp(residuals) == 0:
        raise ValueError(
            "y must hold an event, and a time that not all samples share; got none: give other times, or the events "
            "alone as labels"
        )
    return residuals
