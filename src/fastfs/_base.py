"""What all methods share on the Python side: arguments in, results out."""

import contextlib
import ctypes
import itertools
import operator
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Progress = Callable[[str, float], object]


class DataWarning(UserWarning):
    """The data make a result, or a part of it, say less than it seems to."""


def core() -> ModuleType:
    """The compiled core, with SciPy's BLAS registered."""
    from fastfs import _core, _lapack

    _lapack.register()
    return _core


def as_matrix(X: Any, budget: int = 0) -> tuple[Any, int]:
    """Return X as the core takes it, and what its conversion has left of the memory budget (0: the default).

    The core takes 2-D float32 or float64 arrays with any strides, and CSR or CSC containers of such values. Those that
    are one already are not copied. Raises MemoryError before a copy that would exceed the budget.
    """
    X, budget = as_array(X, budget)
    if hasattr(X, "tocsr"):
        if X.format not in ("csr", "csc"):
            budget = _take(budget, X.nnz * (X.dtype.itemsize + 8))
            X = X.tocsr()
        if not _is_native_float(X.dtype):
            budget = _take(budget, 8 * X.nnz)
        data = np.ascontiguousarray(as_floats(X.data))
        indices, indptr = _indices(X)
        if data is X.data and indices is X.indices and indptr is X.indptr:
            return X, budget
        return type(X)((data, indices, indptr), shape=X.shape, copy=False), budget
    if not _is_native_float(X.dtype):
        budget = _take(budget, 8 * X.size)
        X = as_floats(X)
    if not X.flags.aligned or any(s % X.itemsize for s in X.strides):
        budget = _take(budget, X.nbytes)
        X = X.copy()
    return X, budget


def _indices(X: Any) -> tuple[Array, Array]:
    """Return indices and indptr of a CSR or CSC matrix as the core takes them; no copies if they are so."""
    index = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    return np.ascontiguousarray(X.indices, index), np.ascontiguousarray(X.indptr, index)


def check_structure(X: Any) -> None:
    """Refuse a CSR or CSC matrix whose indptr or indices point outside it; anything else passes.

    SciPy's indexing and conversions follow them anywhere, so this must come before the first of these.
    """
    if not hasattr(X, "tocsr") or X.format not in ("csr", "csc") or len(X.shape) != 2 or 0 in X.shape:
        return
    from fastfs import _core

    indices, indptr = _indices(X)
    values = np.empty(len(X.data), np.float32)  # in place of any dtype: the core only counts them
    _core.check_matrix(SimpleNamespace(format=X.format, shape=X.shape, data=values, indices=indices, indptr=indptr))


def as_dense(X: Any, budget: int = 0) -> tuple[Array, int]:
    """As `as_matrix`, but always an array: sparse X is made dense if the budget allows it."""
    if hasattr(X, "__next__"):
        raise TypeError(
            "X is an iterator of row chunks, but this method compares all pairs of samples: give it as one array"
        )
    X, budget = as_matrix(X, budget)
    if hasattr(X, "tocsr"):
        n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
        budget = _take(budget, n_bytes, "as dense values", "give fewer samples or features")
        X = X.toarray()
    return X, budget


def as_array(X: Any, budget: int = 0) -> tuple[Any, int]:
    """Return X, if it is sparse, or else a 2-D array of it, and what that has left of the memory budget.

    Only tables and arrays of Python's objects are converted. Columns that don't hold numbers are named.
    """
    require_table(X)
    if hasattr(getattr(X, "sparse", None), "to_coo"):  # a table of pandas' sparse columns
        X = X.sparse.to_coo()
    if hasattr(X, "tocsr"):
        _require_real(X)
        return X, budget
    names = _column_names(X)
    for column, dtype in enumerate(getattr(X, "dtypes", ())):
        if getattr(dtype, "kind", "") in ("m", "M") or getattr(dtype, "is_temporal", bool)():  # pandas', Polars'
            held = f"{_column(column, names)} holds dates or durations ({dtype})"
            raise ValueError(f"X must hold numbers, but {held}: convert it to numbers, or drop it")
    values = np.asarray(X)
    _require_real(values)
    if values.dtype.kind in "OSU":
        if not isinstance(X, np.ndarray):
            values = np.asarray(X, dtype=object)  # NumPy makes strings of the numbers beside one
        budget = _take(budget, 8 * values.size)
        values = _as_numbers(X, values, names)
    return values, budget


