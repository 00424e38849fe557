"""DiSC: `fastfs.disc` against the public algorithm in plain NumPy, and whole fits of wide data.

    python -m benchmarks.bench_disc [--repeats 3] [--large] [--copies]
    python -m benchmarks.bench_disc --choice [real planted times]

The public program (tests/reference/disc.py has its algorithm) takes all eigenvectors of the random walk by `eig`, forms
the projector with an inverse, and takes a full SVD. The floor of a whole fit on the neighbour graph is that of the
neighbours alone (see bench_neighbors): half of the product of all pairs of features, a set. --large adds 50,000
features. --copies compares scores of equal features alone.

--choice compares the dense graph with that of 30 neighbours, the default, and runs nothing else. "real": each table of
100 to 8000 features in the folder that FASTFS_TEST_DATA names, features standardised, the 50 best features of four
fifths of the samples judged on the last fifth by ridge regression. "planted": the share of planted features among as
many best ones. "times": CPU times.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.stats import spearmanr
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference import disc as toys


def planted(n: int, p: int, seed: int = 0) -> list[np.ndarray]:
    """Two sets with ten blocks of both, and ten of each one's own, of 50 features; noise elsewhere."""
    rng = np.random.default_rng(seed)
    sets = [rng.standard_normal((n, p)).astype("f") for _ in range(2)]
    size = max(2, min(50, p // 40))
    for block in range(30):
        for s, X in enumerate(sets):
            if block % 3 in (s, 2):
                X[:, block * size : (block + 1) * size] += 2 * rng.standard_normal((n, 1)).astype("f")
    return sets


def dense(report: Report, repeats: int) -> None:
    """The method of the paper, one thread."""
    for p, least in ((250, 5.0), (1000, 40.0)):
        report.heading(f"dense, two sets of 100 samples, p = {p} features, one thread")
        sets = [X.astype(float) for X in planted(100, p)]
        with harness.one_thread():
            t = harness.compare(
                {
                    "fastfs": lambda sets=sets: fastfs.disc(sets, graph="dense", n_threads=1),  # type: ignore[misc]
                    "public algorithm in NumPy": lambda sets=sets: toys.public_algorithm(sets),  # type: ignore[misc]
                },
                repeats,
            )
        for who, timing in t.items():
            report.row(f"{who}, CPU", timing.text())
        report.times("public algorithm / fastfs, CPU", t["public algorithm in NumPy"], t["fastfs"], at_least=least)
        found = fastfs.disc(sets, graph="dense")
        expected = [sigma[:10] for sigma, _ in toys.public_algorithm(sets)]
        worst = float(np.abs(found.significance - expected).max())
        report.row("largest difference of a significance", worst, at_most=1e-10)


def whole(report: Report, p: int, most_seconds: float, repeats: int) -> None:
    """Neighbours, eigenvectors and singular vectors of two sets."""
    report.heading(f"knn, two sets of 100 samples, p = {p} features, 30 neighbours, float32")
    sets = planted(100, p)
    graph = {"graph": "knn", "n_threads": 2}
    t = harness.measure(lambda: fastfs.disc(sets, **graph), repeats, warm_up=p <= 20_000)  # type: ignore[arg-type]
    wall = float(np.median(t.wall))
    report.row("two threads, wall", wall, unit=" s", at_most=most_seconds, note=harness.load())
    report.row("the same, CPU", t.text())
    with harness.one_thread():
        rate = harness.gemm_rate(np.float32)
        alone = harness.measure(lambda: [fastfs.nearest_features(X, 30, n_threads=1) for X in sets], 1, warm_up=False)
    report.row("neighbours alone, one thread, CPU", alone.text())
    floor = 2 * float(p) ** 2 * 100 / rate
    report.row("half of the products of all pairs (floor)", harness.seconds(floor))
    report.row("whole, CPU / floor", float(np.median(t.cpu)) / floor, unit="x")
    setup = (
        "import warnings, numpy as np, fastfs\nwarnings.simplefilter('ignore')\n"
        f"sets = [np.random.default_rng(s).standard_normal((100, {p})).astype('f') for s in range(2)]\n"
        "fastfs.disc([X[:, :500] for X in sets], graph='knn')"
    )
    peak, above = harness.peak_memory(setup, "fastfs.disc(sets, graph='knn', n_threads=2)")
    report.row(
        "peak memory, NumPy and X in it", peak / 1e9, unit=" GB", at_most=1.0, note=f"{above / 1e6:.0f} MB above X"
    )


GRAPHS = ("dense", "knn")
N_BEST = 50


def choice_times(report: Report) -> None:
    """What each graph costs."""
    for p in (1000, 2000, 4000, 6000, 8000):
        report.heading(f"dense against knn, two threads, p = {p} features, float64")
        noise = [np.random.default_rng(s).standard_normal((50, p)) for s in range(2)]
        for what, sets in (("two sets of 100", planted(100, p)), ("noise, two sets of 50", noise)):
            for graph in GRAPHS:
                doubles = [X.astype(float) for X in sets]
                t = harness.measure(
                    lambda g=graph, s=doubles: fastfs.disc(s, graph=g, n_threads=2),  # type: ignore[misc]
                    1,
                    warm_up=False,
                )
                report.row(f"{what}, {graph}, CPU", t.text())


def read_tables(folder: Path, least: int = 100, most: int = 8000) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return X and y of all tables of a folder with `least` to `most` features, constant features left out."""
    tables = {}
    for path in sorted([*folder.glob("*.npz"), *folder.glob("papers/*.npz")]):
        with np.load(path, allow_pickle=False) as data:
            if not least <= (data["shape"] if "shape" in data else data["X"].shape)[1] <= most:
                continue
            if "X" in data:
                X = data["X"].astype(float)
            else:
                parts = (data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"])
                X = np.log1p(scipy.sparse.csr_matrix(parts, shape=tuple(data["shape"])).toarray())
            tables[path.stem] = X[:, X.std(axis=0) > 0], data["y"]
    return tables


def judge(X: np.ndarray, y: np.ndarray, n_random: int = 5) -> tuple[dict[str, float], float]:
    """Return held-out accuracies in % with the best features of each graph and with random ones, and the error of one.

    The error is the standard error of the accuracy that a classifier of the knn graph's features has.
    """
    rng = np.random.default_rng(0)
    hits: dict[str, list[float]] = {name: [] for name in (*GRAPHS, "random")}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        varied = np.flatnonzero(X[train].std(axis=0) > 0)
        chosen = [
            (
                graph,
                varied[
                    np.argsort(fastfs.DiSC(graph=graph, scaling="standard").fit(X[train][:, varied], y[train]).ranking_)
                ],
            )
            for graph in GRAPHS
        ] + [("random", rng.permutation(varied)) for _ in range(n_random)]
        for name, order in chosen:
            best = order[:N_BEST]
            model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=10.0))
            hits[name] += (model.fit(X[train][:, best], y[train]).predict(X[test][:, best]) == y[test]).tolist()
    accuracy = {name: 100 * float(np.mean(found)) for name, found in hits.items()}
    return accuracy, 100 * float(np.std(hits["knn"]) / np.sqrt(len(y)))


def choice_real(report: Report, folder: Path) -> None:
    """Compare rankings, held-out accuracies and times of the graphs on real data."""
    report.heading(
        "real data, features standardised: rank correlation of the scores, share of the 50 best in both; held-out "
        "accuracy in % of dense, knn and random features, standard error; CPU s of dense, knn"
    )
    means: list[list[float]] = []
    for name, (X, y) in read_tables(folder).items():
        seconds, fits = [], []
        for graph in GRAPHS:
            model = fastfs.DiSC(graph=graph, scaling="standard")
            seconds.append(harness.measure(lambda m=model, X=X, y=y: m.fit(X, y), 1, warm_up=False).cpu[0])  # type: ignore[misc]
            fits.append(model)
        dense, knn = fits
        both = ((dense.ranking_ <= N_BEST) & (knn.ranking_ <= N_BEST)).sum() / N_BEST
        accuracy, error = judge(X, y)
        means.append(list(accuracy.values()))
        correlation = float(spearmanr(dense.scores_, knn.scores_)[0])
        print(
            f"| {name} | {X.shape[0]} x {X.shape[1]}, {len(np.unique(y))} | {correlation:.2f} | {both:.2f} | "
            + " | ".join(f"{value:.1f}" for value in accuracy.values())
            + f" | {error:.1f} | {seconds[0]:.2f} / {seconds[1]:.2f} |",
            flush=True,
        )
    found = np.array(means)
    print(f"mean accuracy of {', '.join(('dense', 'knn', 'random'))}: {found.mean(axis=0).round(1).tolist()}")
    difference = found[:, 1] - found[:, 0]
    better, worse = (difference > 1).sum(), (difference < -1).sum()
    print(f"knn - dense: {difference.mean():+.1f}, better / worse by more than 1: {better} / {worse}")


def hidden_group(
    rng: np.random.Generator, p: int, size: int, strength: float, n_common: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return two sets of 50 samples, of which the second has a group of its own, and the members of that group.

    The features of the group add `strength` times a factor to noise. `n_common` groups, each of a twentieth of the
    features, are in both sets.
    """
    sets = [rng.normal(size=(50, p)) for _ in range(2)]
    order, common = rng.permutation(p), p // 20
    for X in sets:
        for group in range(n_common):
            X[:, order[size + common * group : size + common * (group + 1)]] += 2 * rng.normal(size=(50, 1))
    sets[1][:, order[:size]] += strength * rng.normal(size=(50, 1))
    return sets, np.isin(np.arange(p), order[:size])


def found_share(scores: np.ndarray, is_planted: np.ndarray) -> float:
    """Return the share of planted features among as many best ones."""
    return float(is_planted[np.argsort(-scores)[: is_planted.sum()]].mean())


def choice_planted(report: Report, n_tables: int = 10) -> None:
    """Compare which planted features the graphs find."""
    report.heading("planted: share found of the features of a group among as many best ones; chance, dense, knn")
    all_found: list[list[float]] = []

    def compare(
        what: str, chance: float, make: Callable[[np.random.Generator], list[tuple[Any, ...]]], **options: Any
    ) -> None:
        found: dict[str, list[float]] = {graph: [] for graph in GRAPHS}
        for seed in range(n_tables):
            for sets, number, is_planted in make(np.random.default_rng(seed)):
                for graph in GRAPHS:
                    result = fastfs.disc(sets, graph=graph, **options)
                    found[graph].append(found_share(result.set_scores[number], is_planted))
        all_found.append([float(np.mean(found[graph])) for graph in GRAPHS])
        print(f"| {what} | {chance:.2f} | " + " | ".join(f"{value:.2f}" for value in all_found[-1]) + " |", flush=True)

    for p, n_common, sizes in ((100, 5, (5, 20)), (1000, 0, (20, 60)), (1000, 5, (5, 20, 60)), (4000, 5, (5, 20, 60))):
        for size, strength in itertools.product(sizes, (0.7, 1.0, 2.0)):

            def hidden(
                rng: np.random.Generator,
                p: int = p,
                size: int = size,
                strength: float = strength,
                n_common: int = n_common,
            ) -> list[tuple[Any, ...]]:
                sets, members = hidden_group(rng, p, size, strength, n_common)
                return [(sets, 1, members)]

            compare(f"{p} features, {n_common} common groups, one of {size}, x {strength:g}", size / p, hidden)

    def many(rng: np.random.Generator, p: int = 1000) -> list[tuple[Any, ...]]:
        size = p // 40
        number = np.minimum(np.arange(p) // size, 30)
        sets = planted(100, p, int(rng.integers(1 << 30)))
        return [(sets, s, (number < 30) & (number % 3 == s)) for s in range(2)]

    def toy_1(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        A, B, in_a, in_b = toys.toy1(100, rng)
        return [([A, B], 0, in_a), ([A, B], 1, in_b)]

    def toy_3(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        sets, own = toys.toy3(200, rng)
        return [(sets, s, own[s]) for s in range(3)]

    compare("1000 features, 10 common groups of 25, 10 of each set, x 2, 100 samples", 0.25, many)
    compare("toy 1, two groups of each set", 0.2, toy_1)
    compare("toy 3, a group of each of three sets", 0.125, toy_3)
    print(f"means of these: dense {np.mean(all_found, axis=0)[0]:.2f}, knn {np.mean(all_found, axis=0)[1]:.2f}")
    right = [np.mean([split_share(graph, seed) for seed in range(n_tables)]) for graph in GRAPHS]
    print(f"| toy 2, a group that falls in two: share on the right side | 0.50 | {right[0]:.2f} | {right[1]:.2f} |")


def split_share(graph: str, seed: int) -> float:
    """Return the share of features that the sign of the leading vector puts in the right part of a group."""
    A, B, small, large = toys.toy2(200, np.random.default_rng(seed))
    result = fastfs.disc([A, B], graph=graph, bandwidth_neighbors=80)
    v = result.vectors[1][:, np.flatnonzero(~result.trivial[1])[0]]
    right = float(np.concatenate([v[small] > 0, v[large] < 0]).mean())
    return max(right, 1 - right)


def copies(report: Report, tables: int = 20) -> None:
    """Scores of features and of their copies on the neighbour graph, where either may be the last neighbour."""
    report.heading("copies of 8 of 90 features, two sets of 20 samples, K = 10: scores of the copies")
    draws: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "numbers": lambda rng: rng.normal(size=(40, 90)),
        "counts": lambda rng: rng.poisson(2.0, size=(40, 90)),
        "bits": lambda rng: rng.integers(0, 2, size=(40, 90)),
    }
    for name, draw in draws.items():
        apart, times = [], []
        for seed in range(tables):
            rng = np.random.default_rng(seed)
            X, copied = draw(rng), rng.choice(90, 8, replace=False)
            X, order = np.hstack([X, X[:, copied]]).astype(float), rng.permutation(98)
            model = fastfs.DiSC(n_components=6, bandwidth_neighbors=10, n_neighbors=10, graph="knn")
            scores = np.empty(98)
            scores[order] = model.fit(X[:, order], np.arange(40) % 2).scores_
            one, other = scores[90:], scores[copied]
            apart.append(float(np.abs(one - other).max() / np.abs(scores).max()))
            times.append(float(np.max(np.maximum(one, other) / np.minimum(one, other))))
        report.row(f"{name}: largest difference, of the largest score", max(apart), at_most=1e-9)
        report.row(f"{name}: tables with other scores", f"{sum(a > 1e-9 for a in apart)} of {tables}")
        report.row(f"{name}: largest ratio", f"{max(times):.3f}")


def main() -> int:
    """Run all."""
    parser = argparse.ArgumentParser(description="DiSC's times")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--choice", nargs="*", choices=("real", "planted", "times"), help="only dense against knn")
    parser.add_argument("--copies", action="store_true", help="only the scores of copies of features")
    parser.add_argument("--large", action="store_true", help="50,000 features, too")
    options = parser.parse_args()
    harness.machine()
    warnings.simplefilter("ignore", fastfs.DataWarning)  # noise has small gaps and flat tails
    report = Report()
    if options.copies:
        copies(report)
        return report.finish()
    if options.choice is not None:
        parts = options.choice or ("real", "planted", "times")
        if "real" in parts:
            choice_real(report, Path(os.environ["FASTFS_TEST_DATA"]))
        if "planted" in parts:
            choice_planted(report)
        if "times" in parts:
            choice_times(report)
        return report.finish()
    dense(report, options.repeats)
    whole(report, 20_000, 5.0, options.repeats)
    if options.large:
        whole(report, 50_000, 25.0, 1)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
