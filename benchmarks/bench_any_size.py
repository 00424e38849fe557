"""Files larger than memory: how fast cells are read, how much ProjSe and ReliefF add.

    python -m benchmarks.bench_any_size [--tenth] [--keep FILE] [--repeats 3]

Writes 10^6 cells x 20,000 genes (10^5 with ``--tenth``), CSR at 3 %, as an uncompressed H5AD file with ten groups;
``--keep`` writes it there and takes it from there the next time. Then, in turns on this file:

* an empty pass over all blocks, against `adata.X[begin:end]` of anndata over a tenth of the rows, in stored bytes a CPU
  second;
* `fastfs.tl.projse` on backed AnnData with two groups against an empty pass, and with ten groups against two;
* ReliefF with 1000 of the cells as targets, of two groups, against an empty pass, and of ten groups against their rests
  against two;
* the peak memory with ten groups above that of the imports, with 1 GiB as ``max_memory``.

Last, the Spearman correlation of ReliefF's scores from 1000 of 5000 targets with those from all, on digits that were
enlarged and shifted at random (5000 x 676, 10 classes).

The file is in the page cache after it was written, so the times are of the CPU, not of the disk. The thread that reads
ahead needs a core of its own: on a loaded machine, read the CPU times.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.harness import Report, Timing

GENES = 20_000
PER_CELL = 600
WRITTEN_AT_ONCE = 5000


def write(path: Path, n: int) -> None:
    """Write cells whose genes are drawn at random, with gaps of 1 to 66 between them."""
    import h5py
    import pandas as pd
    from anndata import AnnData
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    state = rng.integers(0, 10, n)
    obs = pd.DataFrame({"ten": state.astype(str), "two": np.where(state < 5, "a", "b")}, index=np.arange(n).astype(str))
    AnnData(csr_matrix((n, GENES), dtype=np.float32), obs=obs).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        X = file["X"]
        for name, dtype in (("data", np.float32), ("indices", np.int32)):
            del X[name]
            X.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 16,))
        lengths = [np.zeros(1, np.int64)]
        for begin in range(0, n, WRITTEN_AT_ONCE):
            rows = min(WRITTEN_AT_ONCE, n - begin)
            genes = np.cumsum(rng.integers(1, 67, (rows, PER_CELL + 40)), axis=1, dtype=np.int32) - 1
            kept = genes < GENES
            values = rng.exponential(1.0, kept.sum()).astype(np.float32)
            values += (genes[kept] < np.repeat(state[begin : begin + rows], kept.sum(axis=1))) * np.float32(2)
            for name, part in (("data", values), ("indices", genes[kept])):
                X[name].resize(X[name].shape[0] + len(part), axis=0)
                X[name][-len(part) :] = part
            lengths.append(kept.sum(axis=1))
        X["indptr"][:] = np.cumsum(np.concatenate(lengths))


def cells(report: Report, path: Path, repeats: int) -> None:
    import anndata

    import fastfs
    from fastfs._inputs.source import Source

    warnings.simplefilter("ignore")
    adata = anndata.read_h5ad(path, backed="r")
    source = Source.of(adata.X)
    n, n_bytes = adata.n_obs, source.n_bytes
    report.heading(f"{n:,} cells x {GENES:,} genes, CSR, {n_bytes / 1e9:.2f} GB, {harness.load()}")

    def anew() -> None:
        for begin in range(0, n // 10, 2048):
            adata.X[begin : min(begin + 2048, n // 10)]

    def slices() -> None:
        X = adata.X
        for begin in range(0, n // 10, 2048):
            X[begin : min(begin + 2048, n // 10)]

    def blocks() -> None:
        for _ in Source.of(adata.X).blocks():
            pass

    targets = {"n_targets": 1000, "max_memory": min(4 * n_bytes - 1, 2 << 30)}  # too little to load the file
    times = harness.compare(
        {
            "anew": anew,
            "slices": slices,
            "blocks": blocks,
            "two": lambda: fastfs.tl.projse(adata, "two"),
            "ten": lambda: fastfs.tl.projse(adata, "ten"),
            "targets": lambda: fastfs.tl.relieff(adata, "two", **targets),
            "targets of ten": lambda: fastfs.tl.relieff(adata, "ten", **targets),
        },
        repeats,
    )
    for what, name, share in (
        ("adata.X[begin:end], 2048 rows", "anew", 0.1),
        ("X = adata.X, then X[begin:end]", "slices", 0.1),
        ("an empty pass", "blocks", 1.0),
    ):
        speed = share * n_bytes / min(times[name].cpu) / 1e6
        report.row(what, speed, unit=" MB/CPU s", note=f"{times[name].text()}, {times[name].text('wall')} wall")
    anew_of_all = Timing([10 * s for s in times["anew"].cpu], [10 * s for s in times["anew"].wall])
    report.times("an empty pass, times as fast as adata.X[begin:end]", anew_of_all, times["blocks"], at_least=3)
    for clock, target in (("cpu", {}), ("wall", {"at_most": 1.5})):
        what = f"ProjSe, two groups, against an empty pass, {clock}"
        report.times(what, times["two"], times["blocks"], clock=clock, **target)
        report.times(f"ProjSe, ten groups against two, {clock}", times["ten"], times["two"], clock=clock, at_most=1.3)
    for clock in ("cpu", "wall"):
        what = f"ReliefF, 1000 targets, two groups, against an empty pass, {clock}"
        report.times(what, times["targets"], times["blocks"], clock=clock)
        what = f"ReliefF, ten groups against two, {clock}"
        report.times(what, times["targets of ten"], times["targets"], clock=clock)
    found = adata.uns["projse"]["names"]["9"][0]
    report.row("the best gene of group 9 is 8", str(found))
    adata.file.close()
    setup = "import anndata, fastfs.tl, warnings\nwarnings.simplefilter('ignore')\n"
    setup += f"adata = anndata.read_h5ad({str(path)!r}, 'r')"
    above = harness.peak_memory(setup, "fastfs.tl.projse(adata, 'ten', max_memory='1G')")[1]
    report.row("peak memory above the imports, max_memory='1G'", above / 2**30, at_most=1.1, unit=" GiB")


def draws(report: Report) -> None:
    from scipy.ndimage import zoom
    from scipy.stats import spearmanr
    from sklearn.datasets import load_digits

    import fastfs

    rng = np.random.default_rng(0)
    images, digits = load_digits(return_X_y=True)
    chosen = rng.integers(0, len(digits), 5000)
    X = np.zeros((5000, 26, 26), np.float32)
    for to, image in zip(X, images[chosen].reshape(-1, 8, 8), strict=True):
        i, j = rng.integers(0, 5, 2)
        to[i : i + 22, j : j + 22] = zoom(image, 22 / 8, order=1)
    X = X.reshape(5000, -1) + rng.exponential(0.5, (5000, 676)).astype(np.float32)
    y = digits[chosen]
    report.heading("digits, 5000 x 676, 10 classes")
    every = fastfs.relieff_scores(X, y)
    some = [fastfs.relieff_scores(X, y, n_targets=1000, random_state=seed) for seed in range(5)]
    found = float(np.median([spearmanr(every, scores).statistic for scores in some]))
    report.row("Spearman correlation of 1000 targets with all 5000", found, at_least=0.985)
    sample = [fastfs.MultiSURF(n_rows=2000, random_state=seed).fit(X, y).scores_ for seed in range(3)]
    every = fastfs.multisurf_scores(X, y)
    found = float(np.median([spearmanr(every, scores).statistic for scores in sample]))
    report.row("the same of MultiSURF with n_rows=2000", found, at_least=0.985)


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="files larger than memory")
    parser.add_argument("--tenth", action="store_true", help="10^5 cells")
    parser.add_argument("--keep", type=Path, help="the file of the cells, written if it doesn't exist")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        path = args.keep or Path(folder) / "cells.h5ad"
        if not path.exists():
            write(path, 100_000 if args.tenth else 1_000_000)
        cells(report, path, args.repeats)
    draws(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
