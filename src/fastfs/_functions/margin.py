"""What RELIEF, ReliefF, MultiSURF, IM4E and IMMIGRATE share: samples that differ by |x_n - x_j|, feature by feature."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.checks import as_int, choose, some_of
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense
from fastfs._machine.run import as_threads, check_progress, core, parse_memory
from fastfs._types import Array, Progress

Codes = npt.NDArray[np.int64]


def as_scaling(scaling: Any) -> str:
    """Return the word that the core knows for it."""
    return "none" if scaling is None else choose("scaling", scaling, ("range", "standard"), "None")


def read(X: Any, y: Any, max_memory: int | str | None) -> tuple[Array, int, Array, Codes]:
    """Return X, what its conversion left of the memory budget, the classes and the codes of the samples."""
    data, budget = as_dense(X, parse_memory(max_memory))
    classes, codes = encode_labels(y, *data.shape)
    require_classes(classes)
    return data, budget, classes, codes


class Stage:
    """The label-free stage: fits of the same X with different labels repeat only what depends on them.

    Parameters
    ----------
    X : ndarray
        As of `as_dense`.
    scaling : {"range", "standard"} or None
    keep : {"manhattan", "sqeuclidean"} or None
        Distances to compute now, 8 n_samples^2 bytes: those of ReliefF, MultiSURF and the first iteration of IM4E, or
        those of RELIEF and the first iteration of IMMIGRATE.
    """

    def __init__(
        self,
        X: Array,
        scaling: str | None,
        *,
        keep: str | None = None,
        n_threads: int = 0,
        budget: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.X = X
        self._run = {"n_threads": as_threads(n_threads), "max_memory": budget, "progress": check_progress(progress)}
        self._core = core().Margin(X, as_scaling(scaling), keep or "none", **self._run)

    def used(self) -> Codes:
        """The features that aren't constant."""
        used: Codes = np.flatnonzero(self._core.scaling()[1])
        return used

    # What the core returns: arrays, `stored` (1 if all distances were) and `warnings`, which `messages` puts in words.
    # The options come checked from `_relief` and `_immigrate`.

    def relief(self, codes: Codes, n_classes: int, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._core.relief(codes, n_classes, **options, **self._run)
        return found

    def im4e(self, codes: Codes, n_classes: int, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._core.im4e(codes, n_classes, **options, **self._run)
        return found

    def immigrate(
        self,
        codes: Codes,
        n_classes: int,
        *,
        features: Codes | None = None,
        start: Array | None = None,
        start_matrix: Array | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        found: dict[str, Any] = self._core.immigrate(
            codes, n_classes, features=features, start=start, start_matrix=start_matrix, **options, **self._run
        )
        return found

    def distances(self, codes: Codes, n_classes: int, metric: Any, X: Array) -> Array:
        """Expected distance of the rows of X, samples x classes; `metric` is the core's MarginMetric."""
        found: Array = self._core.distances(codes, n_classes, metric, X, **self._run)
        return found

    def explain(self, codes: Codes, n_classes: int, metric: Any, X: Array, wanted: Codes) -> Array:
        """The parts of e_other - e_wanted, samples x features or samples x features x features."""
        found: Array = self._core.explain(codes, n_classes, metric, X, wanted, **self._run)
        return found


def messages(flags: int, classes: Array, codes: Codes, *, method: str, n_neighbors: int = 0) -> list[str]:
    """The core's warnings in words."""
    from fastfs import _core

    sizes = np.bincount(codes, minlength=len(classes))
    found = []
    if flags & _core.MARGIN_ONE_SAMPLE:
        alone = some_of([f"class {c}" for c in classes[sizes == 1]])
        effect = "is skipped as a target" if method == "relief" else "counts by its misses only"
        found.append(f"one sample only in {alone}: it has no other of its class to be compared with, so it {effect}")
    if flags & _core.MARGIN_FEW_NEIGHBORS:
        small = [f"class {c} ({n})" for c, n in zip(classes, sizes, strict=True) if n <= n_neighbors]
        found.append(
            f"n_neighbors = {n_neighbors} is more than some classes have to offer, so all their samples were used: "
            + some_of(small)
        )
    if flags & _core.MARGIN_NO_WEIGHT:
        if method == "relief":
            found.append("no feature is nearer among hits than among misses, so all scores are 0")
        else:
            found.append(
                "hits came to lie no nearer than misses, which leaves nothing to weigh, so the weights of the "
                "iteration before stay: the classes don't differ locally, or sigma is too small or too large"
            )
    if flags & _core.MARGIN_UNEVEN:
        found.append(
            "the standard deviations of the features lie more than 1000 times apart, so that those with the largest "
            "decide alone: choose scaling='standard' or 'range', or scale the features"
        )
    if flags & _core.MARGIN_NO_NEIGHBORS:
        found.append("no sample has a neighbour nearer than its threshold, so all scores are 0")
    return found


# ------------------------------------------------------------------------------------------------- pairs of features

PAIR = np.dtype([("a", np.int64), ("b", np.int64), ("weight", np.float64), ("residual", np.float64)])


def top_pairs(features: Codes, values: Array, vectors: Array, n: Any, by: Any) -> Array:
    """The n pairs of features with the largest |weight|, or |residual|, of W = vectors' diag(values) vectors.

    `features` are the columns of X that W is of; the residual is what is left of W without its leading eigenpair.
    """
    n = as_int("n", n, low=0, high=(1 << 63) - 1)
    residual = choose("by", by, ("weight", "residual")) == "residual"
    a, b, _ = core().immigrate_pairs(values, vectors, residual, n, as_threads(0), 0)
    pairs = np.empty(len(a), PAIR)
    pairs["a"], pairs["b"] = features[a], features[b]
    parts = values[:, None] * vectors[:, a] * vectors[:, b]
    pairs["weight"], pairs["residual"] = parts.sum(axis=0), parts[1:].sum(axis=0)
    return pairs


def matrix(values: Array, vectors: Array, rows: Sequence[int] | Codes | None = None) -> Array:
    """W from its factors, or its part with the given rows and columns."""
    V = vectors if rows is None else vectors[:, rows]
    W: Array = (V.T * values) @ V
    return W
