"""I-KDR: dimensions that are mixtures of a few samples, mostly of one class, and the features that these need."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fastfs._functions.ikdr_embedding import Embedder, make_embedder
from fastfs._functions.ikdr_kernels import KernelFields, KernelOptions, Kernels, make_kernels, read_data
from fastfs._functions.options import Needs, Options, RandomCall, option_class, option_field, takes
from fastfs._functions.outcome import Outcome
from fastfs._inputs.entry import entry, require_known, take_rng
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_floats
from fastfs._inputs.streams import sample_rows
from fastfs._inputs.values import for_core
from fastfs._machine.errors import in_rows, last_warnings, naming
from fastfs._machine.params import as_count, as_float, as_int, as_seed, one_of
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Floats, Integers, Progress

# ------------------------------------------------------------------------------------------------------------- options


@option_class
class IKDRFields:
    """Options of a fit as the estimator and the functions take them, except lambda, since a path has several."""

    n_components: int | None = option_field(as_count, default=None)
    mu: float = option_field(as_float, default=0.1)
    tau: float = option_field(as_float, default=np.inf)
    zeta: float = option_field(as_float, default=np.inf)
    interpretability: str = option_field(
        one_of("laplacian", "distance"), needs=Needs("mu", (), or_other=True), default="laplacian"
    )
    solver: str = option_field(one_of("projected_gradient", "admm"), default="projected_gradient")
    max_iter: int = option_field(as_int, default=100)
    max_inner: int = option_field(as_int, default=200)
    tol: float = option_field(as_float, default=1e-4)
    n_rows: int | None = option_field(as_count, default=None)
    random_state: Any = option_field(lambda _, value: as_seed(value), key="seed", default=0)


@dataclass(kw_only=True)
class IKDROptions(IKDRFields, Options):
    """Options of a fit, as the core takes them."""

    def core_options(self) -> dict[str, Any]:
        """Return the options of a fit under the names of the core."""
        return {key: value for key, value in super().core_options().items() if key != "n_rows"}


@option_class
class FunctionFields(IKDRFields):
    """Options of the functions, which have `rho` besides the options of the estimator."""

    rho: float = option_field(as_float, needs=Needs("solver", ("admm",)), default=1.0)


@dataclass(kw_only=True)
class FunctionOptions(FunctionFields, IKDROptions):
    """Options of the functions, as the core takes them."""


# ----------------------------------------------------------------------------------------------------- public functions


@result_class
class IKDRResult(DrawnResult):
    """Result of I-KDR for one lambda, returned by :func:`fastfs.ikdr`.

    Parameters
    ----------
    weights, A, support
        As `kernel_weights_`, `dual_coef_` and `support_samples_` of :class:`fastfs.IKDR`.
    scores, embedding, class_profile, classes, interpretability, objective, history, similarity, n_iter, converged
        As the attributes of :class:`fastfs.IKDR`.
    feature_weights, constant_features, group_labels, deltas
        As the attributes of :class:`fastfs.IKDR`, or None: the first two with precomputed kernels, the third without
        groups, the last unless ``kernel="rbf"``.
    lam : float
        Argument of the call, in units of 1 / n_samples.
    embedder : object
        The part of the training data that :meth:`embed` needs.

    Examples
    --------
    <ikdr_example>
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
    embedder: Embedder = field(repr=False)

    _picture = "class_profile"
    _columns: ClassVar = {"score": "scores", "weight": "feature_weights"}

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
        return self.embedder.embed_data(read_data(X, self.embedder.kernel, run), run)


@option_class
class _IKDRCall(KernelFields, FunctionFields, RandomCall):
    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    lam: float = 0.1
    start: Any = None


@takes(_IKDRCall)
def ikdr(call: _IKDRCall) -> IKDRResult:
    """Reduce labelled data to dimensions that are mixtures of samples, and select the features these need.

    The function behind :class:`fastfs.IKDR`, which says more of the parameters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sparse X is made dense, unless the kernel is a custom function. With ``kernel="precomputed"`` one matrix of
        shape (n_samples, n_samples), or a list of them, one per kernel.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    rho : float
        Penalty of the constraint in ``solver="admm"``.
    other parameters
        As for :class:`fastfs.IKDR`.
    <rng>
    <machine>

    Returns
    -------
    IKDRResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.IKDR`.

    Examples
    --------
    <ikdr_example>
    >>> result = fastfs.ikdr(X, y)
    >>> int(result.weights.argmax())
    3
    >>> bool(np.allclose(result.embed(X), result.embedding))
    True
    """
    (result,) = _solve_path(call, [call.lam])
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
        raise TypeError(f"lams must be a sequence of numbers; got {lams!r}: for a single one take ikdr")
    steps = list(lams)
    if not steps:
        raise ValueError("lams must hold at least one lambda; got none")
    require_known("ikdr_path", list(inspect.signature(ikdr).parameters), options)
    return _solve_path(_IKDRCall(X=X, y=y, lam=steps[0], **take_rng(options)), steps)


