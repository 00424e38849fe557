"""The nearest features of each feature: `fastfs.nearest_features` against Faiss, scikit-learn and its floor.

    python -m benchmarks.bench_neighbors [--features 20000] [--samples 100] [--repeats 5] [--large 50000]
        [--lists 8000 20000]

The floor of n features from N samples is made of ceilings measured in the same run: n^2 N flops, half of the product
of all pairs, at the gemm rate of large squares, and n^2 comparisons, one for each side of each of the n^2 / 2 pairs, at
the rate of NumPy on a tile that stays in the cache. Faiss and PyNNDescent take part where they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

K = 30


def compare_rate(repeats: int = 2000) -> float:
    """Comparisons a second of float32 numbers with one bound for each, on a tile of 192 x 192."""
    tile = np.random.default_rng(0).standard_normal((192, 192)).astype("f")
    bounds, found = np.full(192, 3, "f"), np.empty(tile.shape, bool)

    def run() -> None:
        for _ in range(repeats):
            np.greater_equal(tile, bounds, out=found)

    return tile.size * repeats / min(harness.measure(run, 5).cpu)


def floor(n: int, N: int, c: dict[str, float]) -> dict[str, float]:
    """Least seconds of each part."""
    return {"half gemm": n * n * N / c["gemm"], "comparisons": n * n / c["compare"]}


def faiss_search(columns: np.ndarray) -> Callable[[], Any]:
    """Exact search of all columns among all, on one thread; the feature itself is among the results."""
    import faiss

    faiss.omp_set_num_threads(1)

    def search() -> Any:
        index = faiss.IndexFlatL2(columns.shape[1])
        index.add(columns)
        return index.search(columns, K + 1)[1]

    return search


def sklearn_graph(columns: np.ndarray) -> Any:
    """scikit-learn's exact search, float32 by products."""
    return NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=1).fit(columns).kneighbors_graph(mode="distance")


def agreement(found: np.ndarray, neighbors: np.ndarray) -> float:
    """Share of the neighbours that the other method has too; `found` may hold the feature itself."""
    return float(np.mean([np.isin(mine, other).mean() for mine, other in zip(neighbors, found, strict=True)]))


def dense(report: Report, n: int, N: int, repeats: int, c: dict[str, float], *, peers: bool) -> None:
    """One thread against the peers and the floor, then two threads against one."""
    report.heading(f"{K} nearest of each of n = {n} features, N = {N} samples, float32")
    X = np.random.default_rng(0).standard_normal((N, n)).astype("f")
    columns = np.ascontiguousarray(X.T)  # the peers get the layout they like best, outside the measured span
    candidates: dict[str, Callable[[], Any]] = {"fastfs": lambda: fastfs.nearest_features(X, K, n_threads=1)}
    if peers:
        candidates["scikit-learn"] = lambda: sklearn_graph(columns)
        if importlib.util.find_spec("faiss"):
            candidates["Faiss IndexFlatL2"] = faiss_search(columns)
    with harness.one_thread():
        t = harness.compare(candidates, repeats)
    for who, timing in t.items():
        report.row(f"{who}, one thread, CPU", timing.text())
    for who, least in (("scikit-learn", 2.5), ("Faiss IndexFlatL2", 1.0)):
        if who in t:
            report.times(f"{who} / fastfs, CPU", t[who], t["fastfs"], at_least=least)
    f = floor(n, N, c)
    ours = float(np.median(t["fastfs"].cpu))
    report.row("fastfs / floor", ours / sum(f.values()), unit="x", at_most=1.5)
    print(
        f"  floor: {harness.seconds(sum(f.values()))} = "
        + " + ".join(f"{k} {harness.seconds(v)}" for k, v in f.items())
    )
    report.row("fastfs / half gemm", ours / f["half gemm"], unit="x")

    neighbors, _ = fastfs.nearest_features(X, K)
    for who in ("Faiss IndexFlatL2", "scikit-learn"):
        if who in candidates:
            found = candidates[who]()
            found = found.indices.reshape(n, K) if sparse.issparse(found) else found
            report.row(f"{who}: share of our neighbours found", agreement(found, neighbors))
    if peers and importlib.util.find_spec("pynndescent"):
        approximate(report, columns, neighbors)
    if harness.cores() >= 2:
        t = harness.compare(
            {
                "one": lambda: fastfs.nearest_features(X, K, n_threads=1),
                "two": lambda: fastfs.nearest_features(X, K, n_threads=2),
            },
            repeats,
        )
        report.row("one thread, wall", t["one"].text("wall"))
        report.row("two threads, wall", t["two"].text("wall"), note=harness.load())
        report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall")


