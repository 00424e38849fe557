"""I-KDR: dimensions that are mixtures of a few samples, mostly of one class, and the features that these need."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.checks import as_float, as_int, as_not_negative, as_seed, choose, some_of
from fastfs._inputs.labels import encode_labels, is_missing, require_classes
from fastfs._inputs.matrix import as_dense, as_floats, as_matrix, not_finite
from fastfs._machine.run import as_threads, check_progress, core, parse_memory, warn
from fastfs._types import Array, Progress

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class IkdrResult:
    """What I-KDR found for one lambda, as :func:`fastfs.ikdr` returns it.

    Parameters
    ----------
    scores : ndarray of shape (n_features,), or (n_kernels,) with precomputed kernels
        The weight where it is positive; else -p / (p + F), where F is the objective and p the price, by how much F
        rises per unit of weight: above -1, which is left to constant features. A total ranking, larger is better.
    weights : ndarray of shape (n_kernels,)
        beta: not negative, with sum 1.
    feature_weights : ndarray of shape (n_features,), or None with precomputed kernels
        The weight of a group in equal parts for its features that aren't constant.
    A : ndarray of shape (n_samples, n_components)
        Each column is a dimension, a mixture of samples: not negative, with sum 1.
    support : ndarray of int
        The samples of which some dimension is made: rows of A that aren't zero.
    embedding : ndarray of shape (n_samples, n_components)
        K A: similarity of each sample to each mixture.
    class_profile : ndarray of shape (n_classes, n_components)
        H A: the share of each class in each dimension.
    classes : ndarray of shape (n_classes,)
    interpretability : float
        I_p, the mean over dimensions of the share of their main class, in [1 / n_classes, 1].
    objective : float
        F, after all slack variables have been eliminated.
    history : ndarray of shape (n_iter,)
        F after each outer iteration.
    similarity : float
        Mean of K off its diagonal: near 0 samples are all unlike each other, near 1 all alike.
    n_iter : int
    converged : bool
        Whether F fell by no more than the share `tol` of it in the end.
    lam : float
        In units of 1 / n_samples, as it was given.
    deltas : ndarray of shape (n_kernels,), or None unless ``kernel="rbf"``
        Widths of the Gaussian kernels; 0 for those of constant features.
    constant_features : ndarray of int, or None with precomputed kernels
        Columns of X that have one value only, and no weight.
    group_labels : ndarray of shape (n_kernels,), or None without groups
        The groups, in the order of `weights`.
    embedder : object
        What :meth:`embed` needs of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["high", "low"], 30)
    >>> X[:, 3] += 3 * (y == "high")
    >>> result = fastfs.ikdr(X, y)
    >>> int(result.scores.argmax()), result.class_profile.round(2).tolist()
    (3, [[1.0, 0.0], [0.0, 1.0]])
    """

    scores: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    feature_weights: npt.NDArray[np.float64] | None
    A: npt.NDArray[np.float64]
    support: Codes
    embedding: npt.NDArray[np.float64]
    class_profile: npt.NDArray[np.float64]
    classes: Array
    interpretability: float
    objective: float
    history: npt.NDArray[np.float64]
    similarity: float
    n_iter: int
    converged: bool
    lam: float
    deltas: npt.NDArray[np.float64] | None
    constant_features: Codes | None
    group_labels: Array | None
    embedder: "Embedder" = field(repr=False)

    def embed(
        self,
        X: Any,
        *,
        n_threads: int = 0,
        max_memory: int | str | None = None,
        progress: Progress | None = None,
    ) -> npt.NDArray[np.float64]:
        """Embed new samples: their similarity to the mixtures of training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With precomputed kernels as in the fit: matrices of shape (n_samples, samples of the fit).
        n_threads, max_memory, progress
            As for :func:`fastfs.ikdr`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        data, budget = read(X, self.embedder.kernel, parse_memory(max_memory))
        return self.embedder.embed(data, n_threads, budget, progress)