def _solve_path(call: _IKDRCall, lams: list[float]) -> list[IKDRResult]:
    """Read the data, or drawn rows of them, make the kernels, fit I-KDR for each lambda, and issue the warnings.

    The first fit begins at `start`, each other one at the solution before it. Raise ValueError for a single class.
    """
    options, of_kernels = FunctionOptions.from_arguments(call), KernelOptions.from_arguments(call)
    lams, run = [as_float("lam", lam) for lam in lams], call.make_run()
    X, y, rows = draw_rows(call.X, call.y, options, of_kernels, run)
    with in_rows(rows):
        data = read_data(X, of_kernels.kernel, run)
        classes, labels = encode_labels(y, *data.shape[-2:])
        require_classes(classes)
        kernels = make_kernels(data, of_kernels, run)
        first = check_start(call.start, len(labels), options.n_components or len(classes), kernels.n_kernels)
        return fit_ikdr(kernels, classes, labels, lams, options, run, first).warn_and_return()


def draw_rows(
    X: Any, y: Any, options: IKDROptions, of_kernels: KernelOptions, run: Run
) -> tuple[Any, Any, Integers | None]:
    """Return the rows of X and y to fit, and their numbers, as `sample_rows` does.

    Raise ValueError if `n_rows` is set for precomputed kernels.
    """
    if options.n_rows and isinstance(of_kernels.kernel, str) and of_kernels.kernel == "precomputed":
        raise ValueError(
            "n_rows must be left out with kernel='precomputed', since X then has no rows of features to draw"
        )
    return sample_rows(X, y, options.n_rows or 0, options.random_state, run)


Start = tuple[Floats | None, Floats | None]


def check_start(start: Any, n_samples: int, n_components: int, n_kernels: int) -> Start:
    """Return A and the kernel weights of `start`, which is None, A or (A, weights); None stands for an absent one.

    Raise ValueError for shapes that don't fit.
    """
    if start is None:
        return None, None
    pair = isinstance(start, list | tuple) and len(start) == 2 and np.ndim(start[0]) != 1
    A, weights = start if pair else (start, None)
    A = for_core(as_floats(np.asarray(A), "A of start"), dtype=np.float64)
    if A.shape != (n_samples, n_components):
        raise ValueError(f"A of start must have the shape {(n_samples, n_components)}; got {A.shape}")
    if weights is not None:
        weights = for_core(as_floats(np.asarray(weights), "weights of start"), dtype=np.float64)
        if weights.shape != (n_kernels,):
            raise ValueError(f"weights of start must have the shape {(n_kernels,)}; got {weights.shape}")
    return A, weights


# ---------------------------------------------------------------------------------------------------------------- fits


def fit_ikdr(
    kernels: Kernels,
    classes: Array,
    labels: Integers,
    lams: list[float],
    options: IKDROptions,
    run: Run,
    start: Start = (None, None),
) -> Outcome[list[IKDRResult]]:
    """Fit I-KDR for each lambda, from the solution of the lambda before, and the first from `start`; return also the
    warnings.
    """
    A, weights = start
    if weights is not None and kernels.which is not None:
        weights = weights[kernels.which]
    core_options = options.core_options() | {"lambdas": np.array(lams, dtype=np.float64), "A": A, "weights": weights}
    with naming({"kernel": kernels.name_in_core}):
        core_results = load_core().ikdr_fit(kernels.core_arguments(), labels, len(classes), core_options, run)
    warnings = last_warnings({"class": lambda q: f"class {classes[q]}"})
    return Outcome([_make_result(kernels, classes, step) for step in core_results], warnings)


def _make_result(kernels: Kernels, classes: Array, core_result: dict[str, Any]) -> IKDRResult:
    """Turn the core's result for one lambda into an IKDRResult, with scores and weights of all features.

    A group's weight is shared by its features that vary. A feature without weight scores -p / (p + F), from its price p
    and the objective F: -1 if it is constant.
    """
    weights, prices = core_result["weights"], core_result["prices"]
    if kernels.which is not None:
        weights, prices = np.zeros(kernels.n_kernels), np.full(kernels.n_kernels, np.inf)
        weights[kernels.which], prices[kernels.which] = core_result["weights"], core_result["prices"]
    constant = kernels.constant
    if constant is None and kernels.X is not None:
        constant = core_result["scales"] == 0
    feature_weights = None
    feature_score, price = weights, prices
    if constant is not None:
        assert kernels.kernel_of is not None
        sizes = np.bincount(kernels.kernel_of[~constant], minlength=kernels.n_kernels)
        feature_weights = np.where(constant, 0.0, (weights / np.maximum(sizes, 1))[kernels.kernel_of])
        feature_score, price = feature_weights, np.where(constant, np.inf, prices[kernels.kernel_of])
    support = np.flatnonzero(core_result["A"].any(axis=1))
    same = ("A", "embedding", "interpretability", "objective", "history", "similarity", "n_iter", "deltas")
    return IKDRResult(
        **{name: core_result[name] for name in same},
        scores=np.where(
            feature_score > 0, feature_score, 0.0 - _share_of_objective(price, abs(core_result["objective"]))
        ),
        weights=weights,
        feature_weights=feature_weights,
        support=support,
        class_profile=core_result["profile"],
        classes=classes,
        converged=bool(core_result["converged"]),
        lam=core_result["lambda"],
        constant_features=None if constant is None else np.flatnonzero(constant),
        group_labels=kernels.group_labels,
        embedder=make_embedder(kernels, core_result, weights, constant, support),
    )


def _share_of_objective(price: Array, objective: float) -> Array:
    """Return p / (p + F) for each price p and the objective F; 1 for an infinite price."""
    share = np.ones_like(price)
    finite = np.isfinite(price)
    price = np.maximum(price[finite], 0.0)
    share[finite] = np.divide(price, price + objective, out=np.zeros_like(price), where=price > 0)
    return share
