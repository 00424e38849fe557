"""Settings of a call: threads, memory budget, progress, warnings."""

import contextlib
import re
import sys
import time
import warnings
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from fastfs._machine.params import as_int
from fastfs._types import Progress


class DataWarning(UserWarning):
    """The data make a result, or a part of it, say less than it seems to.

    Attributes
    ----------
    code : str
        The kind of warning in a word, such as "tie", if it is one of the core; otherwise "".
    """

    code = ""


@cache
def load_core(*, with_blas: bool = True) -> ModuleType:
    """Return the compiled core, with SciPy's BLAS registered unless `with_blas` is False.

    Importing SciPy's takes a quarter of the time of `fastfs score`, and some calls need no BLAS.
    """
    from fastfs import _core

    if with_blas:
        from fastfs._machine import lapack as _lapack

        _lapack.register()
    return _core


class Run:
    """Settings of one call for the core: threads, bytes left of the budget, and progress.

    0 threads stand for all cores that this process may use, or 1 inside a joblib worker; a budget of 0 is the core's
    default.
    """

    __slots__ = ("budget", "n_threads", "progress")

    def __init__(
        self, n_threads: int = 0, max_memory: int | str | None = None, progress: Progress | None = None
    ) -> None:
        """Check the settings; raise TypeError or ValueError that names a wrong one."""
        self.n_threads = as_threads(n_threads)
        self.budget = parse_memory(max_memory)
        if progress is not None and not callable(progress):
            raise TypeError(f"progress must be a callable that takes a step and a share; got {progress!r}")
        self.progress = progress

    @classmethod
    def from_estimator(cls, estimator: Any) -> "Run":
        """Return the run for n_jobs, max_memory and verbose of an estimator."""
        return cls(count_threads(estimator.n_jobs), estimator.max_memory, as_progress(estimator.verbose))

    def reserve_memory(self, n_bytes: int, what: str, advice: str) -> None:
        """Subtract bytes from the budget; raise MemoryError if they exceed it.

        A few bytes off the default budget aren't worth asking the machine for it. A budget that was given shrinks by
        them; the default one is only compared.
        """
        if self.budget == 0 and n_bytes < 1 << 26:
            return
        available = self.available()
        if n_bytes >= available:
            raise MemoryError(
                f"{what} would need {human(n_bytes)}, but the memory budget is {human(available)}: raise max_memory "
                f"(or FASTFS_MAX_MEMORY), or {advice}"
            )
        if self.budget:
            self.budget -= n_bytes

    def count_threads(self) -> int:
        """Return the number of threads of a call; ask the machine if necessary."""
        from fastfs import _core

        return self.n_threads or int(_core.info()["n_threads"])

    def available(self) -> int:
        """Return the bytes that are left of the budget; ask the machine if necessary."""
        from fastfs import _core

        return self.budget or int(_core.info()["max_memory"])


def human(n_bytes: int) -> str:
    """Return a number of bytes in words, as the core writes it."""
    if n_bytes < 10**6:
        return f"{n_bytes} bytes"
    short = f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 10**9 else f"{n_bytes / 1e6:.2f} MB"
    return f"{short} ({n_bytes} bytes)"


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory(max_memory: int | str | None) -> int:
    """Return a memory budget in bytes, from a number or a string such as '4G'; None is 0, the core's default.

    Raise ValueError for others.
    """
    if max_memory is None:
        return 0
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(?:i?B)?\s*", max_memory, re.IGNORECASE)
        size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    else:
        size = as_int("max_memory", max_memory, low=1, high=(1 << 63) - 1)
    if not 0 < size < 1 << 63:
        raise ValueError(f"max_memory must be a number of bytes, or a string such as '4G'; got {max_memory!r}")
    return size


def as_threads(n_threads: int) -> int:
    """Return n_threads for the core: 0 is all cores that this process may use, or 1 inside a joblib worker."""
    n_threads = as_int("n_threads", n_threads)
    return 1 if n_threads == 0 and inside_joblib() else n_threads


def as_jobs(n_jobs: int | None) -> int | None:
    """Return n_jobs: None, or an integer; raise ValueError for 0, TypeError for other objects."""
    if n_jobs is None:
        return None
    n_jobs = as_int("n_jobs", n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a positive number, or -1 for all cores")
    return n_jobs


def count_threads(n_jobs: int | None) -> int:
    """Return n_threads for n_jobs: 0 (all cores) for None; a negative number counts back from all cores, to 1 at least.

    Raise ValueError for 0.
    """
    n_jobs = as_jobs(n_jobs)
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 0
    from fastfs import _core

    return max(1, int(_core.info()["n_threads"]) + 1 + n_jobs)


def inside_joblib() -> bool:
    """Return True inside a task of joblib or Dask, which runs next to other tasks."""
    # joblib's tasks have a nesting level, but Dask's don't. If a module isn't loaded, this isn't one of its tasks.
    parallel = sys.modules.get("joblib.parallel")
    if parallel is not None and parallel.get_active_backend()[0].nesting_level:
        return True
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with contextlib.suppress(ValueError):  # raised outside a worker
            distributed.get_worker()
            return True
    return False


def wants_workers(n_jobs: int | None) -> bool:
    """Return True if n_jobs or ``joblib.parallel_config`` around the call asks for workers."""
    joblib = sys.modules.get("joblib")  # a caller that configures joblib has imported it
    return n_jobs is not None or (joblib is not None and joblib.effective_n_jobs(None) > 1)


def as_progress(verbose: bool | Progress) -> Progress | None:
    """Return the progress callback that `verbose` asks for: the callable itself, one that prints lines, or None."""
    if callable(verbose):
        return verbose
    return _Report() if verbose else None


class _Report:
    """Prints the running step and the finished share once a call has taken over two seconds."""

    def __init__(self) -> None:
        self.next = time.monotonic() + 2

    def __call__(self, step: str, fraction: float) -> None:
        if time.monotonic() >= self.next:
            print(f"[fastfs] {fraction:4.0%}  {step}", file=sys.stderr, flush=True)
            self.next = time.monotonic() + 1


_NOT_THE_CALLER = ("fastfs", "sklearn", "joblib")


def warn(messages: Sequence[str | Warning], category: type[Warning] = DataWarning) -> None:
    """Issue each message as a warning that points to the caller of the library. A message can be a warning itself."""
    for message in messages:
        level = 1
        with contextlib.suppress(ValueError):
            while sys._getframe(level).f_globals.get("__name__", "").startswith(_NOT_THE_CALLER):
                level += 1
        warnings.warn(message, category, stacklevel=level + 1)
