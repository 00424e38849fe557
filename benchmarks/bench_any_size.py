"""Any size: files larger than memory, and as many features as there are methylation probes.

    python -m benchmarks.bench_any_size --atlas [--tenth] [--keep FILE] [--repeats 3]
    python -m benchmarks.bench_any_size --epic [METHOD ...] [--tenth]

``--atlas`` writes 10^6 cells x 20,000 genes (10^5 with ``--tenth``, which alone means the same), CSR at 3 %, as an
uncompressed H5AD file with ten groups, 4.8 GB; ``--keep`` writes it there and takes it from there the next time. Then,
in turns on this file:

* an empty pass over all blocks, and one in blocks of 64 MB, against `adata.X[begin:end]` of anndata over a tenth of the
  rows, in stored bytes a CPU second;
* `fastfs.tl.projse` on backed AnnData with two groups against an empty pass, and with ten groups against two;
* a pass of ManiFeSt's sums with ``accuracy="low_rank"`` against an empty one, and the fit from these sums;
* the two passes of DiSC with two groups, and the search of candidates between them, against an empty pass, and the fit;
* ReliefF with 1000 of the cells as targets, of two groups, against an empty pass, and of ten groups against their rests
  against two, and against two empty passes and 150 s for 10^6 cells;
* the peak memory of these tools with ten groups above that of the imports, with 1 GiB as ``max_memory``.

On 6000 simulated cells x 5000 genes, ManiFeSt from sums against the fit in memory: the rank correlation of the scores
and the share of the best 200 genes, beside those of fits in memory with other seeds.

Last, the Spearman correlation of ReliefF's scores from 1000 of 5000 targets with those from all, on digits that were
enlarged and shifted at random (5000 x 676, 10 classes).

The file is in the page cache after it was written, so the times are of the CPU, not of the disk. The thread that reads
ahead needs a core of its own: on a loaded machine, read the CPU times.

``--epic`` scores 200 samples x 850,000 features (85,000 with ``--tenth``), float32, by every method, each in a process
of its own: wall time, the peak of the process with the table (0.68 GB), and which of the planted features are among the
2000 best: of 1000 whose mean differs by one standard deviation between two classes, and of 1000 in 25 modules of 40
that share a factor (correlation 0.5) in one class only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Report, Timing

GENES = 20_000
PER_CELL = 600


def write(path: Path, n: int) -> None:
    """Write cells whose genes are drawn at random, with gaps of 1 to 66 between them."""
    rng = np.random.default_rng(0)
    state = rng.integers(0, 10, n)

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for begin in range(0, n, harness.WRITTEN_AT_ONCE):
            rows = min(harness.WRITTEN_AT_ONCE, n - begin)
            genes = np.cumsum(rng.integers(1, 67, (rows, PER_CELL + 40)), axis=1, dtype=np.int32) - 1
            kept = genes < GENES
            values = rng.exponential(1.0, kept.sum()).astype(np.float32)
            values += (genes[kept] < np.repeat(state[begin : begin + rows], kept.sum(axis=1))) * np.float32(2)
            yield values, genes[kept], kept.sum(axis=1)

    columns = {"ten": state.astype(str), "two": np.where(state < 5, "a", "b")}
    harness.write_cells(path, (n, GENES), columns, parts())


def cells(report: Report, path: Path, repeats: int) -> None:
    import anndata
    from sklearn.base import clone

    import fastfs
    from fastfs._functions.disc import StreamedGroups
    from fastfs._functions.manifest import SumsStage
    from fastfs._inputs.source import BLOCK_BYTES, Source
    from fastfs._inputs.streams import LARGE_BLOCK_BYTES

    warnings.simplefilter("ignore")
    adata = anndata.read_h5ad(path, backed="r")
    source = Source.from_data(adata.X)
    n, n_bytes = adata.n_obs, source.n_bytes
    report.heading(f"{n:,} cells x {GENES:,} genes, CSR, {n_bytes / 1e9:.2f} GB, {harness.load()}")

    def anew() -> None:
        for begin in range(0, n // 10, 2048):
            adata.X[begin : min(begin + 2048, n // 10)]

    def slices() -> None:
        X = adata.X
        for begin in range(0, n // 10, 2048):
            X[begin : min(begin + 2048, n // 10)]

    model = fastfs.ManiFeSt(accuracy="low_rank", max_memory="2G")

    def sums(column: str) -> SumsStage:
        labels = np.unique(adata.obs[column], return_inverse=True)[1]
        return model._sum_groups(adata.X, labels, labels.max() + 1, None, None)

    def fit(of_groups: SumsStage, n: int) -> None:
        clone(model)._fit_groups(of_groups, np.arange(n), np.arange(n))

    def blocks(n_bytes: int = BLOCK_BYTES) -> None:
        for _ in Source.from_data(adata.X).blocks(n_bytes=n_bytes):
            pass

    tall = fastfs.DiSC(max_memory="2G")

    def in_blocks() -> StreamedGroups:
        return tall._sum_groups(adata.X, np.unique(adata.obs["two"], return_inverse=True)[1], 2, None, None)

    targets = {"n_targets": 1000, "max_memory": min(4 * n_bytes - 1, 2 << 30)}  # too little to load the file
    times = harness.compare(
        {
            "anew": anew,
            "slices": slices,
            "blocks": blocks,
            "large blocks": lambda: blocks(LARGE_BLOCK_BYTES),
            "two": lambda: fastfs.tl.projse(adata, "two"),
            "ten": lambda: fastfs.tl.projse(adata, "ten"),
            "manifest": lambda: sums("two"),
            "manifest, ten": lambda: sums("ten"),
            "disc": in_blocks,
            "targets": lambda: fastfs.tl.relieff(adata, "two", **targets),
            "targets of ten": lambda: fastfs.tl.relieff(adata, "ten", **targets),
        },
        repeats,
    )
    of_two, of_ten, of_sets = sums("two"), sums("ten"), in_blocks()
    fits = harness.compare(
        {
            "two": lambda: fit(of_two, 2),
            "ten": lambda: fit(of_ten, 10),
            "DiSC": lambda: clone(tall)._fit_groups(of_sets, np.arange(2), np.arange(2)),
        },
        1,
    )
    for what, name, share in (
        ("adata.X[begin:end], 2048 rows", "anew", 0.1),
        ("X = adata.X, then X[begin:end]", "slices", 0.1),
        ("an empty pass", "blocks", 1.0),
        ("an empty pass in blocks of 64 MB", "large blocks", 1.0),
    ):
        speed = share * n_bytes / min(times[name].cpu) / 1e6
        report.row(what, speed, unit=" MB/CPU s", note=f"{times[name].text()}, {times[name].text('wall')} wall")
    anew_of_all = Timing([10 * s for s in times["anew"].cpu], [10 * s for s in times["anew"].wall])
    report.times("an empty pass, times as fast as adata.X[begin:end]", anew_of_all, times["blocks"], at_least=3)
    for clock, target in (("cpu", {}), ("wall", {"at_most": 1.5})):
        what = f"ProjSe, two groups, against an empty pass, {clock}"
        report.times(what, times["two"], times["blocks"], clock=clock, **target)
        report.times(f"ProjSe, ten groups against two, {clock}", times["ten"], times["two"], clock=clock, at_most=1.3)
    for clock, target in (("cpu", {}), ("wall", {"at_most": 2.5})):
        what = f"sums of ManiFeSt, two groups, against an empty pass, {clock}"
        report.times(what, times["manifest"], times["blocks"], clock=clock, **target)
        what = f"sums of ManiFeSt, ten groups against two, {clock}"
        report.times(what, times["manifest, ten"], times["manifest"], clock=clock)
    for clock, target in (("cpu", {}), ("wall", {"at_most": 4})):
        what = f"passes of DiSC, two groups, against an empty pass, {clock}"
        report.times(what, times["disc"], times["blocks"], clock=clock, **target)
    report.row("fit of DiSC after its passes, two groups", fits["DiSC"].text("wall"), note=fits["DiSC"].text())
    for name in ("two", "ten"):
        report.row(f"fit of ManiFeSt from sums, {name} groups", fits[name].text("wall"), note=fits[name].text())
    for clock in ("cpu", "wall"):
        what = f"ReliefF, 1000 targets, two groups, against an empty pass, {clock}"
        report.times(what, times["targets"], times["blocks"], clock=clock)
        what = f"ReliefF, ten groups against two, {clock}"
        report.times(what, times["targets of ten"], times["targets"], clock=clock)
    beyond = min(times["targets of ten"].wall) - 2 * min(times["blocks"].wall)
    report.row("ReliefF, ten groups, beyond two empty passes, wall", beyond, at_most=150.0, unit=" s")
    found = adata.uns["projse"]["names"]["9"][0]
    report.row("the best gene of group 9 is 8", str(found))
    adata.file.close()
    setup = "import anndata, fastfs.tl, warnings\nwarnings.simplefilter('ignore')\n"
    setup += f"adata = anndata.read_h5ad({str(path)!r}, 'r')"
    for call in (
        "projse(adata, 'ten', max_memory='1G')",
        "manifest(adata, 'ten', accuracy='low_rank', max_memory='1G')",
        "relieff(adata, 'ten', n_targets=1000, max_memory='1G')",
    ):
        above = harness.peak_memory(setup, f"fastfs.tl.{call}")[1]
        report.row(f"peak memory above the imports, {call}", above / 2**30, at_most=1.1, unit=" GiB")


def simulated(n: int = 6000, d: int = 5000, seed: int = 3) -> tuple[Any, Any]:
    """Return log counts of genes that share 25 factors, of which 200 genes change theirs in the second group."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    loadings = np.where(rng.random((25, d)) < 0.08, rng.normal(size=(25, d)), 0)
    means = rng.normal(size=(n, 25)) @ loadings
    changed = rng.permutation(d)[:200]
    means[:, changed] = np.where(y[:, None] == 1, rng.normal(size=(n, 25)) @ loadings[:, changed], means[:, changed])
    rates = np.exp(rng.normal(-2.5, 1.2, d) + 0.8 * means)
    return csr_matrix(np.log1p(rng.poisson(np.minimum(rates, 50))).astype(np.float32)), y


