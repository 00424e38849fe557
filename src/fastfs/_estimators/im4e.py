"""The scikit-learn estimator of IM4E."""

from typing import Any

import numpy as np

from fastfs._estimators.margin import _MarginClassifier
from fastfs._estimators.selector import _Resources, estimator_class
from fastfs._functions.im4e import IM4EFields, IM4EOptions, IM4EResult, fit_im4e
from fastfs._functions.margin import Labels
from fastfs._machine.run import load_core


@estimator_class
class IM4E(IM4EFields, _Resources, _MarginClassifier):
    """Select features by IM4E: weights that enlarge the margins between soft nearest neighbours.

    Distances are weighted sums of differences, w'\\|x - x'\\|. All samples of a class are neighbours, weighted by
    softmax(-distance / sigma); the weights w follow from mean distances to misses less those to hits, these from new
    weights, and so on. Most features end at weight 0. Also a classifier: a sample belongs to the class that is nearest
    in expectation.

    Parameters
    ----------
    <n_features_to_select>
    sigma : float or "auto"
        Scale of the softmax, in units of the distance: small ones look at the nearest neighbours only, large ones at
        means of classes. An absolute value means nothing across data; "auto" is twice the median distance to the
        nearest hit under equal weights.
    class_weight : dict of {label: float} or None
        imIM4E: the margins of a class's samples count by this factor; classes that aren't named by 1. The weights of
        features change, not how prediction compares classes.
    max_iter : int
        Most data use all 10.
    tol : float
        Stop when the cost changes by no more than this share of it.
    w0 : array-like of shape (n_features,) or None
        The weights to start from: not negative; they are normalised. None: equal weights. Random ones, such as
        ``numpy.random.default_rng(0).dirichlet(numpy.ones(n_features))``, show how much the start matters.
    n_rows : int or None
        Number of rows, drawn at random in one pass, that are fitted in memory; None: all. X may then be a stream larger
        than memory: a path, a function that returns an iterator of blocks of rows, or such an iterator.
    n_anchors : int or None
        Number of samples, drawn anew for each step, over which the step adds up margins; None: all. Weights are
        averaged over steps, the newest counting 1/t in step t, and 1/4 from the fourth on, so more steps are worth it:
        `max_iter` of 12 or more. On 1500 samples and 100 features, 75 and 300 anchors gave weights that correlate with
        those of all was 0.93 to 0.98; fits of 75 and 300 rows alone 0.11 to 0.68.
    scaling : {"standard", "range"} or None
        Features are scaled to mean 0 and standard deviation 1, to [0, 1], or taken as they are; those of new samples
        the same way.
    random_state : int, Generator, RandomState or None
        Seed for drawing the rows and anchors.
    <resources>

    Attributes
    ----------
    weights_, scores_ : ndarray of shape (n_features,), float64
        One array under both names: not negative, with sum 1; 0 for constant features.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    <iteration>
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; `class_weight` has
        labels that y hasn't; `w0` of another shape, negative, not finite, or zero for all features that vary; a
        parameter out of range.
    <raises_of_a_dense_fit>

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; hits came to lie no nearer than misses, so that the weights before stay; without
        scaling, standard deviations lie more than 1000 times apart.

    Notes
    -----
    O(n_samples^2 n_features) time an iteration, 8 n_samples^2 bytes or, if that exceeds the budget, less and up to
    twice the time. The training values of features with weight are kept for prediction. The result doesn't depend on
    the number of threads.

    References
    ----------
    .. [1] Y. Bei, P. Hong, "Maximizing margin quality and quantity", 2015.
    .. [2] R. Zhao, P. Hong, J. S. Liu, "IMMIGRATE: A Margin-based Feature Selection Method with Interaction Terms",
       Entropy 22(3):291, 2020, section 3.

    Examples
    --------
    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = fastfs.IM4E(3).fit(X, y)
    >>> model.transform(X).shape, model.expected_distance(X[:2]).shape
    ((178, 3), (2, 3))
    >>> model.predict(X[:2]).tolist()
    [0, 0]
    """

    n_features_to_select: int | float | str | None = None

    _OPTIONS = IM4EOptions
    _KEEP = "manhattan"
    _fit_function = staticmethod(fit_im4e)

    @property
    def _ignores_names(self) -> bool:  # type: ignore[override]
        return self.class_weight is None

    def _set_attributes(self, result: IM4EResult) -> Labels:
        self.weights_ = result.weights
        self._set_iteration_attributes(result)
        return np.flatnonzero(result.weights)

    def _core_metric(self) -> Any:
        return load_core().MarginMetric(self.sigma_, self.weights_[self._used], None, None)
