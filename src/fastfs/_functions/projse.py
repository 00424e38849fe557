"""ProjSe: few features that together explain a target, by projections between variables.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ProjSe`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.checks import as_bool, as_float, as_int, choose, count_selected, kernel_address
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_floats, as_matrix
from fastfs._inputs.streams import same_columns
from fastfs._machine.run import as_threads, check_progress, core, parse_memory, warn
from fastfs._types import Array, Progress


@dataclass(frozen=True)
class ProjSeResult:
    """What ProjSe found, as :func:`fastfs.projse_scores` returns it.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Of every feature before any choice; 0 for one without values (without variance, if centred).
    ranking : ndarray of shape (n_features,)
        1 is best: the selected ones in order of choice, then the others by `scores`.
    selected : ndarray of shape (n_selected,)
        Indices in order of choice.
    selection_scores, gaps, captured : ndarray of shape (n_selected,)
        Of each choice: its score at that moment, that score less the best rival's, and the share of all `scores` that
        has been explained by then.
    kernel_rank : int or None
        Rank of the target's kernel, which bounds the number of selected features; None without target if unknown.
    sigma : float or None
        The scale of the kernel, if it has one.
    center : bool
        Whether the columns were centred; False for kernels that were given.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> result = fastfs.projse_scores(X, X[:, [1]])
    >>> result.selected.tolist(), result.scores.round(3).tolist(), result.kernel_rank
    ([1], [0.0, 1.0], 1)
    """

    scores: npt.NDArray[np.float64]
    ranking: npt.NDArray[np.int64]
    selected: npt.NDArray[np.int64]
    selection_scores: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]
    captured: npt.NDArray[np.float64]
    kernel_rank: int | None
    sigma: float | None
    center: bool


def projse_scores(
    X: Any,
    y: Any = None,
    *,
    n_features_to_select: int | float | None = None,
    kernel: Any = "linear",
    degree: int = 3,
    sigma: str | float = "mean",
    center: bool | str = "auto",
    normalize: bool = True,
    eps: float = 1e-6,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> ProjSeResult:
    """Select few features that together explain a target.

    The function behind :class:`fastfs.ProjSe`, which describes the parameters.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features), or what streams it
    y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        As for :class:`fastfs.ProjSe`.
    n_features_to_select, kernel, degree, sigma, center, normalize, eps, max_memory
        As for :class:`fastfs.ProjSe`.
    n_threads : int
        0: all cores that this process may use.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    ProjSeResult

    Raises
    ------
    ValueError, TypeError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.ProjSe`.

    Examples
    --------
    Two targets; the third feature says nothing that the first two don't.

    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(100, 2))
    >>> X = Y[:, [0, 1, 0]] + [0.1, 0.5, 0.2] * rng.normal(size=(100, 3))
    >>> result = fastfs.projse_scores(X, Y, center=True)
    >>> result.selected.tolist(), result.scores.round(2).tolist()
    ([0, 1], [0.99, 0.78, 0.95])
    """
    options = Options(kernel, degree, sigma, center, normalize, eps)
    call = Call(n_threads, max_memory, progress)
    result, found = score(X, y, n_features_to_select, options, call)
    warn(found)
    return result


def projse_two_view(
    X: Any,
    Y: Any,
    *,
    n_features_to_select: int | float | None = None,
    kernel: Any = "linear",
    degree: int = 3,
    sigma: str | float = "mean",
    center: bool | str = "auto",
    normalize: bool = True,
    eps: float = 1e-6,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[ProjSeResult, ProjSeResult]:
    """Select features of X that explain Y, and of Y that explain X, from one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or what streams it
    Y : array-like of shape (n_samples, n_targets), or what streams it
    n_features_to_select, kernel, degree, sigma, center, normalize, eps, max_memory
        As for :class:`fastfs.ProjSe`, for each view; a number above the width of the narrower view is its width there.
    n_threads, progress
        As for :func:`fastfs.projse_scores`.

    Returns
    -------
    tuple of two ProjSeResult
        Of X and of Y.

    Raises
    ------
    ValueError, TypeError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.ProjSe`.

    Notes
    -----
    O(n_samples (n_features + n_targets)^2) time, 8 (n_features + n_targets)^2 bytes; where either view has more columns
    than rows (linear kernel), both orders are computed one after the other without a square of that size.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    >>> Y[:, 2] = X[:, 1] + 0.1 * Y[:, 2]
    >>> of_x, of_y = fastfs.projse_two_view(X, Y, n_features_to_select=1)
    >>> of_x.selected.tolist(), of_y.selected.tolist()
    ([1], [2])
    """
    options = Options(kernel, degree, sigma, center, normalize, eps)
    call = Call(n_threads, max_memory, progress)
    if Y is None:
        raise ValueError("two views need Y, but it is None")
    for name, view in (("X", X), ("Y", Y)):
        if hasattr(view, "tocsr"):
            raise ValueError(f"{name} must be dense for two views: give {name}.toarray()")

    def counts(n_x: int, n_y: int) -> tuple[int | float | None, int | float | None]:
        count(n_features_to_select, max(n_x, n_y))
        if n_features_to_select is None or isinstance(n_features_to_select, float | np.floating):
            return n_features_to_select, n_features_to_select
        return min(n_features_to_select, n_x), min(n_features_to_select, n_y)

    if not is_stream(X) and not is_stream(Y):
        X, Y = call.matrix(X), call.numbers(as_target(Y, "Y"), "Y")
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X and Y must have the same rows, but have {X.shape[0]} and {Y.shape[0]}")
        if options.is_linear() and X.shape[0] < max(X.shape[1], Y.shape[1]):
            n_x, n_y = counts(X.shape[1], Y.shape[1])
            of_x, found_x = score(X, Y, n_x, options, call)
            of_y, found_y = score(Y, X, n_y, options, call)
            warn(found_x + found_y)
            return of_x, of_y
    sums, _ = collect(X, Y, call, two_views=True)
    n_x, n_y = counts(sums.n_x, sums.n_y)
    of_x, found_x = select(sums, n_x, options, call)
    of_y, found_y = select(sums, n_y, options, call, from_y=True)
    warn(found_x + found_y)
    return of_x, of_y


def projse_from_kernels(
    K_YY: npt.ArrayLike,
    K_YX: npt.ArrayLike,
    K_XX: npt.ArrayLike,
    *,
    n_features_to_select: int | float | None = None,
    normalize: bool = True,
    eps: float = 1e-6,
    n_threads: int = 0,
    max_memory: int | str | None = None,
) -> ProjSeResult:
    """Select features by kernels between variables that you have computed.

    Parameters
    ----------
    K_YY : array-like of shape (n_targets, n_targets)
        Between the targets; symmetric and positive semidefinite.
    K_YX : array-like of shape (n_targets, n_features)
        Between targets and features.
    K_XX : array-like of shape (n_features,)
        Of each feature with itself; features where it is 0 are never selected.
    n_features_to_select, normalize, eps, max_memory
        As for :class:`fastfs.ProjSe`.
    n_threads : int
        0: all cores that this process may use.

    Returns
    -------
    ProjSeResult

    Raises
    ------
    ValueError
        The shapes don't fit, K_YY isn't symmetric within 1e-8, or a diagonal isn't finite and non-negative.
    MemoryError
        As for :class:`fastfs.ProjSe`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    >>> result = fastfs.projse_from_kernels(Y.T @ Y, Y.T @ X, (X**2).sum(axis=0))
    >>> bool(np.all(result.selected == fastfs.projse_scores(X, Y).selected))
    True
    """
    options = Options("linear", 3, "mean", False, normalize, eps)
    arrays = [
        np.ascontiguousarray(as_floats(np.asarray(K), name), dtype=np.float64)
        for K, name in ((K_YY, "K_YY"), (K_YX, "K_YX"), (K_XX, "K_XX"))
    ]
    if arrays[1].ndim != 2 or arrays[0].shape != (len(arrays[1]),) * 2 or arrays[2].shape != arrays[1].shape[1:]:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ValueError(
            "K_YY, K_YX and K_XX must have the shapes (n_targets, n_targets), (n_targets, n_features) and "
            f"(n_features,), not {shapes}"
        )
    call = Call(n_threads, max_memory, None)
    n = count(n_features_to_select, arrays[1].shape[1])
    found = core().projse_kernels(*arrays, options.core(n), call.n_threads, call.budget)
    result, messages = _result(found, n_features_to_select, options, "numbers")
    warn(messages)
    return result


# ------------------------------------------------------------------------------------------------------- what is asked


Codes = npt.NDArray[np.int64]


class Options:
    """The parameters of the method, checked."""

    def __init__(
        self, kernel: Any, degree: int, sigma: str | float, center: bool | str, normalize: bool, eps: float
    ) -> None:
        self.custom = 0 if isinstance(kernel, str) else kernel_address(kernel)
        if not self.custom:
            choose("kernel", kernel, ("linear", "poly", "rbf"), "a C function")
        self.kernel = "linear" if self.custom else kernel
        self.degree = as_int("degree", degree)
        if isinstance(sigma, str):
            self.sigma_rule, self.sigma = choose("sigma", sigma, ("mean", "sqrt_m"), "a positive number"), 0.0
        else:
            self.sigma_rule, self.sigma = "given", as_float("sigma", sigma)
        is_bool = isinstance(center, bool | np.bool_)
        self.center = bool(center) if is_bool else choose("center", center, ("auto",), "True", "False")
        self.normalize = as_bool("normalize", normalize)
        self.eps = as_float("eps", eps)
        self.keep_alive = kernel

    def is_linear(self) -> bool:
        return not self.custom and self.kernel == "linear"

    def has_sigma(self) -> bool:
        return bool(self.custom) or self.kernel == "rbf"

    def core(self, n_select: int, from_y: bool = False) -> Any:
        return core().ProjseOptions(
            kernel=self.kernel,
            degree=self.degree,
            sigma_rule=self.sigma_rule,
            sigma=self.sigma,
            center=core().PROJSE_CENTER_AUTO if self.center == "auto" else self.center,
            normalize=self.normalize,
            eps=self.eps,
            n_select=n_select,
            custom=self.custom,
            from_y=from_y,
        )


class Call:
    """How the core is called: threads, memory, progress; conversions take from the memory."""

    def __init__(self, n_threads: int, max_memory: int | str | None, progress: Progress | None) -> None:
        self.n_threads = as_threads(n_threads)
        self.budget = parse_memory(max_memory)
        self.progress = check_progress(progress)

    def matrix(self, X: Any) -> Any:
        X, self.budget = as_matrix(X, self.budget)
        return X

    def numbers(self, Y: Array, name: str = "y") -> Any:
        """Y as the core takes it, 2-D."""
        hint = "; labels are given as a 1-D array" if Y.ndim == 2 and Y.dtype.kind in "OSU" else ""
        try:
            return self.matrix(Y[:, None] if Y.ndim == 1 else Y)
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("X must", f"{name} must") + hint) from None

    @property
    def arguments(self) -> tuple[int, int, Progress | None]:
        return self.n_threads, self.budget, self.progress


def count(n_features_to_select: int | float | None, n_features: int) -> int:
    """Return how many features are asked for: None is at most 10."""
    if n_features_to_select is None:
        return min(10, n_features)
    return count_selected(n_features_to_select, n_features)


# ----------------------------------------------------------------------------------------------------------- the target


@dataclass
class Target:
    """A target as the core takes it: `kind` "none", "labels" (codes and classes) or "numbers" (2-D)."""

    kind: str
    values: Any = None
    classes: Array | None = None

    def rows(self, begin: int, end: int) -> "Target":
        values = None if self.values is None else self.values[begin:end]
        return Target(self.kind, values, self.classes)

    def arguments(self) -> tuple[Any, Any]:
        return self.values if self.kind == "numbers" else None, self.values if self.kind == "labels" else None


def as_target(y: Any, name: str = "y") -> Array:
    """Return y as a 1-D or 2-D array of whatever it holds."""
    if hasattr(y, "tocsr"):
        raise ValueError(f"a sparse target isn't supported: give {name}.toarray()")
    if hasattr(y, "__next__"):
        raise ValueError(f"{name} is an iterator, but X isn't: give {name} as one array")
    if np.ma.is_masked(y):
        raise ValueError(f"{name} has masked values: impute or drop them first")
    values = np.asarray(y)
    if values.ndim not in (1, 2):
        what = f"{values.ndim}-D" if values.ndim else type(y).__name__
        raise ValueError(
            f"{name} must be a 1-D array of labels or numbers, or a 2-D array of samples x targets, not {what}"
        )
    if values.dtype.kind == "c":
        raise ValueError(f"{name} must be real, but holds complex numbers")
    return values


def read_target(y: Any, shape: tuple[int, int], call: Call) -> Target:
    """Tell labels from numbers as scikit-learn's `type_of_target` does: 1-D and not fractional are labels."""
    if y is None:
        return Target("none")
    y = as_target(y)
    if y.ndim == 2 or not is_labels(y):
        return read_numbers(y, shape, call)
    classes, codes = encode_labels(y, *shape)
    require_classes(classes)
    if len(classes) > max(20, len(y) / 2) and classes.dtype.kind in "iuf":
        warn(
            [
                f"y is taken as labels, and has {len(classes)} different ones in {len(y)} samples: "
                "if these are numbers, give y.reshape(-1, 1)"
            ]
        )
    return Target("labels", codes, classes)


