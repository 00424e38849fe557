"""ManiFeSt by domains and with low-rank kernels: time and memory against the floor, agreement with exact rankings.

    python -m benchmarks.bench_manifest_wide [--repeats 3] [--array]
    python -m benchmarks.bench_manifest_wide --quality [--seeds 10]
    python -m benchmarks.bench_manifest_wide --domains [--seeds 20]
    python -m benchmarks.bench_manifest_wide --large
    python -m benchmarks.bench_manifest_wide --many
    python -m benchmarks.bench_manifest_wide --lists
    python -m benchmarks.bench_manifest_wide --disk
    python -m benchmarks.bench_manifest_wide --kernels
    python -m benchmarks.bench_manifest_wide --picture docs/images/manifest_wide.png

``--array`` adds 200 x 850,000 float32 values, the size of a methylation array. Floors are CPU time of one core, from
ceilings measured in the same run: flops at the rate of a large gemm, and exponentials. With d features, N_l samples of
a class, rank k, m = 4 k landmarks, p = 2 k test vectors, for a class each:

low_rank         2 d m N_l (columns of K, in the type of X) + d m exp; in float64 d m^2 (what earlier landmarks explain,
                 and the triangular solves), d m^2 (F'F), 2 d m k (the cut)
low_rank_high    the pass of K Omega in float32: 2 d^2 (N_l + p) and d^2 exp
joint step       17 d k^2 in float64: G1'G2 (2), two projections (4 + 2), R'R (1), Q times 2 k vectors (8)

``--domains`` compares scores by domains with exact ones at five scales, says how far `agreement_` is off, looks for
planted pairs (correlation .9 in one class and -.9 in the other) among 20,000 features, and times several widths.
``--large`` compares on noise of 3000 and three sets of 4434 to 7129 features, whose exact scores take up to a minute or
two a cell; ``--many`` times a permutation test and ten classes; ``--lists`` looks at the form that begins at 100,001
features, with neighbours by lists and landmarks of some features: beside 100,000 features, and on 200 x 850,000.

Rankings are compared by Spearman correlation over all features and by the overlap of the 50 best, medians over seeds.
The factor data are X = F L' + E with 20 standard normal factors, standard normal loadings of which 10 % are not 0, a
second class for which 10 % of the rows of L are permuted, and standard normal noise; d = 2000, N = 100. "eigenpairs"
is what "low_rank" and "low_rank_high" strive for: the leading eigenpairs of K themselves, with the same shift.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse
from scipy.stats import spearmanr
from tests.reference import manifest as reference

import fastfs
from benchmarks import harness
from benchmarks.harness import Report


def normal_data(d: int, N: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """N standard normal samples of d features, half of them in each class."""
    rng = np.random.default_rng(0)
    X = np.empty((N, d), dtype)
    for row in X:
        rng.standard_normal(out=row, dtype=dtype)
    return X, np.arange(N) % 2


def factor_data(seed: int, d: int = 2000, N: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Features that share 20 factors, a tenth of them in another way in the second class."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, 20)) * (rng.random((d, 20)) < 0.1)
    others = loadings.copy()
    rows = rng.choice(d, d // 10, replace=False)
    others[rows] = loadings[rng.permutation(rows)]
    n = N // 2
    signal = [rng.standard_normal((size, 20)) @ L.T for size, L in ((n, loadings), (N - n, others))]
    return np.vstack(signal) + rng.standard_normal((N, d)), np.repeat([0, 1], [n, N - n])


def scores(X: np.ndarray, y: np.ndarray, **options: Any) -> np.ndarray:
    """Scores at the paper's scale, 1 x median, unless the options name another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fastfs.manifest_scores(X, y, **{"sigma_factor": 1.0, **options})


# ------------------------------------------------------------------------------------------------------------- floors


def joint_flops(d: int, k: int) -> float:
    """Flops of the joint step, in float64."""
    return 17.0 * d * k * k


