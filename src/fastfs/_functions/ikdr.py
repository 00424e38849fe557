"""I-KDR: dimensions that are mixtures of a few samples, mostly of one class, and the features that these need."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fastfs._functions.options import Needs, Options, option
from fastfs._functions.outcome import Outcome
from fastfs._inputs.checks import as_count, as_float, as_int, as_seed, choose, one_of, some_of, word_or_none
from fastfs._inputs.entry import entry, require_known
from fastfs._inputs.labels import encode_labels, number_labels, require_classes
from fastfs._inputs.matrix import as_dense, as_floats, decoded, not_finite, take_columns, take_rows
from fastfs._inputs.streams import sample_rows
from fastfs._inputs.values import for_core
from fastfs._machine.brief import brief
from fastfs._machine.errors import in_rows, naming
from fastfs._machine.run import Run, core
from fastfs._types import Array, Floats, Integers, Progress

# ------------------------------------------------------------------------------------------------------------- options


def _as_kernel(name: str, value: Any) -> Any:
    return value if callable(value) else choose(name, value, ("rbf", "precomputed"), "a callable")


def _as_width(name: str, value: Any) -> float | str:
    if isinstance(value, str):
        return choose(name, value, ("mean_squared", "mean"), "a positive number")
    if not 0 < (width := as_float(name, value)) < np.inf:
        raise ValueError(f"{name} must be 'mean_squared', 'mean' or a positive number, not {width!r}")
    return width


@dataclass(frozen=True, kw_only=True)
class IKDROptions(Options):
    """The options of a fit, but for lambda, of which a path has several."""

    n_components: int = option(as_count)  # 0: as many as classes
    mu: float = option(as_float)
    tau: float = option(as_float)
    zeta: float = option(as_float)
    interpretability: str = option(one_of("laplacian", "distance"), needs=Needs("mu", (), "laplacian", or_other=True))
    solver: str = option(one_of("projected_gradient", "admm"))
    max_iter: int = option(as_int)
    max_inner: int = option(as_int)
    tol: float = option(as_float)
    random_state: int = option(lambda _, value: as_seed(value), key="seed")
    n_rows: int = option(as_count)

    def core(self) -> dict[str, Any]:
        return {key: value for key, value in super().core().items() if key != "n_rows"}


@dataclass(frozen=True, kw_only=True)
class FunctionOptions(IKDROptions):
    """The options that the functions have, but not the estimator."""

    rho: float = option(as_float, needs=Needs("solver", ("admm",), 1.0))


@dataclass(frozen=True, kw_only=True)
class KernelOptions(Options):
    """The options that make the kernels."""

    kernel: Any = option(_as_kernel)
    groups: Any = option(lambda _, value: value)  # the number of features isn't known yet
    width: float | str = option(_as_width, needs=Needs("kernel", ("rbf",), "mean_squared"))
    scaling: str = option(word_or_none("standard"))

    def core(self) -> dict[str, Any]:
        """Return the options of Gaussian kernels under the names of the core."""
        width = {"width": self.width} if isinstance(self.width, str) else {"width": "given", "delta": self.width}
        return {"scaling": self.scaling} | width


# ----------------------------------------------------------------------------------------------------- public functions


@brief
@dataclass(frozen=True)
class IKDRResult:
    """What I-KDR found for one lambda, as :func:`fastfs.ikdr` returns it.

    Parameters
    ----------
    weights, A, support
        As `kernel_weights_`, `dual_coef_` and `support_samples_` of :class:`fastfs.IKDR`.
    scores, embedding, class_profile, classes, interpretability, objective, history, similarity, n_iter, converged
        As the attributes of :class:`fastfs.IKDR`.
    feature_weights, constant_features, group_labels, deltas
        The same, or None: the first two with precomputed kernels, the third without groups, the last unless
        ``kernel="rbf"``.
    lam : float
        In units of 1 / n_samples, as it was given.
    embedder : object
        The part of the training data that :meth:`embed` needs.

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

    scores: Floats
    weights: Floats
    feature_weights: Floats | None
    A: Floats
    support: Integers
    embedding: Floats
    class_profile: Floats
    classes: Array
    interpretability: float
    objective: float
    history: Floats
    similarity: float
    n_iter: int
    converged: bool
    lam: float
    deltas: Floats | None
    constant_features: Integers | None
    group_labels: Array | None
    embedder: "Embedder" = field(repr=False)

    def embed(
        self,
        X: Any,
        *,
        n_threads: int = 0,
        max_memory: int | str | None = None,
        progress: Progress | None = None,
    ) -> Floats:
        """Embed new samples, as :meth:`fastfs.IKDR.embed` does: returns an array of shape (n_samples, n_components).

        The other parameters are those of :func:`fastfs.ikdr`.
        """
        run = Run(n_threads, max_memory, progress)
        return self.embedder.embed(read(X, self.embedder.kernel, run), run)


