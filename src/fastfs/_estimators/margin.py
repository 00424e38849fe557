"""The scikit-learn estimators of the margin methods: RELIEF, ReliefF, MultiSURF, IM4E, IMMIGRATE."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fastfs._estimators.selector import _Selector
from fastfs._functions import immigrate as _immigrate
from fastfs._functions import margin as _margin
from fastfs._functions import relief as _relief
from fastfs._functions.immigrate import Explanation
from fastfs._inference.permutation import Scorer
from fastfs._inputs.checks import as_int, count_selected, rank_features
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_dense, not_finite
from fastfs._machine.run import as_progress, core, count_threads, parse_memory, warn
from fastfs._types import Array, Progress


class _MarginSelector(_Selector, ABC):
    """What the estimators share: all rows at once, as dense values."""

    scaling: str | None
    n_jobs: int | None
    max_memory: int | str | None
    verbose: bool | Progress

    def _read(self, X: Any, y: Any) -> tuple[Array, int, Array, _margin.Codes]:
        """Return X and the memory budget as of `as_dense`, the classes and the codes of the samples."""
        _margin.as_scaling(self.scaling)
        data, budget = self._dense(X)
        classes, codes = encode_labels(y, *data.shape)
        require_classes(classes)
        count_selected(self.n_features_to_select, data.shape[1])
        return data, budget, classes, codes

    def _dense(self, X: Any, reset: bool = True) -> tuple[Array, int]:
        if not hasattr(X, "__next__"):
            X = self._validate_matrix(X, reset=reset)
        return as_dense(X, parse_memory(self.max_memory))

    def _stage(self, X: Array, budget: int, scaling: str | None, keep: str | None = None) -> _margin.Stage:
        threads, progress = count_threads(self.n_jobs), None if keep else as_progress(self.verbose)
        return _margin.Stage(X, scaling, keep=keep, n_threads=threads, budget=budget, progress=progress)

    # The distances that fits with different labels have in common.
    _KEEP: str

    @abstractmethod
    def _scores_of(self, stage: _margin.Stage, codes: _margin.Codes, classes: Array) -> Array:
        """The scores for these labels."""

    def _scorer(self, X: Any, y: Any) -> tuple[Array, Scorer]:
        data, budget, classes, codes = self._read(X, y)
        stage = self._stage(data, budget, self.scaling, self._KEEP)  # which keeps nothing that exceeds the budget

        def scorer(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for labels in labelings:
                scores = self._scores_of(stage, labels, classes)
                yield scores, float(scores.max())

        return codes, scorer

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()
        return tags


def _algorithm(stored: bool) -> str:
    return "stored" if stored else "blocks"


class _ReliefSelector(_MarginSelector):
    """RELIEF, ReliefF and MultiSURF: one fit, which differs by the options alone."""

    _KEEP = "manhattan"

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """The parameters of the method, checked, as of `_relief`."""

    def fit(self, X: Any, y: Any) -> Self:
        """Score the features of X.

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
        options = self._options()
        with self._all_or_nothing():
            data, budget, self.classes_, codes = self._read(X, y)
            stage = self._stage(data, budget, self.scaling)
            self.scores_, stored, said = _relief.score(stage, codes, self.classes_, options)
            self.ranking_ = rank_features(self.scores_)
            self.algorithm_ = _algorithm(stored)
            warn(said)
        return self

    def _scores_of(self, stage: _margin.Stage, codes: _margin.Codes, classes: Array) -> Array:
        return _relief.score(stage, codes, classes, self._options())[0]


