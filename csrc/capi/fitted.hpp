// The owner of a fit's results in the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/handle.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
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

// Lets fit(result) compute a result, copies it to the caller's struct, and sets *fitted to a new owner of its arrays.
// Neither changes if fit throws, as it does to answer a question.
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

// Lets fit(results) compute n results together, copies them to the caller's structs, and sets *fitted to one new owner
// of all arrays. Nothing changes if fit throws; to answer a question, results can be null.
template <class Result, class Fit>
void fill_fitted(const Run& run, Result* results, std::int64_t n, const Result& empty, fastfs_fitted** fitted,
                 Fit&& fit) {
    require_output(run, results, "results");
    require_output(run, fitted, "fitted");
    std::vector<Owned<Result>> computed(at(n), Owned<Result>(empty));
    if (run.is_question()) {
        fit(computed);
        return;
    }
    std::vector<Result> views;
    std::unique_ptr<fastfs_fitted> made;
    fill_all(results, n, empty, "results", [&](Result& result, std::int64_t place) {
        if (!made) {
            fit(computed);
            views.assign(computed.begin(), computed.end());
            made = std::make_unique<fastfs_fitted>(std::move(computed));
        }
        result = views[at(place)];
    });
    *fitted = made.release();
}

}  // namespace fastfs::core
