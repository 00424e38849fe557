"""`fastfs.assess`: do its intervals cover the truth, is it biased, and what does it cost?

    python -m benchmarks.bench_assess --coverage [--sets 500] [--anova]
    python -m benchmarks.bench_assess --targets [--sets 200]
    python -m benchmarks.bench_assess --bias [--sets 200]
    python -m benchmarks.bench_assess --one-run [--sets 1250]
    python -m benchmarks.bench_assess --cost

* ``--coverage``: noise of 12 donors x 5 cells with 200 features, where the donors differ as much as half or all of the
  cells' spread, and of 60 samples with 500 features; MultiSURF, ProjSe, ManiFeSt and ANOVA, ten features, nearest
  shrunken centroids. In how many data sets the 95 % interval of balanced accuracy covers one half, and how wide it is.
  "t over donors" is the interval that ignores shared training samples, "over folds" that of Nadeau and Bengio. The
  difference from ANOVA covers 0. ``--anova``: its ranking alone, ten times as fast.
* ``--targets``: numbers and times of 60 samples, or of 12 donors x 5 cells that differ by half of the cells' spread,
  which three of 200 features explain, or none; ten features of ANOVA. How often the intervals of R2, of the rank
  correlation and of the concordance cover the mean estimate, next to Student's.
* ``--bias``: five features of 2000 shifted by one standard deviation, 60 samples; the estimate against the accuracy on
  5000 new samples of models that learn from as many samples as a training set has. Logistic regression.
* ``--one-run``: noise of 60 samples, or of 12 donors x 5 cells that differ by half of the cells' spread: the variance
  of the metrics of one deal of the folds over that of independent units; ten features, nearest shrunken centroids.
* ``--cost``: 100 x 20,000, the report's methods, without ManiFeSt and with it (minutes). Before, what LAPACK needs for
  ManiFeSt's eigenproblems: five folds and one permuted labeling are ten fits of 50 domains of 650 features.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from scipy.linalg import eigh
from scipy.stats import t

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

N_SPLITS, N_REPEATS, N_SELECTED = 5, 10, 10


def noise(seed: int, n_donors: int, n_cells: int, n_features: int, spread: float) -> tuple[Any, Any, Any]:
    """Return cells of donors, their labels, and their donors; `spread` is the deviation of donors against cells."""
    rng, donor = np.random.default_rng(seed), np.repeat(np.arange(n_donors), n_cells)
    X = rng.normal(size=(len(donor), n_features)) + spread * rng.normal(size=(n_donors, n_features))[donor]
    return X, donor % 2, donor


METHODS = {"multisurf": "MultiSURF", "projse": "ProjSe", "manifest": "ManiFeSt"}
COLUMNS = ("balanced_accuracy", "low", "high", "difference_low", "difference_high", "auc", "auc_low", "auc_high")


def covered(methods: Sequence[str], seed: int, *shape: Any) -> np.ndarray:
    """Return a row for each method, and for ANOVA: estimates and intervals of `fastfs.assess`."""
    from fastfs._estimators.assess import _model, _rankers
    from fastfs._inference.assessment import Problem, run_folds, tabulate

    X, y, donor = noise(seed, *shape)
    rankers = _rankers(methods, "class") if methods else {}
    problem = Problem(X, y, np.arange(2), None, donor, rankers, [N_SELECTED], _model("centroid"), N_SPLITS, 1, seed)
    truth = [run_folds(problem, y, (seed, 0, repeat)) for repeat in range(N_REPEATS)]
    table = tabulate(problem, truth, truth[:1])  # columns of permuted labels aren't looked at
    return np.array([table[name] for name in COLUMNS]).T[: len(methods) + 1]


def plain_intervals(seed: int, *shape: Any) -> tuple[float, float, float]:
    """Return the estimate, and the half widths of the t interval over donors and of Nadeau and Bengio over folds, for
    nearest centroids on the ten best features of ANOVA.
    """
    from fastfs._inference.folds import Folds

    X, y, donor = noise(seed, *shape)
    right, of_folds = np.empty((N_REPEATS, len(y))), []
    for repeat in range(N_REPEATS):
        folds = Folds(y, None, donor).deal(N_SPLITS, np.random.default_rng((seed, 0, repeat)))
        for fold in range(N_SPLITS):
            held, train = folds == fold, folds != fold
            means = [X[train & (y == c)].mean(axis=0) for c in (0, 1)]
            spread = np.sqrt(sum(X[train & (y == c)].var(axis=0) for c in (0, 1)) / 2)
            best = np.argsort(-np.abs(means[1] - means[0]) / spread)[:N_SELECTED]
            squares = [(((X[held][:, best] - mean[best]) / spread[best]) ** 2).sum(axis=1) for mean in means]
            right[repeat, held] = (squares[1] < squares[0]) == y[held]
            of_folds.append(np.mean([right[repeat, held & (y == c)].mean() for c in (0, 1)]))
    of_donors = np.array([right[:, donor == d].mean() for d in range(donor[-1] + 1)])
    n, n_folds = len(of_donors), len(of_folds)
    over_donors = t.ppf(0.975, n - 1) * of_donors.std(ddof=1) / np.sqrt(n)
    over_folds = t.ppf(0.975, n_folds - 1) * np.sqrt((1 / n_folds + 1 / (N_SPLITS - 1)) * np.var(of_folds, ddof=1))
    return float(of_donors.mean()), float(over_donors), float(over_folds)


SHAPES = {
    "12 donors x 5 cells, equal donors": (12, 5, 200, 0.0),
    "12 donors x 5 cells, donors differ by half of cells": (12, 5, 200, 0.5),
    "12 donors x 5 cells, donors differ as cells": (12, 5, 200, 1.0),
    "60 samples": (60, 1, 500, 0.0),
}


def describe(what: str, estimates: np.ndarray, low: np.ndarray, high: np.ndarray, true: float) -> None:
    """Print how many intervals cover the true value, their width, and that of a normal interval of the deviation."""
    hits, ideal = np.mean((low <= true) & (high >= true)), 3.92 * estimates.std()
    print(
        f"{what:<36} mean {estimates.mean():6.3f}   covered {hits:.3f}   width {np.mean(high - low):.3f} "
        f"(of a known deviation: {ideal:.3f})",
        flush=True,
    )


def coverage(report: Report, sets: int, methods: Sequence[str]) -> None:
    run = joblib.Parallel(n_jobs=2)
    for name, shape in SHAPES.items():
        report.heading(f"{name}: {sets} data sets of noise")
        values = np.array(run(joblib.delayed(covered)(methods, seed, *shape) for seed in range(sets)))
        for m, method in enumerate([METHODS[word] for word in methods] + ["ANOVA"]):
            estimates, low, high, below, above, area, area_low, area_high = values[:, m].T
            describe(f"{method}, balanced accuracy", estimates, low, high, 0.5)
            describe(f"{method}, AUC", area, area_low, area_high, 0.5)
            if method != "ANOVA":
                describe(f"{method}, difference of accuracy", (below + above) / 2, below, above, 0)
        plain = np.array(run(joblib.delayed(plain_intervals)(seed, *shape) for seed in range(sets)))
        for k, interval in ((1, "t over donors"), (2, "Nadeau and Bengio over folds")):
            describe(interval, plain[:, 0], plain[:, 0] - plain[:, k], plain[:, 0] + plain[:, k], 0.5)


def targets(seed: int, kind: str, n_donors: int, n_cells: int, spread: float, signal: float) -> np.ndarray:
    """Return for each metric of ANOVA's features the estimate, its interval, and Student's."""
    from fastfs._estimators.assess import _model
    from fastfs._inference.assessment import _DEPENDENCE, Problem, estimate, run_folds, tabulate

    X, _, donor = noise(seed, n_donors, n_cells, 200, spread)
    rng = np.random.default_rng((seed, 1))
    shift = signal * X[:, :3].sum(axis=1) + (rng.normal(size=n_donors)[donor] if n_cells > 1 else 0)
    y: Any = shift + rng.normal(size=len(donor))
    if kind == "survival":
        y = np.empty(len(donor), [("event", np.int32), ("time", np.float64)])
        y["event"], y["time"] = rng.random(len(donor)) < 0.7, rng.exponential(np.exp(-shift))
    problem = Problem(X, y, None, None, donor, {}, [N_SELECTED], _model("ridge"), N_SPLITS, 1, seed)
    truth = [run_folds(problem, y, (seed, 0, repeat)) for repeat in range(N_REPEATS)]
    table = tabulate(problem, truth, truth[:1])
    outcomes = (np.stack([getattr(one, name) for one in truth]) for name in ("metrics", "influences"))
    low, high = estimate(*outcomes, 1, _DEPENDENCE[kind]).interval()
    metrics = ("concordance",) if kind == "survival" else ("r2", "rank_correlation")
    return np.array(
        [
            [
                table[name][0],
                *(table[f"{name}_{end}" if m else end][0] for end in ("low", "high")),
                low[m, 0, 0],
                high[m, 0, 0],
            ]
            for m, name in enumerate(metrics)
        ]
    )


def coverage_of_targets(report: Report, sets: int) -> None:
    run = joblib.Parallel(n_jobs=2)
    for name, shape in (("60 samples", (60, 1, 0.0)), ("12 donors x 5 cells", (12, 5, 0.5))):
        for signal in (0.5, 0.0):
            report.heading(f"{name}, effect {signal}: {sets} data sets")
            for kind, metrics in (("number", ("R2", "rank correlation")), ("survival", ("concordance",))):
                values = np.array(run(joblib.delayed(targets)(seed, kind, *shape, signal) for seed in range(sets)))
                for m, metric in enumerate(metrics):
                    estimates, low, high, student_low, student_high = values[:, m].T
                    describe(metric, estimates, low, high, estimates.mean())
                    describe(f"{metric}, Student's", estimates, student_low, student_high, estimates.mean())


def planted(seed: int) -> np.ndarray:
    """Return for each method and number of features the estimate, the accuracy on new samples, and the hit of both."""
    from sklearn.base import clone

    from fastfs._estimators.assess import _model, _rankers

    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = rng.normal(size=(n, 2000)), np.arange(n) % 2
        X[:, :5] += y[:, None]
        return X, y

    (X, y), (new, truth) = draw(60), draw(5000)
    grid, methods = [2, 10], ["multisurf", "projse"]
    found = fastfs.assess(X, y, methods=methods, n_features=grid, n_splits=N_SPLITS, n_repeats=3).to_frame()
    rows = []
    for method in methods:
        told: dict[int, list[float]] = {k: [] for k in grid}
        for fold in range(N_SPLITS):  # training sets of 48 samples, of which each fold's model is one
            train = np.arange(60) // 2 % N_SPLITS != fold
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ranks = clone(_rankers([method], "class")[method]).fit(X[train], y[train]).ranking_
            for k in grid:
                best = np.argsort(ranks)[:k]
                model = clone(_model("logistic")).fit(X[train][:, best], y[train])
                told[k].append(np.mean(model.predict(new[:, best]) == truth))
        for k in grid:
            row = found[(found.method == method) & (found.n_features == k)].iloc[0]
            rows.append([row.balanced_accuracy, np.mean(told[k]), row.low <= np.mean(told[k]) <= row.high])
    return np.array(rows, dtype=float)


def bias(report: Report, sets: int) -> None:
    report.heading(f"60 x 2000, five features shifted by 1: {sets} data sets")
    values = np.array(joblib.Parallel(n_jobs=2)(joblib.delayed(planted)(seed) for seed in range(sets)))
    for row, (method, k) in enumerate((m, k) for m in ("MultiSURF", "ProjSe") for k in (2, 10)):
        estimates, true, hits = values[:, row].T
        error = 100 * (estimates - true)
        print(
            f"{method}, {k} features: estimate {100 * estimates.mean():.1f} %, new samples {100 * true.mean():.1f} %, "
            f"bias {error.mean():+.2f} points (standard error {error.std() / np.sqrt(sets):.2f}), "
            f"covered {hits.mean():.3f}"
        )


def one_run(report: Report, sets: int) -> None:
    from fastfs._estimators.assess import _model
    from fastfs._inference.assessment import Problem, run_folds

    for name, shape in (("60 samples", (60, 1, 200, 0.0)), ("12 donors x 5 cells", (12, 5, 200, 0.5))):
        report.heading(f"{name}: {sets} data sets of noise, ANOVA and variance")
        metrics, variances = [], []
        for seed in range(sets):
            X, y, donor = noise(seed, *shape)
            problem = Problem(X, y, np.arange(2), None, donor, {}, [N_SELECTED], _model("centroid"), N_SPLITS, 1, seed)
            found = run_folds(problem, y, (seed, 1, 0))
            n_units = found.influences.shape[-1]
            metrics.append(found.metrics)
            variances.append((found.influences**2).sum(axis=-1) * n_units / (n_units - 2))
        for metric, ratios in zip(
            ("accuracy", "AUC"), np.var(metrics, axis=0) / np.mean(variances, axis=0), strict=True
        ):
            print(f"{metric}: variance over that of units {', '.join(f'{ratio:.2f}' for ratio in ratios[:, 0])}")


def cost(report: Report) -> None:
    report.heading("100 x 20,000, the report's methods")
    X, y = np.random.default_rng(0).normal(size=(100, 20_000)).astype(np.float32), np.arange(100) % 2
    X[:, :5] += y[:, None]
    kernel = fastfs.affinity(X[:, :650].astype(np.float64), sigma=10)
    solved = harness.measure(lambda: eigh(kernel, driver="evd"), 5)
    report.row("LAPACK, two eigenproblems of 650 for each of 10 x 50 domains", 1000 * min(solved.cpu), unit=" s")
    for methods in (("multisurf", "projse"), tuple(METHODS)):
        taken = harness.measure(lambda m=methods: fastfs.assess(X, y, methods=m, n_repeats=1), 1, warm_up=False)
        report.row(f"assess, one repeat, {' '.join(methods)}, CPU time", min(taken.cpu), unit=" s")
        report.row(f"assess, one repeat, {' '.join(methods)}, wall time", min(taken.wall), unit=" s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--coverage", "--targets", "--bias", "--one-run", "--cost"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--anova", action="store_true")
    parser.add_argument("--sets", type=int, default=0)
    given = parser.parse_args()
    report = Report()
    if given.coverage:
        coverage(report, given.sets or 500, () if given.anova else tuple(METHODS))
    if given.targets:
        coverage_of_targets(report, given.sets or 200)
    if given.bias:
        bias(report, given.sets or 200)
    if given.one_run:
        one_run(report, given.sets or 1250)
    if given.cost:
        cost(report)
    return report.finish()


if __name__ == "__main__":
    os.environ.setdefault("FASTFS_NUM_THREADS", "1")
    sys.exit(main())