class Relief(_ReliefSelector):
    """Select features by RELIEF: in which the nearest sample of another class is farther than that of the same class.

    Each sample's nearest hit (of its class) and nearest miss (of another) are found by the distance over all features.
    A feature scores high if it differs between sample and miss, and not between sample and hit. That sees features that
    matter only together, as long as not too many others blur the distances.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    n_targets : int or None
        So many samples, drawn at random, have their neighbours looked up; None: all.
    closed_form : bool
        False: Algorithm 1, means of squared differences. True: the weights that maximise the margin, from absolute
        differences: negative ones become 0, and their norm is 1.
    scaling : {"range", "standard"} or None
        Features are scaled to [0, 1], to mean 0 and standard deviation 1, or taken as they are.
    random_state : int, Generator, RandomState or None
        Of the draw of targets.
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
        Larger is better; may be negative; 0 for constant features.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    classes_ : ndarray of shape (n_classes,)
    algorithm_ : {"stored", "blocks"}
        Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; a parameter out of
        range.
    TypeError
        A parameter is of another type.
    MemoryError
        The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample, which has no hit and isn't used as a target; without scaling, standard deviations lie
        more than 1000 times apart; in closed form, no feature has a positive weight.

    Notes
    -----
    O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. Distances are Euclidean; ties go to
    the lowest row. The result doesn't depend on the number of threads.

    References
    ----------
    .. [1] K. Kira, L. A. Rendell, "A Practical Approach to Feature Selection", 1992.
    .. [2] R. Zhao, P. Hong, J. S. Liu, "IMMIGRATE: A Margin-based Feature Selection Method with Interaction Terms",
       Entropy 22(3):291, 2020, Algorithm 1 and Theorem 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> fastfs.Relief(1).fit(X, X[:, 3] > 0).get_support(indices=True).tolist()
    [3]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_targets: int | None = None,
        closed_form: bool = False,
        scaling: str | None = "range",
        random_state: Any = 0,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_targets = n_targets
        self.closed_form = closed_form
        self.scaling = scaling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    _KEEP = "sqeuclidean"

    def _options(self) -> dict[str, Any]:
        return _relief.relief_options(self.n_targets, self.closed_form, self.random_state)


class ReliefF(_ReliefSelector):
    """Select features by ReliefF: RELIEF with several neighbours, and with misses of each class apart.

    From the nearest hits of each sample and its nearest misses in each other class, by Manhattan distance over all
    features. A feature scores high if it differs between sample and misses, and not between sample and hits.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    n_neighbors : int
        Hits of each sample, and misses in each other class. More of them average noise out, and look less locally.
    scaling : {"range", "standard"} or None
        Features are scaled to [0, 1], to mean 0 and standard deviation 1, or taken as they are.
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
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    classes_ : ndarray of shape (n_classes,)
    algorithm_ : {"stored", "blocks"}
        Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; a parameter out of
        range.
    TypeError
        A parameter is of another type.
    MemoryError
        The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        A class has fewer samples than neighbours are asked for, or one only; without scaling, standard deviations lie
        more than 1000 times apart.

    Notes
    -----
    O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. Ties go to the lowest row. The
    result doesn't depend on the number of threads.

    References
    ----------
    .. [1] I. Kononenko, "Estimating Attributes: Analysis and Extensions of RELIEF", 1994.
    .. [2] M. Robnik-Sikonja, I. Kononenko, "Theoretical and Empirical Analysis of ReliefF and RReliefF", Machine
       Learning 53, 2003.

    Examples
    --------
    The label is the exclusive or of the first two features: neither says anything by itself.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> selector = fastfs.ReliefF(2, n_neighbors=5).fit(X, X[:, 0] != X[:, 1])
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_neighbors: int = 10,
        scaling: str | None = "range",
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return _relief.relieff_options(self.n_neighbors)


