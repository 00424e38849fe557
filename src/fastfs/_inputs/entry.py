"""Checks at the entry of every public call: names of arguments, kinds of tables, order of rows."""

import difflib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from numpy.linalg import LinAlgError

from fastfs._docs import fill_shared
from fastfs._machine.errors import about_targets, rename
from fastfs._machine.params import RANDOM_STATE, as_seed
from fastfs._machine.run import warn
from fastfs._methods import why_no_given

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Arguments = ParamSpec("_Arguments")
_Call = TypeVar("_Call")
_Result = TypeVar("_Result")

# Parameters with one entry per row of X, and parameters that are dicts of them.
_OF_ROWS = ("y", "Y", "sample_weight", "blocks", "groups", "covariates", "distances", "with_table")
_MAPPINGS = ("params", "fit_params")


def entry(function: _Function) -> _Function:
    """Decorate a public function or method with checks of its arguments before any work, and complete its
    documentation.

    An unknown argument is an error that names the nearest one. X must not be an AnnData or a LazyFrame. A warning says
    if another argument names the rows of X in another order, because arguments are paired with X by position. Errors
    about a cell of a table name its row and its column. A MemoryError names the function or the method that was called,
    and the option that draws a sample of the rows, if there is one. `rng` gives a seed in place of `random_state`.
    Calls from inside fastfs get neither the warning nor the names.
    """
    bind = _make_binder(function)
    function.__doc__ = fill_shared(function.__doc__)

    @wraps(function)
    def checked_call(*args: Any, **kwargs: Any) -> Any:
        """Check the arguments, then call the function; add names of rows, columns and options to its errors."""
        arguments = bind(args, kwargs)
        kwargs = take_rng(kwargs) if "rng" in arguments else kwargs
        _check_tables(arguments)
        is_public = not sys._getframe(1).f_globals.get("__name__", "").startswith("fastfs.")
        if is_public:
            _check_rows(arguments)
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            _name_call(error, _call_name(function, args), args, arguments)
            raise
        except (ValueError, LinAlgError) as error:
            if is_public:
                _name_places(error, arguments)
            raise

    return cast(_Function, checked_call)


def named_arguments(function: _Function) -> _Function:
    """Decorate a public function with a check of its argument names; an unknown one is an error that names the nearest.

    Functions that read, write, draw or list need no more than this check; `entry` also checks tables and their rows.
    The documentation is completed, and `rng` gives a seed in place of `random_state`.
    """
    bind = _make_binder(function)
    function.__doc__ = fill_shared(function.__doc__)

    @wraps(function)
    def checked_call(*args: Any, **kwargs: Any) -> Any:
        arguments = bind(args, kwargs)
        return function(*args, **(take_rng(kwargs) if "rng" in arguments else kwargs))

    return cast(_Function, checked_call)


def with_fields(
    function: Callable[[_Call], _Result], call_class: Callable[_Arguments, _Call], signature: inspect.Signature
) -> Callable[_Arguments, _Result]:
    """Return a function that takes the fields of a dataclass as its arguments, and hands over the object.

    `signature` is that of the class.
    """

    @wraps(function)
    def public(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        return function(call_class(*args, **kwargs))

    public.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one for one in signature.parameters.values() if one.name != "self"],
        return_annotation=inspect.signature(function).return_annotation,
    )
    return public


def _make_binder(
    function: Callable[..., Any],
) -> Callable[[tuple[Any, ...], Mapping[str, Any]], Mapping[str, Any]]:
    """Return a function that returns the arguments of a call by name, or raises TypeError if they don't fit.

    `inspect.Signature.bind` takes as long as a whole call on a small table, so only calls that may be wrong, and
    functions that take any arguments, get there.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    is_open = bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
    by_position = [
        name for name, parameter in parameters.items() if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    required = {name for name, parameter in parameters.items() if parameter.default is inspect.Parameter.empty}

    def bind(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments by name; raise TypeError, with the nearest name of an unknown one, if they don't fit."""
        arguments: dict[str, Any] = {**dict(zip(by_position, args, strict=False)), **kwargs}
        is_clear = len(arguments) == len(args) + len(kwargs) and required <= arguments.keys() <= parameters.keys()
        if is_clear and not is_open:
            return arguments
        try:
            return signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(_describe_misfit(_call_name(function, args), signature, len(args), kwargs, error)) from None

    return bind


