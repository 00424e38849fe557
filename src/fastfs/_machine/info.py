"""Facts about this machine and this build."""

import os
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

from fastfs._machine.run import Run, load_core


def info(*, ceilings: bool = False) -> dict[str, Any]:
    """Return facts about this machine and this build, and on request the machine's speed.

    Parameters
    ----------
    ceilings : bool
        Measure the machine for about a second: inner products and the vector exponential on one thread, memory writes.

    Returns
    -------
    dict
        ``version``, ``isa`` (instruction set of the kernels), ``n_threads`` (default of a call), ``max_memory``
        (default budget in bytes), ``blas`` (path of SciPy's BLAS bridge, or None where another library of this process
        had registered another BLAS before), ``blas_threads_held_by`` (the function that holds that BLAS at one thread
        while a call runs, or None if it has none that is known); with `ceilings` also
        ``gram_float64_gflops``, ``gram_float32_gflops``, ``exp_float64_gelems``, ``exp_float32_gelems``,
        ``write_gbytes``.

    Raises
    ------
    ValueError
        ``FASTFS_ISA``, ``FASTFS_NUM_THREADS`` or ``FASTFS_MAX_MEMORY`` holds something unusable.

    Examples
    --------
    >>> import fastfs
    >>> fastfs.info()["isa"] in ("base", "avx2", "avx512", "neon")
    True
    """
    from scipy.linalg import cython_blas

    from fastfs import _core
    from fastfs._machine import lapack as _lapack

    entries: dict[str, Any] = dict(_core.info())
    is_scipys, entries["blas_threads_held_by"] = _lapack.register()
    entries["blas"] = os.path.realpath(cython_blas.__file__) if is_scipys else None
    if ceilings:
        entries.update(_ceilings())
    return entries


def link_blas() -> bool:
    """Give SciPy's BLAS to the C library, for compiled code that calls it before any function of fastfs has.

    Extension modules that link ``libfastfs`` call this once, from Python or C, instead of linking a separate BLAS.
    All functions of fastfs do it by themselves.

    Returns
    -------
    bool
        False if another library of this process had registered another BLAS before: that one stays, and serves all.

    Raises
    ------
    ImportError
        This SciPy exports its BLAS otherwise than this fastfs knows.

    Examples
    --------
    >>> import fastfs
    >>> fastfs.link_blas()
    True
    """
    from fastfs._machine import lapack as _lapack

    return _lapack.register()[0]


def _least_time(task: Callable[[], object]) -> float:
    """Return the best of several measurements."""
    return min(timeit.repeat(task, number=1, repeat=3))


def _ceilings() -> dict[str, float]:
    """Return measured speeds of one thread: products and exponentials per second, and bytes written."""
    import numpy as np

    core = load_core()
    ceilings: dict[str, float] = {}
    n, d = 2048, 1024
    for name in ("float64", "float32"):
        X = np.random.default_rng(0).standard_normal((n, d)).astype(name)
        gram = partial(core.affinity, X, "linear", 1.0, np.empty((d, d), name), Run(1))
        ceilings[f"gram_{name}_gflops"] = n * d * (d + 1) / _least_time(gram) / 1e9
    size, repeats = 1 << 14, 200
    for name in ("float64", "float32"):
        seconds = min(core.exp_seconds(name, size, repeats) for _ in range(3))
        ceilings[f"exp_{name}_gelems"] = size * repeats / seconds / 1e9
    ceilings["write_gbytes"] = 8 * (1 << 24) / _least_time(lambda: np.empty(1 << 24).fill(1.0)) / 1e9
    return ceilings
