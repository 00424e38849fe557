# cython: language_level=3
"""The bridge to BLAS and LAPACK: hands the routines that SciPy exports to the core, which links none of its own.

SciPy publishes them as capsules whose names are their C signatures. A signature that isn't the one known here is refused:
calling it with other integers would corrupt memory.
"""

import ctypes
import threading

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from fastfs.capi cimport FASTFS_EEXIST, FASTFS_OK, fastfs_blas, fastfs_last_error, fastfs_register_blas, fastfs_status

cdef extern from *:
    """
    #include <stddef.h>
    #include <string.h>
    #include "fastfs/fastfs.h"

    static const struct { const char *name; size_t offset; } fastfs_routines[] = {
        {"sgemm", offsetof(fastfs_blas, sgemm)},   {"dgemm", offsetof(fastfs_blas, dgemm)},
        {"dsyrk", offsetof(fastfs_blas, dsyrk)},   {"dsymv", offsetof(fastfs_blas, dsymv)},
        {"dtrmm", offsetof(fastfs_blas, dtrmm)},   {"dpotrf", offsetof(fastfs_blas, dpotrf)},
        {"dpocon", offsetof(fastfs_blas, dpocon)}, {"dsygst", offsetof(fastfs_blas, dsygst)},
        {"dtrsm", offsetof(fastfs_blas, dtrsm)},   {"dsytrd", offsetof(fastfs_blas, dsytrd)},
        {"dstedc", offsetof(fastfs_blas, dstedc)}, {"dsteqr", offsetof(fastfs_blas, dsteqr)}, {"dsyevr", offsetof(fastfs_blas, dsyevr)},
        {"dgesdd", offsetof(fastfs_blas, dgesdd)}};

    /* A function pointer is not an object pointer in C, so its bytes are copied. */
    static int fastfs_set_routine(fastfs_blas *table, const char *name, void *address) {
        for (size_t i = 0; i < sizeof fastfs_routines / sizeof *fastfs_routines; ++i) {
            if (strcmp(fastfs_routines[i].name, name) == 0) {
                memcpy((char *)table + fastfs_routines[i].offset, &address, sizeof address);
                return 1;
            }
        }
        return 0;
    }
    """
    bint fastfs_set_routine(fastfs_blas *table, const char *name, void *address)

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
    ("cython_lapack", "dgesdd", "ciididdididiii"),
)

# Setter and getter of the BLAS libraries that SciPy is built with, by the names that threadpoolctl knows.
_THREAD_CONTROLS = (
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
    ("bli_thread_set_num_threads", "bli_thread_get_num_threads"),
)

_lock = threading.Lock()
_controls = None  # what register() returns, once it has


def expected_signature(module, arguments):
    """The capsule name of a routine, as Cython writes it for SciPy's LP64 build."""
    prefix = f"__pyx_t_5scipy_6linalg_{len(module)}{module}_"
    types = {"c": "char *", "i": "int *", "s": f"{prefix}s *", "d": f"{prefix}d *"}
    return f"void ({', '.join(types[a] for a in arguments)})"


def check_signature(name, found, expected):
    if found != expected:
        raise ImportError(
            f"scipy.linalg exports {name} as '{found}', but fastfs knows only '{expected}': "
            "this SciPy is newer than this fastfs or built with 64-bit BLAS integers; install a SciPy that fastfs supports"
        )


def _thread_controls(module):
    """Addresses of the setter and getter in the BLAS that SciPy's own module is linked to, and the setter's name."""
    library = ctypes.CDLL(module.__file__)  # a lookup on it searches what it is linked to as well, and nothing else
    for setter, getter in _THREAD_CONTROLS:
        try:
            pair = getattr(library, setter), getattr(library, getter)
        except AttributeError:
            continue
        return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in pair) + (setter,)
    return 0, 0, None


def register():
    """Register SciPy's BLAS and LAPACK with the core, once.

    Returns whether they are what the core calls, or another library of this process had registered its own before,
    and the name of the thread setter found, or None.
    """
    global _controls
    if _controls is not None:
        return _controls
    with _lock:
        if _controls is None:
            _controls = _register()
    return _controls


cdef _register():
    from scipy.linalg import cython_blas, cython_lapack

    cdef fastfs_blas table
    memset(&table, 0, sizeof(table))
    table.struct_size = sizeof(table)
    table.integer_bits = 32
    modules = {"cython_blas": cython_blas, "cython_lapack": cython_lapack}
    for module, name, arguments in _ROUTINES:
        capsule = modules[module].__pyx_capi__[name]
        signature = PyCapsule_GetName(capsule)
        check_signature(name, signature.decode(), expected_signature(module, arguments))
        if not fastfs_set_routine(&table, name.encode(), PyCapsule_GetPointer(capsule, signature)):
            raise SystemError(f"fastfs_blas has no entry {name}")
    controls = _thread_controls(cython_blas)
    table.set_num_threads = <void (*)(int) noexcept nogil><uintptr_t>controls[0]
    table.get_num_threads = <int (*)() noexcept nogil><uintptr_t>controls[1]
    cdef fastfs_status status = fastfs_register_blas(&table)
    if status == FASTFS_EEXIST:
        return False, None
    if status != FASTFS_OK:
        raise ImportError(fastfs_last_error().decode())
    return True, controls[2]
