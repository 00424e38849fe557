/* testing.h: functions that only the tests and benchmarks of fastfs call. They are exported, but FASTFS_ABI_VERSION
 * promises nothing about them: a release may change or remove them.
 */
#ifndef FASTFS_TESTING_H
#define FASTFS_TESTING_H

#include "fastfs/fastfs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds of CPU that one thread takes for n values of the vector exponential, repeated. */
FASTFS_API fastfs_status fastfs_exp_seconds(int32_t dtype, int64_t n, int32_t repeats, double* seconds);

/* I-KDR's F of the reduced problem for a kernel (n x n, float32 or float64) at A (n x n_components), with
 * options.lambdas[0], and its gradient (n x n_components; may be NULL); evaluated `repeats` times. */
FASTFS_API fastfs_status fastfs_ikdr_evaluate(const fastfs_matrix* K, const int64_t* labels, int64_t n_classes,
                                              const fastfs_ikdr_options* options, const double* A, int32_t repeats,
                                              const fastfs_run* run, double* objective, double* gradient);

/* I-KDR's dF/dbeta_m of every kernel at A and weights (n_kernels). */
FASTFS_API fastfs_status fastfs_ikdr_prices(const fastfs_ikdr_kernels* kernels, const int64_t* labels,
                                            int64_t n_classes, const fastfs_ikdr_options* options, const double* A,
                                            const double* weights, const fastfs_run* run, double* prices);

#ifdef __cplusplus
}
#endif

#endif
