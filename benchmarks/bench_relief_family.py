"""The RELIEF family on all kinds of tables: against scikit-rebate, and what gaps, categories and wrappers cost.

    python -m pip install skrebate==0.8.4            # the peer; without it, its rows are left out
    python -m benchmarks.bench_relief_family [--repeats 5] [--only scikit-rebate ...] [--vls]

* scikit-rebate on its own kinds of data, 300 x 500, ReliefF and MultiSURF, one run of it each. Definitions are made to
  agree as in tests/methods/margin/test_skrebate.py: uniform priors, its same-or-different rule for numbers, the "sd"
  ramp for mixed tables, ties to the lowest row. Its distances of mixed tables multiply the part of the categories, so
  scores there are compared on its own distances, but times on whole calls of both;
* missing values, categories, cores and wrappers against MultiSURF or ReliefF on complete float32 numbers of the same
  shape, 1000 x 5000. Floor: 1, as they read as many values;
* sparse: the dense call has `toarray` inside. Peak memory in a fresh process with one thread;
* ``--vls``: 230 subsets of 1000 out of 230,000 features, 2350 samples, on two threads: 2.2 GB. With the 200 subsets
  that the target speaks of, 30,000 features would be in none, which is an error. Floor: the differences of all pairs
  of samples, twice, at the rate of gemm.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

import fastfs
from benchmarks import harness
from benchmarks.bench_relief import K, classes, difference_rate, distance_seconds, pair_features
from benchmarks.harness import Report, Timing
from fastfs._inputs.table import encode_table
from fastfs._machine.run import Run

KINDS = ("genotypes", "10 % missing", "mixed", "numeric target", "three classes")


def small(kind: str, n: int = 300, n_features: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, which columns are categories: scikit-rebate's kinds of data, made up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    y = rng.permutation(np.arange(n) % (3 if kind == "three classes" else 2))
    X[:, :10] += 0.7 * y[:, None]
    categories = np.zeros(n_features, dtype=bool)
    if kind == "genotypes":
        categories[:] = True
    if kind == "mixed":
        categories[::3] = True
    X[:, categories] = np.clip(np.rint(X[:, categories] + 1), 0, 2)
    if kind == "10 % missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "numeric target":
        return X, np.tanh(X[:, 0] - X[:, 4] + rng.normal(size=n)), categories  # all have over K hits
    return X, y, categories


class StableNumPy:
    """NumPy for scikit-rebate's ReliefF, so that its ranks give ties to the lowest row."""

    def argsort(self, a: Any) -> np.ndarray:
        return np.argsort(a, kind="stable")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def scikit_rebate(report: Report, repeats: int) -> None:
    report.heading("scikit-rebate 0.8.4, 300 x 500, float64: largest difference of a score, CPU time")
    try:
        import skrebate
    except ImportError:
        print("skipped: skrebate isn't installed")
        return
    skrebate.relieff.np = StableNumPy()
    for kind in KINDS:
        X, y, categories = small(kind)
        numeric = kind == "numeric target"
        label = "continuous" if numeric else "binary" if y.max() == 1 else "multiclass"
        common = {
            "categorical_features": categories,
            "missing": "ignore",
            "ramp": "sd" if kind == "mixed" else None,
            "target_type": "number" if numeric else "class",
        }
        relieff: dict[str, Any] = {"n_neighbors": K, "priors": None if numeric else "uniform"}
        for name, score, options in (
            ("ReliefF", fastfs.relieff_scores, relieff),
            ("MultiSURF", fastfs.multisurf_scores, {}),
        ):

            def ours(score: Any = score, X: Any = X, y: Any = y, given: Any = common | options, **more: Any) -> Any:
                return score(X, y, n_threads=1, **given, **more)

            model = getattr(skrebate, name)(
                n_jobs=1,
                label_type=label,
                categorical_features=np.flatnonzero(categories),
                **({"n_neighbors": K} if name == "ReliefF" else {}),
            )
            theirs = Timing()
            theirs.add(lambda model=model, X=X, y=y: model.fit(X.copy(), y.copy()))
            mine = harness.measure(ours, repeats)
            given = {"distances": own_distances(model, X, y)} if kind == "mixed" else {}
            difference = np.abs(ours(**given) - model.feature_importances_).max()
            report.row(f"{kind}, {name}: difference", float(difference), at_most=1e-9)
            report.row(
                f"{kind}, {name}: scikit-rebate / fastfs",
                theirs.cpu[0] / float(np.median(mine.cpu)),
                at_least=500,
                unit="x",
                note=f"{theirs.text()} / {mine.text()}",
            )


