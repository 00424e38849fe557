"""The scikit-learn estimator of DiSC."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from functools import singledispatch
from typing import Any

import numpy as np

from fastfs._estimators.contract import check_is_fitted
from fastfs._estimators.selector import _KernelSelector, _Resources, estimator_class
from fastfs._functions import disc as _disc
from fastfs._functions.outcome import Outcome
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_decoded, as_matrix, describe_not_finite
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import refuse_sparse, stack_blocks
from fastfs._inputs.streams import classes_in_blocks, is_large
from fastfs._machine.errors import places, rename
from fastfs._machine.params import as_bool, as_int, check_choice, count_selected, rank_features
from fastfs._machine.run import Run
from fastfs._types import Array, Integers

# Attributes named after fields of `DiSCResult`.
_RESULTS = (
    *("scores", "significance", "vectors", "trivial", "statistic", "n_differential", "ratio", "gap", "eigenvalues"),
    *("n_connected_components", "bandwidths", "graph", "graph_recall", "mean", "scale"),
)


@estimator_class
class DiSC(_disc.DiSCFields, _Resources, _KernelSelector):
    """Find groups of features that are connected in one class and not in the others.

    In each class, features are nodes of a graph of their similarities, and a random walk on it has diffusion vectors.
    Directions along the other classes' diffusion vectors are projected out; the vectors that the class's random walk
    then keeps most of are its differential vectors. k-means on their entries gives groups, weighted sums of features
    give meta-features. The method sees similarity between features, not shifts of single ones, and needs no matching
    of samples.

    Parameters
    ----------
    <n_features_to_select>
    n_components : int, sequence of int or None
        Number of diffusion vectors of each class. Too many make noise look differential, too few miss structure. None:
        20, as in the paper, or if that is less, a quarter of the (n_features - 2) / (n_classes - 1) that always fit.
    graph : {"knn", "dense", "lists"}
        "knn": each feature and its `n_neighbors` nearest, found exactly. "dense": all pairs of features, as in the
        paper, for up to 20,000 features; its scores are other ones, and rank features in another order. "lists": most
        of the nearest features, for hundreds of thousands of features, which are sorted into lists of similar ones;
        dense X only; `graph_recall_` is measured.
    n_neighbors : int
        For "knn" and "lists".
    bandwidth_neighbors : int
        A feature's bandwidth is the distance to this nearest other feature.
    density : float
        In [0, 1]: affinities are divided by (q_i q_j)^density, q their sums. 1 is the public program, 0 the paper's
        text.
    constant : {"drop", "project"}
        "drop": the constant diffusion vector isn't among those projected out, as in the public program; a trivial
        differential vector results. "project": it is.
    kernel : "adaptive", a C function, or a sequence of these, one per class
        Function of squared distances, as for :func:`fastfs.affinity`; its sigma is the median bandwidth. Clones share
        functions; an estimator that has one can't be pickled.
    n_vectors : int
        Differential vectors of each class.
    n_differential : int or None
        How many of them, trivial ones left out, make scores, groups and meta-features; None: up to the largest ratio of
        successive significances.
    n_groups : int or None
        k-means clusters of the features of each class; None: no groups.
    drop_largest : bool
        The largest cluster is background: no group.
    scaling : {"standard"} or None
        "standard": each feature is centred and scaled by its mean and standard deviation over all samples. None:
        as it is.
    random_state : int, Generator, RandomState or None
        Seed of start vectors, lists and k-means. The same int gives the same vectors, to the bit.
    <resources>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        The largest of `class_scores_`; not negative, larger is better.
    class_scores_ : ndarray of shape (n_classes, n_features)
        Sum of sigma_j^2 v_j[i]^2 over the leading `n_differential_` vectors of the class.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    significance_ : ndarray of shape (n_classes, n_vectors)
        Singular values sigma_j, descending; 0 beyond the vectors that the space allows. No p-values.
    vectors_ : ndarray of shape (n_classes, n_features, n_vectors)
        Differential vectors. The entry of largest magnitude is positive.
    trivial_ : ndarray of shape (n_classes, n_vectors), bool
        True for a vector that is nearly constant, and so says nothing.
    statistic_ : ndarray of shape (n_classes,)
        The largest significance that is not trivial: what a permutation test compares.
    n_differential_ : ndarray of shape (n_classes,)
        How many vectors make scores, groups and meta-features.
    ratio_ : ndarray of shape (n_classes,)
        Significance of the last of these vectors over that of the next one; 0 if there is none. Near 1 the cut is
        arbitrary.
    gap_ : ndarray of shape (n_classes,)
        Between the last eigenvalue used and the next. Near 0 the choice of `n_components` is arbitrary.
    eigenvalues_ : list of ndarray of shape (n_components + 1,)
        Eigenvalues of each class's random walk, descending from 1.
    diffusion_map_ : list of ndarray of shape (n_features, n_components)
        Diffusion vectors of each class, each times its eigenvalue.
    n_connected_components_ : ndarray of shape (n_classes,)
        Pieces into which the graph falls.
    bandwidths_ : ndarray of shape (n_classes, n_features)
        Bandwidth of the kernel of each feature.
    groups_ : ndarray of shape (n_classes, n_features), int64
        With `n_groups`: the group of each feature in each class, 0 for that of the largest mean score; -1: none.
    graph_ : str
        The kind of graph that was used.
    algorithm_ : {"whole", "sums", "sketch"}
        "whole": X was in memory. From a stream, "sums": products of all features were kept, or "sketch": a sketch of
        the rows.
    n_passes_ : int
        How often X was read in blocks: 1 for sums, 2 for a sketch (1 if no class has more than 256 samples), 0 for what
        was in memory or has been taken there.
    graph_recall_ : ndarray of shape (n_classes,)
        ``graph="lists"``: which share of the nearest features it found, on a sample of features.
    mean_, scale_ : ndarray of shape (n_features,)
        With `scaling`.
    classes_ : ndarray of shape (n_classes,)
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes or 4 features; NaN or infinity in X (the first one is named); too large `n_components`,
        so that the others' diffusion vectors leave no room; all features equal within a class; a parameter out of its
        range; more than 20,000 features with ``graph="dense"``; sparse X with ``graph="lists"``; a stream larger than a
        quarter of the budget with other than "knn" or, up to 5000 features, "dense", with `scaling` or a kernel; one
        that changes between two passes.
    TypeError
        An iterator that is to be read twice: give a function that returns a new one.
    MemoryError
        The fit would exceed the budget; nothing was allocated.

    Warns
    -----
    fastfs.DataWarning
        One sample in a class; more neighbours asked for than there are; a feature with many copies, so that its
        bandwidth would be 0; a graph that falls apart; `n_components` cuts a cluster of eigenvalues; equal classes; no
        clear step among the significances; features of a stream so close to each other that products leave hardly a
        digit of their distance; ``graph="lists"`` found less than 90 % of the nearest features; ``graph="knn"`` with
        more than 300,000 features, before the search starts.
    sklearn.exceptions.ConvergenceWarning
        An eigensolver gave up.

    Notes
    -----
    Dense: O(n_features^2 n_samples) time and 8 n_features^2 bytes a class, or once if the budget has no room for more.
    "knn": O(n_features^2 n_samples) time, O(n_features n_neighbors) bytes. "lists": the same for a twentieth of the
    pairs. A stream of more than a quarter of `max_memory`: up to 5000 features, 8 n_features^2 bytes a class; with more
    of them, 2 KB a feature and class, and "knn" with exact distances to most of the nearest features. The result
    doesn't depend on the number of threads. For sets that aren't classes of one table, and for custom graphs, see
    :func:`fastfs.disc`.

    <disc_reference>

    Examples
    --------
    Ten features are tied to each other in class 1 only.

    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 60)), np.arange(200) % 2
    >>> X[y == 1, :10] += 3 * rng.normal(size=(100, 1))
    >>> selector = fastfs.DiSC(10, n_components=3, bandwidth_neighbors=5, n_differential=1, n_groups=2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> np.flatnonzero(selector.groups_[1] == 0).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> selector.meta_features(X).shape
    (200, 2)
    """

    n_features_to_select: int | float | str | None = None
    _: KW_ONLY
    n_groups: int | None = None
    drop_largest: bool = True

    def fit(self, X: Any, y: Any) -> "DiSC":
        """Compare the classes of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Sparse X isn't densified. Streams are paths (.h5ad, .zarr, .npy, .bed), HDF5, Zarr and Dask arrays, backed
            `adata.X`, iterators of blocks of rows, and functions that return one. X that takes no more than a quarter
            of `max_memory` is kept until the fit has ended; larger ones are read once for up to 5000 features, and
            twice for more. If a mapped file (.npy, .bed) is cut meanwhile, the system ends the process (SIGBUS).
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        DiSC
            Itself.
        """
        with self._all_or_nothing():
            self._fit_sets(X, y)
        return self

    def _fit_sets(self, X: Any, y: Any) -> None:
        """Make one set per class, from X in memory or from a stream, compare the sets, and set the attributes.

        A stream that is too large is read in blocks, in one or two passes, as `algorithm_` and `n_passes_` say
        ("whole", 0: in memory).
        """
        options, run = _disc.DiSCOptions.from_arguments(self), Run.from_estimator(self)
        X, of_rows = classes_in_blocks(X, y, run)
        if of_rows is not None:
            classes, labels = of_rows
            self.n_features_in_ = X.shape[1]
            self._check_parameters(classes, X.shape[1])
            with _naming_classes(classes, labels):
                blocks = _disc.StreamedGroups(
                    X, labels, len(classes), options, run, see=lambda block: self._validate_matrix(block, run)
                )
                outcome = _disc.fit_disc(
                    [blocks.arguments_of_group(c) for c in range(len(classes))], _class_names(classes), options, run
                )
            self.algorithm_, self.n_passes_ = blocks.algorithm, blocks.n_passes
        else:
            chunks, classes, labels = self._read_chunks_and_labels(X, y, run)
            self._check_parameters(classes, chunks[0].shape[1])
            sets = _by_class(stack_blocks(chunks), classes, labels, run)
            with _naming_classes(classes, labels):
                outcome = _disc.fit_disc(sets, _class_names(classes), options, run)
            self.algorithm_, self.n_passes_ = "whole", 0
        self._set_outcome(outcome, classes, options)

    def _check_parameters(self, classes: Array, n_features: int) -> None:
        """Raise ValueError or TypeError for fewer than two classes or four features, a bad number to select or of
        groups, or a `drop_largest` that isn't a bool.
        """
        count_selected(self.n_features_to_select, n_features)
        require_classes(classes)
        if n_features < 4:
            raise ValueError(
                f"X must have at least 4 features for graphs that can differ; got {n_features} feature(s): add some, "
                "or take a method without graphs"
            )
        if self.n_groups is not None and not 1 <= as_int("n_groups", self.n_groups) <= n_features:
            raise ValueError(f"n_groups must lie between 1 and the {n_features} features; got {self.n_groups}")
        as_bool("drop_largest", self.drop_largest)

    def _set_outcome(self, outcome: Outcome[_disc.DiSCResult], classes: Array, options: _disc.DiSCOptions) -> None:
        """Set the attributes of a fit and issue its warnings; set `groups_` if `n_groups` asks for groups of
        features.
        """
        result = outcome.warn_and_return()
        self.classes_ = classes
        self.class_scores_ = result.set_scores
        self.ranking_ = rank_features(result.scores)
        self._set_results(result, _RESULTS)
        self.diffusion_map_ = [U * lam[1:] for U, lam in zip(result.diffusion, result.eigenvalues, strict=True)]
        if self.n_groups is not None:
            self.groups_ = np.array([self._group_features(s, options.random_state) for s in range(len(classes))])

    def _wants_sums(self, X: Any, with_rest: bool) -> bool:
        """Return True if X is a stream that is too large to load, so that `_sum_groups` must read it."""
        return is_large(X, Run.from_estimator(self))

    def _sum_groups(
        self, X: Any, groups: Integers, n_groups: int, rows: Integers | None, columns: Integers | None
    ) -> _disc.StreamedGroups:
        """Return statistics of the groups of X, for `_fit_groups`."""
        options = _disc.DiSCOptions.from_arguments(self)
        return _disc.StreamedGroups(X, groups, n_groups, options, Run.from_estimator(self), rows=rows, columns=columns)

    def _fit_groups(self, sums: _disc.StreamedGroups, labels: Integers, classes: Array) -> "DiSC":
        """Fit to groups of rows, with the class number of each group; each class has one group.

        Set the attributes, and return self.
        """
        with self._all_or_nothing():
            options, run = _disc.DiSCOptions.from_arguments(self), Run.from_estimator(self)
            self.n_features_in_ = sums.n_features
            self._check_parameters(classes, sums.n_features)
            sets = [sums.arguments_of_group(int(np.flatnonzero(labels == c)[0])) for c in range(len(classes))]
            with _naming_classes(classes, labels):
                outcome = _disc.fit_disc(sets, _class_names(classes), options, run)
            self.algorithm_, self.n_passes_ = sums.algorithm, sums.n_passes
            self._set_outcome(outcome, classes, options)
        return self

    def _leading_vectors(self, s: int) -> Array:
        """Return the differential vectors of class s that make scores, groups and meta-features."""
        vectors: Array = self.vectors_[s][:, np.flatnonzero(~self.trivial_[s])[: self.n_differential_[s]]]
        return vectors

    def _group_features(self, s: int, seed: int) -> Array:
        """Return the group of each feature in set s by k-means of the leading vectors; group 0 scores highest.

        -1: the feature is in the largest group and `drop_largest` is True, or the set has no leading vectors.
        """
        from sklearn.cluster import KMeans

        vectors = self._leading_vectors(s)
        groups = np.full(len(vectors), -1)
        if not vectors.shape[1]:
            return groups
        k_means = KMeans(self.n_groups, n_init=10, random_state=seed % (1 << 32))
        labels = k_means.fit_predict(vectors)
        sizes = np.bincount(labels, minlength=self.n_groups or 0)
        kept = np.flatnonzero(sizes)
        if self.drop_largest:
            kept = kept[kept != sizes.argmax()]
        means = [self.class_scores_[s][labels == label].mean() for label in kept]
        for group, i in enumerate(np.argsort(means)[::-1]):
            groups[labels == kept[i]] = group
        return groups

    def meta_features(self, X: Any, by: str = "vectors") -> Array:
        """Return weighted sums of the features, which replace many columns by few.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            New samples or the same; they are scaled as those of the fit were. Sparse X is refused if that centres it.
        by : {"vectors", "groups"}
            "vectors": X v_j for each vector that counts. "groups": the mean over the features of each group.

        Returns
        -------
        ndarray of shape (n_samples, n_meta_features)
            The classes in order; of each its `n_differential_` vectors, or its groups.
        """
        check_is_fitted(self, "vectors_")
        run = Run.from_estimator(self)
        X = as_decoded(self._validate_matrix(X, run, reset=False), run)
        if said := describe_not_finite(X):
            raise ValueError(said)
        if hasattr(self, "mean_"):
            refuse_sparse(X, "the fit has centred the features, which would fill sparse X: give a dense X")
            X = (X - self.mean_) / self.scale_
        if check_choice("by", by, ("vectors", "groups")) == "vectors":
            weights = np.hstack([self._leading_vectors(s) for s in range(len(self.classes_))])
        else:
            members = self._group_memberships()
            weights = (members / members.sum(axis=1, keepdims=True)).T
        return np.asarray(X @ weights)

    def cuts(self, X: Any, y: Any, *, kind: str = "normalized") -> Array:
        """Return the cut of each group of features (rows) in the graph of each class (columns).

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            The samples of the fit, or others of the same classes.
        y : array-like of shape (n_samples,)
            Their labels, which must be the classes of the fit.
        kind : {"normalized", "ratio"}, default="normalized"
            The normalised cut compares groups of all sizes and graphs of all scales; the ratio cut is the one of the
            paper's equations 2 and 3.

        Returns
        -------
        ndarray of shape (n_groups, n_classes)
            The cut of each group of `groups_`, those of the first class first, in the graph of each class: the
            affinities that leave the group, over those of its features with all ("ratio": over their number), plus the
            same of the other features. Normalised cuts are in [0, 2]; near 0 the group is a separate piece, near 1 it
            is tied to the rest as to itself. A group of a class is small there and larger in the other classes.

        Notes
        -----
        The graphs are made once more, with the parameters of the fit.
        """
        check_is_fitted(self, "vectors_")
        if kind not in ("normalized", "ratio"):
            raise ValueError(f"kind must be 'normalized' or 'ratio'; got {kind!r}")
        groups = self._group_memberships()
        run = Run.from_estimator(self)
        X = as_matrix(self._validate_matrix(X, run, reset=False), run)
        classes, labels = encode_labels(y, *X.shape)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"y must have the classes of the fit, {self.classes_.tolist()}; got {classes.tolist()}")
        if not len(groups):
            return np.empty((0, len(classes)))
        sets = _by_class(X, classes, labels, run)
        options = _disc.DiSCOptions.from_arguments(self)
        with _naming_classes(classes, labels):
            return _disc.graph_cuts(sets, groups, options, kind, run)

    def _group_memberships(self) -> Array:
        """Return a row of 0 and 1 for each group of each class."""
        if not hasattr(self, "groups_"):
            raise ValueError("the fit must have groups; got none: fit with n_groups")
        members = [groups == group for groups in self.groups_ for group in range(groups.max() + 1)]
        return np.array(members, dtype=np.int64).reshape(-1, self.n_features_in_)


@singledispatch
def _by_class(table: Any, classes: Array, labels: Integers, run: Run) -> list[dict[str, Any]]:
    """Return the samples of each class as a set; sparse X is copied."""
    return [{"X": table, "rows": np.flatnonzero(labels == c)} for c in range(len(classes))]


@_by_class.register(Sparse)
def _(table: Any, classes: Array, labels: Integers, run: Run) -> list[dict[str, Any]]:
    run.reserve_memory(table.data.nbytes, "a copy of X by classes", "give float32")
    return [{"X": table[labels == c]} for c in range(len(classes))]


@_by_class.register(Genotypes)
def _(table: Genotypes, classes: Array, labels: Integers, run: Run) -> list[dict[str, Any]]:
    return [{"X": table[labels == c]} for c in range(len(classes))]


def _class_names(classes: Array) -> list[str]:
    """Return a name for each class, for messages."""
    return [f"class {c}" for c in classes]


@contextmanager
def _naming_classes(classes: Array, labels: Integers) -> Iterator[None]:
    """Let errors of the core name classes instead of sets, and rows of X instead of rows of a set."""
    try:
        yield
    except ValueError as error:
        number = {place.kind: place.number for place in places(error)}
        if {"row", "set"} <= number.keys():
            rows = np.flatnonzero(labels == number["set"])
            rename(error, {"set": lambda _: "X", "row": lambda row: f"row {row}"}, {"row": rows})
        else:
            rename(error, {"set": lambda s: _class_names(classes)[s]})
        raise
