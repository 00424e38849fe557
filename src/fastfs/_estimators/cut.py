"""Cut by p-value, stability or score around any selector."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from fastfs._estimators.contract import check_is_fitted
from fastfs._estimators.selector import estimator_class
from fastfs._estimators.wrapper import _Wrapper
from fastfs._inference.permutation import permutation_test
from fastfs._inference.scorers import last_step
from fastfs._inference.stability import stability
from fastfs._inputs.design import SIGNIFICANT
from fastfs._inputs.matrix import require_table
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import as_stream
from fastfs._machine.params import as_float, check_choice, rank_features
from fastfs._types import Array, Progress

_KINDS = ("family-wise", "fdr", "stability", "score")


@estimator_class
class Cut(_Wrapper):
    """Select the features that pass a cut, be it all or none of them: by p-value, by stability or by score.

    ``n_features_to_select="auto"`` of the estimators is the cut at a family-wise p-value of 0.05 for independent
    samples. This class also takes designs: donors, batches, pairs and covariates.

    Parameters
    ----------
    estimator : estimator
        Any with ``scores_`` once fitted, or a pipeline with one as its last step. It isn't changed. Its own
        `n_features_to_select` matters for ``by="stability"`` alone.
    by : {"family-wise", "fdr", "stability", "score"}
        "family-wise": features with `pvalues_max` of at most `at`; if the labels say nothing, none is selected with a
        probability of 1 - `at`. "fdr": features with `pvalues_adjusted` of at most `at`, the share of false ones to
        expect among them. "stability": features that the estimator selects in at least this share of halves of the
        samples. "score": features with scores of at least `at`.
    at : float or None
        Where to cut; None: 0.05 for p-values and 0.75 for stability.
    feature_groups : dict of names and lists of features, optional
        Cut groups by the p-values of their largest scores, as of :func:`fastfs.permutation_test`, and select all
        features of those that pass; groups may overlap.
    n_permutations : int or "auto"
        For p-values.
    random_state : int, Generator, RandomState or None
        Seed of the permutations or halves; the estimator has a separate one.
    n_jobs : int or None
        Joblib workers, as for :func:`fastfs.permutation_test`.
    verbose : bool or callable
        True prints progress on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Scores of the estimator; by stability the shares of the halves.
    ranking_ : ndarray of shape (n_features,), int64
        Ranking by `scores_`; 1 is best.
    support_ : ndarray of shape (n_features,), bool
        True for features that are selected.
    test_ : PermutationResult
        By p-value.
    stability_ : StabilityResult
        By stability.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X, if it had any.
    feature_importances_ : ndarray of shape (n_features,)
        `scores_`, with 0 for negative ones.

    Raises
    ------
    ValueError
        `by` is another word; `at` is missing or out of range; covariates with other cuts than p-values; what
        :func:`fastfs.permutation_test`, :func:`fastfs.stability` or the estimator raise.
    TypeError
        A parameter is of another type.

    Warns
    -----
    fastfs.DataWarning
        What the test and the estimator warn of.

    Notes
    -----
    One fit, or those of the test. p-values of one estimator say that a feature follows the labels, not that it matters
    given the others.

    Examples
    --------
    Two features follow the labels.

    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 40)), np.arange(60) % 2
    >>> X[:, [3, 8]] += 2 * y[:, None]
    >>> fastfs.Cut(fastfs.ReliefF()).fit(X, y).get_support(indices=True).tolist()
    [3, 8]

    Eight cells of each of 12 donors, and labels of donors that say nothing.

    >>> donors = np.repeat(np.arange(12), 8)
    >>> cells = np.random.default_rng(0).normal(size=(96, 10)) + np.random.default_rng(1).normal(size=(12, 10))[donors]
    >>> selector = fastfs.Cut(fastfs.ProjSe()).fit(cells, donors % 2, groups=donors)
    >>> selector.get_support(indices=True).tolist(), selector.test_.design
    ([], '6 + 6 groups')
    """

    estimator: Any
    by: str = "family-wise"
    at: float | None = None
    _: KW_ONLY
    feature_groups: Any = None
    n_permutations: int | str = "auto"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: bool | Progress = False

    def fit(
        self, X: Any, y: Any, *, blocks: Any = None, groups: Any = None, covariates: Any = None, **fit_params: Any
    ) -> Self:
        """Score the features of X as `by` says, and set `support_`, True for each feature that `at` keeps.

        By stability, `scores_` are frequencies, and `stability_` is set. By p-values `test_` is set, and groups of
        features are kept as wholes.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features)
            Data in any form that the estimator takes, and that can be read several times.
        y : array-like
            Target in any form that the estimator takes.
        blocks, groups, covariates
            The design of the samples, as for :func:`fastfs.permutation_test` or :func:`fastfs.stability`.
        **fit_params
            For the estimator's ``fit``, such as sample weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Covariates or feature groups, unless `by` is a p-value; blocks or groups with ``by="score"``.
        """
        by, at = check_choice("by", self.by, _KINDS), self._checked_at()
        design = {"blocks": blocks, "groups": groups}
        if covariates is not None and by not in ("family-wise", "fdr"):
            raise ValueError(f"covariates must be None with by={by!r}, which tests nothing: cut by a p-value")
        if self.feature_groups is not None and by not in ("family-wise", "fdr"):
            raise ValueError(f"feature_groups must be None with by={by!r}, which tests nothing: cut by a p-value")
        if by == "score" and any(column is not None for column in design.values()):
            raise ValueError("blocks and groups must be None with by='score', which tests nothing: cut by a p-value")
        asked: dict[str, Any] = {"params": fit_params or None, "random_state": self.random_state}
        asked |= {"n_jobs": self.n_jobs, "verbose": self.verbose}
        with self._all_or_nothing():
            X = open_path(X)
            is_table = as_stream(X) is None
            if is_table:
                require_table(X)
                self._check_columns(X)
            if by == "score":
                from sklearn.base import clone

                self.scores_ = last_step(clone(self.estimator).fit(X, y, **fit_params)).scores_
                self.support_ = self.scores_ >= at
            elif by == "stability":
                self.stability_ = stability(
                    self.estimator, X, y, **design, scheme="complementary", threshold=at, **asked
                )
                self.scores_ = self.stability_.frequencies
                self.support_ = self.scores_ >= at
            else:
                asked |= {"covariates": covariates, "feature_groups": self.feature_groups}
                self.test_ = permutation_test(
                    self.estimator, X, y, **design, n_permutations=self.n_permutations, **asked
                )
                self.scores_ = self.test_.scores
                groups = self.test_.feature_groups
                tested = self.test_ if groups is None else groups
                passed = (tested.pvalues_adjusted if by == "fdr" else tested.pvalues_max) <= at
                self.support_ = passed if groups is None else groups.mask_features(passed, len(self.scores_))
            self.ranking_ = rank_features(self.scores_)
            if not is_table:
                self.n_features_in_ = len(self.scores_)
        return self

    def _checked_at(self) -> float:
        """Return `at`, or its default for `by`; raise ValueError if it doesn't suit `by`."""
        if self.at is None:
            if self.by == "score":
                raise ValueError("at must be a number with by='score'; got None: each method has its own scale")
            return 0.75 if self.by == "stability" else SIGNIFICANT
        at = as_float("at", self.at)
        if np.isnan(at) or (self.by in ("family-wise", "fdr") and not 0 < at < 1):
            raise ValueError(f"at must lie between 0 and 1 with by={self.by!r}; got {self.at}")
        return at

    def _get_support_mask(self) -> Array:
        check_is_fitted(self, "support_")
        mask: Array = self.support_
        return mask
