// Distances of a feature from listed other features, by differences in double.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/columns.hpp"
#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Another feature, and its squared distance.
struct Other {
    double sum = 0;
    std::int64_t feature;
};

struct Query {
    std::int64_t feature;
    Other *begin, *end;
};

// Squared distances by differences of the values as they are in X, in units of unit()^2. A call reads X, unless the
// columns of the first call hold all samples.
class DenseDistances {
  public:
    DenseDistances(const Samples& X, const std::vector<std::int64_t>& rows, double unit)
        : X_(X), rows_(rows), unit_(X.is_float32() ? 1 : unit) {}

    static std::int64_t memory(std::int64_t n_samples, std::int64_t d);

    double unit() const { return unit_; }

    // Adds to the sum of each listed feature its squared distance from the feature of the query; sums start at 0.
    void operator()(const std::vector<Query>& queries, Run& run);

  private:
    template <class T>
    void add_distances(Buffer<T>& columns, const std::vector<Query>& queries, Run& run);
    // Sets columns[i * width + s] to the value of feature i in sample first + s divided by the unit, and to zero for s
    // >= n_now; allocates `columns` in the first call.
    template <class T>
    void pack_columns(Buffer<T>& columns, std::int64_t first, std::int64_t n_now, std::int64_t width, Run& run);

    const Samples& X_;
    const std::vector<std::int64_t>& rows_;
    const double unit_;
    Buffer<float> single_;
    Buffer<double> double_;
};

// Squared distances of sparse features.
class SparseDistances {
  public:
    explicit SparseDistances(const Features<double>& features) : features_(features) {}

    double unit() const { return features_.unit(); }
    // Sets the sum of each listed feature to its squared distance from the feature of the query, in units of unit()^2.
    void operator()(const std::vector<Query>& queries, Run& run);

  private:
    const Features<double>& features_;
};

}  // namespace fastfs::core
