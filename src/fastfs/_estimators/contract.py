"""scikit-learn's share in the estimators, or stand-ins for it in the process of `fastfs score`.

Importing scikit-learn takes 0.9 s of CPU time, more than most scores take for everything else. `fastfs score` only
makes estimators, sets their parameters and fits them, so its process calls `do_without_sklearn` before it imports any.
The stand-ins have what that needs, and scikit-learn's `clone` takes estimators over them, too. Reports need more.
"""

import copy
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from fastfs import _estimators

if TYPE_CHECKING or _estimators.needs_sklearn or "sklearn" in sys.modules:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils import ClassifierTags, RegressorTags, Tags
    from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
else:
    Tags = ClassifierTags = RegressorTags = Any

    class SelectorMixin:
        pass

    class ClassifierMixin:
        pass

    class BaseEstimator:
        """Parameters of an estimator, which are the fields of a dataclass."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {f.name: getattr(self, f.name) for f in fields(self)}

        def set_params(self, **params: Any) -> Self:
            for name, value in params.items():
                setattr(self, name, value)
            return self

        def __sklearn_clone__(self) -> Self:
            return type(self)(**copy.deepcopy(self.get_params()))

    def check_array(values: Any, **_: Any) -> Any:
        return values  # the reader of the file made them, and the core checks that they are finite

    def check_is_fitted(estimator: Any, attribute: str) -> None:
        if not hasattr(estimator, attribute):
            raise ValueError(f"this {type(estimator).__name__} must be fitted before it is used: call fit")

    def column_or_1d(y: Any, **_: Any) -> Any:
        return y.reshape(-1)

    def validate_data(estimator: Any, X: Any, *, reset: bool, **_: Any) -> Any:
        if reset:
            estimator.n_features_in_ = X.shape[1]
        return X


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "ClassifierTags",
    "RegressorTags",
    "SelectorMixin",
    "Tags",
    "check_array",
    "check_is_fitted",
    "column_or_1d",
    "validate_data",
]
