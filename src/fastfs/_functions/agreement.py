"""Agreement of two tables of the same samples: kernel alignment and canonical correlations."""

from typing import Any

import numpy as np

from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import as_decoded, as_dense, describe_not_finite
from fastfs._inputs.targets import read_chunk, read_target
from fastfs._machine.params import as_float, as_not_negative, check_choice
from fastfs._machine.run import Run
from fastfs._types import Array, Floats


@entry
def kernel_alignment(X: Any, y: Any, *, kernel: str | tuple[str, str] = "linear", sigma: str | float = "mean") -> float:
    """Return the alignment of the centred kernels between samples of two tables.

    For features that were selected: how well the similarities of samples by these agree with those by the target.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels or numbers, told apart as by :meth:`fastfs.ProjSe.fit`; labels have a column of zeros and ones for each
        class.
    kernel : {"linear", "rbf"} or tuple of two
        x'x', or exp(-\\|x - x'\\|^2 / (2 sigma^2)); for both tables, or that of X and that of y. The ProjSe paper has
        either for X and "linear" for labels.
    sigma : "mean" or float
        Scale of the rbf kernel: the mean distance over all n_samples^2 pairs of each table, or a number.

    Returns
    -------
    float
        <K, L> / (\\|K\\| \\|L\\|) of the centred kernels [1]_, in [0, 1]; 1 if they are proportional.

    Raises
    ------
    ValueError
        Tables of different lengths; NaN or infinity; a table with equal samples only; sigma that isn't positive.
    MemoryError
        The kernels would exceed the budget.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered alignment", Journal
       of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X[:, 0] > 0
    >>> [round(fastfs.kernel_alignment(X[:, [j]], y), 2) for j in (0, 1)]
    [0.64, 0.01]
    """
    kernels = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    if len(kernels) != 2:
        raise ValueError(f"kernel must be one word or a tuple of two; got {kernel!r}")
    for word in kernels:
        check_choice("kernel", word, ("linear", "rbf"))
    if isinstance(sigma, str):
        check_choice("sigma", sigma, ("mean",), "a positive number")
    elif not 0 < as_float("sigma", sigma) < np.inf:
        raise ValueError(f"sigma must be 'mean' or a positive number; got {sigma!r}")
    run = Run()
    (A, a), (B, b) = (_center_table(Z, name, run) for Z, name in zip(_read_tables(X, y, run)[:2], "XY", strict=True))
    n = len(A)
    if "rbf" in kernels or n <= max(A.shape[1], B.shape[1]):
        run.reserve_memory(24 * n * n, "kernels of samples x samples", "give fewer samples")
        K, L = (
            _centered_kernel(Z, word, sigma, exponent)
            for Z, word, exponent in zip((A, B), kernels, (a, b), strict=True)
        )
        products = [np.vdot(*pair) for pair in ((K, L), (K, K), (L, L))]
    else:
        products = [np.linalg.norm(P.T @ Q) ** 2 for P, Q in ((A, B), (A, A), (B, B))]
    if products[1] == 0 or products[2] == 0:
        raise ValueError(f"with sigma={sigma!r} all samples are alike: choose it near the distances between samples")
    return float(np.clip(products[0] / np.sqrt(products[1]) / np.sqrt(products[2]), 0, 1))  # rounding may leave [0, 1]