def ikdr(
    X: Any,
    y: Any,
    *,
    n_components: int | None = None,
    groups: Any = None,
    kernel: Any = "rbf",
    width: float | str = "mean_squared",
    lam: float = 0.1,
    mu: float = 0.1,
    tau: float = np.inf,
    zeta: float = np.inf,
    interpretability: str = "laplacian",
    solver: str = "projected_gradient",
    max_iter: int = 100,
    max_inner: int = 200,
    tol: float = 1e-4,
    rho: float = 1.0,
    start: Any = None,
    scaling: str | None = "standard",
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> IkdrResult:
    """Reduce labelled data to dimensions that are mixtures of samples, and select the features these need.

    The function behind :class:`fastfs.IKDR`, which says more of the parameters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sparse X is made dense, unless the kernel is your own. With ``kernel="precomputed"`` one matrix of shape
        (n_samples, n_samples) or a list of such: a kernel each.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    n_components, groups, kernel, width, lam, mu, tau, zeta, interpretability, solver, max_iter, max_inner, tol
        As for :class:`fastfs.IKDR`.
    rho : float
        Penalty of the constraint in ``solver="admm"``.
    start : array-like of shape (n_samples, n_components), or a pair of it and one of shape (n_kernels,)
        A, or A and the weights, to start from: columns, and weights, that are not negative and add up to 1. By default
        means of the classes, or of parts of them, and equal weights.
    scaling, random_state, max_memory
        As for :class:`fastfs.IKDR`.
    n_threads : int
        0: all cores that this process may use.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    IkdrResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.IKDR`; and a `start` that is not on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["high", "low"], 30)
    >>> X[:, 3] += 3 * (y == "high")
    >>> result = fastfs.ikdr(X, y)
    >>> int(result.weights.argmax())
    3
    >>> bool(np.allclose(result.embed(X), result.embedding))
    True
    """
    (result,) = ikdr_path(
        X,
        y,
        [lam],
        n_components=n_components,
        groups=groups,
        kernel=kernel,
        width=width,
        mu=mu,
        tau=tau,
        zeta=zeta,
        interpretability=interpretability,
        solver=solver,
        max_iter=max_iter,
        max_inner=max_inner,
        tol=tol,
        rho=rho,
        start=start,
        scaling=scaling,
        random_state=random_state,
        n_threads=n_threads,
        max_memory=max_memory,
        progress=progress,
    )
    return result


def ikdr_path(
    X: Any,
    y: Any,
    lams: Iterable[float],
    *,
    n_components: int | None = None,
    groups: Any = None,
    kernel: Any = "rbf",
    width: float | str = "mean_squared",
    mu: float = 0.1,
    tau: float = np.inf,
    zeta: float = np.inf,
    interpretability: str = "laplacian",
    solver: str = "projected_gradient",
    max_iter: int = 100,
    max_inner: int = 200,
    tol: float = 1e-4,
    rho: float = 1.0,
    start: Any = None,
    scaling: str | None = "standard",
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> list[IkdrResult]:
    """Fit I-KDR for several lambdas in turn, each from the solution of the one before.

    Parameters
    ----------
    X, y
        As for :func:`fastfs.ikdr`.
    lams : sequence of float
        In the order to solve them. From small to large is the better one as a rule: solutions for large lambdas, as
        starts for small ones, are a trap.
    n_components, groups, kernel, width, mu, tau, zeta, interpretability, solver, max_iter, max_inner, tol, rho, start
        As for :func:`fastfs.ikdr`.
    scaling, random_state, n_threads, max_memory, progress
        As for :func:`fastfs.ikdr`.

    Returns
    -------
    list of IkdrResult
        One for each lambda, in their order.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :func:`fastfs.ikdr`.

    Notes
    -----
    The problem is not convex: a result on the path needn't be that of its lambda alone, and may have a larger or a
    smaller objective.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.arange(60) % 2
    >>> X[:, 3] += 3 * y
    >>> path = fastfs.ikdr_path(X, y, [0.01, 0.1, 1.0])
    >>> [(result.lam, int(result.scores.argmax())) for result in path]
    [(0.01, 3), (0.1, 3), (1.0, 3)]
    """
    options = check_options(
        n_components=n_components,
        width=width,
        mu=mu,
        tau=tau,
        zeta=zeta,
        interpretability=interpretability,
        solver=solver,
        max_iter=max_iter,
        max_inner=max_inner,
        tol=tol,
        rho=rho,
        scaling=scaling,
        random_state=random_state,
    )
    if not np.iterable(lams):
        raise TypeError(f"lams must be a sequence of numbers, not {lams!r}: for a single one take ikdr")
    steps = [as_not_negative("lam", lam) for lam in lams]
    if not steps:
        raise ValueError("lams has no lambda: give at least one")
    data, budget = read(X, kernel, parse_memory(max_memory))
    classes, codes = encode_labels(y, *data.shape[-2:])
    require_classes(classes)
    kernels, budget = make_kernels(data, kernel, groups, budget)
    first = check_start(start, len(codes), options["n_components"] or len(classes), kernels.n_kernels)
    return fit(kernels, classes, codes, steps, options, first, n_threads=n_threads, budget=budget, progress=progress)


# ------------------------------------------------------------------------------------------------------- what is asked


def check_options(
    *,
    n_components: Any,
    width: Any,
    mu: Any,
    tau: Any,
    zeta: Any,
    interpretability: Any,
    solver: Any,
    max_iter: Any,
    max_inner: Any,
    tol: Any,
    rho: Any,
    scaling: Any,
    random_state: Any,
) -> dict[str, Any]:
    """The parameters, as the core takes them; what depends on the data is checked with these."""
    if isinstance(width, str):
        choose("width", width, ("mean_squared", "mean"), "a positive number")
    elif not 0 < (width := as_float("width", width)) < np.inf:
        raise ValueError(f"width must be 'mean_squared', 'mean' or a positive number, not {width!r}")
    return {
        "n_components": 0 if n_components is None else as_int("n_components", n_components, low=1),
        "width": width,
        "mu": as_not_negative("mu", mu),
        "tau": _positive("tau", tau),
        "zeta": _positive("zeta", zeta),
        "interpretability": choose("interpretability", interpretability, ("laplacian", "distance")),
        "solver": choose("solver", solver, ("projected_gradient", "admm")),
        "max_iter": as_int("max_iter", max_iter, low=1, high=1_000_000),
        "max_inner": as_int("max_inner", max_inner, low=1, high=1_000_000),
        "tol": as_not_negative("tol", tol),
        "rho": _positive("rho", rho, finite=True),
        "scaling": None if scaling is None else choose("scaling", scaling, ("standard",), "None"),
        "seed": as_seed(random_state),
    }


def _positive(name: str, value: Any, finite: bool = False) -> float:
    number = as_float(name, value)
    if not number > 0 or (finite and number == np.inf):
        what = "finite number above 0" if finite else "number above 0, up to infinity"
        raise ValueError(f"{name} must be a {what}, not {value!r}")
    return number


def check_start(
    start: Any, n_samples: int, n_components: int, n_kernels: int
) -> tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.float64] | None]:
    """A and the weights to start from; the core looks at their values."""
    if start is None:
        return None, None
    pair = isinstance(start, list | tuple) and len(start) == 2 and np.ndim(start[0]) != 1
    A, weights = start if pair else (start, None)
    A = np.ascontiguousarray(as_floats(np.asarray(A), "A of start"), dtype=np.float64)
    if A.shape != (n_samples, n_components):
        raise ValueError(f"A of start must have the shape {(n_samples, n_components)}, not {A.shape}")
    if weights is not None:
        weights = np.ascontiguousarray(as_floats(np.asarray(weights), "weights of start"), dtype=np.float64)
        if weights.shape != (n_kernels,):
            raise ValueError(f"weights of start must have the shape {(n_kernels,)}, not {weights.shape}")
    return A, weights


