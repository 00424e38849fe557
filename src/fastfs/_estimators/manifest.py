"""The scikit-learn estimator of ManiFeSt, over the functions in ``_functions/manifest.py``."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

from fastfs._estimators.contract import ClassifierTags, Tags
from fastfs._estimators.selector import _KernelSelector, _Resources, estimator_class
from fastfs._functions import manifest as _manifest
from fastfs._functions.blend import blend_scores, scores_to_blend
from fastfs._functions.outcome import Outcome
from fastfs._inference.scorers import Labels, Scorer
from fastfs._inputs.source import as_stream
from fastfs._inputs.streams import is_large
from fastfs._machine.beside import beside
from fastfs._machine.params import count_selected, rank_features
from fastfs._machine.run import Run
from fastfs._types import Array, Integers


@estimator_class
class ManiFeSt(_manifest.ManiFeStFields, _Resources, _KernelSelector):
    """Select features with relations to the other features that differ between classes.

    In each class, features are points, and their distances form a kernel; the kernels of two classes are compared as
    points of a Riemannian manifold, and a feature's score is its share of their difference. That finds features that no
    univariate test sees, such as exclusive-or pairs. It doesn't find a feature if its relations to the others stay the
    same (`combine` helps), and it also reports features that are tied to relevant ones.

    Parameters
    ----------
    <n_features_to_select>
    kernel : "rbf" or a C function
        The Gaussian kernel, or a custom one, as for :func:`fastfs.affinity`; it must be positive semidefinite.
        Clones share the function; an estimator that has one can't be pickled.
    sigma : {"median", "percentile", "grid"} or array-like of float
        Scale of the kernel of each class: `sigma_factor` times the median distance between features, the
        `sigma_percentile`-th percentile of these distances, or the scales themselves, in the shape of `sigma_`. "grid"
        fits many scales, reports them in `sensitivity_`, and keeps the scores of the median rule. No single rule
        suits all data; tune it like any other parameter.
    sigma_factor : float
        For ``sigma="median"`` and "grid". The default is ours; the paper takes 1 for its pictures, 0.1 for XOR-100 and
        Madelon, and chooses a percentile elsewhere.
    sigma_percentile : float
        For ``sigma="percentile"``, in (0, 100).
    normalize : int
        How many times each kernel is divided by the square roots of its row sums on both sides; the paper uses 0 or 3.
    form : {"pencil", "spd", "spsd"}
        How kernels are compared. "spd" (the equations as printed; full rank only) and "spsd" (the paper's Algorithm 2
        with the thresholds of the authors' program) are there to reproduce results; "pencil" equals them at full rank.
    accuracy : {"auto", "exact", "domains", "small_domains", "low_rank", "low_rank_high"}
        "exact": kernels of n_features x n_features. "domains": exact problems of a few hundred near features each,
        joined with `rank` leading eigenvectors of each kernel; the ranking follows the exact one closely.
        "auto": exact up to 1500 features if that fits the memory, else domains; `accuracy_` and `accuracy_reason_` name
        the choice. "small_domains": problems of half the size, joined with `rank` / 5 eigenvectors, in a fourth of the
        time; "auto" takes them for tests and subsamples that would take minutes otherwise, and warns. "low_rank" and
        "low_rank_high": kernels of rank `rank`, from landmark features or from random projections; they find what
        changes on a large scale, and of what changes between few features nothing.
    rank : int
        Rank of the kernels in "low_rank" and "low_rank_high"; number of eigenvectors of each kernel in "domains", and
        five times their number in "small_domains". A rank that saves nothing gives the exact form, with a warning.
    multiclass : {"ovr", "ovo", "raise"}
        More than two classes: each against the rest, all pairs, or an error. Scores are means over the comparisons.
    combine : "f", array-like of shape (n_features,), estimator or None
        Univariate scores to add, both sides scaled to [0, 1]: of the F test, given ones, or of an estimator that has
        ``scores_`` once fitted, such as ``SelectKBest(mutual_info_classif)``.
    n_components : int
        Number of leading eigenpairs of the mean and of the difference to keep, which explain the scores.
    random_state : int, Generator, RandomState or None
        Seed of the draws of all forms that aren't exact. The same int gives the same scores, to the bit.
    n_jobs : int or None
        Threads. None means all cores that this process may use (here fastfs differs from scikit-learn), and one inside
        a joblib worker. The comparisons of more than two classes run side by side where ``joblib.parallel_config`` asks
        for workers, processes or machines, with the same result.
    <max_memory>
    <verbose>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Diagonal of \\|D\\|, D the difference of the kernels (eq. 4); not negative, larger is better. With several
        comparisons their mean; with `combine` the sum of both scores.
    class_scores_ : ndarray of shape (n_classes, n_features)
        Scores of each class: from its comparison with the rest, or the mean over the pairs with it. Without `combine`.
    manifest_scores_ : ndarray of shape (n_features,)
        With `combine`: the scores before it.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    sigma_ : ndarray of shape (n_classes,) or (n_classes, 2)
        The scale of each class, in units of the distances; one against the rest: of each class and of the rest.
    kept_trace_ : ndarray of the shape of `sigma_`
        Share of each kernel's trace that its low-rank form keeps; 1 if exact or by domains.
    agreement_ : float, or ndarray of shape (n_comparisons,)
        By domains: estimated rank correlation with the exact scores, from the scores of two domains' features, drawn
        at random, and those that take three times as many features around them. "low_rank" and "low_rank_high": rank
        correlation of their scores with the exact ones, on 500 to 1000 features drawn at random and taken by
        themselves; that of all features is much lower as a rule. 1 if exact.
    kernel_rank_ : int, or ndarray of shape (n_comparisons,)
        Numerical rank of the sum of the two kernels; with ``form="spsd"``, that to which both are cut. If exact and
        below n_features, digits beyond 1e-6..1e-4 of a score are rounding. Full rank doesn't mean that all digits
        count: one kernel alone may be singular, for instance if features are equal in one class only.
    accuracy_, accuracy_reason_ : str
        The form that was used, and why.
    algorithm_ : {"whole", "sums"}
        "whole": X was in memory. "sums": X was a stream, and only sums over its rows were kept.
    n_passes_ : int
        How often X was read: 1 for sums, 0 if it was in memory or was loaded.
    classes_ : ndarray of shape (n_classes,)
    mean_eigenvalues_, difference_eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues, by magnitude, of the geometric mean M of the kernels (eq. 2) and of D (eq. 3). With several
        comparisons one row for each: the classes in order, or ``itertools.combinations(classes_, 2)``.
    mean_eigenvectors_, difference_eigenvectors_ : ndarray of shape (n_features, n_components)
        Their eigenvectors: the structure that the classes share, and their difference. The entry of largest magnitude
        is positive.
        With several comparisons one such matrix for each. Unless exact they are those within the range of low-rank
        kernels, of three times `rank` by domains, and zeros where it has fewer.
    sensitivity_ : dict of arrays
        With ``sigma="grid"``, one entry a scale, in ascending order for each number of normalisations: `scale` (in
        words), `normalize`, `sigma`, `scores`; `spearman_next` and `overlap_next`, the rank correlation with the next
        scale and the share of the best features in common (`n_features_to_select`, by default up to 50);
        `contrast`, the largest score over the median one.
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); fewer than two features; a parameter out
        of range; all features equal within a class; a scale that exceeds the largest float64 number; a stream larger
        than a quarter of the budget with ``accuracy="low_rank_high"``, a custom kernel, or `combine` that needs X.
    MemoryError
        The fit would exceed the budget; nothing was allocated. Of a stream the products of all pairs of features count.
    numpy.linalg.LinAlgError
        LAPACK failed; a kernel is singular (form "spd") or not positive semidefinite.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample; the distance to take sigma from is 0; the scores are zero up to rounding; a low-rank
        kernel keeps less than half of its trace; `agreement_` is below 0.9; `rank` is too large to gain anything;
        neighbouring scales of the grid share less than half of the best features; features of a stream lie so close
        together that sums leave no digits of their distance.

    Notes
    -----
    Exact: time O(n_features^3), dominated by two symmetric eigenproblems a comparison; memory 32 n_features^2 bytes,
    8 more for one against the rest and 16 for the grid.
    Domains: time O(n_features^2 n_samples) for the nearest features, small up to 50,000 features, and O(n_features)
    for the rest; memory O(n_features (n_samples + 24 rank)). Low rank: time O(n_features (4 rank)
    (n_samples + 4 rank)), high: O(n_features^2 (n_samples + 2 rank)); memory O(n_features (n_samples + 7 rank)).
    The result doesn't depend on the number of threads. With ``sigma="median"`` or "percentile" and more than 2000
    features, forms that aren't exact take the distances of 2000 features drawn at random.

    A stream of more than a quarter of `max_memory` is read once. Of each class the products of all pairs of features
    are kept (4 n_features^2 bytes), from which all distances follow: scores, exact or by domains, are those of X in
    memory up to rounding. With ``accuracy="low_rank"`` only the products with 4 rank landmarks are kept, drawn evenly
    before the pass (32 n_features rank bytes a class; sparse blocks take O(n_stored density 4 rank) time). There a
    feature is what the landmarks explain of it, and a separate component: distances from landmarks are those of the
    data, others are approximated.

    With K1 + K2 = L L', L^-1 (K1 - K2) L^-T = Y diag(nu) Y' and W = L Y, D = W diag(h(nu)) W' with
    h(nu) = sqrt(1 - nu^2) artanh(nu) / 2, which is the paper's D without the inverse of a kernel; singular kernels are
    cut to their numerical rank. Computed in float64 for any X, except for the tiles of "low_rank_high".

    References
    ----------
    .. [1] D. Cohen, T. Shnitzer, Y. Kluger, R. Talmon, "ManiFeSt: Manifold-based Feature Selection for Small Data
       Sets", arXiv:2207.08574, 2022, eqs. 1-4 and Algorithm 2.

    <exclusive_or>
    >>> selector = fastfs.ManiFeSt(n_features_to_select=2, sigma_factor=0.1).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    >>> selector.transform(X).shape
    (100, 2)
    >>> selector.accuracy_, selector.accuracy_reason_
    ('exact', '10 features are no more than 1500')
    """

    n_features_to_select: int | float | str | None = None
    _: KW_ONLY
    combine: Any = None
    n_components: int = 0

    def fit(self, X: Any, y: Any) -> "ManiFeSt":
        """Score the features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Streams are paths (.h5ad, .zarr, .npy, .bed), HDF5, Zarr and Dask arrays, backed `adata.X`, iterators of
            blocks of rows, and functions that return one. X that takes no more than a quarter of `max_memory` is kept
            until the fit has ended; larger ones are read once. If a mapped file (.npy, .bed) is cut meanwhile, the
            system ends the process (SIGBUS).
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.

        Returns
        -------
        ManiFeSt
            Itself.
        """
        with self._all_or_nothing():
            self._fit_stage(X, y)
        return self

    def _fit_stage(self, X: Any, y: Any) -> None:
        """Read X, or sum it in one pass if it is a large stream, then fit and set the attributes."""
        options, run = _manifest.ManiFeStOptions.from_arguments(self), Run.from_estimator(self)

        def read_whole(X: Any) -> tuple[list[Any], Array, Array]:
            data_and_labels = self._read_chunks_and_labels(X, y, run)
            self._n_to_select()
            return data_and_labels

        source = as_stream(X)
        check = None if source is None else self._block_check(source, run)
        more = {"n_components": self.n_components, "combine": self.combine}
        stage, classes, labels = _manifest.prepare_stage(
            X if source is None else source, y, options, run, read_whole, check=check, **more
        )
        self._set_scores(stage, classes, labels, options)

    def _check_width(self) -> None:
        self._n_to_select()

    def _n_to_select(self) -> int:
        """Return the number of features to select, which raises an error for a bad number before the work."""
        return count_selected(self.n_features_to_select, self.n_features_in_)

    def _set_scores(
        self, stage: _manifest.ManiFeStStage, classes: Array, labels: Integers, options: _manifest.ManiFeStOptions
    ) -> None:
        """Fit all scales of the stage to these labels, and set the scores, the ranking and the other attributes.

        With `combine`, `scores_` blends the fit's scores, kept as `manifest_scores_`, with others. With one kernel
        only, eigenvalues, ranks and agreement lose their first axis. `sensitivity_` is set if several scales are
        compared.
        """
        others = None if self.combine is None else stage.scores_to_blend(self.combine, classes[labels])
        best = None if self.n_features_to_select is None else self._n_to_select()
        outcome = stage.fit_scales(
            labels, classes, options, n_components=self.n_components, top=best, n_fits=self._n_fits
        )
        fitted = outcome.warn_and_return()
        said = [one for one in outcome.warnings if isinstance(one, Warning) and vars(one).get("code") == "many_fits"]
        self._economy = str(said[0]) if said else ""
        self.classes_ = classes
        self.algorithm_, self.n_passes_ = stage.algorithm, stage.n_passes
        self.scores_ = fitted["scores"]
        self.class_scores_ = fitted["class_scores"]
        if others is not None:
            self.manifest_scores_ = self.scores_
            self.scores_ = blend_scores(self.scores_, others)
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

    def _wants_sums(self, X: Any, with_rest: bool) -> bool:
        """Return True if X is a stream that is too large to load, so that `_sum_groups` must read it."""
        return is_large(X, Run.from_estimator(self))

    def _sum_groups(
        self, X: Any, groups: Integers, n_groups: int, rows: Integers | None, columns: Integers | None
    ) -> _manifest.SumsStage:
        """Return sums over the groups of X, for `_fit_groups`."""
        options = _manifest.ManiFeStOptions.from_arguments(self)
        more = {"n_components": self.n_components, "combine": self.combine}
        return _manifest.SumsStage(
            X, groups, n_groups, options, Run.from_estimator(self), rows=rows, columns=columns, **more
        )

    def _fit_groups(self, sums: _manifest.SumsStage, labels: Integers, classes: Array) -> "ManiFeSt":
        """Fit with a label for each group, its position among the classes; a group with -1 stays out."""
        with self._all_or_nothing():
            self.n_features_in_ = sums.n_features
            self._set_scores(sums, classes, labels, _manifest.ManiFeStOptions.from_arguments(self))
        return self

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the labels as codes, and a function that yields (scores, largest score) for each labeling.

        It computes the distances between features once if the fits are exact. With `combine`, the scores of each
        labeling are blended with others; an array stays, "f" and an estimator are fitted to the labeling.
        """
        options, run = _manifest.ManiFeStOptions.from_arguments(self), Run.from_estimator(self)
        chunks, classes, true_labels = self._read_chunks_and_labels(X, y, run)
        # Low-rank kernels take no distances between all features.
        exact = self.accuracy == "exact" or (self.accuracy == "auto" and chunks[0].shape[1] <= _manifest.EXACT_AT_MOST)
        run.progress = None
        stage = _manifest.ManiFeStStage(chunks, run, keep_distances=exact)

        def fit_labels(labels: Array, run: Run) -> Outcome[dict[str, Any]]:
            # Skip the agreement check for permuted labels.
            return stage.with_run(run).fit_scales(
                labels, classes, options, agreement=labels is true_labels, n_fits=self._n_fits
            )

        def score_labelings(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            n_bytes = stage.n_bytes(classes, options, self._n_fits)
            for labels, fitted in zip(labelings, beside(fit_labels, labelings, run, n_bytes), strict=True):
                scores = fitted.warn_and_return()["scores"]
                if self.combine is not None:
                    scores = blend_scores(scores, scores_to_blend(self.combine, chunks, classes[labels]))
                yield scores, float(scores.max())

        return true_labels, score_labelings

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=self.multiclass != "raise")
        return tags
