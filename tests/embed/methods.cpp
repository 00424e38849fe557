// Scores by each method through fastfs.hpp with its default options, for Python to compare with its own.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "fastfs/fastfs.hpp"

namespace {

using std::int64_t;

std::vector<double> list(const double* values, int64_t n) { return {values, values + n}; }

std::vector<double> score_disc(const fastfs::matrix& first, const fastfs::matrix& second, const fastfs::run& how) {
    const std::vector<fastfs::disc_set> sets{fastfs::disc_samples(first, 5), fastfs::disc_samples(second, 5)};
    const auto fitted = fastfs::disc(sets, fastfs::default_disc_options(), how);
    return list(fitted->scores, fitted->n_features);
}

// The first half of the samples is class 0, the other class 1.
std::vector<double> score(const std::string& method, const double* values, int64_t n, int64_t d, const int64_t* labels,
                          const fastfs::run& how) {
    const fastfs::matrix X(values, n, d);
    if (method == "affinity") {
        std::vector<double> K(static_cast<std::size_t>(d * d));
        fastfs::affinity(X, fastfs::rbf(3), K.data(), how);
        return {K.begin(), K.begin() + d};
    }
    if (method == "manifest") {
        const auto options = fastfs::default_manifest_options();
        const auto fitted = fastfs::manifest(X, false, how).fit(labels, 2, {fastfs::median_scale(0.5)}, options, how);
        return list(fitted->scores, d);
    }
    if (method == "projse") {
        const auto fitted = fastfs::projse(X, labels, 2, fastfs::default_projse_options(), how);
        return list(fitted->scores, d);
    }
    if (method == "disc") {
        const fastfs::matrix first(values, n / 2, d), second(values + n / 2 * d, n - n / 2, d);
        return score_disc(first, second, how);
    }
    if (method == "ikdr") {
        const auto fitted = fastfs::ikdr(fastfs::ikdr_features(X), labels, 2, fastfs::default_ikdr_options(), how);
        return list(fitted->weights, d);
    }
    const fastfs::margin margin(X, fastfs::default_margin_options(), how);
    if (method == "im4e") {
        const auto fitted = margin.im4e(labels, 2, fastfs::default_im4e_options(), how);
        return list(fitted->weights, d);
    }
    if (method == "immigrate") {
        const auto fitted = margin.immigrate(labels, 2, fastfs::default_immigrate_options(), how);
        return list(fitted->scores, d);
    }
    if (method == "immigrate filtered") {
        auto options = fastfs::default_immigrate_options();
        options.prefilter = FASTFS_PREFILTER_IM4E;
        options.smallest = FASTFS_SMALLEST_AUTO;
        const auto fitted = margin.immigrate(labels, 2, options, how);
        return list(fitted->scores, d);
    }
    auto options = fastfs::default_relief_options();
    if (method == "relief") options.method = FASTFS_RELIEF;
    if (method == "multisurf") options.method = FASTFS_MULTISURF;
    const auto fitted = margin.relief(labels, 2, options, how);
    return list(fitted->scores, d);
}

}  // namespace

extern "C" const char* score(const char* method, const double* values, int64_t n, int64_t d, const int64_t* labels,
                             std::int32_t n_threads, double* out) try {
    auto how = fastfs::default_run();
    how.n_threads = n_threads;
    const auto scores = score(std::string(method), values, n, d, labels, how);
    std::copy(scores.begin(), scores.end(), out);
    return nullptr;
} catch (const std::exception& error) {
    static thread_local std::string message;
    message = error.what();
    return message.c_str();
}