# ------------------------------------------------------------------------------------------------------------- kernels


@dataclass(frozen=True)
class Kernels:
    """The kernels between samples as the core takes them, from features (Gaussian ones) or as matrices."""

    kernel: Any
    n_kernels: int
    X: Any = None  # None with precomputed kernels
    matrices: Array | None = None
    which: Codes | None = None  # kernels that the matrices are of: those of constant features aren't asked for
    kernel_of: Codes | None = None  # of each feature
    group_labels: Array | None = None
    constant: Array | None = None  # of each feature; None: the core finds out

    def source(self) -> dict[str, Any]:
        """The arguments of the core."""
        if self.matrices is not None:
            return {"X": None, "matrices": self.matrices, "groups": None, "n_kernels": len(self.matrices)}
        several = self.group_labels is not None and self.n_kernels > 1
        n_kernels = self.n_kernels if several or self.n_kernels == 1 else 0
        return {"X": self.X, "matrices": None, "groups": self.kernel_of if several else None, "n_kernels": n_kernels}

    def name(self, m: Any) -> str:
        if self.X is None:
            return f"matrix {m}"
        if self.group_labels is not None:
            return f"the kernel of group {self.group_labels[m]}"
        return f"the kernel of feature {m}" if self.n_kernels > 1 else "the kernel of all features"

    def columns(self, chosen: Codes, constant: Array) -> list[Codes]:
        """The columns of X of each of the chosen kernels, without constant ones."""
        assert self.kernel_of is not None
        features = np.flatnonzero(~constant & np.isin(self.kernel_of, chosen))
        features = features[np.argsort(self.kernel_of[features], kind="stable")]
        return np.split(features, np.searchsorted(self.kernel_of[features], chosen[1:]))


