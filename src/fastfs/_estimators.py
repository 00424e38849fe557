"""The scikit-learn estimators: one class a method over the functions in ``_<method>.py``."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fastfs import _manifest, _projse
from fastfs._base import (
    Array,
    Progress,
    as_chunks,
    as_progress,
    count_selected,
    count_threads,
    encode_labels,
    parse_memory,
    rank_features,
    require_plain,
    same_columns,
    warn_data,
)
from fastfs._permutation import Scorer, refit


class _Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: input validation, and a support cut from `ranking_`."""

    n_features_to_select: int | float | None

    def _validate(self, X: Any, y: Any, max_memory: int | str | None) -> tuple[list[Any], int, Array, Array]:
        """Return X and the memory budget as of `as_chunks`, the classes and the codes as of `encode_labels`."""
        X = self._validate_chunks(X) if hasattr(X, "__next__") else self._validate_matrix(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        chunks, budget = as_chunks(X, parse_memory(max_memory), y)
        return chunks, budget, *encode_labels(y, sum(chunk.shape[0] for chunk in chunks), chunks[0].shape[1])

    @contextmanager
    def _all_or_nothing(self, *, forget: bool = True) -> Iterator[None]:
        """Forget an earlier fit; and bring it back, whole, if this one fails."""
        before = self.__dict__.copy()
        for name in [name for name in before if forget and name.endswith("_")]:
            delattr(self, name)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _validate_chunks(self, X: Iterator[Any]) -> Iterator[Any]:
        """Validate the first chunk, which sets the number and the names of the features; later ones have the same."""
        for number, chunk in enumerate(same_columns(chunk for chunk in X if np.shape(chunk)[:1] != (0,))):
            yield chunk if number else self._validate_matrix(chunk)

    _accept_sparse: tuple[str, ...] | bool = ("csr", "csc")

    def _validate_matrix(self, X: Any, *, reset: bool = True) -> Any:
        require_plain(X)
        try:
            # Finiteness is left to the core, which looks at every value anyway and names the first bad one.
            return validate_data(
                self, X, accept_sparse=self._accept_sparse, dtype="numeric", ensure_all_finite=False, reset=reset
            )
        except OverflowError as error:
            raise ValueError(f"X must hold numbers only: {error}") from None

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
    """Select features whose relations to the other features differ between classes.

    In each class, features are points whose distances form a kernel; the kernels of two classes are compared as points
    of a Riemannian manifold, and a feature's score is its share of their difference. That finds features that no
    univariate test sees, such as exclusive-or pairs. It doesn't find a feature whose relations to the others stay what
    they are (`combine` helps), and it also reports features that are tied to relevant ones.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features to keep; None: half of them.
    kernel : "rbf" or a C function
        The Gaussian kernel, or one of your own, as for :func:`fastfs.affinity`; it must be positive semidefinite.
        Clones share the function; an estimator that has one can't be pickled.
    sigma : {"median", "percentile", "grid"} or array-like of float
        Scale of the kernel of each class: `sigma_factor` times the median distance between features, the
        `sigma_percentile`-th percentile of these distances, or the scales themselves, in the shape of `sigma_`. "grid"
        fits many scales, reports them in `sensitivity_`, and keeps the scores of the median rule. No single rule
        serves all data; tune it like any other parameter.
    sigma_factor : float
        For ``sigma="median"`` and "grid".
    sigma_percentile : float
        For ``sigma="percentile"``, in (0, 100).
    normalize : int
        How many times each kernel is divided by the square roots of its row sums on both sides; the paper uses 0 or 3.
    form : {"pencil", "spd", "spsd"}
        How kernels are compared. "spd" (the equations as printed; full rank only) and "spsd" (the paper's Algorithm 2
        with the thresholds of the authors' program) are there to reproduce results; "pencil" equals them at full rank.
    accuracy : {"auto", "exact", "fast", "high"}
        "exact": kernels of n_features x n_features. "fast" and "high": kernels of rank `rank`, from landmark features
        or from random projections, for any number of features; they approximate the ranking. "auto": exact up to 5000
        features if that fits the memory, else fast; `accuracy_` and `accuracy_reason_` tell.
    rank : int
        Of the kernels in "fast" and "high". Above a quarter of the features the exact form is used, with a warning.
    multiclass : {"ovr", "ovo", "raise"}
        More than two classes: each against the rest, all pairs, or an error. Scores are means over the comparisons.
    combine : "f", array-like of shape (n_features,), estimator or None
        Univariate scores to add, both sides scaled to [0, 1]: of the F test, given ones, or of an estimator that has
        ``scores_`` once fitted, such as ``SelectKBest(mutual_info_classif)``.
    n_components : int
        Number of leading eigenpairs of the mean and of the difference to keep, for looking at what a score rests on.
    random_state : int, Generator, RandomState or None
        Of what "fast" and "high" draw. The same int gives the same scores, to the bit.
    n_jobs : int or None
        Threads. None means all cores that this process may use (here fastfs differs from scikit-learn), and one inside
        a joblib worker. The comparisons of more than two classes run side by side where ``joblib.parallel_config`` asks
        for workers, processes or machines, with the same result.
    max_memory : int, str or None
        Budget in bytes, or such as "4G"; None: ``FASTFS_MAX_MEMORY`` or what the machine has available.
    verbose : bool or callable
        True prints progress on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Diagonal of \\|D\\|, D the difference of the kernels (eq. 4); not negative, larger is better. With several
        comparisons their mean; with `combine` the sum of both scores.
    class_scores_ : ndarray of shape (n_classes, n_features)
        The same for each class: its comparison with the rest, or the mean over the pairs with it. Without `combine`.
    manifest_scores_ : ndarray of shape (n_features,)
        With `combine`: the scores before it.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    sigma_ : ndarray of shape (n_classes,) or (n_classes, 2)
        The scale of each class, in units of the distances; one against the rest: of each class and of the rest.
    kept_trace_ : ndarray of the shape of `sigma_`
        Share of each kernel's trace that its low-rank form keeps; 1 if exact.
    agreement_ : float, or ndarray of shape (n_comparisons,)
        "fast" and "high": rank correlation of their scores with the exact ones, on 500 to 1000 features drawn at random
        and taken by themselves. That of all features is lower as a rule. 1 if exact.
    kernel_rank_ : int, or ndarray of shape (n_comparisons,)
        Numerical rank of the sum of the two kernels; with ``form="spsd"``, that to which both are cut. If exact and
        below n_features, digits beyond 1e-6..1e-4 of a score are rounding.
    accuracy_, accuracy_reason_ : str
        The form that was used, and why.
    classes_ : ndarray of shape (n_classes,)
    mean_eigenvalues_, difference_eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues, by magnitude, of the geometric mean M of the kernels (eq. 2) and of D (eq. 3). With several
        comparisons one row for each: the classes in order, or ``itertools.combinations(classes_, 2)``.
    mean_eigenvectors_, difference_eigenvectors_ : ndarray of shape (n_features, n_components)
        Their eigenvectors: what the classes share, and where they differ. The entry of largest magnitude is positive.
        With several comparisons one such matrix for each. In "fast" and "high" they are those within the range of the
        low-rank kernels, and zeros where it has fewer.
    sensitivity_ : dict of arrays
        With ``sigma="grid"``, one entry a scale, in ascending order for each number of normalisations: `scale` (in
        words), `normalize`, `sigma`, `scores`; `spearman_next` and `overlap_next`, the rank correlation with the next
        scale and the share of the best features in common (`n_features_to_select`, by default up to 50);
        `contrast`, the largest score over the median one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); fewer than two features; a parameter out
        of range; all features equal within a class.
    MemoryError
        The fit would exceed the budget; nothing was allocated.
    numpy.linalg.LinAlgError
        LAPACK failed; a kernel is singular (form "spd") or not positive semidefinite.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; the distance to take sigma from is 0; the kernels of both classes agree; a low-rank
        kernel keeps less than half of its trace; `agreement_` is below 0.9; `rank` is too large to gain
        anything; neighbouring scales of the grid
        share less than half of the best features.

    Notes
    -----
    Exact: time O(n_features^3), dominated by two symmetric eigenproblems a comparison; memory 32 n_features^2 bytes,
    8 more for one against the rest and 16 for the grid.
    Fast: time O(n_features (4 rank) (n_samples + 4 rank)), high: O(n_features^2 (n_samples + 2 rank)); memory
    O(n_features (n_samples + 7 rank)). The result doesn't depend on the number of threads.

    With K1 + K2 = L L', L^-1 (K1 - K2) L^-T = Y diag(nu) Y' and W = L Y, D = W diag(h(nu)) W' with
    h(nu) = sqrt(1 - nu^2) artanh(nu) / 2, which is the paper's D without the inverse of a kernel; singular kernels are
    cut to their numerical rank. Computed in float64 whatever X is, but for the tiles of "high".

    References
    ----------
    .. [1] D. Cohen, T. Shnitzer, Y. Kluger, R. Talmon, "ManiFeSt: Manifold-based Feature Selection for Small Data
       Sets", arXiv:2207.08574, 2022, eqs. 1-4 and Algorithm 2.

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
    >>> selector.accuracy_, selector.accuracy_reason_
    ('exact', '100 features are no more than 5000')
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        kernel: Any = "rbf",
        sigma: Any = "median",
        sigma_factor: float = 0.5,
        sigma_percentile: float = 50.0,
        normalize: int = 0,
        form: str = "pencil",
        accuracy: str = "auto",
        rank: int = 50,
        multiclass: str = "ovr",
        combine: Any = None,
        n_components: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_factor = sigma_factor
        self.sigma_percentile = sigma_percentile
        self.normalize = normalize
        self.form = form
        self.accuracy = accuracy
        self.rank = rank
        self.multiclass = multiclass
        self.combine = combine
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "ManiFeSt":
        """Score the features of X.

        Parameters
        ----------
        X : array-like, DataFrame, sparse, or iterator of such row chunks, of shape (n_samples, n_features)
            Chunks are kept until the fit has ended.
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        ManiFeSt
            Itself.
        """
        with self._all_or_nothing():
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        chunks, budget, classes, codes = self._validate(X, y, self.max_memory)
        # A bad number is refused before the work, not after.
        top = count_selected(self.n_features_to_select, chunks[0].shape[1])
        stage = _manifest.Stage(
            chunks, n_threads=count_threads(self.n_jobs), budget=budget, progress=as_progress(self.verbose)
        )
        others = None if self.combine is None else _manifest.other_scores(self.combine, chunks, classes[codes])
        fitted = self._fit_stage(stage, codes, classes, None if self.n_features_to_select is None else top)
        self.classes_ = classes
        self.scores_ = fitted["scores"]
        self.class_scores_ = fitted["class_scores"]
        if others is not None:
            self.manifest_scores_ = self.scores_
            self.scores_ = _manifest.blend(self.scores_, others)
        self.ranking_ = rank_features(self.scores_)
        self.sigma_ = fitted["sigma"]
        self.kept_trace_ = fitted["kept_trace"]
        self.accuracy_, self.accuracy_reason_ = fitted["accuracy"], fitted["reason"]
        ranks = fitted["ranks"]
        several = len(ranks) > 1
        self.kernel_rank_ = ranks if several else int(ranks[0])
        self.agreement_ = fitted["agreement"] if several else float(fitted["agreement"][0])
        for part in ("mean", "difference"):
            values, vectors = fitted[f"{part}_values"], fitted[f"{part}_vectors"].swapaxes(1, 2)
            setattr(self, f"{part}_eigenvalues_", values if several else values[0])
            setattr(self, f"{part}_eigenvectors_", vectors if several else vectors[0])
        if "sensitivity" in fitted:
            self.sensitivity_ = fitted["sensitivity"]

    def _fit_stage(self, stage: _manifest.Stage, codes: Array, classes: Array, top: int | None) -> dict[str, Any]:
        return stage.fit(
            codes,
            classes,
            kernel=self.kernel,
            sigma=self.sigma,
            sigma_factor=self.sigma_factor,
            sigma_percentile=self.sigma_percentile,
            normalize=self.normalize,
            form=self.form,
            accuracy=self.accuracy,
            rank=self.rank,
            multiclass=self.multiclass,
            n_components=self.n_components,
            random_state=self.random_state,
            top=top,
        )

    def _scorer(self, X: Any, y: Any) -> tuple[Array, Scorer]:
        chunks, budget, classes, codes = self._validate(X, y, self.max_memory)
        # Low-rank kernels take no distances between all features.
        exact = self.accuracy == "exact" or (self.accuracy == "auto" and chunks[0].shape[1] <= _manifest.EXACT_AT_MOST)
        stage = _manifest.Stage(chunks, keep_distances=exact, n_threads=count_threads(self.n_jobs), budget=budget)

        def scorer(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for labels in labelings:
                scores = self._fit_stage(stage, labels, classes, None)["scores"]
                if self.combine is not None:
                    scores = _manifest.blend(scores, _manifest.other_scores(self.combine, chunks, classes[labels]))
                yield scores, float(scores.max())

        return codes, scorer

    def __sklearn_clone__(self) -> "ManiFeSt":
        # A C function can't be copied, but needn't be: clones share it.
        shell = copy.copy(self)
        shell.kernel = "rbf"
        twin: ManiFeSt = super(ManiFeSt, shell).__sklearn_clone__()
        twin.kernel = self.kernel
        return twin

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=self.multiclass != "raise")
        return tags


class ProjSe(_Selector):
    """Select few features that together explain a target, and don't say the same thing twice.

    At most as many features can be selected as the target's kernel has independent directions: with class labels the
    number of classes, one less if centred; with one column of numbers a single one. This is no ranking of all features.

    Each target and feature is a vector over the samples, with a kernel between them. A feature's score is the squared
    length of its projection on the span of the targets; the best one is chosen, its direction is taken out of the span,
    and so on. With the linear kernel the first scores are squared multiple correlations (of the feature with all
    targets; eta squared of the one-way ANOVA with labels, both with ``center=True``).

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features; None: 10, or as many as there are. Fewer come back if the rank is less.
    kernel : {"linear", "poly", "rbf"} or a C function
        Between variables. "poly" is (a' b)^degree. Only "linear" is invariant to an invertible mixing of the targets. A
        function of your own as for :func:`fastfs.affinity`.
    degree : int
        For ``kernel="poly"``.
    sigma : {"mean", "sqrt_m"} or float
        Scale of the rbf kernel exp(-\\|a - b\\|^2 / (2 sigma^2)): the mean distance over all n_targets^2 pairs of
        targets, the square root of n_samples, or a number.
    center : bool
        Subtract its mean from every column of X and y. False is the paper; True is what makes scores correlations, and
        recommended: without it, nearly constant positive columns win.
    normalize : bool
        Scale kernels to a unit diagonal.
    eps : float
        Eigenvalues of the target's kernel below `eps` (of its largest diagonal entry) don't count; they set its rank.
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
        Of every feature before any choice; 0 for columns without values (constant ones, if centred).
    ranking_ : ndarray of shape (n_features,), int64
        1 is best: the selected ones in order, then the others by `scores_`.
    selected_ : ndarray of shape (n_selected_,), int64
        Indices of the selected features in order of choice.
    n_selected_ : int
    selection_scores_, gaps_, captured_ : ndarray of shape (n_selected_,)
        Of each choice: its score at that moment; that score less the best rival's, which tells how arbitrary it was;
        and the share of the sum of all `scores_` explained by then.
    kernel_rank_ : int or None
        Rank of the target's kernel. Without a target the number of features after which nothing is left, or None if
        more could be selected.
    sigma_ : float or None
        The scale used, if the kernel has one.
    classes_ : ndarray of shape (n_classes,)
        If y held labels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Raises
    ------
    ValueError
        NaN or infinity (the column is named); X and y of different lengths; one class only; a target or X without any
        column that has values (varies, if centred); a parameter out of range.
    MemoryError
        The fit would exceed the budget; nothing was allocated.
    numpy.linalg.LinAlgError
        LAPACK failed.

    Warns
    -----
    fastfs.DataWarning
        Fewer features are selected than asked for; the first choice is a tie (without a target it always is); no score
        reaches 1e-8; the target spans all samples; its columns are nearly dependent.

    Notes
    -----
    One pass over the rows: O(n_samples n_targets (n_targets + 2 n_features)) time and
    8 n_targets (n_targets + 2 n_features) bytes beside X, which is read as it is. Sums are kept about the mean and in
    float64, whatever the kernel is; results of chunks agree with those of all rows within 1e-12. Without a target:
    pivoted Cholesky, O(n_features n_selected (n_samples + n_selected)) time if there are fewer samples than features,
    else O(n_samples n_features^2). More targets than samples (linear kernel): their span comes from an
    n_samples x n_samples matrix. The result doesn't depend on the number of threads.

    This is the algorithm of the paper's Figure 3. The authors' program doesn't take the first chosen direction out, so
    that a copy of the first feature can come second there.

    References
    ----------
    .. [1] S. Szedmak, R. Huusari, T. H. Duong Le, J. Rousu, "Scalable variable selection for two-view learning tasks
       with projection operators", 2023, Figure 3.

    Examples
    --------
    Three classes, centred: at most two features.

    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = fastfs.ProjSe(2, center=True).fit(X, y)
    >>> selector.selected_.tolist(), selector.selection_scores_.round(4).tolist()
    ([6, 0], [0.7278, 0.5467])
    >>> selector.transform(X).shape
    (178, 2)
    """

    _RESULTS = (
        "scores_",
        "ranking_",
        "selected_",
        "n_selected_",
        "selection_scores_",
        "gaps_",
        "captured_",
        "kernel_rank_",
        "sigma_",
    )

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        kernel: Any = "linear",
        degree: int = 3,
        sigma: str | float = "mean",
        center: bool = False,
        normalize: bool = True,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.degree = degree
        self.sigma = sigma
        self.center = center
        self.normalize = normalize
        self.eps = eps
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "ProjSe":
        """Select features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or what streams it
            Streams are iterators of row chunks, Dask arrays, and HDF5 and Zarr arrays; they are read once.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None
            1-D: labels of any sortable type, unless they are floats with a fractional part, which are one column of
            numbers (scikit-learn's `type_of_target`). 2-D: columns of numbers; so ``y.reshape(-1, 1)`` makes numbers
            of whole numbers. An iterator of chunks of numbers beside an iterator X. None: X explains itself.

        Returns
        -------
        ProjSe
            Itself.
        """
        options, call = self._options(), self._call()
        with self._all_or_nothing():
            self._forget()
            stream = _projse.is_stream(X)
            if not stream:
                X = self._validate_matrix(X)
            elif hasattr(X, "shape"):
                self.n_features_in_ = int(X.shape[1]) if len(X.shape) == 2 else 0
            check = self._validate_matrix if hasattr(X, "__next__") else None
            result, messages, classes = _projse.score_target(X, y, self.n_features_to_select, options, call, check)
            if classes is not None:
                self.classes_ = classes
            self._keep(result, messages)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> "ProjSe":
        """Add rows; features are selected when a result is first asked for.

        A chunk that is refused or interrupted leaves what has been added as it was.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or what streams it
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None
            Labels if `classes` was given at the first call, else columns of numbers.
        classes : array-like of shape (n_classes,)
            All labels that will come; at the first call.

        Returns
        -------
        ProjSe
            Itself.
        """
        self._options()
        with self._all_or_nothing(forget=False):
            self._add(X, y, classes, self._call())
        return self

    def _add(self, X: Any, y: Any, classes: Any, call: _projse.Call) -> None:
        own = self.__dict__
        first = "_sums" not in own
        if first:
            self._forget()
        known = own.get("_classes")
        if classes is not None:
            given = _projse.read_classes(classes)
            if not first and (known is None or not np.array_equal(known, given)):
                raise ValueError("classes must be those of the first call of partial_fit")
            known = given
        read = partial(_projse.read_chunk, classes=known)
        if _projse.is_stream(X):
            check = self._validate_matrix if first else None
            names = None if first else own.get("feature_names_in_")
            sums, _ = _projse.collect(X, y, call, whole=read, chunk=read, check=check, names=names)
            if not first:
                own["_sums"].merge(sums)
        else:
            X = call.matrix(self._validate_matrix(X, reset=first))
            if hasattr(y, "columns") and own.setdefault("_target_names", list(y.columns)) != list(y.columns):
                raise ValueError("y must have the columns of the first chunk, in the same order")
            target = read(y, X.shape, call)
            sums = _projse.new_sums(target, X.shape[1], call) if first else own["_sums"]
            sums.update(X, *target.arguments(), *call.arguments)
        if first:
            self._sums = sums
            self._classes = known
            if known is not None:
                self.classes_ = known
        else:
            for name in self._RESULTS:
                own.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        if name not in ProjSe._RESULTS or "_sums" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        self._keep(*_projse.select(self.__dict__["_sums"], self.n_features_to_select, self._options(), self._call()))
        return self.__dict__[name]

    def _scorer(self, X: Any, y: Any) -> tuple[Array, Scorer]:
        options = self._options()
        if not options.is_linear() or _projse.is_stream(X):
            return refit(self, X, y)
        data = self._call().matrix(self._validate_matrix(X))
        classes, codes = encode_labels(y, *data.shape)

        def scorer(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for scores in _projse.scores_of_labels(data, labelings, len(classes), options):
                yield scores, float(scores.max())

        return codes, scorer

    def _options(self) -> _projse.Options:
        return _projse.Options(self.kernel, self.degree, self.sigma, self.center, self.normalize, self.eps)

    def _call(self) -> _projse.Call:
        return _projse.Call(count_threads(self.n_jobs), self.max_memory, as_progress(self.verbose))

    def _forget(self) -> None:
        for name in (*self._RESULTS, "classes_", "_sums", "_classes", "_target_names"):
            self.__dict__.pop(name, None)

    def _keep(self, result: _projse.ProjSeResult, messages: list[str]) -> None:
        for name in (n for n in self._RESULTS if n != "n_selected_"):
            setattr(self, name, getattr(result, name.rstrip("_")))
        self.n_selected_ = len(result.selected)
        warn_data(messages)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self, "ranking_")
        mask: Array = self.ranking_ <= self.n_selected_
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.two_d_labels = True
        return tags
