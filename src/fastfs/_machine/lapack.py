"""Bridge to BLAS and LAPACK: passes the routines that SciPy exports to the core, which links no BLAS.

SciPy publishes them as capsules, named by their C signatures. A signature that isn't the one known here is
refused: calling it with other integers would corrupt memory.
"""

import ctypes
import threading

# (module, routine, arguments): c char *, i int *, s / d the module's float / double *.
_ROUTINES = (
    ("cython_blas", "sgemm", "cciiissisissi"),
    ("cython_blas", "dgemm", "cciiiddididdi"),
    ("cython_blas", "dsyrk", "cciiddiddi"),
    ("cython_blas", "dsymv", "ciddididdi"),
    ("cython_blas", "dtrmm", "cccciiddidi"),
    ("cython_lapack", "dpotrf", "cidii"),
    ("cython_lapack", "dpocon", "cididddii"),
    ("cython_lapack", "dsygst", "icididii"),
    ("cython_blas", "dtrsm", "cccciiddidi"),
    ("cython_lapack", "dsytrd", "cididdddii"),
    ("cython_lapack", "dstedc", "cidddidiiii"),
    ("cython_lapack", "dsteqr", "cidddidi"),
    ("cython_lapack", "dsyevr", "cccididdiididdiidiiii"),
)

# Names of the thread setter and getter in the BLAS libraries that SciPy is built with, as threadpoolctl has them.
_THREAD_CONTROLS = (
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
    ("bli_thread_set_num_threads", "bli_thread_get_num_threads"),
)

_lock = threading.Lock()
_registered: tuple[bool, str | None] | None = None  # what register() returns, once it has


def expected_signature(module: str, arguments: str) -> str:
    """Return the capsule name of a routine, as Cython writes it for SciPy's LP64 build."""
    prefix = f"__pyx_t_5scipy_6linalg_{len(module)}{module}_"
    types = {"c": "char *", "i": "int *", "s": f"{prefix}s *", "d": f"{prefix}d *"}
    return f"void ({', '.join(types[a] for a in arguments)})"


def check_signature(name: str, signature: str, expected: str) -> None:
    """Raise ImportError unless the signatures are equal."""
    if signature != expected:
        raise ImportError(
            f"scipy.linalg exports {name} as '{signature}', but fastfs knows only '{expected}': "
            "this SciPy is newer than this fastfs or built with 64-bit BLAS integers; "
            "install a SciPy that fastfs supports"
        )


def thread_controls() -> tuple[int, int, str | None]:
    """Return the addresses of the thread setter and getter in SciPy's BLAS, and the setter's name; 0, 0, None if
    unknown.
    """
    from scipy.linalg import cython_blas

    from fastfs import _core

    # A lookup searches this library and the libraries that it links, so it doesn't find NumPy's copy.
    library = ctypes.CDLL(_core.called_library(cython_blas.__file__, "dgemm") or None)
    for setter, getter in _THREAD_CONTROLS:
        try:
            pair = getattr(library, setter), getattr(library, getter)
        except AttributeError:
            continue
        addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in pair]
        return addresses[0], addresses[1], setter
    return 0, 0, None


def register() -> tuple[bool, str | None]:
    """Register SciPy's BLAS and LAPACK with the core, once; later calls return the first answer.

    Returns True if they are what the core calls, False if another library of this process had registered others before;
    and the name of the thread setter found, or None.
    """
    global _registered
    if _registered is not None:
        return _registered
    with _lock:
        if _registered is None:
            _registered = _register()
    return _registered


def _register() -> tuple[bool, str | None]:
    """Give SciPy's BLAS to the core; return whether the core uses it, and the name of its thread setter, if known.

    Raise ImportError if SciPy's signatures are others.
    """
    from scipy.linalg import cython_blas, cython_lapack

    from fastfs import _scipy_blas

    modules = {"cython_blas": cython_blas, "cython_lapack": cython_lapack}
    capsules = {}
    for module, name, arguments in _ROUTINES:
        capsules[name] = modules[module].__pyx_capi__[name]
        check_signature(name, _scipy_blas.signature(capsules[name]), expected_signature(module, arguments))
    setter, getter, owner = thread_controls()
    return (True, owner) if _scipy_blas.register(capsules, setter, getter) else (False, None)
