"""ManiFeSt: features whose relations to the other features differ between classes.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ManiFeSt`.
"""

import copy
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Needs, Options, option
from fastfs._functions.outcome import Outcome
from fastfs._inputs.checks import as_float, as_int, as_seed, choose, named_kernel, one_of, rank_features, some_of
from fastfs._inputs.entry import entry
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_matrix, as_numbers
from fastfs._inputs.source import Source, chosen, is_dask, stack
from fastfs._inputs.streams import LARGE_BLOCK_BYTES, Passes, as_chunks, classes_in_blocks, merge_pairwise
from fastfs._inputs.values import for_core
from fastfs._machine.errors import in_rows, naming
from fastfs._machine.run import Run, core, inside_joblib, warn
from fastfs._types import Array, Floats, Integers, Progress

# The scales of `sigma="grid"`, each without and with three symmetric normalisations (guide of the paper's experiments).
GRID = [("median", factor) for factor in (0.1, 0.2, 0.5, 1.0)] + [
    ("percentile", q) for q in (5.0, 10.0, 30.0, 50.0, 70.0, 90.0, 95.0)
]
GRID_NORMALIZE = (0, 3)

# A scale as the core takes it.
Scale = dict[str, Any]

# The largest number of features for which accuracy="auto" is exact (the core's number), if that fits the memory.
EXACT_AT_MOST = 1500


def _as_given(name: str, value: Any) -> Any:
    return value


def _as_sigma(name: str, sigma: Any) -> Any:
    if isinstance(sigma, str):
        choose(name, sigma, ("median", "percentile", "grid"), "numbers, one for each kernel")
    return sigma


@dataclass(frozen=True, kw_only=True)
class ManiFeStOptions(Options):
    """Options of ManiFeSt; those of the scale go to the core as scales."""

    kernel: int = option(named_kernel("rbf"), key="custom")
    sigma: Any = option(_as_sigma)
    # Only the parameter that the rule of sigma uses has to be a number.
    sigma_factor: Any = option(_as_given, needs=Needs("sigma", ("median", "grid"), 0.5))
    sigma_percentile: Any = option(_as_given, needs=Needs("sigma", ("percentile",), 50.0))
    normalize: int = option(as_int)
    form: str = option(one_of("pencil", "spd", "spsd"))
    accuracy: str = option(one_of("auto", "exact", "domains", "low_rank", "low_rank_high"))
    rank: int = option(
        lambda name, value: as_int(name, value, low=1, high=(1 << 63) - 1),
        needs=Needs("accuracy", ("auto", "domains", "low_rank", "low_rank_high"), 50),
    )
    multiclass: str = option(one_of("ovr", "ovo", "raise"))
    random_state: int = option(lambda name, value: as_seed(value), key="seed")

    def core(self) -> dict[str, Any]:
        """Return the options of a fit under the names of the core, without those of the scale."""
        scale = ("sigma", "sigma_factor", "sigma_percentile", "normalize")
        given = {name: value for name, value in super().core().items() if name not in scale}
        return given | {"multiclass": "ovr" if self.multiclass == "raise" else self.multiclass}

    def scale(self, kernels: tuple[int, ...]) -> Scale:
        """Return the scale of the scores; kernels have this shape."""
        if isinstance(self.sigma, str):
            if self.sigma == "percentile":
                return self._rule("percentile", as_float("sigma_percentile", self.sigma_percentile))
            return self._rule("median", as_float("sigma_factor", self.sigma_factor))
        try:
            given = np.asarray(self.sigma, dtype=float)
        except (TypeError, ValueError):
            given = np.empty(())
        if given.shape != kernels:
            wanted = f"{kernels[0]} numbers, one for each class"
            if len(kernels) == 2:
                wanted = f"an array of {kernels[0]} x 2 numbers, for each class and the rest of it"
            raise ValueError(f"sigma must be 'median', 'percentile', 'grid' or {wanted}, not {self.sigma!r}")
        return self._rule("given", 0.0) | {"sigma": for_core(given.ravel())}

    def _rule(self, rule: str, value: float) -> Scale:
        return {"rule": rule, "value": value, "normalize": self.normalize}

    def scales(self, kernels: tuple[int, ...]) -> tuple[list[Scale], int]:
        """Return the scales to fit, and the place of the one of the scores among them."""
        own = self.scale(kernels)
        if not (isinstance(self.sigma, str) and self.sigma == "grid"):
            return [own], 0
        grid = [{"rule": rule, "value": value, "normalize": times} for times in GRID_NORMALIZE for rule, value in GRID]
        if own not in grid:
            grid.append(own)
        return grid, grid.index(own)


