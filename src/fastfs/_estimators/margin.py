"""Base of the scikit-learn estimators of IM4E and IMMIGRATE."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fastfs._estimators.contract import ClassifierMixin, check_is_fitted, column_or_1d
from fastfs._estimators.selector import _Selector
from fastfs._functions.explanation import Explanation, explain_rows
from fastfs._functions.margin import IterationOptions, Labels, MarginStage
from fastfs._inference.scorers import Scorer
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense, describe_not_finite
from fastfs._inputs.storage import take_columns
from fastfs._inputs.streams import sample_rows
from fastfs._machine.errors import in_rows
from fastfs._machine.params import as_int, count_selected, rank_features
from fastfs._machine.run import Run
from fastfs._types import Array, Integers


class _MarginClassifier(ClassifierMixin, _Selector, ABC):  # type: ignore[misc]
    """Base of IM4E and Immigrate, which need all rows in memory, as dense values.

    They predict by the expected distance to the training samples of each class. Only features with weight affect
    distances, so only their training values are kept.
    """

    sigma_: float
    _OPTIONS: ClassVar[type[IterationOptions]]
    _KEEP: ClassVar[str]  # distances that fits with different labels share
    _fit_function: ClassVar[Any]  # stage, labels, classes, options -> Outcome

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the weights of the metric to all samples, or to `n_rows` drawn ones.

        Set scores, ranking and classes, and keep the samples for predictions.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            Sparse X is made dense.
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            options, run = self._OPTIONS.from_arguments(self), Run.from_estimator(self)
            data, self.classes_, labels, rows = self._read_samples(X, y, options, run)
            stage = MarginStage(data, options.stage_options(), run)
            with in_rows(rows):
                outcome = self._fit_function(stage, labels, self.classes_, options)
            self.scores_ = outcome.result.scores
            self.ranking_ = rank_features(self.scores_)
            self.algorithm_ = outcome.result.algorithm
            self._set_result(outcome.result, stage, labels)
            outcome.warn_and_return()
        return self

    def _read_samples(
        self, X: Any, y: Any, options: IterationOptions, run: Run
    ) -> tuple[Array, Array, Labels, Integers | None]:
        """Return X as a dense array, the classes, the label of each sample, and the rows that were drawn, if any.

        Raise ValueError for a single class, or a bad number to select; warn if y is a column.
        """
        X, y, rows = sample_rows(X, y, options.n_rows or 0, options.random_state, run)
        data = self._as_dense(X, run)
        classes, labels = encode_labels(y, *data.shape)
        require_classes(classes)
        count_selected(self.n_features_to_select, data.shape[1])
        if getattr(y, "ndim", 1) == 2:
            column_or_1d(y, warn=True)  # warns, as classifiers do; mere selectors take a column in silence
        return data, classes, labels, rows

    def _as_dense(self, X: Any, run: Run, reset: bool = True) -> Any:
        """Return X as a dense array after validation."""
        if not hasattr(X, "__next__"):
            X = self._validate_matrix(X, run, reset=reset)
        return as_dense(X, run)

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the labels as codes, and a function that fits each labeling and yields (scores, largest score)."""
        run = Run.from_estimator(self)
        run.progress = None
        data, classes, labels, _ = self._read_samples(X, y, self._OPTIONS.from_arguments(self), run)
        stage = MarginStage(data, self._OPTIONS.from_arguments(self).stage_options(), run, self._KEEP)

        def score_labelings(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            """Yield the scores and the largest score of a fit to each labeling."""
            for permuted in labelings:
                scores = (
                    self._fit_function(stage, permuted, classes, self._OPTIONS.from_arguments(self))
                    .warn_and_return()
                    .scores
                )
                yield scores, float(scores.max())

        return labels, score_labelings

    def _set_result(self, result: Any, stage: MarginStage, labels: Labels) -> None:
        """Set the attributes of a fit, and keep the labels and the used features of its samples for prediction."""
        self._used, self._labels, self._stage = (
            self._set_attributes(result),
            labels,
            self._OPTIONS.from_arguments(self).stage_options(),
        )
        train = stage.X
        self._train = _training_values(train, self._used)

    @abstractmethod
    def _set_attributes(self, result: Any) -> Labels:
        """Set the attributes of the method, and return the features that its metric uses."""

    def _set_iteration_attributes(self, result: Any) -> None:
        for name in ("sigma", "cost", "objective", "n_iter", "converged"):
            setattr(self, f"{name}_", getattr(result, name))

    @abstractmethod
    def _core_metric(self) -> Any:
        """Return the core's metric between samples, over the features `_used`."""

    def expected_distance(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the expected distance of samples to each class; smaller is nearer, and none is a probability.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Mean distance to the training samples of the class, weighted by softmax(-distance / sigma).
        """
        data, stage = self._read_new_samples(X)
        return self._class_distances(data, stage)

    def predict(self, X: Any) -> Array:
        """Return the class with the smallest expected distance; of equal distances, the first in `classes_`.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        nearest = self.expected_distance(X).argmin(axis=1)
        predicted: Array = self.classes_[nearest]
        return predicted

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return expected distances with the sign that scikit-learn's scorers expect, such as ``scoring="roc_auc"``.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or, with more than two classes, (n_samples, n_classes), float64
            With two classes, the distance to the first minus the distance to the second: above 0 if the second class is
            predicted. With more classes, the negative distances. None is a probability.
        """
        distances = self.expected_distance(X)
        return distances[:, 0] - distances[:, 1] if distances.shape[1] == 2 else -distances

    def explain(self, X: Any, y: Any = None, *, top: int = 20) -> list[Explanation]:
        """Explain the distances of samples to the classes by features and pairs.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            The class to explain for each sample; by default the predicted one. Others than the fit's raise ValueError.
        top : int
            How many features, and pairs, to list for each sample.

        Returns
        -------
        list of Explanation
            One for each sample: its margin, the strongest parts of it, and a text for people (``print``).
        """
        data, stage = self._read_new_samples(X)
        top = as_int("top", top, low=1)
        distances = self._class_distances(data, stage)
        if y is None:
            wanted = distances.argmin(axis=1)
        else:
            y = np.asarray(y).reshape(-1)
            if len(y) != len(data):
                raise ValueError(f"y must have one label for each of the {len(data)} samples of X; got {len(y)}")
            wanted = self._encode_labels(y)
        names = getattr(self, "feature_names_in_", None)
        return explain_rows(
            stage,
            self._labels,
            self.classes_,
            self._core_metric(),
            self._used,
            lambda j: f"x{j}" if names is None else str(names[j]),
            data,
            wanted,
            distances,
            top,
        )

    def _encode_labels(self, labels: Array) -> Labels:
        """Return the position of each label in `classes_`."""
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in labels.tolist() if label not in places]
        if unknown:
            raise ValueError(f"y must hold classes of the fit, {list(places)}; got {unknown[0]!r}")
        return np.array([places[label] for label in labels.tolist()], dtype=np.int64)

    def _read_new_samples(self, X: Any) -> tuple[Array, MarginStage]:
        """Return the used columns of new samples, and the stage of the training data.

        Raise NotFittedError before a fit, ValueError for values that aren't finite or other columns than the fit's.
        """
        check_is_fitted(self, "ranking_")
        run = Run.from_estimator(self)
        data = self._as_dense(X, run, reset=False)
        if said := describe_not_finite(data):  # the core sees the used columns only
            raise ValueError(said)
        return _new_values(self._train, data, self._used), MarginStage(self._train, self._stage, run)

    def _class_distances(self, data: Array, stage: MarginStage) -> npt.NDArray[np.float64]:
        """Return the expected distance of each sample to each class."""
        distances: Array = stage.core_margin.distances(
            self._labels, len(self.classes_), self._core_metric(), data, stage.run
        )
        return distances


@singledispatch
def _training_values(X: Any, used: Labels) -> Any:
    """Return a copy of the used columns of the training data."""
    return np.take(X, used, axis=1)


@_training_values.register
def _(X: Genotypes, used: Labels) -> Genotypes:
    return X[:, used].copy()


@singledispatch
def _new_values(train: Any, data: Any, used: Labels) -> Any:
    """Return the used columns of new samples in the form of the training values."""
    with np.errstate(over="ignore"):  # the core finds values that overflow float32
        return take_columns(data, used).astype(train.dtype, copy=False)


@_new_values.register
def _(train: Genotypes, data: Any, used: Labels) -> Any:
    return data[:, used] if isinstance(data, Genotypes) else take_columns(data, used).astype(train.dtype, copy=False)