def accuracy(report: Report) -> None:
    """Scores from sums against those in memory."""
    from scipy.stats import spearmanr

    import fastfs

    X, y = simulated()
    warnings.simplefilter("ignore")
    for parameters in ({}, {"normalize": 3, "sigma_factor": 1.0}):
        report.heading(f"ManiFeSt of {X.shape[0]:,} cells x {X.shape[1]:,} genes in memory and from sums, {parameters}")
        model = fastfs.ManiFeSt(accuracy="low_rank", **parameters)
        whole, sigma = model.fit(X, y).scores_, model.sigma_
        best = set(np.argsort(-whole)[:200])

        def compare(what: str, fitted: Any, whole: Any = whole, sigma: Any = sigma, best: Any = best) -> None:
            shared = len(best & set(np.argsort(-fitted.scores_)[:200])) / 200
            found = float(spearmanr(fitted.scores_, whole).statistic)
            note = f"best 200 shared {shared:.2f}, sigma x {(fitted.sigma_ / sigma).round(4).tolist()}"
            report.row(f"rank correlation, {what}", found, note=note)

        for seed in (1, 2):
            compare(f"seed {seed} in memory", model.set_params(random_state=seed).fit(X, y))
        for seed in (0, 1, 2):  # dense blocks take 120 MB, more than a quarter
            streamed = fastfs.ManiFeSt(accuracy="low_rank", random_state=seed, max_memory="400M", **parameters)
            streamed.fit(lambda: (X[first : first + 1000].toarray() for first in range(0, X.shape[0], 1000)), y)
            compare(f"seed {seed} from sums", streamed)