def approximate(report: Report, columns: np.ndarray, neighbors: np.ndarray) -> None:
    """PyNNDescent on one thread, compiled before."""
    from pynndescent import NNDescent

    def search() -> Any:
        return NNDescent(columns, n_neighbors=K + 1, random_state=0, n_jobs=1).neighbor_graph[0]

    with harness.one_thread():
        t = harness.measure(search, 3)
    report.row("PyNNDescent, one thread, CPU", t.text(), note=f"recall {agreement(search(), neighbors):.3f}")


def data_sets(n: int) -> dict[str, Callable[[], Any]]:
    """Data in which rounding confuses many, or on which other paths are taken."""
    rng = np.random.default_rng(0)
    return {
        "normal, float64": lambda: rng.standard_normal((100, n)),
        "an offset of each feature": lambda: rng.standard_normal((100, n)) + 20 * rng.standard_normal(n),
        "genotypes, 60 samples (exact ties)": lambda: rng.binomial(2, 0.2, (60, n)).astype(float),
        "tenths, 10 samples (ties beyond rounding)": lambda: rng.binomial(9, 0.5, (10, n)) / 10,
        "every feature four times": lambda: np.repeat(rng.standard_normal((100, n // 4)), 4, axis=1),
        "a hundred copies of each feature": lambda: np.repeat(rng.standard_normal((100, n // 100)), 100, axis=1),
        "counts, CSR, 2000 samples, 5 % stored": lambda: sparse.random(
            2000, n, 0.05, format="csr", random_state=rng, data_rvs=lambda size: rng.integers(1, 5, size).astype(float)
        ),
    }


def other_data(report: Report, n: int) -> None:
    """Times of harder data, without targets."""
    report.heading(f"other data, n = {n} features, {K} neighbours, one thread, CPU")
    for name, make in data_sets(n).items():
        X = make()
        t = harness.measure(lambda X=X: fastfs.nearest_features(X, K, n_threads=1), 3, warm_up=False)
        report.row(name, t.text())


def modules(n: int, N: int, seed: int) -> np.ndarray:
    """25 factors, modules of 40 features that load on some of them with strengths from 0 to 1.5, and noise."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((N, 25)).astype("f")
    X = np.empty((N, n), "f")
    for first in range(0, n, 40):
        size = min(40, n - first)
        own = factors @ (rng.standard_normal(25) * (rng.random(25) < 0.2)) + rng.standard_normal(N)
        X[:, first : first + size] = np.outer(own, rng.uniform(0, 1.5, size)) + rng.standard_normal((N, size))
    return X


def by_lists(report: Report, n: int, N: int, *, exact: bool) -> None:
    """DiSC's graph="lists": its search of two sets, the recall, and what misses change."""
    report.heading(f'DiSC(graph="lists"), modules, two sets of n = {n}, N = {N}, two threads')
    sets = [modules(n, N, seed) for seed in (0, 1)]
    found = {}
    for graph in ("lists", "knn") if exact else ("lists",):
        steps: list[tuple[str, float]] = []

        def note(step: str, _: float, steps: list[tuple[str, float]] = steps) -> None:
            steps.append((step, time.process_time()))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastfs.DataWarning)
            begin, wall = time.process_time(), time.perf_counter()
            found[graph] = fastfs.disc(sets, graph=graph, n_threads=2, progress=note)
        search = sum(later - at for (step, at), (_, later) in itertools.pairwise(steps) if step == "nearest features")
        note_of = f"wall {harness.seconds(time.perf_counter() - wall)}, {harness.load()}"
        report.row(f"{graph}: all, CPU", harness.seconds(time.process_time() - begin), note=note_of)
        report.row(f"{graph}: nearest features, CPU", harness.seconds(search))
    report.row("recall", float(found["lists"].graph_recall.min()), at_least=0.95)
    if exact:
        change = np.abs(found["lists"].significance - found["knn"].significance).max()
        report.row("largest change of a significance", float(change), at_most=0.03)


def residuals(report: Report, n: int, N: int) -> None:
    """What rough eigenvectors of graphs of lists change, against residuals of 1e-12 on the same graphs."""
    noise = [np.random.default_rng(seed).standard_normal((N, n), dtype="f") for seed in (0, 1)]
    alike = [modules(n, N, seed) for seed in (0, 1)]
    best = min(2000, n // 10)
    for name, sets, d in (("modules", alike, 7), ("modules", alike, 20), ("noise", noise, 20)):
        report.heading(f"eigenvectors of graphs of lists, {name}, two sets of n = {n}, N = {N}, n_components = {d}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastfs.DataWarning)
            rough = fastfs.disc(sets, graph="lists", n_components=d, n_threads=2)
            exact = fastfs.disc(graphs=rough.graphs, n_components=d, n_threads=2)
        gaps = ", ".join(f"{gap:.1e}" for gap in exact.gap)
        change = float(np.abs(rough.significance - exact.significance).max())
        report.row("largest change of a significance", change, at_most=1e-4, note=f"gaps {gaps}")
        for ours, theirs in zip(rough.set_scores, exact.set_scores, strict=True):
            shared = len({*np.argsort(-ours)[:best]} & {*np.argsort(-theirs)[:best]}) / best
            note = f"scores correlate to 1 - {1 - np.corrcoef(ours, theirs)[0, 1]:.0e}"
            report.row(f"share of the best {best} features of a set that stay", shared, at_least=0.99, note=note)


TIMED = f"""
import time
import numpy as np
import fastfs

X = np.random.default_rng(0).standard_normal(({{N}}, {{n}})).astype("f")
times = []
for _ in range(4):
    begin = time.process_time()
    fastfs.nearest_features(X, {K}, n_threads=1)
    times.append(time.process_time() - begin)
print(sorted(times[1:])[1])
"""


def instruction_sets(report: Report, n: int, N: int) -> None:
    """Each in a process of its own, where the machine has it."""
    report.heading(f"instruction sets, n = {n}, N = {N}, one thread, CPU")
    for isa in ("base", "avx2", "avx512"):
        done = subprocess.run(
            [sys.executable, "-c", TIMED.format(n=n, N=N)],
            capture_output=True,
            text=True,
            env=os.environ | {"FASTFS_ISA": isa},
        )
        report.row(isa, harness.seconds(float(done.stdout)) if done.returncode == 0 else "not here")


def large(report: Report, n: int, N: int) -> None:
    """Time on two threads and memory."""
    report.heading(f"n = {n}, N = {N}, float64, {K} neighbours")
    X = np.random.default_rng(0).standard_normal((N, n))
    t = harness.measure(lambda: fastfs.nearest_features(X, K, n_threads=2), 3, warm_up=False)
    report.row("two threads, wall", t.text("wall"), note=f"CPU {t.text()}, {harness.load()}")
    setup = f"import numpy as np, fastfs\nX = np.random.default_rng(0).standard_normal(({N}, {n}))\nfastfs.info()"
    above = harness.peak_memory(setup, f"found = fastfs.nearest_features(X, {K}, n_threads=2)")[1]
    report.row("peak memory above the input", f"{above / 1e6:.0f} MB", note=f"results {16 * n * K / 1e6:.0f} MB")


def main() -> int:
    """Run all parts; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="nearest features")
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--cells", type=int, default=5000, help="samples of the second size, with 2/5 of the features")
    parser.add_argument("--large", type=int, default=50_000, help="features of the third size")
    parser.add_argument("--lists", type=int, nargs="*", default=[8000, 20_000], help="features of DiSC's lists")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    harness.machine()
    with harness.one_thread():
        c = {"gemm": harness.gemm_rate("f"), "compare": compare_rate()}
    print(f"ceilings of one core: gemm {c['gemm'] / 1e9:.1f} GFLOP/s, comparisons {c['compare'] / 1e9:.1f} G/s")
    report = Report()
    dense(report, args.features, args.samples, args.repeats, c, peers=True)
    dense(report, args.features * 2 // 5, args.cells, max(1, args.repeats // 2), c, peers=False)
    other_data(report, args.features)
    instruction_sets(report, args.features, args.samples)
    large(report, args.large, args.samples)
    for n in args.lists:
        by_lists(report, n, args.samples, exact=n <= 100_000)
        if n <= 100_000:
            residuals(report, n, args.samples)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