def take_rng(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the seed that `rng` gives, if it is there, as `random_state`.

    Raise TypeError if both are given.
    """
    if arguments.get("rng", RANDOM_STATE) is RANDOM_STATE:
        return arguments
    if "random_state" in arguments:
        raise TypeError("rng must not be given with random_state, which is the same seed: give one of them")
    others = {name: value for name, value in arguments.items() if name != "rng"}
    return others | {"random_state": as_seed(arguments["rng"], "rng")}


def _name_call(error: MemoryError, call_name: str, args: tuple[Any, ...], arguments: Mapping[str, Any]) -> None:
    """Let a MemoryError begin with the name of the call, unless an inner call has named itself.

    It also advises `n_rows` if the call could draw rows and doesn't.
    """
    if getattr(error, "names_call", False):
        return
    message = str(error) or "the system gave no more memory"
    if getattr(args[0] if args else None, "n_rows", arguments.get("n_rows", 0)) is None:
        message += "" if "n_rows" in message else ", or give n_rows, which draws a sample"
    error.args = (f"{call_name}: {message}",)
    error.names_call = True  # type: ignore[attr-defined]


def _call_name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the public name of a function or a class, or of a method with its class."""
    if "." not in function.__qualname__ or "<locals>" in function.__qualname__ or not args:
        return function.__name__
    name = type(args[0]).__name__
    return name if function.__name__ == "__init__" else f"{name}.{function.__name__}"


def require_known(call_name: str, known: Sequence[str], arguments: Iterable[str]) -> None:
    """Raise TypeError for a keyword argument that a function, called `call_name` in messages, doesn't know.

    The message names the nearest parameter, or says why the method takes no `given`.
    """
    for name in arguments:
        if name not in known:
            if name == "given" and (reason := why_no_given(call_name)):
                raise TypeError(f"{call_name}() takes no given columns, because {reason}")
            nearest = difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {nearest[0]}?" if nearest else f"it takes {', '.join(known)}"
            raise TypeError(f"{call_name}() got an unexpected keyword argument '{name}': {advice}")


def _describe_misfit(
    call_name: str, signature: inspect.Signature, n_given: int, given: Mapping[str, Any], error: TypeError
) -> str:
    """Say why arguments don't fit a signature; `n_given` arguments came by position.

    An unknown keyword raises TypeError here, by `require_known`.
    """
    known = [name for name in signature.parameters if name != "self"]
    require_known(call_name, known, given)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    by_position = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if n_given > len(by_position) and inspect.Parameter.VAR_POSITIONAL not in kinds.values():
        return f"{call_name}() got {error}: give all but {', '.join(n for n in by_position if n != 'self')} by name"
    return f"{call_name}() {error}"


def _check_tables(arguments: Mapping[str, Any]) -> None:
    """Raise TypeError for tables without direct access to their values: AnnData and LazyFrame."""
    for name, value in arguments.items():
        if hasattr(value, "obs_names") and hasattr(value, "var_names"):
            raise TypeError(f"{name} must be an array or a table; got an AnnData: give adata.X, or use fastfs.tl")
        if hasattr(value, "collect") and hasattr(value, "collect_schema"):
            raise TypeError(f"{name} must be an array or a table; got a LazyFrame: give {name}.collect()")


def _check_rows(arguments: Mapping[str, Any]) -> None:
    """Warn if an argument names the rows in another order than X or G, or names different rows.

    It compares names only for the same number of rows, and ignores default numbers.
    """
    table = "G" if "G" in arguments else "X"
    rows = _row_names(arguments.get(table))
    if rows is None:
        return
    for name, value in _arguments_of_rows(arguments):
        names = _row_names(value)
        if names is None or len(names) != len(rows) or names == rows:
            continue
        by_position = f"{name}.to_numpy() if it has the order of {table}"
        if Counter(names) == Counter(rows):
            order = f"{table}.index" if hasattr(arguments[table], "iloc") else f"{table}.samples"
            is_unique = len(set(names)) == len(names)
            reordered = f"{name}.loc[{order}]" if is_unique else f"{name} in the order of {order}"
            other = f"{name} names the rows of {table} in another order, but is paired by position"
            warn([f"{other}: give {reordered}, or {by_position}"])
        elif list(range(len(rows))) not in (names, rows):
            warn(
                [
                    f"{name} and {table} name their rows differently ({names[0]!r} and {rows[0]!r} come first), so "
                    f"they are paired by position: give {by_position}, or else with the names of {table}"
                ]
            )


def _name_places(error: BaseException, arguments: Mapping[str, Any]) -> None:
    """Let an error of the core name the row and the column of a table that has names, besides their numbers."""
    table = arguments.get("Y" if "Y" in arguments else "y") if about_targets(error) else arguments.get("X")
    columns = list(getattr(table, "columns", ())) if hasattr(table, "iloc") else None
    named = {"row": _row_names(table), "column": columns}
    rename(error, {kind: _place_describer(kind, names) for kind, names in named.items() if _say_more(names)})


def _say_more(names: list[Any] | None) -> bool:
    """Return True if names say more than numbers."""
    return bool(names) and names != list(range(len(names or [])))


def _place_describer(kind: str, names: list[Any] | None) -> Callable[[int], str]:
    """Return a function that describes a row or a column by its number and its name."""
    known = names or []
    return lambda number: f"{kind} {number} ({known[number]!r})" if number < len(known) else f"{kind} {number}"


def _arguments_of_rows(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that have one entry per row."""
    for name, value in arguments.items():
        if name in _OF_ROWS or (name == "given" and hasattr(value, "columns")):
            yield name, value
        elif name in _MAPPINGS and isinstance(value, Mapping):
            yield from ((str(key), entry) for key, entry in value.items())


def _row_names(table: Any) -> list[Any] | None:
    """Return the names of the rows of a pandas table or of genotypes; None if there are none."""
    if hasattr(table, "iloc"):
        return list(table.index)
    return table.samples.tolist() if hasattr(table, "bits") and hasattr(table, "samples") else None
