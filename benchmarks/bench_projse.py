"""ProjSe: one pass over the rows against the BLAS calls that it is made of, the choice against plain NumPy, memory.

    python -m benchmarks.bench_projse [--repeats 5] [--rows 10000000] [--wide] [--folder DIR]

Floors, each measured in turn with the candidates:

* the pass: SYRK and GEMM of SciPy's BLAS on chunks of 5000 rows of the very arrays, and nothing else;
* sparse: SciPy's product of the same CSR matrix with 50 dense columns, a plain compiled sweep of that many
  multiply-adds;
* wide: the flops of K_YX and of R at the rate of such BLAS calls, and a read of R for every choice.

Peers: `baselines.projse`, the arithmetic of the authors' public program in NumPy on its BLAS; and fastcan, which
maximises the sum of squared canonical correlations of all selected features with the targets, where ProjSe projects
each feature on what the selected ones have left of the targets: other choices, the same inputs.

``--rows`` writes a file of that many rows of 100 + 100 float32 to ``--folder`` (8 GB at 1e7), maps it and removes it.
``--wide`` takes 4 GB: a million features of 1000 samples in float32.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas
from tests.reference import projse as reference

import fastfs
from benchmarks import harness
from benchmarks.baselines import projse as authors
from benchmarks.harness import Report

CHUNK = 5000


def linear_model(m: int, n_y: int, n_x: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """The paper's scaling data: X normal, Y = X W + noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n_x), dtype=dtype)
    Y = X @ (rng.standard_normal((n_x, n_y), dtype=dtype) / np.sqrt(n_x, dtype=dtype))
    Y += rng.standard_normal((m, n_y), dtype=dtype)
    return X, Y