def require_table(X: Any) -> None:
    """Refuse a table that isn't 2-D, has masked values, points outside itself, or names two columns alike."""
    if np.ma.is_masked(X):
        raise ValueError("X has masked values: impute or drop them first")
    try:
        n_dimensions = len(X.shape if hasattr(X, "shape") else np.asarray(X).shape)
    except ValueError:
        raise ValueError("X must be a 2-D array of samples x features, but its rows have different lengths") from None
    if n_dimensions != 2:  # the first words are those that scikit-learn's checks of estimators look for
        raise ValueError(f"Reshape your data: X must be a 2-D array of samples x features, not {n_dimensions}-D")
    check_structure(X)
    names = _column_names(X)
    if names is not None and len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(f"X must have unique column names, but repeats {some_of(twice)}: rename or drop them")


def _column_names(X: Any) -> list[Any] | None:
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else None


def _column(number: int, names: list[Any] | None) -> str:
    return f"column {number} " + ("(counted from 0)" if names is None else f"({names[number]!r})")


def _require_real(values: Any) -> None:
    if values.dtype.kind == "c":  # the first words are those that scikit-learn's checks of estimators look for
        raise ValueError("Complex data not supported: X must be real, but holds complex numbers")


def _as_numbers(X: Any, values: Array, names: list[Any] | None) -> Array:
    """Objects as float64: those of X, or of the array that was made of it."""
    # Words first: beside one, NumPy makes strings of the numbers, too.
    if (found := _find(values, _is_text)) is not None:
        column, text = _find(values, _is_word) or found
        held = f"{_column(column, names)} holds strings, such as {str(text)[:30]!r}"
        raise ValueError(f"X must hold numbers, but {held}: convert it to numbers, or drop it")
    if hasattr(X, "convert_dtypes"):  # pandas: its missing values become NaN
        with contextlib.suppress(TypeError, ValueError):
            numbers: Array = X.to_numpy(dtype=np.float64, na_value=np.nan)
            return numbers
    columns = np.empty(values.shape)
    for column in range(values.shape[1]):
        try:
            columns[:, column] = values[:, column]
        except (TypeError, ValueError, OverflowError) as error:
            held = f"{_column(column, names)} holds other values ({str(error).rstrip('.')})"
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"X must hold numbers, but {held}: convert it to numbers, or drop it") from None
    return columns


def _find(values: Array, wanted: Callable[[Any], bool]) -> tuple[int, Any] | None:
    """The first column that has such a value, and the value."""
    return next(((j, value) for j in range(values.shape[1]) for value in filter(wanted, values[:, j])), None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str | bytes)


def _is_word(value: Any) -> bool:
    if not _is_text(value):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def as_chunks(X: Any, budget: int = 0, y: Any = None) -> tuple[list[Any], int]:
    """Return the row chunks of X, each as of `as_matrix`: those that an iterator yields, or X as the only one.

    An iterator is left as soon as it has yielded more rows than y has labels, or more bytes than the budget allows.
    """
    if not hasattr(X, "__next__"):
        X, budget = as_matrix(X, budget)
        return [X], budget
    n_labels = len(y) if hasattr(y, "__len__") else None
    chunks: list[Any] = []
    n_rows = n_bytes = 0
    for chunk in X:
        chunk, budget = as_matrix(chunk, budget)
        if chunks and chunk.shape[1] != chunks[0].shape[1]:
            raise ValueError(
                f"all chunks of X must have the {chunks[0].shape[1]} features of the first, but chunk {len(chunks)} "
                f"(counted from 0) has {chunk.shape[1]}"
            )
        n_rows += chunk.shape[0]
        n_bytes += chunk.data.nbytes
        if n_labels is not None and n_rows > n_labels:
            raise ValueError(f"y has {n_labels} labels, but the chunks of X have {n_rows} rows or more")
        if budget and n_bytes > budget:
            raise MemoryError(
                f"the chunks of X take {n_bytes} bytes or more, but the memory budget is {budget} bytes: raise "
                "max_memory (or FASTFS_MAX_MEMORY), or give fewer features"
            )
        if chunk.shape[0]:
            chunks.append(chunk)
    if not chunks:
        raise ValueError("X is an iterator of row chunks, but yielded no rows: has it been used up before?")
    return chunks, budget