def read(X: Any, kernel: Any, budget: int) -> tuple[Any, int]:
    """Return X, or with "precomputed" matrices as one array, and what that has left of the memory budget."""
    if callable(kernel):
        return (as_dense if hasattr(X, "__next__") else as_matrix)(X, budget)
    if choose("kernel", kernel, ("rbf", "precomputed"), "a callable") == "rbf":
        return as_dense(X, budget)
    return _as_matrices(X, budget)


def _as_matrices(K: Any, budget: int) -> tuple[Array, int]:
    several = getattr(K, "ndim", 0) == 3 or (isinstance(K, list | tuple) and all(np.ndim(k) == 2 for k in K))
    given = list(K) if several else [K]
    if not given:
        raise ValueError("X has no kernel: give at least one matrix of samples x samples")
    matrices: list[Array] = []
    for k in given:
        k, budget = as_dense(k, budget)
        if matrices and k.shape != matrices[0].shape:
            raise ValueError(
                f"all kernels must have the shape of the first, {matrices[0].shape}, but kernel {len(matrices)} "
                f"(counted from 0) has {k.shape}"
            )
        matrices.append(k)
    if len(matrices) == 1:
        return np.ascontiguousarray(matrices[0], dtype=np.float64)[None], budget
    budget = _require(8 * len(matrices) * matrices[0].size, budget, f"{len(matrices)} kernels")
    return np.array(matrices, dtype=np.float64), budget


def _require(n_bytes: int, budget: int, what: str) -> int:
    """Take matrices off the memory budget."""
    available = budget or core().info()["max_memory"]
    if n_bytes >= available:
        raise MemoryError(
            f"{what} of samples x samples need {n_bytes} bytes, but the memory budget is {available} bytes: raise "
            "max_memory (or FASTFS_MAX_MEMORY), or take fewer of them, each of a group of features"
        )
    return budget and budget - n_bytes


def make_kernels(data: Any, kernel: Any, groups: Any, budget: int) -> tuple[Kernels, int]:
    """Return the kernels of X, or of matrices, as of `read`; those of the caller's function are computed here."""
    if isinstance(kernel, str) and kernel == "precomputed":
        if groups is not None:
            raise ValueError("groups are of features, of which kernel='precomputed' knows none: leave them out")
        if data.shape[1] != data.shape[2]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix of samples x samples, but is {data.shape[1]} x "
                f"{data.shape[2]}: for features take kernel='rbf'"
            )
        return Kernels(kernel, len(data), matrices=data, which=np.arange(len(data))), budget
    d = data.shape[1]
    labels = None
    if groups is None:
        kernel_of = np.arange(d)
    elif isinstance(groups, str):
        choose("groups", groups, ("all",), "one label for each feature")
        kernel_of = np.zeros(d, dtype=np.int64)
    else:
        labels, kernel_of = _encode_groups(groups, d)
    n_kernels = d if groups is None else 1 if labels is None else len(labels)
    kernels = Kernels(kernel, n_kernels, X=data, kernel_of=kernel_of, group_labels=labels)
    return _with_matrices(kernels, budget) if callable(kernel) else (kernels, budget)


def _encode_groups(groups: Any, n_features: int) -> tuple[Array, Codes]:
    try:
        given = np.asarray(groups)
        came = f"has the shape {given.shape}"
    except ValueError:  # of NumPy, for sequences of different lengths
        given, came = np.empty(0), "holds sequences"
    if given.shape != (n_features,):
        raise ValueError(f"groups must be None, 'all' or one label for each of the {n_features} features, but {came}")
    for feature, label in enumerate(given):
        if is_missing(label):
            raise ValueError(f"groups has no label ({label}) for feature {feature}")
    try:
        labels, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise ValueError(
            "groups must hold labels of one kind, such as strings or integers, that can be sorted"
        ) from None
    return labels, codes.astype(np.int64).reshape(-1)


