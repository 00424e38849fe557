# What _lapack.pyx needs of fastfs.h.
from libc.stdint cimport int32_t

cdef extern from "fastfs/fastfs.h" nogil:
    ctypedef enum fastfs_status:
        FASTFS_OK
        FASTFS_EINVAL
        FASTFS_ENOMEM
        FASTFS_ENUMERIC
        FASTFS_ECANCELED
        FASTFS_EINTERNAL

    const char *fastfs_last_error()

    ctypedef struct fastfs_blas:
        size_t struct_size
        int32_t integer_bits
        void (*set_num_threads)(int)
        int (*get_num_threads)()

    fastfs_status fastfs_register_blas(const fastfs_blas *table)