def read_numbers(y: Array, shape: tuple[int, int], call: Call) -> Target:
    values = call.numbers(y)
    if values.shape[0] != shape[0]:
        raise ValueError(f"X and y must have the same rows, but have {shape[0]} and {values.shape[0]}")
    return Target("numbers", values)


def is_labels(y: Array) -> bool:
    """Whether a 1-D target holds labels: anything but floats of which one is fractional or infinite."""
    if y.dtype.kind == "O" and all(isinstance(value, Real) for value in y):
        y = y.astype(np.float64)
    if y.dtype.kind != "f":
        return True
    y = y[~np.isnan(y)]  # labels that are missing
    return bool(np.all(np.isfinite(y) & (y == np.floor(y))))


def read_chunk(y: Any, shape: tuple[int, int], call: Call, *, classes: Array | None = None) -> Target:
    """The target of a chunk that is not the last: labels if the classes are known, else numbers."""
    if y is None:
        if classes is not None:
            raise ValueError("y is None, but needed with every chunk: its classes were given")
        return Target("none")
    y = as_target(y)
    if classes is not None:
        encode_labels(y, *shape)  # its checks
        return Target("labels", encode_known(y, classes), classes)
    how = "give classes at the first call of partial_fit, or y as one array of all labels"
    if y.ndim == 1 and y.dtype.kind in "OSU" and not all(isinstance(value, Real) for value in y):
        raise ValueError(f"a chunk of labels doesn't tell which classes there are: {how}")
    if y.ndim == 1 and y.dtype.kind != "f":
        warn(
            ["y is taken as numbers, because a chunk doesn't tell which classes there are: if these are labels, " + how]
        )
    return read_numbers(y, shape, call)


