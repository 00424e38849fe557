"""The options of the methods, and estimators from them."""

import ast
import csv
import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastfs
from fastfs import _methods
from fastfs._methods import FLAGS, METHODS, Method
from fastfs.io._options import ReadOptions, describe

# Parameters of all estimators that options of the command set.
_SET_BY_OPTION = {
    "n_features_to_select": "--top",
    "n_jobs": "--threads",
    "max_memory": "--max-memory",
    "verbose": "a terminal, which shows progress by itself",
}

# Options with another name than their parameters.
_CALLED = {option.name: describe(option).flags[0] for option in fields(ReadOptions) if describe(option).flags}

# One field per flag, in the order of the help: Typer reads them through `grouped`.
_FIELDS: list[tuple[str, Any]] = [
    (
        "threads",
        Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: every core this process may use.")],
    ),
    (
        "max_memory",
        Annotated[str | None, typer.Option(metavar="SIZE", help="Refuse to work above it: 4G, 500M, or bytes.")],
    ),
    *((f.name, Annotated[f.kind | None, typer.Option(min=f.low, metavar=f.metavar, help=f.help)]) for f in FLAGS),
    (
        "method_option",
        Annotated[
            list[str] | None,
            typer.Option(metavar="NAME=VALUE", help="Any parameter of the method, as in Python; may be repeated."),
        ],
    ),
]
if TYPE_CHECKING:
    MethodOptions = Any
else:
    MethodOptions = make_dataclass(
        "MethodOptions", [(*of, field(default=None)) for of in _FIELDS], frozen=True, namespace={"panel": "Method"}
    )


def flag(name: str) -> str:
    """Return the option for a parameter: the first of its names."""
    return _CALLED.get(name, f"--{name.replace('_', '-')}")


def options_of(method: Method) -> set[str]:
    """Return the options of `fastfs score` that this method has and others don't."""
    params = getattr(fastfs, method.estimator)().get_params()
    options = {f.name for f in FLAGS if _takes(params, f.name)}
    options |= {"pairs"} if method.pairs else set()
    options |= {"turf", "vls"} if method.only_ranks else set()
    options |= {"weights"} if method.targets and not method.selects else set()
    return options | ({"event"} if not method.classes else set())


def _takes(params: Mapping[str, Any], name: str) -> bool:
    """Return True if an option sets one of these parameters; switches are set by --method-option."""
    return name in params and not isinstance(params[name], bool)


def make_selector(method: Method, method_flags: MethodOptions) -> Any:
    """Return the method's estimator with these options and those of --method-option.

    Raise ValueError for an option that the method doesn't have, one that is given twice or has no effect, and a value
    that ranks no features.
    """
    make = getattr(fastfs, method.estimator)
    params = make().get_params()
    options = {"n_jobs": method_flags.threads, "max_memory": method_flags.max_memory}
    options |= {f.name: _converted(method, f, getattr(method_flags, f.name)) for f in FLAGS}
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if not _takes(params, name):
            if name == "given" and method.no_given:
                raise ValueError(f"Method '{method.word}' takes no {flag(name)}, because {method.no_given}")
            others = [word for word, other in METHODS.items() if name in options_of(other)]
            raise ValueError(f"Method '{method.word}' has no option {flag(name)}, which is for {', '.join(others)}")
    for name, value in method_options(method, params, method_flags.method_option or []).items():
        if name in options:
            raise ValueError(f"{flag(name)} and --method-option {name} are the same: give one of them")
        options[name] = value
    for name, unranked in method.unranked:
        value = options.get(name)
        if isinstance(value, str) and value == unranked:
            raise ValueError(
                f"--method-option {name}={value} ranks no features, only kernels: leave it out, or use it from Python"
            )
    # An option without effect would mislead.
    for f in FLAGS:
        if f.name in options and f.sigmas and options.setdefault("sigma", f.sigmas[0]) not in f.sigmas:
            raise ValueError(f"{flag(f.name)} needs --sigma {f.sigmas[0]}; got --sigma {options['sigma']}")
    return make(**options)


def with_options(message: str, command: str) -> str:
    """Return a message with options of a command in place of parameters of methods and their values.

    So missing='ignore' becomes --missing ignore, or a value of --method-option. Only messages of score and report
    change.
    """
    if command not in ("score", "report"):
        return message
    flags = {f.name for f in FLAGS} if command == "score" else set()
    of_methods = {name for method in METHODS.values() for name in getattr(fastfs, method.estimator)().get_params()}
    known = "|".join(sorted(of_methods - _SET_BY_OPTION.keys()))

    def option(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'")
        if name in flags:
            return f"{flag(name)} {value}"
        return f"--method-option {'METHOD.' if command == 'report' else ''}{name}={value}"

    # Parameters from --method-option are spelled as options already.
    return re.sub(rf"(?<![\w.-])(?<!--method-option )({known})=('\w+'|\d+(?:\.\d+)?)", option, message)


def names(text: str, option: str) -> list[str]:
    """Return the names that an option holds, with commas between them."""
    if not text.strip():
        raise ValueError(f"{option} must hold names with commas between them; got none")
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def _converted(method: Method, f: _methods.Flag, value: Any) -> Any:
    """Return the text of a flag as the method's parameter: a list of names, a number, a pair of sigmas, or the text.

    Raise ValueError for a bad pair.
    """
    if value is not None and f.columns:
        return names(value, flag(f.name))
    if value is None or not f.or_number:
        return value
    if method.pair_of_sigmas and "," in value:
        try:
            return tuple(float(number) for number in value.split(","))
        except ValueError as error:
            raise ValueError(
                f"{flag(f.name)} must be one or two numbers, with a comma between two; got '{value}'"
            ) from error
    with suppress(ValueError):
        return float(value)
    return value


def method_options(method: Method, params: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of --method-option, with values as Python reads them, or else as text.

    Raise ValueError for a text without =, an unknown or repeated name, or one that another option sets.
    """
    known = sorted(params.keys() - _SET_BY_OPTION.keys())
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"--method-option must be NAME=VALUE; got '{text}'")
        if name in _SET_BY_OPTION:
            raise ValueError(f"--method-option can't set {name}: use {_SET_BY_OPTION[name]}")
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise ValueError(f"Method '{method.word}' has no parameter '{name}' (it has {', '.join(known)}){hint}")
        if name in options:
            raise ValueError(f"--method-option {name} is given twice: give it once")
        try:
            options[name] = ast.literal_eval(value.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            options[name] = value.strip()
    return options
