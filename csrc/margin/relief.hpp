// RELIEF (Kira and Rendell 1992), ReliefF (Kononenko 1994) and MultiSURF (Urbanowicz et al. 2018).
#pragma once

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"
#include "support/classes.hpp"

namespace fastfs::core {

void relief(const Margin& margin, const Classes& classes, const fastfs_relief_options& options, Run& run,
            fastfs_relief_result& result);

}  // namespace fastfs::core
