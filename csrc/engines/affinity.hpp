// Engine: all pairs of features. Computes the Gram by tiles, and the kernel while a tile is in L2; values are stored,
// streamed, or summed over chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "engines/columns.hpp"

namespace fastfs::core {

struct Kernel {
    enum class Kind { kRbf, kSquaredDistance, kLinear, kCustom } kind;
    double sigma = 1;                       // kRbf and kCustom
    fastfs_tile_kernel function = nullptr;  // function and user: kCustom only
    void* user = nullptr;
    Shift shift() const { return kind == Kind::kLinear ? Shift::kNone : Shift::kRow; }
};

// Tests if tiles in single precision keep all digits that the caller can see. They lose digits in sums over many
// samples and in a large RBF exponent: its error grows with |z|^2 / sigma^2. A custom kernel takes tiles in double.
template <class T>
bool float_tiles_serve(const Features<T>& features, const Kernel& kernel);

// Checks that a custom kernel is symmetric: calls refuse(a, b, value, exchanged value) for the first value in `tile` (n
// x m, ld) that differs from the value with both features exchanged, in `exchanged` (m x n). `tile` and `exchanged` can
// be one symmetric tile.
using RefuseAsymmetry = std::function<void(std::int64_t a, std::int64_t b, double value, double exchanged)>;
void require_symmetric_values(std::int64_t n, std::int64_t m, const double* tile, std::int64_t ld,
                              const double* exchanged, std::int64_t exchanged_ld, const RefuseAsymmetry& refuse);

class CustomKernel;

// Kernel values between two sets of features: all with all, or all with selected ones (Features' second constructor).
template <class T>
class KernelTiles {
  public:
    // Refers to `left` and `right`, which must outlive the object. largest: the largest value that a custom kernel is
    // allowed to return. For a custom kernel, throws InvalidArgument if a norm of a feature overflows.
    KernelTiles(const Features<T>& left, const Features<T>& right, const Kernel& kernel, Run& run,
                double largest = std::numeric_limits<double>::max());

    // Sets tile[a * kTile + b] to the kernel of left feature i0 + a and right feature j0 + b, on the terms of
    // Features::gram_tile. Products and squared distances are in units of unit()^2, values of a custom kernel on the
    // scale of the data. Throws InvalidArgument if a custom kernel isn't finite or isn't symmetric.
    void operator()(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* tile, Run& run) const;

  private:
    void make_values(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* tile, Run& run) const;
    void make_custom_values(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* tile) const;
    T value_by_differences(std::int64_t i, std::int64_t j) const;

    const Features<T>&left_, &right_;
    const Kernel kernel_;
    const T scale_;
    std::shared_ptr<const CustomKernel> custom_;
};

// Returns the kernel of each feature with itself, on the scale of the data.
template <class T>
std::vector<double> kernel_diagonal(const Features<T>& features, const Kernel& kernel, Run& run);

// Sets out (d x d, row-major) to the kernel of all pairs of features, on the scale of the data. Throws InvalidArgument
// if a value can overflow Out.
template <class T, class Out>
void affinity(const Features<T>& features, const Kernel& kernel, Run& run, Out* out);

// Writes squared distances in units of features.unit() squared to the upper triangle of out (d x d, row-major), or adds
// them to it (add); leaves the entries below the diagonal alone. Column-major LAPACK sees a lower triangle.
template <class T>
void squared_distances_upper(const Features<T>& features, bool add, Run& run, T* out);

// Writes the squared distances between the columns of X over the listed rows, in units of unit^2, to the upper triangle
// of out, summed block by block of rows; returns the columns' squared norms in units of unit^2.
std::vector<double> squared_distances_upper(const Samples& X, const std::vector<std::int64_t>& rows, double unit,
                                            Run& run, double* out);
std::int64_t squared_distances_memory(const Samples& X, std::int64_t n_rows, int n_threads);  // besides out

// Copies the upper triangle of A (d x d, row-major) to the lower one.
void mirror_upper(std::int64_t d, Run& run, double* A);

// Replaces the squared distances in the upper triangle of K (d x d, row-major) by values of a custom kernel. The kernel
// receives distances and norms |x_i|^2 on the scale of the data; K and `norms` have them in units of unit^2. The
// entries below the diagonal are left alone. Throws InvalidArgument if a norm overflows, or a value isn't finite or
// isn't symmetric.
void custom_kernel_upper(const Kernel& kernel, const std::vector<double>& norms, double unit, Run& run, double* K);

// Sets out (d x p, row-major) to K V without storing K, on the scale of the data. Throws InvalidArgument if V (d x p,
// row-major) isn't finite or the product overflows Out.
template <class T, class Out>
void affinity_product(const Features<T>& features, const Kernel& kernel, const Out* V, std::int64_t p, Run& run,
                      Out* out);

// Returns the bytes of scratch that a loop over tiles takes.
std::int64_t tile_memory(int n_threads, std::int64_t p = 0);

// The Gram matrix of all features as a sum over row chunks, in double.
class Gram {
  public:
    // Starts with sums of no rows; throws if they exceed the memory budget of `run`.
    Gram(std::int64_t n_features, Run& run);
    static std::int64_t memory(std::int64_t n_features) { return 8 * n_features * (n_features + 2); }

    // Adds the products of a chunk's rows; an error or a cancel leaves the sums unchanged.
    void update(const Samples& chunk, Run& run);
    // Adds the sums of `other`, which must have an equal number of features.
    void merge(const Gram& other);
    // Writes the kernel of all pairs of features to out (d x d, row-major), from the sums; throws if no row was added.
    void affinity(const Kernel& kernel, Run& run, double* out) const;
    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_features() const { return d_; }

  private:
    std::int64_t d_;
    std::int64_t n_rows_ = 0;
    Buffer<double> sums_;             // upper triangle of sum_n z_ni z_nj, z the rows less their shifts m_n
    std::vector<double> shift_sums_;  // sum_n m_n z_ni, to undo the shift for the linear kernel
    double squared_shifts_ = 0;       // sum_n m_n^2
    std::vector<double> norms_;       // |x_i|^2
};

}  // namespace fastfs::core