def fast_floor(d: int, N: int, k: int, dtype: str, rate: Mapping[str, float]) -> float:
    """CPU seconds of both classes and the joint step."""
    m = 4 * k
    columns = 2 * d * m * (N / 2) / rate["gemm " + dtype] + d * m / rate["exp " + dtype]
    factor = (2.0 * d * m * m + 2 * d * m * k) / rate["gemm float64"]
    return 2 * (columns + factor) + joint_flops(d, k) / rate["gemm float64"]


def high_floor(d: int, N: int, k: int, rate: Mapping[str, float]) -> float:
    """CPU seconds of both classes and the joint step."""
    one = 2.0 * d * d * (N / 2 + 2 * k) / rate["gemm float32"] + d * d / rate["exp float32"]
    return 2 * one + joint_flops(d, k) / rate["gemm float64"]


# ------------------------------------------------------------------------------------------------------------ timings


def timing(
    report: Report,
    accuracy: str,
    d: int,
    N: int,
    k: int,
    dtype: str,
    floor: float,
    repeats: int,
    most: float,
    **targets: float,
) -> None:
    """One case: CPU time against the floor, two threads, memory of a fresh process."""
    report.heading(f"{accuracy}, d = {d}, N = {N}, rank {k}, {dtype}")
    X, y = normal_data(d, N, np.dtype(dtype))
    options = {"accuracy": accuracy, "rank": k}
    t = harness.compare(
        {
            "one": lambda: scores(X, y, n_threads=1, **options),
            "two": lambda: scores(X, y, n_threads=2, **options),
        },
        repeats,
    )
    report.row("one thread, CPU", t["one"].text(), note=f"floor {harness.seconds(floor)}")
    ratios = [seconds / floor for seconds in t["one"].cpu]
    report.row(
        "one thread / floor, CPU",
        float(np.median(ratios)),
        unit="x",
        at_most=most,
        note=f"{min(ratios):.2f} .. {max(ratios):.2f}",
    )
    if harness.cores() >= 2:
        report.row(
            "two threads, wall",
            float(np.median(t["two"].wall)),
            unit=" s",
            at_most=targets.get("wall"),
            note=f"{t['two'].text('wall')}, {harness.load()}",
        )
        report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall")
    memory(report, d, N, dtype, options, targets.get("peak"))


def memory(report: Report, d: int, N: int, dtype: str, options: dict[str, Any], at_most: float | None) -> None:
    """Peak of a fresh process that makes the data and scores them on two threads."""
    setup = (
        "from benchmarks.bench_manifest_wide import normal_data, scores\nimport numpy as np\n"
        f"X, y = normal_data({d}, {N}, np.dtype('{dtype}')); scores(X[:, :500], y)"
    )
    whole, above = harness.peak_memory(setup, f"scores(X, y, n_threads=2, **{options!r})")
    report.row(
        "peak memory of the process", whole / 1e9, unit=" GB", at_most=at_most, note=f"{above / 1e9:.2f} of it ours"
    )


def against_exact(report: Report, d: int = 5000, N: int = 100, k: int = 50) -> None:
    """How many times faster than the exact form."""
    report.heading(f"low_rank against exact, d = {d}, N = {N}, rank {k}, float64, one thread")
    X, y = normal_data(d, N)
    fast = harness.measure(lambda: scores(X, y, accuracy="low_rank", rank=k, n_threads=1), 5)
    exact = harness.measure(lambda: scores(X, y, accuracy="exact", n_threads=1), 1, warm_up=False)
    report.row("exact, CPU", exact.text())
    report.row("low_rank, CPU", fast.text())
    report.row("exact / low_rank, CPU", exact.cpu[0] / float(np.median(fast.cpu)), unit="x", at_least=100.0)


def array(report: Report, d: int = 850_000, N: int = 200, k: int = 50) -> None:
    """The size of a methylation array."""
    report.heading(f"low_rank, d = {d}, N = {N}, rank {k}, float32")
    X, y = normal_data(d, N, np.float32)
    t = harness.measure(lambda: scores(X, y, accuracy="low_rank", rank=k, n_threads=2), 1, warm_up=False)
    report.row("two threads, wall", t.text("wall"), note=f"CPU {t.text()}, {harness.load()}")
    memory(report, d, N, "float32", {"accuracy": "low_rank", "rank": k}, 4.0)


# ------------------------------------------------------------------------------------------------------------ quality


