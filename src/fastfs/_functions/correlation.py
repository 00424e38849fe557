"""Differential correlation: pairs of features with correlations that differ between classes, or along a number."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastfs._functions.options import option_class, option_field, takes
from fastfs._functions.pairs import (
    FeaturesCall,
    PairsFields,
    PairsOptions,
    PairsResult,
    chosen_columns,
    compare_labelings,
    excluded_numbers,
    holds_fractions,
    limit_pairs,
    names_in_lists,
    names_of,
    naming_classes,
    outcome_of_test,
    require_names,
)
from fastfs._inputs.design import read_covariates
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.response import read_response
from fastfs._inputs.values import for_core
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import as_permutations, check_choice, one_of, some_of
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, load_core, warn
from fastfs._types import Array, Floats, Integers, Progress


@option_class
class CorrelationFields(PairsFields):
    correlation: str = option_field(one_of("pearson", "spearman"), default="pearson")


@dataclass(kw_only=True)
class CorrelationOptions(CorrelationFields, PairsOptions): ...


@option_class
class CorrelationCall(CorrelationFields, FeaturesCall): ...


@result_class
class DifferentialCorrelation(PairsResult, DrawnResult):
    """Pairs of features found by :func:`fastfs.differential_correlation`, the strongest first.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The columns of X, the lower one first.
    correlations : ndarray of shape (n_pairs, n_classes), or (n_pairs, 2)
        In each class, given the covariates. Along numbers, on the line that the correlation follows: one standard
        deviation below the mean of y, and one above it; cut to -1 and 1.
    statistics : ndarray of shape (n_pairs,)
        z, the difference of Fisher's transforms, first class less second class, in standard deviations: (atanh r_1 -
        atanh r_2) / sqrt(1 / (n_1 - 3) + 1 / (n_2 - 3)); with Spearman's correlation 1.06 replaces the two ones. Of
        more classes, the chi-square of homogeneity of the transforms: the sum of (n_c - 3) (atanh r_c - mean)^2, with
        the mean weighted alike (Spearman's: over 1.06). A correlation of 1 counts as 1 - 1e-12, and Spearman's as 1 -
        6 / (n^3 - n), with n samples in the smallest class. Along numbers, t of the slope of that line.
    effects, standard_errors : ndarray of shape (n_pairs,) or None
        The numerator and the denominator of z, or the slope: the change of the correlation per standard deviation of y;
        None for more than two classes.
    degrees : int
        Degrees of freedom of z^2, which are 1; of the chi-square, one less than classes; or of t.
    <test_of_pairs>
    scores : ndarray of shape (n_features,)
        The sum of \\|z\\|, or of the roots of chi-square, over the pairs that a feature is in; along numbers, the
        largest \\|t\\| of these. 0 for features that weren't chosen or were left out.
    classes : ndarray of shape (n_classes,), or None
        None along numbers.
    excluded_features : ndarray
        Chosen features that are constant in a class, or that numbers or covariates explain: they have no correlation.
    excluded_pairs : ndarray of shape (at most 10, 2)
        The first copies, which say nothing of the classes and were left out: pairs with a correlation above 1 - 1e-12
        in magnitude and of the same sign in all classes. Along numbers, as for :class:`fastfs.InteractionScan`.
    n_excluded_pairs : dict of str to int
        Number of pairs left out, by reason: "copies"; along numbers also "product" and "target".
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
    scores: Floats
    correlation: str

    _picture = "differential_correlation"
    _of_pairs: ClassVar = {"correlations": None, **PairsResult._of_pairs}

    @property
    def columns(self) -> dict[str, Array]:
        """The values of the pairs, by the names of the columns that frames, files and networks have for them."""
        named = zip(self.correlation_names, self.correlations.T, strict=True)
        return {f"r_{name}": values for name, values in named} | super().columns

    @property
    def correlation_names(self) -> list[str]:
        """The names of the columns of `correlations`: classes, or "below" and "above" the mean of numbers."""
        return ["below", "above"] if self.classes is None else [str(label) for label in self.classes.tolist()]


@takes(CorrelationCall)
def differential_correlation(call: CorrelationCall) -> DifferentialCorrelation:
    r"""Find the pairs of features with correlations that differ between classes, or that change along a number.

    All pairs are compared, by Fisher's transform of their correlation in each class or by the slope of their
    correlation along a number such as an age, and tested together by permutation. No table of all pairs is stored.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        A sparse X becomes a dense table inside the core.
    y : array-like of shape (n_samples,)
        Labels of classes, with at least four samples each, or numbers.
    features : array-like, optional
        Compare the pairs among these only: a mask, column numbers or names. Default: all.
    feature_names : sequence of str, optional
        Names of the columns, for `features` and warnings. Default: those of a DataFrame.
    target_type : {"auto", "class", "number"}
        Kind of y. "auto": numbers if it holds fractions, else classes.
    correlation : {"pearson", "spearman"}
        Spearman's takes ranks within each class, or along numbers the normal scores of ranks. Choose it for heavy
        tails, and if samples may be outliers in many features: there Pearson's finds too much, p <= 0.05 in 7 to 21 %
        of data sets without any change. A warning tells of heavy tails.
    n_pairs : int
        How many of the strongest pairs to report.
    n_permutations : int or "auto"
        Labelings to compare with the true one; p-values can't be below 1 / (1 + n_permutations). If the design allows
        no more than that, all of them are taken, and p-values are exact. "auto": 999, but only 99 if ten of these have
        a pair as strong as the true labels. 0: no p-values.
    <alpha_of_pairs>
    <design_of_pairs>
        Features also lose their lines in the covariates, with slopes that the classes share, unless a fourth of a class
        share a value. Along numbers, covariates are part of the model of each feature and of each pair.
    <draws_and_machine>

    Returns
    -------
    DifferentialCorrelation

    Raises
    ------
    ValueError
        y has one class, or a class fewer than four samples; fewer than two features vary in all classes;
        X has NaN or infinity; equal numbers, or numbers that covariates determine; the design allows no labeling but
        the true one; parameters out of range.
    TypeError
        A parameter has the wrong type.
    MemoryError
        The call needs more memory than `max_memory`: about 24 n_samples n_features bytes, and 8
        n_samples n_permutations for the labelings.

    Warns
    -----
    fastfs.DataWarning
        Features that are constant in a class, or pairs of copies, were left out; the design is weak; heavy tails make
        Pearson's p-values too small; or there are no p-values, since groups move as wholes and features have one value
        in more than three fourths of a class.

    Notes
    -----
    O(n_samples n_features^2) time for each labeling. Features are standardised within the true classes, so that
    differences in mean and variance don't count, and each class then gets the mean and the deviation that the labeling
    before finds: the difference that chance alone makes between classes under this design. Labelings move these
    samples. If a fourth of a class share a value, labelings move places in the order of the values instead, ties in
    random order, and each class gets the values of a true class in this order; not if groups move as wholes. p-values
    are family-wise under the hypothesis that no correlation changes; the early end of "auto" leaves that rate as it is.
    If y chose the features, each permutation would have to repeat the choice: choose them without y.

    Along numbers, each feature loses the line (in y and the covariates) that its mean follows, and is divided by a
    deviation with a logarithm that is a line in y, of the largest likelihood, until both are flat. The statistic is t
    of y in the regression of the product of two such features on y and the covariates, given both features: that of
    :func:`fastfs.interaction_scan` with the sides exchanged. Under a labeling, these features lose their lines in its
    numbers, too. O(n_samples n_features^2) time for each labeling: five products of all pairs, and one for each
    covariate.

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
    >>> age = np.linspace(20, 80, 60)
    >>> X[:, 4] += X[:, 3] * (age - 50) / 10  # tied to each other in opposite ways in the young and the old
    >>> result = fastfs.differential_correlation(X, age, target_type="number")
    >>> result.pairs[0].tolist(), result.correlations[0].round(1).tolist(), result.pvalue
    ([3, 4], [-0.8, 0.7], 0.001)
    """
    options = CorrelationOptions.from_arguments(call)
    n_permutations, may_stop = as_permutations(call.n_permutations, low=0)
    run = call.make_run()
    names = names_of(call.X, call.feature_names)
    X = as_matrix(call.X, run)
    require_names(names, X.shape[1])
    chosen = chosen_columns("features", call.features, X.shape[1], names)
    check_choice("target_type", call.target_type, ("auto", "class", "number"))
    if call.target_type == "number" or (call.target_type == "auto" and holds_fractions(call.y, *X.shape)):
        return _compare_along_numbers(call, options, X, names, chosen, run)
    classes, labels = encode_labels(call.y, X.shape[0], X.shape[1], "compare along them with target_type='number'")
    require_classes(classes)
    n_classes = len(classes)
    call.check_test(n_permutations, "blocks", "groups", "covariates")
    design, labelings = call.read_design(labels, classes[labels], n_permutations, run, shuffled=True)
    exact = design.exact and labelings is not None
    core_options = options.core_options() | {
        "features": chosen,
        "wholes": int(design.moves_together),
        "n_classes": n_classes,
    }
    if call.covariates is not None:
        core_options["covariates"] = for_core(read_covariates(call.covariates, X.shape[0]))

    def compare(labelings: Array | None, progress: Progress | None) -> dict[str, Any]:
        run.progress = progress
        with naming_classes(classes):
            compared: dict[str, Any] = load_core().differential_correlation(
                X, labels, core_options | {"labelings": labelings}, run
            )
        return compared

    rare = compare(None, None)["rare"] if labelings is not None and design.moves_together else np.zeros(0, bool)
    if rare.any():
        if call.alpha is not None:
            which = [column if names is None else names[column] for column in np.flatnonzero(rare).tolist()]
            raise ValueError(
                "alpha must be left out if groups move as wholes and features have one value in more than three "
                f"fourths of a class, because there are no p-values; got {some_of(which)}: leave alpha out, or name "
                "other features in `features`"
            )
        labelings, exact = None, False
    core_result, stopped = compare_labelings(compare, labelings, call.progress, may_stop=may_stop and not exact)
    warn(last_warnings(names_in_lists(names)))
    statistics, n_copies = core_result["z"], core_result["n_copies"]
    n_compared = (X.shape[1] if chosen is None else len(chosen)) - np.count_nonzero(core_result["constant"])
    error = core_result["error"]
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


def _compare_along_numbers(
    call: CorrelationCall,
    options: CorrelationOptions,
    X: Any,
    names: list[Any] | None,
    chosen: Integers | None,
    run: Run,
) -> DifferentialCorrelation:
    """Find the pairs of features with correlations that change along the numbers y, given covariates if there are any.

    Test them unless `n_permutations` is 0, with an early end if that is allowed, and keep those up to `alpha`. Warn of
    features and pairs that are left out.
    """
    n_permutations, may_stop = as_permutations(call.n_permutations, low=0)
    y = read_response(call.y, X.shape[0], X.shape[1], "number").values
    call.check_test(n_permutations, "blocks", "groups")
    design, labelings = call.read_design(y, None, n_permutations, run)
    core_options = {
        "along": 1,
        "transform": "rank" if options.correlation == "spearman" else "none",
        "n_pairs": options.n_pairs,
        "features": chosen,
    }
    if call.covariates is not None:
        core_options["covariates"] = for_core(read_covariates(call.covariates, X.shape[0]))

    def compare(labelings: Array | None, progress: Progress | None) -> dict[str, Any]:
        run.progress = progress
        permuted = {} if labelings is None else {"y_permutations": labelings}
        compared: dict[str, Any] = load_core().interaction_scan(X, None, y, core_options | permuted, run)
        return compared | {"null_maxima": np.sqrt(compared["null_maxima"])}

    core_result, stopped = compare_labelings(compare, labelings, call.progress, may_stop=may_stop and not design.exact)
    warn(last_warnings(names_in_lists(names)))
    slopes, errors = core_result["effects"], core_result["errors"]
    ends = core_result["correlations"][:, None] + slopes[:, None] * [-1.0, 1.0]
    result = DifferentialCorrelation(
        pairs=core_result["pairs"],
        correlations=np.clip(ends, -1.0, 1.0),
        statistics=np.copysign(np.sqrt(core_result["statistics"]), slopes),
        effects=slopes,
        standard_errors=errors,
        degrees=core_result["degrees"][1],
        scores=np.sqrt(core_result["scores"]),
        n_tested=core_result["n_tested"],
        classes=None,
        excluded_features=np.flatnonzero(core_result["constant"]),
        excluded_pairs=core_result["excluded"],
        n_excluded_pairs=excluded_numbers(core_result),
        correlation=options.correlation,
        stopped=stopped,
        feature_names=names,
        **outcome_of_test(core_result, design, exact=design.exact and labelings is not None),
    )
    return limit_pairs(result, call.alpha)