class MultiSURF(_ReliefSelector):
    """Select features by MultiSURF: ReliefF without a number of neighbours to choose.

    A sample's neighbours are all that lie nearer than the mean of its distances less half of their standard deviation.
    Where classes are well apart, samples have no near misses; then nearly all scores are negative.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    scaling : {"range", "standard"} or None
        Features are scaled to [0, 1], to mean 0 and standard deviation 1, or taken as they are.
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
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    classes_ : ndarray of shape (n_classes,)
    algorithm_ : {"stored", "blocks"}
        Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; a parameter out of
        range.
    TypeError
        A parameter is of another type.
    MemoryError
        The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; no sample has a near neighbour; without scaling, standard deviations lie more than 1000
        times apart.

    Notes
    -----
    O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. Distances are Manhattan. The result
    doesn't depend on the number of threads.

    References
    ----------
    .. [1] R. J. Urbanowicz, R. S. Olson, P. Schmitt, M. Meeker, J. H. Moore, "Benchmarking relief-based feature
       selection methods for bioinformatics data mining", Journal of Biomedical Informatics 85, 2018.

    Examples
    --------
    The label is the exclusive or of the first two features: neither says anything by itself.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> selector = fastfs.MultiSURF(2).fit(X, X[:, 0] != X[:, 1])
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        scaling: str | None = "range",
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        return _relief.multisurf_options()


class _MarginClassifier(ClassifierMixin, _MarginSelector):  # type: ignore[misc]
    """What IM4E and Immigrate share: prediction by the expected distance to the training samples of each class.

    Of the training data, only the features that have weight are kept, for they alone tell distances.
    """

    def _read(self, X: Any, y: Any) -> tuple[Array, int, Array, _margin.Codes]:
        found = super()._read(X, y)
        if getattr(y, "ndim", 1) == 2:
            column_or_1d(y, warn=True)  # warns, as classifiers do; mere selectors take a column in silence
        return found

    def _keep(self, data: Array, codes: _margin.Codes, used: _margin.Codes) -> None:
        self._used, self._codes, self._scaling = used, codes, self.scaling
        self._train = np.take(data, used, axis=1)

    @abstractmethod
    def _metric(self) -> Any:
        """The core's metric between samples, of the features `_used`."""

    def expected_distance(self, X: Any) -> npt.NDArray[np.float64]:
        """Expected distances to the classes; smaller is nearer, and none is a probability.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Mean distance to the training samples of the class, weighted by softmax(-distance / sigma).
        """
        data, stage = self._new(X)
        return self._distances(data, stage)

    def predict(self, X: Any) -> Array:
        """The class of the smallest expected distance; of equal ones, the first in `classes_`.

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
        """Expected distances with the sign that scikit-learn's scorers expect, such as ``scoring="roc_auc"``.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or, with more than two classes, (n_samples, n_classes), float64
            By how much the first of two classes is farther than the second: above 0 where that is predicted. With more
            classes, the negative distances. None is a probability.
        """
        distances = self.expected_distance(X)
        return distances[:, 0] - distances[:, 1] if distances.shape[1] == 2 else -distances

    def explain(self, X: Any, y: Any = None, *, top: int = 20) -> list[Explanation]:
        """What the distances of samples to classes rest on.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            The class to explain for each sample; by default the predicted one.
        top : int
            How many features, and pairs, to list for each sample.

        Returns
        -------
        list of Explanation
            One for each sample: its margin, the strongest parts of it, and a text for people (``print``).
        """
        data, stage = self._new(X)
        top = as_int("top", top, low=1)
        distances = self._distances(data, stage)
        if y is None:
            wanted = distances.argmin(axis=1)
        else:
            y = np.asarray(y).reshape(-1)
            if len(y) != len(data):
                raise ValueError(f"y must have one label for each of the {len(data)} samples of X, but has {len(y)}")
            wanted = self._positions(y)
        names = getattr(self, "feature_names_in_", None)
        return _immigrate.explain(
            stage,
            self._codes,
            self.classes_,
            self._metric(),
            self._used,
            lambda j: f"x{j}" if names is None else str(names[j]),
            data,
            wanted,
            distances,
            top,
        )

    def _positions(self, labels: Array) -> _margin.Codes:
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in labels.tolist() if label not in places]
        if unknown:
            raise ValueError(f"y has the label {unknown[0]!r}, which isn't one of the classes {list(places)}")
        return np.array([places[label] for label in labels.tolist()], dtype=np.int64)

    def _new(self, X: Any) -> tuple[Array, _margin.Stage]:
        """The used columns of samples to predict, and the stage of the training data."""
        check_is_fitted(self, "ranking_")
        data, budget = self._dense(X, reset=False)
        if said := not_finite(data):  # the core sees the used columns only
            raise ValueError(said)
        with np.errstate(over="ignore"):  # what doesn't fit float32 is found by the core
            data = np.take(data, self._used, axis=1).astype(self._train.dtype, copy=False)
        return data, self._stage(self._train, budget, self._scaling)

    def _distances(self, data: Array, stage: _margin.Stage) -> npt.NDArray[np.float64]:
        return stage.distances(self._codes, len(self.classes_), self._metric(), data)


class IM4E(_MarginClassifier):
    """Select features by IM4E: weights that enlarge the margins between soft nearest neighbours.

    Distances are weighted sums of differences, w'|x - x'|. All samples of a class are neighbours, weighted by
    softmax(-distance / sigma); the weights w follow from mean distances to misses less those to hits, these from new
    weights, and so on. Most features end at weight 0. Also a classifier: a sample belongs to the class that is nearest
    in expectation.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
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
    scaling : {"standard", "range"} or None
        Features are scaled to mean 0 and standard deviation 1, to [0, 1], or taken as they are; those of new samples
        the same way.
    n_jobs : int or None
        Threads. None means all cores that this process may use (here fastfs differs from scikit-learn), and one inside
        a joblib worker.
    max_memory : int, str or None
        Budget in bytes, or such as "4G"; None: ``FASTFS_MAX_MEMORY`` or what the machine has available.
    verbose : bool or callable
        True prints progress on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    weights_, scores_ : ndarray of shape (n_features,), float64
        The same array: not negative, with sum 1; 0 for constant features.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    sigma_ : float
        The scale used.
    cost_, objective_ : ndarray of shape (n_iter_,)
        Of each step: the paper's cost after it, and G before it. Neither has to fall.
    n_iter_ : int
    converged_ : bool
        Whether the cost came to rest within `tol`. There is no warning if it didn't.
    classes_ : ndarray of shape (n_classes,)
    algorithm_ : {"stored", "blocks"}
        Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; `class_weight` has
        labels that y hasn't; a parameter out of range.
    TypeError
        A parameter is of another type.
    MemoryError
        The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.

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

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        sigma: float | str = "auto",
        class_weight: Mapping[Any, float] | None = None,
        max_iter: int = 10,
        tol: float = 1e-4,
        scaling: str | None = "standard",
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.sigma = sigma
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "IM4E":
        """Weigh the features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            Sparse X is made dense.
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        IM4E
            Itself.
        """
        with self._all_or_nothing():
            options = self._options()
            data, budget, self.classes_, codes = self._read(X, y)
            options["class_factors"] = _immigrate.class_factors(self.class_weight, self.classes_)
            stage = self._stage(data, budget, self.scaling)
            result, stored, said = _immigrate.fit_im4e(stage, codes, self.classes_, options)
            self.weights_ = self.scores_ = result.weights
            self.ranking_ = rank_features(self.scores_)
            for name in ("sigma", "cost", "objective", "n_iter", "converged"):
                setattr(self, f"{name}_", getattr(result, name))
            self.algorithm_ = _algorithm(stored)
            self._keep(data, codes, np.flatnonzero(self.weights_))
            warn(said)
        return self

    _KEEP = "manhattan"

    def _options(self) -> dict[str, Any]:
        return _immigrate.iteration_options("im4e", self.sigma, self.max_iter, self.tol)

    def _scores_of(self, stage: _margin.Stage, codes: _margin.Codes, classes: Array) -> Array:
        options = self._options() | {"class_factors": _immigrate.class_factors(self.class_weight, classes)}
        return _immigrate.fit_im4e(stage, codes, classes, options)[0].weights

    def _metric(self) -> Any:
        return core().MarginMetric(self.sigma_, self.weights_[self._used], None, None)


