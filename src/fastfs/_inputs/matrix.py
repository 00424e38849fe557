"""Conversion of a samples x features table for the core."""

import contextlib
from collections import Counter
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import as_stream
from fastfs._inputs.sparse import Sparse, index_arrays
from fastfs._inputs.storage import check_structure, dense, first_not_finite
from fastfs._inputs.values import exact_floats, for_core
from fastfs._machine.params import some_of
from fastfs._machine.run import Run
from fastfs._types import Array


def as_matrix(X: Any, run: Run, name: str = "X") -> Any:
    """Return X as a matrix for the core, and charge a copy to the budget of the run. Errors call X `name`.

    The core takes 2-D float32 or float64 arrays with any strides, CSR or CSC containers of such values, and genotypes;
    these aren't copied. Raises MemoryError before a copy that would exceed the budget.
    """
    return _in_core_form(as_array(X, run, name), run, name)


@singledispatch
def _in_core_form(X: Any, run: Run, name: str) -> Any:
    """Return the values of a table as aligned native floats, or as CSR or CSC; copy them only if necessary.

    A copy that exceeds the memory budget is a MemoryError.
    """
    if not _is_native_float(X.dtype):
        _reserve_copy(run, 8 * X.size, name)
        X = as_floats(X, name)
    if X.flags.forc and X.flags.aligned:
        return X
    repeats = any(step == 0 and length > 1 for step, length in zip(X.strides, X.shape, strict=True))
    if repeats or not X.flags.aligned or any(s % X.itemsize for s in X.strides):
        advice = f"give {name} as a contiguous array, or fewer samples or features"
        run.reserve_memory(X.nbytes, f"a copy of {name} (its values overlap or aren't aligned)", advice)
        X = X.copy()
    return X


@_in_core_form.register(Sparse)
def _(X: Any, run: Run, name: str) -> Any:
    """Return sparse X as CSR or CSC with native floats and indices of the core; copy only if necessary."""
    if X.format not in ("csr", "csc"):
        _reserve_copy(run, X.nnz * (X.dtype.itemsize + 8), name)
        X = X.tocsr()
    if not _is_native_float(X.dtype):
        _reserve_copy(run, 8 * X.nnz, name)
    data = for_core(as_floats(X.data, name))
    indices, indptr = index_arrays(X)
    if data is X.data and indices is X.indices and indptr is X.indptr:
        return X
    return type(X)((data, indices, indptr), shape=X.shape, copy=False)


@_in_core_form.register(Genotypes)
def _(X: Genotypes, run: Run, name: str) -> Any:
    return X


def as_decoded(X: Any, run: Run, name: str = "X") -> Any:
    """Return X as a matrix for the core, but genotypes as an array, for computations in Python."""
    return _decoded(as_matrix(X, run, name), run)


@singledispatch
def _decoded(X: Any, run: Run) -> Any:
    return X


@_decoded.register(Genotypes)
def _(X: Genotypes, run: Run) -> Any:
    run.reserve_memory(4 * X.size, "a copy of X as floats", "select fewer samples or SNPs")
    return np.asarray(X)


def _reserve_copy(run: Run, n_bytes: int, name: str) -> None:
    """Charge a copy of X as floats to the budget."""
    run.reserve_memory(n_bytes, f"a copy of {name} as floats", f"give {name} as float32 or float64")


def as_dense(X: Any, run: Run) -> Any:
    """Return X as a dense matrix for the core; sparse X is made dense if the budget allows it.

    Raise TypeError for an iterator.
    """
    if hasattr(X, "__next__"):
        raise TypeError(
            "X must be one array, since this method compares all pairs of samples; got an iterator of row chunks: "
            "stack them"
        )
    return made_dense(as_matrix(X, run), run)


@singledispatch
def made_dense(X: Any, run: Run) -> Any:
    """Return a matrix for the core as dense values, if the budget allows it; only sparse ones change."""
    return X


@made_dense.register(Sparse)
def _(X: Any, run: Run) -> Any:
    """Return sparse X as dense values; raise MemoryError if these exceed the budget."""
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    run.reserve_memory(
        n_bytes,
        "a copy of X as dense values",
        "give fewer samples or features, or use ReliefF or ProjSe, which take sparse X as it is",
    )
    return X.toarray()


