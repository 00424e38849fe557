"""The scikit-learn estimators of RELIEF, ReliefF and MultiSURF."""

from typing import Any

from fastfs._estimators.margin import _MarginSelector
from fastfs._functions.relief import MultiSURFOptions, ReliefFOptions, ReliefOptions, fit
from fastfs._types import Progress


class Relief(_MarginSelector):
    """Select features by RELIEF: those in which samples are farther from their nearest miss than their nearest hit.

    A sample's nearest hit (of its class) and nearest miss (of another) are found by the distance over all features. A
    feature scores high if it differs between sample and miss, and not between sample and hit. So features that matter
    only together are found, as long as not too many others blur the distances.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    n_targets : int or None
        Number of samples, drawn at random, whose neighbours are used; None: all.
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

    _OPTIONS = ReliefOptions
    _KEEP = "sqeuclidean"
    _fit = staticmethod(fit)


class ReliefF(_MarginSelector):
    """Select features by ReliefF: RELIEF with several neighbours, and with misses of each class apart.

    The nearest hits of each sample and its nearest misses in each other class are found by Manhattan distance over all
    features. A feature scores high if it differs between sample and misses, and not between sample and hits.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    n_neighbors : int
        Hits of each sample, and misses in each other class. More neighbours average out noise, but are less local.
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

    _OPTIONS = ReliefFOptions
    _KEEP = "manhattan"
    _fit = staticmethod(fit)


class MultiSURF(_MarginSelector):
    """Select features by MultiSURF: ReliefF without a number of neighbours to choose.

    A sample's neighbours are all that lie nearer than the mean of its distances less half of their standard deviation.
    If classes are well separated, samples have no near misses; then nearly all scores are negative.

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

    _OPTIONS = MultiSURFOptions
    _KEEP = "manhattan"
    _fit = staticmethod(fit)
