"""What a bioinformatician runs: AnnData with sparse counts, permutation tests, and whether their p-values are honest.

    python -m benchmarks.bench_omics [--repeats 3] [--null]

* cells: 5000 x 20,000 counts, CSR, 5 % stored, two groups: ReliefF on 1000 of the cells, ProjSe, ManiFeSt and DiSC on
  all, each in a fresh process; a dense copy of all cells would be 0.4 GB in float32;
* permutations: CPU time of `permutation_test` with 200 of them against that of 200 fits, which are timed by ten. Floor:
  the share of one fit that depends on labels. ReliefF: all but the distances of all pairs. ProjSe: the targets of all
  permutations are one product with X, which is read once. ManiFeSt: its eigenproblems. DiSC: everything;
* ``--null``: 1000 data sets of noise, 40 x 50, 199 permutations each: the share of p-values up to 0.05 and of data sets
  with any discovery; and 200 with 5 features that do differ: the mean share of false ones among the discoveries.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report, Timing

PERMUTATIONS = 200
FITS = 10

CELLS = """
import numpy as np, scipy.sparse, anndata, fastfs.tl, pandas
rng = np.random.default_rng(0)
X = scipy.sparse.random(5000, 20000, density=0.05, format="csr", dtype=np.float32, random_state=0,
                        data_rvs=lambda n: np.log1p(rng.poisson(2, n) + 1).astype(np.float32))
state = np.arange(5000) % 2
obs = pandas.DataFrame({"state": np.where(state, "a", "b")}, index=np.arange(5000).astype(str))
adata = anndata.AnnData(X, obs=obs)
some = adata[rng.permutation(5000)[:1000]].copy()
import sklearn.feature_selection, fastfs._estimators.relief
"""


def cells(report: Report) -> None:
    report.heading("AnnData, 5000 cells x 20,000 genes, CSR at 5 %, two groups")
    for what, call in (
        ("ReliefF on 1000 cells", 'fastfs.tl.relieff(some, "state")'),
        ("ProjSe on all cells", 'fastfs.tl.projse(adata, "state", center=True)'),
        ("ManiFeSt on all cells", 'fastfs.tl.manifest(adata, "state")'),
        ("DiSC on all cells", 'fastfs.tl.disc(adata, "state", graph="knn")'),
    ):
        before, start = os.times(), time.perf_counter()
        whole, above = harness.peak_memory(CELLS, call)
        spent, after = time.perf_counter() - start, os.times()
        note = f"{after.children_user - before.children_user:.1f} s of CPU, {harness.load()}"
        target = {} if "ManiFeSt" in what or "DiSC" in what else {"at_most": 30}
        report.row(f"{what}: whole process, wall", spent, unit=" s", note=note, **target)
        report.row(f"{what}: peak memory", whole / 1e9, at_most=1.5, unit=" GB", note=f"{above / 1e6:.0f} MB above X")
        report.row(f"{what}: above the data", above / 1e6, at_most=399, unit=" MB", note="a dense copy takes 400")


def permutations(report: Report, repeats: int) -> None:
    report.heading(f"{PERMUTATIONS} permutations against {PERMUTATIONS} fits, CPU, one thread")
    rng = np.random.default_rng(0)
    for what, model, shape, limit in (
        ("ReliefF, 1000 x 5000", fastfs.ReliefF(n_jobs=1), (1000, 5000), 0.3),
        ("ProjSe, 1000 x 5000", fastfs.ProjSe(1, center=True, n_jobs=1), (1000, 5000), 0.3),
        ("MultiSURF, 300 x 2000", fastfs.MultiSURF(n_jobs=1), (300, 2000), None),
        ("IM4E, 100 x 2000", fastfs.IM4E(n_jobs=1), (100, 2000), None),
        ("ManiFeSt, 100 x 300", fastfs.ManiFeSt(n_jobs=1), (100, 300), None),
        ("DiSC, 100 x 300", fastfs.DiSC(n_jobs=1), (100, 300), None),
    ):
        X, y = rng.normal(size=shape), rng.permutation(np.arange(shape[0]) % 2)
        X[:, :10] += y[:, None]

        def test(model: Any = model, X: Any = X, y: Any = y) -> Any:
            return fastfs.permutation_test(model, X, y, n_permutations=PERMUTATIONS)

        def fits(model: Any = model, X: Any = X, y: Any = y) -> None:
            for _ in range(FITS):
                model.fit(X, y)

        with warnings.catch_warnings(), harness.one_thread():
            warnings.simplefilter("ignore")
            t = harness.compare({"test": test, "fits": fits}, repeats)
        all_fits = Timing(
            [s * PERMUTATIONS / FITS for s in t["fits"].cpu], [s * PERMUTATIONS / FITS for s in t["fits"].wall]
        )
        share, low, high = harness.ratio(t["test"], all_fits)
        target = {} if limit is None else {"at_most": limit}
        report.row(what, share, unit="x", note=f"{low:.2f} .. {high:.2f}; {t['test'].text()}", **target)


def null(report: Report) -> None:
    report.heading("1000 data sets of noise, 40 x 50, 199 permutations")
    for model in (fastfs.ReliefF(), fastfs.ProjSe(1, center=True), fastfs.MultiSURF()):
        name = type(model).__name__
        single, family, found_any = [], [], {0.05: 0, 0.3: 0}
        for seed in range(1000):
            X, y = np.random.default_rng(seed).normal(size=(40, 50)), np.arange(40) % 2
            test = fastfs.permutation_test(model, X, y, n_permutations=199, random_state=seed)
            single.append(np.mean(test.pvalues <= 0.05))
            family.append(test.pvalues_max.min() <= 0.05)
            for q in found_any:  # all discoveries are false here; 50 features and p >= 0.005 allow none at 0.05
                found_any[q] += bool(np.any(test.pvalues_adjusted <= q))
        share = float(np.mean(single))
        report.row(f"{name}: share of p <= 0.05", share, at_least=0.035)
        report.row(f"{name}: the same", share, at_most=0.065)
        for q, n_found in found_any.items():
            report.row(f"{name}: mean false discovery proportion, q = {q}", n_found / 1000, at_most=q)
        report.row(f"{name}: data sets with a p_max <= 0.05", float(np.mean(family)), at_most=0.065)
        wrong, hits = [], []
        for seed in range(200):
            X, y = np.random.default_rng(seed).normal(size=(40, 50)), np.arange(40) % 2
            X[:, :5] += 1.5 * y[:, None]
            test = fastfs.permutation_test(model, X, y, n_permutations=199, random_state=seed)
            called = np.flatnonzero(test.pvalues_adjusted <= 0.1)
            wrong.append(np.mean(called >= 5) if len(called) else 0.0)
            hits.append(np.sum(called < 5) / 5)
        report.row(
            f"{name}: 5 of 50 differ, false discovery proportion, q = 0.1",
            float(np.mean(wrong)),
            at_most=0.1,
            note=f"{np.mean(hits):.0%} of the five found",
        )


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="AnnData, permutation tests")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--null", action="store_true")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    cells(report)
    permutations(report, args.repeats)
    if args.null:
        null(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