Reader = Callable[[Any, tuple[int, int], Call], Target]


def read_classes(classes: Any) -> Array:
    """Return the classes in sorted order."""
    values = np.asarray(classes).ravel()
    if len(values) == 0:
        raise ValueError("classes must have at least two labels, not none")
    try:
        known, _ = encode_labels(values, len(values), 0)
    except ValueError as error:
        raise ValueError(str(error).replace("y ", "classes ", 1).replace(" for sample", " at position")) from None
    if len(known) < 2:
        raise ValueError(f"classes must have at least two labels, not {known.tolist()}")
    return known


def encode_known(y: Array, classes: Array) -> npt.NDArray[np.int64]:
    """Return each label's position among the classes."""
    if y.ndim != 1:
        raise ValueError(f"y must be a 1-D array of labels, not {y.ndim}-D")
    codes = np.searchsorted(classes, y)
    codes[codes == len(classes)] = 0
    unknown = np.flatnonzero(classes[codes] != y)
    if len(unknown):
        raise ValueError(
            f"y has the label {y[unknown].tolist()[0]!r} for sample {unknown[0]}, which isn't one of the classes "
            f"{classes.tolist()}"
        )
    known: npt.NDArray[np.int64] = codes.astype(np.int64)
    return known


# ---------------------------------------------------------------------------------------------------------- the samples