@entry
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
    n_rows: int | None = None,
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> IKDRResult:
    """Reduce labelled data to dimensions that are mixtures of samples, and select the features these need.

    The function behind :class:`fastfs.IKDR`, which says more of the parameters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sparse X is made dense, unless the kernel is your own. With ``kernel="precomputed"`` one matrix of shape
        (n_samples, n_samples) or a list of such: a kernel each.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    rho : float
        Penalty of the constraint in ``solver="admm"``.
    other parameters
        As for :class:`fastfs.IKDR`.
    n_threads, progress
        As for :func:`fastfs.affinity`.

    Returns
    -------
    IKDRResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.IKDR`.

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
    options, kernels = FunctionOptions.of(locals()), KernelOptions.of(locals())
    run = Run(n_threads, max_memory, progress)
    (result,) = _solve(X, y, [lam], options, kernels, start, run)
    return result


@entry
def ikdr_path(X: Any, y: Any, lams: Iterable[float], **options: Any) -> list[IKDRResult]:
    """Fit I-KDR for several lambdas in turn, each from the solution of the one before.

    Parameters
    ----------
    X, y, **options
        As for :func:`fastfs.ikdr`, but for `lam`.
    lams : sequence of float
        In the order to solve them. From small to large is better as a rule: the solution for a large lambda is a poor
        start for a small one.

    Returns
    -------
    list of IKDRResult
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
    if not np.iterable(lams):
        raise TypeError(f"lams must be a sequence of numbers, not {lams!r}: for a single one take ikdr")
    steps = list(lams)
    if not steps:
        raise ValueError("lams has no lambda: give at least one")
    require_known("ikdr_path", list(inspect.signature(ikdr).parameters), options)
    given = inspect.signature(ikdr).bind(X, y, lam=steps[0], **options)
    given.apply_defaults()
    values = given.arguments
    run = Run(values["n_threads"], values["max_memory"], values["progress"])
    return _solve(X, y, steps, FunctionOptions.of(values), KernelOptions.of(values), values["start"], run)


def _solve(
    X: Any, y: Any, lams: list[float], options: FunctionOptions, of_kernels: KernelOptions, start: Any, run: Run
) -> list[IKDRResult]:
    lams = [as_float("lam", lam) for lam in lams]
    X, y, rows = drawn(X, y, options, of_kernels, run)
    with in_rows(rows):
        data = read(X, of_kernels.kernel, run)
        classes, labels = encode_labels(y, *data.shape[-2:])
        require_classes(classes)
        kernels = make_kernels(data, of_kernels, run)
        first = check_start(start, len(labels), options.n_components or len(classes), kernels.n_kernels)
        return fit(kernels, classes, labels, lams, options, run, first).deliver()


def drawn(
    X: Any, y: Any, options: IKDROptions, of_kernels: KernelOptions, run: Run
) -> tuple[Any, Any, Integers | None]:
    """Return the rows of X and y to fit, and their numbers, as of `sample_rows`."""
    if options.n_rows and isinstance(of_kernels.kernel, str) and of_kernels.kernel == "precomputed":
        raise ValueError("n_rows draws rows of features, which kernel='precomputed' has none of: leave it out")
    return sample_rows(X, y, options.n_rows, options.random_state, run)


Start = tuple[Floats | None, Floats | None]


