// Step 1 of ProjSe: sums over the rows, from which all kernels between variables follow.
#pragma once

#include <cstdint>
#include <vector>

#include "projse/columns.hpp"
#include "support/buffer.hpp"
#include "support/bytes.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The rows of one update, with targets Y, labels, or neither (null).
struct ProjseRows {
    const Matrix& X;
    const Matrix* Y;
    const std::int64_t* labels;
};

// The parts of all columns that the last `n` columns of Y span: their coordinates in an orthonormal basis (rank x
// columns, column-major). Without `center`, parts of columns about zero.
struct Given {
    std::int64_t n = 0, rank = 0;
    bool center = true;
    Buffer<double> of_y, of_x;
    Buffer<double> basis{};                  // the basis as combinations of the given columns (n x rank, column-major)
    bool is_nearly_dependent = false;        // by the sums
    Numbers outside{};                       // a combination of columns that the rank doesn't count, by their values
    double least_kept = 0.0, largest = 0.0;  // eigenvalues

    // Returns the bytes of these parts and of the sums of the rests; n_y counts targets only.
    static std::int64_t memory(std::int64_t n_given, std::int64_t n_y, std::int64_t n_x, bool with_xx);
};

// Means and centred inner products of the columns. All kernels between variables, centred or not, follow from them, and
// the sums of row chunks add up without cancellation (Chan, Golub, LeVeque 1983).
class ProjseSums {
  public:
    ProjseSums() = default;
    ProjseSums(std::int64_t n_y, std::int64_t n_x, bool with_xx);
    static std::int64_t memory(std::int64_t n_y, std::int64_t n_x, bool with_xx);

    // Adds rows; an error or a cancel leaves the sums unchanged.
    void update(const ProjseRows& rows, Run& run);
    // Adds each row to the sums of its group, which have a single label. No sums change if it fails.
    static void update_groups(const std::vector<ProjseSums*>& sums, const Matrix& X, const std::int64_t* groups,
                              Run& run);
    // Adds the sums of other rows, and empties `other`; throws, and changes nothing, if sums overflow.
    void merge(ProjseSums&& other, Run& run);
    // Returns a copy, which later updates of these sums don't change.
    ProjseSums copy() const;
    // Returns these sums with the indicators of n_y classes as targets, where all rows are of class `label`; without
    // products of X with itself.
    ProjseSums as_class(std::int64_t n_y, std::int64_t label) const;

    // Returns the parts of X and of the other columns of Y that the last n_given columns of Y span.
    Given explained_by(std::int64_t n_given, bool center, Run& run) const;
    // Returns the sums of the parts of X and of the other columns of Y that `given` doesn't explain, with_xx: with the
    // products of X. Its columns have means of zero, which are taken out as `center` says. Throws if nothing is left of
    // all columns of a side.
    ProjseSums unexplained_sums(const Given& given, bool with_xx, Run& run) const;
    // Replaces `out`, the centred inner products of column k of X with all columns of X, by inner products of the parts
    // that `given` doesn't explain, uncentred unless it has `center`.
    void take_out(const Given& given, std::int64_t k, double* out) const;

    // Writes the sums, symmetric products as whole matrices.
    void save_state(ByteWriter& to) const;
    // Replaces the sums by saved sums of equal columns; throws if these are damaged.
    void load_state(ByteReader& from);

    std::int64_t n_rows() const { return n_rows_; }
    bool has_xx() const { return has_xx_; }
    // Tells if the targets of all rows were labels.
    bool of_labels() const { return n_labelled_ == n_rows_; }
    // Tells if some products were summed in single precision.
    bool in_single_precision() const { return in_single_; }

    enum { kY = 0, kX = 1 };
    const ProjseColumns& columns(int side) const { return side_[side]; }
    // Returns the centred inner products of targets and candidates, n_y x n_x, column-major.
    const double* yx() const { return yx_.data(); }
    // Returns the centred inner product of two columns of one side.
    double product_on_side(int side, std::int64_t i, std::int64_t j) const;

  private:
    struct Task;
    struct Scratch;
    struct SparseUpdate;
    struct GroupUpdate;
    // Returns the tasks of one dense update besides label_task: each forms the inner products of one tile of columns,
    // and the sums of columns that no other task forms.
    std::vector<Task> dense_tasks(bool has_labels) const;
    // Sets the sums of a task, over rows r0..r1 - 1. T = float: returns false, with sums that must be computed in
    // double, if numbers are out of its range; otherwise true.
    template <class T>
    bool dense_task(const Task& task, const ProjseRows& rows, std::int64_t r0, std::int64_t r1, Scratch& scratch);
    void label_task(std::int64_t x0, std::int64_t w, const ProjseRows& rows, std::int64_t r0, std::int64_t r1,
                    Scratch& scratch);
    void count_labels(const std::int64_t* labels, std::int64_t r0, std::int64_t r1);
    ProjseSums of_dense(const ProjseRows& rows, Run& run) const;
    ProjseSums of_sparse(const ProjseRows& rows, Run& run) const;
    // Returns the place of columns p0.. of side p by columns q0.. of side q in one of the three matrices.
    double* block(int p, std::int64_t p0, int q, std::int64_t q0, std::int64_t& ld);
    void require_finite(const ProjseRows& rows, std::int64_t r0, std::int64_t r1) const;

    bool has_xx_ = false, in_single_ = false;
    std::int64_t n_rows_ = 0, n_labelled_ = 0;
    ProjseColumns side_[2];
    Buffer<double> yy_, yx_, xx_;  // column-major; yy_ and xx_: lower triangles
};

}  // namespace fastfs::core
