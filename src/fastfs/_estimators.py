"""The scikit-learn estimators: one class a method over the functions in ``_<method>.py``."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fastfs import _manifest
from fastfs._base import (
    Array,
    Progress,
    as_matrix,
    as_progress,
    count_selected,
    count_threads,
    encode_labels,
    parse_memory,
    rank_features,
    two_classes,
)


class _Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: input validation, and a support cut from `ranking_`."""

    n_features_to_select: int | float | None

    def _validate(self, X: Any, y: Any, max_memory: int | str | None) -> tuple[Any, int, Array, Array]:
        """Return X and the memory budget as of `as_matrix`, the classes and the codes as of `encode_labels`."""
        try:
            # Finiteness is left to the core, which looks at every value anyway and names the first bad one.
            X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        except OverflowError as error:
            raise ValueError(f"X must hold numbers only: {error}") from None
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X, budget = as_matrix(X, parse_memory(max_memory))
        return X, budget, *encode_labels(y, *X.shape)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self, "ranking_")
        mask: Array = self.ranking_ <= count_selected(self.n_features_to_select, len(self.ranking_))
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


class ManiFeSt(_Selector):
    """Select features whose relations to the other features differ between two classes.

    In each class, features are points whose distances form a kernel; the two kernels are compared as points of a
    Riemannian manifold, and a feature's score is its share of their difference. That finds features that no univariate
    test sees, such as exclusive-or pairs. It doesn't find a feature whose relations to the others stay what they are,
    and it also reports features that are tied to relevant ones.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    sigma : {"median", "percentile"} or pair of float
        Scale of the Gaussian kernel of each class: `sigma_factor` times the median distance between features, the
        `sigma_percentile`-th percentile of these distances, or the scale itself for the first and second of the sorted
        classes. No single rule serves all data; tune it like any other parameter.
    sigma_factor : float
        For ``sigma="median"``.
    sigma_percentile : float
        For ``sigma="percentile"``, in (0, 100).
    normalize : int
        How many times each kernel is divided by the square roots of its row sums on both sides; the paper uses 0 or 3.
    n_components : int
        Number of leading eigenpairs of the mean and of the difference to keep, for looking at what a score rests on.
    n_jobs : int or None
        Threads. None means all cores that this process may use (here fastfs differs from scikit-learn), and one inside
        a joblib worker.
    max_memory : int, str or None
        Budget in bytes, or such as "4G"; None: ``FASTFS_MAX_MEMORY`` or what the machine has available.
    verbose : bool or callable
        True prints progress on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Diagonal of \\|D\\|, D the difference of the kernels (eq. 4); not negative, larger is better.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    sigma_ : ndarray of shape (2,)
        The scale of each class, in units of the distances.
    rank_ : int
        Numerical rank of the sum of the kernels. Below n_features, digits beyond 1e-6..1e-4 of a score are rounding.
    classes_ : ndarray of shape (2,)
    mean_eigenvalues_, difference_eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues, by magnitude, of the geometric mean M of the kernels (eq. 2) and of D (eq. 3).
    mean_eigenvectors_, difference_eigenvectors_ : ndarray of shape (n_features, n_components)
        Their eigenvectors: what the classes share, and where they differ. The entry of largest magnitude is positive.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Not two classes; NaN or infinity in X (the first one is named); fewer than two features; a parameter out of
        range; all features equal within a class.
    MemoryError
        The fit would exceed the budget: 32 n_features^2 bytes, and n_samples n_features values; nothing was allocated.
    numpy.linalg.LinAlgError
        LAPACK failed.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; the distance to take sigma from is 0; the kernels of both classes agree.

    Notes
    -----
    Time O(n_features^3), dominated by two symmetric eigenproblems. With K1 + K2 = L L',
    L^-1 (K1 - K2) L^-T = Y diag(nu) Y' and W = L Y, D = W diag(h(nu)) W' with h(nu) = sqrt(1 - nu^2) artanh(nu) / 2,
    which is the paper's D without the inverse of a kernel; singular kernels are cut to their numerical rank. Computed
    in float64 whatever X is. The result doesn't depend on the number of threads.

    References
    ----------
    .. [1] D. Cohen, T. Shnitzer, Y. Kluger, R. Talmon, "ManiFeSt: Manifold-based Feature Selection for Small Data
       Sets", arXiv:2207.08574, 2022, eqs. 1-4.

    Examples
    --------
    The label is the exclusive or of the first two features: neither says anything by itself.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(50, 100)).astype(float)
    >>> y = X[:, 0] != X[:, 1]
    >>> selector = fastfs.ManiFeSt(n_features_to_select=2, sigma_factor=0.1).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    >>> selector.transform(X).shape
    (50, 2)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        sigma: str | tuple[float, float] = "median",
        sigma_factor: float = 0.5,
        sigma_percentile: float = 50.0,
        normalize: int = 0,
        n_components: int = 0,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.sigma = sigma
        self.sigma_factor = sigma_factor
        self.sigma_percentile = sigma_percentile
        self.normalize = normalize
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "ManiFeSt":
        """Score the features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes, of any sortable type.

        Returns
        -------
        ManiFeSt
            Itself.
        """
        X, budget, classes, codes = self._validate(X, y, self.max_memory)
        two_classes(classes)
        count_selected(self.n_features_to_select, X.shape[1])  # a bad number is refused before the work, not after
        result = _manifest.fit(
            X,
            codes,
            classes,
            sigma=self.sigma,
            sigma_factor=self.sigma_factor,
            sigma_percentile=self.sigma_percentile,
            normalize=self.normalize,
            n_components=self.n_components,
            n_threads=count_threads(self.n_jobs),
            budget=budget,
            progress=as_progress(self.verbose),
        )
        self.classes_ = classes
        self.scores_ = result["scores"]
        self.ranking_ = rank_features(self.scores_)
        self.sigma_ = result["sigma"]
        self.rank_ = result["rank"]
        self.mean_eigenvalues_ = result["mean_values"]
        self.mean_eigenvectors_ = result["mean_vectors"]
        self.difference_eigenvalues_ = result["difference_values"]
        self.difference_eigenvectors_ = result["difference_vectors"]
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # two classes only, so far
        return tags
