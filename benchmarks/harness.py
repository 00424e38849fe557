"""What every benchmark shares: the machine, its ceilings in this very run, timing, peak memory, and rows of results.

Times are of two kinds. CPU time (``time.process_time``, all threads of the process) is what ratios on one thread use:
it is hardly disturbed by other work on the machine. Wall time is used where threads are compared, and then the load is
printed beside it. Candidates that are compared take turns in one process, so that a change of clock rate or load meets
them all, and a ratio is the median of the ratios within a turn.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_info, threadpool_limits

# ------------------------------------------------------------------------------------------------------------- timing


@dataclass
class Timing:
    """Repeated times of one candidate, in seconds, in the order they were taken."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, fn: Callable[[], Any]) -> None:
        """Run `fn` once and keep its two times."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = fn()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)
        del result  # freed outside the measured span

    def text(self, clock: str = "cpu") -> str:
        """Median and spread, e.g. ``1.23 s (1.20 .. 1.31)``."""
        t = getattr(self, clock)
        if len(t) == 1:
            return f"{seconds(t[0])} (once)"
        return f"{seconds(median(t))} ({seconds(min(t))} .. {seconds(max(t))})"


def measure(fn: Callable[[], Any], repeats: int = 5, *, warm_up: bool = True) -> Timing:
    """Times of `fn` over `repeats` runs, after one that is not counted."""
    return compare({"": fn}, repeats, warm_up=warm_up)[""]


def compare(
    candidates: Mapping[str, Callable[[], Any]], repeats: int = 5, *, warm_up: bool = True
) -> dict[str, Timing]:
    """Times of several candidates that take turns: a b c, a b c, ..."""
    if warm_up:
        for fn in candidates.values():
            fn()
    settle()
    timings = {name: Timing() for name in candidates}
    for _ in range(repeats):
        for name, fn in candidates.items():
            timings[name].add(fn)
    return timings


def settle() -> None:
    """Wait until no thread works any more: those of BLAS go on spinning after a product, which counts as CPU time."""
    for _ in range(100):
        start = time.process_time()
        time.sleep(0.02)
        if time.process_time() - start < 0.001:
            return


def ratio(slow: Timing, fast: Timing, clock: str = "cpu") -> tuple[float, float, float]:
    """How many times longer `slow` took: median, least and largest over the turns of one `compare`."""
    r = [a / b for a, b in zip(getattr(slow, clock), getattr(fast, clock), strict=True)]
    return median(r), min(r), max(r)


def one_thread() -> Any:
    """Context in which every BLAS and OpenMP of the process is held at one thread."""
    return threadpool_limits(1)


# ------------------------------------------------------------------------------------- ceilings, measured in this run


def gemm_rate(dtype: Any, m: int = 1024, n: int = 1024, k: int = 1024, repeats: int = 7) -> float:
    """Flop/s of the BLAS that fastfs uses (SciPy's), for C = A B with A of m x k. The best of several runs."""
    rng = np.random.default_rng(0)
    gemm = blas.dgemm if np.dtype(dtype) == np.float64 else blas.sgemm
    a = np.asfortranarray(rng.standard_normal((m, k)), dtype=dtype)
    b = np.asfortranarray(rng.standard_normal((k, n)), dtype=dtype)
    c = np.zeros((m, n), dtype=dtype, order="F")
    t = measure(lambda: gemm(1.0, a, b, c=c, overwrite_c=True), repeats)
    return 2.0 * m * n * k / min(t.cpu)


def exp_rate(dtype: Any, n: int = 1 << 13, repeats: int = 2000) -> float:
    """Exponentials a second of fastfs's own vector exp on an array that stays in the L1/L2 cache."""
    from fastfs import _core

    return float(n * repeats / min(_core.exp_seconds(np.dtype(dtype).name, n, repeats) for _ in range(5)))


def numpy_exp_rate(dtype: Any, n: int = 1 << 13, repeats: int = 500) -> float:
    """Exponentials a second of NumPy on the same kind of array, for comparison."""
    x = -np.random.default_rng(0).random(n).astype(dtype)
    out = np.empty_like(x)

    def run() -> None:
        for _ in range(repeats):
            np.exp(x, out=out)

    return n * repeats / min(measure(run, 5).cpu)


def write_rate(n_bytes: int = 128_000_000, repeats: int = 7) -> float:
    """Bytes a second written to a fresh array: page faults included, as any call that returns a new array pays them."""

    def write() -> np.ndarray:
        out = np.empty(n_bytes // 8)
        out.fill(1.0)
        return out  # given back to the system outside the measured span, as the results of the candidates are

    return n_bytes / min(measure(write, repeats).cpu)


def syevd(A: np.ndarray) -> Any:
    """One ``dsyevd`` on a copy of A."""
    return lapack.dsyevd(A.T, lower=1)  # A is symmetric: the transpose only spares the copy to column order


def ceilings(n_tile: int = 64) -> dict[str, float]:
    """Measure and print the ceilings of one core; the floors of all benchmarks are made of these numbers."""
    found: dict[str, float] = {}
    for name in ("float64", "float32"):
        found["gemm " + name] = gemm_rate(name)
        found["flat gemm " + name] = gemm_rate(name, 2048, 2048, n_tile)
        found["exp " + name] = exp_rate(name)
        found["NumPy exp " + name] = numpy_exp_rate(name)
    found["write"] = write_rate()
    print("ceilings of one core, measured now:")
    for name in ("float64", "float32"):
        print(
            f"  {name}: gemm 1024^3 {found['gemm ' + name] / 1e9:.1f} GFLOP/s"
            f" (2048 x 2048 x {n_tile}: {found['flat gemm ' + name] / 1e9:.1f}),"
            f" exp {found['exp ' + name] / 1e9:.2f} G/s (NumPy {found['NumPy exp ' + name] / 1e9:.2f})"
        )
    print(f"  write to a fresh array: {found['write'] / 1e9:.1f} GB/s\n")
    return found


# -------------------------------------------------------------------------------------------------------- the machine


def load() -> str:
    """The load average of the last minute."""
    return f"load {os.getloadavg()[0]:.2f}"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> None:
    """Print what the numbers below depend on."""
    import scipy
    import sklearn

    import fastfs

    facts = fastfs.info()
    print(f"machine   {_cpu_model()}, {cores()} cores, {load()}")
    print(f"fastfs    {facts['version']}, instruction set {facts['isa']}, BLAS {facts['blas']}")
    print(
        f"software  Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__},"
        f" scikit-learn {sklearn.__version__}"
    )
    for lib in threadpool_info():
        name = Path(lib["filepath"]).name
        print(
            f"          {name}: {lib.get('version')}, {lib.get('architecture')}, {lib['num_threads']} threads allowed"
        )
    print()


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


# ------------------------------------------------------------------------------------------------------------- memory


# Linux: the high-water mark of this very address space, which can be set back. ru_maxrss would not do there: a new
# process starts with the mark of the one that started it.
_PEAK = """
def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass

def peak():
    try:
        with open("/proc/self/status") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource, sys
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""


def peak_memory(setup: str, call: str) -> tuple[int, int]:
    """Peak resident bytes of `call` in a fresh process with one BLAS thread: in all, and above what `setup` left.

    Both arguments are Python source. Where the peak cannot be set back (outside Linux) the second figure is above the
    peak of `setup`, which makes it too small.
    """
    program = f"{_PEAK}\n{setup}\nreset_peak()\nbefore = peak()\n{call}\nafter = peak()\nprint(after, after - before)\n"
    environment = os.environ | {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    whole, above = done.stdout.split()[-2:]
    return int(whole), int(above)


@dataclass(frozen=True)
class Alone:
    """What a call took in a process of its own: seconds, bytes at its peak in all, and the `result` that it left."""

    wall: float
    cpu: float
    peak: int
    result: Any


def alone(setup: str, call: str, isa: str | None = None) -> Alone | str:
    """Run `call`, Python source that may set `result` for JSON, on all cores; return its last words if it fails."""
    program = f"""{_PEAK}
import json, time
result = None
{setup}
reset_peak()
wall, cpu = time.perf_counter(), time.process_time()
{call}
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, peak(), result]))
"""
    environment = os.environ | ({"FASTFS_ISA": isa} if isa else {})
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return Alone(*json.loads(done.stdout.splitlines()[-1]))


# --------------------------------------------------------------------------------------------------------------- data

WRITTEN_AT_ONCE = 5000  # cells


def write_cells(path: Path, shape: tuple[int, int], obs: Mapping[str, Any], parts: Iterable[Any]) -> None:
    """Write an H5AD file of cells that come in parts: values, genes in ascending order, and how many of each cell."""
    import h5py
    import pandas as pd
    from anndata import AnnData
    from scipy.sparse import csr_matrix

    index = np.arange(shape[0]).astype(str)
    AnnData(csr_matrix(shape, dtype=np.float32), obs=pd.DataFrame(obs, index=index)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        X = file["X"]
        for name, dtype in (("data", np.float32), ("indices", np.int32)):
            del X[name]
            X.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 16,))
        lengths = [np.zeros(1, np.int64)]
        for values, genes, of_cells in parts:
            for name, part in (("data", values), ("indices", genes)):
                X[name].resize(X[name].shape[0] + len(part), axis=0)
                X[name][-len(part) :] = part
            lengths.append(of_cells)
        X["indptr"][:] = np.cumsum(np.concatenate(lengths))


# ------------------------------------------------------------------------------------------------------------ results


def seconds(t: float) -> str:
    """A time with a unit that suits it."""
    if t >= 1:
        return f"{t:.2f} s"
    return f"{1e3 * t:.1f} ms" if t >= 1e-3 else f"{1e6 * t:.1f} us"


class Report:
    """Rows ``what | measured | target | reached``, printed as they come; the targets are counted at the end."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, bool]] = []

    def heading(self, text: str) -> None:
        """Start a group of rows."""
        print(f"\n{text}\n{'-' * len(text)}")

    def row(
        self,
        what: str,
        measured: float | str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        unit: str = "",
        note: str = "",
    ) -> None:
        """Print one result; with a target, also whether it was reached."""
        value = measured if isinstance(measured, str) else f"{measured:.3g}{unit}"
        line = f"{what:<52} {value:>14}"
        if not isinstance(measured, str) and (at_least is not None or at_most is not None):
            reached = measured >= at_least if at_least is not None else measured <= (at_most or 0.0)
            target = f">= {at_least:g}" if at_least is not None else f"<= {at_most:g}"
            self._rows.append((what, reached))
            line += f"   target {target + unit:<10} {'reached' if reached else 'NOT REACHED'}"
        print(line + (f"   {note}" if note else ""), flush=True)

    def times(self, what: str, slow: Timing, fast: Timing, *, clock: str = "cpu", **target: Any) -> float:
        """A row for how many times longer `slow` took than `fast`; returns that ratio."""
        r, low, high = ratio(slow, fast, clock)
        self.row(what, r, unit="x", note=f"{low:.2f} .. {high:.2f}", **target)
        return r

    def finish(self) -> int:
        """Print the count of targets reached; 0 if all were, for use as an exit code."""
        missed = [what for what, reached in self._rows if not reached]
        print(f"\n{len(self._rows) - len(missed)} of {len(self._rows)} targets reached; {load()} at the end")
        for what in missed:
            print(f"  missed: {what}")
        return 1 if missed else 0
