# cython: language_level=3, binding=False, auto_pickle=False
"""SciPy's BLAS and LAPACK, handed over to the core; `fastfs._machine.lapack` knows their names and signatures."""

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset

from fastfs.capi cimport FASTFS_EEXIST, FASTFS_OK, fastfs_blas, fastfs_last_error, fastfs_register_blas, fastfs_status


def signature(capsule):
    """Return the C signature of a routine, which is the name of its capsule."""
    return PyCapsule_GetName(capsule).decode()


cdef int enter(void *entry, dict capsules, str name) except -1:
    capsule = capsules[name]
    cdef void *address = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
    memcpy(entry, &address, sizeof(address))  # a function pointer is not an object pointer in C
    return 0


def register(dict capsules, uintptr_t set_num_threads, uintptr_t get_num_threads):
    """Register capsules by their routines' names, and the addresses of the thread setter and getter, or 0.

    Return False if another library of this process has registered another BLAS before; raise ImportError if the core
    refuses the table.
    """
    cdef fastfs_blas table
    memset(&table, 0, sizeof(table))
    table.struct_size = sizeof(table)
    table.integer_bits = 32
    table.set_num_threads = <void (*)(int) noexcept nogil><void *>set_num_threads
    table.get_num_threads = <int (*)() noexcept nogil><void *>get_num_threads
    enter(&table.sgemm, capsules, "sgemm")
    enter(&table.dgemm, capsules, "dgemm")
    enter(&table.dsyrk, capsules, "dsyrk")
    enter(&table.dsymv, capsules, "dsymv")
    enter(&table.dtrmm, capsules, "dtrmm")
    enter(&table.dpotrf, capsules, "dpotrf")
    enter(&table.dpocon, capsules, "dpocon")
    enter(&table.dsygst, capsules, "dsygst")
    enter(&table.dtrsm, capsules, "dtrsm")
    enter(&table.dsytrd, capsules, "dsytrd")
    enter(&table.dstedc, capsules, "dstedc")
    enter(&table.dsteqr, capsules, "dsteqr")
    enter(&table.dsyevr, capsules, "dsyevr")
    cdef fastfs_status status = fastfs_register_blas(&table)
    if status != FASTFS_OK and status != FASTFS_EEXIST:
        raise ImportError(fastfs_last_error().decode())
    return status == FASTFS_OK
