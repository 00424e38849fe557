"""ManiFeSt: features with relations to the other features that differ between classes.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ManiFeSt`.
"""

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fastfs._functions.blend import blend_scores, scores_to_blend
from fastfs._functions.options import Needs, Options, RandomCall, option_class, option_field, takes
from fastfs._functions.outcome import Outcome
from fastfs._inputs.entry import entry
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_matrix, as_numbers
from fastfs._inputs.source import Source, choose_part
from fastfs._inputs.storage import by_rows, stack_blocks
from fastfs._inputs.streams import LARGE_BLOCK_BYTES, Passes, as_chunks, classes_in_blocks, merge_pairwise
from fastfs._inputs.values import for_core
from fastfs._machine.errors import in_rows, last_warnings, naming, rename
from fastfs._machine.params import (
    RANDOM_STATE,
    as_float,
    as_int,
    as_seed,
    check_choice,
    named_kernel,
    one_of,
    rank_features,
    some_of,
)
from fastfs._machine.run import Run, inside_joblib, load_core, wants_workers, warn
from fastfs._types import Array, Floats, Integers, Progress

# Scales of `sigma="grid"`, each without and with three symmetric normalisations (guide of the paper's experiments).
GRID = [("median", factor) for factor in (0.1, 0.2, 0.5, 1.0)] + [
    ("percentile", q) for q in (5.0, 10.0, 30.0, 50.0, 70.0, 90.0, 95.0)
]
GRID_NORMALIZE = (0, 3)

# One scale of the kernels under the core's names: rule, value, normalize, and sigma if numbers were given.
Scale = dict[str, Any]

# Largest number of features for which accuracy="auto" is exact, if the memory suffices. The core has the same number.
EXACT_AT_MOST = 1500


def _unchecked(name: str, value: Any) -> Any:
    return value


def _as_sigma(name: str, sigma: Any) -> Any:
    if isinstance(sigma, str):
        check_choice(name, sigma, ("median", "percentile", "grid"), "numbers, one for each kernel")
    return sigma


@option_class
class ManiFeStFields:
    """Options of ManiFeSt, as the estimator and the function take them."""

    kernel: Any = option_field(named_kernel("rbf"), key="custom", default="rbf")
    sigma: Any = option_field(_as_sigma, default="median")
    # sigma_factor and sigma_percentile are checked in `chosen_scale`, and only if the rule of sigma uses them.
    sigma_factor: float = option_field(_unchecked, needs=Needs("sigma", ("median", "grid")), default=0.5)
    sigma_percentile: float = option_field(_unchecked, needs=Needs("sigma", ("percentile",)), default=50.0)
    normalize: int = option_field(as_int, default=0)
    form: str = option_field(one_of("pencil", "spd", "spsd"), default="pencil")
    accuracy: str = option_field(
        one_of("auto", "exact", "domains", "small_domains", "low_rank", "low_rank_high"), default="auto"
    )
    rank: int = option_field(
        lambda name, value: as_int(name, value, low=1, high=(1 << 63) - 1),
        needs=Needs("accuracy", ("auto", "domains", "small_domains", "low_rank", "low_rank_high")),
        default=50,
    )
    multiclass: str = option_field(one_of("ovr", "ovo", "raise"), default="ovr")
    random_state: Any = option_field(lambda name, value: as_seed(value), key="seed", default=0)