def _with_matrices(kernels: Kernels, budget: int) -> tuple[Kernels, int]:
    """Call the caller's kernel on the columns of each group that has any but constant ones."""
    X = kernels.X
    if said := not_finite(X):
        raise ValueError(said)
    high, low = (extreme.toarray() if hasattr(extreme, "toarray") else extreme for extreme in (X.max(0), X.min(0)))
    constant = np.asarray(high == low).reshape(-1)
    if constant.all():
        raise ValueError(f"X needs a feature that varies, but all {X.shape[1]} are constant")
    assert kernels.kernel_of is not None
    which = np.unique(kernels.kernel_of[~constant])
    n = X.shape[0]
    budget = _require(8 * len(which) * n * n, budget, f"{len(which)} kernels")
    matrices = np.empty((len(which), n, n))
    columns = kernels.columns(which, constant)
    by_column = X.tocsc() if hasattr(X, "tocsc") else X
    for matrix, m, own in zip(matrices, which, columns, strict=True):
        part = by_column[:, own]
        matrix[:] = evaluate(kernels.kernel, part, part, kernels.name(m))
    return (
        Kernels(
            kernels.kernel,
            kernels.n_kernels,
            X=X,
            matrices=matrices,
            which=which,
            kernel_of=kernels.kernel_of,
            group_labels=kernels.group_labels,
            constant=constant,
        ),
        budget,
    )


def evaluate(kernel: Callable[[Any, Any], Any], A: Any, B: Any, what: str) -> Array:
    """The caller's kernel between the rows of A and those of B."""
    K = kernel(A, B)
    K = np.asarray(K.toarray() if hasattr(K, "toarray") else K)
    if K.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"{what} must return an array of shape {(A.shape[0], B.shape[0])} for the samples given, but returned "
            f"one of {K.shape}"
        )
    return as_floats(K, f"what {what} returns")


# ---------------------------------------------------------------------------------------------------------------- fits


def fit(
    kernels: Kernels,
    classes: Array,
    codes: Codes,
    lams: list[float],
    options: dict[str, Any],
    start: tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.float64] | None],
    *,
    n_threads: int,
    budget: int,
    progress: Progress | None,
) -> list[IkdrResult]:
    """Call the core, issue its warnings, and tell features from kernels."""
    if options["n_components"] > len(codes):
        raise ValueError(
            f"n_components must lie between 1 and the {len(codes)} samples, but is {options['n_components']}"
        )
    A, weights = start
    if weights is not None and kernels.which is not None:
        weights = weights[kernels.which]
    try:
        found = core().ikdr_fit(
            **kernels.source(),
            **options,
            codes=codes,
            n_classes=len(classes),
            lams=np.array(lams, dtype=np.float64),
            A=A,
            weights=weights,
            n_threads=as_threads(n_threads),
            max_memory=budget,
            progress=check_progress(progress),
        )
    except ValueError as error:
        if type(error) is not ValueError or not callable(kernels.kernel):
            raise
        assert kernels.which is not None
        names = [kernels.name(m) for m in kernels.which]
        message = re.sub(r"\bmatrix (\d+)\b", lambda m: names[int(m[1])], str(error))
        raise ValueError(message) from None
    _warn(kernels, found, classes, lams, options)
    return [_collect(kernels, classes, step) for step in found]


