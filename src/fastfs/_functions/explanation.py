"""Explanations of predictions by IM4E and IMMIGRATE."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastfs._functions.margin import Labels, MarginStage
from fastfs._machine.results import DrawnResult, result_class
from fastfs._types import Array

# Number of parts computed together: 64 MB.
EXPLAINED_AT_ONCE = 1 << 23

FEATURE_PART = np.dtype([("feature", np.int64), ("part", np.float64)])
PAIR_PART = np.dtype([("a", np.int64), ("b", np.int64), ("part", np.float64)])


@result_class
class Explanation(DrawnResult):
    """Explanation why a sample is nearer to one class than to the nearest other, as returned by ``explain``.

    The margin is the distance to the other class minus the distance to the class. It is the sum of the parts of all
    features, and also of all pairs. A part is positive if it speaks for the class.

    Parameters
    ----------
    label, other : object
        The class, and the nearest other one.
    distance, other_distance : float
        The sample's expected distances to them.
    features : ndarray with the fields feature (column of X) and part
        The strongest, in order. With pairs, a feature's part is that of its pair with itself and half of the others.
    pairs : ndarray with the fields a <= b (columns of X) and part
        The strongest, in order; a = b is a feature by itself. Empty for IM4E, which has no pairs.
    n_features, n_pairs : int
        Numbers of features and pairs that have parts.
    names : dict of int to str
        Names of the features in the tables.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = fastfs.IM4E().fit(X, np.where(X[:, 1] > 0, "high", "low"))
    >>> result = model.explain([[0.0, 2.0, 0.0]])[0]
    >>> print(str(result).split(":")[0], result.names[int(result.features["feature"][0])])
    high, not low x1
    >>> bool(abs(result.features["part"].sum() - result.margin) < 1e-9)
    True
    """

    label: Any
    other: Any
    distance: float
    other_distance: float
    features: Array
    pairs: Array
    n_features: int
    n_pairs: int
    names: dict[int, str]

    _picture = "explanation"
    _row = "part"

    def _table(self) -> dict[str, Any]:
        """Return the columns of a table of the parts: "feature" or "pair", its name, its part of the margin."""
        tables = [
            (word[:-1], name, part)
            for word, names, parts, _ in self.tables()
            for name, part in zip(names, parts.tolist(), strict=True)
        ]
        of, names, parts = zip(*tables, strict=True) if tables else ((), (), ())
        return {"of": [*of], "name": [*names], "part": [*parts]}

    @property
    def margin(self) -> float:
        """Distance to the other class minus distance to the class."""
        return self.other_distance - self.distance

    def __str__(self) -> str:
        """Return a text for people: the margin, and its parts by feature and by pair, the rest as one sum."""
        lines = [
            f"{self.label}, not {self.other}: margin {self.margin:+.4g} "
            f"(expected distances {self.distance:.4g} and {self.other_distance:.4g})"
        ]
        for word, names, parts, n in self.tables():
            if n:
                lines.append(f"by {word[:-1]}:")
                lines += [f"{part:+10.4g}  {name}" for name, part in zip(names, parts, strict=True)]
            if n > len(parts):
                lines.append(f"{self.margin - parts.sum():+10.4g}  the other {n - len(parts)} {word}")
        return "\n".join(lines)

    def tables(self) -> Iterator[tuple[str, list[str], Array, int]]:
        """Yield the word, the names in the table, their parts and the number of all parts, for features and for
        pairs.
        """
        features = [self.names[j] for j in self.features["feature"].tolist()]
        yield "features", features, self.features["part"], self.n_features
        names = [
            f"{self.names[a]} alone" if a == b else f"{self.names[a]} x {self.names[b]}"
            for a, b in self.pairs[["a", "b"]].tolist()
        ]
        yield "pairs", names, self.pairs["part"], self.n_pairs


def explain_rows(
    stage: MarginStage,
    labels: Labels,
    classes: Array,
    metric: Any,
    features: Labels,
    name_of: Callable[[int], str],
    X: Array,
    wanted: Labels,
    distances: Array,
    top: int,
) -> list[Explanation]:
    """Return an explanation of each row of X: its nearest other class against the wanted one, by `features`.

    It lists the `top` largest parts of features and, if the metric is a matrix, of pairs.
    """
    others = distances.copy()
    others[np.arange(len(X)), wanted] = np.inf
    nearest = others.argmin(axis=1)
    rows = max(1, EXPLAINED_AT_ONCE // len(features) ** (2 if metric.is_matrix else 1))
    explanations = []
    for begin in range(0, len(X), rows):
        part = slice(begin, begin + rows)
        parts = stage.core_margin.explain(labels, len(classes), metric, X[part], wanted[part], stage.run)
        for row, values in enumerate(parts, start=begin):
            pairs = np.empty(0, PAIR_PART)
            n_pairs = 0
            if metric.is_matrix:
                values, pairs, n_pairs = _strongest_pairs(values, features, top)
            strongest = np.argsort(-np.abs(values), kind="stable")[:top]
            listed = np.empty(len(strongest), FEATURE_PART)
            listed["feature"], listed["part"] = features[strongest], values[strongest]
            shown = {*listed["feature"].tolist(), *pairs["a"].tolist(), *pairs["b"].tolist()}
            explanations.append(
                Explanation(
                    label=classes[wanted[row]],
                    other=classes[nearest[row]],
                    distance=float(distances[row, wanted[row]]),
                    other_distance=float(distances[row, nearest[row]]),
                    features=listed,
                    pairs=pairs,
                    n_features=len(features),
                    n_pairs=n_pairs,
                    names={j: name_of(j) for j in sorted(shown)},
                )
            )
    return explanations


def _strongest_pairs(parts: Array, features: Labels, top: int) -> tuple[Array, Array, int]:
    """Return the part of each feature, `top` pairs a <= b from the strongest down, and the number of all pairs.

    parts: the contributions of all pairs of `features` to a margin, an n x n matrix.
    """
    n = len(features)
    both = np.triu(parts) + np.tril(parts, -1).T
    flat = np.abs(both).ravel()
    strongest = np.argpartition(-flat, min(top, flat.size) - 1)[:top] if top else np.empty(0, np.int64)
    strongest = strongest[np.lexsort((strongest, -flat[strongest]))]
    strongest = strongest[strongest // n <= strongest % n]  # drops zeros below the diagonal, which aren't pairs
    pairs = np.empty(len(strongest), PAIR_PART)
    pairs["a"], pairs["b"] = features[strongest // n], features[strongest % n]
    pairs["part"] = both.ravel()[strongest]
    return (parts.sum(axis=0) + parts.sum(axis=1)) / 2, pairs, n * (n + 1) // 2
