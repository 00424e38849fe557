"""Differential correlation: pairs of features with correlations that differ between classes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fastfs._functions.options import option_class, option_field, takes
from fastfs._functions.pairs import (
    DesignCall,
    PairsFields,
    PairsOptions,
    PairsResult,
    chosen_columns,
    compare_labelings,
    limit_pairs,
    names_in_lists,
    naming_classes,
    outcome_of_test,
    require_names,
)
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_matrix, column_names
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import as_permutations, one_of
from fastfs._machine.results import result_class
from fastfs._machine.run import load_core, warn
from fastfs._types import Array, Floats, Progress


@option_class
class CorrelationFields(PairsFields):
    correlation: str = option_field(one_of("pearson", "spearman"), default="pearson")


@dataclass(kw_only=True)
class CorrelationOptions(CorrelationFields, PairsOptions): ...


@option_class
class CorrelationCall(CorrelationFields, DesignCall):
    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    features: Any = None
    feature_names: Sequence[str] | None = None
    n_permutations: int | str = 999


@result_class
class DifferentialCorrelation(PairsResult):
    """Pairs of features found by :func:`fastfs.differential_correlation`, the strongest first.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The columns of X, the lower one first.
    correlations : ndarray of shape (n_pairs, n_classes)
        In each class.
    statistics : ndarray of shape (n_pairs,)
        z, the difference of Fisher's transforms, first class less second class, in standard deviations: (atanh r_1 -
        atanh r_2) / sqrt(1 / (n_1 - 3) + 1 / (n_2 - 3)); with Spearman's correlation 1.06 replaces the two ones. Of
        more classes, the chi-square of homogeneity of the transforms: the sum of (n_c - 3) (atanh r_c - mean)^2, with
        the mean weighted alike (Spearman's: over 1.06). A correlation of 1 counts as 1 - 1e-12, and Spearman's as 1 -
        6 / (n^3 - n), with n samples in the smallest class.
    effects, standard_errors : ndarray of shape (n_pairs,) or None
        The numerator and the denominator of z; None for more than two classes.
    degrees : int
        Degrees of freedom of z^2, which are 1, or of the chi-square: one less than classes.
    <test_of_pairs>
    scores : ndarray of shape (n_features,)
        The sum of \\|z\\|, or of the roots of chi-square, over the pairs that a feature is in; 0 for features that
        weren't chosen or were left out.
    classes : ndarray of shape (n_classes,)
    excluded_features : ndarray
        Chosen features that are constant in a class, so that they have no correlation.
    excluded_pairs : ndarray of shape (at most 10, 2)
        The first copies, which say nothing of the classes and were left out: pairs with a correlation above 1 - 1e-12
        in magnitude and of the same sign in all classes.
    n_excluded_pairs : dict of str to int
        Number of pairs left out, by reason: "copies".
    correlation : {"pearson", "spearman"}
    feature_names : list or None
        Names of the columns of X, if they were given or X is a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 8)), np.repeat(["case", "control"], 30)
    >>> X[:30, 1] += 3 * X[:30, 0]  # tied to each other in cases only
    >>> result = fastfs.differential_correlation(X, y, n_permutations=99)
    >>> result.pairs[0].tolist(), result.correlations[0].round(2).tolist(), result.pvalues_max[0].item()
    ([0, 1], [0.95, -0.22], 0.01)
    """

    correlations: Floats
    classes: Array
    scores: Floats
    correlation: str

    _of_pairs: ClassVar = {"correlations": None, **PairsResult._of_pairs}

    @property
    def columns(self) -> dict[str, Array]:
        """The values of the pairs, by the names of the columns that frames, files and networks have for them."""
        of_classes = zip(self.classes.tolist(), self.correlations.T, strict=True)
        return {f"r_{label}": values for label, values in of_classes} | super().columns


@takes(CorrelationCall)
def differential_correlation(call: CorrelationCall) -> DifferentialCorrelation:
    r"""Find the pairs of features with correlations that differ between classes.

    All pairs are compared, by Fisher's transform of their correlation in each class, and tested together by
    permutation. No table of all pairs is stored.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        A sparse X becomes a dense table inside the core.
    y : array-like of shape (n_samples,)
        Labels of classes, with at least four samples each.
    features : array-like, optional
        Compare the pairs among these only: a mask, column numbers or names. Default: all.
    feature_names : sequence of str, optional
        Names of the columns, for `features` and warnings. Default: those of a DataFrame.
    correlation : {"pearson", "spearman"}
        Spearman's takes ranks within each class. Choose it if samples may be outliers in many features, where Pearson's
        finds too much: p <= 0.05 in 12 % of data sets without any change, against 4 %.
    n_pairs : int
        How many of the strongest pairs to report.
    n_permutations : int or "auto"
        Labelings to compare with the true one; p-values can't be below 1 / (1 + n_permutations). If the design allows
        no more than that, all of them are taken, and p-values are exact. "auto": 999, but only 99 if ten of these have
        a pair as strong as the true labels. 0: no p-values.
    <alpha_of_pairs>
    <design_of_pairs>
    <draws_and_machine>

    Returns
    -------
    DifferentialCorrelation

    Raises
    ------
    ValueError
        y has one class, or a class fewer than four samples; fewer than two features vary in all classes;
        X has NaN or infinity; the design allows no labeling but the true one; parameters out of range.
    TypeError
        A parameter has the wrong type.
    MemoryError
        The call needs more memory than `max_memory`: about 24 n_samples n_features bytes, and 8
        n_samples n_permutations for the labelings.

    Warns
    -----
    fastfs.DataWarning
        Features that are constant in a class, or pairs of copies, were left out; the design is weak; or there are no
        p-values, since groups move as wholes and features have one value in more than three fourths of a class.

    Notes
    -----
    O(n_samples n_features^2) time for each labeling. Features are standardised within the true classes, so that
    differences in mean and variance don't count, and each class then gets the mean and the deviation that the labeling
    before finds: the difference that chance alone makes between classes under this design. Labelings move these
    samples. If a fourth of a class share a value, labelings move places in the order of the values instead, ties in
    random order, and each class gets the values of a true class in this order; not if groups move as wholes. p-values
    are family-wise under the hypothesis that no correlation changes; the early end of "auto" leaves that rate as it is.
    If y chose the features, each permutation would have to repeat the choice: choose them without y.

    References
    ----------
    .. [1] A. T. McKenzie, I. Katsyv, W.-M. Song, M. Wang, B. Zhang, "DGCA: A comprehensive R package for Differential
       Gene Correlation Analysis", BMC Systems Biology 10, 2016: z.
    .. [2] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993: step-down p-values.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 8)), np.repeat([0, 1], 30)
    >>> X[:30, 1] += 3 * X[:30, 0]  # tied to each other in class 0 only
    >>> result = fastfs.differential_correlation(X, y, n_pairs=2)
    >>> result.pairs[result.pvalues_max <= 0.05].tolist()
    [[0, 1]]
    """
    options = CorrelationOptions.from_arguments(call)
    n_permutations, may_stop = as_permutations(call.n_permutations, low=0)
    run = call.make_run()
    names = column_names(call.X) if call.feature_names is None else list(call.feature_names)
    X = as_matrix(call.X, run)
    require_names(names, X.shape[1])
    classes, labels = encode_labels(call.y, *X.shape)
    require_classes(classes)
    n_classes = len(classes)
    chosen = chosen_columns("features", call.features, X.shape[1], names)
    call.check_test(n_permutations, "blocks", "groups", "covariates")
    design, labelings = call.read_design(labels, classes[labels], n_permutations, run, shuffled=True)
    exact = design.exact and labelings is not None
    core_options = options.core_options() | {
        "features": chosen,
        "wholes": int(design.moves_together),
        "n_classes": n_classes,
    }

    def compare(labelings: Array | None, progress: Progress | None) -> dict[str, Any]:
        run.progress = progress
        with naming_classes(classes):
            compared: dict[str, Any] = load_core().differential_correlation(
                X, labels, core_options | {"labelings": labelings}, run
            )
        return compared

    if labelings is not None and design.moves_together and compare(None, None)["rare"].any():
        if call.alpha is not None:
            raise ValueError(
                "alpha must be left out if groups move as wholes and features have one value in more than three "
                "fourths of a class, because there are no p-values: leave these features out"
            )
        labelings, exact = None, False
    core_result, stopped = compare_labelings(compare, labelings, call.progress, may_stop=may_stop and not exact)
    warn(last_warnings(names_in_lists(names)))
    statistics, n_copies = core_result["z"], core_result["n_copies"]
    n_compared = (X.shape[1] if chosen is None else len(chosen)) - np.count_nonzero(core_result["constant"])
    variance_of_ranks = 1.06 if options.correlation == "spearman" else 1.0
    error = np.sqrt(variance_of_ranks * (1 / (np.bincount(labels) - 3)).sum())
    result = DifferentialCorrelation(
        pairs=core_result["pairs"],
        correlations=core_result["correlations"],
        statistics=statistics,
        effects=statistics * error if n_classes == 2 else None,
        standard_errors=np.full(len(statistics), error) if n_classes == 2 else None,
        degrees=n_classes - 1,
        scores=core_result["scores"],
        n_tested=int(n_compared * (n_compared - 1) // 2 - n_copies),
        classes=classes,
        excluded_features=np.flatnonzero(core_result["constant"]),
        excluded_pairs=core_result["copies"],
        n_excluded_pairs={"copies": n_copies},
        correlation=options.correlation,
        stopped=stopped,
        feature_names=names,
        **outcome_of_test(core_result, design, exact=exact),
    )
    return limit_pairs(result, call.alpha)
