"""Scores of Python's fastfs for the tests of the R package: ``python r/reference.py FOLDER``.

Each case is a call of R and its twin in Python. Own kernels give the same bits; what goes through LAPACK differs with
the library. FOLDER gets cases.csv and each array as little-endian doubles in R's order, column by column.
"""

import csv
import inspect
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import fastfs

# The call of R (its scores, unless it returns numbers), that of Python, and the relative error allowed of the largest
# number; 0: the same bits.
CASES = [
    ("relief(x, y)", lambda X, y: fastfs.relief_scores(X, y), 0),
    ("relief(x, y, closed_form = TRUE)", lambda X, y: fastfs.relief_scores(X, y, closed_form=True), 0),
    ("relieff(x, y)", lambda X, y: fastfs.relieff_scores(X, y), 0),
    ("relieff(x, y, n_neighbors = 3, priors = 'uniform')",
     lambda X, y: fastfs.relieff_scores(X, y, n_neighbors=3, priors="uniform"), 0),
    ("relieff(x, y, ramp = c(0.05, 0.3))", lambda X, y: fastfs.relieff_scores(X, y, ramp=(0.05, 0.3)), 0),
    ("relieff(x, y, n_targets = 20, random_state = 7)",
     lambda X, y: fastfs.relieff_scores(X, y, n_targets=20, random_state=7), 0),
    ("relieff(x, number)", lambda X, y: fastfs.relieff_scores(X, X[:, 0], target_type="number"), 0),
    ("mu_relief(x, y)", lambda X, y: fastfs.mu_relief_scores(X, y), 0),
    ("surf(x, y)", lambda X, y: fastfs.surf_scores(X, y), 0),
    ("multisurf(x, y, far = TRUE)", lambda X, y: fastfs.multisurf_scores(X, y, far=True), 0),
    ("swrf(x, y, radius = 'sample')", lambda X, y: fastfs.swrf_scores(X, y, radius="sample"), 0),
    ("rrelieff(x, number)", lambda X, y: fastfs.rrelieff_scores(X, X[:, 0]), 0),
    ("relieff(missing_x, y, missing = 'ignore')",
     lambda X, y: fastfs.relieff_scores(with_gaps(X), y, missing="ignore"), 0),
    ("relieff(x, y, given = 3:5)", lambda X, y: fastfs.relieff_scores(X, y, given=[2, 3, 4]), 0),
    ("relief(x[, 1:50], y, given = x[, 51:52])",
     lambda X, y: fastfs.relief_scores(X[:, :50], y, given=X[:, 50:52]), 0),
    ("projse(x, y, given = 3:5)", lambda X, y: fastfs.projse_scores(X, y, given=[2, 3, 4]), 1e-12),
    ("permutation_test('relieff', x[, 1:30], y, list(given = 1:2), n_permutations = 19)$pvalues_max",
     lambda X, y: fastfs.permutation_test(
         fastfs.ReliefF(given=[0, 1]), X[:, :30], y, n_permutations=19).pvalues_max, 0),
    ("im4e(x, y)", lambda X, y: fastfs.im4e_scores(X, y), 0),
    ("im4e(x, y, sigma = 2, class_weight = c('1' = 2))",
     lambda X, y: fastfs.im4e_scores(X, y, sigma=2.0, class_weight={1: 2.0}), 0),
    ("immigrate(x, y)", lambda X, y: fastfs.immigrate_scores(X, y), 1e-12),
    ("immigrate(x[, 1:30], y, prefilter = NULL)",
     lambda X, y: fastfs.immigrate_scores(X[:, :30], y, prefilter=None), 1e-12),
    ("manifest(x[, 1:100], y)", lambda X, y: fastfs.manifest_scores(X[:, :100], y), 1e-12),
    ("manifest(x[, 1:100], three, multiclass = 'ovo', sigma_factor = 0.3)",
     lambda X, y: fastfs.manifest_scores(X[:, :100], thirds(y), multiclass="ovo", sigma_factor=0.3), 1e-12),
    ("manifest(x, y, accuracy = 'low_rank', rank = 20)",
     lambda X, y: fastfs.manifest_scores(X, y, accuracy="low_rank", rank=20), 1e-12),
    ("projse(x, y)", lambda X, y: fastfs.projse_scores(X, y), 1e-12),
    ("projse(x, x[, 1:2], kernel = 'rbf')", lambda X, y: fastfs.projse_scores(X, X[:, :2], kernel="rbf"), 1e-12),
    ("projse(x, y, 12, beyond = 'residual')$explained",
     lambda X, y: fastfs.projse(X, y, n_features_to_select=12, beyond="residual").explained, 1e-12),
    ("projse(x[, 1:50])", lambda X, y: fastfs.projse_scores(X[:, :50]), 1e-12),
    ("disc(x[, 1:100], y, n_components = 3, bandwidth_neighbors = 5)",
     lambda X, y: disc(X[:, :100], y, n_components=3, bandwidth_neighbors=5), 1e-12),
    ("disc(x[, 1:100], y, n_components = 3, graph = 'knn', n_neighbors = 10)",
     lambda X, y: disc(X[:, :100], y, n_components=3, graph="knn", n_neighbors=10), 1e-12),
    ("ikdr(x[, 1:100], y)", lambda X, y: fastfs.ikdr(X[:, :100], y).scores, 1e-12),
    ("manifest(x[, 1:100], y, combine = 'f')",
     lambda X, y: fastfs.ManiFeSt(combine="f").fit(X[:, :100], y).scores_, 1e-12),
    ("c(t(predict(im4e(x, y), x[1:10, ], type = 'distance')))",
     lambda X, y: fastfs.IM4E().fit(X, y).expected_distance(X[:10]).ravel(), 0),
    ("c(t(predict(immigrate(x[, 1:30], y), x[1:10, 1:30], type = 'distance')))",
     lambda X, y: fastfs.Immigrate().fit(X[:, :30], y).expected_distance(X[:10, :30]).ravel(), 1e-12),
    ("explain(im4e(x, y), x[1:3, ], top = 5)$features$part",
     lambda X, y: np.concatenate([e.features["part"] for e in fastfs.IM4E().fit(X, y).explain(X[:3], top=5)]), 0),
    ("differential_correlation(x[, 1:200], y, n_permutations = 0)$scores",
     lambda X, y: correlation(X, y).scores, 0),
    ("differential_correlation(x[, 1:200], y, correlation = 'spearman', n_permutations = 0)$statistics",
     lambda X, y: correlation(X, y, correlation="spearman").statistics, 0),
    ("c(differential_correlation(x[, 1:60], three, n_permutations = 9)[c('statistics', 'null_maxima')],"
     " recursive = TRUE)",
     lambda X, y: correlation_of_classes(X, y), 0),
    ("c(differential_correlation(x[, 2:60], number, covariates = x[, 61:62], n_permutations = 9)"
     "[c('statistics', 'effects', 'standard_errors', 'scores', 'null_maxima', 'pvalues_max')], recursive = TRUE)",
     lambda X, y: correlation_along(X[:, 1:60], X[:, 0], covariates=X[:, 60:62]), 0),
    ("snp_pairs(genotypes[, 1:200], y)$statistics",
     lambda X, y: fastfs.snp_pairs(genotypes(X)[:, :200], y).statistics, 0),
    ("ld_clumps(genotypes, x[1, ])$clump - 1", lambda X, y: fastfs.ld_clumps(genotypes(X), X[0]).clump, 0),
    # Labelings are drawn by the core, from the same seed.
    ("unlist(permutation_test('relieff', x[, 1:30], y, n_permutations = 49, feature_groups ="
     " list(a = 1:4, b = c(4, 9), c = 30))$feature_groups[-1])", lambda X, y: groups_of_features(X, y), 1e-12),
    ("permutation_test('relieff', x[18:27, ], y[18:27])$pvalues_max",
     lambda X, y: fastfs.permutation_test(fastfs.ReliefF(), X[17:27], y[17:27]).pvalues_max, 0),
    ("permutation_test('rrelieff', x[1:6, ], number[1:6], list(n_neighbors = 2), covariates = x[1:6, 2])$pvalues",
     lambda X, y: fastfs.permutation_test(
         fastfs.RReliefF(n_neighbors=2), X[:6], X[:6, 0], covariates=X[:6, 1]).pvalues, 0),
    ("permutation_test('relieff', x, y, n_permutations = 199, random_state = 7)$z",
     lambda X, y: fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=199, random_state=7).z, 0),
    ("permutation_test('surf', x, y)$null_statistics",
     lambda X, y: fastfs.permutation_test(fastfs.SURF(), X, y).null_statistics, 0),
    ("permutation_test('projse', x, y, blocks = rep(1:2, 31), n_permutations = 199, statistic = 'score')$pvalues_max",
     lambda X, y: fastfs.permutation_test(
         fastfs.ProjSe(), X, y, blocks=np.arange(62) % 2, n_permutations=199, statistic="score").pvalues_max, 1e-12),
    ("permutation_test('relieff', x, three, groups = rep(1:31, each = 2), n_permutations = 99)$pvalues_adjusted",
     lambda X, y: fastfs.permutation_test(
         fastfs.ReliefF(), X, thirds(y), groups=np.arange(62) // 2, n_permutations=99).pvalues_adjusted, 0),
    ("permutation_test('relieff', x, y, covariates = x[, 3:4], n_permutations = 99, fdr = 'by')$pvalues_adjusted",
     lambda X, y: fastfs.permutation_test(
         fastfs.ReliefF(), X, y, covariates=X[:, 2:4], n_permutations=99, fdr="by").pvalues_adjusted, 0),
    ("permutation_test('rrelieff', x, number, covariates = x[, 2], n_permutations = 49)$z",
     lambda X, y: fastfs.permutation_test(
         fastfs.RReliefF(), X, X[:, 0], covariates=X[:, 1], n_permutations=49).z, 0),
    ("differential_correlation(x[, 1:60], y, n_permutations = 49)$null_maxima",
     lambda X, y: fastfs.differential_correlation(X[:, :60], y, n_permutations=49).null_maxima, 0),
    ("interaction_scan(x[, 1:60], y, n_permutations = 49)$pvalues_max",
     lambda X, y: fastfs.interaction_scan(X[:, :60], y, n_permutations=49).pvalues_max, 0),
    ("c(interaction_scan(x[, 1:60], y, pairs = cbind(c(9, 3, 7, 3), c(2, 60, 8, 60)), n_permutations = 49)"
     "[c('statistics', 'pvalues_max')], recursive = TRUE)",
     lambda X, y: chosen_interactions(X[:, :60], y, [[1, 8], [2, 59], [6, 7]]), 0),
    ("c(differential_correlation(x[, 1:30], three, covariates = x[, 61:62], n_permutations = 9)"
     "[c('statistics', 'null_maxima', 'pvalues_max')], recursive = TRUE)",
     lambda X, y: correlation_of_classes(X[:, :30], y, covariates=X[:, 60:62]), 0),
    ("c(interaction_scan(x[, 2:60], number, covariates = x[, 61:62], transform = 'rank', n_permutations = 0)"
     "[c('statistics', 'effects', 'standard_errors', 'scores')], recursive = TRUE)",
     lambda X, y: interactions(X[:, 1:60], X[:, 0], covariates=X[:, 60:62], transform="rank"), 0),
    ("c(interaction_scan(x[, 1:20], three, with_table = x[, 31:40], n_permutations = 9)"
     "[c('statistics', 'null_maxima')], recursive = TRUE)", lambda X, y: classes_of_tables(X, y), 0),
    ("c(snp_pairs(genotypes[, 1:40], number, coding = 'genotypic', covariates = x[, 2:3], n_permutations = 9)"
     "[c('statistics', 'scores', 'null_maxima', 'pvalues_max')], recursive = TRUE)",
     lambda X, y: genotypic(X, covariates=X[:, 1:3]), 0),
    ("snp_pairs(genotypes[, 1:60], y, n_permutations = 19, random_state = 3)$null_maxima",
     lambda X, y: fastfs.snp_pairs(genotypes(X)[:, :60], y, n_permutations=19, random_state=3).null_maxima, 0),
    ("stability('relieff', x, y, list(n_features_to_select = 9), n_subsamples = 20)$frequencies",
     lambda X, y: fastfs.stability(fastfs.ReliefF(9), X, y, n_subsamples=20).frequencies, 0),
    ("c(stability('relieff', x, y, list(n_features_to_select = 9), groups = rep(1:31, each = 2), n_pairs = 10,"
     " scheme = 'complementary')[c('stability', 'relevance_correlation', 'rare_bound')], recursive = TRUE)",
     lambda X, y: halves(X, y), 0),
]  # fmt: skip


def correlation_along(X, y, **parameters):
    found = fastfs.differential_correlation(X, y, n_permutations=9, target_type="number", **parameters)
    parts = ("statistics", "effects", "standard_errors", "scores", "null_maxima", "pvalues_max")
    return np.concatenate([getattr(found, part) for part in parts])


def halves(X, y):
    found = fastfs.stability(fastfs.ReliefF(9), X, y, groups=np.arange(62) // 2, scheme="complementary", n_pairs=10)
    return np.array([found.stability, found.relevance_correlation, found.rare_bound])


def groups_of_features(X, y):
    groups = {"a": range(4), "b": [3, 8], "c": [29]}
    found = fastfs.permutation_test(fastfs.ReliefF(), X[:, :30], y, n_permutations=49, feature_groups=groups)
    return np.concatenate(list(found.feature_groups.columns().values())[1:])


def disc(X, y, **options):
    return fastfs.disc([X[y == c] for c in np.unique(y)], **options).scores


def correlation(X, y, **options):
    return fastfs.differential_correlation(X[:, :200], y, n_permutations=0, **options)


def interactions(X, y, **options):
    found = fastfs.interaction_scan(X, y, n_permutations=0, **options)
    return np.concatenate([found.statistics, found.effects, found.standard_errors, found.scores])


def chosen_interactions(X, y, pairs):
    found = fastfs.interaction_scan(X, y, pairs=pairs, n_permutations=49)
    return np.concatenate([found.statistics, found.pvalues_max])


def correlation_of_classes(X, y, **parameters):
    found = fastfs.differential_correlation(X[:, :60], thirds(y), n_permutations=9, **parameters)
    parts = [found.statistics, found.null_maxima]
    return np.concatenate([*parts, found.pvalues_max] if parameters else parts)


def classes_of_tables(X, y):
    found = fastfs.interaction_scan(X[:, :20], thirds(y), with_table=X[:, 30:40], n_permutations=9)
    return np.concatenate([found.statistics, found.null_maxima])


def genotypic(X, **options):
    found = fastfs.snp_pairs(genotypes(X)[:, :40], X[:, 0], coding="genotypic", n_permutations=9, **options)
    return np.concatenate([found.statistics, found.scores, found.null_maxima, found.pvalues_max])


def genotypes(X):
    return np.clip(np.round(X - X.mean(axis=0)) + 1, 0, 2)


def thirds(y):
    return np.arange(len(y)) % 3


def with_gaps(X):
    X = X.copy()
    X[::5, ::7] = np.nan
    return X


def colon():
    """The tissues as log2 values, or numbers of their size where the data aren't."""
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder:
        data = np.load(Path(folder) / "colon.npz")
        return np.log2(data["X"].astype(np.float64)), data["y"].astype(np.int64)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [22, 40])
    X = rng.normal(9, 2, size=(62, 2000))
    X[:, :10] += y[:, None]
    return X, y


# R's functions, with the estimators that have their options.
METHODS = {
    "relief": fastfs.Relief, "relieff": fastfs.ReliefF, "mu_relief": fastfs.MuRelief, "surf": fastfs.SURF,
    "multisurf": fastfs.MultiSURF, "swrf": fastfs.SWRF, "rrelieff": fastfs.RReliefF, "im4e": fastfs.IM4E,
    "immigrate": fastfs.Immigrate, "manifest": fastfs.ManiFeSt, "projse": fastfs.ProjSe, "disc": fastfs.DiSC,
    "ikdr": fastfs.IKDR,
}  # fmt: skip


def in_r(value):
    """A default as R writes it."""
    words = {None: "NULL", True: "TRUE", False: "FALSE"}
    if value is None or isinstance(value, bool):
        return words[value]
    return f'"{value}"' if isinstance(value, str) else "Inf" if value == np.inf else repr(value)


def defaults():
    """The method, name and default of each option."""
    for method, estimator in METHODS.items():
        for name, parameter in inspect.signature(estimator).parameters.items():
            yield method, name, in_r(parameter.default)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    X, y = colon()
    X = np.asfortranarray(X)
    arrays = {"x": X, "y": y}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (call, twin, tolerance) in enumerate(CASES):
            arrays[f"scores_{number}"] = twin(X, y)
            rows.append((f"scores_{number}", call, tolerance))
    for name, values in arrays.items():
        (folder / f"{name}.f64").write_bytes(np.asarray(values, dtype="<f8").tobytes(order="F"))
    with (folder / "cases.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "call", "tolerance"), *rows])
    with (folder / "defaults.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("method", "name", "default"), *defaults()])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