def is_stream(X: Any) -> bool:
    """Whether X comes in row chunks: an iterator, a Dask array, or an array on disk (HDF5, Zarr)."""
    if hasattr(X, "to_dask_array"):  # which np.asarray would compute as a whole
        raise ValueError("a Dask DataFrame isn't supported: give X.to_dask_array(lengths=True)")
    return hasattr(X, "__next__") or is_dask(X) or is_on_disk(X)


def is_dask(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "rechunk")


def is_on_disk(X: Any) -> bool:
    """An array with chunks that isn't in memory; h5py has chunks None for contiguous ones."""
    return not isinstance(X, np.ndarray) and all(hasattr(X, a) for a in ("chunks", "dtype", "shape", "__getitem__"))


_CHUNK_BYTES = 1 << 26


def slices(X: Any) -> Iterator[tuple[int, int]]:
    """Row ranges of about 64 MB of an array on disk, whole chunks of it each."""
    n, d = X.shape
    step = max(1, _CHUNK_BYTES // max(1, d * X.dtype.itemsize))
    if X.chunks:
        own = X.chunks[0]
        step = max(own, step // own * own)
    return ((begin, min(begin + step, n)) for begin in range(0, n, step))


def row_chunks(
    X: Any, y: Any, call: Call, whole: Reader, chunk: Reader, names: Any = None
) -> Iterator[tuple[Any, Target]]:
    """Yield chunks of X and of the target; empty ones are left out.

    `whole` and `chunk` read a target given for all rows and for some; `names` are those of the columns of X so far.
    """
    if is_on_disk(X):
        if len(X.shape) != 2:
            raise ValueError(f"X must be a 2-D array of samples x features, not {len(X.shape)}-D")
        ranges, rows, source, target = list(slices(X)), X.shape[0], X, y
        X = (np.asarray(source[begin:end]) for begin, end in ranges)
        if is_on_disk(target):
            if target.shape[0] != rows:
                raise ValueError(f"X and y must have the same rows, but have {rows} and {target.shape[0]}")
            y = (np.asarray(target[begin:end]) for begin, end in ranges) if len(target.shape) == 2 else target[:]
        if y is not None and not hasattr(y, "__next__"):
            y = as_target(y)
            if len(y) != rows:
                raise ValueError(f"X and y must have the same rows, but have {rows} and {len(y)}")
    elif not hasattr(X, "__next__"):
        X = iter([X])
    X = same_columns(X, "X", names)
    if y is None:
        yield from ((call.matrix(rows), Target("none")) for rows in X if _n_rows(rows))
    elif hasattr(y, "__next__"):
        yield from _pairs(X, same_columns(y, "y"), call, chunk)
    else:
        yield from _cut(X, as_target(y), call, whole)


def _n_rows(chunk: Any) -> int:
    return int(np.shape(chunk)[0]) if np.ndim(chunk) or hasattr(chunk, "tocsr") else 1


def _pairs(X: Iterator[Any], y: Iterator[Any], call: Call, read: Reader) -> Iterator[tuple[Any, Target]]:
    nothing = object()
    while True:
        chunk, target = next(X, nothing), next(y, nothing)
        if chunk is nothing and target is nothing:
            return
        if chunk is nothing or target is nothing:
            raise ValueError(f"the chunks of {'X' if chunk is nothing else 'y'} ended before those of the other")
        if _n_rows(chunk) or _n_rows(target):
            chunk = call.matrix(chunk)
            yield chunk, read(target, chunk.shape, call)


def _cut(X: Iterator[Any], y: Array, call: Call, read: Reader) -> Iterator[tuple[Any, Target]]:
    n = len(y)
    begin, whole = 0, None
    for chunk in X:
        if not _n_rows(chunk):
            continue
        chunk = call.matrix(chunk)
        if whole is None:
            whole = read(y, (n, chunk.shape[1]), call)
        end = begin + chunk.shape[0]
        if end > n:
            raise ValueError(f"X and y must have the same rows, but y has {n} and X has more")
        yield chunk, whole.rows(begin, end)
        begin = end
    if begin < n:
        raise ValueError(f"X and y must have the same rows, but have {begin} and {n}")


def collect(
    X: Any,
    y: Any,
    call: Call,
    *,
    two_views: bool = False,
    whole: Reader = read_target,
    chunk: Reader = read_chunk,
    check: Callable[[Any], Any] | None = None,
    names: Any = None,
) -> tuple[Any, Array | None]:
    """Sum over the rows of X and y, whatever they come in; returns the sums and the classes.

    `whole`, `chunk` and `names` are as for `row_chunks`; `check` sees the first chunk of X.
    """
    if is_dask(X):
        return _collect_dask(X, y, call, two_views, whole)
    sums = classes = None
    for rows, target in row_chunks(X, y, call, whole, chunk, names):
        if sums is None:
            if check is not None:
                check(rows)
            classes = target.classes
            sums = new_sums(target, rows.shape[1], call, two_views)
        sums.update(rows, *target.arguments(), *call.arguments)
    if sums is None:
        raise ValueError("X yielded no rows: has the iterator been used up before?")
    return sums, classes


def new_sums(target: Target, n_features: int, call: Call, two_views: bool = False) -> Any:
    n_targets = 0
    if target.kind == "labels" and target.classes is not None:
        n_targets = len(target.classes)
    elif target.kind == "numbers":
        n_targets = target.values.shape[1]
    return core().ProjseSums(n_targets, n_features, two_views, call.budget)


def _collect_dask(X: Any, y: Any, call: Call, two_views: bool, read: Reader) -> tuple[Any, Array | None]:
    """Each worker sums its row blocks; the sums, not the rows, travel and are merged pairwise."""
    from dask.delayed import delayed

    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array of samples x features, not {X.ndim}-D")
    if np.isnan(X.shape[0]):
        raise ValueError("the row blocks of X must have known lengths: call X.compute_chunk_sizes() first")
    if X.shape[0] == 0:
        raise ValueError("X has no rows")
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel()
    ends = np.cumsum(X.chunks[0]).tolist()
    classes: Array | None = None
    kind = "none"
    if is_dask(y) and y.ndim == 2:
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X and y must have the same rows, but have {X.shape[0]} and {y.shape[0]}")
        targets: list[Any] = list(y.rechunk({0: X.chunks[0], 1: -1}).to_delayed().ravel())
        kind = "numbers"
    elif y is not None:
        whole = read(y, X.shape, call)
        classes, kind = whole.classes, whole.kind
        targets = [whole.rows(end - n, end).values for n, end in zip(X.chunks[0], ends, strict=True)]
    else:
        targets = [None] * len(blocks)
    part = delayed(_sums_of_block, pure=False)
    merge = delayed(_merged, pure=False)
    parts = [part(x, t, kind, classes, two_views, call.budget) for x, t in zip(blocks, targets, strict=True)]
    while len(parts) > 1:
        parts = [merge(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0].compute(), classes


def _sums_of_block(X: Any, y: Any, kind: str, classes: Array | None, two_views: bool, budget: int) -> Any:
    call = Call(1, budget or None, None)  # a block is a task of its own: one thread each
    X = call.matrix(X)
    if kind == "numbers":
        y = call.numbers(as_target(y))
    target = Target(kind, y, classes)
    sums = new_sums(target, X.shape[1], call, two_views)
    if X.shape[0]:
        sums.update(X, *target.arguments(), *call.arguments)
    return sums


def _merged(a: Any, b: Any) -> Any:
    import copy

    sums = copy.deepcopy(a)  # Dask may hand the same object to another task
    sums.merge(b)
    return sums


# ----------------------------------------------------------------------------------------------------------- the choice


# Stacked targets: so many bytes of scores at a time, and of X in double precision or its products with the targets,
# which a cache keeps.
_STACKED = 1 << 26
_IN_CACHE = 1 << 22


def scores_of_labels(X: Any, labelings: Sequence[Codes], n_classes: int, options: Options) -> Iterator[Array]:
    """Yield the scores, before any choice, of several labelings of the same samples, with the linear kernel.

    The targets of many labelings are one matrix, so that X is read once for all of them.
    """
    n, d = X.shape
    center = options.center is not False  # labels: "auto" is True
    at_once = min(len(labelings), max(1, _STACKED // (8 * d * n_classes)))
    # Columns of a sparse matrix aren't cheap to take apart.
    width = d if hasattr(X, "tocsr") else max(1, _IN_CACHE // (8 * max(n, at_once * n_classes)))
    for begin in range(0, len(labelings), at_once):
        some = labelings[begin : begin + at_once]
        stacked = np.zeros((len(some) * n_classes, n))
        for place, codes in enumerate(some):
            stacked[place * n_classes + codes, np.arange(n)] = 1
        shares = 1 / stacked.sum(axis=1).reshape(len(some), n_classes)
        scores = np.empty((len(some), d))
        for first in range(0, d, width):
            columns = slice(first, first + width)
            part, norms = _centered_columns(X[:, columns], center)
            sums = (stacked @ part).reshape(len(some), n_classes, -1)
            explained = np.einsum("bcd,bcd,bc->bd", sums, sums, shares)
            if center:  # about the mean, whatever `part` is about
                rest = sums[0].sum(axis=0) ** 2 / n
                explained, norms = explained - rest, norms - rest
            if options.normalize:
                explained = np.divide(explained, norms, out=np.zeros_like(explained), where=norms > 0)
            scores[:, columns] = explained
        yield from scores


def _centered_columns(X: Any, center: bool) -> tuple[Any, Array]:
    """Columns in double precision, if dense about nearly their mean, and their squared norms.

    Sums in single precision would tell ties apart, and lose the digits of columns with an offset. Constant columns are
    exactly zero.
    """
    part = X.astype(np.float64)
    if hasattr(part, "tocsr"):
        return part, np.asarray(part.multiply(part).sum(axis=0)).ravel()
    if center:
        part -= part[0]
        part -= part.mean(axis=0)
    return part, np.einsum("ij,ij->j", part, part)


def score(
    X: Any, y: Any, n_features_to_select: int | float | None, options: Options, call: Call
) -> tuple[ProjSeResult, list[str]]:
    """Return what was found, and what is to be warned of."""
    return score_target(X, y, n_features_to_select, options, call)[:2]


def score_target(
    X: Any,
    y: Any,
    n_features_to_select: int | float | None,
    options: Options,
    call: Call,
    check: Callable[[Any], Any] | None = None,
) -> tuple[ProjSeResult, list[str], Array | None]:
    """The same and the classes, if y holds labels; `check` sees the first chunk of a stream."""
    if is_stream(X):
        sums, classes = collect(X, y, call, check=check)
        return *select(sums, n_features_to_select, options, call), classes
    X = call.matrix(X)
    target = read_target(y, X.shape, call)
    n = count(n_features_to_select, X.shape[1])
    n_classes = 0 if target.classes is None else len(target.classes)
    found = core().projse(X, *target.arguments(), n_classes, options.core(n), *call.arguments)
    return *_result(found, n_features_to_select, options, target.kind), target.classes


def select(
    sums: Any, n_features_to_select: int | float | None, options: Options, call: Call, *, from_y: bool = False
) -> tuple[ProjSeResult, list[str]]:
    """Choose from sums over the rows; returns what was found, and what is to be warned of."""
    n = count(n_features_to_select, sums.n_y if from_y else sums.n_x)
    found = sums.select(options.core(n, from_y), *call.arguments)
    return _result(found, n_features_to_select, options, "numbers" if sums.n_y else "none")


def _result(
    found: dict[str, Any], n_features_to_select: int | float | None, options: Options, kind: str
) -> tuple[ProjSeResult, list[str]]:
    scores, selected = found["scores"], found["selected"]
    order = np.argsort(-scores, kind="stable")
    order = np.concatenate([selected, order[~np.isin(order, selected)]])
    ranking = np.empty(len(scores), dtype=np.int64)
    ranking[order] = np.arange(1, len(scores) + 1)
    result = ProjSeResult(
        scores=scores,
        ranking=ranking,
        selected=selected,
        selection_scores=found["selection_scores"],
        gaps=found["gaps"],
        captured=found["captured"],
        kernel_rank=None if found["rank"] < 0 else found["rank"],
        sigma=found["sigma"] if options.has_sigma() else None,
        center=found["center"],
    )
    return result, _messages(result, found["warnings"], n_features_to_select, options, kind)


def _messages(
    result: ProjSeResult, flags: int, n_features_to_select: int | float | None, options: Options, kind: str
) -> list[str]:
    from fastfs import _core

    messages = []
    n_selected = len(result.selected)
    if n_features_to_select is not None and n_selected < count(n_features_to_select, len(result.scores)):
        limit = "the features" if kind == "none" else "the target"
        messages.append(
            f"only {n_selected} of the {count(n_features_to_select, len(result.scores))} features asked for were "
            f"selected: the kernel of {limit} has rank {result.kernel_rank}, and then nothing is left to explain"
        )
    if flags & _core.PROJSE_TINY:
        messages.append(
            f"no score reaches 1e-8 (the largest is {result.scores.max():.1e}), so the order means nothing: "
            + ("give another sigma, or scale the columns" if options.has_sigma() else "X and y have nothing in common")
        )
    if flags & _core.PROJSE_NEARLY:
        messages.append(
            f"the columns of the target are nearly dependent: directions with eigenvalues below eps = {options.eps:g} "
            f"were left out, which makes its rank {result.kernel_rank}"
        )
    if kind != "none" and flags & _core.PROJSE_ALL_SAMPLES:
        messages.append(
            "the target spans all samples: every feature is explained fully by it, so all scores are equal and the "
            "target has no influence on the choice; give fewer targets or more samples"
        )
    elif flags & _core.PROJSE_TIE:
        messages.append(
            "the first choice is a tie: the lowest index wins, and all later choices depend on it"
            + (" (without a target it always is)" if kind == "none" else "")
        )
    return messages