def blas_pass(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y'Y and Y'X by chunks, in place: what no pass can do without."""
    single = X.dtype == np.float32
    gemm, syrk = (blas.sgemm, blas.ssyrk) if single else (blas.dgemm, blas.dsyrk)
    n_y, n_x = Y.shape[1], X.shape[1]
    YX, YY = (np.zeros((n_y, n), X.dtype, order="F") for n in (n_x, n_y))
    for i in range(0, len(X), CHUNK):
        y, x = Y[i : i + CHUNK].T, X[i : i + CHUNK].T
        YX = gemm(1.0, y, x, trans_b=1, beta=1.0, c=YX, overwrite_c=1)
        YY = syrk(1.0, y, beta=1.0, c=YY, overwrite_c=1, lower=1)
    return YY, YX


def one_pass(report: Report, dtype: str, repeats: int, *, of_floor: float, of_public: float) -> None:
    """A million rows, against the floor and the public code's arithmetic, which its own data give it in double."""
    report.heading(f"one pass: 10^6 samples, 100 + 100 variables, 10 selected, {dtype}")
    X, Y = linear_model(10**6, 100, 100, dtype)
    Xf, Yf = np.asfortranarray(X), np.asfortranarray(Y)
    labels = np.random.default_rng(0).integers(0, 100, 10**6)
    X64, Y64 = X.astype(np.float64), Y.astype(np.float64)
    with harness.one_thread():
        t = harness.compare(
            {
                "fastfs": lambda: fastfs.projse(X, Y, n_threads=1),
                "BLAS": lambda: blas_pass(X, Y),
                "public": lambda: authors.public(Y64, X64, 10),
                "public, own dtype": lambda: authors.public(Y, X, 10),
                "columns": lambda: fastfs.projse(Xf, Yf, n_threads=1),
                "labels": lambda: fastfs.projse(X, labels, center=False, n_threads=1),
            },
            repeats,
        )
    report.row("fastfs, CPU", t["fastfs"].text(), note=f"BLAS calls {t['BLAS'].text()}; {harness.load()}")
    report.times("fastfs / BLAS calls (floor)", t["fastfs"], t["BLAS"], at_most=of_floor)
    report.times("public code's arithmetic, float64 / fastfs", t["public"], t["fastfs"], at_least=of_public)
    report.times(f"the same in {dtype} / fastfs", t["public, own dtype"], t["fastfs"])
    report.times("X and Y in column order / floor", t["columns"], t["BLAS"])
    report.row("with 100 class labels for Y", t["labels"].text())
    result, (order, scores) = fastfs.projse(X, Y), authors.public(Y64, X64, 10)
    report.row("first choice as the public code's", "yes" if order[0] == result.selected[0] else "NO")
    report.row("first score, difference", f"{abs(scores[0] / result.selection_scores[0] - 1):.0e}")
    if harness.cores() >= 2:
        threads(report, X, Y)


def threads(report: Report, X: np.ndarray, Y: np.ndarray) -> None:
    """One thread against two, wall time."""
    t = harness.compare(
        {
            "one": lambda: fastfs.projse(X, Y, n_threads=1),
            "two": lambda: fastfs.projse(X, Y, n_threads=2),
        },
        5,
        warm_up=False,
    )
    report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall")


def beyond(report: Report, repeats: int) -> None:
    """Ten choices beyond the rank of the targets, in memory and from two chunks, against the choice within it."""
    report.heading("beyond the rank: 10^6 samples, 100 + 100 variables, rank 90, 90 and 100 selected, float32")
    X, latent = (np.random.default_rng(seed).standard_normal((1_000_000, 100), dtype=np.float32) for seed in (0, 1))
    Y = (latent[:, :90] + 0.3 * X[:, :90]) @ np.random.default_rng(2).standard_normal((90, 100), dtype=np.float32)
    half = len(X) // 2

    def within() -> Any:
        return fastfs.projse(X, Y, n_features_to_select=90, center=True)

    def further() -> Any:
        return fastfs.projse(X, Y, n_features_to_select=100, center=True, beyond="residual")

    def chunks() -> Any:
        X_chunks, Y_chunks = iter([X[:half], X[half:]]), iter([Y[:half], Y[half:]])
        return fastfs.projse(X_chunks, Y_chunks, n_features_to_select=100, center=True, beyond="residual")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the targets are dependent
        t = harness.compare({"within": within, "further": further, "chunks": chunks}, repeats)
    report.times("in memory / within the rank, CPU", t["further"], t["within"], at_most=1.3)
    report.times("chunks / within the rank, CPU", t["chunks"], t["within"], at_most=1.3)


def errors(report: Report) -> None:
    """Against the oracle that projects in sample space."""
    report.heading("error against the projector in sample space: 3000 x (60 + 20), 20 selected, centred")
    X, Y = linear_model(3000, 20, 60, np.float64)
    for dtype, target in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x, y = X.astype(dtype), Y.astype(dtype)
        exact = reference.by_projector(x, y, 20, center=True)
        found = fastfs.projse(x, y, n_features_to_select=20, center=True)
        same = found.selected.tolist() == exact.selected
        worst = float(np.abs(found.selection_scores / exact.scores - 1).max()) if same else np.inf
        worst = max(worst, float(np.abs(found.scores / exact.score0 - 1).max()))
        report.row(f"{np.dtype(dtype).name}, relative", worst, at_most=target)


def greedy(report: Report, name: str, R: np.ndarray, repeats: int) -> None:
    """The choice alone: R as a given kernel, less a call that chooses once."""
    report.heading(f"the choice: R of 100 x 100,000, 40 steps, {name}")
    identity, diagonal = np.eye(100), (R**2).sum(axis=0)

    def choose(n: int) -> fastfs.ProjSeResult:
        return fastfs.projse_from_kernels(identity, R, diagonal, n_features_to_select=n, normalize=False, n_threads=1)

    with harness.one_thread():
        t = harness.compare(
            {"40": lambda: choose(40), "1": lambda: choose(1), "plain": lambda: authors.write_back(R, 40)}, repeats
        )
    steps = harness.Timing(cpu=[a - b for a, b in zip(t["40"].cpu, t["1"].cpu, strict=True)])
    report.row("39 more steps, CPU", steps.text(), note=f"all, with forming R and checks: {t['40'].text()}")
    report.times("plain NumPy write-back / fastfs", t["plain"], steps, at_least=9.0)
    report.times("plain NumPy write-back / the whole call", t["plain"], t["40"])
    same = choose(40).selected.tolist() == authors.write_back(R, 40)[0]
    report.row("same 40 features as plain NumPy", "yes" if same else "NO")


def without_target(report: Report, repeats: int) -> None:
    """Y = X on few samples."""
    import warnings

    report.heading("without target: 50 samples, 2500 variables, 50 selected")
    X = np.random.default_rng(0).standard_normal((50, 2500))
    with warnings.catch_warnings(), harness.one_thread():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        ours = harness.measure(lambda: fastfs.projse(X, n_features_to_select=50, n_threads=1), 5 * repeats)
        public = harness.measure(lambda: authors.public(X, X, 50), 1, warm_up=False)
    report.row("fastfs, CPU", 1e3 * float(np.median(ours.cpu)), unit=" ms", at_most=5.0, note=ours.text())
    report.row("public code's arithmetic, CPU", public.text())
    report.row("that / fastfs", float(public.cpu[0] / np.median(ours.cpu)), unit="x", at_least=1500.0)


def sparse(report: Report, repeats: int) -> None:
    """Counts."""
    report.heading("sparse: counts of 20,000 x 20,000, 5 % stored, 50 targets, centred, 10 selected")
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 20_000, 0.05, format="csr", random_state=0, data_rvs=lambda n: rng.integers(1, 9, n))
    X = X.astype(np.float64)
    Y, columns = rng.standard_normal((20_000, 50)), rng.standard_normal((20_000, 50))
    by_column = X.tocsc()
    with harness.one_thread():
        t = harness.compare(
            {
                "CSR": lambda: fastfs.projse(X, Y, center=True, n_threads=1),
                "CSC": lambda: fastfs.projse(by_column, Y, center=True, n_threads=1),
                "sweep": lambda: X @ columns,
            },
            repeats,
        )
    report.row("CSR, CPU", t["CSR"].text(), note=f"sweep {t['sweep'].text()}")
    report.times("CSR / sweep", t["CSR"], t["sweep"], at_most=4.0)
    report.times("CSC / sweep", t["CSC"], t["sweep"], at_most=4.0)
    setup = (
        "import numpy as np, scipy.sparse as sp, fastfs\n"
        "X = sp.random(20_000, 20_000, 0.05, format='csr', random_state=0)\n"
        "Y = np.random.default_rng(0).standard_normal((20_000, 50))\n"
        "fastfs.projse(X[:100], Y[:100])"
    )
    above = harness.peak_memory(setup, "fastfs.projse(X, Y, center=True, n_threads=1)")[1]
    report.row("CSR, peak memory above the data", f"{above / 1e6:.0f} MB", note="dense, X would take 3200 MB")


