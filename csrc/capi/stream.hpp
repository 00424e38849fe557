// The streams of the C interface: tables that are read in blocks of rows, by any method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "capi/handle.hpp"
#include "fastfs/fastfs.h"
#include "support/bytes.hpp"
#include "support/errors.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A block of rows with matrices that have been checked.
struct RowBlock {
    Matrix X;
    std::optional<Matrix> Y;
    const std::int64_t* labels;
    std::int64_t first_row;
};

// The state of a method over the rows that have come. A method derives a class from it in the file of its C functions,
// with the checks that this method makes. The functions fastfs_stream_* make the common checks before they call a
// member: that streams are of one method and have the same arguments, that a pass can go on, that saved bytes fit.
class Stream {
  public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    virtual fastfs_stream_method method() const = 0;
    virtual std::int64_t n_cols() const = 0;
    // The rows read in this pass.
    virtual std::int64_t n_rows() const = 0;
    // The groups, or classes, of rows; 0 if the method has none.
    virtual std::int64_t n_groups() const { return 0; }
    // The columns of Y.
    virtual std::int64_t n_y() const { return 0; }
    virtual int n_passes() const { return 1; }
    // The pass, from 1; n_passes() + 1 after the end.
    virtual int pass() const { return 1; }
    // Hashes of the arguments that made the stream, and of what the passes before this one have found.
    virtual std::uint64_t fingerprint() const = 0;
    virtual std::uint64_t fingerprint_of_passes() const { return 0; }
    // Refuses every use after an update that stopped halfway.
    virtual void require_intact() const {}

    // Adds the rows of a block to this pass, after the checks that depend on the method.
    virtual void update(const RowBlock& block, Run& run) = 0;
    // Adds the rows of a stream with the same fingerprints.
    virtual void merge(const Stream& other) = 0;
    // Ends a pass that isn't the last one.
    virtual void next_pass(Run& run);
    // Writes the number of rows and the means of each group; counts and means may be null.
    virtual void means(double* counts, double* means) const;
    virtual std::unique_ptr<Stream> copy() const;
    virtual void save_state(ByteWriter& to) const;
    // Replaces the state of a stream without rows by the one that save_state wrote, which takes all bytes. If the bytes
    // are refused, the stream stays as it was.
    virtual void load_state(ByteReader& from);

  protected:
    // Refuses Y and labels with a block.
    void require_only_X(const RowBlock& block) const;
    // Refuses a block beyond the n_rows rows of the table.
    static void require_rows(const RowBlock& block, std::int64_t n_rows);
};

// Returns the name of a method in messages.
const char* name_of(fastfs_stream_method method);

}  // namespace fastfs::core

struct fastfs_stream : fastfs::core::Handle<std::unique_ptr<fastfs::core::Stream>> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_stream";
};

namespace fastfs::core {

// Returns the stream as that of one method, the type S. Throws InvalidArgument if it is one of another method.
template <class S>
S& require_stream_of(Stream& stream, const char* argument) {
    require(stream.method() == S::kMethod, argument, " must be a stream of ", name_of(S::kMethod), "; got one of ",
            name_of(stream.method()));
    return static_cast<S&>(stream);
}

// A call's exclusive use of the stream of one method.
template <class S>
class UseStream {
  public:
    UseStream(const fastfs_stream* handle, const char* argument)
        : use_(handle, argument), stream_(require_stream_of<S>(**use_, argument)) {}
    S& operator*() const { return stream_; }
    S* operator->() const { return &stream_; }

  private:
    Use<const fastfs_stream> use_;
    S& stream_;
};

// Refuses a stream that isn't in its last pass.
void require_last_pass(const Stream& stream);

}  // namespace fastfs::core