def check_start(start: Any, n_samples: int, n_components: int, n_kernels: int) -> Start:
    """Return A and the weights to start from; the core checks their values."""
    if start is None:
        return None, None
    pair = isinstance(start, list | tuple) and len(start) == 2 and np.ndim(start[0]) != 1
    A, weights = start if pair else (start, None)
    A = for_core(as_floats(np.asarray(A), "A of start"), dtype=np.float64)
    if A.shape != (n_samples, n_components):
        raise ValueError(f"A of start must have the shape {(n_samples, n_components)}, not {A.shape}")
    if weights is not None:
        weights = for_core(as_floats(np.asarray(weights), "weights of start"), dtype=np.float64)
        if weights.shape != (n_kernels,):
            raise ValueError(f"weights of start must have the shape {(n_kernels,)}, not {weights.shape}")
    return A, weights


# ------------------------------------------------------------------------------------------------------------- kernels


@dataclass(frozen=True)
class Kernels:
    """The kernels between samples as the core takes them: Gaussian ones of features, or matrices."""

    options: KernelOptions
    n_kernels: int
    X: Any = None  # None with precomputed kernels
    matrices: Array | None = None
    which: Integers | None = None  # the kernel of each matrix: constant features have none
    kernel_of: Integers | None = None  # of each feature
    group_labels: Array | None = None
    constant: Array | None = None  # of each feature; None: the core finds out

    def core(self) -> dict[str, Any]:
        """Return the kernels under the names of the core."""
        if self.matrices is not None:
            return {"matrices": self.matrices, "n_kernels": len(self.matrices)}
        if self.n_kernels == 1:
            source: dict[str, Any] = {"n_kernels": 1}
        elif self.group_labels is not None:
            source = {"n_kernels": self.n_kernels, "groups": self.kernel_of}
        else:
            source = {"n_kernels": 0}
        return {"X": self.X} | source | self.options.core()

    def name_in_core(self, m: int) -> str:
        """Return the name of kernel or matrix m of the core."""
        return self.name(m if self.which is None else self.which[m])

    def name(self, m: Any) -> str:
        if self.X is None:
            return f"matrix {m}"
        if self.group_labels is not None:
            return f"the kernel of group {self.group_labels[m]}"
        return f"the kernel of feature {m}" if self.n_kernels > 1 else "the kernel of all features"

    def columns(self, chosen: Integers, constant: Array) -> list[Integers]:
        """The columns of X of each of the chosen kernels, without constant ones."""
        assert self.kernel_of is not None
        features = np.flatnonzero(~constant & np.isin(self.kernel_of, chosen))
        features = features[np.argsort(self.kernel_of[features], kind="stable")]
        return np.split(features, np.searchsorted(self.kernel_of[features], chosen[1:]))


def read(X: Any, kernel: Any, run: Run) -> Any:
    """Return X, or with "precomputed" the matrices as one array; copies are taken off the budget of the run."""
    if callable(kernel):
        return as_dense(X, run) if hasattr(X, "__next__") else decoded(X, run)
    return _as_matrices(X, run) if kernel == "precomputed" else as_dense(X, run)


def _as_matrices(K: Any, run: Run) -> Array:
    several = getattr(K, "ndim", 0) == 3 or (isinstance(K, list | tuple) and all(np.ndim(k) == 2 for k in K))
    given = list(K) if several else [K]
    if not given:
        raise ValueError("X has no kernel: give at least one matrix of samples x samples")
    matrices: list[Array] = []
    for k in given:
        matrices.append(as_dense(k, run))
        if matrices[-1].shape != matrices[0].shape:
            raise ValueError(
                f"all kernels must have the shape of the first, {matrices[0].shape}, but kernel {len(matrices) - 1} "
                f"(counted from 0) has {matrices[-1].shape}"
            )
    if len(matrices) == 1:
        return for_core(matrices[0], dtype=np.float64)[None]
    _take_matrices(run, len(matrices), matrices[0].size)
    return np.array(matrices, dtype=np.float64)


def _take_matrices(run: Run, number: int, size: int) -> None:
    advice = "take fewer of them, each of a group of features"
    run.take(8 * number * size, f"{number} kernels of samples x samples", advice)


