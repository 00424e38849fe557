// The owner of a fit's results in the C interface.
#pragma once

#include <memory>
#include <utility>

#include "capi/handle.hpp"
#include "support/errors.hpp"

namespace fastfs::core {

// Results of any type, which arrays of the C interface point into.
class Fitted {
  public:
    template <class Results>
    explicit Fitted(Results results)
        : results_(std::make_shared<const Results>(std::move(results))), type_(&kind_of_handle<Results>) {}

    // Returns the results if they are of this type; throws InvalidArgument otherwise. fit: the function that makes
    // them.
    template <class Results>
    const Results& as(const char* fit) const {
        require(type_ == &kind_of_handle<Results>, "fitted must come from ", fit, "; got results of another method");
        return *static_cast<const Results*>(results_.get());
    }

  private:
    std::shared_ptr<const void> results_;
    const void* type_;
};

}  // namespace fastfs::core

struct fastfs_fitted : fastfs::core::Handle<fastfs::core::Fitted> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_fitted";
};