def own_distances(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The distances that scikit-rebate's fit used, which it throws away."""
    kept = {}

    class Keeping(type(model)):  # type: ignore[misc]
        def _run_algorithm(self) -> np.ndarray:
            kept["distances"] = np.array(self._distance_array)
            return np.zeros(X.shape[1])

    Keeping(**model.get_params()).fit(X.copy(), y.copy())
    found = kept["distances"]
    np.fill_diagonal(found, 0)
    return found


def against(
    report: Report,
    repeats: int,
    reference: Callable[[], Any],
    candidates: dict[str, tuple[Callable[[], Any], float | None]],
) -> None:
    """A row a candidate: how many times longer it takes than the reference, and at most should."""
    t = harness.compare({"": reference} | {name: call for name, (call, _) in candidates.items()}, repeats)
    report.row("the reference, CPU", t[""].text(), note=harness.load())
    for name, (_, at_most) in candidates.items():
        report.times(name, t[name], t[""], at_most=at_most)


def with_gaps(X: np.ndarray) -> np.ndarray:
    """A tenth of the values missing."""
    return np.where(np.random.default_rng(1).random(X.shape, dtype=np.float32) < 0.1, np.float32(np.nan), X)


def missing(report: Report, repeats: int) -> None:
    report.heading('10 % missing, missing="ignore", against the complete table, 1000 x 5000, float32')
    X, y = classes(1000, 5000, np.float32)
    gaps = with_gaps(X)
    spent = [
        [min(distance_seconds(table, "manhattan", 1, missing="ignore").cpu) for table in (X, gaps)]
        for _ in range(repeats)
    ]
    ratios = [b / a for a, b in spent]
    note = f"{min(ratios):.2f} .. {max(ratios):.2f}; complete {harness.seconds(min(spent)[0])}"
    report.row("distances", float(np.median(ratios)), at_most=1.2, unit="x", note=note)
    against(
        report,
        repeats,
        lambda: fastfs.multisurf_scores(X, y, n_threads=1),
        {"MultiSURF": (lambda: fastfs.multisurf_scores(gaps, y, missing="ignore", n_threads=1), 3.0)},
    )


def categories(report: Report, repeats: int) -> None:
    report.heading("categories, against numbers, MultiSURF, 1000 x 5000, float32")
    X, y = classes(1000, 5000, np.float32)
    rng, every = np.random.default_rng(1), np.ones(5000, dtype=bool)

    two, three = (rng.integers(0, n, size=X.shape).astype(np.float32) for n in (2, 3))

    def scores(codes: np.ndarray) -> np.ndarray:
        return fastfs.multisurf_scores(codes, y, categorical_features=every, n_threads=1)

    against(
        report,
        repeats,
        lambda: fastfs.multisurf_scores(X, y, n_threads=1),
        {
            "two levels": (lambda: scores(two), 1.05),
            "three levels": (lambda: scores(three), 2.2),
            "two levels: numbering the categories alone": (lambda: encode_table(two, every, Run(1)), None),
            "three levels: the same": (lambda: encode_table(three, every, Run(1)), None),
        },
    )


def cores(report: Report, repeats: int) -> None:
    report.heading("cores, against MultiSURF, 1000 x 5000, float32")
    X, y = classes(1000, 5000, np.float32)
    run = {"n_threads": 1}
    against(
        report,
        repeats,
        lambda: fastfs.multisurf_scores(X, y, **run),
        {
            "SURF": (lambda: fastfs.surf_scores(X, y, **run), 1.1),
            "MultiSURF*": (lambda: fastfs.multisurf_scores(X, y, far=True, **run), 1.1),
            "SWRF": (lambda: fastfs.swrf_scores(X, y, **run), 1.1),
            "MultiSWRF": (lambda: fastfs.swrf_scores(X, y, radius="sample", **run), 1.1),
        },
    )


def turf(report: Report, repeats: int) -> None:
    report.heading("TuRF, step 0.1, down to half of the features, against one ReliefF, 1000 x 5000, float32")
    X, y = classes(1000, 5000, np.float32)
    one = fastfs.ReliefF(n_jobs=1)
    against(
        report,
        repeats,
        lambda: one.fit(X, y),
        {"TuRF(ReliefF)": (lambda: fastfs.TuRF(one, step=0.1).fit(X, y), 3.0)},
    )


SPARSE = """
import numpy as np, scipy.sparse, fastfs
from benchmarks.bench_relief_family import cells
X, y = cells({n})
fastfs.relieff_scores(X[:50], y[:50], n_threads=1)
"""


def cells(n: int) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Counts of two kinds of cells, 20,000 genes, 5 % stored."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(n, 20_000, density=0.05, format="csr", dtype=np.float32, random_state=0)
    X.data[:] = np.log1p(rng.poisson(2, X.nnz) + 1)
    return X, np.arange(n) % 2


def sparse(report: Report, repeats: int) -> None:
    for n in (1000, 5000):
        report.heading(f"ReliefF, CSR at 5 %, {n} x 20,000, float32, all targets, against the dense call")
        X, y = cells(n)
        t = harness.compare(
            {
                "sparse": lambda X=X, y=y: fastfs.relieff_scores(X, y, n_threads=1),
                "dense": lambda X=X, y=y: fastfs.relieff_scores(X.toarray(), y, n_threads=1),
            },
            repeats if n == 1000 else 2,
            warm_up=n == 1000,
        )
        report.row("sparse, CPU", t["sparse"].text(), note=f"dense {t['dense'].text()}; {harness.load()}")
        report.times("dense / sparse", t["dense"], t["sparse"], at_least=8.0)
        _, above = harness.peak_memory(SPARSE.format(n=n), "fastfs.relieff_scores(X, y, n_threads=1)")
        dense, distances = 4 * n * 20_000, 8 * n * n
        note = f"a dense copy {dense / 1e6:.0f}, the distances {distances / 1e6:.0f}, X {12 * X.nnz / 1e6:.0f}"
        report.row(
            "peak above X and the distances", (above - distances) / 1e6, at_most=dense / 1e6, unit=" MB", note=note
        )


def vls(report: Report) -> None:
    report.heading("VLS(MultiSURF), 230 subsets of 1000, 2350 x 230,000, float32, three classes, two threads")
    rng = np.random.default_rng(0)
    X = np.empty((2350, 230_000), dtype=np.float32)
    for row in X:  # no second copy
        row[:] = rng.integers(0, 3, size=len(row), dtype=np.uint8)
    selector = fastfs.VLS(fastfs.MultiSURF(n_jobs=2), n_subsets=230, subset_size=1000)
    t = harness.measure(lambda: selector.fit(X, np.arange(len(X)) % 3), 1, warm_up=False)
    floor = 230 * 2 * pair_features(len(X), 1000) / difference_rate("float32")
    note = f"CPU {harness.seconds(t.cpu[0])}, floor of it {harness.seconds(floor)}; {harness.load()}"
    report.row("wall", t.wall[0], at_most=120, unit=" s", note=note)


PARTS: dict[str, Callable[[Report, int], None]] = {
    "scikit-rebate": scikit_rebate,
    "missing": missing,
    "categories": categories,
    "cores": cores,
    "turf": turf,
    "sparse": sparse,
}


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="The RELIEF family on all kinds of tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--vls", action="store_true")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        for name in args.only:
            PARTS[name](report, args.repeats)
        if args.vls:
            vls(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