def eigenpairs(X: np.ndarray, y: np.ndarray, rank: int) -> np.ndarray:
    """Scores from the leading eigenpairs of both kernels and the shift, in plain NumPy, at 1 x median."""
    K1, K2, _ = reference.kernels(X, y, sigma_factor=1.0)
    return reference.joint_step(reference.leading(K1, rank), reference.leading(K2, rank))


def agreement(report: Report, title: str, data: Any, seeds: int, targets: Mapping[str, float], **options: Any) -> None:
    """Spearman correlation with the exact scores and overlap of the 50 best, of both low-rank forms."""
    report.heading(f"{title} ({seeds} seeds)")
    found: dict[str, list[tuple[float, int]]] = {}
    for seed in range(seeds):
        X, y = data(seed)
        exact = scores(X, y, accuracy="exact", **options)
        best = set(np.argsort(-exact)[:50].tolist())
        models = {
            f"{accuracy} {rank}": scores(X, y, accuracy=accuracy, rank=rank, random_state=seed, **options)
            for accuracy in ("low_rank", "low_rank_high")
            for rank in (50, 200)
        }
        if not options:
            models |= {f"eigenpairs {rank}": eigenpairs(X, y, rank) for rank in (50, 200)}
        for name, r in models.items():
            overlap = len(best & set(np.argsort(-r)[:50].tolist()))
            found.setdefault(name, []).append((float(spearmanr(r, exact).statistic), overlap))
    for name, pairs in found.items():
        correlations, overlaps = zip(*pairs, strict=True)
        report.row(
            f"{name.replace(' ', ', rank ')}: Spearman",
            float(np.median(correlations)),
            at_least=targets.get(name),
            note=f"{min(correlations):.3f} .. {max(correlations):.3f}; of the top 50: {np.median(overlaps):g}",
        )