@entry
def canonical_correlations(X: Any, Y: Any, *, ridge: float = 1e-3, test: tuple[Any, Any] | None = None) -> Floats:
    """Return the correlations of two tables along the directions in which they agree most, in the order of the fit.

    Parameters
    ----------
    X, Y : array-like of shape (n_samples, n_features) and (n_samples, n_outputs)
        Sparse X is made dense; Y is as y of :func:`fastfs.kernel_alignment`.
    ridge : float
        Is added to the variances of each table, in units of their mean; not negative. With 0 and no more samples than
        columns all correlations are 1.
    test : tuple of two tables, optional
        New samples of the same columns: directions come from X and Y, correlations from these samples.

    Returns
    -------
    ndarray
        A correlation for each pair of directions, in the order in which they were fitted: one for each direction of
        the table of lower rank. Those of other samples (`test`) may be negative, and are 0 for a direction in which
        these don't vary.

    Raises
    ------
    ValueError
        Tables of different lengths or, in `test`, widths; NaN or infinity; a table with equal samples only.
    TypeError
        `test` isn't a tuple of two tables.
    MemoryError
        The covariances would exceed the budget.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2, 200, 3))
    >>> Y[:, 0] += X[:, 1]
    >>> half = slice(0, 100), slice(100, 200)
    >>> result = fastfs.canonical_correlations(X[half[0]], Y[half[0]], test=(X[half[1]], Y[half[1]]))
    >>> bool(result[0] > 0.6), len(result)
    (True, 3)
    """
    share, run = as_not_negative("ridge", ridge), Run()
    *tables, classes = _read_tables(X, Y, run)
    tables = [_center_table(Z, name, run)[0] for Z, name in zip(tables, "XY", strict=True)]
    widest = max(Z.shape[1] for Z in tables)
    run.reserve_memory(32 * widest * widest, "covariances of columns x columns", "give fewer columns")
    left, right = (_whitening_matrix(Z, share) for Z in tables)
    U, _, Vt = np.linalg.svd(left.T @ (tables[0].T @ tables[1]) @ right, full_matrices=False)
    if test is not None:
        if not isinstance(test, tuple | list) or len(test) != 2:
            got = f"{len(test)} tables" if isinstance(test, tuple | list) else type(test).__name__
            raise TypeError(f"test must be a tuple of two tables, with other samples of X and of Y; got {got}")
        widths = [Z.shape[1] for Z in tables]
        *tables, _ = _read_tables(*test, run, classes)
        if [Z.shape[1] for Z in tables] != widths:
            widths_of_test = " and ".join(str(Z.shape[1]) for Z in tables)
            raise ValueError(
                f"the tables of test must have the {widths[0]} and {widths[1]} columns of X and Y; got {widths_of_test}"
            )
        tables = [_center_table(Z, f"{name} of test", run)[0] for Z, name in zip(tables, "XY", strict=True)]
    a, b = tables[0] @ (left @ U), tables[1] @ (right @ Vt.T)
    a, b = (Z / np.where(norms > 0, norms, 1.0) for Z in (a, b) for norms in [np.linalg.norm(Z, axis=0)])
    correlations: Floats = (a * b).sum(axis=0)
    return correlations


def _read_tables(X: Any, Y: Any, run: Run, classes: Array | None = None) -> tuple[Array, Array, Array | None]:
    """Return both tables as dense arrays, and the classes; labels in Y become one indicator column per class.

    `classes` are those of an earlier table, if any. Numbers have no classes: None. Raise ValueError if Y is None.
    """
    X = as_decoded(as_dense(X, run), run)
    if Y is None:
        raise ValueError("the second table must be an array; got None")
    target = read_target(Y, X.shape, run) if classes is None else read_chunk(Y, X.shape, run, classes=classes)
    if target.classes is None:
        return X, target.numbers, None
    return X, target.labels[:, None] == np.arange(len(target.classes)), target.classes


def _center_table(values: Array, name: str, run: Run) -> tuple[Floats, int]:
    """Return a table as float64 with columns of mean 0, divided by a power of two near its largest value, and the
    exponent.

    Constant columns become 0; raise ValueError if all are constant, or a value isn't finite.
    """
    if said := describe_not_finite(values, name):
        raise ValueError(said)
    run.reserve_memory(16 * values.size, f"copies of {name} as float64", "give fewer samples or columns")
    columns = np.asarray(values, dtype=np.float64)
    varies = (columns != columns[:1]).any(axis=0)
    if not varies.any():
        raise ValueError(f"{name} must have a column that varies; got equal samples")
    exponent = int(np.frexp(np.abs(columns[:, varies]).max())[1])
    columns = np.ldexp(columns, -exponent)  # squares of the scaled values neither overflow nor vanish
    return np.where(varies, columns - columns.mean(axis=0), 0.0), exponent


def _centered_kernel(Z: Floats, kernel: str, sigma: str | float, exponent: int) -> Floats:
    """Return the centred kernel between rows of a table from `_center_table`, which has scaled it by 2^-exponent.

    It is linear unless `kernel` is "rbf". Any text as `sigma` stands for the mean distance.
    """
    K: Floats = Z @ Z.T
    if kernel == "rbf":
        norms = np.diag(K).copy()
        K = np.maximum(norms[:, None] + norms - 2 * K, 0.0)
        np.fill_diagonal(K, 0.0)
        distances = np.sqrt(K)
        scale = distances.mean() if isinstance(sigma, str) else max(np.ldexp(sigma, -exponent), np.finfo(float).tiny)
        with np.errstate(over="ignore", under="ignore"):
            K = np.expm1(-((distances / scale) ** 2) / 2)  # K - 1, since centring removes a constant: keeps digits
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None] - means.mean()
    return K


def _whitening_matrix(Z: Floats, ridge: float) -> Floats:
    """Return W with W' (Z'Z + ridge times its mean diagonal) W = I, without directions that are only rounding."""
    S = Z.T @ Z
    values, vectors = np.linalg.eigh(S)
    kept = values > len(S) * np.finfo(float).eps * values[-1]
    whitening: Floats = vectors[:, kept] / np.sqrt(values[kept] + ridge * np.trace(S) / len(S))
    return whitening