CONVERT = "convert it to numbers, or drop it"


def as_array(
    X: Any, run: Run, name: str = "X", *, advice: str = CONVERT, describe: Callable[[int], str] | None = None
) -> Any:
    """Return X as a 2-D array, unless it is sparse or genotypes; load a stream, and turn a table of sparse columns into
    COO.

    Only tables and arrays of Python objects are converted. An error about a column without numbers calls it by
    `describe` (default: `column_describer` of X), and ends with `advice`.
    """
    X = load_stream(X, run, name)
    require_table(X, name)
    if hasattr(getattr(X, "sparse", None), "to_coo"):  # a pandas table of sparse columns
        X = X.sparse.to_coo()
    return _checked_values(X, run, name, advice, describe)


@singledispatch
def _checked_values(X: Any, run: Run, name: str, advice: str, describe: Callable[[int], str] | None) -> Any:
    """Return a table as an array of real numbers, NaN included; sparse values and genotypes are only checked.

    Python objects become float64. Raise ValueError for dates, durations, complex numbers and text.
    """
    describe = describe or column_describer(X)
    for column, dtype in enumerate(getattr(X, "dtypes", ())):
        if getattr(dtype, "kind", "") in ("m", "M") or getattr(dtype, "is_temporal", bool)():  # pandas', Polars'
            held = f"{describe(column)} holds dates or durations ({dtype})"
            raise ValueError(f"{name} must hold numbers, but {held}: {advice}")
    values = np.asarray(X)
    _require_real(values, name)
    if values.dtype.kind in "OSUT":
        if not isinstance(X, np.ndarray):
            values = np.asarray(X, dtype=object)  # else NumPy would turn numbers into strings, if there is a string
        _reserve_copy(run, 8 * values.size, name)
        values = _as_numbers(X, values, describe, name, advice)
    return values


@_checked_values.register(Sparse)
def _(X: Any, run: Run, name: str, advice: str, describe: Callable[[int], str] | None) -> Any:
    _require_real(X, name)
    return X


@_checked_values.register(Genotypes)
def _(X: Genotypes, run: Run, name: str, advice: str, describe: Callable[[int], str] | None) -> Any:
    X.check_file()
    return X


def load_stream(X: Any, run: Run, name: str = "X", **given: Any) -> Any:
    """Return X in memory, by `Source.load_rows`, if it is on disk, a Dask array or a function; return an array
    unchanged.
    """
    X = open_path(X)
    source = None if hasattr(X, "__next__") else as_stream(X)
    return X if source is None else source.load_rows(run, name, **given)


