// The C interface: what streams of all methods have in common.
#include "capi/stream.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "capi/abi.hpp"
#include "capi/checks.hpp"

namespace fastfs::core {
namespace {

struct MethodNames {
    fastfs_stream_method method;
    const char* name;
    const char* finish;
};

constexpr MethodNames kMethods[] = {
    {FASTFS_STREAM_RELIEF, "RELIEF", "fastfs_relief_stream_finish"},
    {FASTFS_STREAM_DISC, "DiSC", "fastfs_disc_stream_finish"},
    {FASTFS_STREAM_PROJSE, "ProjSe", "fastfs_projse_stream_finish"},
    {FASTFS_STREAM_MANIFEST, "ManiFeSt", "fastfs_manifest_stream_finish"},
    {FASTFS_STREAM_GRAM, "Gram matrices", "fastfs_gram_stream_finish"},
};

const MethodNames& names_of(fastfs_stream_method method) {
    return *std::find_if(std::begin(kMethods), std::end(kMethods), [&](const auto& m) { return m.method == method; });
}

[[noreturn]] void refuse_operation(const Stream& stream, const char* what) {
    refuse({"a stream of ", name_of(stream.method()), " can't ", what});
}

// The start of saved bytes.
struct Header {
    static constexpr char kMagic[8] = {'f', 'a', 's', 't', 'f', 's', '.', 's'};
    static constexpr std::int32_t kVersion = 1;

    char magic[8];
    std::int32_t version;
    std::int32_t method;
    std::int64_t n_bytes;  // with the header
    std::uint64_t arguments;
    std::uint64_t passes;
    std::int64_t pass;
};

// Returns the bytes that fastfs_stream_save writes for this stream.
std::int64_t saved_size(const Stream& stream) {
    ByteWriter counted(nullptr);
    stream.save_state(counted);
    return std::int64_t{sizeof(Header)} + counted.n_bytes();
}

// Throws unless the header belongs to n_bytes saved bytes of a stream with the method, arguments, pass and earlier
// passes of this one.
void require_header(const Header& header, std::int64_t n_bytes, const Stream& stream) {
    require(std::equal(header.magic, header.magic + 8, Header::kMagic),
            "bytes must hold a stream that fastfs_stream_save wrote; got other bytes");
    require(header.version == Header::kVersion, "bytes must be in version ", Header::kVersion,
            " of the format of saved streams; got version ", header.version,
            ": load them with the version of fastfs that saved them, or read the rows of the pass again");
    const auto known = std::find_if(std::begin(kMethods), std::end(kMethods),
                                    [&](const auto& m) { return m.method == header.method; });
    require(known != std::end(kMethods) && header.pass >= 1,
            "bytes must be those that fastfs_stream_save wrote; got damaged ones: save the stream again");
    require(header.method == stream.method(), "bytes must hold a stream of ", name_of(stream.method()), "; got one of ",
            known->name);
    require(header.n_bytes == n_bytes, "n_bytes must be the saved ", header.n_bytes, "; got ", n_bytes);
    require(header.arguments == stream.fingerprint(),
            "bytes must hold a stream that was made with the arguments of this one; got one with other arguments: make "
            "this one "
            "with those of the saved stream");
    require(header.pass == stream.pass(), "bytes must hold a stream in pass ", stream.pass(),
            ", as this one; got one in pass ", header.pass, ": load the end of each pass, and call fastfs_stream_next");
    require(
        header.passes == stream.fingerprint_of_passes(),
        "bytes must hold a stream that follows the same rows in the passes before; got one after other rows: load the "
        "end of each pass");
}

void require_unfinished(const Stream& stream) {
    require(stream.pass() <= stream.n_passes(),
            "the stream must not have come to its end: make another one to read more rows");
}

}  // namespace

void Stream::next_pass(Run&) { refuse_operation(*this, "begin another pass"); }
void Stream::means(double*, double*) const { refuse_operation(*this, "tell the means of groups of rows"); }
std::unique_ptr<Stream> Stream::copy() const { refuse_operation(*this, "be copied"); }
void Stream::save_state(ByteWriter&) const { refuse_operation(*this, "be saved"); }
void Stream::load_state(ByteReader&) { refuse_operation(*this, "be loaded"); }

void Stream::require_only_X(const RowBlock& block) const {
    require(!block.Y && !block.labels, "block.Y and block.labels must be null for a stream of ", name_of(method()));
}

void Stream::require_rows(const RowBlock& block, std::int64_t n_rows) {
    require(block.first_row >= 0 && block.X.n_rows() <= n_rows - block.first_row, "X must have ", n_rows,
            " rows; got a block of ", block.X.n_rows(), " that begins with row ", block.first_row);
}

const char* name_of(fastfs_stream_method method) { return names_of(method).name; }

void require_last_pass(const Stream& stream) {
    require(stream.pass() >= stream.n_passes(), "the stream must be in its last pass; got pass ", stream.pass(), " of ",
            stream.n_passes(), ", which fastfs_stream_next ends");
}

}  // namespace fastfs::core

using namespace fastfs::core;