def _warn(
    kernels: Kernels, found: list[dict[str, Any]], classes: Array, lams: list[float], options: dict[str, Any]
) -> None:
    from fastfs import _core

    n_classes = len(classes)

    def where(bit: int) -> str:
        """For which lambdas, if some."""
        return some_of([f"lam={step['lambda']:g}" for step in found if step["warnings"] & bit])

    k = options["n_components"]
    messages = []
    if 0.0 in lams:
        messages.append(
            "lam=0 leaves nothing to keep classes apart: the objective is at its best where all samples are alike"
        )
    if 0 < k < n_classes:
        messages.append(
            f"n_components={k} is less than the {n_classes} classes, so that some class has no dimension of its own"
        )
    if who := where(_core.IKDR_MANY):
        messages.append(
            f"n_components={k} is more than twice the {n_classes} classes, and samples are too much alike for so many "
            f"(mean similarity above {n_classes / k:.2g} for {who}): surplus dimensions tend to stand for outliers, "
            "and the features they select with them; take fewer, or with one kernel a smaller width"
        )
    if who := where(_core.IKDR_IDENTITY):
        messages.append(
            f"samples are hardly similar to each other (mean similarity below 0.01 for {who}), so that dimensions "
            "stand for single samples: take "
            + (
                "width='mean_squared' or a larger width"
                if kernels.matrices is None
                else "kernels that fall more slowly"
            )
        )
    if who := where(_core.IKDR_CONSTANT):
        messages.append(
            f"a kernel with weight is nearly constant, but for one sample at most (for {who}), as that of a feature "
            "with an outlier is: look at its values"
        )
    if kernels.matrices is not None:
        diagonals = kernels.matrices.diagonal(axis1=1, axis2=2).mean(axis=1)
        size = float(found[0]["weights"] @ diagonals)
        if not 0.1 <= size <= 10:
            messages.append(
                f"the kernels' diagonals are about {size:.3g}, but similarities to a sample's own class are meant to "
                "be about 1: divide each kernel by the mean of its diagonal"
            )
    few = [step for step in found if step["warnings"] & _core.IKDR_FEW and step["converged"]]
    if few and not messages:  # of the others it is a consequence
        messages.append(_without_dimension(kernels, few, classes, options["mu"]))
    warn(messages)
    if who := where(_core.IKDR_NOT_CONVERGED):
        from sklearn.exceptions import ConvergenceWarning

        warn(
            [
                f"I-KDR did not converge in max_iter={options['max_iter']} iterations for {who}: the best one is kept; "
                "raise max_iter, max_inner or tol"
            ],
            ConvergenceWarning,
        )


def _without_dimension(kernels: Kernels, found: list[dict[str, Any]], classes: Array, mu: float) -> str:
    """Name the classes that are the main one of no dimension, though there are enough, and say what may help."""
    have = np.ones(len(classes), dtype=bool)
    for profile in (step["profile"] for step in found):
        have &= (profile == profile.max(axis=0)).any(axis=1)
    lams, less = [step["lambda"] for step in found], 0.1 / (len(classes) - 1)
    advice = [f"a smaller lam, such as {less:.2g}"] if max(lams) > less else []
    advice += ["a smaller mu"] if mu > 0.1 else []
    advice.append("groups of features, a kernel each" if kernels.n_kernels > 1 else "two dimensions for each class")
    who = some_of([f"lam={lam:g}" for lam in lams])
    return (
        f"no dimension is mainly of {some_of(classes[~have])} (of {len(classes)} classes; for {who}), so that the "
        f"embedding may not tell them from others: try {', or '.join(advice)}"
    )


def _collect(kernels: Kernels, classes: Array, found: dict[str, Any]) -> IkdrResult:
    weights, prices = found["weights"], found["prices"]
    if kernels.which is not None:
        weights, prices = np.zeros(kernels.n_kernels), np.full(kernels.n_kernels, np.inf)
        weights[kernels.which], prices[kernels.which] = found["weights"], found["prices"]
    constant = kernels.constant
    if constant is None and kernels.X is not None:
        constant = found["scales"] == 0
    feature_weights = None
    own, price = weights, prices
    if constant is not None:
        assert kernels.kernel_of is not None
        sizes = np.bincount(kernels.kernel_of[~constant], minlength=kernels.n_kernels)
        feature_weights = np.where(constant, 0.0, (weights / np.maximum(sizes, 1))[kernels.kernel_of])
        own, price = feature_weights, np.where(constant, np.inf, prices[kernels.kernel_of])
    A = found["A"]
    support = np.flatnonzero(A.any(axis=1))
    return IkdrResult(
        scores=np.where(own > 0, own, 0.0 - _share(price, abs(found["objective"]))),
        weights=weights,
        feature_weights=feature_weights,
        A=A,
        support=support,
        embedding=found["embedding"],
        class_profile=found["profile"],
        classes=classes,
        interpretability=found["interpretability"],
        objective=found["objective"],
        history=found["history"],
        similarity=found["similarity"],
        n_iter=found["n_iter"],
        converged=bool(found["converged"]),
        lam=found["lambda"],
        deltas=found["deltas"],
        constant_features=None if constant is None else np.flatnonzero(constant),
        group_labels=kernels.group_labels,
        embedder=_embedder(kernels, found, weights, constant, support),
    )


def _share(price: Array, objective: float) -> Array:
    """p / (p + F), 1 for infinite prices."""
    share = np.ones_like(price)
    finite = np.isfinite(price)
    price = np.maximum(price[finite], 0.0)
    share[finite] = np.divide(price, price + objective, out=np.zeros_like(price), where=price > 0)
    return share


