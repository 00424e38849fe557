"""Options of a method, each described once: for its estimator, its function and the core."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar, dataclass_transform

from fastfs._inputs.entry import entry, with_fields
from fastfs._machine.params import RANDOM_STATE
from fastfs._machine.run import Run, warn
from fastfs._types import Progress

_Class = TypeVar("_Class")
_Result = TypeVar("_Result")
_Call = TypeVar("_Call")
_Arguments = ParamSpec("_Arguments")


class Needs(NamedTuple):
    """A condition on another option, without which an option has no effect.

    The condition holds if the other option is one of `words`. With `or_other` it also holds for values that aren't
    strings, such as a kernel function or a number above 0.
    """

    other: str
    words: tuple[str, ...]
    or_other: bool = False

    def are_met(self, value: Any) -> bool:
        """Return True if the other option has a value that meets the condition."""
        return value in self.words if isinstance(value, str) else self.or_other and value != 0

    def __str__(self) -> str:
        return f"{self.other}={' or '.join(map(repr, self.words))}" if self.words else f"{self.other} above 0"


def option_field(
    convert: Callable[[str, Any], Any], key: str | None = None, needs: Needs | None = None, default: Any = MISSING
) -> Any:
    """Declare an option.

    ``convert(name, value)`` checks the type of a value, `key` is the option's name in the core, and `needs` says when
    the option has an effect.
    """
    return field(default=default, metadata={"convert": convert, "key": key, "needs": needs})


def drop_class_defaults(cls: type) -> None:
    """Delete the defaults of a dataclass from the class; its documentation would list them as attributes."""
    for one in fields(cls):
        if one.name in vars(cls):
            delattr(cls, one.name)


def own_first(cls: type) -> inspect.Signature:
    """Return the signature of a dataclass, in which the options of a class precede those of its bases."""
    order = ["self", *(name for base in cls.__mro__ for name in inspect.get_annotations(base))]
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    return signature.replace(
        parameters=sorted(signature.parameters.values(), key=lambda one: (one.kind, order.index(one.name)))
    )


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(option_field, field))
def option_class(cls: type[_Class]) -> type[_Class]:
    """Decorate a class of options that an estimator and a call of a function inherit."""
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    drop_class_defaults(made)
    return made


@option_class
class Call:
    """Arguments of every function besides data and options."""

    n_threads: int = 0
    max_memory: int | str | None = None
    progress: Progress | None = None

    def make_run(self) -> Run:
        """Return the run of the call."""
        return Run(self.n_threads, self.max_memory, self.progress)


@option_class
class RandomCall(Call):
    """Arguments of every function with a `random_state` besides data and options; `entry` takes the seed from `rng`."""

    rng: Any = RANDOM_STATE


def takes(
    call_class: Callable[_Arguments, _Call],
) -> Callable[[Callable[[_Call], _Result]], Callable[_Arguments, _Result]]:
    """Return a decorator of a public function, which then takes the fields of a dataclass as its arguments."""

    signature = own_first(call_class)  # type: ignore[arg-type]
    return lambda function: entry(with_fields(function, call_class, signature))


@dataclass(kw_only=True)
class Options:
    """Base of a method's options, with one field per parameter of the estimator and of the function.

    Values are converted when the object is made, so that a wrong type is refused before the data are read. Ranges are
    checked by the core, which has other callers too.
    """

    def __post_init__(self) -> None:
        options, values = fields(self), vars(self).copy()
        for f in options:
            setattr(self, f.name, f.metadata["convert"](f.name, values[f.name]))
        warn([message for f in options if (message := _describe_missing_effect(f, values))])

    @classmethod
    def from_arguments(cls, arguments: Any) -> Self:
        """Take the fields from an estimator, or from the arguments of a function (its ``locals()``)."""
        values = arguments if isinstance(arguments, Mapping) else vars(arguments)
        return cls(**{f.name: values[f.name] for f in fields(cls)})

    def core_options(self) -> dict[str, Any]:
        """Return the options under the names of the core."""
        return {f.metadata["key"] or f.name: getattr(self, f.name) for f in fields(self)}


def _describe_missing_effect(option: Field[Any], values: Mapping[str, Any]) -> str | None:
    """Return a sentence if the option differs from its default but has no effect, because another lacks the needed
    value.
    """
    name, needs = option.name, option.metadata["needs"]
    if needs is None or needs.are_met(values[needs.other]):
        return None
    if isinstance(values[name], type(option.default)) and values[name] == option.default:
        return None
    return f"{name}={values[name]!r} has no effect with {needs.other}={values[needs.other]!r}: it needs {needs}"
