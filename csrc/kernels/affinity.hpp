// Engine: all pairs of features. Gram by tiles, kernel while the tile is in L2; stored, streamed, or summed over
// chunks.
#pragma once

#include <cstdint>

#include "kernels/features.hpp"

namespace fastfs::core {

struct Kernel {
    enum class Kind { kRbf, kSquaredDistance, kLinear } kind;
    double sigma = 1;  // kRbf only
    Shift shift() const { return kind == Kind::kLinear ? Shift::kNone : Shift::kRow; }
};

// Single tiles serve unless they'd lose what the caller can see: sums over many samples, or an RBF exponent, whose
// error grows with |z|^2 / sigma^2.
template <class T>
bool float_tiles_serve(const Features<T>& features, const Kernel& kernel);

// out (d x d, row-major) = kernel of all pairs.
template <class T, class Out>
void affinity(const Features<T>& features, const Kernel& kernel, Run& run, Out* out);

// Upper triangle of out (d x d, row-major) = squared distances in units of features.unit() squared, or += them (add);
// what lies below the diagonal is left alone. Column-major LAPACK sees a lower triangle.
template <class T>
void squared_distances_upper(const Features<T>& features, bool add, Run& run, T* out);

// out (d x p, row-major) = K V, K never stored.
template <class T, class Out>
void affinity_product(const Features<T>& features, const Kernel& kernel, const Out* V, std::int64_t p, Run& run,
                      Out* out);

// Bytes of scratch that a tile loop takes.
std::int64_t tile_memory(int n_threads, std::int64_t p = 0);

// Gram of all features as a sum over row chunks, in double.
class Gram {
  public:
    Gram(std::int64_t n_features, Run& run);
    static std::int64_t memory(std::int64_t n_features) { return 8 * n_features * (n_features + 1); }

    void update(const Samples& chunk, Run& run);
    void merge(const Gram& other);
    void affinity(const Kernel& kernel, Run& run, double* out) const;
    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_features() const { return d_; }

  private:
    std::int64_t d_;
    std::int64_t n_rows_ = 0;
    Buffer<double> sums_;             // upper triangle of sum_n z_ni z_nj, z the rows less their shifts m_n
    std::vector<double> shift_sums_;  // sum_n m_n z_ni, to undo the shift for the linear kernel
    double squared_shifts_ = 0;       // sum_n m_n^2
};

}  // namespace fastfs::core
