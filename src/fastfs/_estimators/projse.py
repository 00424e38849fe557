"""The scikit-learn estimator of ProjSe."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fastfs._estimators.selector import _KernelSelector
from fastfs._functions import projse as _projse
from fastfs._functions.outcome import Outcome
from fastfs._inference.permutation import Scorer, refit
from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.source import Source, is_dask, is_stream
from fastfs._inputs.targets import as_records, as_rows, read_chunk, read_classes, read_target
from fastfs._machine.run import Run, core
from fastfs._types import Array, Integers, Progress

_SCORES_BYTES = 1 << 26  # of the scores of several labelings that are held at once


class ProjSe(_KernelSelector):
    """Select few features that together explain a target and don't repeat each other.

    At most as many features can be selected as the target's kernel has independent directions: with class labels the
    number of classes, less one if centred (the default); with one column of numbers a single one. This is no ranking of
    all features.

    Each target and feature is a vector over the samples, with a kernel between them. A feature's score is the squared
    length of its projection on the span of the targets; the best one is chosen, its direction is taken out of the span,
    and so on. With the linear kernel the first scores are squared multiple correlations (of the feature with all
    targets, with ``center=True``; eta squared of the one-way ANOVA with labels, unless ``center=False``).

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number or fraction of the features; None: 10, or as many as there are. Fewer come back if the rank is less.
    kernel : {"linear", "poly", "rbf"} or a C function
        Between variables. "poly" is (a' b)^degree. Only "linear" is invariant to an invertible mixing of the targets. A
        function of your own as for :func:`fastfs.affinity`: clones share it.
    degree : int
        For ``kernel="poly"``.
    sigma : {"mean", "sqrt_m"} or float
        Scale of the rbf kernel exp(-\\|a - b\\|^2 / (2 sigma^2)): the mean distance over all n_targets^2 pairs of
        targets, the square root of n_samples, or a number.
    center : "auto" or bool
        Subtract its mean from every column of X and y. "auto" is True with labels and False, the paper's setting, with
        numbers or without a target; ``center=False`` is the paper's setting for labels, too. Without centring, any
        labels explain nearly all of a feature whose values are all positive, such as raw expression values.
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
    selected_ : ndarray of shape (n_selected,), int64
        Indices of the selected features in order of choice.
    n_selected_ : int
    selection_scores_, gaps_, captured_ : ndarray of shape (n_selected,)
        Of each choice: its score at that moment; that score less the best rival's, which tells how arbitrary it was;
        and the share of the sum of all `scores_` explained by then.
    kernel_rank_ : int or None
        Rank of the target's kernel. Without a target the number of features after which nothing is left, or None if
        more could be selected.
    sigma_ : float or None
        The scale used, if the kernel has one.
    center_ : bool
        Whether columns were centred, which ``center="auto"`` decides.
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
    Three classes: at most two features.

    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = fastfs.ProjSe(2).fit(X, y)
    >>> selector.selected_.tolist(), selector.selection_scores_.round(4).tolist()
    ([6, 0], [0.7278, 0.5467])
    >>> selector.transform(X).shape
    (178, 2)
    """

    _RESULTS = (*(f"{field.name}_" for field in fields(_projse.ProjSeResult)), "n_selected_")

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        kernel: Any = "linear",
        degree: int = 3,
        sigma: str | float = "mean",
        center: bool | str = "auto",
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
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Streams are paths (.h5ad, .zarr, .npy, .bed), HDF5, Zarr and Dask arrays, backed `adata.X`, iterators of
            blocks of rows, and functions that return one; they are read once. If a mapped file (.npy, .bed) is cut
            meanwhile, the system ends the process (SIGBUS).
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None
            1-D: labels of any sortable type, unless they are floats with a fractional part, which are one column of
            numbers (scikit-learn's `type_of_target`). 2-D: columns of numbers; so ``y.reshape(-1, 1)`` makes numbers
            of whole numbers. An iterator of chunks of numbers beside an iterator X. None: X explains itself.

        Returns
        -------
        ProjSe
            Itself.
        """
        options, run = _projse.Options.of(self), Run.of(self)
        with self._all_or_nothing():
            self._forget()
            check = None
            if not is_stream(X):
                X = self._validate_matrix(X, run)
            elif is_dask(X):
                self.n_features_in_ = Source.of(X).shape[1]
            else:
                check = partial(self._validate_matrix, run=run)
            outcome, classes = _projse.fit(X, y, self.n_features_to_select, options, run, check=check)
            if classes is not None:
                self.classes_ = classes
            self._deliver(outcome)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> "ProjSe":
        """Add rows; features are selected when a result is first asked for.

        A chunk that is refused or interrupted leaves what has been added as it was.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None
            Labels if `classes` was given at the first call, else columns of numbers.
        classes : array-like of shape (n_classes,)
            All labels that will come; at the first call.

        Returns
        -------
        ProjSe
            Itself.
        """
        _projse.Options.of(self)  # its checks
        with self._all_or_nothing(forget=False):
            self._add(X, y, classes, Run.of(self))
        return self

    def _add(self, X: Any, y: Any, classes: Any, run: Run) -> None:
        own = self.__dict__
        first = "_sums" not in own
        if first:
            self._forget()
        known = own.get("_classes")
        if classes is not None:
            given = read_classes(classes)
            if not first and (known is None or not np.array_equal(known, given)):
                raise ValueError("classes must be those of the first call of partial_fit")
            known = given
        read = partial(read_chunk, classes=known)
        if is_stream(X):
            check = partial(self._validate_matrix, run=run) if first else None
            names = None if first else own.get("feature_names_in_")
            sums, _ = _projse.collect(X, y, run, whole=read, chunk=read, check=check, names=names)
            if not first:
                own["_sums"].merge(sums)
        else:
            X = as_matrix(self._validate_matrix(X, run, reset=first), run)
            if hasattr(y, "columns") and own.setdefault("_target_names", list(y.columns)) != list(y.columns):
                raise ValueError("y must have the columns of the first chunk, in the same order")
            target = read(y, X.shape, run)
            sums = core().ProjseSums(target.n_columns, X.shape[1], False, run) if first else own["_sums"]
            sums.update(X, target.numbers, target.labels, run)
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
        options, run = _projse.Options.of(self), Run.of(self)
        self._deliver(_projse.select(self.__dict__["_sums"], self.n_features_to_select, options, run))
        return self.__dict__[name]

    def _scorer(self, X: Any, y: Any) -> tuple[Array, Scorer]:
        options, run = _projse.Options.of(self), Run.of(self)
        if is_stream(X):
            return refit(self, X, y)
        data = as_matrix(self._validate_matrix(X, run), run)
        classes, values = self._response(y, data.shape)
        if classes is None or not options.is_linear:
            return values, self._fits(data, classes)
        at_once = max(1, _SCORES_BYTES // (8 * data.shape[1]))

        def scorer(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for begin in range(0, len(labelings), at_once):
                some = np.stack(labelings[begin : begin + at_once])
                for scores in core().projse_label_scores(data, some, len(classes), options.core(), run):
                    yield scores, float(scores.max())

        return values, scorer

    def _fits(self, data: Any, classes: Array | None) -> Scorer:
        """Return the scorer that fits each labeling, or each order of the rows of numbers."""

        def scorer(permutations: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for values in permutations:
                target = as_rows(values) if classes is None else classes[values]
                scores = self.fit(data, target).scores_
                yield scores, float(scores.max())

        return scorer

    def _sums_serve(self, X: Any, with_rest: bool) -> bool:
        """Whether `_sum_groups` is to read X: any, whatever groups are compared with."""
        return True

    def _sum_groups(
        self, X: Any, groups: Integers, n_groups: int, rows: Integers | None, columns: Integers | None
    ) -> _projse.GroupSums:
        """Return sums over the groups of X, for `_fit_groups`."""
        return _projse.GroupSums(X, groups, n_groups, Run.of(self), rows=rows, columns=columns)

    def _fit_groups(self, sums: _projse.GroupSums, labels: Integers, classes: Array) -> "ProjSe":
        """Fit with these labels of the groups, places among the classes; groups with -1 stay out."""
        options, run = _projse.Options.of(self), Run.of(self)
        with self._all_or_nothing():
            self._forget()
            self.classes_ = classes
            self._deliver(sums.select(labels, self.n_features_to_select, options, run))
            self.n_features_in_ = len(self.scores_)
        return self

    def _response(self, y: Any, shape: tuple[int, int]) -> tuple[Array | None, Array]:
        """Return the classes, if there are any, and the target of each sample: several numbers are one record."""
        target = read_target(y, shape, Run.of(self))
        if target.classes is not None:
            return target.classes, target.labels
        if target.numbers is None:
            return None, np.zeros(shape[0])
        return None, as_records(target.numbers)

    def _forget(self) -> None:
        for name in (*self._RESULTS, "classes_", "_sums", "_classes", "_target_names"):
            self.__dict__.pop(name, None)

    def _deliver(self, outcome: Outcome[_projse.ProjSeResult]) -> None:
        for field in fields(outcome.result):
            setattr(self, f"{field.name}_", getattr(outcome.result, field.name))
        self.n_selected_ = len(self.selected_)
        outcome.deliver()

    def _get_support_mask(self) -> Array:
        check_is_fitted(self, "ranking_")
        mask: Array = self.ranking_ <= self.n_selected_
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.two_d_labels = True
        return tags