def same_columns(chunks: Iterable[Any], name: str = "X", names: Any = None) -> Iterator[Any]:
    """Pass chunks on; those that name their columns must name the same ones, `names` if they are known before."""
    for number, chunk in enumerate(chunks):
        columns = getattr(chunk, "columns", None)
        if columns is not None:
            if names is not None and list(columns) != list(names):
                raise ValueError(
                    f"all chunks of {name} must have the columns of the first, but chunk {number} (from 0) has others"
                )
            names = columns
        yield chunk


def stack(chunks: Sequence[Any]) -> Any:
    """Return the chunks as one matrix; a single one isn't copied."""
    if len(chunks) == 1:
        return chunks[0]
    if hasattr(chunks[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(chunks, format="csr")
    return np.concatenate(chunks)


def _is_native_float(dtype: Any) -> bool:
    return dtype in (np.float32, np.float64)


def _take(budget: int, n_bytes: int, how: str = "as floats", instead: str = "give X as float32 or float64") -> int:
    """Take a copy of X off the budget; small ones off the default one aren't worth asking the machine for it."""
    if budget == 0 and n_bytes < 1 << 26:
        return 0
    from fastfs import _core

    available = budget or _core.info()["max_memory"]
    if n_bytes >= available:
        raise MemoryError(
            f"a copy of X {how} needs {n_bytes} bytes, but the memory budget is {available} bytes: raise "
            f"max_memory (or FASTFS_MAX_MEMORY), or {instead}"
        )
    return budget and budget - n_bytes


def as_floats(values: Array, name: str = "X") -> Array:
    """Return the values as native float32 if they have no more than its digits, float64 else; no copy if they are."""
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real, but holds complex numbers")
    if values.dtype.kind in "mM":
        raise ValueError(f"{name} must hold numbers, but holds dates or durations ({values.dtype})")
    target = np.float32 if values.dtype.kind == "f" and values.dtype.itemsize <= 4 else np.float64
    if values.dtype == target:
        return values
    try:
        return values.astype(target)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers only: {error}") from None


def not_finite(X: Any, name: str = "X") -> str | None:
    """Say in the core's words which value is the first, row by row, that isn't finite; None if all are."""
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return None
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        bad = ~np.isfinite(entries.data)
        first = min(zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True), default=None)
    else:
        rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
        first = (rows[0], np.flatnonzero(~np.isfinite(X[rows[0]]))[0]) if len(rows) else None
    if first is None:
        return None
    return (
        f"{name} contains NaN or infinity: first at row {first[0]}, column {first[1]} (counted from 0); impute or drop "
        "it first"
    )


def encode_labels(y: Any, n_samples: int, n_features: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the classes in sorted order and each sample's position among them."""
    if y is None:
        raise ValueError("this method requires y to be passed, but the target y is None: give the samples' labels")
    if hasattr(y, "tocsr"):
        raise ValueError("y is sparse, but must be an array of labels: give y.toarray()")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("y has masked labels: drop these samples first")
    try:
        y = np.asarray(y)
    except ValueError:
        raise ValueError("y must be a 1-D array of labels, but its entries have different lengths") from None
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be a 1-D array of labels, not {y.ndim}-D")
    if len(y) != n_samples:
        hint = "; is X transposed? Its rows must be samples" if len(y) == n_features else ""
        raise ValueError(f"y must have one label for each of the {n_samples} samples of X, but has {len(y)}{hint}")
    for sample, label in enumerate(y):
        if is_missing(label):
            raise ValueError(f"y has no label ({label}) for sample {sample}")
    if y.dtype.kind == "f":
        continuous = np.flatnonzero(y != np.floor(y))  # NaN was found above, and infinity is caught by isfinite
        if len(continuous) or not np.isfinite(y).all():
            value = y[continuous[0]] if len(continuous) else np.inf
            raise ValueError(
                f"Unknown label type: continuous. y must hold classes, but has values such as {value:g}: bin them "
                "first, or give labels as integers or strings"
            )
    try:
        classes, codes = np.unique(y, return_inverse=True)
        in_order = y.dtype != object or all(a < b for a, b in itertools.pairwise(classes))  # sets compare without one
    except TypeError:
        in_order = False
    if not in_order:
        raise ValueError("y must hold labels of one kind, such as strings or integers, that can be sorted")
    return classes, codes.astype(np.int64).reshape(-1)


def require_classes(classes: Array) -> None:
    if len(classes) == 0:
        raise ValueError("X needs samples, but has none")
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, but has only one class: {classes.tolist()}")


def is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return bool(label != label)  # NaN and NaT are not equal to themselves
    except TypeError:  # pandas.NA doesn't say whether it is
        return True


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


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory(max_memory: int | str | None) -> int:
    """Return a memory budget in bytes; None is 0, the core's default."""
    if max_memory is None:
        return 0
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(?:i?B)?\s*", max_memory, re.IGNORECASE)
        size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    else:
        size = as_int("max_memory", max_memory, low=1, high=(1 << 63) - 1)
    if not 0 < size < 1 << 63:
        raise ValueError(f"max_memory must be a number of bytes, or a string such as '4G', not {max_memory!r}")
    return size


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


def check_progress(progress: Any) -> Any:
    """Return progress if it is a callable or None."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a callable taking a step and a share, not {progress!r}")
    return progress


def as_threads(n_threads: int) -> int:
    """Return n_threads as the core takes it: 0 is all cores that this process may use, or 1 inside a joblib worker."""
    n_threads = as_int("n_threads", n_threads)
    return 1 if n_threads == 0 and inside_joblib() else n_threads


def count_threads(n_jobs: int | None) -> int:
    """Translate n_jobs into n_threads: None is 0, a negative number counts back from all cores."""
    if n_jobs is None:
        return 0
    n_jobs = as_int("n_jobs", n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, or None for all cores")
    if n_jobs > 0:
        return n_jobs
    from fastfs import _core

    return max(1, int(_core.info()["n_threads"]) + 1 + n_jobs)


def inside_joblib() -> bool:
    """Whether this is a task of joblib's, or of Dask's, beside which others run."""
    # A task, in a thread or a process, knows its nesting level, but not Dask's; without a module loaded there is none.
    parallel = sys.modules.get("joblib.parallel")
    if parallel is not None and parallel.get_active_backend()[0].nesting_level:
        return True
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with contextlib.suppress(ValueError):  # no worker
            distributed.get_worker()
            return True
    return False


def as_progress(verbose: bool | Progress) -> Progress | None:
    """Return the progress callback that `verbose` asks for: its own, lines on stderr, or none."""
    if callable(verbose):
        return verbose
    return _Report() if verbose else None


class _Report:
    """Prints the running step and the finished share once a call has taken over two seconds."""

    def __init__(self) -> None:
        self.next = time.monotonic() + 2

    def __call__(self, step: str, fraction: float) -> None:
        if time.monotonic() >= self.next:
            print(f"[fastfs] {fraction:4.0%}  {step}", file=sys.stderr, flush=True)
            self.next = time.monotonic() + 1


_NOT_THE_CALLER = ("fastfs", "sklearn", "joblib")


def warn_data(messages: list[str], category: type[Warning] = DataWarning) -> None:
    """Issue each message as a warning that points to the caller of the library."""
    for message in messages:
        level = 1
        with contextlib.suppress(ValueError):
            while sys._getframe(level).f_globals.get("__name__", "").startswith(_NOT_THE_CALLER):
                level += 1
        warnings.warn(message, category, stacklevel=level + 1)


def rank_features(scores: Array) -> npt.NDArray[np.int64]:
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
