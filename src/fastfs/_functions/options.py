"""Options of a method, as the core's tables take them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

from fastfs._machine.run import warn


class Needs(NamedTuple):
    """The words of another option with which an option has an effect, and the option's default.

    Values of the other option that aren't strings, such as a kernel function or a number above 0, are among them if
    `or_other`.
    """

    other: str
    words: tuple[str, ...]
    default: Any
    or_other: bool = False

    def are_met(self, value: Any) -> bool:
        return value in self.words if isinstance(value, str) else self.or_other and value != 0

    def __str__(self) -> str:
        return f"{self.other}={' or '.join(map(repr, self.words))}" if self.words else f"{self.other} above 0"


def option(convert: Callable[[str, Any], Any], key: str | None = None, needs: Needs | None = None) -> Any:
    """Declare a field of `Options`.

    ``convert(name, value)`` checks its type, `key` is its name in the core, `needs` says when it has an effect.
    """
    return field(metadata={"convert": convert, "key": key, "needs": needs})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of a method's options: a field for each, named as the parameter of the estimator and of the function.

    Values are converted when the object is made, so that a wrong type is refused before the data are read. Ranges are
    checked by the core, which has other callers too.
    """

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        for f in fields(self):
            object.__setattr__(self, f.name, f.metadata["convert"](f.name, given[f.name]))
        warn([message for f in fields(self) if (message := _without_effect(f.name, f.metadata["needs"], given))])

    @classmethod
    def of(cls, given: Any) -> Self:
        """Take the fields from an estimator, or from the arguments of a function (its ``locals()``)."""
        values = given if isinstance(given, Mapping) else vars(given)
        return cls(**{f.name: values[f.name] for f in fields(cls)})

    def core(self) -> dict[str, Any]:
        """Return the options under the names of the core."""
        return {f.metadata["key"] or f.name: getattr(self, f.name) for f in fields(self)}


def _without_effect(name: str, needs: Needs | None, given: Mapping[str, Any]) -> str | None:
    """Return a sentence if the option was changed from its default but has no effect."""
    if needs is None or needs.are_met(given[needs.other]):
        return None
    if isinstance(given[name], type(needs.default)) and given[name] == needs.default:
        return None
    return f"{name}={given[name]!r} has no effect with {needs.other}={given[needs.other]!r}: it needs {needs}"
