"""The scikit-learn estimator of ProjSe."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from fastfs._estimators.contract import Tags
from fastfs._estimators.selector import _KernelSelector, _Resources, estimator_class
from fastfs._functions import projse as _projse
from fastfs._functions.outcome import Outcome
from fastfs._inference.scorers import Labels, Scorer, make_refitting_scorer
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.given import Given, is_table
from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.source import as_stream
from fastfs._inputs.targets import as_records, as_rows, read_chunk, read_classes, read_target
from fastfs._machine.params import is_auto, some_of
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Integers

_SCORES_BYTES = 1 << 26  # size of the scores that are held together, of several labelings


@estimator_class
class ProjSe(_projse.ProjSeFields, _Resources, _KernelSelector):
    """Select few features that together explain a target and don't repeat each other.

    At most as many features can be selected as the target's kernel has independent directions: with class labels the
    number of classes, less one if centred (the default); with one column of numbers a single one. This isn't a ranking
    of all features. ``beyond="residual"`` goes on.

    Each target and feature is a vector over the samples, with a kernel between them. A feature's score is the squared
    length of its projection on the span of the targets; the best one is chosen, its direction is taken out of the span,
    and so on. With the linear kernel the first scores are squared multiple correlations (of the feature with all
    targets, with ``center=True``; eta squared of the one-way ANOVA with labels, unless ``center=False``).

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None
        Number or fraction of the features; None: 10, or all if X has fewer. Fewer come back if the rank is less.
        "auto": those of the ten that have a family-wise p-value of at most 0.05, as for :class:`fastfs.ReliefF`.
    kernel : {"linear", "poly", "rbf"} or a C function
        Kernel between variables. "poly" is (a' b)^degree. Only "linear" is invariant to an invertible mixing of the
        targets. Clones share a C function, which is as for :func:`fastfs.affinity`.
    degree : int
        For ``kernel="poly"``.
    sigma : {"mean", "sqrt_m"} or float
        Scale of the rbf kernel exp(-\\|a - b\\|^2 / (2 sigma^2)): the mean distance over all n_outputs^2 pairs of
        targets, the square root of n_samples, or a number.
    center : "auto" or bool
        Subtract its mean from every column of X and y. "auto" is True with labels and False, the paper's setting, with
        numbers or without a target; ``center=False`` is the paper's setting for labels, too. Without centring, any
        labels explain nearly all of a feature with positive values only, such as raw expression values.
    normalize : bool
        Scale kernels to a unit diagonal.
    eps : float
        Eigenvalues of the target's kernel below `eps` (of its largest diagonal entry) don't count; they set its rank.
    beyond : {"residual"} or None
        When the selected features have used up the span of the target: stop, as the paper does (None), or go on with
        the feature that explains most of the target's residual, as orthogonal least squares do [2]_. Needs the inner
        products of X's columns: X stays as it is in memory, while chunks keep n_features^2 sums and must be dense.
    given : array-like or None
        Columns that are there already: columns of X (numbers, names or a mask), or a table of numbers with the rows of
        X (age, a score). Their linear span is taken out of all features and of the target first, so that scores tell
        how much a feature adds; given columns score 0. Costs the sums of as many more targets.
    <resources>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Score of every feature before any choice; 0 for columns without values (constant ones, if centred).
    ranking_ : ndarray of shape (n_features,), int64
        1 is best: the selected ones in order, then the others by `scores_`.
    selected_ : ndarray of shape (n_selected,), int64
        Indices of the selected features in order of choice.
    n_selected_ : int
    selection_scores_, gaps_, captured_ : ndarray of shape (n_selected,)
        For each choice: its score at that moment; its lead over the best rival's score, which tells how arbitrary the
        choice was; and the share of the sum of all `scores_` explained so far. The score of a choice beyond the span is
        the part of the target that it explains in addition, in the unit of the first scores; it can rise.
    explained_ : ndarray of shape (n_selected,) or None
        With ``beyond="residual"``, the share of the target's span that the choices so far explain: the mean R^2 of an
        orthonormal basis. Noise explains some, too.
    kernel_rank_ : int or None
        Rank of the target's kernel. Without a target the number of features after which nothing is left, or None if
        more could be selected.
    sigma_ : float or None
        The scale used, if the kernel has one.
    center_ : bool
        True if columns were centred, which ``center="auto"`` decides.
    classes_ : ndarray of shape (n_classes,)
        If y held labels.
    <columns>

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
        reaches 1e-8; the target spans all samples; its columns depend on each other, or may do so.

    Notes
    -----
    One pass over the rows: O(n_samples n_outputs (n_outputs + 2 n_features)) time and
    8 n_outputs (n_outputs + 2 n_features) bytes besides X, which is read as it is. Sums are kept about the mean and in
    float64 for all kernels; results of chunks agree with those of all rows within 1e-12. Without a target:
    pivoted Cholesky, O(n_features n_selected (n_samples + n_selected)) time if there are fewer samples than features,
    else O(n_samples n_features^2). More targets than samples (linear kernel): their span comes from an
    n_samples x n_samples matrix. The result doesn't depend on the number of threads.

    This is the algorithm of the paper's Figure 3. The authors' program doesn't take the first chosen direction out, so
    that a copy of the first feature can come second there.

    References
    ----------
    .. [1] S. Szedmak, R. Huusari, T. H. Duong Le, J. Rousu, "Scalable variable selection for two-view learning tasks
       with projection operators", 2023, Figure 3.
    .. [2] S. Chen, S. A. Billings, W. Luo, "Orthogonal least squares methods and their application to non-linear system
       identification", International Journal of Control 50, 1989.

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

    n_features_to_select: int | float | str | None = None

    def fit(self, X: Any, y: Any = None) -> "ProjSe":
        """Select the features of X that explain y, or X itself, best together.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Streams are paths (.h5ad, .zarr, .npy, .bed), HDF5, Zarr and Dask arrays, backed `adata.X`, iterators of
            blocks of rows, and functions that return one; they are read once. If a mapped file (.npy, .bed) is cut
            meanwhile, the system ends the process (SIGBUS).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            1-D: labels of any sortable type, unless they are floats with a fractional part, which are one column of
            numbers (scikit-learn's `type_of_target`). 2-D: columns of numbers; so ``y.reshape(-1, 1)`` makes numbers
            of whole numbers. An iterator of chunks of numbers for an iterator X. None: X explains itself.

        Returns
        -------
        ProjSe
            Itself.
        """
        options, run = _projse.ProjSeOptions.from_arguments(self), Run.from_estimator(self)
        with self._all_or_nothing():
            self._forget_fit()
            source = as_stream(X)
            if source is None:
                X = self._validate_matrix(X, run)
                names = getattr(self, "feature_names_in_", None)
                outcome, classes = _projse.fit_table(X, y, self._n_to_choose(), options, run, names=names)
            else:
                outcome, classes = _projse.fit_stream(
                    source, y, self._n_to_choose(), options, run,
                    check=self._block_check(source, run),
                    names_of_X=lambda: getattr(self, "feature_names_in_", None),
                )  # fmt: skip
            if classes is not None:
                self.classes_ = classes
            self._set_outcome(outcome)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> "ProjSe":
        """Add rows; features are selected when a result is first asked for.

        A chunk that is refused or interrupted changes nothing.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Labels if `classes` was given at the first call, else columns of numbers.
        classes : array-like of shape (n_classes,)
            All labels that will come; at the first call.

        Returns
        -------
        ProjSe
            Itself.
        """
        options = _projse.ProjSeOptions.from_arguments(self)
        with self._all_or_nothing(forget=False):
            self._add_rows(X, y, classes, options, Run.from_estimator(self))
        return self

    def _add_rows(self, X: Any, y: Any, classes: Any, options: _projse.ProjSeOptions, run: Run) -> None:
        """Add the sums over the rows of one call of `partial_fit` to `_sums`.

        The first call sets the classes and the given columns; a later one deletes the results before it. Raise
        ValueError if a later call has other classes or columns of y, or if `given` is a table. With `given` and y None,
        X explains itself beyond the given columns.
        """
        if options.given is not None and is_table(options.given):
            raise ValueError("given must list columns of X for partial_fit; got a table: add its columns to X")
        views = "two" if options.given is not None and y is None else options.views
        attributes = self.__dict__
        first = "_sums" not in attributes
        if first:
            self._forget_fit()
        known = attributes.get("_classes")
        if classes is not None:
            classes_of_call = read_classes(classes)
            if not first and (known is None or not np.array_equal(known, classes_of_call)):
                before, now = "None" if known is None else some_of(known.tolist()), some_of(classes_of_call.tolist())
                raise ValueError(f"classes must be the classes of the first call of partial_fit, {before}; got {now}")
            known = classes_of_call
        read = partial(read_chunk, classes=known)
        source = as_stream(X)
        if source is not None:
            check = partial(self._validate_matrix, run=run) if first else None
            names = None if first else attributes.get("feature_names_in_")
            sums, _, given = _projse.collect_sums(
                source, y, run, views=views, whole=read, chunk=read, check=check, names=names, given=options.given,
                names_of_X=lambda: getattr(self, "feature_names_in_", None),
            )  # fmt: skip
            if not first:
                attributes["_sums"].merge(sums)
        else:
            X = as_matrix(self._validate_matrix(X, run, reset=first), run)
            if hasattr(y, "columns") and attributes.setdefault("_target_names", list(y.columns)) != list(y.columns):
                before, now = some_of(attributes["_target_names"]), some_of(list(y.columns))
                raise ValueError(f"y must have the columns of the first chunk, {before}; got {now}")
            target = read(y, X.shape, run)
            given = Given.read(options.given, X.shape[1], getattr(self, "feature_names_in_", None), run)
            if given is not None:
                target = given.append_to(target, 0, X)
            sums = load_core().ProjseStream(target.n_columns, X.shape[1], views, run) if first else attributes["_sums"]
            _projse.update_sums(sums, X, target, views, run)
        if first:
            self._sums = sums
            self._given = given
            self._classes = known
            if known is not None:
                self.classes_ = known
        else:
            for name in self._RESULTS:
                attributes.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        if name not in ProjSe._RESULTS or "_sums" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        options, run = _projse.ProjSeOptions.from_arguments(self), Run.from_estimator(self)
        sums, given, labels = (self.__dict__.get(name) for name in ("_sums", "_given", "_classes"))
        self._set_outcome(_projse.select_from_sums(sums, self._n_to_choose(), options, run, given=given, labels=labels))
        return self.__dict__[name]

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the target as numbers, and a function that yields (scores, largest score) for each permutation.

        The function scores labels in batches if the kernel is linear and nothing is given, and makes new fits
        otherwise, also for a stream. It turns names in `given` into numbers.
        """
        options, run = _projse.ProjSeOptions.from_arguments(self), Run.from_estimator(self)
        if as_stream(X) is not None:
            return make_refitting_scorer(self, X, y)
        data = as_matrix(self._validate_matrix(X, run), run)
        classes, values = self._encode_target(y, data.shape)
        if self.given is not None and not is_table(self.given):  # the fits to come see no names
            self.given = column_numbers("given", self.given, data.shape[1], getattr(self, "feature_names_in_", None))
        if classes is None or not options.is_linear or self.given is not None:
            return values, self._make_refitting_scorer(data, classes)
        n_together = max(1, _SCORES_BYTES // (8 * data.shape[1]))

        def score_labelings(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for begin in range(0, len(labelings), n_together):
                batch = np.stack(labelings[begin : begin + n_together])
                for scores in load_core().projse_label_scores(data, batch, len(classes), options.core_options(), run):
                    yield scores, float(scores.max())

        return values, score_labelings

    def _make_refitting_scorer(self, data: Any, classes: Array | None) -> Scorer:
        """Return the scorer that fits each labeling, or each order of the rows of numbers."""

        def score_labelings(permutations: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            for values in permutations:
                target = as_rows(values) if classes is None else classes[values]
                scores = self.fit(data, target).scores_
                yield scores, float(scores.max())

        return score_labelings

    def _wants_sums(self, X: Any, with_rest: bool) -> bool:
        """Return True if sums over groups serve any comparison of these, which hold for all choices within the span."""
        return self.beyond is None and self.given is None

    def _sum_groups(
        self, X: Any, groups: Integers, n_groups: int, rows: Integers | None, columns: Integers | None
    ) -> _projse.GroupSums:
        """Return sums over the groups of X, for `_fit_groups`."""
        return _projse.GroupSums(X, groups, n_groups, Run.from_estimator(self), rows=rows, columns=columns)

    def _fit_groups(self, sums: _projse.GroupSums, labels: Integers, classes: Array) -> "ProjSe":
        """Fit with a label for each group, its position among the classes; a group with -1 stays out.

        Set the attributes, and return self.
        """
        options, run = _projse.ProjSeOptions.from_arguments(self), Run.from_estimator(self)
        with self._all_or_nothing():
            self._forget_fit()
            self.classes_ = classes
            self._set_outcome(sums.select_features(labels, self._n_to_choose(), options, run))
            self.n_features_in_ = len(self.scores_)
        return self

    def _encode_target(self, y: Any, shape: tuple[int, int]) -> tuple[Array | None, Array]:
        """Return the classes and the label codes; or None and the numbers, where several columns form records; zeros if
        y is None.
        """
        target = read_target(y, shape, Run.from_estimator(self))
        if target.classes is not None:
            return target.classes, target.labels
        if target.numbers is None:
            return None, np.zeros(shape[0])
        return None, as_records(target.numbers)

    def _forget_fit(self) -> None:
        """Remove the results of an earlier fit and the sums of `partial_fit`."""
        for name in (*self._RESULTS, "classes_", "_sums", "_given", "_classes", "_target_names"):
            self.__dict__.pop(name, None)

    def _set_outcome(self, outcome: Outcome[_projse.ProjSeResult]) -> None:
        """Set the fields of a result as attributes, and issue the warnings."""
        for field in fields(outcome.result):
            setattr(self, f"{field.name}_", getattr(outcome.result, field.name))
        self.n_selected_ = len(self.selected_)
        outcome.warn_and_return()

    def _n_to_choose(self) -> Any:
        """Return `n_features_to_select`, but None for "auto", which keeps some of the default number."""
        return None if is_auto(self.n_features_to_select) else self.n_features_to_select

    def _chosen_features(self) -> Array:
        mask: Array = self.ranking_ <= self.n_selected_
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.two_d_labels = True
        return tags