def require_table(X: Any, name: str = "X") -> None:
    """Raise ValueError for a table that isn't 2-D, has masked values or invalid indices, or repeats a column name."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked values: impute or drop them first")
    try:
        n_dimensions = len(X.shape if hasattr(X, "shape") else np.asarray(X).shape)
    except ValueError:
        raise ValueError(f"{name} must be a 2-D array of samples x features; got rows of different lengths") from None
    if n_dimensions != 2:  # scikit-learn's checks look for the first words
        raise ValueError(f"Reshape your data: {name} must be a 2-D array of samples x features; got {n_dimensions}-D")
    check_structure(X)
    if repeated := _repeated_names(X):
        raise ValueError(
            f"{name} must have unique column names; got {some_of(repeated)} more than once: rename or drop them"
        )


@singledispatch
def _repeated_names(X: Any) -> list[Any]:
    """Return the column names that occur more than once; SNPs can share a name, so genotypes have none."""
    names = column_names(X)
    if names is None or len(set(names)) == len(names):
        return []
    return [name for name, count in Counter(names).items() if count > 1]


@_repeated_names.register(Genotypes)
def _(X: Genotypes) -> list[Any]:
    return []


@singledispatch
def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a table, or the names of SNPs if they are unique; None for an array."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # a table of Arrow
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else None


@column_names.register(Genotypes)
def _(X: Genotypes) -> list[Any] | None:
    names: list[Any] = X.names.tolist()
    return names if len(set(names)) == len(names) else None


def column_describer(X: Any) -> Callable[[int], str]:
    """Return a function that describes a column of a table in messages, by its number and its name."""
    names = column_names(X)
    return lambda number: f"column {number} " + ("(0-based)" if names is None else f"({names[number]!r})")


def _require_real(values: Any, name: str) -> None:
    """Raise ValueError if the values are complex."""
    if values.dtype.kind == "c":  # scikit-learn's checks look for the first words
        raise ValueError(f"Complex data not supported: {name} must be real; got complex numbers: give their real part")


def _as_numbers(X: Any, values: Array, describe: Callable[[int], str], name: str, advice: str) -> Array:
    """Convert Python objects to float64: the columns of X, or the array that was made from it; missing values become
    NaN.

    Raise ValueError for text, even of digits, and categories; for other values ValueError or TypeError.
    """
    # Look for words first: if there is one, NumPy has also turned numbers into strings.
    if (cell := _first_cell(values, _is_text)) is not None:
        column, text = _first_cell(values, _is_word) or cell
        # pandas says "category", Polars "Categorical" and "Enum"
        dtype = str(list(X.dtypes)[column]) if hasattr(X, "dtypes") else ""
        what = "categories" if dtype.lower().startswith(("categor", "enum")) else "strings"
        held = f"{describe(column)} holds {what}, such as {str(text)[:30]!r}"
        raise ValueError(f"{name} must hold numbers, but {held}: {advice}")
    if hasattr(X, "convert_dtypes"):  # pandas: its missing values become NaN
        with contextlib.suppress(TypeError, ValueError):
            numbers: Array = X.to_numpy(dtype=np.float64, na_value=np.nan)
            return numbers
    columns = np.empty(values.shape)
    for column in range(values.shape[1]):
        try:
            cells = values[:, column].copy()
            cells[[type(cell).__name__ == "NAType" for cell in cells]] = np.nan  # pandas.NA among objects
            columns[:, column] = cells
        except (TypeError, ValueError, OverflowError) as error:
            held = f"{describe(column)} holds other values ({str(error).rstrip('.')})"
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name} must hold numbers, but {held}: {advice}") from None
    return columns


def _first_cell(values: Array, wanted: Callable[[Any], bool]) -> tuple[int, Any] | None:
    """Return the first column that has a value with the wanted property, and this value."""
    return next(((j, value) for j in range(values.shape[1]) for value in filter(wanted, values[:, j])), None)


def _is_text(value: Any) -> bool:
    """Return True for a string."""
    return isinstance(value, str | bytes)


def _is_word(value: Any) -> bool:
    """Return True for a string that isn't a number."""
    if not _is_text(value):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _is_native_float(dtype: Any) -> bool:
    return dtype in (np.float32, np.float64)


def as_floats(values: Array, name: str = "X") -> Array:
    """Return floats of at most 32 bits as native float32, all other values as float64; copy only if necessary.

    Raise ValueError for complex numbers, dates, other values without a number, and integers that float64 can't tell
    apart.
    """
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real; got complex numbers: give their real part")
    if values.dtype.kind in "mM":
        raise ValueError(f"{name} must hold numbers; got dates or durations ({values.dtype}): give them as days")
    target = np.float32 if values.dtype.kind == "f" and values.dtype.itemsize <= 4 else np.float64
    if values.dtype == target:
        return values
    if values.dtype.kind in "iu":
        return exact_floats(values, name)
    try:
        return values.astype(target)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers only: {error}") from None


def as_numbers(values: Any, name: str) -> Array:
    """Return numbers that come with the data, such as a score for each column, as a contiguous array of float64.

    Sparse values are made dense. Raise ValueError for masked or complex values, dates, and rows of different lengths.
    """
    values = dense(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked values: fill them first")
    try:
        values = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array; got rows of different lengths") from None
    return for_core(as_floats(values, name), np.float64)


def describe_not_finite(X: Any, name: str = "X") -> str | None:
    """Describe the first value, row by row, that isn't finite, with the core's words; return None if all are finite."""
    first = first_not_finite(X)
    if first is None:
        return None
    return f"{name} must be finite; got NaN or infinity first at row {first[0]}, column {first[1]}: impute or drop it"
