"""The nearest features of each feature, from which DiSC makes its graphs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._base import Progress, as_int, as_matrix, as_threads, check_progress, core, parse_memory


def nearest_features(
    X: Any,
    n_neighbors: int = 30,
    *,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    r"""Nearest other features of each feature, exactly.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
        float32 and float64 are taken as they are, with any strides; CSR and CSC are not densified. Other numbers are
        converted to float64 (float16 to float32).
    n_neighbors : int
        At least 1 and less than n_features.
    n_threads : int
        0: all cores that this process may use.
    max_memory : int or str, optional
        Budget in bytes, or such as "4G"; default: ``FASTFS_MAX_MEMORY`` or what the machine has available.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    neighbors : ndarray of shape (n_features, n_neighbors)
        int64: the features whose columns have the least Euclidean distance to that of the row's feature, nearest
        first, ties by the lower index. The feature itself is left out, copies of it aren't.
    distances : ndarray of shape (n_features, n_neighbors)
        float64.

    Raises
    ------
    ValueError
        X holds NaN or infinity (the first one is named), n_neighbors is out of its range, or a distance overflows.
    MemoryError
        The call would exceed the budget; nothing has been allocated.

    Notes
    -----
    Each pair of blocks of features is multiplied once, in float32 (sparse X: float64), and searched for both sides
    while it is in the L2 cache. Whatever rounding could have confused with the n_neighbors-th is kept, and compared by
    differences in float64: the result is that of comparing all pairs that way, and doesn't depend on n_threads.

    Time O(n_features^2 n_samples), for sparse X O(sum of squares of the entries a row). Memory
    besides the result: a float32 copy of X (sparse X: two float64 ones), 16 MiB, and some 28 n_features (n_neighbors +
    32) bytes. Where far more features are about as near as the n_neighbors-th, all of those are compared in float64,
    which takes longer.

    It is the neighbour graph of DiSC: R. D. Sristi, G. Mishne, A. Jaffe, "DiSC: Differential Spectral Clustering of
    Features", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[0.0, 3.0, 0.0, 1.0], [0.0, 4.0, 0.0, 0.0]])
    >>> neighbors, distances = fastfs.nearest_features(X, n_neighbors=2)
    >>> neighbors
    array([[2, 3],
           [3, 0],
           [0, 3],
           [0, 2]])
    >>> distances.round(3)
    array([[0.   , 1.   ],
           [4.472, 5.   ],
           [0.   , 1.   ],
           [1.   , 1.   ]])
    """
    X, budget = as_matrix(X, parse_memory(max_memory))
    neighbors, distances = core().nearest_features(
        X,
        as_int("n_neighbors", n_neighbors),
        as_threads(n_threads),
        budget,
        check_progress(progress),
    )
    return neighbors, distances
