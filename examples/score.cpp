// Orders the features of a matrix by ProjSe from a C++17 pipeline.
//
//     c++ -std=c++17 score.cpp -I INCLUDE -L LIB -lfastfs -lopenblas -o score
//     ./score matrix.bin labels.bin N_SAMPLES N_FEATURES
//
// `python -m fastfs --cflags --libs` prints these options for the installed package; with CMake, see cmake/.
// matrix.bin: doubles, row by row; labels.bin: int64, 0 or 1. One score a line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"

template <class T>
std::vector<T> read_all(const std::string& path, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::ifstream file(path, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(T));
    if (!file.read(reinterpret_cast<char*>(values.data()), bytes)) throw std::runtime_error("can't read " + path);
    return values;
}

int main(int argc, char** argv) try {
    if (argc != 5) throw std::invalid_argument("usage: score matrix.bin labels.bin N_SAMPLES N_FEATURES");
    const std::int64_t n = std::atoll(argv[3]), d = std::atoll(argv[4]);
    const auto values = read_all<double>(argv[1], n * d);
    const auto labels = read_all<std::int64_t>(argv[2], n);
    const fastfs::matrix X(values.data(), n, d);

    // In a process that has fastfs's BLAS already, that one serves us as well.
    const fastfs_status linked = fastfs_link_blas();
    if (linked != FASTFS_EEXIST) fastfs::check(linked);

    auto options = fastfs::default_projse_options();
    options.n_select = 1;  // two classes differ in one direction, which one feature explains
    const std::int64_t bytes =
        fastfs::bytes_needed([&](const fastfs::run& how) { fastfs::projse(X, labels.data(), 2, options, how); });
    std::fprintf(stderr, "ProjSe will take %.1f MB at most\n", static_cast<double>(bytes) / 1e6);

    const auto fitted = fastfs::projse(X, labels.data(), 2, options);
    for (std::int64_t k = 0; k < fitted->n_selected; ++k) {
        std::fprintf(stderr, "selected %lld\n", static_cast<long long>(fitted->selected[k]));
    }
    for (std::int64_t j = 0; j < X.n_cols(); ++j) std::printf("%.17g\n", fitted->scores[j]);
    return 0;
} catch (const std::exception& error) {  // what fastfs throws says what was expected, what came, and what to do
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
