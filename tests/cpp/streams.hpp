// Short forms of calls that tests make on streams.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"

inline fastfs_status update_stream(fastfs_stream* stream, const fastfs_matrix* X, const fastfs_run* run = nullptr,
                                   const std::int64_t* labels = nullptr, const fastfs_matrix* Y = nullptr) {
    fastfs_block block = FASTFS_BLOCK_INIT;
    block.X = X;
    block.Y = Y;
    block.labels = labels;
    return fastfs_stream_update(stream, &block, run);
}

// Returns the rows read in this pass, or -1.
inline std::int64_t rows_of(const fastfs_stream* stream) {
    fastfs_stream_state state = FASTFS_STREAM_STATE_INIT;
    return fastfs_stream_get(stream, &state) == FASTFS_OK ? state.n_rows : -1;
}

// Returns the saved bytes of a stream; none if saving fails.
inline std::vector<char> bytes_of(const fastfs_stream* stream) {
    const std::int64_t n = fastfs_stream_size(stream);
    std::vector<char> bytes(static_cast<std::size_t>(n < 0 ? 0 : n));
    if (fastfs_stream_save(stream, bytes.data(), n) != FASTFS_OK) bytes.clear();
    return bytes;
}

inline fastfs_status load_stream(fastfs_stream* stream, const std::vector<char>& bytes) {
    return fastfs_stream_load(stream, bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

// The position of the state in saved bytes.
inline constexpr std::size_t kHeaderBytes = 48;
