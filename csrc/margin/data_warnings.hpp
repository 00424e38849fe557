// Warnings about the data that the methods on pairs of samples share.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/index.hpp"

namespace fastfs::core {

// Warns of classes with one sample, which the method skips as a target or compares with misses only, and of features
// on very different scales.
void warn_of_data(const std::vector<std::int64_t>& class_sizes, bool is_uneven, bool skips_targets);

// Warns that some samples have fewer neighbors than asked for. class_sizes: with sample weights; empty if the target
// isn't classes.
void warn_of_few_neighbors(const fastfs_relief_options& options, const Numbers& class_sizes);

void warn_of_no_neighbors();

// Warns that IM4E or IMMIGRATE stops because nothing is left to weigh.
void warn_of_no_weight();

}  // namespace fastfs::core