@entry
def manifest_scores(
    X: Any,
    y: npt.ArrayLike,
    *,
    kernel: Any = "rbf",
    sigma: str | npt.ArrayLike = "median",
    sigma_factor: float = 0.5,
    sigma_percentile: float = 50.0,
    normalize: int = 0,
    form: str = "pencil",
    accuracy: str = "auto",
    rank: int = 50,
    multiclass: str = "ovr",
    combine: Any = None,
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Score how differently each feature associates with the others in two or more classes.

    The function behind :class:`fastfs.ManiFeSt`, which describes the parameters.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features), or a stream of its rows
    y : array-like of shape (n_samples,)
        Labels, of any sortable type.
    other parameters
        As for :class:`fastfs.ManiFeSt`, except ``sigma="grid"``, whose results don't fit into an array of scores.
    n_threads, progress
        As for :func:`fastfs.affinity`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Not negative; larger is better.

    Raises
    ------
    ValueError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.ManiFeSt`.

    Examples
    --------
    The label is the exclusive or of the first two features: neither says anything by itself.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(50, 100)).astype(float)
    >>> y = X[:, 0] != X[:, 1]
    >>> scores = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    >>> np.argsort(-scores)[:2].tolist()
    [0, 1]
    """
    options = ManiFeStOptions.of(locals())
    run = Run(n_threads, max_memory, progress)

    def whole(X: Any) -> tuple[list[Any], Array, Integers]:
        chunks = as_chunks(X, run, y)
        return chunks, *encode_labels(y, sum(chunk.shape[0] for chunk in chunks), chunks[0].shape[1])

    if isinstance(sigma, str) and sigma == "grid":
        raise ValueError("sigma='grid' compares scales, which scores alone can't show: use the estimator ManiFeSt")
    stage, classes, labels = prepare(X, y, options, run, whole, combine=combine)
    others = None if combine is None else stage.other_scores(combine, classes[labels])
    scores: Floats = stage.fit(labels, classes, options).deliver()["scores"]
    return scores if others is None else blend(scores, others)


@entry
def manifest_from_kernels(
    K1: npt.ArrayLike,
    K2: npt.ArrayLike,
    *,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Score features by kernels between them that you have computed, one of each class.

    Parameters
    ----------
    K1, K2 : array-like of shape (n_features, n_features)
        Symmetric and positive semidefinite, with positive values on the diagonal.
    max_memory
        As for :class:`fastfs.ManiFeSt`.
    n_threads, progress
        As for :func:`fastfs.affinity`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        As of :func:`fastfs.manifest_scores` of two classes in its exact form.

    Raises
    ------
    ValueError
        K1 and K2 aren't square matrices of one size, at least 2 x 2; one contains NaN or infinity, isn't symmetric
        within 1e-8 of its largest value, or has no positive value on its diagonal.
    numpy.linalg.LinAlgError
        One isn't positive semidefinite: it has an eigenvalue below -1e-8 of its trace.
    MemoryError
        The fit would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        The kernels agree up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2
    >>> K1, K2 = (fastfs.affinity(X[y == c], sigma=5.0) for c in (0, 1))
    >>> scores = fastfs.manifest_from_kernels(K1, K2)
    >>> bool(np.allclose(scores, fastfs.manifest_scores(X, y, sigma=(5.0, 5.0))))
    True
    """
    given = [as_numbers(K, name) for K, name in ((K1, "K1"), (K2, "K2"))]
    shapes = [K.shape for K in given]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(
            f"K1 and K2 must be square matrices of one size, but have the shapes {shapes[0]} and {shapes[1]}"
        )
    if len(given[0]) < 2:
        raise ValueError(f"K1 and K2 must be of at least two features, but are of {len(given[0])}")
    scores, is_flat = core().manifest_kernels(*given, Run(n_threads, max_memory, progress))
    found: Floats = scores
    if is_flat:
        warn(["the scores are zero up to rounding: K1 and K2 hardly differ, or are hardly more than their diagonals"])
    return found


def prepare(
    X: Any,
    y: Any,
    options: ManiFeStOptions,
    run: Run,
    whole: Callable[[Any], tuple[list[Any], Array, Integers]],
    *,
    n_components: Any = 0,
    combine: Any = None,
    check: Callable[[Any], Any] | None = None,
) -> tuple["Stage", Array, Integers]:
    """Return the stage of X, the classes, and the labels of what the stage has: rows, or their sums by class.

    A stream that takes more than a quarter of the budget is summed. `whole` returns the chunks of anything else, the
    classes and the labels; `check` sees the first block of a stream, as `see` of `Passes`.
    """
    X, of_rows = classes_in_blocks(X, y, run)
    if of_rows is not None:
        classes, groups = of_rows
        require_comparable(classes, options)
        more = {"n_components": n_components, "combine": combine}
        return SumsStage(X, groups, len(classes), options, run, check=check, **more), classes, np.arange(len(classes))
    chunks, classes, labels = whole(X)
    return Stage(chunks, run), classes, labels


def require_comparable(classes: Array, options: ManiFeStOptions) -> None:
    require_classes(classes)
    if len(classes) > 2 and options.multiclass == "raise":
        raise ValueError(
            f"y must have two classes, but has {len(classes)} ({some_of(classes)}): choose multiclass='ovr' or 'ovo', "
            "or keep the samples of two classes"
        )


def _shape_of_kernels(n_classes: int, options: ManiFeStOptions) -> tuple[int, ...]:
    return (n_classes, 2) if n_classes > 2 and options.multiclass != "ovo" else (n_classes,)


class Stage:
    """The label-free stage: what fits of the same X with different labels have in common.

    With `keep_distances` the distances over all rows are computed once, so that each exact fit has only those of the
    smaller side left to do. `chunks` are as of `as_chunks`; `run` is that of the fits, too.
    """

    algorithm, n_passes = "whole", 0

    def __init__(self, chunks: Sequence[Any], run: Run, *, keep_distances: bool = False) -> None:
        self._run, self._chunks, self._keeps_distances = run, chunks, keep_distances
        self.n_features = int(chunks[0].shape[1])
        self._core = core().Manifest(list(chunks), keep_distances, run)

    def under(self, run: Run) -> Self:
        """Return the same stage for fits under another run."""
        other = copy.copy(self)
        other._run = run
        return other

    def n_bytes(self, classes: Array, options: ManiFeStOptions) -> int:
        """Return the memory that a fit takes."""
        require_comparable(classes, options)
        n_scales = len(options.scales(_shape_of_kernels(len(classes), options))[0])
        return int(self._core.plan(len(classes), n_scales, options.core(), 0, self._run)["bytes"])

    def fit(
        self,
        labels: Integers,
        classes: Array,
        options: ManiFeStOptions,
        *,
        n_components: Any = 0,
        top: int | None = None,
        agreement: bool = True,
    ) -> Outcome[dict[str, Any]]:
        """Fit all scales; without `agreement` low-rank scores aren't compared with exact ones, which takes time.

        Returns the core's arrays for the chosen scale, `accuracy` and its `reason` in words, and with ``sigma="grid"``
        the `sensitivity` of the `top` features. Kernels have the shape (n_classes,), or (n_classes, 2) for each class
        and the rest of it.
        """
        n_classes = len(classes)
        require_comparable(classes, options)
        names = [f"class {c}" for c in classes]
        kernels = _shape_of_kernels(n_classes, options)
        if len(kernels) == 2:
            names = [name for c in classes for name in (f"class {c}", f"all classes but {c}")]
        scales, own = options.scales(kernels)
        request = (labels, n_classes, scales, options.core(), as_int("n_components", n_components), agreement)
        with naming({"kernel": names.__getitem__}):
            if n_classes > 2 and self._wants_workers(options):
                plan, results = self._fit_on_workers(*request)
            else:
                plan, results = self._solve(*request)
        fitted: dict[str, Any] = results[own]
        messages = _messages(fitted, names, self.n_features, plan["accuracy"])
        if plan["reason"] == "rank":
            messages.append(f"{_too_large(options.rank, self.n_features)}: the exact form was used")
        if len(scales) > 1:
            best = min(50, max(1, self.n_features // 2)) if top is None else top
            fitted["sensitivity"], unstable = _sensitivity(scales, results, kernels, best)
            messages += unstable
        for name in ("sigma", "kept_trace"):
            fitted[name] = fitted[name].reshape(kernels)
        fitted["accuracy"] = plan["accuracy"]
        fitted["reason"] = _reason(plan, self.n_features, options)
        return Outcome(fitted, messages)

    def other_scores(self, combine: Any, y: Array) -> Floats:
        """Return the scores to blend with, as of the function."""
        return other_scores(combine, self._chunks, y)

    def _solve(self, *request: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        plan, results = self._core.fit(*request, self._run)
        return plan, results

    def _wants_workers(self, options: ManiFeStOptions) -> bool:
        """Whether the comparisons of several classes go through joblib: if its configuration asks for workers.

        A C function stays in its process, and so do the distances that permutations share.
        """
        from fastfs._inference.permutation import wants_workers

        return not options.kernel and not self._keeps_distances and not inside_joblib() and wants_workers(None)

    def _fit_on_workers(
        self,
        labels: Integers,
        n_classes: int,
        scales: list[Scale],
        options: dict[str, Any],
        n_components: int,
        agreement: bool,
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return what the core's fit returns, to the bit, from workers that each take a share of the comparisons."""
        from joblib import Parallel, delayed, effective_n_jobs

        plan = self._core.plan(n_classes, len(scales), options, n_components, self._run)
        options = options | {"accuracy": plan["accuracy"]}
        n_shares = min(effective_n_jobs(None), plan["n_problems"])
        bounds = np.linspace(0, plan["n_problems"], n_shares + 1).astype(int).tolist()
        X, how = stack(self._chunks), (self._run.n_threads, self._run.budget or None)
        ranges = [{"first_problem": begin, "n_problems": end - begin} for begin, end in itertools.pairwise(bounds)]
        shares = Parallel()(
            delayed(_solve)(X, labels, n_classes, scales, options | share, n_components, agreement, how)
            for share in ranges
        )
        return plan, [_joined(of_scale, n_classes, options["multiclass"]) for of_scale in zip(*shares, strict=True)]


class SumsStage(Stage):
    """Sums over groups of the rows of a stream, from one pass, which serve any comparison of these groups.

    `groups` are the groups, from 0, of the rows that are read; labels of a fit are those of the groups, and -1 leaves
    one out. `rows` and `columns` are as for `Passes`, and `check` as its `see`.
    """

    algorithm, n_passes = "sums", 1

    def __init__(
        self,
        X: Any,
        groups: Integers,
        n_groups: int,
        options: ManiFeStOptions,
        run: Run,
        *,
        n_components: Any = 0,
        combine: Any = None,
        rows: Integers | None = None,
        columns: Integers | None = None,
        check: Callable[[Any], Any] | None = None,
    ) -> None:
        if isinstance(combine, str) or hasattr(combine, "fit"):
            raise ValueError(
                "combine must be an array of scores if X is read in blocks, which are gone after the pass: compute "
                f"those of {combine!r} before"
            )
        self._run, self._n_groups, self._options = run, n_groups, options
        self._n_components = as_int("n_components", n_components)
        self._core: Any = None
        passes = Passes(X, run, "ManiFeSt", rows=rows, columns=columns, see=check, block_bytes=LARGE_BLOCK_BYTES)
        width = passes.source.shape[1] if columns is None else len(columns)
        if width is not None:
            self._start(width)
        if is_dask(X):
            self._core = self._of_dask(X, groups, rows, columns)
            return

        def update(first: int, block: Any, own: Run) -> None:
            if self._core is None:
                self._start(block.shape[1])
            n = first + block.shape[0]
            if n > len(groups):
                raise ValueError(f"X and y must have the same rows, but y has {len(groups)} and X has more")
            self._core.update(_by_rows(block), groups[first:n], own)

        n = passes.run(update)
        if n != len(groups):
            raise ValueError(f"X and y must have the same rows, but have {n} and {len(groups)}")

    def _start(self, width: int) -> None:
        """Make the sums; blocks take a quarter of the budget."""
        self.n_features = width
        run = copy.copy(self._run)
        run.budget = run.available() * 3 // 4
        # Scales that are given are of the classes that will be compared, which may be fewer than the groups.
        by_rule = isinstance(self._options.sigma, str)
        n_scales = len(self._options.scales((self._n_groups,))[0]) if by_rule else 1
        given = self._options.core()
        plan = core().ManifestSums.plan
        self._plan = plan(width, self._n_groups, self._n_groups, n_scales, given, self._n_components, run)
        self._how = given | {"accuracy": self._plan["accuracy"]}
        self._core = core().ManifestSums(width, self._n_groups, self._how, run)

    def _of_dask(self, X: Any, groups: Integers, rows: Integers | None, columns: Integers | None) -> Any:
        """Each worker sums its row blocks; the sums, not the rows, travel and are merged pairwise."""
        from dask.delayed import delayed

        part, merge = delayed(_sums_of_block, pure=False), delayed(_merged, pure=False)
        how = (self.n_features, self._n_groups, self._how)
        parts = [
            part(first, block, which, groups[places], columns, how, self._run.budget)
            for first, block, which, places in Source.of(X).delayed(rows)
        ]
        return merge_pairwise(parts, merge)

    @property
    def means(self) -> Floats:
        """Means of the features in each group."""
        found: Floats = self._core.means
        return found

    def other_scores(self, combine: Any, y: Array) -> Floats:
        return other_scores(combine, [np.empty((0, self.n_features))], y)

    def _wants_workers(self, options: ManiFeStOptions) -> bool:
        return False

    def _solve(self, *request: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        labels, n_classes, scales, options, *others = request
        options = options | {"accuracy": self._how["accuracy"]}
        plan, results = self._core.fit(labels, n_classes, scales, options, *others, self._run)
        return plan | {"reason": self._plan["reason"], "exact_bytes": self._plan["exact_bytes"]}, results


def _by_rows(block: Any) -> Any:
    return block.tocsr() if hasattr(block, "tocsr") else block


def _sums_of_block(
    first: int,
    X: Any,
    rows: range | Integers,
    groups: Integers,
    columns: Integers | None,
    how: tuple[int, int, dict[str, Any]],
    budget: int,
) -> Any:
    run = Run(1, budget or None)  # a block is a task of its own: one thread each
    sums = core().ManifestSums(*how, run)
    if len(rows):
        with in_rows(first + np.asarray(rows)):
            sums.update(_by_rows(as_matrix(chosen(X, rows, columns), run)), for_core(groups), run)
    return sums


def _merged(a: Any, b: Any) -> Any:
    sums = copy.deepcopy(a)  # Dask may hand the same object to another task
    sums.merge(b)
    return sums


def _solve(
    X: Any,
    labels: Integers,
    n_classes: int,
    scales: list[Scale],
    options: dict[str, Any],
    n_components: int,
    agreement: bool,
    how: tuple[int, int | None],
) -> list[dict[str, Any]]:
    """Solve a share of the comparisons."""
    run = Run(*how)
    # Arrays that Dask has sent aren't aligned.
    stage = Stage([as_matrix(X, run)], run)
    aligned = [scale | ({"sigma": for_core(scale["sigma"])} if "sigma" in scale else {}) for scale in scales]
    results: list[dict[str, Any]] = stage._core.fit(
        for_core(labels), n_classes, aligned, options, n_components, agreement, run
    )[1]
    return results


def _joined(shares: Sequence[dict[str, Any]], n_classes: int, multiclass: str) -> dict[str, Any]:
    """Write the shares of one scale into one result; kernels that a share doesn't have are 0 there."""
    joined = {name: np.concatenate([share[name] for share in shares]) for name in shares[0] if name != "scores"}
    for name in ("sigma", "kept_trace", "kernel_warnings"):
        joined[name] = np.maximum.reduce([share[name] for share in shares])
    joined["scores"], joined["class_scores"] = core().manifest_mean_scores(
        joined.pop("problem_scores"), n_classes, multiclass
    )
    return joined


def _reason(plan: dict[str, Any], n_features: int, options: ManiFeStOptions) -> str:
    relation = "no more" if plan["accuracy"] == "exact" else "more"
    return {
        "asked": "as asked for",
        "size": f"{n_features} features are {relation} than {EXACT_AT_MOST}",
        "memory": f"the exact form would need {plan['exact_bytes'] / 1e9:.1f} GB, more than the memory budget",
        "rank": _too_large(options.rank, n_features),
        "form": f"form='{options.form}' exists as an exact one only",
    }[plan["reason"]]


def _too_large(rank: int, n_features: int) -> str:
    return f"rank {rank} saves nothing with {n_features} features"


def _messages(fitted: dict[str, Any], names: list[str], n_features: int, accuracy: str) -> list[str]:
    """Return what a fit's scores say less than they seem to; `names` are those of the kernels."""
    from fastfs import _core

    def named(bit: int) -> str:
        return some_of([name for name, flags in zip(names, fitted["kernel_warnings"], strict=True) if flags & bit])

    messages = []
    disagreeing = (fitted["problem_warnings"] & _core.MANIFEST_WARN_AGREEMENT) > 0
    if disagreeing.any():
        poor = fitted["agreement"][disagreeing]
        messages.append(
            "the scores by domains may rank features otherwise than the exact ones: their rank correlation is "
            f"estimated as {poor.min():.2f}; raise rank or choose accuracy='exact'"
            if accuracy == "domains"
            else "the low-rank scores rank features otherwise than the exact ones: on some drawn at random the rank "
            f"correlation is {poor.min():.2f}, and on all of them it is much lower as a rule; choose "
            "accuracy='domains' or 'exact', or raise rank"
        )
    if found := named(_core.MANIFEST_WARN_ONE_SAMPLE):
        messages.append(f"one sample only in {found}: its distances between features are differences of single values")
    if found := named(_core.MANIFEST_WARN_SIGMA):
        messages.append(
            f"so many features are equal in {found} that the distance its sigma is taken from is 0: sigma comes from "
            "the positive distances instead"
        )
    if found := named(_core.MANIFEST_WARN_TRACE):
        messages.append(
            f"the low-rank kernel keeps less than half of the trace in {found}: sigma is too small for this accuracy, "
            "so raise sigma or rank, or choose accuracy='exact'"
        )
    if found := named(_core.MANIFEST_WARN_DIGITS):
        messages.append(
            f"some features are so close to each other, beside their size, in {found} that sums over rows leave hardly "
            "a digit of their distance: subtract a typical value from each feature, or give X in memory"
        )
    if (fitted["problem_warnings"] & _core.MANIFEST_WARN_ANGLE).any():
        messages.append(
            "some direction of one class's kernel is orthogonal to all of another's, so that form='spsd' depends on "
            "signs that are arbitrary: its scores change with the order of the features; choose form='pencil'"
        )
    flat = int(np.count_nonzero(fitted["problem_warnings"] & _core.MANIFEST_WARN_NO_CONTRAST))
    if flat:
        n_problems = len(fitted["problem_warnings"])
        reason = (
            "with 2 features and sigma relative to their distance the kernels always agree; give sigma as numbers"
            if n_features == 2
            else "either the classes don't differ, or sigma is so small or so large that the kernels hardly do"
        )
        where = "the scores" if n_problems == 1 else f"the scores of {flat} of the {n_problems} comparisons"
        messages.append(f"{where} are zero up to rounding: {reason}")
    return messages


def _sensitivity(
    scales: list[Scale], results: list[dict[str, Any]], kernels: tuple[int, ...], top: int
) -> tuple[dict[str, Any], list[str]]:
    """Return how the scores move along the scales, in ascending order for each normalisation, and a warning if much."""
    from scipy.stats import spearmanr

    order = sorted(range(len(scales)), key=lambda i: (scales[i]["normalize"], np.log(results[i]["sigma"]).mean()))
    scores = np.array([results[i]["scores"] for i in order])
    best = [set(np.flatnonzero(rank_features(row) <= top)) for row in scores]
    n = len(order)
    spearman, overlap = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(n - 1):
        if scales[order[i]]["normalize"] == scales[order[i + 1]]["normalize"]:
            if np.ptp(scores[i]) > 0 and np.ptp(scores[i + 1]) > 0:
                spearman[i] = spearmanr(scores[i], scores[i + 1]).statistic
            overlap[i] = len(best[i] & best[i + 1]) / top
    median = np.median(scores, axis=1)
    contrast = np.divide(scores.max(axis=1), median, out=np.full(n, np.inf), where=median > 0)
    names = [_scale_name(scales[i]) for i in order]
    found = {
        "scale": names,
        "normalize": np.array([scales[i]["normalize"] for i in order]),
        "sigma": np.array([results[i]["sigma"].reshape(kernels) for i in order]),
        "scores": scores,
        "spearman_next": spearman,
        "overlap_next": overlap,
        "contrast": contrast,
    }
    if not (overlap < 0.5).any():
        return found, []
    worst = int(np.nanargmin(overlap))
    return found, [
        f"the ranking depends on sigma: of the best {top} features, {names[worst]} and {names[worst + 1]} share "
        f"{overlap[worst]:.0%} (sensitivity_ has all); choose sigma by cross-validation, or by what you know"
    ]


def _scale_name(scale: Scale) -> str:
    name = f"{scale['rule']} {'x ' if scale['rule'] == 'median' else ''}{scale['value']:g}"
    return f"{name}, normalized {scale['normalize']} times" if scale["normalize"] else name


def other_scores(combine: Any, chunks: Sequence[Any], y: Array) -> Floats:
    """Return the scores to blend with: those of the F test, of an estimator fitted to X and y, or given ones."""
    n_features = chunks[0].shape[1]
    if isinstance(combine, str):
        choose("combine", combine, ("f",), "an array of scores", "an estimator with scores_", "None")
        from sklearn.feature_selection import f_classif

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant features, whose score is 0 below
            found = f_classif(stack(chunks), y)[0]
    elif hasattr(combine, "fit") and not isinstance(combine, type):
        from sklearn.base import clone

        fitted = clone(combine).fit(stack(chunks), y)
        if not hasattr(fitted, "scores_"):
            raise TypeError(f"combine must be an estimator that has scores_ once fitted, but {combine!r} hasn't")
        found = fitted.scores_
    else:
        try:
            found = np.asarray(combine, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"combine must be 'f', an array of scores, an estimator with scores_ or None, not {combine!r}"
            ) from None
        if not np.isfinite(found).all():
            raise ValueError("the scores given as combine contain NaN or infinity")
    found = np.asarray(found, dtype=float)
    if found.shape != (n_features,):
        raise ValueError(
            f"combine must give one score for each of the {n_features} features, but has the shape {found.shape}"
        )
    finite = np.isfinite(found)
    largest = found[finite].max(initial=0.0) or 1.0
    # A constant feature has no F statistic, and one that separates the classes perfectly an infinite one.
    filled: Floats = np.where(finite, found, np.where(found > 0, largest, found[finite].min(initial=0)))
    return filled


def blend(scores: Floats, others: Floats) -> Floats:
    """Add both, each moved and scaled to [0, 1]; all equal ones become 0."""

    def unit(values: Floats) -> Floats:
        low, span = values.min(), np.ptp(values)
        return (values - low) / span if span > 0 else np.zeros_like(values)

    return unit(scores) + unit(others)