def z_scored(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The factor data with each feature at mean 0 and standard deviation 1."""
    X, y = factor_data(seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def quality(report: Report, seeds: int) -> None:
    """How far the low-rank rankings are from the exact one."""
    targets = {"low_rank 50": 0.95, "low_rank_high 200": 0.985}
    agreement(report, "factor data, median x 1", factor_data, seeds, targets)
    agreement(report, "factor data, median x 1, normalised three times", factor_data, seeds, {}, normalize=3)
    agreement(report, "factor data, median x 0.5 (the default scale)", factor_data, seeds, {}, sigma_factor=0.5)
    agreement(report, "factor data z-scored, median x 1", z_scored, seeds, {})
    agreement(report, "factor data z-scored, normalised three times", z_scored, seeds, {}, normalize=3)


def real_data(report: Report) -> None:
    """Two sets of real expression data, some scales: agreement on all features, and what `agreement_` says."""
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        print("\nreal data: FASTFS_TEST_DATA isn't set, which names their folder")
        return
    colon, glioma = np.load(f"{folder}/colon.npz"), np.load(f"{folder}/glioma.npz")
    kept = np.isin(glioma["y"], (0, 2))
    sets = {
        "colon, log2, 62 x 2000": (np.log2(colon["X"].astype(float)), colon["y"]),
        "glioma, two classes, 28 x 2000": (glioma["X"].astype(float)[kept][:, :2000], glioma["y"][kept]),
    }
    scales = {
        "median x 0.5": {"sigma_factor": 0.5},
        "median x 1": {"sigma_factor": 1.0},
        "percentile 95": {"sigma": "percentile", "sigma_percentile": 95.0},
        "median x 1, normalised three times": {"sigma_factor": 1.0, "normalize": 3},
    }
    warnings.simplefilter("ignore", fastfs.DataWarning)
    for name, (X, y) in sets.items():
        report.heading(f"{name}: Spearman with exact, rank 50 (agreement_ in brackets)")
        for scale, options in scales.items():
            exact = fastfs.manifest_scores(X, y, accuracy="exact", **options)
            found = {a: fastfs.ManiFeSt(accuracy=a, **options).fit(X, y) for a in ("low_rank", "low_rank_high")}
            text = "   ".join(
                f"{a} {spearmanr(m.scores_, exact).statistic:.2f} ({m.agreement_:.2f})" for a, m in found.items()
            )
            report.row(scale, text)


SCALES: dict[str, dict[str, Any]] = {
    "percentile 95": {"sigma": "percentile", "sigma_percentile": 95.0},
    **{f"median x {factor:g}": {"sigma_factor": factor} for factor in (1.0, 0.5, 0.25, 0.1)},
}


def z_scored_classes(X: np.ndarray, y: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Samples of two classes, each feature that isn't constant with mean 0 and standard deviation 1."""
    kept = np.isin(y, classes)
    X = X[kept].astype(float)
    X = X[:, X.std(axis=0) > 1e-9]
    return (X - X.mean(axis=0)) / X.std(axis=0), y[kept]


def compare_with_exact(
    report: Report,
    sets: Mapping[str, tuple[np.ndarray, np.ndarray]],
    scales: list[str],
    normalizations: tuple[int, ...],
) -> None:
    """Compare scores by domains with exact ones: all data sets at all scales and numbers of normalisations."""
    cells = []
    for name, (X, y) in sets.items():
        for times in normalizations:
            report.heading(f"{name}, normalize={times}: Spearman, same of the best 50 (agreement_)")
            for scale in scales:
                options = SCALES[scale]
                exact = fastfs.manifest_scores(X, y, accuracy="exact", normalize=times, **options)
                found = fastfs.ManiFeSt(accuracy="domains", normalize=times, **options).fit(X, y)
                rho = float(spearmanr(found.scores_, exact).statistic)
                same = len(set(np.argsort(-exact)[:50]) & set(np.argsort(-found.scores_)[:50]))
                cells.append((rho, same, found.agreement_ - rho))
                report.row(scale, f"{rho:.3f}, {same} ({found.agreement_:.3f})")
    rhos, shared, excess = np.array(cells).T
    report.heading("all of these")
    report.row("least Spearman", float(rhos.min()), at_least=0.9)
    report.row("median Spearman", float(np.median(rhos)), at_least=0.97)
    report.row("least of the best 50", float(shared.min()), at_least=38)
    report.row("median of the best 50", float(np.median(shared)), at_least=45)
    report.row("agreement_ above the truth, at most", float(excess.max()), at_most=0.05)


def large_sets(report: Report) -> None:
    """Compare scores by domains with exact ones on sets of 4434 to 7129 features: a minute or two for a cell."""
    warnings.simplefilter("ignore", fastfs.DataWarning)
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        print("\nlarge sets: FASTFS_TEST_DATA isn't set, which names their folder")
        return
    sets = {"noise 60 x 3000": normal_data(3000, 60)}
    for name in ("papers/prostate_ge", "glioma", "papers/cns"):
        data = np.load(f"{folder}/{name}.npz")
        classes, counts = np.unique(data["y"], return_counts=True)
        X, y = z_scored_classes(data["X"], data["y"], classes[np.argsort(-counts, kind="stable")[:2]])
        sets[f"{name.removeprefix('papers/')}, {len(X)} x {X.shape[1]}"] = X, y
    compare_with_exact(report, sets, ["median x 0.5", "median x 0.1"], (0,))
    report.heading("prostate at median x 0.5 by more eigenvectors: Spearman and of the best 50")
    X, y = next(data for title, data in sets.items() if title.startswith("prostate"))
    exact = scores(X, y, accuracy="exact", sigma_factor=0.5)
    for rank in (50, 100, 150, 300):
        found = scores(X, y, rank=rank, sigma_factor=0.5)
        shared = np.intersect1d(np.argsort(-found)[:50], np.argsort(-exact)[:50]).size
        report.row(f"rank {rank}", f"{spearmanr(found, exact).statistic:.3f}, {shared}")


def many_fits(report: Report) -> None:
    """Measure tests by permutations and comparisons of many classes, which make many fits."""
    report.heading("many fits, seconds of CPU time over two cores, median x 0.5")
    X, y = normal_data(5000, 60)
    fits = 20
    t = harness.measure(
        lambda: fastfs.permutation_test(fastfs.ManiFeSt(), X, y, n_permutations=fits - 1, random_state=0),
        1,
        warm_up=False,
    )
    minutes = min(t.cpu) / fits * 200 / 2 / 60
    report.row("60 x 5000, 199 permutations", minutes, at_most=3.0, unit=" min", note=f"from {fits - 1}")
    rng = np.random.default_rng(0)
    d, groups = 20_670, np.arange(2100) % 10
    means = np.tile(np.exp(rng.normal(-2.5, 1.2, size=d)), (10, 1))
    for group in range(10):
        means[group, rng.choice(d, 200, replace=False)] *= 8
    cells = scipy.sparse.csr_matrix(np.log1p(rng.poisson(means[groups])).astype(np.float32))
    t = harness.measure(lambda: fastfs.ManiFeSt().fit(cells, groups), 1, warm_up=False)
    report.row("ten groups of 2100 x 20,670 sparse", min(t.cpu) / 2, at_most=90.0, unit=" s")
    tall = scipy.sparse.random(100_000, 2000, 0.03, format="csr", random_state=0, dtype=np.float32)
    groups = np.arange(100_000) % 2
    t = harness.measure(lambda: fastfs.ManiFeSt(n_jobs=1).fit(tall, groups), 3)
    report.row("10^5 x 2000 sparse in memory, one thread", min(t.cpu), at_most=1.5, unit=" s")


def domains(report: Report, seeds: int) -> None:
    """Scores by domains: against exact ones, for planted pairs, and their cost."""
    warnings.simplefilter("ignore", fastfs.DataWarning)
    rng = np.random.default_rng(5)
    sets = {"noise 60 x 2000": (rng.normal(size=(60, 2000)), np.arange(60) % 2), "factor data": factor_data(0)}
    if folder := os.environ.get("FASTFS_TEST_DATA"):
        colon, khan = np.load(f"{folder}/colon.npz"), np.load(f"{folder}/srbct_khan.npz")
        sets["colon"] = z_scored_classes(np.log2(colon["X"].astype(float)), colon["y"], np.unique(colon["y"]))
        sets["khan, two classes"] = z_scored_classes(khan["X"], khan["y"], np.unique(khan["y"])[:2])
    compare_with_exact(report, sets, list(SCALES), (0, 3))
    copies_and_order(report)
    planted_pairs(report, seeds)
    report.heading("CPU seconds of one thread, 100 samples, median x 0.5")
    for d, most in ((1500, None), (1501, 1.5), (3000, 1.0), (5000, 1.5), (20_000, 8.0)):
        X, y = normal_data(d, 100)
        t = harness.compare({"fit": lambda X=X, y=y: scores(X, y, sigma_factor=0.5, n_threads=1)}, 3)
        report.row(f"{d} features", float(np.median(t["fit"].cpu)), unit=" s", at_most=most)


def copies_and_order(report: Report) -> None:
    """How far the scores of copies differ, which may lie in two cores, and how the order of columns moves a ranking."""
    report.heading("noise 40 x 2000, median x 0.5")
    X, y = normal_data(2000, 40)
    found = scores(np.hstack([X[:, :1000], X[:, :1000]]), y, sigma_factor=0.5)
    difference = np.abs(found[:1000] - found[1000:]).max() / found.max()
    report.row("copies: largest difference / best score", float(difference))
    order = np.random.default_rng(0).permutation(2000)
    moved = scores(X[:, order], y, sigma_factor=0.5)
    rho = spearmanr(moved, scores(X, y, sigma_factor=0.5)[order]).statistic
    report.row("columns in another order: Spearman", float(rho))


def planted_pairs(report: Report, seeds: int) -> None:
    """How many features of five changed pairs come among the best ten of 20,000."""
    report.heading("five pairs among 100 x 20,000, median x 0.1: places in the best ten")
    inside = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 20_000)), np.arange(100) % 2
        plant_pairs(X, y)
        found = scores(X, y, sigma_factor=0.1)
        inside.append(int((np.argsort(-found)[:10] < 10).sum()))
    report.row(f"mean of {seeds} seeds", float(np.mean(inside)), at_least=9.5)