# ---------------------------------------------------------------------------------------------------------- new samples


@dataclass(frozen=True)
class Embedder:
    """The samples with coefficients, in the columns with weight: all that it takes to embed new ones."""

    kernel: Any
    n_columns: int  # of X, or samples of the fit
    n_kernels: int
    which: Codes  # kernels with weight
    weights: npt.NDArray[np.float64]  # of these
    columns: list[Codes] | None  # of each of these
    names: list[str]
    support: Any  # values of the samples, as the core takes them or as the caller's kernel does; or their numbers
    coefficients: npt.NDArray[np.float64]
    deltas: npt.NDArray[np.float64] | None = None
    means: npt.NDArray[np.float64] | None = None
    scales: npt.NDArray[np.float64] | None = None

    def embed(self, data: Any, n_threads: int, budget: int, progress: Progress | None) -> npt.NDArray[np.float64]:
        """Data as of `read`."""
        if data.shape[-1] != self.n_columns:
            raise ValueError(f"X must have the {self.n_columns} columns of the fit, but has {data.shape[-1]}")
        if self.columns is None:
            if len(data) != self.n_kernels:
                raise ValueError(f"X must hold {self.n_kernels} kernels as in the fit, but holds {len(data)}")
            return self._mix((data[m][:, self.support] for m in self.which), data.shape[1])
        if callable(self.kernel):
            by_column = data.tocsc() if hasattr(data, "tocsc") else data
            ends = np.cumsum([len(own) for own in self.columns])
            theirs = [np.arange(end - len(own), end) for own, end in zip(self.columns, ends, strict=True)]
            parts = (
                evaluate(self.kernel, by_column[:, own], self.support[:, place], name)
                for own, place, name in zip(self.columns, theirs, self.names, strict=True)
            )
            return self._mix(parts, data.shape[0])
        embedded: npt.NDArray[np.float64] = core().ikdr_embed(
            weights=self.weights,
            deltas=self.deltas,
            begins=np.cumsum([0, *map(len, self.columns)]),
            features=np.concatenate(self.columns),
            means=self.means,
            scales=self.scales,
            support=self.support,
            coefficients=self.coefficients,
            X=data,
            n_threads=as_threads(n_threads),
            max_memory=budget,
            progress=check_progress(progress),
        )
        return embedded

    def _mix(self, parts: Iterable[Array], n_rows: int) -> npt.NDArray[np.float64]:
        """Of kernels that come one at a time, as the caller's function may return the same array again."""
        embedded = np.zeros((n_rows, self.coefficients.shape[1]))
        for weight, K, name in zip(self.weights, parts, self.names, strict=True):
            rows = np.flatnonzero(~np.isfinite(K).all(axis=1))
            if len(rows):  # K has the columns of the support only, which the caller doesn't know
                bad = K[rows[0]]
                raise ValueError(
                    f"{name} must not contain NaN or infinity, but has {bad[~np.isfinite(bad)][0]} in row {rows[0]} "
                    "(counted from 0): mend it, or leave that sample out"
                )
            embedded += weight * (K @ self.coefficients)
        return embedded


def _embedder(
    kernels: Kernels, found: dict[str, Any], weights: Array, constant: Array | None, support: Codes
) -> Embedder:
    which = np.flatnonzero(weights > 0)
    common = {
        "kernel": kernels.kernel,
        "n_kernels": kernels.n_kernels,
        "which": which,
        "weights": weights[which],
        "names": [kernels.name(m) for m in which],
        "coefficients": found["A"][support],
    }
    if kernels.X is None:
        return Embedder(n_columns=len(found["A"]), columns=None, support=support, **common)
    assert constant is not None
    X = kernels.X
    columns = kernels.columns(which, constant)
    features = np.concatenate(columns)
    common |= {"n_columns": X.shape[1], "columns": columns}
    if hasattr(X, "tocsr"):
        return Embedder(support=X.tocsr()[support][:, features].tocsc(), **common)
    values = X[np.ix_(support, features)]
    if callable(kernels.kernel):
        return Embedder(support=values, **common)
    means, scales = found["means"][features], found["scales"][features]
    return Embedder(
        support=np.ascontiguousarray((values - means) / scales),
        deltas=found["deltas"][which],
        means=means,
        scales=scales,
        **common,
    )
