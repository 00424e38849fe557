"""Base of the estimators that score features repeatedly with another estimator."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from fastfs._estimators.rounds import Columns, Rounds, RoundsMaker
from fastfs._estimators.selector import _Selector
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.given import is_table
from fastfs._inputs.matrix import column_names, load_stream, require_table
from fastfs._inputs.storage import with_columns
from fastfs._machine.errors import about_targets, renumber
from fastfs._machine.run import Run
from fastfs._types import Array


def rounds_of(estimator: Any, X: Any, y: Any, fit_params: Mapping[str, Any]) -> Rounds:
    """Return the rounds that the estimator makes itself, or one fit per round; the estimator may be changed."""
    if isinstance(estimator, RoundsMaker):
        return estimator._make_rounds(X, y, **fit_params)
    return _FitPerRound(estimator, X, y, fit_params)


class _FitPerRound:
    """Rounds of any estimator, with one fit per round."""

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: Mapping[str, Any]) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params

    def score_columns(self, columns: Columns) -> Array:
        """Fit a clone on these columns, and return its scores; errors name columns of X.

        Raise ValueError if the scores are missing, have another shape, or aren't all finite.
        """
        n_features = self.X.shape[1]
        model, part = clone(self.estimator), self.X
        if len(columns) < n_features:
            model.set_params(**_subset_params(model, columns, n_features, column_names(self.X)))
            part = _safe_indexing(self.X, columns, axis=1)
        try:
            model.fit(part, self.y, **self.fit_params)
        except (ValueError, LinAlgError) as error:
            if not about_targets(error):
                renumber(error, {"column": columns})
            raise
        name = type(model).__name__
        if not hasattr(model, "scores_"):
            raise ValueError(f"{name} has no scores_ after its fit: give an estimator that scores the features")
        scores = np.asarray(model.scores_, dtype=np.float64)
        if scores.shape != columns.shape:
            raise ValueError(
                f"scores_ of {name} must have shape ({len(columns)},), one score per feature; got {scores.shape}"
            )
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise ValueError(
                f"the scores of {name} must be finite; got {scores[bad]} for column {columns[bad]}: drop it, or choose "
                "other parameters"
            )
        return scores


def _subset_params(model: Any, columns: Columns, n_features: int, names: Any) -> dict[str, Any]:
    """Return the parameters of a model that name or count columns, translated from all columns to some of them.

    Raise ValueError if `given` names columns.
    """
    translated: dict[str, Any] = {}
    for path, value in model.get_params().items():  # includes estimators inside the model, which see equal columns
        name = path.rpartition("__")[2]
        if (
            name == "n_features_to_select"
            and isinstance(value, int | np.integer)
            and len(columns) < value <= n_features
        ):
            translated[path] = len(columns)
        if name == "given" and value is not None and not is_table(value):
            raise ValueError("given must be a table for an estimator that sees some of the features at a time")
        if name == "categorical_features" and value is not None and not isinstance(value, str):
            translated[path] = np.isin(columns, column_numbers(name, value, n_features, names))
    return translated


class _Wrapper(_Selector):
    """Base of selectors that score by another estimator, `estimator`."""

    estimator: Any

    def _prepare_table(self, X: Any) -> Any:
        """Load a stream, set the columns, and return X with unchanged values in a form that allows selecting columns.

        Raise TypeError for an iterator, which can be read once, and ValueError if X has no columns.
        """
        if hasattr(X, "__next__"):
            raise TypeError(
                f"X must be one array, since {type(self).__name__} scores it several times; got an iterator of row "
                "chunks, which can be read once: stack them"
            )
        X = load_stream(X, Run())
        require_table(X)
        X = with_columns(X)
        if X.shape[1] == 0:  # scikit-learn's checks of estimators look for this sentence
            raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        self._check_columns(X)
        return X

    def _inner_rounds(self, X: Any, y: Any, fit_params: Mapping[str, Any]) -> Rounds:
        """Return the rounds of the wrapped estimator, with the fit parameters that are routed to it."""
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params)["estimator"]["fit"] if fit_params else {}
        return rounds_of(clone(self.estimator), X, y, fit_params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how scikit-learn passes sample weights and similar parameters from ``fit`` to the wrapped
        estimator.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="fit_transform", callee="fit")  # as pipelines of scikit-learn 1.6 ask
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of the wrapped estimator for scikit-learn; raise TypeError if it has no `fit`."""
        if not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator must be a selector, such as ReliefF(); got {self.estimator!r}")
        tags, estimator_tags = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.target_tags, tags.classifier_tags = (
            estimator_tags.input_tags,
            estimator_tags.target_tags,
            estimator_tags.classifier_tags,
        )
        tags.non_deterministic = estimator_tags.non_deterministic
        return tags