@dataclass(kw_only=True)
class ManiFeStOptions(ManiFeStFields, Options):
    """Options of ManiFeSt; the core takes those of the scale apart, as scales."""

    def core_options(self) -> dict[str, Any]:
        """Return the options of a fit under the core's names, without the options of the scale."""
        scale = ("sigma", "sigma_factor", "sigma_percentile", "normalize")
        core_options = {name: value for name, value in super().core_options().items() if name not in scale}
        return core_options | {"multiclass": "ovr" if self.multiclass == "raise" else self.multiclass}

    def chosen_scale(self, kernels: tuple[int, ...]) -> Scale:
        """Return the scale that the scores come from; `kernels` is the shape of the array of kernels.

        A `sigma` that isn't a word must have this shape (ValueError); any word but "percentile" means the
        median.
        """
        if isinstance(self.sigma, str):
            if self.sigma == "percentile":
                return self._make_scale("percentile", as_float("sigma_percentile", self.sigma_percentile))
            return self._make_scale("median", as_float("sigma_factor", self.sigma_factor))
        try:
            sigmas = np.asarray(self.sigma, dtype=float)
        except (TypeError, ValueError):
            sigmas = np.empty(())
        if sigmas.shape != kernels:
            expected = f"{kernels[0]} numbers, one for each class"
            if len(kernels) == 2:
                expected = f"an array of {kernels[0]} x 2 numbers, for each class and the rest of it"
            raise ValueError(f"sigma must be 'median', 'percentile', 'grid' or {expected}; got {self.sigma!r}")
        return self._make_scale("given", 0.0) | {"sigma": for_core(sigmas.ravel())}

    def _make_scale(self, rule: str, value: float) -> Scale:
        """Return a scale under the core's names."""
        return {"rule": rule, "value": value, "normalize": self.normalize}

    def scales_to_fit(self, kernels: tuple[int, ...]) -> list[Scale]:
        """Return all scales to fit, first the one that the scores come from."""
        scale_of_scores = self.chosen_scale(kernels)
        if not (isinstance(self.sigma, str) and self.sigma == "grid"):
            return [scale_of_scores]
        grid = [{"rule": rule, "value": value, "normalize": times} for times in GRID_NORMALIZE for rule, value in GRID]
        return [scale_of_scores, *(scale for scale in grid if scale != scale_of_scores)]


@option_class
class _ScoresCall(ManiFeStFields, RandomCall):
    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    combine: Any = None


@takes(_ScoresCall)
def manifest_scores(call: _ScoresCall) -> Floats:
    """Score how differently each feature associates with the others in two or more classes.

    The function behind :class:`fastfs.ManiFeSt`, which describes the parameters.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features), or a stream of its rows
    y : array-like of shape (n_samples,)
        Labels, of any sortable type.
    other parameters
        As for :class:`fastfs.ManiFeSt`, except ``sigma="grid"``, since its results don't fit into an array of scores.
    <rng>
    <machine>

    Returns
    -------
    ndarray of shape (n_features,), float64
        Not negative; larger is better.

    Raises
    ------
    ValueError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.ManiFeSt`.

    <exclusive_or>
    >>> scores = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    >>> np.argsort(-scores)[:2].tolist()
    [0, 1]
    """
    options, run = ManiFeStOptions.from_arguments(call), call.make_run()
    y, combine = call.y, call.combine

    def read_whole(X: Any) -> tuple[list[Any], Array, Integers]:
        chunks = as_chunks(X, run, y)
        return chunks, *encode_labels(y, sum(chunk.shape[0] for chunk in chunks), chunks[0].shape[1])

    if isinstance(call.sigma, str) and call.sigma == "grid":
        raise ValueError(
            "sigma must not be 'grid', which compares scales and returns more than scores: use the estimator ManiFeSt"
        )
    stage, classes, labels = prepare_stage(call.X, y, options, run, read_whole, combine=combine)
    others = None if combine is None else stage.scores_to_blend(combine, classes[labels])
    scores: Floats = stage.fit_scales(labels, classes, options).warn_and_return()["scores"]
    return scores if others is None else blend_scores(scores, others)


