"""Options of a method, as the core's tables take them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self


def option(convert: Callable[[str, Any], Any], key: str | None = None) -> Any:
    """Declare a field of `Options`: ``convert(name, value)`` checks its type, `key` is its name in the core."""
    return field(metadata={"convert": convert, "key": key})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of a method's options: a field for each, named as the parameter of the estimator and of the function.

    Values are converted when the object is made, so that a wrong type is refused before the data are read. Ranges are
    checked by the core, which has other callers too.
    """

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, f.metadata["convert"](f.name, getattr(self, f.name)))

    @classmethod
    def of(cls, given: Any) -> Self:
        """Take the fields from an estimator, or from the arguments of a function (its ``locals()``)."""
        values = given if isinstance(given, Mapping) else vars(given)
        return cls(**{f.name: values[f.name] for f in fields(cls)})

    def core(self) -> dict[str, Any]:
        """Return the options under the names of the core."""
        return {f.metadata["key"] or f.name: getattr(self, f.name) for f in fields(self)}