PLANTED, MODULE, BEST = 1000, 40, 2000

# Its planted features are the first ones of `planted`, those with other means before those with other correlations.
_TABLE = f"""
import warnings
import numpy as np, fastfs
warnings.simplefilter("ignore")
X = np.load({{path!r}})
y = np.arange(200) % 2
planted = np.random.default_rng(1).permutation(X.shape[1])[:{2 * PLANTED}].reshape(2, -1)
def found(scores):
    best = np.argsort(-scores)[:{BEST}]
    return [int(np.isin(best, part).sum()) for part in planted]
"""

EPIC = {
    "ManiFeSt": "fastfs.ManiFeSt(accuracy='low_rank', n_jobs=2)",
    "ProjSe": "fastfs.ProjSe(10, n_jobs=2)",
    "ReliefF": "fastfs.ReliefF(n_jobs=2)",
    "MultiSURF": "fastfs.MultiSURF(n_jobs=2)",
    "IM4E": "fastfs.IM4E(n_jobs=2)",
    "Immigrate": "fastfs.Immigrate(n_jobs=2)",
    "IKDR": "fastfs.IKDR(n_jobs=2)",
    "DiSC": "fastfs.DiSC(graph='lists', n_jobs=2)",
}


def write_epic(path: Path, p: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, p), dtype=np.float32)
    places = np.random.default_rng(1).permutation(p)
    means, correlations = places[:PLANTED], places[PLANTED : 2 * PLANTED]
    X[np.ix_(np.arange(1, 200, 2), means)] += 1
    factors = rng.standard_normal((100, PLANTED // MODULE), dtype=np.float32)
    X[1::2, correlations] = (X[1::2, correlations] + factors.repeat(MODULE, axis=1)) / np.float32(np.sqrt(2))
    np.save(path, X)


def epic(report: Report, names: list[str], p: int) -> None:
    """Every method on as many features as there are methylation probes."""
    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "epic.npy"
        write_epic(path, p)
        report.heading(f"200 x {p:,}, float32; planted: {PLANTED} other means, {PLANTED} other correlations")
        for name in names:
            call = f"model = {EPIC[name]}.fit(X, y)\nresult = found(model.scores_)"
            done = harness.alone(_TABLE.format(path=str(path)), call)
            if isinstance(done, str):
                report.row(f"{name} failed", done, at_most=0)
                continue
            means, correlations = done.result
            note = f"CPU {done.cpu:.0f} s; of {BEST} best {means} by means, {correlations} by correlations"
            report.row(name, done.wall, unit=" s", note=f"{note}; {harness.load()}")
            report.row(f"{name}, peak memory", done.peak / 2**30, at_most=8.0, unit=" GiB")
            total += done.wall
    report.row("all of them", total, at_most=600.0 * p / 850_000, unit=" s")


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
    parser = argparse.ArgumentParser(description="files larger than memory, and wide tables")
    parser.add_argument("--tenth", action="store_true", help="10^5 cells, or 85,000 features")
    parser.add_argument("--atlas", action="store_true", help="10^6 cells on disk")
    parser.add_argument("--epic", nargs="*", choices=EPIC, help="wide tables, by all methods if none is named")
    parser.add_argument("--keep", type=Path, help="the file of the cells, written if it doesn't exist")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if not (args.atlas or args.tenth or args.epic is not None):
        parser.error("choose what to run: --atlas, --epic, or --tenth")
    harness.machine()
    report = Report()
    if args.epic is not None:
        epic(report, args.epic or [*EPIC], 85_000 if args.tenth else 850_000)
        return report.finish()
    with tempfile.TemporaryDirectory() as folder:
        path = args.keep or Path(folder) / "cells.h5ad"
        if not path.exists():
            write(path, 100_000 if args.tenth else 1_000_000)
        cells(report, path, args.repeats)
    accuracy(report)
    draws(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