extern "C" {

fastfs_status fastfs_stream_copy(const fastfs_stream* stream, fastfs_stream** copy) {
    return guarded([&] {
        const Use use(stream, "stream");
        require_array(copy, "copy");
        *copy = new fastfs_stream((*use)->copy());
    });
}

// Adds the rows of a block to the current pass; throws unless it has the n_cols columns of the stream.
fastfs_status fastfs_stream_update(fastfs_stream* stream, const fastfs_block* block, const fastfs_run* run_) {
    return guarded([&] {
        const Use use(stream, "stream");
        Stream& data = **use;
        Run run = read_run(run_);
        const auto given = read(block, FASTFS_BLOCK_INIT, "block");
        require_unfinished(data);
        RowBlock rows{read_matrix(given.X), {}, given.labels, given.first_row};
        require(rows.X.n_cols() == data.n_cols(), "a block of X must have ", data.n_cols(), " columns; got ",
                rows.X.n_cols());
        if (given.Y) rows.Y.emplace(read_matrix(given.Y, kY));
        data.update(rows, run);
    });
}

// Adds the rows of `other`, which doesn't change, to `stream`; refuses another method, other arguments, or another
// pass.
fastfs_status fastfs_stream_merge(fastfs_stream* stream, const fastfs_stream* other) {
    return guarded([&] {
        use_both(stream, other, "stream", [](const auto& mine, const auto& others) {
            require(mine->method() == others->method(), "other must be a stream of ", name_of(mine->method()),
                    " to be merged; got one of ", name_of(others->method()));
            require(mine->n_cols() == others->n_cols(),
                    "stream and other must have the same number of columns to be merged; got ", mine->n_cols(), " and ",
                    others->n_cols());
            require(mine->fingerprint() == others->fingerprint(),
                    "other must be made with the arguments of stream to be merged; got others");
            require_unfinished(*mine);
            require(mine->pass() == others->pass(), "other must be in pass ", mine->pass(),
                    ", as stream, to be merged; got pass ", others->pass());
            require(mine->fingerprint_of_passes() == others->fingerprint_of_passes(),
                    "stream and other must have read the same rows in the passes before to be merged; got others: save "
                    "the stream at the start of the pass, and load it for each part");
            mine->merge(*others);
        });
    });
}

// Ends a pass that isn't the last one.
fastfs_status fastfs_stream_next(fastfs_stream* stream, const fastfs_run* run_) {
    return guarded([&] {
        const Use use(stream, "stream");
        Stream& data = **use;
        Run run = read_run(run_);
        require_unfinished(data);
        require(data.pass() < data.n_passes(), "the stream must have passes to come; got one in its last pass, which ",
                names_of(data.method()).finish, " ends");
        data.next_pass(run);
    });
}

fastfs_status fastfs_stream_get(const fastfs_stream* stream, fastfs_stream_state* state) {
    return guarded([&] {
        const Use use(stream, "stream");
        const Stream& data = **use;
        require(state != nullptr, "state must not be null");
        fill(state, FASTFS_STREAM_STATE_INIT, "state", [&](fastfs_stream_state& s) {
            s = {.struct_size = sizeof(fastfs_stream_state),
                 .method = data.method(),
                 .pass_number = data.pass(),
                 .n_passes = data.n_passes(),
                 .reserved = 0,
                 .n_rows = data.n_rows(),
                 .n_cols = data.n_cols(),
                 .n_groups = data.n_groups(),
                 .n_y = data.n_y()};
        });
    });
}

fastfs_status fastfs_stream_means(const fastfs_stream* stream, double* counts, double* means) {
    return guarded([&] {
        const Use use(stream, "stream");
        require_array_or_null(counts, "counts");
        require_array_or_null(means, "means");
        (*use)->means(counts, means);
    });
}

int64_t fastfs_stream_size(const fastfs_stream* stream) {
    return number_or_error([&] {
        const Use use(stream, "stream");
        require_unfinished(**use);
        return saved_size(**use);
    });
}

// Writes a header and the state of this pass to `bytes`; n_bytes must be the number that fastfs_stream_size returns.
fastfs_status fastfs_stream_save(const fastfs_stream* stream, void* bytes, int64_t n_bytes) {
    return guarded([&] {
        const Use use(stream, "stream");
        const Stream& data = **use;
        require(bytes != nullptr, "bytes must not be null");
        require_unfinished(data);
        const std::int64_t size = saved_size(data);
        require(n_bytes == size, "n_bytes must be ", size, ", the size of this stream now; got ", n_bytes,
                ": ask fastfs_stream_size again");
        Header header{
            {}, Header::kVersion, data.method(), size, data.fingerprint(), data.fingerprint_of_passes(), data.pass()};
        std::copy(Header::kMagic, Header::kMagic + 8, header.magic);
        ByteWriter to(static_cast<char*>(bytes));
        to.put(&header, 1);
        data.save_state(to);
    });
}

// Replaces the state of a stream that has read no rows in this pass by a saved one of equal arguments and pass.
fastfs_status fastfs_stream_load(fastfs_stream* stream, const void* bytes, int64_t n_bytes) {
    return guarded([&] {
        const Use use(stream, "stream");
        Stream& data = **use;
        require(bytes != nullptr, "bytes must not be null");
        require_unfinished(data);
        require(n_bytes >= std::int64_t{sizeof(Header)}, "n_bytes must be that of a saved stream, ", sizeof(Header),
                " or more; got ", n_bytes);
        ByteReader from(static_cast<const char*>(bytes), n_bytes);
        Header header;
        from.get(&header, 1);
        require_header(header, n_bytes, data);
        require(data.n_rows() == 0, "the stream must have read no rows in this pass; got ", data.n_rows(),
                " rows: load into a new stream, or a copy from the start of the pass, and merge that");
        data.load_state(from);
    });
}

void fastfs_stream_free(fastfs_stream* stream) { free_handle(stream, "stream"); }

}  // extern "C"