def wide(report: Report) -> None:
    """A million variables."""
    report.heading("wide: 1000 samples, 10^6 variables, 100 targets, 100 selected, float32")
    rng = np.random.default_rng(0)
    X = np.empty((1000, 10**6), np.float32)
    for row in X:
        row[:] = rng.random(10**6, dtype=np.float32)
    Y = rng.standard_normal((1000, 100), dtype=np.float32)
    X[:, :1000] += 0.1 * Y[:, rng.integers(0, 100, 1000)]
    with harness.one_thread():
        before = _reset_peak()
        ours = harness.measure(
            lambda: fastfs.projse(X, Y, n_features_to_select=100, center=True, n_threads=1), 1, warm_up=False
        )
        above = _peak() - before
        # K_YX at the rate of the BLAS call on such a shape, R likewise in double, and 100 reads of R.
        part = np.asfortranarray(X[:, :20_000].T)
        t = harness.measure(lambda: blas.sgemm(1.0, Y.T, part, trans_b=1), 5)
        products = 50 * min(t.cpu)
        square, tile = (
            np.asfortranarray(rng.standard_normal((100, 100))),
            np.asfortranarray(rng.standard_normal((100, 20_000))),
        )
        products += 50 * min(harness.measure(lambda: blas.dgemm(1.0, square, tile), 5).cpu)
        R = np.ones(10**8)
        read = min(harness.measure(lambda: R.sum(), 5).cpu)
    floor = products + 100 * read
    report.row("fastfs, CPU", ours.text(), note=harness.load())
    report.row(
        "fastfs / (products + 100 reads of R)", ours.cpu[0] / floor, unit="x", at_most=1.5, note=f"{floor:.1f} s"
    )
    report.row("peak memory above the data", above / 1e9, unit=" GB", at_most=2.5)


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))


