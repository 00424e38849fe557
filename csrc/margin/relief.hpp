// The RELIEF family: RELIEF (Kira and Rendell 1992), ReliefF (Kononenko 1994), RReliefF (Robnik-Sikonja and Kononenko
// 2003), SURF (Greene et al. 2009), MultiSURF (Urbanowicz et al. 2018), the sigmoid-weighted SWRF (Stokes and
// Visweswaran 2012) and mu-Relief (Aggarwal et al.), as weights on pairs of samples.
#pragma once

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"
#include "margin/target.hpp"
#include "support/owned.hpp"

namespace fastfs::core {

void relief(const Margin& margin, const Target& target, const fastfs_relief_options& options, Run& run,
            Owned<fastfs_relief_result>& result);

// Replaces the n scores s, sums over misses minus sums over hits, by max(s, 0) / |max(s, 0)|; warns if none is
// positive.
void normalize_closed_form(std::int64_t n, fastfs_relief_result& result);

}  // namespace fastfs::core
