// IM4E (Bei and Hong 2015), as described by Zhao, Hong, Liu (2020).
#pragma once

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"
#include "support/classes.hpp"
#include "support/owned.hpp"

namespace fastfs::core {

void im4e(const Margin& margin, const Classes& classes, const fastfs_im4e_options& options, Run& run,
          Owned<fastfs_im4e_result>& result);

}  // namespace fastfs::core
