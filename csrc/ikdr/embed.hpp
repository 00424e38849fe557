// The embedding of new samples.
#pragma once

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// out: rows of X x n_components.
void ikdr_embed(const fastfs_ikdr_model& model, const Matrix& X, Run& run, double* out);

}  // namespace fastfs::core