def _peak() -> int:
    return _status("VmHWM")


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def mapped(report: Report, rows: int, folder: str | None) -> None:
    """A file that is larger than what may be in memory."""
    report.heading(f"memory map: {rows:.0e} samples, 100 + 100 variables, 10 selected, float32")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "data.npy"
        data = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, 200))
        for i in range(0, rows, 100_000):
            X, Y = linear_model(min(100_000, rows - i), 100, 100, np.float32)
            data[i : i + 100_000, :100] = Y
            data[i : i + 100_000, 100:] = X
        data.flush()
        del data
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        whole = np.load(path, mmap_mode="r")
        Y, X = whole[:, :100], whole[:, 100:]
        largest, done = _status("RssAnon"), threading.Event()
        before = largest

        def watch() -> None:
            nonlocal largest
            while not done.wait(0.01):
                largest = max(largest, _status("RssAnon"))

        watcher = threading.Thread(target=watch)
        watcher.start()
        with harness.one_thread():
            start = time.perf_counter()
            fastfs.projse(X, Y, n_threads=1)
            cold = time.perf_counter() - start
            t = harness.compare(
                {"fastfs": lambda: fastfs.projse(X, Y, n_threads=1), "BLAS": lambda: blas_pass(X, Y)}, 2
            )
        done.set()
        watcher.join()
        report.row("cold, wall", harness.seconds(cold), note=f"{path.stat().st_size / cold / 1e9:.2f} GB/s")
        start = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            block = bytearray(1 << 24)
            while file.readinto(block):
                pass
        rate = path.stat().st_size / (time.perf_counter() - start)
        report.row("reading the file alone", f"{rate / 1e9:.2f} GB/s", note="whatever of it the system dropped")
        report.row("warm, CPU", t["fastfs"].text(), note=harness.load())
        report.times("warm / BLAS calls (floor)", t["fastfs"], t["BLAS"], at_most=1.5)
        report.row("anonymous memory", (largest - before) / 1e9, unit=" GB", at_most=1.0)


def peer(report: Report, repeats: int) -> None:
    """fastcan on the same inputs."""
    report.heading("peer: fastcan, 20,000 x (200 + 10), 10 selected (another criterion, see the head of this file)")
    try:
        from fastcan import FastCan
    except ImportError:
        print("skipped: fastcan isn't installed")
        return
    X, Y = linear_model(20_000, 10, 200, np.float64)
    with harness.one_thread():
        t = harness.compare(
            {
                "fastfs": lambda: fastfs.projse(X, Y, center=True, n_threads=1),
                "fastcan": lambda: FastCan(10, verbose=0).fit(X, Y),
            },
            repeats,
        )
    ours, theirs = fastfs.projse(X, Y, center=True).selected, FastCan(10, verbose=0).fit(X, Y).indices_
    report.row("fastfs / fastcan, CPU", f"{t['fastfs'].text()} / {t['fastcan'].text()}")
    report.times("fastcan / fastfs", t["fastcan"], t["fastfs"])
    report.row("features in common, of 10", f"{len(set(ours.tolist()) & set(theirs.tolist()))}")
    report.row("variance of Y explained by them", f"{explained(X, Y, ours):.4f} / {explained(X, Y, theirs):.4f}")


def explained(X: np.ndarray, Y: np.ndarray, selected: np.ndarray) -> float:
    """R^2 of the regression of all targets on the selected features."""
    Z, T = X[:, selected] - X[:, selected].mean(axis=0), Y - Y.mean(axis=0)
    return float(1 - ((T - Z @ np.linalg.lstsq(Z, T, rcond=None)[0]) ** 2).sum() / (T**2).sum())


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="ProjSe")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0, help="of the memory-mapped file; 0 leaves it out")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--folder", help="where the file goes")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    one_pass(report, "float64", args.repeats, of_floor=1.3, of_public=2.0)
    one_pass(report, "float32", args.repeats, of_floor=1.4, of_public=3.0)
    beyond(report, args.repeats)
    errors(report)
    rng = np.random.default_rng(0)
    R = rng.standard_normal((100, 100_000))
    greedy(report, "independent columns", R, args.repeats)
    R = rng.standard_normal((100, 20)) @ rng.standard_normal((20, 100_000)) + 0.3 * R
    greedy(report, "columns of rank 20 and noise", R, args.repeats)
    without_target(report, args.repeats)
    sparse(report, min(args.repeats, 3))
    peer(report, args.repeats)
    if args.wide:
        wide(report)
    if args.rows:
        mapped(report, args.rows, args.folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
