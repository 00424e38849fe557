// ManiFeSt (Cohen, Shnitzer, Kluger, Talmon 2022, arXiv 2207.08574); equation numbers are the paper's.
#pragma once

#include <cstdint>

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Bytes that manifest takes, its results included; throws OutOfMemory if the budget is smaller.
std::int64_t manifest_memory(const Matrix& X, std::int64_t n_components, const Run& run);

void manifest(const Matrix& X, const std::int64_t* labels, const fastfs_manifest_options& options, Run& run,
              fastfs_manifest_result& result);

}  // namespace fastfs::core
