"""The scikit-learn estimator of IMMIGRATE."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._estimators.contract import check_is_fitted
from fastfs._estimators.margin import _MarginClassifier
from fastfs._estimators.selector import _Resources, estimator_class
from fastfs._functions.immigrate import (
    ImmigrateFields,
    ImmigrateOptions,
    ImmigrateResult,
    fit_immigrate,
    matrix_from_factors,
    top_pairs,
)
from fastfs._functions.margin import Labels
from fastfs._inputs.entry import named_arguments
from fastfs._machine.run import load_core
from fastfs._types import Array


@estimator_class
class Immigrate(ImmigrateFields, _Resources, _MarginClassifier):
    """Select features by IMMIGRATE, and see which pairs of features work together.

    IM4E with a matrix in place of weights: distances are quadratic forms \\|x - x'\\|' W \\|x - x'\\|, and an entry
    W_ab off the diagonal weighs that a and b differ in the same pairs of samples. Also a classifier: a sample belongs
    to the class that is nearest in expectation, and `explain` tells what features and pairs that rests on.

    Parameters
    ----------
    <n_features_to_select>
    sigma : float or "auto"
        Scale of the softmax, in units of the distance d'Wd: small ones look at the nearest neighbours only, large ones
        at means of classes. An absolute value means nothing across data; "auto" is four times the median distance to
        the nearest hit under the first W.
    max_iter : int
        Most data use all 10.
    tol : float
        Stop when the cost changes by no more than this share of it.
    prefilter : {"auto", "im4e"} or None
        "im4e": IM4E, with the same `sigma`, runs first; features that reach the mean weight are kept, and W starts from
        their weights (the paper's IM4E-IMMIGRATE). "auto": that on more than 1000 features,
        and of those kept only the 1000 of largest weight. None: W is of all features.
    clip : bool
        Negative entries of W become 0 in each iteration, as in the authors' R package; W needn't be positive
        semidefinite then.
    smallest : float, "auto" or None
        Entries of W below it become 0 in each iteration, before W is normalised. "auto": 1 / (number of features of
        W), which is ours: the paper doesn't print its threshold. None: all stay.
    negligible : float
        Pairs of samples with a weight up to this are left out of an iteration's sums, which saves some time and costs
        digits: the more samples, the more. Those that weigh less than rounding are always left out.
    W0 : array-like of shape (n_features, n_features) or None
        Where to start: symmetric, positive semidefinite unless `clip`; it is normalised. None: equal weights on the
        diagonal.
    n_starts : int
        How many fits to compare: one from `W0`, the others from random diagonals, with the sigma of the first. The one
        with the lowest G of its W is kept (`objective_` describes G). They differ where the iteration doesn't settle,
        and take as many times longer.
    n_rows : int or None
        Number of rows, drawn at random in one pass, that are fitted in memory; None: all. X may then be a stream larger
        than memory: a path, a function that returns an iterator of blocks of rows, or such an iterator.
        A sample is another fit, not an estimate of that of all: one step from 100, 250 and 500 of 1000 samples was
        0.77, 0.58 and 0.39 away from that of all, in the norm in which W has length 1.
    scaling : {"standard", "range"} or None
        Features are scaled to mean 0 and standard deviation 1, to [0, 1], or taken as they are; those of new samples
        the same way.
    random_state : int, Generator, RandomState or None
        Seed for drawing the rows and the starts.
    <resources>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Each feature's share of W, sum_b W_ab^2, which add up to 1; 0 for features that W isn't of.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    W_ : ndarray of shape (n_kept, n_kept)
        Symmetric, of Frobenius norm 1. Where it was kept in factors, it is made from them each time it is asked for.
    kept_features_ : ndarray of shape (n_kept,)
        The columns of X that W is of: all but the constant ones, or those that the prefilter kept.
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues of W, largest magnitude first.
    eigenvectors_ : ndarray of shape (n_kept, rank)
        The entry of largest magnitude is positive.
    interactions_ : structured array
        The pairs a < b (columns of X) with the largest \\|weight\\| = \\|W_ab\\|, 100 at most, largest first, with the
        `residual` that is left of W_ab without the leading eigenpair.
    prefilter_weights_ : ndarray of shape (n_features,) or None
        Weights of IM4E, if it ran first.
    <iteration>
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; W0 of another
        shape, not symmetric, zero, or indefinite; `smallest` removes all of W; a parameter out of range.
    <raises_of_a_dense_fit>
    numpy.linalg.LinAlgError
        LAPACK failed.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; hits came to lie no nearer than misses, so that W before stays; without scaling,
        standard deviations lie more than 1000 times apart.

    Notes
    -----
    O(n_samples^2 n_kept (rank + n_kept / 2)) time an iteration, 8 n_samples^2 bytes or, if that exceeds the budget,
    less and more time. The training values of the features of W are kept for prediction. The result doesn't depend on
    the number of threads.

    Since \\|x - x'\\| is never negative, W has one leading direction, and the largest pairs are mostly products of
    strong single features: `residual` shows what goes beyond that. The iteration seeks a saddle point; neither cost
    nor objective falls steadily.

    References
    ----------
    .. [1] R. Zhao, P. Hong, J. S. Liu, "IMMIGRATE: A Margin-based Feature Selection Method with Interaction Terms",
       Entropy 22(3):291, 2020.

    Examples
    --------
    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = fastfs.Immigrate(3).fit(X, y)
    >>> model.W_.shape, len(model.interactions_), model.interactions_.dtype.names
    ((13, 13), 78, ('a', 'b', 'weight', 'residual'))
    >>> model.predict(X[:2]).tolist()
    [0, 0]
    """

    # Pairs in interactions_.
    _INTERACTIONS = 100

    n_features_to_select: int | float | str | None = None

    @property
    def W_(self) -> npt.NDArray[np.float64]:
        eigenvalues = self.eigenvalues_  # before the fit, raises an AttributeError that names it
        return matrix_from_factors(eigenvalues, self.eigenvectors_.T) if self._W is None else self._W

    @named_arguments
    def top_pairs(self, n: int = 20, by: str = "weight") -> Array:
        """Return the strongest pairs of features.

        <top_pairs>
        """
        check_is_fitted(self, "ranking_")
        vectors = np.ascontiguousarray(self.eigenvectors_.T)
        return top_pairs(self.kept_features_, self.eigenvalues_, vectors, n, by)

    _OPTIONS = ImmigrateOptions
    _KEEP = "sqeuclidean"
    _fit_function = staticmethod(fit_immigrate)

    def _set_attributes(self, result: ImmigrateResult) -> Labels:
        self.kept_features_ = result.features
        self.eigenvalues_, self.eigenvectors_, self._W = result.eigenvalues, result.eigenvectors, result.W
        self.interactions_ = result.top_pairs(self._INTERACTIONS)
        self.prefilter_weights_ = result.prefilter_weights
        self._set_iteration_attributes(result)
        return result.features

    def _core_metric(self) -> Any:
        return load_core().MarginMetric(
            self.sigma_, None, self.eigenvalues_, np.ascontiguousarray(self.eigenvectors_.T)
        )