@entry
def manifest_from_kernels(
    K1: npt.ArrayLike,
    K2: npt.ArrayLike,
    *,
    accuracy: str = "auto",
    rank: int = 50,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Score features by two precomputed kernels between features, one of each class.

    Parameters
    ----------
    K1, K2 : array-like of shape (n_features, n_features)
        Symmetric and positive semidefinite, with positive values on the diagonal.
    accuracy : {"auto", "exact", "domains", "small_domains"}, default "auto"
        As for :class:`fastfs.ManiFeSt`: "auto" is exact up to 1500 features.
    rank, random_state, max_memory
        As for :class:`fastfs.ManiFeSt`; for domains only.
    <rng>
    <machine>

    Returns
    -------
    ndarray of shape (n_features,), float64
        Scores as from :func:`fastfs.manifest_scores` with two classes.

    Raises
    ------
    ValueError
        K1 and K2 aren't square matrices of one size, at least 2 x 2; one contains NaN or infinity, isn't symmetric
        within 1e-8 of its largest value, or has no positive value on its diagonal.
    numpy.linalg.LinAlgError
        One isn't positive semidefinite: it has an eigenvalue below -1e-8 of its trace. By domains each of them is
        checked, which doesn't find every such kernel.
    MemoryError
        The fit would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        The kernels agree up to rounding, or scores by domains may rank features otherwise than the exact ones.

    Notes
    -----
    The exact form takes O(n_features^3) time and 32 n_features^2 bytes; domains take O(n_features^2) time and
    8 n_features^2 bytes, besides the kernels.

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
    kernels = [as_numbers(K, name) for K, name in ((K1, "K1"), (K2, "K2"))]
    shapes = [K.shape for K in kernels]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(f"K1 and K2 must be square matrices of one size; got {shapes[0]} and {shapes[1]}")
    if len(kernels[0]) < 2:
        raise ValueError(f"K1 and K2 must have at least two features; got {len(kernels[0])}")
    options = {
        "accuracy": one_of("auto", "exact", "domains", "small_domains")("accuracy", accuracy),
        "rank": as_int("rank", rank, low=1, high=(1 << 63) - 1),
        "seed": as_seed(random_state),
    }
    core = load_core()
    fitted = core.manifest_kernels(*kernels, options, Run(n_threads, max_memory, progress))
    warn(last_warnings())
    scores: Floats = fitted["scores"]
    return scores


def prepare_stage(
    X: Any,
    y: Any,
    options: ManiFeStOptions,
    run: Run,
    read_whole: Callable[[Any], tuple[list[Any], Array, Integers]],
    *,
    n_components: Any = 0,
    combine: Any = None,
    check: Callable[[Any], Any] | None = None,
) -> tuple["ManiFeStStage", Array, Integers]:
    """Return the label-free stage of X, the classes, and the labels of its rows, or of the groups of rows that it sums.

    A stream that takes more than a quarter of the budget is summed by class in one pass. `read_whole` returns the
    chunks of any other X, the classes and the labels. `check` gets the first block of a stream, like `see` of `Passes`.
    """
    X, of_rows = classes_in_blocks(X, y, run)
    if of_rows is not None:
        classes, groups = of_rows
        require_comparable(classes, options)
        more = {"n_components": n_components, "combine": combine}
        return SumsStage(X, groups, len(classes), options, run, check=check, **more), classes, np.arange(len(classes))
    chunks, classes, labels = read_whole(X)
    return ManiFeStStage(chunks, run), classes, labels


def require_comparable(classes: Array, options: ManiFeStOptions) -> None:
    """Raise ValueError unless y has two classes, or more and a rule to compare them."""
    require_classes(classes)
    if len(classes) > 2 and options.multiclass == "raise":
        raise ValueError(
            f"y must have two classes; got {len(classes)} ({some_of(classes)}): choose multiclass='ovr' or 'ovo', "
            "or keep the samples of two classes"
        )


def _shape_of_kernels(n_classes: int, options: ManiFeStOptions) -> tuple[int, ...]:
    """Return (n_classes,), or (n_classes, 2) if each class is compared with all other classes together."""
    return (n_classes, 2) if n_classes > 2 and options.multiclass != "ovo" else (n_classes,)


class ManiFeStStage:
    """The label-free stage: all that fits of one X with different labels share.

    With `keep_distances` the distances over all rows are computed once. Each exact fit then computes only the distances
    of its smaller side. `chunks` come from `as_chunks`; the fits use `run` too.
    """

    algorithm, n_passes = "whole", 0

    def __init__(self, chunks: Sequence[Any], run: Run, *, keep_distances: bool = False) -> None:
        self._run, self._chunks, self._keeps_distances = run, chunks, keep_distances
        self.n_features = int(chunks[0].shape[1])
        self._core = load_core().Manifest(list(chunks), keep_distances, run)

    def with_run(self, run: Run) -> Self:
        """Return this stage for fits under another run."""
        other = copy.copy(self)
        other._run = run
        return other

    def n_bytes(self, classes: Array, options: ManiFeStOptions, n_fits: int) -> int:
        """Return the memory that each of `n_fits` fits takes."""
        require_comparable(classes, options)
        n_scales = len(options.scales_to_fit(_shape_of_kernels(len(classes), options)))
        core_options = options.core_options() | {"n_fits": n_fits}
        return int(self._core.plan(len(classes), n_scales, core_options, self._run)["bytes"])

    def fit_scales(
        self,
        labels: Integers,
        classes: Array,
        options: ManiFeStOptions,
        *,
        n_components: Any = 0,
        top: int | None = None,
        agreement: bool = True,
        n_fits: int = 0,
    ) -> Outcome[dict[str, Any]]:
        """Fit all scales, and return results of the chosen one; without `agreement`, skip the check of low-rank scores.

        `n_fits` says how many fits are compared: for many, ``accuracy="auto"`` takes small domains.
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
        scales = options.scales_to_fit(kernels)
        core_options = options.core_options() | {
            "n_components": as_int("n_components", n_components),
            "agreement": agreement,
            "n_fits": n_fits,
        }
        request = (labels, n_classes, scales, core_options)
        with naming({"kernel": names.__getitem__}):
            if n_classes > 2 and self._wants_workers(options):
                results, warnings = self._fit_on_workers(*request)
            else:
                results = self._solve_scales(*request)
                warnings = last_warnings()
        fitted: dict[str, Any] = results[0]
        for warning in warnings:
            rename(warning, {"kernel": names.__getitem__})
        unstable: list[str] = []
        if len(scales) > 1:
            best = min(50, max(1, self.n_features // 2)) if top is None else top
            fitted["sensitivity"], unstable = _compare_scales(scales, results, kernels, best)
            for name in [name for name, value in fitted.items() if isinstance(value, np.ndarray)]:
                fitted[name] = fitted[name].copy()  # a view would keep the arrays of all scales
        for name in ("sigma", "kept_trace"):
            fitted[name] = fitted[name].reshape(kernels)
        fitted["reason"] = _explain_accuracy(fitted, self.n_features, options, n_fits)
        return Outcome(fitted, [*warnings, *unstable])

    def scores_to_blend(self, combine: Any, y: Array) -> Floats:
        """Return the scores to blend with, as the function `scores_to_blend` does."""
        return scores_to_blend(combine, self._chunks, y)

    def _solve_scales(self, *request: Any) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self._core.fit(*request, self._run)
        return results

    def _wants_workers(self, options: ManiFeStOptions) -> bool:
        """Return True if joblib is configured to use workers, so that they share the comparisons of several classes.

        A custom kernel (a C function) stays in its process, and so do the distances that permutations share.
        """
        return not options.kernel and not self._keeps_distances and not inside_joblib() and wants_workers(None)

    def _fit_on_workers(
        self, labels: Integers, n_classes: int, scales: list[Scale], options: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], list[Warning]]:
        """Return the core's results and warnings, equal to the bit, from workers with a share of the comparisons each.

        Each worker warns of its share.
        """
        from joblib import Parallel, delayed, effective_n_jobs

        plan = self._core.plan(n_classes, len(scales), options, self._run)
        if plan["reason"] != "rank":  # which holds for each share
            options = options | {"accuracy": plan["accuracy"]}
        n_shares = min(effective_n_jobs(None), plan["n_problems"])
        bounds = np.linspace(0, plan["n_problems"], n_shares + 1).astype(int).tolist()
        X, how = stack_blocks(self._chunks), (self._run.n_threads, self._run.budget or None)
        ranges = [{"first_problem": begin, "n_problems": end - begin} for begin, end in itertools.pairwise(bounds)]
        shares, messages = zip(
            *Parallel()(delayed(_solve_share)(X, labels, n_classes, scales, options | share, how) for share in ranges),
            strict=True,
        )
        form = {name: plan[name] for name in ("accuracy", "reason", "exact_bytes")}
        joined = [
            form | _join_shares(of_scale, n_classes, options["multiclass"]) for of_scale in zip(*shares, strict=True)
        ]
        return joined, list({str(warning): warning for warning in itertools.chain(*messages)}.values())


class SumsStage(ManiFeStStage):
    """Sums over groups of the rows of a stream, read in one pass, which serve any comparison of these groups.

    `groups` holds the group (0-based) of each row that is read. A fit takes labels of the groups, and -1 leaves a group
    out. `rows` and `columns` are as for `Passes`, and `check` is its `see`.
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
        """Sum the rows of X by group, in one pass, on the workers of Dask if X is its array.

        Raise ValueError if X and `groups` have different numbers of rows, or `combine` must be fitted to X.
        """
        if isinstance(combine, str) or hasattr(combine, "fit"):
            raise ValueError(
                "combine must be an array of scores if X is read in blocks, since these are gone after the pass; got "
                f"{combine!r}: compute its scores before, and give them"
            )
        self._run, self._n_groups, self._options = run, n_groups, options
        self._n_components = as_int("n_components", n_components)
        self._core: Any = None
        passes = Passes(X, run, "ManiFeSt", rows=rows, columns=columns, see=check, block_bytes=LARGE_BLOCK_BYTES)
        width = passes.source.shape[1] if columns is None else len(columns)
        if width is not None:
            self._make_sums(width)
        if passes.source.dask is not None:
            self._core = self._sum_on_workers(passes.source, groups, rows, columns)
            return

        def add_block(first: int, block: Any, block_run: Run) -> None:
            if self._core is None:
                self._make_sums(block.shape[1])
            n = first + block.shape[0]
            if n > len(groups):
                raise ValueError(f"X and y must have the same rows; got {len(groups)} in y and more in X")
            self._core.update(by_rows(block), groups[first:n], block_run)

        n = passes.run_pass(add_block)
        if n != len(groups):
            raise ValueError(f"X and y must have the same rows; got {n} in X and {len(groups)} in y")

    def _make_sums(self, width: int) -> None:
        """Make empty sums of `width` features, and decide on their accuracy, in three quarters of the budget.

        Blocks of rows take the last quarter.
        """
        self.n_features = width
        run = copy.copy(self._run)
        run.budget = run.available() * 3 // 4
        # An array `sigma` has one number per class of the later comparison, which may have fewer classes than groups.
        by_rule = isinstance(self._options.sigma, str)
        n_scales = len(self._options.scales_to_fit((self._n_groups,))) if by_rule else 1
        core_options = self._options.core_options() | {"n_components": self._n_components}
        plan = load_core().ManifestStream.plan
        self._plan = plan(width, self._n_groups, self._n_groups, n_scales, core_options, run)
        self._how = core_options | {"accuracy": self._plan["accuracy"]}
        self._core = load_core().ManifestStream(width, self._n_groups, self._how, run)

    def _sum_on_workers(self, source: Source, groups: Integers, rows: Integers | None, columns: Integers | None) -> Any:
        """Return sums over the groups of rows of a Dask array, computed on its workers and merged pairwise."""
        from dask.delayed import delayed

        part, merge = delayed(_sum_block, pure=False), delayed(_merge_sums, pure=False)
        how = (self.n_features, self._n_groups, self._how)
        parts = [
            part(first, block, which, groups[places], columns, how, self._run.budget)
            for first, block, which, places in source.delayed_blocks(rows)
        ]
        return merge_pairwise(parts, merge)

    @property
    def means(self) -> Floats:
        """Means of the features in each group."""
        class_means: Floats = self._core.means
        return class_means

    def scores_to_blend(self, combine: Any, y: Array) -> Floats:
        return scores_to_blend(combine, [np.empty((0, self.n_features))], y)

    def _wants_workers(self, options: ManiFeStOptions) -> bool:
        return False

    def _solve_scales(self, *request: Any) -> list[dict[str, Any]]:
        labels, n_classes, scales, options = request
        if self._plan["reason"] != "rank":  # which the core finds again, and warns of
            options = options | {"accuracy": self._how["accuracy"]}
        results = self._core.finish(labels, n_classes, scales, options, self._run)
        form = {name: self._plan[name] for name in ("reason", "exact_bytes")}
        return [result | form for result in results]


def _sum_block(
    first: int,
    X: Any,
    rows: range | Integers,
    groups: Integers,
    columns: Integers | None,
    how: tuple[int, int, dict[str, Any]],
    budget: int,
) -> Any:
    """Return the sums over one block of a Dask array, computed on a worker."""
    run = Run(1, budget or None)  # Dask runs one task per block, so each takes one thread
    sums = load_core().ManifestStream(*how, run)
    if len(rows):
        with in_rows(first + np.asarray(rows)):
            sums.update(by_rows(as_matrix(choose_part(X, rows, columns), run)), for_core(groups), run)
    return sums


def _merge_sums(a: Any, b: Any) -> Any:
    sums = copy.copy(a)  # Dask may hand the same object to another task
    sums.merge(b)
    return sums


def _solve_share(
    X: Any,
    labels: Integers,
    n_classes: int,
    scales: list[Scale],
    options: dict[str, Any],
    how: tuple[int, int | None],
) -> tuple[list[dict[str, Any]], list[Warning]]:
    """Fit a range of the comparisons on a worker of joblib; return the results and the warnings."""
    run = Run(*how)
    # Arrays that Dask has sent aren't aligned.
    stage = ManiFeStStage([as_matrix(X, run)], run)
    aligned = [scale | ({"sigma": for_core(scale["sigma"])} if "sigma" in scale else {}) for scale in scales]
    results: list[dict[str, Any]] = stage._core.fit(for_core(labels), n_classes, aligned, options, run)
    return results, last_warnings()


def _join_shares(shares: Sequence[dict[str, Any]], n_classes: int, multiclass: str) -> dict[str, Any]:
    """Join the shares of the comparisons for one scale, and average the scores of the comparisons.

    A kernel that a share didn't compute is 0 in that share.
    """
    of_problems = [name for name, value in shares[0].items() if isinstance(value, np.ndarray) and name != "scores"]
    joined = {name: np.concatenate([share[name] for share in shares]) for name in of_problems}
    for name in ("sigma", "kept_trace"):
        joined[name] = np.maximum.reduce([share[name] for share in shares])
    joined["scores"], joined["class_scores"] = load_core().manifest_mean_scores(
        joined.pop("problem_scores"), n_classes, multiclass
    )
    return joined


def _explain_accuracy(form: dict[str, Any], n_features: int, options: ManiFeStOptions, n_fits: int) -> str:
    """Say in words why the core chose its accuracy."""
    relation = "no more" if form["accuracy"] == "exact" else "more"
    return {
        "asked": "as asked for",
        "size": f"{n_features} features are {relation} than {EXACT_AT_MOST}",
        "memory": f"the exact form would need {form['exact_bytes'] / 1e9:.1f} GB, more than the memory budget",
        "rank": f"rank {options.rank} saves nothing with {n_features} features",
        "form": f"form='{options.form}' exists as an exact one only",
        "work": f"{n_fits} fits in the usual form would take minutes",
    }[form["reason"]]


def _compare_scales(
    scales: list[Scale], results: list[dict[str, Any]], kernels: tuple[int, ...], top: int
) -> tuple[dict[str, Any], list[str]]:
    """Compare scores of neighbouring scales, in ascending order; return a table, and a warning if rankings differ.

    Scales of different `normalize` aren't compared (NaN). Rankings differ if two share less than half of their `top`
    features.
    """
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
    table = {
        "scale": names,
        "normalize": np.array([scales[i]["normalize"] for i in order]),
        "sigma": np.array([results[i]["sigma"].reshape(kernels) for i in order]),
        "scores": scores,
        "spearman_next": spearman,
        "overlap_next": overlap,
        "contrast": contrast,
    }
    if not (overlap < 0.5).any():
        return table, []
    worst = int(np.nanargmin(overlap))
    return table, [
        f"the ranking depends on sigma: of the best {top} features, {names[worst]} and {names[worst + 1]} share "
        f"{overlap[worst]:.0%} (sensitivity_ has all); choose sigma by cross-validation, or by what you know"
    ]


def _scale_name(scale: Scale) -> str:
    """Return a scale in words, such as "median x 0.5"."""
    name = f"{scale['rule']} {'x ' if scale['rule'] == 'median' else ''}{scale['value']:g}"
    return f"{name}, normalized {scale['normalize']} times" if scale["normalize"] else name
