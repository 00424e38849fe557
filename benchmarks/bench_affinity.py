"""RBF affinities between features: `fastfs.affinity` against scikit-learn's ``rbf_kernel`` and against its floor.

    python -m benchmarks.bench_affinity [--features 4000] [--samples 64 1000] [--repeats 7]

The floor of a stored affinity of n features from N samples is made of ceilings measured in the same run: n^2 N flops
(the upper triangle with its diagonal, at the gemm rate of large squares, the strictest choice), n^2 / 2 exponentials
and n^2 numbers written to a fresh array. The second floor takes the gemm rate of a flat product, 2048 x 2048 x 64.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import fastfs
from benchmarks import harness
from benchmarks.harness import Report


def floor(n: int, N: int, dtype: Any, c: dict[str, float], *, gemm: str = "gemm") -> dict[str, float]:
    """Least seconds of each part of a stored affinity."""
    name = np.dtype(dtype).name
    return {
        "gemm": n * n * N / c[f"{gemm} {name}"],
        "exp": n * n / 2 / c[f"exp {name}"],
        "write": n * n * np.dtype(dtype).itemsize / c["write"],
    }


def parts(f: dict[str, float]) -> str:
    """A floor spelled out."""
    return harness.seconds(sum(f.values())) + " = " + " + ".join(f"{k} {harness.seconds(v)}" for k, v in f.items())


def scale(X: np.ndarray) -> float:
    """Half the median distance between features, on a sample of pairs: values of K then spread over (0, 1)."""
    i, j = np.random.default_rng(1).integers(0, X.shape[1], (2, 2000))
    return 0.5 * float(np.median(np.sqrt(((X[:, i[i != j]] - X[:, j[i != j]]) ** 2).sum(axis=0))))


def errors(K: np.ndarray, X: np.ndarray, sigma: float, pairs: int = 20_000) -> tuple[float, float]:
    """Largest absolute and relative error of K over random pairs, against float64 by differences."""
    i, j = np.random.default_rng(2).integers(0, X.shape[1], (2, pairs))
    worst = worst_relative = 0.0
    for start in range(0, pairs, 1000):  # N x 1000 differences at a time
        a, b = i[start : start + 1000], j[start : start + 1000]
        exact = np.exp(-((X[:, a].astype(np.float64) - X[:, b]) ** 2).sum(axis=0) / (2 * sigma**2))
        difference = np.abs(K[a, b] - exact)
        worst = max(worst, float(difference.max()))
        worst_relative = max(worst_relative, float((difference / exact).max()))
    return worst, worst_relative


def dense(report: Report, n: int, N: int, dtype: Any, repeats: int, c: dict[str, float], *, targets: bool) -> None:
    """One thread against scikit-learn and the floor, then two threads against one."""
    name = np.dtype(dtype).name
    report.heading(f"stored RBF affinity, n = {n} features, N = {N} samples, {name}")
    X = np.random.default_rng(0).standard_normal((N, n)).astype(dtype)
    sigma = scale(X)
    gamma = 1 / (2 * sigma**2)
    columns = np.ascontiguousarray(X.T)  # scikit-learn gets the layout it likes best, outside the measured span

    with harness.one_thread():
        t = harness.compare(
            {
                "fastfs": lambda: fastfs.affinity(X, sigma=sigma, n_threads=1),
                "scikit-learn": lambda: rbf_kernel(columns, gamma=gamma),
            },
            repeats,
        )
    for who, timing in t.items():
        report.row(f"{who}, one thread, CPU", timing.text())
    wanted = {"float64": 2.2, "float32": 4.0}[name] if targets else None
    report.times("scikit-learn / fastfs, CPU", t["scikit-learn"], t["fastfs"], at_least=wanted)
    ours = float(np.median(t["fastfs"].cpu))
    strict, flat = floor(n, N, dtype, c), floor(n, N, dtype, c, gemm="flat gemm")
    report.row("fastfs / floor", ours / sum(strict.values()), unit="x", at_most=1.6 if targets else None)
    print(f"  floor: {parts(strict)}")
    report.row("fastfs / floor with the flat gemm rate", ours / sum(flat.values()), unit="x")
    print(f"  floor: {parts(flat)}")

    for who, K in (
        ("fastfs", fastfs.affinity(X, sigma=sigma, n_threads=1)),
        ("scikit-learn", rbf_kernel(columns, gamma=gamma)),
    ):
        absolute, relative = errors(K, X, sigma)
        report.row(f"{who}: largest error over 20,000 pairs", f"{absolute:.1e}", note=f"relative {relative:.1e}")

    if harness.cores() >= 2:
        t = harness.compare(
            {
                "one": lambda: fastfs.affinity(X, sigma=sigma, n_threads=1),
                "two": lambda: fastfs.affinity(X, sigma=sigma, n_threads=2),
            },
            2 * repeats + 1,
        )
        report.row("one thread, wall", t["one"].text("wall"))
        report.row("two threads, wall", t["two"].text("wall"), note=harness.load())
        wanted = 1.75 if targets else None
        report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall", at_least=wanted)


def streamed(report: Report, n: int, N: int, k: int, repeats: int, c: dict[str, float]) -> None:
    """K V without K. The floor counts every tile once for both triangles of the product, Gram and exp in full."""
    report.heading(f"streamed product K V, n = {n}, N = {N}, {k} columns")
    rng = np.random.default_rng(0)
    for name in ("float64", "float32"):
        X = rng.standard_normal((N, n)).astype(name)
        V = rng.standard_normal((n, k)).astype(name)
        sigma = scale(X)
        with harness.one_thread():
            t = harness.compare(
                {
                    "streamed": lambda X=X, V=V, s=sigma: fastfs.affinity_product(X, V, sigma=s, n_threads=1),
                    "stored": lambda X=X, V=V, s=sigma: fastfs.affinity(X, sigma=s, n_threads=1) @ V,
                },
                repeats,
            )
        least = (2.0 * n * n * N + 2.0 * n * n * k) / c["gemm " + name] + n * n / c["exp " + name]
        report.row(f"{name}: streamed, one thread, CPU", t["streamed"].text())
        report.row(f"{name}: stored, then NumPy's product", t["stored"].text())
        ours = float(np.median(t["streamed"].cpu))
        report.row(f"{name}: streamed / floor", ours / least, unit="x", note=f"floor {harness.seconds(least)}")
        K = fastfs.affinity(X.astype(np.float64), sigma=sigma)
        exact = K @ V.astype(np.float64)
        worst = np.abs(fastfs.affinity_product(X, V, sigma=sigma) - exact).max() / np.abs(exact).max()
        report.row(f"{name}: largest error / largest entry", f"{worst:.1e}")


def csr(report: Report, n: int, N: int, density: float, repeats: int, c: dict[str, float]) -> None:
    """CSR input. The floor counts exp and write alone: the sparse products depend on the pattern."""
    report.heading(f"CSR, n = {n}, N = {N}, density {density:.0%}, float64")
    X = sparse.random(N, n, density, format="csr", random_state=np.random.default_rng(0), dtype=np.float64)
    sigma = scale(X.toarray())
    gamma = 1 / (2 * sigma**2)
    columns = X.T.tocsr()
    with harness.one_thread():
        t = harness.compare(
            {
                "fastfs": lambda: fastfs.affinity(X, sigma=sigma, n_threads=1),
                "scikit-learn": lambda: rbf_kernel(columns, gamma=gamma),
            },
            repeats,
        )
    for who, timing in t.items():
        report.row(f"{who}, one thread, CPU", timing.text())
    report.times("scikit-learn / fastfs, CPU", t["scikit-learn"], t["fastfs"])
    f = floor(n, N, np.float64, c)
    ours = float(np.median(t["fastfs"].cpu))
    report.row("fastfs / (exp + write)", ours / (f["exp"] + f["write"]), unit="x")
    print(f"  for the same matrix filled up: {parts(f)}")
    absolute, relative = errors(fastfs.affinity(X, sigma=sigma), X.toarray(), sigma)
    report.row("fastfs: largest error over 20,000 pairs", f"{absolute:.1e}", note=f"relative {relative:.1e}")


def main() -> int:
    """Run all parts; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="RBF affinities between features")
    parser.add_argument("--features", type=int, default=4000)
    parser.add_argument("--samples", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    harness.machine()
    with harness.one_thread():
        c = harness.ceilings()
    report = Report()
    for N in args.samples:
        for dtype in (np.float64, np.float32):
            dense(report, args.features, N, dtype, args.repeats, c, targets=(args.features, N) == (4000, 64))
    streamed(report, args.features, args.samples[0], 50, args.repeats, c)
    csr(report, args.features, 2000, 0.05, max(3, args.repeats // 2), c)
    n = args.features
    setup = (
        "import numpy as np, fastfs\nfrom sklearn.metrics.pairwise import rbf_kernel\n"
        f"X = np.random.default_rng(0).standard_normal(({args.samples[0]}, {n}))\nfastfs.affinity(X[:, :50], sigma=1.0)"
    )
    report.heading(f"peak memory above the input, n = {n}; the result alone is {n * n * 8 / 1e6:.0f} MB")
    for who, call in (
        ("fastfs", "K = fastfs.affinity(X, sigma=5.0, n_threads=1)"),
        ("scikit-learn", "K = rbf_kernel(X.T, gamma=0.02)"),
    ):
        report.row(who, f"{harness.peak_memory(setup, call)[1] / 1e6:.0f} MB")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
