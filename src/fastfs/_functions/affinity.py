"""Kernels between all pairs of features, for direct use of the engine behind the feature-space methods."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.entry import entry, named_arguments
from fastfs._inputs.matrix import as_floats, as_matrix, describe_not_finite
from fastfs._inputs.values import for_core
from fastfs._machine.params import as_float, as_int, kernel_address
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Progress


def _checked_kernel(kernel: Any, sigma: float | None) -> tuple[str | int, float]:
    """Return the kernel and its sigma in the form of the core: a name or an address, and a number (1 if it has none).

    Raise ValueError for another name, for 'rbf' without sigma, or for a sigma that the kernel doesn't have.
    """
    if not isinstance(kernel, str):
        return kernel_address(kernel), 1.0 if sigma is None else as_float("sigma", sigma)
    if kernel not in ("rbf", "sqeuclidean", "linear"):
        raise ValueError(f"kernel must be 'rbf', 'sqeuclidean', 'linear' or a C function; got {kernel!r}")
    if kernel == "rbf":
        if sigma is None:
            raise ValueError("sigma must be a positive number with kernel='rbf'; got None")
        return kernel, as_float("sigma", sigma)
    if sigma is not None:
        raise ValueError(
            f"sigma must be left out with kernel={kernel!r}, because only 'rbf' and custom kernels have one"
        )
    return kernel, 1.0


@entry
def affinity(
    X: Any,
    *,
    kernel: Any = "rbf",
    sigma: float | None = None,
    out: Array | None = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Array:
    r"""Compute a kernel between all pairs of features.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
        float32 and float64 are taken as they are, with any strides; CSR and CSC are not densified. Other numbers are
        converted to float64 (float16 to float32).
    kernel : {"rbf", "sqeuclidean", "linear"} or C function
        With x_i the i-th column of X: exp(-\|x_i - x_j\|^2 / (2 sigma^2)), \|x_i - x_j\|^2, or x_i' x_j. Or a custom
        function that turns a tile of squared distances into kernel values: a Numba ``@cfunc`` or a ctypes function
        with the signature ``void(CPointer(double), int64, int64, int64, CPointer(double), CPointer(double), double,
        voidptr)``. Its arguments are tile, distance between its rows, n_rows, n_cols, \|x_i\|^2 of the rows,
        \|x_j\|^2 of the columns, sigma, and NULL. Several threads call it at the same time.
    sigma : float
        Scale of the rbf kernel, in units of the distances; also handed to a custom kernel, 1.0 by default.
    out : ndarray of shape (n_features, n_features), optional
        Where to write; C-contiguous, of the dtype of the result.
    n_threads : int
        0: all cores that this process may use.
    max_memory : int or str, optional
        Budget in bytes, or such as "4G"; default: ``FASTFS_MAX_MEMORY`` or what the machine has available.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        float32 if X is, else float64. Symmetric to the bit.

    Raises
    ------
    ValueError
        X holds NaN or infinity (the first one is named), a parameter is out of its range, or a custom kernel returns
        NaN, infinity, or different values for i, j and j, i.
    TypeError
        The kernel is neither a name nor a C function with that signature.
    MemoryError
        The call would exceed the budget; nothing has been allocated.

    Notes
    -----
    The Gram matrix is computed in tiles of features and turned into kernel values while the tile is in the L2 cache;
    only the upper triangle is computed. Time O(n_features^2 n_samples), for sparse X O(sum of squares of the entries a
    row); memory: the result, a copy of X in feature order, and about half a megabyte per thread. The value that nearly
    all values of a row share is subtracted first, which leaves distances as they are and keeps their digits; a squared
    distance below 1/256 of \|x_i\|^2 + \|x_j\|^2 is computed by differences. The result doesn't depend on n_threads. A
    custom kernel gets its tiles in float64, also if X is float32; its symmetry is checked within blocks of 192 features
    and between the first two of them.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[0.0, 3.0, 0.0], [0.0, 4.0, 0.0]])
    >>> fastfs.affinity(X, kernel="sqeuclidean")
    array([[ 0., 25.,  0.],
           [25.,  0., 25.],
           [ 0., 25.,  0.]])
    >>> fastfs.affinity(X, sigma=5.0).round(3)
    array([[1.   , 0.607, 1.   ],
           [0.607, 1.   , 0.607],
           [1.   , 0.607, 1.   ]])
    """
    run = Run(n_threads, max_memory, progress)
    X = as_matrix(X, run)
    result: Array = load_core().affinity(X, *_checked_kernel(kernel, sigma), out, run)
    return result


@entry
def affinity_product(
    X: Any,
    V: npt.ArrayLike,
    *,
    kernel: Any = "rbf",
    sigma: float | None = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Array:
    """Multiply the kernel of :func:`affinity` by V without storing the kernel.

    Parameters
    ----------
    X, kernel, sigma, n_threads, max_memory, progress
        As for :func:`affinity`.
    V : array-like of shape (n_features, n_columns) or (n_features,)

    Returns
    -------
    ndarray of the shape of V
        float32 if X is, else float64.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :func:`affinity`.

    Notes
    -----
    Time O(n_features^2 (n_samples + n_columns)), memory O(n_features (n_samples + n_columns)). Tiles are computed in
    the dtype of X and their products summed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[0.0, 3.0, 0.0], [0.0, 4.0, 0.0]])
    >>> fastfs.affinity_product(X, np.ones(3), kernel="sqeuclidean")
    array([25., 50., 25.])
    """
    run = Run(n_threads, max_memory, progress)
    X = as_matrix(X, run)
    V = np.asarray(V)
    if V.ndim not in (1, 2) or V.shape[0] != X.shape[1]:
        raise ValueError(f"V must have one row for each of the {X.shape[1]} features; got the shape {V.shape}")
    columns = for_core(as_floats(V.reshape(V.shape[0], -1), "V"), dtype=X.dtype)
    if said := describe_not_finite(columns, "V"):
        raise ValueError(said)
    product: Array = load_core().affinity_product(X, columns, *_checked_kernel(kernel, sigma), run)
    return product.reshape(V.shape)


class GramAccumulator:
    """Accumulate kernels of all pairs of features from row chunks, for data in pieces or too large for memory.

    Parameters
    ----------
    n_features : int
    n_threads, max_memory
        As for :func:`affinity`.

    Attributes
    ----------
    n_rows : int
        Rows summed so far.

    Notes
    -----
    Memory 8 n_features^2 bytes, twice that during an update. Sums are kept in float64 for chunks of any type. Results
    agree with those of one chunk within rounding; squared distances below 64 eps (\\|x_i\\|^2 + \\|x_j\\|^2) count as
    zero.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> gram = fastfs.GramAccumulator(n_features=2)
    >>> for chunk in (np.array([[0.0, 3.0]]), np.array([[1.0, 5.0]])):
    ...     gram.update(chunk)
    >>> gram.affinity(kernel="sqeuclidean")
    array([[ 0., 25.],
           [25.,  0.]])
    """

    @named_arguments
    def __init__(self, n_features: int, *, n_threads: int = 0, max_memory: int | str | None = None) -> None:
        self._how: dict[str, Any] = {"n_threads": n_threads, "max_memory": max_memory}
        self._gram = load_core().GramStream(as_int("n_features", n_features), Run(**self._how))

    @named_arguments
    def update(self, chunk: Any, *, progress: Progress | None = None) -> None:
        """Add the rows of a chunk, of shape (n_rows, n_features), dense, CSR or CSC.

        A chunk that is refused or interrupted leaves the sums as they were.
        """
        run = Run(**self._how, progress=progress)
        self._gram.update(as_matrix(chunk, run), run)

    @named_arguments
    def merge(self, other: "GramAccumulator") -> None:
        """Add the sums of another accumulator of the same features."""
        self._gram.merge(other._gram)

    @named_arguments
    def affinity(self, *, kernel: Any = "rbf", sigma: float | None = None, progress: Progress | None = None) -> Array:
        """Return the kernel over all rows added so far, as :func:`affinity` does, in float64."""
        result: Array = self._gram.finish(*_checked_kernel(kernel, sigma), Run(**self._how, progress=progress))
        return result

    @property
    def n_rows(self) -> int:
        return int(self._gram.n_rows)
