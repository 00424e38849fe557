// The owner of a fit's results in the C interface.
#pragma once

#include <memory>
#include <utility>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/handle.hpp"
#include "support/errors.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Results of any type, which arrays of the C interface point into.
class Fitted {
  public:
    template <class Results>
    explicit Fitted(Results results)
        : results_(std::make_shared<Results>(std::move(results))), type_(&kind_of_handle<Results>) {}

    // Returns the results if they are of this type; throws InvalidArgument otherwise. fit: the function that makes
    // them.
    template <class Results>
    Results& as(const char* fit) const {
        require(type_ == &kind_of_handle<Results>, "fitted must come from ", fit, "; got results of another method");
        return *static_cast<Results*>(results_.get());
    }

  private:
    std::shared_ptr<void> results_;
    const void* type_;
};

}  // namespace fastfs::core

struct fastfs_fitted : fastfs::core::Handle<fastfs::core::Fitted> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_fitted";
};

namespace fastfs::core {

// Lets fit(result) compute a result, which becomes the caller's together with the owner of its arrays.
template <class Result, class Fit>
void fill_fitted(const Run& run, Result* result, const Result& empty, fastfs_fitted** fitted, Fit&& fit) {
    require_output(run, result, "result");
    require_output(run, fitted, "fitted");
    fill(result, empty, "result", [&](Result& r) {
        Owned<Result> computed(empty);
        fit(computed);
        r = computed;
        *fitted = new fastfs_fitted(std::move(computed));
    });
}

}  // namespace fastfs::core
