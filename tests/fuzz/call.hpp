// How a call of the library is tried, which is another matter for the fuzzer and for the campaign of missing memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fastfs/fastfs.h"
#include "input.hpp"

namespace fuzz {

// Bytes of results, to be compared.
class Bytes {
  public:
    template <class T>
    void add(const T* values, std::int64_t n) {
        if (values && n > 0)
            bytes_.append(reinterpret_cast<const char*>(values), static_cast<std::size_t>(n) * sizeof(T));
    }
    template <class T>
    void add(const std::vector<T>& values) {
        add(values.data(), static_cast<std::int64_t>(values.size()));
    }
    template <class T>
    void add(const T& value) {
        add(&value, 1);
    }
    bool operator==(const Bytes& other) const { return bytes_ == other.bytes_; }
    bool operator!=(const Bytes& other) const { return bytes_ != other.bytes_; }

  private:
    std::string bytes_;
};

struct Call {
    const char* name;
    std::function<fastfs_status(const fastfs_run*)> call;
    // What it has written, or the state of the handle that it changes.
    std::function<Bytes()> result;
    // Before each repetition: frees a handle that the call has made, or brings one back to how it was.
    std::function<void()> again = [] {};
    // It changes a handle, which must stay as it was if it fails.
    bool changes_handle = false;
    // It takes a fastfs_run at all.
    bool takes_run = true;
};

// A result of fastfs.h with the owner of its arrays.
template <class Result>
struct Owned {
    explicit Owned(const Result& empty_) : empty(empty_), result(empty_) {}
    ~Owned() { clear(); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    void clear() {
        fastfs_fitted_free(fitted);
        fitted = nullptr;
        result = empty;
    }

    const Result empty;
    Result result;
    fastfs_fitted* fitted = nullptr;
};

// The status of the call by one thread and an ample budget; what it has written is there.
fastfs_status attempt(Input& in, const Call& call);

[[noreturn]] inline void stop(const char* name, const std::string& what) {
    std::fprintf(stderr, "FINDING in %s: %s\n", name, what.c_str());
    std::abort();
}

inline void expect(bool good, const char* name, const std::string& what) {
    if (!good) stop(name, what);
}

// A made value against that of a textbook.
inline void expect_near(double got, double wanted, double tolerance, const char* name, const std::string& what) {
    if (std::abs(got - wanted) <= tolerance) return;
    char text[160];
    std::snprintf(text, sizeof text, " is %.17g, not %.17g, which is more than %.3g apart", got, wanted, tolerance);
    stop(name, what + text);
}

// Of arrays that hold results.
template <class T>
void expect_finite(const T* values, std::int64_t n, const char* name, const char* what) {
    for (std::int64_t k = 0; k < n; ++k) {
        if (!std::isfinite(values[k])) stop(name, std::string(what) + " number " + std::to_string(k) + " isn't finite");
    }
}

// One function for each group of functions of fastfs.h.
void try_affinity(Input& in);
void try_gram(Input& in);
void try_spectral(Input& in);
void try_neighbors(Input& in);
void try_manifest(Input& in);
void try_manifest_stream(Input& in);
void try_projse(Input& in);
void try_projse_stream(Input& in);
void try_relief(Input& in);
void try_relief_stream(Input& in);
void try_im4e(Input& in);
void try_immigrate(Input& in);
void try_disc(Input& in);
void try_disc_stream(Input& in);
void try_ikdr(Input& in);
void try_correlation(Input& in);
void try_snps(Input& in);
void try_machine(Input& in);
void try_isa(Input& in);  // of no function, but of what they all call

struct Group {
    const char* name;
    void (*run)(Input&);
};
inline constexpr Group kGroups[] = {
    {"affinity", try_affinity}, {"gram", try_gram},
    {"spectral", try_spectral}, {"neighbors", try_neighbors},
    {"manifest", try_manifest}, {"manifest_stream", try_manifest_stream},
    {"projse", try_projse},     {"projse_stream", try_projse_stream},
    {"relief", try_relief},     {"relief_stream", try_relief_stream},
    {"im4e", try_im4e},         {"immigrate", try_immigrate},
    {"disc", try_disc},         {"disc_stream", try_disc_stream},
    {"ikdr", try_ikdr},         {"correlation", try_correlation},
    {"snps", try_snps},         {"machine", try_machine},
    {"isa", try_isa},
};

// BLAS is registered, and a call without a budget of its own may take half a gigabyte.
void begin();

// The Gaussian kernel of the core as one of the caller's.
inline void gaussian(double* tile, std::int64_t ld, std::int64_t n_rows, std::int64_t n_cols, const double*,
                     const double*, double sigma, void*) {
    for (std::int64_t a = 0; a < n_rows; ++a) {
        for (std::int64_t b = 0; b < n_cols; ++b) {
            double& value = tile[a * ld + b];
            value = std::exp(-value / (2 * sigma * sigma));
        }
    }
}

}  // namespace fuzz