def make_kernels(data: Any, options: KernelOptions, run: Run) -> Kernels:
    """Return the kernels of data as of `read`; those of the caller's function are computed here."""
    groups = options.groups
    if options.kernel == "precomputed":
        if groups is not None:
            raise ValueError("groups are of features, of which kernel='precomputed' knows none: leave them out")
        if data.shape[1] != data.shape[2]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix of samples x samples, but is {data.shape[1]} x "
                f"{data.shape[2]}: for features take kernel='rbf'"
            )
        return Kernels(options, len(data), matrices=data)
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
    kernels = Kernels(options, n_kernels, X=data, kernel_of=kernel_of, group_labels=labels)
    return _with_matrices(kernels, run) if callable(options.kernel) else kernels


def _encode_groups(groups: Any, n_features: int) -> tuple[Array, Integers]:
    try:
        given = np.asarray(groups)
        came = f"has the shape {given.shape}"
    except ValueError:  # of NumPy, for sequences of different lengths
        given, came = np.empty(0), "holds sequences"
    if given.shape != (n_features,):
        raise ValueError(f"groups must be None, 'all' or one label for each of the {n_features} features, but {came}")
    return number_labels(given, "groups", "for feature", any_number=True)


def _with_matrices(kernels: Kernels, run: Run) -> Kernels:
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
    _take_matrices(run, len(which), n * n)
    matrices = np.empty((len(which), n, n))
    columns = kernels.columns(which, constant)
    by_column = X.tocsc() if hasattr(X, "tocsc") else X
    for matrix, m, own in zip(matrices, which, columns, strict=True):
        part = by_column[:, own]
        matrix[:] = evaluate(kernels.options.kernel, part, part, kernels.name(m))
    return replace(kernels, matrices=matrices, which=which, constant=constant)


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
    labels: Integers,
    lams: list[float],
    options: IKDROptions,
    run: Run,
    start: Start = (None, None),
) -> Outcome[list[IKDRResult]]:
    """Call the core, and tell features from kernels."""
    A, weights = start
    if weights is not None and kernels.which is not None:
        weights = weights[kernels.which]
    given = options.core() | {"lambdas": np.array(lams, dtype=np.float64), "A": A, "weights": weights}
    with naming({"kernel": kernels.name_in_core}):
        found = core().ikdr_fit(kernels.core(), labels, len(classes), given, run)
    return Outcome(
        [_collect(kernels, classes, step) for step in found],
        _messages(kernels, found, classes, lams, options),
        _not_converged(found, options.max_iter),
    )


def _lams_with(found: list[dict[str, Any]], bit: int) -> str:
    """The lambdas that some warning of the core is about."""
    return some_of([f"lam={step['lambda']:g}" for step in found if step["warnings"] & bit])


