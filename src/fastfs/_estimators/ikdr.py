"""The scikit-learn estimator of I-KDR, over ``_functions/ikdr.py``."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fastfs._estimators.contract import ClassifierTags, Tags, check_is_fitted
from fastfs._estimators.selector import _Resources, _Selector, estimator_class
from fastfs._functions.ikdr import IKDRFields, IKDROptions, IKDRResult, check_start, draw_rows, fit_ikdr
from fastfs._functions.ikdr_kernels import KernelFields, KernelOptions, make_kernels, read_data
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._machine.errors import in_rows
from fastfs._machine.params import as_float, count_selected, is_auto, rank_features
from fastfs._machine.run import Run
from fastfs._types import Array, Floats

# Attributes named after fields of `IKDRResult`.
_RESULTS = (
    *("scores", "feature_weights", "embedding", "class_profile", "classes", "interpretability", "objective", "history"),
    *("similarity", "n_iter", "converged", "deltas", "constant_features", "group_labels"),
)


@estimator_class
class IKDR(KernelFields, IKDRFields, _Resources, _Selector):
    """Reduce labelled data to dimensions that are mixtures of a few samples, and select the features these need.

    A sample's coordinate is its similarity to a mixture of training samples, most of them of one class, so that it can
    be said what a dimension stands for. With a kernel for each feature, or for each group of features, the similarity
    is a mixture of kernels, most of them with weight 0: those that keep weight are selected. It isn't a classifier.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None
        Number or fraction of the features to keep; None: those with weight, however many; "auto": those that also have
        a family-wise p-value of at most 0.05, as for :class:`fastfs.ReliefF`.
    n_components : int or None
        Number of dimensions. None: the number of classes. More than twice this number tends to stand for outliers,
        unless `width` is made smaller.
    groups : array-like of shape (n_features,), "all" or None
        Labels, of any sortable type: features with one label share a kernel and a weight. None: each feature has a
        separate one. "all": one kernel of all features, which selects nothing; that is dimensionality reduction alone.
    kernel : {"rbf", "precomputed"} or callable
        "rbf": exp(-\\|x - x'\\|^2 / delta) of the columns of a group, scaled as `scaling` says. A callable takes two
        arrays of these columns, as they are, and returns the similarities of the rows of the first to those of the
        second, as scikit-learn's pairwise kernels do: symmetric and positive semidefinite, with diagonals of about 1.
        "precomputed": X is such a matrix of samples x samples, or a list of them, one per kernel, without features
        to select then.
    width : {"mean_squared", "mean"} or float
        delta: the mean over pairs of samples of the squared distance, or of the distance, or the given value.
        "mean" is the paper's, for which all samples of many features are unlike each other.
    lam : float
        Weight of the term that keeps classes apart, in units of 1 / n_samples. That term grows with their number: with
        seven classes or more and a kernel for each feature, or a low `interpretability_`, try 0.1 / (n_classes - 1).
    mu : float
        Weight of interpretability, in the same units.
    tau, zeta : float
        Penalties of the slack variables. Infinity: slack variables equal the terms that they stand for.
    interpretability : {"laplacian", "distance"}
        "laplacian": samples that are alike get like coefficients, which is what the paper optimises (15). "distance":
        the samples of a dimension lie close together, as (7) describes; needs kernels with a diagonal of
        ones. They pull in opposite directions.
    solver : {"projected_gradient", "admm"}
        "projected_gradient" minimises over the coefficients with the slack variables eliminated. "admm" is the paper's
        alternation, corrected, for comparison; needs finite `tau` and `zeta`.
    max_iter : int
        Turns of coefficients and weights.
    max_inner : int
        Steps on the coefficients in each turn.
    tol : float
        Stop when the objective falls by no more than this share of it.
    start : array-like of shape (n_samples, n_components), or a pair of it and one of shape (n_kernels,)
        A, or A and the weights, to start from: columns, and weights, that are not negative and add up to 1. None: means
        of the classes, or of parts of them, and equal weights. The problem isn't convex: of several starts keep the
        result with the lowest `objective_`.
    scaling : {"standard"} or None
        "standard": each feature is scaled to mean 0 and standard deviation 1. None: as it is. For "rbf" only.
    n_rows : int or None
        Number of rows, drawn at random in one pass, that are fitted in memory; None: all. X may then be a stream larger
        than memory: a path, a function that returns an iterator of blocks of rows, or such an iterator. `embed` takes
        all rows, block by block. On 1500 digits, fits of 50, 100, 200 and 400 rows came to an objective over all that
        was 1.19, 1.10, 1.045 and 1.013 times as large, but only 0.26 to 0.75 of the selected features agreed
        (Jaccard index): compare several draws.
    random_state : int, Generator, RandomState or None
        Seed for drawing the rows, and the features of the first kernel if there are very many. The same int gives the
        same result, to the bit.
    <resources>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), or (n_kernels,) with precomputed kernels
        The weight where it is positive; else -p / (p + F), where F is the objective and p the price, by how much F
        rises per unit of weight: above -1, which is left to constant features. Larger is better.
    ranking_ : ndarray, of the shape of `scores_`, int64
        1 is best.
    feature_weights_ : ndarray of shape (n_features,)
        Not negative, with sum 1; the weight of a group is spread over its features that aren't constant. Not there with
        precomputed kernels.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the features, of the groups in the order of `group_labels_`, or of the matrices.
    group_labels_ : ndarray of shape (n_kernels,)
        With `groups` given as labels.
    n_selected_ : int
        How many features `transform` keeps: `n_features_to_select`, or those with weight. Not there if nothing is
        selected, with ``groups="all"`` or precomputed kernels.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        A: each column is a dimension, a mixture of samples: not negative, with sum 1.
    support_samples_ : ndarray of int
        Rows of X, with `n_rows` of the `rows_` of X, that some dimension is made of.
    rows_ : ndarray of shape (n_rows,)
        With `n_rows`: the rows of X that were fitted, in the order of `embedding_`.
    embedding_ : ndarray of shape (n_samples, n_components)
        K A: what `embed` returns for the training data.
    class_profile_ : ndarray of shape (n_classes, n_components)
        H A: the share of each class in each dimension.
    interpretability_ : float
        I_p, the mean over dimensions of the share of their main class, in [1 / n_classes, 1]. 1 is easy to reach and
        says nothing of how well the dimensions tell classes apart.
    objective_ : float
        F, after all slack variables have been eliminated.
    history_ : ndarray of shape (n_iter,)
        F after each turn.
    similarity_ : float
        Mean of the kernel off its diagonal: near 0 samples are all unlike each other, near 1 all alike.
    n_iter_ : int
    converged_ : bool
        True if F fell by at most the share `tol` of it in the last turn.
    deltas_ : ndarray of shape (n_kernels,)
        Widths of the Gaussian kernels, 0 for those of constant features.
    constant_features_ : ndarray of int
        Columns of X that have one value only, and no weight. Not there with precomputed kernels.
    classes_ : ndarray of shape (n_classes,)
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; a kernel that
        isn't square, symmetric, finite or positive semidefinite; more dimensions than samples; a `start` of another
        shape, with NaN, or with columns that aren't mixtures; a parameter out of its range.
    <raises_of_a_dense_fit>

    Warns
    -----
    fastfs.DataWarning
        A class that is the main one of no dimension, as with fewer dimensions than classes; more than twice as many
        dimensions where samples are alike; ``lam=0``; samples that are hardly similar to each other; a kernel with
        weight that hardly varies, but for one sample; custom kernels with diagonals far from 1.
    sklearn.exceptions.ConvergenceWarning
        `max_iter` turns weren't enough.

    Notes
    -----
    O(n_features n_samples (n_samples + n_support)) time a turn. Memory: n_features (n_samples + n_classes n_components)
    numbers of the dtype of X, or hardly any if the budget has no room for them. Copies of a feature share its weight in
    some way: only the sum says something. The problem isn't convex; the start is deterministic, and so is the result,
    for any number of threads.

    References
    ----------
    .. [1] B. Hosseini, B. Hammer, "Interpretable Discriminative Dimensionality Reduction and Feature Selection on the
       Manifold", arXiv:1909.09218, 2019. docs/ikdr.md says where its equations were corrected.

    Examples
    --------
    <ikdr_example>
    >>> model = fastfs.IKDR(1).fit(X, y)
    >>> model.get_support(indices=True).tolist(), model.embedding_.shape
    ([3], (60, 2))
    >>> new = np.zeros((1, 50))
    >>> new[0, 3] = 2
    >>> str(model.classes_[model.class_profile_.argmax(axis=0)[model.embed(new).argmax()]])
    'high'
    """

    n_features_to_select: int | float | str | None = None
    _: KW_ONLY
    lam: float = 0.1
    start: Any = None

    def fit(self, X: Any, y: Any) -> "IKDR":
        """Fit the embedding of the samples, and the weights of the features.

        With `n_rows`, it fits drawn rows only, and sets `rows_` to their numbers.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            Sparse X is made dense, unless the kernel is custom. With ``kernel="precomputed"`` a matrix of shape
            (n_samples, n_samples), or a list of such.
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        IKDR
            Itself.
        """
        options, of_kernels = IKDROptions.from_arguments(self), KernelOptions.from_arguments(self)
        lam, run = as_float("lam", self.lam), Run.from_estimator(self)
        with self._all_or_nothing():
            X, y, rows = draw_rows(X, y, options, of_kernels, run)
            with in_rows(rows):
                data = self._read_data(X, of_kernels.kernel, run)
                classes, labels = encode_labels(y, *data.shape[-2:])
                require_classes(classes)
                if self._selects_features() and self.n_features_to_select is not None:
                    count_selected(self.n_features_to_select, data.shape[1])
                kernels = make_kernels(data, of_kernels, run)
                start = check_start(self.start, len(labels), options.n_components or len(classes), kernels.n_kernels)
                (result,) = fit_ikdr(kernels, classes, labels, [lam], options, run, start).warn_and_return()
            self._set_result(result)
            if rows is not None:
                self.rows_ = rows
        return self

    def _set_result(self, result: IKDRResult) -> None:
        """Set the attributes of a fit, from the result for one lambda; `n_selected_` only if the fit selects
        features.
        """
        self._set_results(result, _RESULTS)
        self.ranking_ = rank_features(result.scores)
        self.kernel_weights_ = result.weights
        self.dual_coef_ = result.A
        self.support_samples_ = result.support
        if self._selects_features():
            self.n_selected_ = int(np.count_nonzero(self._chosen_features()))
        self._embedder = result.embedder

    def embed(self, X: Any) -> Floats:
        """Embed samples by their similarity to the mixtures of training samples.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            New samples, or the same; they are scaled as those of the fit were. With ``kernel="precomputed"`` their
            similarities to the samples of the fit, (n_samples, samples of the fit), in the number of matrices that the
            fit had.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "embedding_")
        run = Run.from_estimator(self)
        return self._embedder.embed_data(self._read_data(X, self._embedder.kernel, run, reset=False), run)

    def _read_data(self, X: Any, kernel: Any, run: Run, *, reset: bool = True) -> Any:
        """Return X validated in the form that the kernel needs; with `reset` set the columns, otherwise compare them
        with the fit's.

        For precomputed kernels, only the number of features is set; an iterator is read without a look at its columns.
        """
        if isinstance(kernel, str) and kernel == "precomputed":
            data = read_data(X, kernel, run)
            if reset:
                self.n_features_in_ = data.shape[2]
            return data
        return read_data(X if hasattr(X, "__next__") else self._validate_matrix(X, run, reset=reset), kernel, run)

    def _selects_features(self) -> bool:
        """Return True unless there is one kernel of all features, or kernels are precomputed."""
        of_all = isinstance(self.groups, str) and self.groups == "all"
        return not of_all and not (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _get_support_mask(self) -> Array:
        self._require_features()
        return super()._get_support_mask()

    def _require_features(self) -> None:
        """Raise ValueError if there are no features to select."""
        check_is_fitted(self, "ranking_")
        if not self._selects_features():
            how = "groups='all'" if isinstance(self.groups, str) else "kernel='precomputed'"
            raise ValueError(f"IKDR selects no features with {how}: embed(X) returns its dimensions")

    def _chosen_features(self) -> Array:
        if self.n_features_to_select is None or is_auto(self.n_features_to_select):
            mask: Array = self.feature_weights_ > 0
            return mask
        return super()._chosen_features()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.classifier_tags = ClassifierTags()
        return tags
