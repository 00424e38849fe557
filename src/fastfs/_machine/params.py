"""Checks of parameters: types, ranges, choices."""

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fastfs._types import Array, Integers


def some_of(names: Any) -> str:
    """Return a list for messages: all names if they are few, else the first three and the number of the remaining."""
    shown = [str(name) for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def check_choice(name: str, value: Any, options: tuple[str, ...], *otherwise: str) -> str:
    """Return value if it is one of the options, or raise ValueError with the options and the alternatives to them."""
    if isinstance(value, str) and value in options:
        return value
    *alternatives, last = [*map(repr, options), *otherwise]
    raise ValueError(f"{name} must be {', '.join(alternatives)}{' or ' if alternatives else ''}{last}; got {value!r}")


def one_of(*options: str) -> Callable[[str, Any], str]:
    """Return a converter that accepts only the given options."""
    return lambda name, value: check_choice(name, value, options)


def word_or_none(*options: str) -> Callable[[str, Any], str]:
    """Return a converter that accepts only the given options, and takes None for "none"."""
    return lambda name, value: "none" if value is None else check_choice(name, value, options, "None")


def as_int(name: str, value: Any, low: int = -(1 << 31), high: int = (1 << 31) - 1) -> int:
    """Return value as an int; raise TypeError for bools and other objects, ValueError outside [low, high].

    Errors name the parameter; the core checks tighter bounds.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if not low <= number <= high:
        bound = f"at least {low}" if number < low else f"at most {high}"
        raise ValueError(f"{name} must be {bound}; got {number}")
    return number


def as_count(name: str, value: Any) -> int:
    """Return value as an int of at least 1; return 0 for None."""
    return 0 if value is None else as_int(name, value, low=1)


# Number of permutations for n_permutations="auto"; all permutations if there are no more.
_AUTO_PERMUTATIONS = 999


def as_permutations(value: Any, low: int) -> tuple[int, bool]:
    """Return n_permutations as an int of at least `low`, and True if it was "auto", so that a test can end early."""
    if isinstance(value, str):
        check_choice("n_permutations", value, ("auto",), "an integer")
        return _AUTO_PERMUTATIONS, True
    return as_int("n_permutations", value, low=low), False


def as_bool(name: str, value: Any) -> bool:
    """Return value as a bool, or raise TypeError with the name of the parameter."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def as_float(name: str, value: Any) -> float:
    """Return value as a float, NaN and infinity included; raise TypeError with the name of the parameter for text and
    bools.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, str | bytes | bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r}")
    return number


def as_not_negative(name: str, value: Any) -> float:
    """Return value as a finite float of at least 0, or raise an error with the name of the parameter."""
    number = as_float(name, value)
    if not 0 <= number < np.inf:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}")
    return number


KERNEL_SIGNATURE = "void(CPointer(double), int64, int64, int64, CPointer(double), CPointer(double), double, voidptr)"


def kernel_address(kernel: Any) -> int:
    """Return the address of a custom kernel, a Numba cfunc or a ctypes function. The caller must keep the kernel alive.

    Raises TypeError for anything else, and for a declared signature other than `KERNEL_SIGNATURE`.
    """
    function = getattr(kernel, "ctypes", kernel)  # a cfunc has its ctypes function as an attribute
    if not isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        raise TypeError(
            f"a custom kernel must be a C function; got {kernel!r}: compile it with "
            f'@numba.cfunc("{KERNEL_SIGNATURE}"), or give a ctypes function'
        )
    if function.argtypes is not None:  # None: a ctypes library doesn't declare its arguments
        kinds = "".join(map(_argument_code, function.argtypes))
        if kinds != "piiippdp" or function.restype is not None:
            takes = ", ".join(t.__name__ for t in function.argtypes)
            returns = getattr(function.restype, "__name__", "nothing")
            raise TypeError(
                f"the kernel must have the signature {KERNEL_SIGNATURE}; got one that takes ({takes}) and "
                f"returns {returns}"
            )
    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise TypeError("the kernel must be a C function; got a NULL pointer")
    return address


def named_kernel(word: str) -> Callable[[str, Any], int]:
    """Return a converter of a kernel to the address of a C function, or to 0 for the kernel called `word`.

    Other words raise ValueError there.
    """

    def kernel_or_zero(name: str, value: Any) -> int:
        if isinstance(value, str):
            check_choice(name, value, (word,), "a C function")
            return 0
        return kernel_address(value)

    return kernel_or_zero


def _argument_code(argument: Any) -> str:
    """Return p for a pointer to doubles or to anything, i for a 64-bit integer, d for a double, ? for others."""
    if argument is ctypes.c_void_p or getattr(argument, "_type_", None) is ctypes.c_double:
        return "p"
    code = getattr(argument, "_type_", None)
    if code == "d":
        return "d"
    return "i" if code in ("l", "q") and ctypes.sizeof(argument) == 8 else "?"


class _SeedOfRandomState:
    """The default of `rng`, which help shows as ``rng=<random_state>``."""

    def __repr__(self) -> str:
        return "<random_state>"


RANDOM_STATE: Any = _SeedOfRandomState()


def as_seed(random_state: Any, name: str = "random_state") -> int:
    """Return a seed for the core: an int unchanged, a fresh one for None, or one drawn from a generator of NumPy."""
    if random_state is None or isinstance(random_state, np.random.SeedSequence | np.random.BitGenerator):
        random_state = np.random.default_rng(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    return as_int(name, random_state, low=0, high=(1 << 63) - 1)


def rank_features(scores: Array, last: Integers | None = None) -> Integers:
    """Return 1..n_features, 1 for the largest score; ties go to the lower index; the features `last` come last."""
    if last is not None:
        scores = scores.copy()
        scores[last] = -np.inf
    order = np.argsort(-scores)  # a seventh of the time of a stable sort, which ties alone need
    sorted_scores = scores[order]
    if (sorted_scores[1:] == sorted_scores[:-1]).any():
        order = np.argsort(-scores, kind="stable")
    ranking = np.empty(len(scores), dtype=np.int64)
    ranking[order] = np.arange(1, len(scores) + 1)
    return ranking


def is_auto(n_features_to_select: Any) -> bool:
    """Return True if a test tells the number of features to keep."""
    return isinstance(n_features_to_select, str) and n_features_to_select == "auto"


def count_selected(n_features_to_select: int | float | str | None, n_features: int) -> int:
    """Return the number of features to keep, from a number, a fraction, or None or "auto" for half of them; at least 1.

    Raise TypeError for other objects, ValueError outside 1 to `n_features` or (0, 1].
    """
    n = n_features_to_select
    if n is None or is_auto(n):
        return max(1, n_features // 2)
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | float | np.integer | np.floating):
        raise TypeError(f"n_features_to_select must be an int, a float, 'auto' or None; got {type(n).__name__}")
    if not n_features:
        raise ValueError("X must have features; got none")
    if isinstance(n, float | np.floating):
        if not 0 < n <= 1:
            raise ValueError(f"n_features_to_select as a fraction must lie in (0, 1]; got {n}")
        return max(1, int(n * n_features))
    if not 1 <= n <= n_features:
        raise ValueError(f"n_features_to_select must lie between 1 and {n_features}, the number of features; got {n}")
    return int(n)
