"""ManiFeSt: features whose relations to the other features differ between classes.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ManiFeSt`.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.checks import as_float, as_int, as_seed, choose, kernel_address, rank_features, some_of
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_matrix, stack
from fastfs._inputs.streams import as_chunks
from fastfs._machine.run import as_threads, check_progress, core, inside_joblib, parse_memory, warn
from fastfs._types import Array, Progress

# What `sigma="grid"` tries, each without and with three symmetric normalisations (guide of the paper's experiments).
GRID = [("median", factor) for factor in (0.1, 0.2, 0.5, 1.0)] + [
    ("percentile", q) for q in (5.0, 10.0, 30.0, 50.0, 70.0, 90.0, 95.0)
]
GRID_NORMALIZE = (0, 3)

# A scale as the core takes it: rule, value, given sigmas, normalisations.
Scale = tuple[str, float, list[float] | None, int]


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
) -> npt.NDArray[np.float64]:
    """Score how differently each feature associates with the others in two or more classes.

    The function behind :class:`fastfs.ManiFeSt`, which describes the parameters.

    Parameters
    ----------
    X : array-like, sparse, or iterator of row chunks, of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, of any sortable type.
    kernel, sigma, sigma_factor, sigma_percentile, normalize, form, accuracy, rank, multiclass, combine, random_state
        As for :class:`fastfs.ManiFeSt`, but for ``sigma="grid"``, whose findings have no place in an array of scores.
    n_threads : int
        0: all cores that this process may use.
    max_memory : int, str or None
        As for :class:`fastfs.ManiFeSt`.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

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
    chunks, budget = as_chunks(X, parse_memory(max_memory), y)
    n_samples, n_features = sum(chunk.shape[0] for chunk in chunks), chunks[0].shape[1]
    classes, codes = encode_labels(y, n_samples, n_features)
    if isinstance(sigma, str) and sigma == "grid":
        raise ValueError("sigma='grid' compares scales, which scores alone can't show: use the estimator ManiFeSt")
    stage = Stage(chunks, n_threads=n_threads, budget=budget, progress=progress)
    others = None if combine is None else other_scores(combine, chunks, classes[codes])
    fitted = stage.fit(
        codes,
        classes,
        kernel=kernel,
        sigma=sigma,
        sigma_factor=sigma_factor,
        sigma_percentile=sigma_percentile,
        normalize=normalize,
        form=form,
        accuracy=accuracy,
        rank=rank,
        multiclass=multiclass,
        random_state=random_state,
    )
    scores: npt.NDArray[np.float64] = fitted["scores"]
    return scores if others is None else blend(scores, others)


# accuracy="auto" is exact for up to so many features (the core's number), if they fit the memory.
EXACT_AT_MOST = 5000