def plant_pairs(X: np.ndarray, y: np.ndarray) -> None:
    """Give features 5 to 9 a correlation of .9 with features 0 to 4 in one class, and of -.9 in the other."""
    turned = np.where(y == 0, 0.9, -0.9)[:, None]
    X[:, 5:10] = turned * X[:, :5] + np.sqrt(1 - 0.81) * X[:, 5:10]


def picture(path: str) -> None:
    """Draw the scores of 20,000 features by their places, by domains and with kernels of rank 50."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 20_000)), np.arange(100) % 2
    plant_pairs(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    titles = {"domains": "accuracy='auto': by domains", "low_rank": "accuracy='low_rank': kernels of rank 50"}
    for axis, (accuracy, title) in zip(axes, titles.items(), strict=True):
        found = scores(X, y, sigma_factor=0.1, accuracy=accuracy)
        order = np.argsort(-found)
        places, planted = np.arange(1, len(order) + 1), order < 10
        axis.plot(places, found[order], color="0.6", label="19,990 features of noise")
        axis.plot(places[planted], found[order][planted], "o", color="C3", label="5 pairs whose correlation turns")
        axis.set(title=title, xscale="log", xlabel="place in the ranking")
    axes[0].set_ylabel("score")
    axes[0].legend()
    figure.savefig(path, dpi=90)
    plt.close(figure)


def precomputed(report: Report) -> None:
    """Compare scores of two precomputed kernels by domains with exact ones, and measure them."""
    for d in (2000, 5000):
        report.heading(f"two precomputed Gaussian kernels, 100 x {d}, sigma 9, one thread")
        X, y = normal_data(d, 100)
        kernels = [fastfs.affinity(X[y == c], sigma=9.0) for c in (0, 1)]
        found = {}
        for accuracy in ("domains", "exact"):
            begin = time.process_time()
            found[accuracy] = fastfs.manifest_from_kernels(*kernels, accuracy=accuracy, n_threads=1)
            report.row(accuracy, time.process_time() - begin, unit=" s")
        report.row("Spearman", float(spearmanr(found["domains"], found["exact"]).statistic), at_least=0.9)


def wide_lists(report: Report) -> None:
    """Measure the form of more than 100,000 features: beside that of 100,000, and its cost at 850,000."""
    most = 100_000
    report.heading(f"40 samples, {most:,} features exactly and {most + 1:,} by lists, five pairs, median x 0.1")
    X, y = normal_data(most + 1, 40, np.float32)
    plant_pairs(X, y)
    exact, listed = scores(X[:, :most], y, sigma_factor=0.1), scores(X, y, sigma_factor=0.1)[:most]
    best = [set(np.argsort(-found)[:50].tolist()) for found in (exact, listed)]
    report.row("Spearman", float(spearmanr(exact, listed).statistic))
    report.row("same of the best 50", len(best[0] & best[1]))
    del X
    d = 850_000
    report.heading(f"200 x {d:,} float32 features, five pairs, median x 0.1, two threads")
    setup = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from benchmarks.bench_manifest_wide import normal_data, plant_pairs\nimport fastfs, numpy as np\n"
        f"X, y = normal_data({d}, 200, np.float32); plant_pairs(X, y)\n"
        "fastfs.ManiFeSt(n_jobs=2).fit(X[:, :2000], y)"
    )
    call = (
        "m = fastfs.ManiFeSt(sigma_factor=0.1, n_jobs=2).fit(X, y)\n"
        "result = [int((np.argsort(-m.scores_)[:10] < 10).sum()), m.agreement_]"
    )
    found = harness.alone(setup, call)
    if isinstance(found, str):
        report.row("failed", found)
        return
    report.row("wall", found.wall / 60, unit=" min", at_most=6.0, note=f"CPU {found.cpu:.0f} s, {harness.load()}")
    report.row("peak memory of the process", found.peak / 1e9, unit=" GB", at_most=4.0)
    report.row("of the pairs' features in the best ten", found.result[0], at_least=9)
    report.row("agreement_", float(found.result[1]))


def sparse_cells(n: int, d: int, density: float) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Draw cells of two classes; in one of these, genes 5 to 9 follow genes 0 to 4."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    blocks = []
    for first in range(0, n, 5000):
        uniform = rng.random((min(5000, n - first), d), dtype=np.float32)
        values = np.where(uniform < density, 1 + uniform / density, 0)
        values[:, 5:10] = np.where(y[first : first + len(values), None] == 1, values[:, :5], values[:, 5:10])
        blocks.append(scipy.sparse.csr_matrix(values))
    return scipy.sparse.vstack(blocks, format="csr"), y


def from_disk(report: Report, n: int = 100_000, d: int = 20_000) -> None:
    """Measure a fit from a file of sparse cells, which is read in blocks."""
    import anndata

    report.heading(f"{n:,} cells x {d:,} genes on disk, CSR at 9 %, five pairs, median x 0.1, two threads")
    X, y = sparse_cells(n, d, 0.09)
    with tempfile.TemporaryDirectory() as folder:
        path, labels = os.path.join(folder, "cells.h5ad"), os.path.join(folder, "y.npy")
        anndata.AnnData(X).write_h5ad(path)
        np.save(labels, y)
        del X
        setup = (
            "import warnings; warnings.simplefilter('ignore')\n"
            "import anndata, fastfs, numpy as np\n"
            f"y = np.load({labels!r})\n"
            "fastfs.ManiFeSt(n_jobs=2).fit(np.random.default_rng(0).normal(size=(20, 2000)), np.arange(20) % 2)"
        )
        # The file has 1.4 GB; one of a quarter of the budget or less would be loaded.
        call = (
            f"m = fastfs.ManiFeSt(sigma_factor=0.1, n_jobs=2, max_memory='5.2G').fit({path!r}, y)\n"
            "result = [m.algorithm_, int((np.argsort(-m.scores_)[:10] < 10).sum()), m.agreement_]"
        )
        found = harness.alone(setup, call)
    if isinstance(found, str):
        report.row("failed", found)
        return
    report.row(f"wall, from {found.result[0]}", found.wall, unit=" s", note=f"CPU {found.cpu:.0f} s, {harness.load()}")
    report.row("peak memory of the process", found.peak / 1e9, unit=" GB", at_most=5.6)
    report.row("of the pairs' features in the best ten", found.result[1], at_least=9)
    report.row("agreement_", float(found.result[2]))


def main() -> int:
    """Run the timings or the comparisons; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="ManiFeSt of many features")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--array", action="store_true", help="also 200 x 850,000 float32 values")
    parser.add_argument(
        "--quality", action="store_true", help="agreement with the exact ranking instead of the timings"
    )
    parser.add_argument("--domains", action="store_true", help="domains: ranking, planted pairs and cost")
    parser.add_argument("--large", action="store_true", help="domains against exact scores on three large sets")
    parser.add_argument("--many", action="store_true", help="permutations and ten classes")
    parser.add_argument("--lists", action="store_true", help="more than 100,000 features, minutes and 4 GB")
    parser.add_argument("--disk", action="store_true", help="10^5 cells in a file, minutes and 6 GB")
    parser.add_argument("--kernels", action="store_true", help="precomputed kernels, a minute")
    parser.add_argument("--picture", metavar="FILE", help="draw scores of 20,000 features, and nothing else")
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    if args.picture:
        picture(args.picture)
        return 0
    harness.machine()
    report = Report()
    if args.quality:
        quality(report, args.seeds)
        real_data(report)
        return report.finish()
    if args.domains or args.large or args.many or args.lists or args.disk or args.kernels:
        if args.kernels:
            precomputed(report)
        if args.domains:
            domains(report, args.seeds)
        if args.large:
            large_sets(report)
        if args.many:
            many_fits(report)
        if args.lists:
            wide_lists(report)
        if args.disk:
            from_disk(report)
        return report.finish()
    rate = harness.ceilings()
    for dtype in ("float64", "float32"):
        floor = fast_floor(100_000, 200, 100, dtype, rate)
        timing(report, "low_rank", 100_000, 200, 100, dtype, floor, args.repeats, 2.5, wall=3.0, peak=1.5)
    timing(report, "low_rank_high", 20_000, 100, 50, "float64", high_floor(20_000, 100, 50, rate), args.repeats, 2.0)
    against_exact(report)
    if args.array:
        array(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
