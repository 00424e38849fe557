// The options of all methods, each described by one row, from which ranges are checked here, and values are read by
// the bindings and R (fastfs_fields).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "capi/abi.hpp"
#include "fastfs/fastfs.h"

namespace fastfs::core {

// The values that a number can have: `name` must `text`, such as "be a positive number".
// Without a text the message names the bound. Everything is allowed unless a row has a range.
struct Range {
    double low = 0, high = 0;
    const char* text = "";
    bool is_checked = true;
};
constexpr double kLeastPositive = std::numeric_limits<double>::denorm_min();
constexpr double kMostFinite = std::numeric_limits<double>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kAny{-kInfinity, kInfinity, "", false};
constexpr Range kCount{1, kInfinity};
constexpr Range kFlag{0, 1, "be 0 or 1"};
constexpr Range kPositive{kLeastPositive, kMostFinite, "be a positive number"};
constexpr Range kNotNegative{0, kMostFinite, "be a number of at least 0"};

// The words for the values of an enumeration, or for values of a number outside its range.
using Words = std::vector<std::pair<const char*, std::int32_t>>;
// The sizes of an array, by their names in the header.
using Sizes = std::vector<const char*>;

// A field of a struct of options.
class Field {
  public:
    template <class Options, class Value>
    Field(const char* name, Value Options::* member, Range range = kAny, const Words& words = {})
        : Field(name, type_of(static_cast<Value*>(nullptr)), offset_of(member), range, words, {}) {}
    // An enumeration: its value must be one of the words.
    template <class Options>
    Field(const char* name, std::int32_t Options::* member, const Words& words, const char* text)
        : Field(name, FASTFS_INT32, offset_of(member), {1, 0, text}, words, {}) {}
    template <class Options, class Value>
    Field(const char* name, const Value* Options::* member, const Sizes& sizes)
        : Field(name, type_of(static_cast<const Value**>(nullptr)), offset_of(member), kAny, {}, sizes) {}

    // Throws InvalidArgument if this field of the struct at `options` has a value outside its range that no word
    // allows; arrays are always allowed.
    void require_allowed(const void* options) const;
    // Returns the field for callers; `initial` is the struct of its _INIT macro. The vectors must stay where they are.
    fastfs_field described(const void* initial) const;

  private:
    Field(const char* name, fastfs_type type, std::int64_t offset, Range range, const Words& words, const Sizes& sizes);

    static constexpr fastfs_type type_of(const std::int32_t*) { return FASTFS_INT32; }
    static constexpr fastfs_type type_of(const std::int64_t*) { return FASTFS_INT64; }
    static constexpr fastfs_type type_of(const std::uint64_t*) { return FASTFS_UINT64; }
    static constexpr fastfs_type type_of(const double*) { return FASTFS_DOUBLE; }
    static constexpr fastfs_type type_of(const fastfs_tile_kernel*) { return FASTFS_KERNEL; }
    static constexpr fastfs_type type_of(const std::int32_t**) { return FASTFS_INT32S; }
    static constexpr fastfs_type type_of(const std::int64_t**) { return FASTFS_INT64S; }
    static constexpr fastfs_type type_of(const double**) { return FASTFS_DOUBLES; }

    template <class Options, class Value>
    static std::int64_t offset_of(Value Options::* member) {
        static const Options probe{};
        return reinterpret_cast<const char*>(&(probe.*member)) - reinterpret_cast<const char*>(&probe);
    }

    const char* name_;
    fastfs_type type_;
    std::int64_t offset_;
    Range range_;
    std::vector<const char*> words_, sizes_;
    std::vector<std::int32_t> values_;
};

// Returns the fields of a struct of options, in the order of the struct; the pointer only chooses the struct.
const std::vector<Field>& fields_of(const fastfs_margin_options*);
const std::vector<Field>& fields_of(const fastfs_margin_metric*);
const std::vector<Field>& fields_of(const fastfs_relief_options*);
const std::vector<Field>& fields_of(const fastfs_im4e_options*);
const std::vector<Field>& fields_of(const fastfs_immigrate_options*);
const std::vector<Field>& fields_of(const fastfs_manifest_options*);
const std::vector<Field>& fields_of(const fastfs_manifest_scale*);
const std::vector<Field>& fields_of(const fastfs_projse_options*);
const std::vector<Field>& fields_of(const fastfs_disc_options*);
const std::vector<Field>& fields_of(const fastfs_ikdr_kernels*);
const std::vector<Field>& fields_of(const fastfs_ikdr_options*);
const std::vector<Field>& fields_of(const fastfs_differential_correlation_options*);
const std::vector<Field>& fields_of(const fastfs_interaction_options*);
const std::vector<Field>& fields_of(const fastfs_snp_pairs_options*);
const std::vector<Field>& fields_of(const fastfs_ld_clumps_options*);
const std::vector<Field>& fields_of(const fastfs_design_options*);
const std::vector<Field>& fields_of(const fastfs_null_options*);

// Returns options of the caller's header version, the defaults for null; throws if a field is outside its range. Fields
// that depend on each other or on the data aren't checked.
template <class Options>
Options read_options(const Options* given, const Options& defaults, const char* name = "options") {
    const Options options = read(given, defaults, name);
    for (const Field& field : fields_of(&options)) field.require_allowed(&options);
    return options;
}

}  // namespace fastfs::core