def _messages(
    kernels: Kernels, found: list[dict[str, Any]], classes: Array, lams: list[float], options: IKDROptions
) -> list[str]:
    from fastfs import _core

    n_classes, k = len(classes), options.n_components
    messages = []
    if 0.0 in lams:
        messages.append(
            "lam=0 leaves nothing to keep classes apart: the objective is at its best where all samples are alike"
        )
    if 0 < k < n_classes:
        messages.append(
            f"n_components={k} is less than the {n_classes} classes, so that some class has no dimension of its own"
        )
    if some := _lams_with(found, _core.IKDR_MANY):
        messages.append(
            f"n_components={k} is more than twice the {n_classes} classes, and samples are too much alike for so many "
            f"(mean similarity above {n_classes / k:.2g} for {some}): surplus dimensions tend to stand for outliers, "
            "and the features they select with them; take fewer, or with one kernel a smaller width"
        )
    if some := _lams_with(found, _core.IKDR_IDENTITY):
        wider = (
            "width='mean_squared' or a larger width" if kernels.matrices is None else "kernels that fall more slowly"
        )
        messages.append(
            f"samples are hardly similar to each other (mean similarity below 0.01 for {some}), so that dimensions "
            f"stand for single samples: take {wider}"
        )
    if some := _lams_with(found, _core.IKDR_CONSTANT):
        messages.append(
            f"a kernel with weight is nearly constant, but for one sample at most (for {some}), as that of a feature "
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
        messages.append(_without_dimension(kernels, few, classes, options.mu))
    return messages


def _not_converged(found: list[dict[str, Any]], max_iter: int) -> list[str]:
    from fastfs import _core

    some = _lams_with(found, _core.IKDR_NOT_CONVERGED)
    if not some:
        return []
    return [
        f"I-KDR did not converge in max_iter={max_iter} iterations for {some}: the best one is kept; raise max_iter, "
        "max_inner or tol"
    ]


def _without_dimension(kernels: Kernels, found: list[dict[str, Any]], classes: Array, mu: float) -> str:
    """Name the classes that are the main one of no dimension, though there are enough, and say what may help."""
    have = np.ones(len(classes), dtype=bool)
    for profile in (step["profile"] for step in found):
        have &= (profile == profile.max(axis=0)).any(axis=1)
    lams, less = [step["lambda"] for step in found], 0.1 / (len(classes) - 1)
    advice = [f"a smaller lam, such as {less:.2g}"] if max(lams) > less else []
    advice += ["a smaller mu"] if mu > 0.1 else []
    advice.append("groups of features, a kernel each" if kernels.n_kernels > 1 else "two dimensions for each class")
    some = some_of([f"lam={lam:g}" for lam in lams])
    return (
        f"no dimension is mainly of {some_of(classes[~have])} (of {len(classes)} classes; for {some}), so that the "
        f"embedding may not tell them from others: try {', or '.join(advice)}"
    )


def _collect(kernels: Kernels, classes: Array, found: dict[str, Any]) -> IKDRResult:
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
    support = np.flatnonzero(found["A"].any(axis=1))
    same = ("A", "embedding", "interpretability", "objective", "history", "similarity", "n_iter", "deltas")
    return IKDRResult(
        **{name: found[name] for name in same},
        scores=np.where(own > 0, own, 0.0 - _share(price, abs(found["objective"]))),
        weights=weights,
        feature_weights=feature_weights,
        support=support,
        class_profile=found["profile"],
        classes=classes,
        converged=bool(found["converged"]),
        lam=found["lambda"],
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
    which: Integers  # kernels with weight
    weights: Floats  # of these
    columns: list[Integers] | None  # of each of these
    names: list[str]
    support: Any  # values of the samples, as the core takes them or as the caller's kernel does; or their numbers
    coefficients: Floats
    deltas: Floats | None = None
    means: Floats | None = None
    scales: Floats | None = None

    def embed(self, data: Any, run: Run) -> Floats:
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
        model = {
            "weights": self.weights,
            "deltas": self.deltas,
            "begins": np.cumsum([0, *map(len, self.columns)]),
            "features": np.concatenate(self.columns),
            "means": self.means,
            "scales": self.scales,
            "support": self.support,
            "coefficients": self.coefficients,
        }
        embedded: Floats = core().ikdr_embed(model, data, run)
        return embedded

    def _mix(self, parts: Iterable[Array], n_rows: int) -> Floats:
        """Of kernels that come one at a time, as the caller's function may return the same array again."""
        embedded = np.zeros((n_rows, self.coefficients.shape[1]))
        for weight, K, name in zip(self.weights, parts, self.names, strict=True):
            rows = np.flatnonzero(~np.isfinite(K).all(axis=1))
            if len(rows):  # K has the columns of the support only, which the caller doesn't know
                bad = K[rows[0]]
                raise ValueError(
                    f"{name} must not contain NaN or infinity, but has {bad[~np.isfinite(bad)][0]} in row {rows[0]} "
                    "(counted from 0): fix the value or drop the sample"
                )
            embedded += weight * (K @ self.coefficients)
        return embedded


def _embedder(
    kernels: Kernels, found: dict[str, Any], weights: Array, constant: Array | None, support: Integers
) -> Embedder:
    which = np.flatnonzero(weights > 0)
    common = {
        "kernel": kernels.options.kernel,
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
    values = take_columns(take_rows(X, support), features)
    if callable(kernels.options.kernel):
        return Embedder(support=values, **common)
    means, scales = found["means"][features], found["scales"][features]
    return Embedder(
        support=for_core((values - means) / scales),
        deltas=found["deltas"][which],
        means=means,
        scales=scales,
        **common,
    )
