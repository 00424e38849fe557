"""What tests and subsamples ask of an estimator: its scores under many labelings of one X."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastfs._inputs.columns import column_numbers
from fastfs._inputs.design import Design
from fastfs._inputs.given import given_values, is_table
from fastfs._inputs.labels import encode_labels
from fastfs._inputs.matrix import column_names
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import as_stream
from fastfs._inputs.values import as_values
from fastfs._machine.params import is_auto
from fastfs._machine.run import Run
from fastfs._types import Array, Integers

Labels = Integers

# Function that yields the scores and the overall statistic for each of several permutations of the labels. Work that
# doesn't depend on labels is done once, when the function is made.
Scorer = Callable[[Sequence[Labels]], Iterator[tuple[Array, float]]]


class LabelScorer:
    """Base of estimators that take part in tests: what these call, with defaults that fit anew to each labeling.

    Any other model is wrapped by `as_label_scorer`. Groups of rows can be summed once, to fit any labeling of whole
    groups: an estimator that does so returns True from `_wants_sums` for the X that it sums.
    """

    _n_fits: int = 0  # number of fits that are compared; for many, a method may choose a faster algorithm
    _economy: str = ""  # what the method chose because of them, once fitted
    _ignores_names: bool = False  # True if scores depend on which samples share a class, not on the names of classes

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the labels as numbers, and their scorer; the estimator may be changed."""
        return make_refitting_scorer(self, X, y)

    def _encode_target(self, y: Any, shape: tuple[int, int]) -> tuple[Array | None, Array]:
        """Return the classes, if there are any, and the target of each sample of an X of this shape."""
        return encode_labels(y, *shape)

    def _given_values(self, X: Any) -> Any:
        """Return the values of `given`, n_samples x columns, which permutations keep; None without."""
        given = getattr(self, "given", None)
        return None if given is None else given_values(given, X, Run.from_estimator(self))

    def _given_features(self, X: Any) -> Integers | None:
        """Return the numbers of the features that are given and get no score; None without, or if `given` is a
        table.
        """
        given = getattr(self, "given", None)
        if given is None or is_table(given):
            return None
        X = open_path(X)
        source = as_stream(X)
        if source is not None:
            return column_numbers("given", given, source.shape[1] or 0)
        return column_numbers("given", given, (X if hasattr(X, "shape") else np.asarray(X)).shape[1], column_names(X))

    def _wants_sums(self, X: Any, with_rest: bool) -> bool:
        """Return True if `_sum_groups` must read X; with `with_rest`, each group is compared with all other groups."""
        return False

    def _sum_groups(
        self, X: Any, groups: Integers, n_groups: int, rows: Integers | None, columns: Integers | None
    ) -> Any:
        """Return statistics of the groups of X for `_fit_groups`; `rows` and `columns` select the part to read."""
        raise NotImplementedError

    def _fit_groups(self, sums: Any, labels: Integers, classes: Array) -> Any:
        """Fit with a label for each group, its position among the classes; a group with -1 stays out."""
        raise NotImplementedError


class _AnyModel(LabelScorer):
    """A model of any other kind, such as a pipeline."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        return make_refitting_scorer(self.model, X, y)


def as_label_scorer(model: Any) -> LabelScorer:
    """Return a model as an object that answers tests: itself if it can, or one that fits it to each labeling."""
    return model if isinstance(model, LabelScorer) else _AnyModel(model)


def expect_fits(model: Any, n_fits: int) -> Any:
    """Tell the last step of a model how many of its fits are compared; return the model."""
    as_label_scorer(last_step(model))._n_fits = n_fits
    return model


def require_finite(estimator: Any, scores: Array) -> None:
    """Raise ValueError for scores that aren't finite and can't be compared."""
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        raise ValueError(
            f"the scores of {type(estimator).__name__} must be finite to be compared; got {scores[bad[0]]} for feature "
            f"{bad[0]}: drop it, or choose other parameters"
        )


def last_step(model: Any) -> Any:
    """Return the selector of a pipeline that ends with one, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def make_scorer(model: Any, X: Any, y: Any, params: Mapping[str, Any] | None = None) -> tuple[Labels, Scorer]:
    """Return the labels as numbers, and the scorer of a model; the model may be changed."""
    selector = last_step(model)
    if isinstance(selector, LabelScorer) and is_auto(getattr(selector, "n_features_to_select", None)):
        selector.set_params(n_features_to_select=None)  # type: ignore[attr-defined]  # its fits would test again
    return make_refitting_scorer(model, X, y, params) if params else as_label_scorer(model)._make_scorer(X, y)


def sums_scorer(model: Any, X: Any, y: Any, groups: Any) -> tuple[Labels, Scorer] | None:
    """Return labels and scorer for a stream with labels of whole groups: one pass gives sums over each group.

    Return None if labels aren't permuted among groups, or if the model keeps no such sums, or loads X. Raise ValueError
    if X and y have different numbers of rows.
    """
    scored = as_label_scorer(model)
    source = None if groups is None or y is None else as_stream(X)
    if source is None or not scored._wants_sums(source, True):
        return None
    classes, labels = _encode_labels(y)
    units = None if classes is None else Design(labels, groups=groups).moving_groups
    if classes is None or units is None:
        return None
    n_samples = source.shape[0]
    if n_samples not in (None, len(units)):
        raise ValueError(f"X and y must have the same rows; got {n_samples} in X and {len(units)} in y")
    first = np.unique(units, return_index=True)[1]
    sums = scored._sum_groups(source, units, len(first), None, None)

    def score_labelings(labelings: Sequence[Labels]) -> Iterator[tuple[Array, float]]:
        for labeling in labelings:
            scores = np.array(scored._fit_groups(sums, labeling[first], classes).scores_, dtype=np.float64)
            yield scores, float(scores.max())

    return labels, score_labelings


def _encode_labels(y: Any) -> tuple[Array | None, Array]:
    """Return the classes and the position of each label among them, or None and the target if it is numbers."""
    y = as_values(y)
    if y.dtype.names or (y.dtype.kind == "f" and not np.array_equal(y, np.floor(y))):
        return None, y.reshape(-1)
    classes, labels = np.unique(y, return_inverse=True)
    return classes, labels.reshape(-1).astype(np.int64)


def make_refitting_scorer(model: Any, X: Any, y: Any, params: Mapping[str, Any] | None = None) -> tuple[Labels, Scorer]:
    """Return the labels as numbers, and a scorer that fits a model without a label-free stage to each permutation.

    Raise ValueError if a fit has no scores. The largest score is that of `statistic_` if there is one.
    """
    classes, labels = _encode_labels(y)

    def score_labelings(labelings: Sequence[Labels]) -> Iterator[tuple[Array, float]]:
        """Yield the scores and the largest statistic (or score) of a fit to each labeling.

        Raise ValueError if a fit has no scores.
        """
        for labeling in labelings:
            model.fit(X, labeling if classes is None else classes[labeling], **(params or {}))
            scored = last_step(model)
            if not hasattr(scored, "scores_"):
                raise ValueError(
                    f"{type(scored).__name__} has no scores_ after its fit: give an estimator that scores the features"
                )
            scores = np.array(scored.scores_, dtype=np.float64)
            yield scores, float(np.max(getattr(scored, "statistic_", scores)))

    return labels, score_labelings
