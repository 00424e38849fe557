"""The scikit-learn estimators of the RELIEF family."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fastfs._estimators.contract import ClassifierTags, RegressorTags, Tags
from fastfs._estimators.rounds import RoundsMaker
from fastfs._estimators.selector import _Resources, _Selector, estimator_class
from fastfs._functions import relief_options as _relief
from fastfs._functions.outcome import Outcome
from fastfs._functions.relief_family import (
    FamilyResult,
    Samples,
    StreamedGroupTargets,
    fit_relief,
    fit_relief_in_blocks,
    in_words_of_the_caller,
    read_samples,
    source_for_blocks,
)
from fastfs._inference.scorers import Labels, Scorer
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.given import is_table
from fastfs._inputs.matrix import as_matrix, column_names
from fastfs._inputs.source import Source, as_stream
from fastfs._inputs.storage import dense, take_columns
from fastfs._machine.params import count_selected, rank_features
from fastfs._machine.run import Run
from fastfs._types import Array


@estimator_class
class _ReliefFamily(_Resources, _Selector):
    """Base of the family: fits all rows together, in memory or in blocks."""

    n_features_to_select: int | float | str | None = None

    _OPTIONS: ClassVar[type[_relief.FamilyOptions]]

    def _fit_samples(self, X: Any, y: Any, sample_weight: Any, distances: Any = None) -> Self:
        """Fit in blocks if X must be read so, otherwise on all samples; set the attributes, warn, and return self."""
        with self._all_or_nothing():
            options, run = self._OPTIONS.from_arguments(self), Run.from_estimator(self)
            source = source_for_blocks(X, options, run)
            if source is not None:
                see, others = self._block_check(source, run), (sample_weight, distances)
                outcome, response = fit_relief_in_blocks(source, y, options, run, others=others, see=see)
            else:
                samples = self._read_samples(X, y, sample_weight, distances, options, run)
                response = samples.response
                outcome = fit_relief(samples.make_stage(options, run), samples, response, options)
            self._set_outcome(outcome, response.kind, response.classes)
        return self

    def _set_outcome(self, outcome: Outcome[FamilyResult], kind: str, classes: Array | None) -> None:
        """Set the attributes of a fit, and issue its warnings; given features rank last, and `classes_` is set for
        classes.
        """
        self.ranking_ = rank_features(outcome.result.scores, last=outcome.result.given)
        self.target_type_ = kind
        if classes is not None:
            self.classes_ = classes
        self._set_results(outcome.result, ("scores", "scores_se", "algorithm", "n_passes"))
        outcome.warn_and_return()

    def _check_width(self) -> None:
        count_selected(self.n_features_to_select, self.n_features_in_)

    def _read_samples(
        self, X: Any, y: Any, sample_weight: Any, distances: Any, options: _relief.FamilyOptions, run: Run
    ) -> Samples:
        """Return validated samples for a fit in memory."""
        samples = read_samples(X, y, sample_weight, distances, options, run, self._check_values)
        count_selected(self.n_features_to_select, samples.n_features)
        return samples

    def _wants_sums(self, X: Any, with_rest: bool) -> bool:
        """Return True if `_sum_groups` must read X in blocks; each group is then compared with all other groups."""
        return (
            with_rest and source_for_blocks(X, self._OPTIONS.from_arguments(self), Run.from_estimator(self)) is not None
        )

    def _sum_groups(
        self, X: Any, groups: Array, n_groups: int, rows: Array | None, columns: Array | None
    ) -> StreamedGroupTargets:
        """Return drawn targets and their neighbours in the groups of X, for `_fit_groups`."""
        return StreamedGroupTargets(
            Source.from_data(X),
            groups,
            n_groups,
            self._OPTIONS.from_arguments(self),
            Run.from_estimator(self),
            rows,
            columns,
        )

    def _fit_groups(self, sums: StreamedGroupTargets, labels: Array, classes: Array) -> Self:
        """Fit with a label for each group, its position among the classes; set the attributes, and return self."""
        with self._all_or_nothing():
            self._set_outcome(
                sums.score_features(labels, classes, self._OPTIONS.from_arguments(self)), "class", classes
            )
            self.n_features_in_ = len(self.scores_)
        return self

    def _make_scorer(self, X: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the target as numbers, and a function that fits permutations and yields (scores, largest score)."""
        run = Run.from_estimator(self)
        run.progress = None
        options = self._OPTIONS.from_arguments(self)
        samples = self._read_samples(X, y, None, None, options, run)
        stage = samples.make_stage(options, run, options.KEEP)

        def score_permutations(permutations: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            """Yield the scores and the largest score of a fit to each permutation."""
            for values in permutations:
                scores = (
                    fit_relief(stage, samples, samples.response.with_values(values), self._OPTIONS.from_arguments(self))
                    .warn_and_return()
                    .scores
                )
                yield scores, float(scores.max())

        return samples.response.values, score_permutations

    def _given_values(self, X: Any) -> Any:
        """Return the columns of X that `given` names, as objects, with categories as strings and missing ones as NaN;
        None if it names none.

        The base class reads a table in `given`, and a stream X.
        """
        if self.given is None or is_table(self.given) or as_stream(X) is not None:
            return super()._given_values(X)
        names, run = column_names(X), Run.from_estimator(self)
        table = self._OPTIONS.from_arguments(self).make_table(X, run)
        columns = column_numbers("given", self.given, table.values.shape[1], names)
        if not len(columns):
            return None
        values: Array = np.asarray(dense(take_columns(as_matrix(table.values, run), columns)), dtype=object)
        if table.levels is not None:
            for k in np.flatnonzero(table.levels[columns]):
                values[:, k] = [code if code != code else str(code) for code in values[:, k]]
        return values

    def _encode_target(self, y: Any, shape: tuple[int, int]) -> tuple[Array | None, Array]:
        """Return the classes, if there are any, and the target of each sample."""
        response = self._OPTIONS.from_arguments(self).as_response(y, *shape)
        return response.classes, response.values


class _ReliefRounds:
    """Rounds of the RELIEF family: distances are kept, and updated when the columns change."""

    def __init__(self, samples: Samples, options: _relief.FamilyOptions, run: Run) -> None:
        self.samples, self.options = samples, options
        self.stage = samples.make_stage(options, run, options.KEEP)

    def score_columns(
        self, columns: npt.NDArray[np.int64], weights: npt.NDArray[np.float64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return a score for each of these columns, after a fit without the others.

        A weight per column multiplies its differences in distances; with custom distances, weights raise ValueError.
        """
        if weights is not None and self.samples.distances is not None:
            raise ValueError("distances must be left out, since custom distances can't be weighed by features")
        with in_words_of_the_caller(self.samples, self.options):
            self.samples.use_columns(self.stage, columns, weights, self.options)
        result = fit_relief(self.stage, self.samples, self.samples.response, self.options).warn_and_return()
        return result.scores[columns]


class _TableSelector(_relief.TableFields, _ReliefFamily, RoundsMaker):
    """Base of all methods except RELIEF: tables with categories and missing values, targets of several kinds."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, distances: Any = None) -> Self:
        """Score the features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Sparse X stays sparse; it must hold numbers without missing values, and `scaling` must not be "standard". A
            stream is loaded, up to a quarter of the budget; ReliefF with `n_targets` reads larger ones twice, and a
            function that returns an iterator of blocks: complete numbers, with y of classes. If a mapped file (.npy,
            .bed) is cut meanwhile, the system ends the process (SIGBUS).
        y : array-like of shape (n_samples,)
            Labels, of any sortable type, or numbers: see `target_type`.
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, which never count as neighbours. Samples of weight 0
            are left out before anything else.
        distances : array-like of shape (n_samples, n_samples), optional
            Distances between the samples, to be used instead of those of X: symmetric, with zeros on the diagonal.

        Returns
        -------
        self
        """
        return self._fit_samples(X, y, sample_weight, distances)

    def _make_rounds(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, distances: Any = None
    ) -> _ReliefRounds:
        """Return the scorer that wrappers call with some of the columns; raise ValueError if `given` names columns of
        X.
        """
        options, run = self._OPTIONS.from_arguments(self), Run.from_estimator(self)
        if options.given is not None and not is_table(options.given):
            raise ValueError("given must be a table for an estimator that sees some of the features at a time")
        return _ReliefRounds(self._read_samples(X, y, sample_weight, distances, options, run), options, run)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags for scikit-learn: categories are taken, NaN unless `missing` is "error", sparse X only by the
        plain method; a regressor if the target is numbers.
        """
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        is_plain = self.missing == "error" and self.categorical_features is None and self.ramp is None
        tags.input_tags.sparse = is_plain and self.scaling != "standard"
        if issubclass(self._OPTIONS, _relief.RReliefFOptions) or self.target_type == "number":
            tags.regressor_tags = RegressorTags()
        else:
            tags.classifier_tags = ClassifierTags()
        return tags


@estimator_class
class Relief(_relief.ReliefFields, _ReliefFamily):
    """Select features by RELIEF: those in which samples are farther from their nearest miss than their nearest hit.

    A sample's nearest hit (of its class) and nearest miss (of another) are found by the distance over all features. A
    feature scores high if it differs between sample and miss, and not between sample and hit. So features that matter
    only together are found, as long as not too many others blur the distances.

    Parameters
    ----------
    <n_features_to_select>
    closed_form : bool
        False: Algorithm 1, means of squared differences. True: the weights that maximise the margin, from absolute
        differences: negative ones become 0, and their norm is 1.
    <family_options>
    <resources>

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Larger is better; may be negative; 0 for constant features.
    <ranking>
    <scores_se>
    classes_ : ndarray of shape (n_classes,)
    target_type_ : str
        "class".
    <algorithm_in_blocks>
    <columns>

    Raises
    ------
    ValueError
        Fewer than two classes; NaN or infinity in X (the first one is named); all features constant; a parameter out of
        range.
    <raises_of_a_dense_fit>

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

    _OPTIONS = _relief.ReliefOptions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the features of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
            Sparse X is made dense. A stream is loaded, up to a quarter of the budget; with `n_targets`, larger ones are
            read twice, and a function that returns an iterator of blocks. If a mapped file (.npy, .bed) is cut
            meanwhile, the system ends the process (SIGBUS).
        y : array-like of shape (n_samples,)
            Labels, of any sortable type.
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, which never count as neighbours. Samples of weight 0
            are left out before anything else.

        Returns
        -------
        self
        """
        return self._fit_samples(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()
        return tags


@estimator_class
class ReliefF(_relief.ReliefFFields, _TableSelector):
    """Select features by ReliefF: RELIEF with several neighbours, and with misses of each class apart.

    The nearest hits of each sample and its nearest misses in each other class are found by Manhattan distance over all
    features. A feature scores high if it differs between sample and misses, and not between sample and hits.

    Parameters
    ----------
    <n_features_to_select>
    n_neighbors : int
        Hits of each sample, and misses in each other class. More neighbours average out noise, but are less local.
    priors : "uniform", dict of labels and shares, or None
        Shares of the classes, by which the misses of different classes are weighed; None: those of the samples.
    <table_options_and_attributes>
    <algorithm_in_blocks>
    <columns>

    <raises_and_warns_of_neighbors>

    References
    ----------
    .. [1] I. Kononenko, "Estimating Attributes: Analysis and Extensions of RELIEF", 1994.
    .. [2] M. Robnik-Sikonja, I. Kononenko, "Theoretical and Empirical Analysis of ReliefF and RReliefF", Machine
       Learning 53, 2003.

    <exclusive_or>
    >>> selector = fastfs.ReliefF(2, n_neighbors=5).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    _OPTIONS = _relief.ReliefFOptions


@estimator_class
class SURF(_relief.SURFFields, _TableSelector):
    """Select features by SURF: ReliefF with all samples as neighbours that are nearer than the mean distance.

    The mean is that of all pairs of samples. :class:`fastfs.MultiSURF` has a threshold for each sample.

    Parameters
    ----------
    <n_features_to_select>
    far : bool
        Use far samples too, with the opposite sign (SURF*). Meant for interactions; it may hide main effects.
    <rest_of_thresholds>

    References
    ----------
    .. [1] C. S. Greene, N. M. Penrod, J. Kiralis, J. H. Moore, "Spatially Uniform ReliefF (SURF) for
       computationally-efficient filtering of gene-gene interactions", BioData Mining 2:5, 2009.
    .. [2] C. S. Greene, D. S. Himmelstein, J. Kiralis, J. H. Moore, "The Informative Extremes: Using Both Nearest and
       Farthest Individuals Can Improve Relief Algorithms in the Domain of Human Genetics", 2010: far samples.

    <exclusive_or>
    >>> selector = fastfs.SURF(2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    _OPTIONS = _relief.SURFOptions


@estimator_class
class MultiSURF(_relief.SURFFields, _TableSelector):
    """Select features by MultiSURF: ReliefF without a number of neighbours to choose.

    A sample's neighbours are all that lie nearer than the mean of its distances less half of their standard deviation.
    If classes are well separated, samples have no near misses; then nearly all scores are negative.

    Parameters
    ----------
    <n_features_to_select>
    far : bool
        Use far samples too, with the opposite sign: those beyond the mean
        plus half of the standard deviation (MultiSURF*). Meant for interactions; it may hide main effects.
    <rest_of_thresholds>

    References
    ----------
    .. [1] R. J. Urbanowicz, R. S. Olson, P. Schmitt, M. Meeker, J. H. Moore, "Benchmarking relief-based feature
       selection methods for bioinformatics data mining", Journal of Biomedical Informatics 85, 2018.

    <exclusive_or>
    >>> selector = fastfs.MultiSURF(2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    _OPTIONS = _relief.MultiSURFOptions


@estimator_class
class SWRF(_relief.SWRFFields, _TableSelector):
    """Select features by SWRF: SURF with weights that a sigmoid of the distance gives to the neighbours.

    Near are all samples that are nearer than the mean distance; the nearer they are, in units of the standard deviation
    of distances, the more they weigh. ``SWRF(far=True)`` is SWRF*, ``radius="sample"`` is MultiSWRF, and
    with a dead band of 0.5 it is MultiSWRFDB.

    Parameters
    ----------
    <n_features_to_select>
    far : bool
        Use far samples too, with the opposite sign (SWRF*). Meant for interactions; it may hide main effects.
    radius : {"all", "sample"}
        The mean and the standard deviation are those of all pairs of samples, or of the distances of each sample.
    dead_band : float
        Samples between the mean less this many standard deviations and the mean plus this many aren't neighbours.
    <rest_of_thresholds>

    References
    ----------
    .. [1] M. E. Stokes, S. Visweswaran, "Application of a spatially-weighted Relief algorithm for ranking genetic
       predictors of disease", BioData Mining 5:20, 2012.

    <exclusive_or>
    >>> selector = fastfs.SWRF(2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    """

    _OPTIONS = _relief.SWRFOptions


@estimator_class
class MuRelief(_relief.ReliefFFields, _TableSelector):
    """Select features by mu-Relief: ReliefF with the most unusual samples of each class in place of the nearest ones.

    The neighbours in a class are the samples with the distances that differ most from the mean distance to that class.

    Parameters
    ----------
    <n_features_to_select>
    n_neighbors : int
        Hits of each sample, and misses in each other class.
    priors
        As for :class:`fastfs.ReliefF`.
    <table_options_and_attributes>
    <algorithm>
    <columns>

    <raises_and_warns_of_neighbors>

    References
    ----------
    .. [1] N. Aggarwal, U. Shukla, G. J. Saxena, M. Rawat, A. S. Bafila, S. Singh, A. Pundir, "Mean based relief: An
       improved feature selection method based on ReliefF", Applied Intelligence 53(19), 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> fastfs.MuRelief(1).fit(X, X[:, 3] > 0).get_support(indices=True).tolist()
    [3]
    """

    _OPTIONS = _relief.MuReliefOptions


@estimator_class
class RReliefF(_relief.RReliefFFields, _TableSelector):
    """Select features by RReliefF, which favours features that differ between near samples with different numbers.

    The nearest samples of each sample weigh the more the nearer they are, by rank. Times to an event may be censored.

    Parameters
    ----------
    <n_features_to_select>
    n_neighbors : int
        Of each sample, among all others.
    sigma : float
        The r-th nearest sample weighs exp(-(r / sigma)^2).
    target_type : {"auto", "number", "survival"}
        Kind of target: numbers, or records of an event and a time, such as scikit-survival's: a structured array with
        the fields `event`, a bool, and `time`, a number, which is the end of observation if there was no event. "auto":
        records are times, and all else must be numbers. Times are experimental: one that is censored counts as any
        later one, by the Kaplan-Meier estimate.
    <table_options>
    <family_options_and_scores>
    target_type_ : {"number", "survival"}
        Kind of target that y was read as.
    <algorithm>
    <columns>

    Raises
    ------
    ValueError
        y that holds classes, equal numbers or no event; infinity in X, or a missing value that `missing` doesn't allow
        (the first one is named); a column that holds no numbers and isn't declared; all features constant; a parameter
        out of range.
    <raises_of_a_fit>

    Warns
    -----
    fastfs.DataWarning
        Samples have no near neighbour; two samples have no feature in common; without scaling, standard deviations lie
        more than 1000 times apart.

    Notes
    -----
    O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. Ties go to the lowest row. The
    result doesn't depend on the number of threads.

    References
    ----------
    .. [1] M. Robnik-Sikonja, I. Kononenko, "Theoretical and Empirical Analysis of ReliefF and RReliefF", Machine
       Learning 53, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> fastfs.RReliefF(1).fit(X, X[:, 3]).get_support(indices=True).tolist()
    [3]
    """

    _OPTIONS = _relief.RReliefFOptions
