"""Classes of results, with short printed forms: shapes and first values of arrays instead of thousands of numbers."""

from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, TypeVar, dataclass_transform

from fastfs._docs import fill_shared

_Class = TypeVar("_Class")

# Number of values of an array, a list or a dict that are shown, and of characters of a string.
_SHOWN, _LETTERS = 3, 80


@dataclass_transform(frozen_default=True)
def result_class(cls: type[_Class]) -> type[_Class]:
    """Make a class a frozen dataclass with a short repr."""

    def __repr__(self: Any) -> str:
        shown = [f"{f.name}={_brief(getattr(self, f.name))}" for f in fields(self) if f.repr]
        return f"{type(self).__name__}({', '.join(shown)})"

    cls.__doc__ = fill_shared(cls.__doc__)
    cls.__repr__ = __repr__  # type: ignore[method-assign]
    return dataclass(frozen=True, repr=False)(cls)


def _brief(value: Any) -> str:
    """Return a short form of a value."""
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        size = " x ".join(map(str, value.shape))
        return f"<{size} {value.dtype}{_first(value)}>"
    if isinstance(value, dict) and len(value) <= 2 * _SHOWN:
        return "{" + ", ".join(f"{key!r}: {_brief(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple) and len(value) <= 2 * _SHOWN:
        inner = ", ".join(map(_brief, value)) + "," * (isinstance(value, tuple) and len(value) == 1)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict | list | tuple):
        first = ", ".join(_brief(part) for part in islice(value, _SHOWN))
        return f"<{type(value).__name__} of {len(value)}: {first}, ...>"
    if hasattr(value, "shape"):  # a frame
        return f"<{type(value).__name__} of {' x '.join(map(str, value.shape))}>"
    text = repr(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."


def _first(array: Any) -> str:
    """Return the first values of a vector in Python's notation."""
    if array.ndim != 1 or array.dtype.names or not hasattr(array, "tolist"):
        return ""
    values = array[:_SHOWN].tolist()
    written = [f"{value:.4g}" if isinstance(value, float) else _brief(value) for value in values]
    return f": {', '.join(written)}{', ...' if len(array) > _SHOWN else ''}"
