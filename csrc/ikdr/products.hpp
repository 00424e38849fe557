// The products of all kernels with one A, on which the weights of the kernels depend.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ikdr/objective.hpp"
#include "ikdr/sample_kernels.hpp"
#include "ikdr/sorted_samples.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns the nonzero rows of A and the factors that the products of all kernels with A take from them; P = H A.
Support support_of(const SortedSamples& samples, const Terms& terms, const Numbers& A, const Numbers& P,
                   std::int64_t k);

// phi and v of all kernels at one A. They are stored if there is room, and otherwise computed anew in each pass over
// the kernels.
template <class T>
class Products {
  public:
    Products(const SampleKernels<T>& kernels, const Support& support, bool with_c, bool store, Run& run);

    std::int64_t size() const { return n_c_ + n_totals_; }

    // Returns prices[m] = phi_m . g + v_m, infinite for constant kernels.
    Numbers prices(const Numbers& g) const;

    // Appends phi and v of the listed kernels, in double, in the order of `which`, to phi and v.
    void gather_products(const std::vector<std::int64_t>& which, Numbers& phi, Numbers& v) const;

  private:
    template <class To>
    void write_products(std::int64_t b, const T* c, const T* totals, To* to) const {
        if (n_c_ > 0) to = std::copy_n(c + b * n_c_, n_c_, to);
        std::copy_n(totals + b * n_totals_, n_totals_, to);
    }

    const SampleKernels<T>& kernels_;
    const Support& support_;
    Run& run_;
    const std::int64_t n_c_, n_totals_;
    Buffer<T> phi_;
    Numbers v_;
};

}  // namespace fastfs::core
