"""Parameters: types, ranges, choices."""

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fastfs._types import Array, Integers


def some_of(names: Any) -> str:
    """Return a list for people: all of a few names, or the first three and how many more there are."""
    shown = [str(name) for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def choose(name: str, value: Any, options: tuple[str, ...], *otherwise: str) -> str:
    """Return value if it is one of the options, or say which there are, and what else would do."""
    if isinstance(value, str) and value in options:
        return value
    *most, last = [*map(repr, options), *otherwise]
    raise ValueError(f"{name} must be {', '.join(most)}{' or ' if most else ''}{last}, not {value!r}")


def one_of(*options: str) -> Callable[[str, Any], str]:
    """Return a converter that lets one of the options pass."""
    return lambda name, value: choose(name, value, options)


def word_or_none(*options: str) -> Callable[[str, Any], str]:
    """Return a converter that lets one of the options pass, and takes None for "none"."""
    return lambda name, value: "none" if value is None else choose(name, value, options, "None")


def as_int(name: str, value: Any, low: int = -(1 << 31), high: int = (1 << 31) - 1) -> int:
    """Return value as an int, or say which parameter isn't one; tighter bounds are the core's to check."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= number <= high:
        bound = f"at least {low}" if number < low else f"at most {high}"
        raise ValueError(f"{name} must be {bound}, but is {number}")
    return number


def as_count(name: str, value: Any) -> int:
    """Return value as an int of at least 1, or 0 for None."""
    return 0 if value is None else as_int(name, value, low=1)


# n_permutations="auto": all labelings if there are no more others, or so many draws.
_AUTO_PERMUTATIONS = 999


def as_permutations(value: Any, low: int) -> tuple[int, bool]:
    """Return n_permutations as an int of at least `low`, and whether it was "auto", so that a test may end early."""
    if isinstance(value, str):
        choose("n_permutations", value, ("auto",), "an integer")
        return _AUTO_PERMUTATIONS, True
    return as_int("n_permutations", value, low=low), False


def as_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def as_float(name: str, value: Any) -> float:
    """Return value as a float, or say which parameter isn't one."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, str | bytes | bool | np.bool_):
        raise TypeError(f"{name} must be a number, not {value!r}")
    return number


def as_not_negative(name: str, value: Any) -> float:
    """Return value as a finite float of at least 0, or say which parameter isn't one."""
    number = as_float(name, value)
    if not 0 <= number < np.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
    return number


KERNEL_SIGNATURE = "void(CPointer(double), int64, int64, int64, CPointer(double), CPointer(double), double, voidptr)"


def kernel_address(kernel: Any) -> int:
    """Return the address of a kernel of the caller's, a Numba cfunc or a ctypes function; who holds it keeps it alive.

    Raises TypeError for anything else, and where the signature is declared and isn't `KERNEL_SIGNATURE`.
    """
    function = getattr(kernel, "ctypes", kernel)  # of a cfunc
    if not isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        raise TypeError(
            f"a kernel of your own must be a C function, not {kernel!r}: compile it with "
            f'@numba.cfunc("{KERNEL_SIGNATURE}"), or give a ctypes function'
        )
    if function.argtypes is not None:  # a function of a ctypes library may have none declared
        kinds = "".join(map(_kind, function.argtypes))
        if kinds != "piiippdp" or function.restype is not None:
            takes = ", ".join(t.__name__ for t in function.argtypes)
            returns = getattr(function.restype, "__name__", "nothing")
            raise TypeError(
                f"the kernel must have the signature {KERNEL_SIGNATURE}, but takes ({takes}) and returns {returns}"
            )
    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise TypeError("the kernel is a NULL pointer")
    return address


def named_kernel(word: str) -> Callable[[str, Any], int]:
    """Return a converter of a kernel to the address of a C function, or 0 for the one with this name."""

    def convert(name: str, value: Any) -> int:
        if isinstance(value, str):
            choose(name, value, (word,), "a C function")
            return 0
        return kernel_address(value)

    return convert


def _kind(argument: Any) -> str:
    """Return p for a pointer to doubles or to anything, i for a 64-bit integer, d for a double."""
    if argument is ctypes.c_void_p or getattr(argument, "_type_", None) is ctypes.c_double:
        return "p"
    code = getattr(argument, "_type_", None)
    if code == "d":
        return "d"
    return "i" if code in ("l", "q") and ctypes.sizeof(argument) == 8 else "?"


def as_seed(random_state: Any) -> int:
    """Return a seed for the core: an int is its own, None a fresh one, a generator of NumPy's draws one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    return as_int("random_state", random_state, low=0, high=(1 << 63) - 1)


def rank_features(scores: Array) -> Integers:
    """Return 1..n_features, 1 for the largest score; ties go to the lower index."""
    ranking = np.empty(len(scores), dtype=np.int64)
    ranking[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranking


def count_selected(n_features_to_select: int | float | None, n_features: int) -> int:
    """Return how many features to keep: a number, a fraction, or half of them."""
    n = n_features_to_select
    if n is None:
        return max(1, n_features // 2)
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | float | np.integer | np.floating):
        raise TypeError(f"n_features_to_select must be an int, a float or None, not {type(n).__name__}")
    if isinstance(n, float | np.floating):
        if not 0 < n <= 1:
            raise ValueError(f"n_features_to_select as a fraction must lie in (0, 1], but is {n}")
        return max(1, int(n * n_features))
    if not 1 <= n <= n_features:
        raise ValueError(f"n_features_to_select must lie between 1 and the {n_features} features, but is {n}")
    return int(n)
