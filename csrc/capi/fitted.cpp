// The C interface: what fits have made.
#include "capi/fitted.hpp"

using namespace fastfs::core;

extern "C" {

void fastfs_fitted_free(fastfs_fitted* fitted) { free_handle(fitted, "fitted"); }

}  // extern "C"
