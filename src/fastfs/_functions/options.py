"""Base class for the options of a method, with their conversion for the core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

from fastfs._machine.run import warn


class Needs(NamedTuple):
    """A condition on another option, without which an option has no effect.

    The condition holds if the other option is one of `words`. With `or_other` it also holds for values that aren't
    strings, such as a kernel function or a number above 0. `default` is the default of the option that needs it.
    """

    other: str
    words: tuple[str, ...]
    default: Any
    or_other: bool = False

    def are_met(self, value: Any) -> bool:
        """Return True if the other option has a value that meets the condition."""
        return value in self.words if isinstance(value, str) else self.or_other and value != 0

    def __str__(self) -> str:
        return f"{self.other}={' or '.join(map(repr, self.words))}" if self.words else f"{self.other} above 0"


def option_field(convert: Callable[[str, Any], Any], key: str | None = None, needs: Needs | None = None) -> Any:
    """Declare a field of `Options`.

    ``convert(name, value)`` checks the type of a value, `key` is the option's name in the core, and `needs` says when
    the option has an effect.
    """
    return field(metadata={"convert": convert, "key": key, "needs": needs})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of a method's options, with one field per parameter of the estimator and of the function.

    Values are converted when the object is made, so that a wrong type is refused before the data are read. Ranges are
    checked by the core, which has other callers too.
    """

    def __post_init__(self) -> None:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for f in fields(self):
            object.__setattr__(self, f.name, f.metadata["convert"](f.name, values[f.name]))
        warn([message for f in fields(self) if (message := _without_effect(f.name, f.metadata["needs"], values))])

    @classmethod
    def from_arguments(cls, arguments: Any) -> Self:
        """Take the fields from an estimator, or from the arguments of a function (its ``locals()``)."""
        values = arguments if isinstance(arguments, Mapping) else vars(arguments)
        return cls(**{f.name: values[f.name] for f in fields(cls)})

    def core_options(self) -> dict[str, Any]:
        """Return the options under the names of the core."""
        return {f.metadata["key"] or f.name: getattr(self, f.name) for f in fields(self)}


def _without_effect(name: str, needs: Needs | None, values: Mapping[str, Any]) -> str | None:
    """Return a sentence if the option differs from its default but has no effect."""
    if needs is None or needs.are_met(values[needs.other]):
        return None
    if isinstance(values[name], type(needs.default)) and values[name] == needs.default:
        return None
    return f"{name}={values[name]!r} has no effect with {needs.other}={values[needs.other]!r}: it needs {needs}"