class Stage:
    """The label-free stage: what fits of the same X with different labels have in common.

    Parameters
    ----------
    chunks : list
        As of `as_chunks`.
    keep_distances : bool
        Compute the distances over all rows once, so that each exact fit has only those of the smaller side left to do.
    """

    def __init__(
        self,
        chunks: Sequence[Any],
        *,
        keep_distances: bool = False,
        n_threads: int = 0,
        budget: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._run = {"n_threads": as_threads(n_threads), "max_memory": budget, "progress": check_progress(progress)}
        self._chunks, self._keeps_distances = chunks, keep_distances
        self._n_features = int(chunks[0].shape[1])
        self._core = core().Manifest(list(chunks), keep_distances, **self._run)

    def fit(
        self,
        codes: npt.NDArray[np.int64],
        classes: Array,
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
        n_components: int = 0,
        random_state: Any = 0,
        top: int | None = None,
    ) -> dict[str, Any]:
        """Check the parameters, call the core, issue its warnings.

        Returns the core's arrays for the chosen scale, `accuracy` and its `reason` in words, and with ``sigma="grid"``
        the `sensitivity` of the `top` features. Kernels have the shape (n_classes,), or (n_classes, 2) for each class
        and the rest of it.
        """
        choose("multiclass", multiclass, ("ovr", "ovo", "raise"))
        n_classes = len(classes)
        require_classes(classes)
        if n_classes > 2 and multiclass == "raise":
            raise ValueError(
                f"y must have two classes, but has {n_classes} ({some_of(classes)}): choose multiclass='ovr' or 'ovo', "
                "or keep the samples of two classes"
            )
        kernels = (n_classes,) if n_classes == 2 or multiclass == "ovo" else (n_classes, 2)
        scale = _scale(sigma, sigma_factor, sigma_percentile, normalize, kernels)
        scales = [scale]
        if isinstance(sigma, str) and sigma == "grid":
            grid: list[Scale] = [(rule, value, None, times) for times in GRID_NORMALIZE for rule, value in GRID]
            scales = grid if scale in grid else [*grid, scale]
        options: dict[str, Any] = {
            "form": choose("form", form, ("pencil", "spd", "spsd")),
            "accuracy": choose("accuracy", accuracy, ("auto", "exact", "fast", "high")),
            "rank": as_int("rank", rank, low=1, high=(1 << 63) - 1),
            "multiclass": "ovr" if multiclass == "raise" else multiclass,
            "n_components": as_int("n_components", n_components),
        }
        budget = {name: self._run[name] for name in ("n_threads", "max_memory")}
        plan = self._core.plan(n_classes, len(scales), **options, **budget)
        options |= {"seed": as_seed(random_state), "kernel": _address(kernel)}
        try:
            if n_classes > 2 and self._wants_workers(kernel):
                results = self._fit_on_workers(codes, n_classes, scales, options | {"accuracy": plan["accuracy"]})
            else:
                results = self._core.fit(codes, n_classes, scales, **options, **self._run)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise ValueError(_with_class_names(str(error), classes)) from None
        fitted: dict[str, Any] = results[scales.index(scale)]
        messages = _warnings(fitted, classes, kernels, self._n_features)
        if plan["reason"] == "rank":
            messages.append(
                f"rank {rank} is more than a quarter of the {self._n_features} features: the exact form was used"
            )
        if len(scales) > 1:
            best = min(50, max(1, self._n_features // 2)) if top is None else top
            fitted["sensitivity"], unstable = _sensitivity(scales, results, kernels, best)
            messages += unstable
        warn(messages)
        for name in ("sigma", "kept_trace"):
            fitted[name] = fitted[name].reshape(kernels)
        fitted["accuracy"] = plan["accuracy"]
        fitted["reason"] = _reason(plan, self._n_features, form, rank)
        return fitted

    def _wants_workers(self, kernel: Any) -> bool:
        """Whether the comparisons of several classes go through joblib: if its configuration asks for workers.

        A C function stays in its process, and so do the distances that permutations share.
        """
        from fastfs._inference.permutation import wants_workers

        return isinstance(kernel, str) and not self._keeps_distances and not inside_joblib() and wants_workers(None)

    def _fit_on_workers(
        self, codes: npt.NDArray[np.int64], n_classes: int, scales: list[Scale], options: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """What the core's fit returns, to the bit, from workers that each take a share of the comparisons."""
        from joblib import Parallel, delayed, effective_n_jobs

        pairs = options["multiclass"] == "ovo"
        problems: list[tuple[int, ...]] = (
            list(itertools.combinations(range(n_classes), 2)) if pairs else [(c,) for c in range(n_classes)]
        )
        n_shares = min(effective_n_jobs(None), len(problems))
        bounds = np.linspace(0, len(problems), n_shares + 1).astype(int)
        X, run = stack(self._chunks), (self._run["n_threads"], self._run["max_memory"])
        shares = Parallel()(
            delayed(_solve)(X, codes, problems[begin:end], scales, options, *run)
            for begin, end in itertools.pairwise(bounds)
        )
        found = [by_scale for share in shares for by_scale in share]
        return [_merge(problems, n_classes, [by_scale[s] for by_scale in found]) for s in range(len(scales))]


def _solve(
    X: Any,
    codes: npt.NDArray[np.int64],
    problems: Sequence[tuple[int, ...]],
    scales: Sequence[Scale],
    options: dict[str, Any],
    n_threads: int,
    budget: int,
) -> list[list[dict[str, Any]]]:
    """Each comparison as a fit of two classes: (a, b) by the rows of both, (c,) of a class and all the others.

    The latter share the distances over all rows, as they do within the core.
    """
    X, budget = as_matrix(X, budget)  # what Dask sends needn't be aligned
    shared: dict[str, Any] = {"n_threads": n_threads, "budget": budget}
    stage = Stage([X], keep_distances=options["accuracy"] == "exact", **shared) if len(problems[0]) == 1 else None
    found = []
    for problem in problems:
        rows = np.flatnonzero(np.isin(codes, problem)) if stage is None else slice(None)
        one = Stage([X[rows]], **shared) if stage is None else stage
        sides = _sides(problem)
        own = [(rule, value, sigma and [sigma[k] for k in sides], times) for rule, value, sigma, times in scales]
        labels = (codes[rows] != problem[0]).astype(np.int64)
        try:
            found.append(one._core.fit(labels, 2, own, **options, **one._run))
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            names = {f"class {k}": f"class {c}" for k, c in enumerate(problem)}
            if stage is not None:
                names["class 1"] = f"all classes but {problem[0]}"
            raise ValueError(re.sub(r"\bclass [01]\b", lambda m: names[m[0]], str(error))) from None  # noqa: B023
    return found


def _sides(problem: tuple[int, ...]) -> tuple[int, int]:
    """The numbers of its kernels among all."""
    return (problem[0], problem[1]) if len(problem) == 2 else (2 * problem[0], 2 * problem[0] + 1)


def _merge(problems: Sequence[tuple[int, ...]], n_classes: int, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result of all comparisons at one scale, in the core's order of adding."""
    n_features = len(found[0]["scores"])
    by_kernel = ("sigma", "kept_trace", "kernel_warnings")
    merged = {
        name: np.concatenate([one[name] for one in found])
        for name in found[0]
        if name not in ("scores", "class_scores", *by_kernel)
    }
    merged["scores"], merged["class_scores"] = np.zeros(n_features), np.zeros((n_classes, n_features))
    sides = [_sides(problem) for problem in problems]
    for name in by_kernel:
        merged[name] = np.empty(1 + max(max(pair) for pair in sides), found[0][name].dtype)
    for problem, pair, one in zip(problems, sides, found, strict=True):
        merged["scores"] += one["scores"] / len(problems)
        for c in problem:
            merged["class_scores"][c] += one["scores"] / (n_classes - 1 if len(problem) == 2 else 1)
        for name in by_kernel:
            merged[name][list(pair)] = one[name]
    return merged


def _address(kernel: Any) -> int:
    if isinstance(kernel, str):
        choose("kernel", kernel, ("rbf",), "a C function")
        return 0
    return kernel_address(kernel)


def _scale(
    sigma: str | npt.ArrayLike, factor: float, percentile: float, normalize: int, kernels: tuple[int, ...]
) -> Scale:
    times = as_int("normalize", normalize)
    if isinstance(sigma, str):
        choose("sigma", sigma, ("median", "percentile", "grid"), "numbers, one for each kernel")
        if sigma == "percentile":
            return ("percentile", as_float("sigma_percentile", percentile), None, times)
        return ("median", as_float("sigma_factor", factor), None, times)
    try:
        given = np.asarray(sigma, dtype=float)
    except (TypeError, ValueError):
        given = np.empty(())
    if given.shape != kernels:
        wanted = f"{kernels[0]} numbers, one for each class"
        if len(kernels) == 2:
            wanted = f"an array of {kernels[0]} x 2 numbers, for each class and the rest of it"
        raise ValueError(f"sigma must be 'median', 'percentile', 'grid' or {wanted}, not {sigma!r}")
    return ("given", 0.0, given.ravel().tolist(), times)


def _with_class_names(message: str, classes: Array) -> str:
    """The core knows classes by number only."""
    return re.sub(
        r"(?<=every sample of )(class|all classes but) (\d+)", lambda m: f"{m[1]} {classes[int(m[2])]}", message
    )


def _reason(plan: dict[str, Any], n_features: int, form: str, rank: int) -> str:
    relation = "no more" if plan["accuracy"] == "exact" else "more"
    return {
        "asked": "as asked for",
        "size": f"{n_features} features are {relation} than {EXACT_AT_MOST}",
        "memory": f"the exact form would need {plan['exact_bytes'] / 1e9:.1f} GB, more than the memory budget",
        "rank": f"rank {rank} is more than a quarter of the {n_features} features",
        "form": f"form='{form}' exists as an exact one only",
    }[plan["reason"]]


def _warnings(fitted: dict[str, Any], classes: Array, kernels: tuple[int, ...], n_features: int) -> list[str]:
    from fastfs import _core

    names = [f"class {c}" for c in classes]
    if len(kernels) == 2:
        names = [name for c in classes for name in (f"class {c}", f"all classes but {c}")]

    def named(bit: int) -> str:
        return some_of([name for name, flags in zip(names, fitted["kernel_warnings"], strict=True) if flags & bit])

    messages = []
    poor = fitted["agreement"][(fitted["problem_warnings"] & _core.WARN_AGREEMENT) > 0]
    if len(poor):
        messages.append(
            "the low-rank scores rank features otherwise than the exact ones: on some drawn at random the rank "
            f"correlation is {poor.min():.2f}, and on all of them it is rather lower; normalize=3 with sigma_factor=1 "
            "agrees best as a rule, else raise rank or choose accuracy='exact'"
        )
    if found := named(_core.WARN_ONE_SAMPLE):
        messages.append(f"one sample only in {found}: its distances between features are differences of single values")
    if found := named(_core.WARN_SIGMA):
        messages.append(
            f"so many features are equal in {found} that the distance its sigma is taken from is 0: sigma comes from "
            "the positive distances instead"
        )
    if found := named(_core.WARN_TRACE):
        messages.append(
            f"the low-rank kernel keeps less than half of the trace in {found}: sigma is too small for this accuracy, "
            "so raise sigma or rank, or choose accuracy='exact'"
        )
    flat = int(np.count_nonzero(fitted["problem_warnings"] & _core.WARN_NO_CONTRAST))
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

    order = sorted(range(len(scales)), key=lambda i: (scales[i][3], np.log(results[i]["sigma"]).mean()))
    scores = np.array([results[i]["scores"] for i in order])
    best = [set(np.flatnonzero(rank_features(row) <= top)) for row in scores]
    n = len(order)
    spearman, overlap = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(n - 1):
        if scales[order[i]][3] == scales[order[i + 1]][3]:
            if np.ptp(scores[i]) > 0 and np.ptp(scores[i + 1]) > 0:
                spearman[i] = spearmanr(scores[i], scores[i + 1]).statistic
            overlap[i] = len(best[i] & best[i + 1]) / top
    median = np.median(scores, axis=1)
    contrast = np.divide(scores.max(axis=1), median, out=np.full(n, np.inf), where=median > 0)
    names = [_scale_name(scales[i]) for i in order]
    found = {
        "scale": names,
        "normalize": np.array([scales[i][3] for i in order]),
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
    rule, value, _, times = scale
    name = f"median x {value:g}" if rule == "median" else f"percentile {value:g}"
    return f"{name}, normalized {times} times" if times else name


def other_scores(combine: Any, chunks: Sequence[Any], y: Array) -> npt.NDArray[np.float64]:
    """Return the scores to blend with: those of the F test, of an estimator fitted to X and y, or given ones."""
    n_features = chunks[0].shape[1]
    if isinstance(combine, str):
        choose("combine", combine, ("f",), "an array of scores", "an estimator with scores_", "None")
        from sklearn.feature_selection import f_classif

        with np.errstate(all="ignore"):
            import warnings

            with warnings.catch_warnings():
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
    filled: npt.NDArray[np.float64] = np.where(
        finite, found, np.where(found > 0, largest, found[finite].min(initial=0))
    )
    return filled


def blend(scores: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Add both, each moved and scaled to [0, 1]; all equal ones become 0."""

    def unit(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        low, span = values.min(), np.ptp(values)
        return (values - low) / span if span > 0 else np.zeros_like(values)

    return unit(scores) + unit(others)
