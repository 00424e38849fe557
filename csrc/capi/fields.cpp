// The fields of all structs of options. A row of an array names its sizes; ranges that depend on other fields or on the
// data are checked by the files of the methods.
#include "capi/fields.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "capi/checks.hpp"
#include "support/errors.hpp"

namespace fastfs::core {

Field::Field(const char* name, fastfs_type type, std::int64_t offset, Range range, const Words& words,
             const Sizes& sizes)
    : name_(name), type_(type), offset_(offset), range_(range), sizes_(sizes) {
    for (const auto& [word, value] : words) {
        words_.push_back(word);
        values_.push_back(value);
    }
    sizes_.push_back(nullptr);
}

void Field::require_allowed(const void* options) const {
    if (!range_.is_checked) return;
    const char* at = static_cast<const char*>(options) + offset_;
    const auto check = [&](auto value) {
        const auto number = static_cast<double>(value);
        if (number >= range_.low && number <= range_.high) return;
        if (std::any_of(values_.begin(), values_.end(), [&](std::int32_t word) { return number == word; })) return;
        if (*range_.text) refuse({name_, " must ", range_.text, "; got ", value});
        const bool is_low = number < range_.low;
        refuse({name_, " must be ", is_low ? "at least " : "at most ",
                static_cast<std::int64_t>(is_low ? range_.low : range_.high), "; got ", value});
    };
    if (type_ == FASTFS_INT32) check(*reinterpret_cast<const std::int32_t*>(at));
    if (type_ == FASTFS_INT64) check(*reinterpret_cast<const std::int64_t*>(at));
    if (type_ == FASTFS_DOUBLE) check(*reinterpret_cast<const double*>(at));
}

// Returns the C struct that describes this field, with pointers to its words, sizes and initial value; infinite bounds
// for a field without a range.
fastfs_field Field::described(const void* initial) const {
    return {.struct_size = sizeof(fastfs_field),
            .name = name_,
            .type = type_,
            .n_words = static_cast<std::int32_t>(words_.size()),
            .offset = offset_,
            .initial = static_cast<const char*>(initial) + offset_,
            .low = range_.low <= range_.high ? range_.low : -kInfinity,
            .high = range_.low <= range_.high ? range_.high : kInfinity,
            .words = words_.data(),
            .values = values_.data(),
            .sizes = sizes_.data()};
}

namespace {

constexpr Range kNotNegativeBut{0, kMostFinite, "be a number of at least 0"};
constexpr Range kPairs{1, static_cast<double>(kMostValues), "be from 1 to 2^50"};
constexpr Range kIterations{1, kMostIterations};
constexpr Range kAboveZero{kLeastPositive, kInfinity, "be a number above 0, up to infinity"};

const Words kScalings{{"none", FASTFS_SCALE_NONE}, {"range", FASTFS_SCALE_RANGE}, {"standard", FASTFS_SCALE_STANDARD}};

// Returns the fields that IM4E and IMMIGRATE share, followed by `others`.
template <class Options>
std::vector<Field> iteration_fields(std::vector<Field> others) {
    std::vector<Field> fields{
        {"sigma", &Options::sigma, kPositive},
        {"sigma_rule",
         &Options::sigma_rule,
         {{"given", FASTFS_MARGIN_SIGMA_GIVEN}, {"auto", FASTFS_MARGIN_SIGMA_AUTO}},
         "be one of FASTFS_MARGIN_SIGMA_*"},
        {"max_iter", &Options::max_iter, Range{1, kMostIterations, "be from 1 to 1000000"}},
        {"tol", &Options::tol, kNotNegativeBut},
    };
    fields.insert(fields.end(), others.begin(), others.end());
    return fields;
}

}  // namespace

const std::vector<Field>& fields_of(const fastfs_margin_options*) {
    using O = fastfs_margin_options;
    static const std::vector<Field> fields{
        {"scaling", &O::scaling, kScalings, "be one of FASTFS_SCALE_*"},
        {"keep",
         &O::keep,
         {{"none", FASTFS_KEEP_NONE},
          {"manhattan", FASTFS_KEEP_MANHATTAN},
          {"sqeuclidean", FASTFS_KEEP_SQUARED_EUCLIDEAN}},
         "be one of FASTFS_KEEP_*"},
        {"missing",
         &O::missing,
         {{"error", FASTFS_MISSING_ERROR}, {"ignore", FASTFS_MISSING_IGNORE}, {"class", FASTFS_MISSING_CLASS}},
         "be one of FASTFS_MISSING_*"},
        {"ramp",
         &O::ramp,
         {{"none", FASTFS_RAMP_NONE}, {"given", FASTFS_RAMP_GIVEN}, {"sd", FASTFS_RAMP_DEVIATION}},
         "be one of FASTFS_RAMP_*"},
        {"ramp_low", &O::ramp_low},
        {"ramp_high", &O::ramp_high},
        {"levels", &O::levels, Sizes{"n_cols"}},
        {"distances", &O::distances, Sizes{"n_rows", "n_rows"}},
        {"sample_weights", &O::sample_weights, Sizes{"n_rows"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_margin_metric*) {
    using O = fastfs_margin_metric;
    static const std::vector<Field> fields{
        {"sigma", &O::sigma, kPositive},
        {"features", &O::features, Sizes{"n_features"}},
        {"n_features", &O::n_features},
        {"weights", &O::weights, Sizes{"n_features"}},
        {"rank", &O::rank},
        {"values", &O::values, Sizes{"rank"}},
        {"vectors", &O::vectors, Sizes{"rank", "n_features"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_relief_options*) {
    using O = fastfs_relief_options;
    static const std::vector<Field> fields{
        {"method",
         &O::method,
         {{"relief", FASTFS_RELIEF},
          {"relieff", FASTFS_RELIEFF},
          {"multisurf", FASTFS_MULTISURF},
          {"surf", FASTFS_SURF},
          {"swrf", FASTFS_SWRF},
          {"murelief", FASTFS_MU_RELIEF},
          {"rrelieff", FASTFS_RRELIEFF}},
         "be from FASTFS_RELIEF to FASTFS_RRELIEFF"},
        {"closed_form", &O::closed_form},
        {"n_neighbors", &O::n_neighbors, kCount},
        {"n_targets", &O::n_targets},
        {"seed", &O::seed},
        {"far", &O::far},
        {"radius",
         &O::radius,
         {{"all", FASTFS_RADIUS_ALL}, {"sample", FASTFS_RADIUS_SAMPLE}},
         "be FASTFS_RADIUS_ALL or FASTFS_RADIUS_SAMPLE"},
        {"dead_band", &O::dead_band, kNotNegative},
        {"sigma", &O::sigma, kPositive},
        {"target",
         &O::target,
         {{"class", FASTFS_TARGET_CLASS}, {"number", FASTFS_TARGET_NUMBER}, {"survival", FASTFS_TARGET_SURVIVAL}},
         "be one of FASTFS_TARGET_*"},
        {"y", &O::y, Sizes{"n_rows"}},
        {"events", &O::events, Sizes{"n_rows"}},
        {"priors", &O::priors, Sizes{"n_classes"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_im4e_options*) {
    using O = fastfs_im4e_options;
    static const std::vector<Field> fields = iteration_fields<O>({
        {"class_factors", &O::class_factors, Sizes{"n_classes"}},
        {"start", &O::start, Sizes{"n_cols"}},
        {"n_anchors", &O::n_anchors},
        {"seed", &O::seed},
    });
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_immigrate_options*) {
    using O = fastfs_immigrate_options;
    static const std::vector<Field> fields = iteration_fields<O>({
        {"clip", &O::clip, kFlag},
        {"prefilter",
         &O::prefilter,
         {{"none", FASTFS_PREFILTER_NONE}, {"im4e", FASTFS_PREFILTER_IM4E}, {"auto", FASTFS_PREFILTER_AUTO}},
         "be one of FASTFS_PREFILTER_*"},
        {"smallest",
         &O::smallest,
         {0, kMostFinite, "be a number of at least 0, or FASTFS_SMALLEST_AUTO"},
         {{"auto", FASTFS_SMALLEST_AUTO}}},
        {"negligible", &O::negligible, kNotNegative},
        {"features", &O::features, Sizes{"n_features"}},
        {"n_features", &O::n_features},
        {"start", &O::start, Sizes{"n_features"}},
        {"start_matrix", &O::start_matrix, Sizes{"n_features", "n_features"}},
        {"n_starts", &O::n_starts, kIterations},
        {"seed", &O::seed},
    });
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_manifest_options*) {
    using O = fastfs_manifest_options;
    static const std::vector<Field> fields{
        {"form",
         &O::form,
         {{"pencil", FASTFS_MANIFEST_PENCIL}, {"spd", FASTFS_MANIFEST_SPD}, {"spsd", FASTFS_MANIFEST_SPSD}},
         "be FASTFS_MANIFEST_PENCIL, FASTFS_MANIFEST_SPD or FASTFS_MANIFEST_SPSD"},
        {"accuracy",
         &O::accuracy,
         {{"auto", FASTFS_MANIFEST_AUTO},
          {"exact", FASTFS_MANIFEST_EXACT},
          {"low_rank", FASTFS_MANIFEST_LOW_RANK},
          {"low_rank_high", FASTFS_MANIFEST_LOW_RANK_HIGH},
          {"domains", FASTFS_MANIFEST_DOMAINS},
          {"small_domains", FASTFS_MANIFEST_SMALL_DOMAINS}},
         "be FASTFS_MANIFEST_AUTO, FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_DOMAINS, FASTFS_MANIFEST_SMALL_DOMAINS, "
         "FASTFS_MANIFEST_LOW_RANK or FASTFS_MANIFEST_LOW_RANK_HIGH"},
        {"rank", &O::rank, kCount},
        {"multiclass",
         &O::multiclass,
         {{"ovr", FASTFS_MANIFEST_OVR}, {"ovo", FASTFS_MANIFEST_OVO}},
         "be FASTFS_MANIFEST_OVR or FASTFS_MANIFEST_OVO"},
        {"seed", &O::seed},
        {"custom", &O::custom},
        {"first_problem", &O::first_problem},
        {"n_problems", &O::n_problems},
        {"agreement", &O::agreement, kFlag},
        {"n_components", &O::n_components},
        {"n_fits", &O::n_fits},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_manifest_scale*) {
    using O = fastfs_manifest_scale;
    static const std::vector<Field> fields{
        {"rule",
         &O::rule,
         kAny,
         {{"median", FASTFS_MANIFEST_SIGMA_MEDIAN},
          {"percentile", FASTFS_MANIFEST_SIGMA_PERCENTILE},
          {"given", FASTFS_MANIFEST_SIGMA_GIVEN}}},
        {"normalize", &O::normalize, Range{0, 1000, "lie between 0 and 1000"}},
        {"value", &O::value},
        {"sigma", &O::sigma, Sizes{"n_kernels"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_projse_options*) {
    using O = fastfs_projse_options;
    static const std::vector<Field> fields{
        {"kernel",
         &O::kernel,
         {{"linear", FASTFS_LINEAR}, {"poly", FASTFS_POLY}, {"rbf", FASTFS_RBF}},
         "be FASTFS_LINEAR, FASTFS_POLY or FASTFS_RBF"},
        {"degree", &O::degree, kCount},
        {"sigma_rule",
         &O::sigma_rule,
         {{"mean", FASTFS_PROJSE_SIGMA_MEAN},
          {"sqrt_m", FASTFS_PROJSE_SIGMA_SQRT_ROWS},
          {"given", FASTFS_PROJSE_SIGMA_GIVEN}},
         "be one of FASTFS_PROJSE_SIGMA_*"},
        {"sigma", &O::sigma},
        {"center",
         &O::center,
         {{"no", 0}, {"yes", 1}, {"auto", FASTFS_PROJSE_CENTER_AUTO}},
         "be 0, 1 or FASTFS_PROJSE_CENTER_AUTO"},
        {"normalize", &O::normalize, kFlag},
        {"from_y", &O::from_y, kFlag},
        {"beyond",
         &O::beyond,
         {{"none", FASTFS_PROJSE_STOP}, {"residual", FASTFS_PROJSE_RESIDUAL}},
         "be FASTFS_PROJSE_STOP or FASTFS_PROJSE_RESIDUAL"},
        {"eps", &O::eps, kNotNegativeBut},
        {"n_select", &O::n_select, kCount},
        {"custom", &O::custom},
        {"n_given", &O::n_given, kNotNegativeBut},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_disc_options*) {
    using O = fastfs_disc_options;
    static const std::vector<Field> fields{
        {"graph",
         &O::graph,
         {{"dense", FASTFS_GRAPH_DENSE}, {"knn", FASTFS_GRAPH_KNN}, {"lists", FASTFS_GRAPH_LISTS}},
         "be one of FASTFS_GRAPH_*"},
        {"constant",
         &O::constant,
         {{"drop", FASTFS_CONSTANT_DROP}, {"project", FASTFS_CONSTANT_PROJECT}},
         "be one of FASTFS_CONSTANT_*"},
        {"bandwidth_neighbors", &O::bandwidth_neighbors, kCount},
        {"n_neighbors", &O::n_neighbors, kCount},
        {"density", &O::density, Range{0, 1, "lie in [0, 1]"}},
        {"n_vectors", &O::n_vectors, kCount},
        {"n_differential", &O::n_differential},
        {"seed", &O::seed},
        {"scaling",
         &O::scaling,
         {{"none", FASTFS_DISC_SCALING_NONE}, {"standard", FASTFS_DISC_SCALING_STANDARD}},
         "be one of FASTFS_DISC_SCALING_*"},
        {"cut",
         &O::cut,
         {{"normalized", FASTFS_CUT_NORMALIZED}, {"ratio", FASTFS_CUT_RATIO}},
         "be one of FASTFS_CUT_*"},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_ikdr_kernels*) {
    using O = fastfs_ikdr_kernels;
    static const std::vector<Field> fields{
        {"n_kernels", &O::n_kernels},
        {"groups", &O::groups, Sizes{"n_features"}},
        {"scaling",
         &O::scaling,
         {{"none", FASTFS_SCALE_NONE}, {"standard", FASTFS_SCALE_STANDARD}},
         "be FASTFS_SCALE_NONE or FASTFS_SCALE_STANDARD"},
        {"width",
         &O::width,
         {{"mean_squared", FASTFS_WIDTH_MEAN_SQUARED}, {"mean", FASTFS_WIDTH_MEAN}, {"given", FASTFS_WIDTH_GIVEN}},
         "be one of FASTFS_WIDTH_*"},
        {"delta", &O::delta},
        {"matrices", &O::matrices, Sizes{"n_kernels", "n_samples", "n_samples"}},
        {"n_samples", &O::n_samples},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_ikdr_options*) {
    using O = fastfs_ikdr_options;
    static const std::vector<Field> fields{
        {"n_components", &O::n_components},
        {"lambdas", &O::lambdas, Sizes{"n_lambdas"}},
        {"n_lambdas", &O::n_lambdas, kCount},
        {"mu", &O::mu, kNotNegative},
        {"tau", &O::tau, kAboveZero},
        {"zeta", &O::zeta, kAboveZero},
        {"interpretability",
         &O::interpretability,
         {{"laplacian", FASTFS_IKDR_LAPLACIAN}, {"distance", FASTFS_IKDR_DISTANCE}},
         "be FASTFS_IKDR_LAPLACIAN or FASTFS_IKDR_DISTANCE"},
        {"solver",
         &O::solver,
         {{"projected_gradient", FASTFS_IKDR_PROJECTED_GRADIENT}, {"admm", FASTFS_IKDR_ADMM}},
         "be FASTFS_IKDR_PROJECTED_GRADIENT or FASTFS_IKDR_ADMM"},
        {"max_iter", &O::max_iter, kIterations},
        {"max_inner", &O::max_inner, kIterations},
        {"tol", &O::tol, kNotNegative},
        {"rho", &O::rho, Range{kLeastPositive, kMostFinite, "be a finite number above 0"}},
        {"A", &O::A, Sizes{"n_samples", "n_components"}},
        {"weights", &O::weights, Sizes{"n_kernels"}},
        {"seed", &O::seed},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_differential_correlation_options*) {
    using O = fastfs_differential_correlation_options;
    static const std::vector<Field> fields{
        {"correlation",
         &O::correlation,
         {{"pearson", FASTFS_PEARSON}, {"spearman", FASTFS_SPEARMAN}},
         "be FASTFS_PEARSON or FASTFS_SPEARMAN"},
        {"n_pairs", &O::n_pairs, kPairs},
        {"features", &O::features, Sizes{"n_features"}},
        {"n_features", &O::n_features},
        {"labelings", &O::labelings, Sizes{"n_labelings", "n_rows"}},
        {"n_labelings", &O::n_labelings},
        {"wholes", &O::wholes, kFlag},
        {"n_classes", &O::n_classes},
        {"covariates", &O::covariates, Sizes{"n_rows", "n_covariates"}},
        {"n_covariates", &O::n_covariates},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_interaction_options*) {
    using O = fastfs_interaction_options;
    static const std::vector<Field> fields{
        {"transform",
         &O::transform,
         {{"none", FASTFS_INTERACTION_VALUES}, {"rank", FASTFS_INTERACTION_RANKS}},
         "be FASTFS_INTERACTION_VALUES or FASTFS_INTERACTION_RANKS"},
        {"along", &O::along, kFlag},
        {"n_classes", &O::n_classes},
        {"n_pairs", &O::n_pairs, kPairs},
        {"features", &O::features, Sizes{"n_features"}},
        {"n_features", &O::n_features},
        {"covariates", &O::covariates, Sizes{"n_rows", "n_covariates"}},
        {"n_covariates", &O::n_covariates},
        {"label_permutations", &O::label_permutations, Sizes{"n_labelings", "n_rows"}},
        {"y_permutations", &O::y_permutations, Sizes{"n_labelings", "n_rows"}},
        {"n_labelings", &O::n_labelings},
        {"first_of_pairs", &O::first_of_pairs, Sizes{"n_chosen"}},
        {"second_of_pairs", &O::second_of_pairs, Sizes{"n_chosen"}},
        {"n_chosen", &O::n_chosen},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_snp_pairs_options*) {
    using O = fastfs_snp_pairs_options;
    static const std::vector<Field> fields{
        {"n_pairs", &O::n_pairs, kPairs},
        {"snps", &O::snps, Sizes{"n_snps"}},
        {"n_snps", &O::n_snps},
        {"labelings", &O::labelings, Sizes{"n_labelings", "n_rows"}},
        {"n_labelings", &O::n_labelings},
        {"y", &O::y, Sizes{"n_rows"}},
        {"y_permutations", &O::y_permutations, Sizes{"n_labelings", "n_rows"}},
        {"covariates", &O::covariates, Sizes{"n_rows", "n_covariates"}},
        {"n_covariates", &O::n_covariates},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_ld_clumps_options*) {
    using O = fastfs_ld_clumps_options;
    static const std::vector<Field> fields{
        {"r2", &O::r2, Range{0, 1, "be from 0 to 1"}},
        {"window", &O::window, Range{0, static_cast<double>(kMostValues), "be from 0 to 2^50"}},
        {"n_clumps", &O::n_clumps},
        {"positions", &O::positions, Sizes{"n_cols"}},
        {"chromosomes", &O::chromosomes, Sizes{"n_cols"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_design_options*) {
    using O = fastfs_design_options;
    static const std::vector<Field> fields{
        {"n_samples", &O::n_samples},
        {"labels", &O::labels, Sizes{"n_samples"}},
        {"n_labels", &O::n_labels},
        {"numbers", &O::numbers, Sizes{"n_samples"}},
        {"blocks", &O::blocks, Sizes{"n_samples"}},
        {"n_blocks", &O::n_blocks},
        {"groups", &O::groups, Sizes{"n_samples"}},
        {"n_groups", &O::n_groups},
        {"covariates", &O::covariates, Sizes{"n_samples", "n_covariates"}},
        {"n_covariates", &O::n_covariates},
        {"records", &O::records, kFlag},
        {"keeps_names", &O::keeps_names, kFlag},
        {"n_permutations", &O::n_permutations, Range{0, 0xfffffffe, "be from 0 to 2^32 - 2"}},
        {"seed", &O::seed},
        {"shuffled", &O::shuffled, kFlag},
        {"times", &O::times, Sizes{"n_samples"}},
        {"events", &O::events, Sizes{"n_samples"}},
    };
    return fields;
}

const std::vector<Field>& fields_of(const fastfs_null_options*) {
    using O = fastfs_null_options;
    static const std::vector<Field> fields{
        {"n_features", &O::n_features},
        {"scores", &O::scores, Sizes{"n_features"}},
        {"statistic", &O::statistic},
        {"by_score", &O::by_score, kFlag},
        {"ranks_by_z", &O::ranks_by_z, kFlag},
        {"stop", &O::stop, kFlag},
        {"fdr", &O::fdr, {{"bh", FASTFS_FDR_BH}, {"by", FASTFS_FDR_BY}}, "be FASTFS_FDR_BH or FASTFS_FDR_BY"},
    };
    return fields;
}

namespace {

// The fields of a struct, by its name.
struct Described {
    const char* name;
    std::vector<fastfs_field> fields;
};

// Describes a struct, given as its _INIT macro.
template <class Options>
Described described_struct(const char* name, const Options& given) {
    static const Options initial = given;
    Described made{name, {}};
    for (const Field& field : fields_of(&initial)) made.fields.push_back(field.described(&initial));
    return made;
}

// Returns the fields of all structs that fastfs_fields knows.
const std::vector<Described>& all_structs() {
    static const std::vector<Described> all{
        described_struct<fastfs_margin_options>("fastfs_margin_options", FASTFS_MARGIN_OPTIONS_INIT),
        described_struct<fastfs_margin_metric>("fastfs_margin_metric", FASTFS_MARGIN_METRIC_INIT),
        described_struct<fastfs_relief_options>("fastfs_relief_options", FASTFS_RELIEF_OPTIONS_INIT),
        described_struct<fastfs_im4e_options>("fastfs_im4e_options", FASTFS_IM4E_OPTIONS_INIT),
        described_struct<fastfs_immigrate_options>("fastfs_immigrate_options", FASTFS_IMMIGRATE_OPTIONS_INIT),
        described_struct<fastfs_manifest_options>("fastfs_manifest_options", FASTFS_MANIFEST_OPTIONS_INIT),
        described_struct<fastfs_manifest_scale>("fastfs_manifest_scale", FASTFS_MANIFEST_SCALE_INIT),
        described_struct<fastfs_projse_options>("fastfs_projse_options", FASTFS_PROJSE_OPTIONS_INIT),
        described_struct<fastfs_disc_options>("fastfs_disc_options", FASTFS_DISC_OPTIONS_INIT),
        described_struct<fastfs_ikdr_kernels>("fastfs_ikdr_kernels", FASTFS_IKDR_KERNELS_INIT),
        described_struct<fastfs_ikdr_options>("fastfs_ikdr_options", FASTFS_IKDR_OPTIONS_INIT),
        described_struct<fastfs_differential_correlation_options>("fastfs_differential_correlation_options",
                                                                  FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT),
        described_struct<fastfs_interaction_options>("fastfs_interaction_options", FASTFS_INTERACTION_OPTIONS_INIT),
        described_struct<fastfs_snp_pairs_options>("fastfs_snp_pairs_options", FASTFS_SNP_PAIRS_OPTIONS_INIT),
        described_struct<fastfs_ld_clumps_options>("fastfs_ld_clumps_options", FASTFS_LD_CLUMPS_OPTIONS_INIT),
        described_struct<fastfs_design_options>("fastfs_design_options", FASTFS_DESIGN_OPTIONS_INIT),
        described_struct<fastfs_null_options>("fastfs_null_options", FASTFS_NULL_OPTIONS_INIT),
    };
    return all;
}

}  // namespace
}  // namespace fastfs::core

// Returns field `number` of the struct with this name, or null for another name and beyond the last field.
extern "C" const fastfs_field* fastfs_fields(const char* type, int32_t number) {
    const fastfs_field* found = nullptr;
    fastfs::core::attempt([&] {
        if (type == nullptr || number < 0) return;
        for (const auto& one : fastfs::core::all_structs()) {
            if (std::string_view(one.name) != type || number >= std::ssize(one.fields)) continue;
            found = &one.fields[static_cast<std::size_t>(number)];
        }
    });
    return found;
}