class Immigrate(_MarginClassifier):
    """Select features by IMMIGRATE, and see which pairs of features work together.

    IM4E with a matrix in place of weights: distances are quadratic forms |x - x'|' W |x - x'|, and an entry W_ab off
    the diagonal weighs that a and b differ in the same pairs of samples. Also a classifier: a sample belongs to the
    class that is nearest in expectation, and `explain` tells what features and pairs that rests on.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
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
        W), the paper's choice. None: all stay.
    negligible : float
        Pairs of samples with a weight up to this are left out of an iteration's sums, which saves some time and costs
        digits: the more samples, the more. Those that weigh less than rounding are always left out.
    W0 : array-like of shape (n_features, n_features) or None
        Where to start: symmetric, positive semidefinite unless `clip`; it is normalised. None: equal weights on the
        diagonal.
    scaling : {"standard", "range"} or None
        Features are scaled to mean 0 and standard deviation 1, to [0, 1], or taken as they are; those of new samples
        the same way.
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
        Each feature's share of W, sum_b W_ab^2, which add up to 1; 0 for features that W isn't of.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    W_ : ndarray of shape (n_kept, n_kept)
        Symmetric, of Frobenius norm 1. Where it was kept in factors, it is made from them each time it is asked for.
    kept_features_ : ndarray of shape (n_kept,)
        The columns of X that W is of: all but the constant ones, or those that the prefilter kept.
    eigenvalues_ : ndarray of shape (rank,)
        Of W, largest magnitude first.
    eigenvectors_ : ndarray of shape (n_kept, rank)
        The entry of largest magnitude is positive.
    interactions_ : structured array
        The pairs a < b (columns of X) with the largest \\|weight\\| = \\|W_ab\\|, 100 at most, largest first, with the
        `residual` that is left of W_ab without the leading eigenpair.
    prefilter_weights_ : ndarray of shape (n_features,) or None
        Of IM4E, if it ran first.
    sigma_ : float
        The scale used.
    cost_, objective_ : ndarray of shape (n_iter_,)
        Of each step: the paper's cost after it, and G before it. Neither has to fall.
    n_iter_ : int
    converged_ : bool
        Whether the cost came to rest within `tol`. There is no warning if it didn't.
    classes_ : ndarray of shape (n_classes,)
    algorithm_ : {"stored", "blocks"}
        Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; W0 of another
        shape, not symmetric, zero, or indefinite; `smallest` removes all of W; a parameter out of range.
    TypeError
        A parameter is of another type.
    MemoryError
        The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.
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

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        sigma: float | str = "auto",
        max_iter: int = 10,
        tol: float = 1e-4,
        prefilter: str | None = "auto",
        clip: bool = False,
        smallest: float | str | None = None,
        negligible: float = 0.0,
        W0: Any = None,
        scaling: str | None = "standard",
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.sigma = sigma
        self.max_iter = max_iter
        self.tol = tol
        self.prefilter = prefilter
        self.clip = clip
        self.smallest = smallest
        self.negligible = negligible
        self.W0 = W0
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "Immigrate":
        """Weigh the features of X and their pairs.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            Sparse X is made dense.
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        Immigrate
            Itself.
        """
        with self._all_or_nothing():
            options = self._options()
            data, budget, self.classes_, codes = self._read(X, y)
            W0 = _immigrate.start_matrix(self.W0, data.shape[1], self.prefilter, self.clip)
            stage = self._stage(data, budget, self.scaling)
            result, before, stored, said = _immigrate.fit_immigrate(stage, codes, self.classes_, options, W0)
            self.scores_ = result.scores
            self.ranking_ = rank_features(self.scores_)
            self.kept_features_ = result.features
            for name in ("eigenvalues", "eigenvectors", "sigma", "cost", "objective", "n_iter", "converged"):
                setattr(self, f"{name}_", getattr(result, name))
            self._W = result.W
            self.interactions_ = result.top_pairs(self._INTERACTIONS)
            self.prefilter_weights_ = None if before is None else before.weights
            self.algorithm_ = _algorithm(stored)
            self._keep(data, codes, self.kept_features_)
            warn(said)
        return self

    @property
    def W_(self) -> npt.NDArray[np.float64]:
        eigenvalues = self.eigenvalues_  # an AttributeError of its own before the fit
        return _margin.matrix(eigenvalues, self.eigenvectors_.T) if self._W is None else self._W

    def top_pairs(self, n: int = 20, by: str = "weight") -> Array:
        """The strongest pairs of features.

        Parameters
        ----------
        n : int
            How many, if there are as many.
        by : {"weight", "residual"}
            \\|W_ab\\|, or what is left of it without the leading eigenpair of W: what isn't just a product of two
            strong features.

        Returns
        -------
        ndarray with the fields a < b (columns of X), weight and residual, the strongest first.
        """
        check_is_fitted(self, "ranking_")
        vectors = np.ascontiguousarray(self.eigenvectors_.T)
        return _margin.top_pairs(self.kept_features_, self.eigenvalues_, vectors, n, by)

    _KEEP = "sqeuclidean"

    def _options(self) -> dict[str, Any]:
        return _immigrate.immigrate_options(
            self.sigma, self.max_iter, self.tol, self.prefilter, self.clip, self.smallest, self.negligible
        )

    def _scores_of(self, stage: _margin.Stage, codes: _margin.Codes, classes: Array) -> Array:
        W0 = _immigrate.start_matrix(self.W0, stage.X.shape[1], self.prefilter, self.clip)
        return _immigrate.fit_immigrate(stage, codes, classes, self._options(), W0)[0].scores

    def _metric(self) -> Any:
        return core().MarginMetric(self.sigma_, None, self.eigenvalues_, np.ascontiguousarray(self.eigenvectors_.T))
