// The C interface of designs, null distributions and stability.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/handle.hpp"
#include "inference/design.hpp"
#include "inference/null.hpp"
#include "inference/stability.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

struct fastfs_design : fastfs::core::Handle<fastfs::core::Design> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_design";
};

struct fastfs_null : fastfs::core::Handle<fastfs::core::Null> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_null";
};

namespace {

using namespace fastfs::core;

// Number of the last stream of labelings: the next one is that of the star's hub.
constexpr std::int64_t kMostLabelings = 0xfffffffe;

// Refuses values of a column outside 0..n_values - 1, and null names; a null column is allowed.
void require_design_column(const std::int64_t* values, std::int64_t n_samples, std::int64_t n_values,
                           const char* const* names, const char* name, const char* name_of_names) {
    require_array_or_null(names, name_of_names);
    if (values == nullptr) return;
    require(n_values >= 1 && n_values <= std::numeric_limits<std::int32_t>::max(), "the number of ", name,
            " must be from 1 to 2^31 - 1; got ", n_values);
    require_in_range(values, n_samples, n_values, name);
    for (std::int64_t k = 0; names && k < n_values; ++k) {
        require(names[k] != nullptr, name_of_names, " must hold names; got null at position ", k);
    }
}

void require_flag(std::int32_t value, const char* name) {
    require(value == 0 || value == 1, name, " must be 0 or 1; got ", value);
}

// Reads the options of the caller, and checks their arrays.
fastfs_design_options read_design_options(const fastfs_design_options* given) {
    const auto o = read_options(given, FASTFS_DESIGN_OPTIONS_INIT);
    require_size(o.n_samples, 1, "n_samples");
    require((o.labels != nullptr) != (o.numbers != nullptr), "a design must have labels or numbers; got ",
            o.labels ? "both" : "neither");
    require_design_column(o.labels, o.n_samples, o.n_labels, o.label_names, "labels", "label_names");
    require_design_column(o.blocks, o.n_samples, o.n_blocks, o.block_names, "blocks", "block_names");
    require_design_column(o.groups, o.n_samples, o.n_groups, o.group_names, "groups", "group_names");
    if (o.numbers) require_numbers(o.numbers, o.n_samples, "numbers");
    require((o.times != nullptr) == (o.events != nullptr), "times and events must come together; got ",
            o.times ? "times" : "events", " alone");
    if (o.times) {
        require(o.records == 1, "times must be NULL without records; got times of classes or numbers");
        require_numbers(o.times, o.n_samples, "times");
        for (std::int64_t i = 0; i < o.n_samples; ++i) {
            require(o.events[i] == 0 || o.events[i] == 1, "events must be 0 or 1; got ", o.events[i], " in ",
                    Name::row(i));
        }
    }
    require_size(o.n_covariates, o.covariates ? 1 : 0, "n_covariates");
    require(o.covariates || o.n_covariates == 0, "covariates must hold ", o.n_covariates,
            " columns, as n_covariates says; got null");
    if (o.covariates) {
        require_fits(o.n_samples, o.n_covariates, "covariates");
        require_array(o.covariates, "covariates");
        for (std::int64_t i = 0; i < o.n_samples; ++i) {
            for (std::int64_t j = 0; j < o.n_covariates; ++j) {
                require(std::isfinite(o.covariates[i * o.n_covariates + j]), "covariates must be finite; got ",
                        o.covariates[i * o.n_covariates + j], " in ", Name::row(i), ": drop this sample");
            }
        }
    }
    return o;
}

// Refuses labelings or subsamples outside those that there are, and more of them than a machine can hold.
void require_part(std::int64_t first, std::int64_t count, std::int64_t n, std::int64_t n_samples) {
    require(first >= 0 && count >= 0 && first <= n && count <= n - first, "first and first + count must be from 0 to ",
            n, "; got ", first, " and ", first, " + ", count);
    require_fits(n_samples, count, "an array");
}

// Reads the options of the caller, and checks the scores.
fastfs_null_options read_null_options(const fastfs_null_options* given) {
    const auto o = read_options(given, FASTFS_NULL_OPTIONS_INIT);
    require_size(o.n_features, 1, "n_features");
    require_array(o.scores, "scores");
    for (std::int64_t k = 0; k < o.n_features; ++k) {
        require(std::isfinite(o.scores[k]), "scores must be finite; got ", o.scores[k], " for ", Name::column(k));
    }
    require(!std::isinf(o.statistic), "statistic must be finite, or NAN for the largest score; got ", o.statistic);
    return o;
}

// Adds the scores under the next `count` labelings to the null; throws, and adds none, if one isn't finite. Ignores
// rows beyond an early end. statistics: null for the largest score of each.
void add_rows(Null& null, const double* scores, const double* statistics, std::int64_t count) {
    const std::int64_t d = null.n_features();
    for (std::int64_t b = 0; b < count; ++b) {
        for (std::int64_t k = 0; k < d; ++k) {
            require(std::isfinite(scores[b * d + k]), "scores must be finite; got ", scores[b * d + k], " for ",
                    Name::column(k), " under labeling ", null.next() + b);
        }
        require(!statistics || std::isfinite(statistics[b]), "statistics must be finite; got ", statistics[b],
                " for labeling ", null.next() + b);
    }
    for (std::int64_t b = 0; b < count; ++b) {
        const double* row = scores + b * d;
        null.add_labeling(row, statistics ? statistics[b] : *std::max_element(row, row + d));
        if (null.next() <= 0) return;  // rows beyond an early end are of no pass
    }
}

// Reads the options of the caller, and checks the selections and scores.
fastfs_stability_options read_stability_options(const fastfs_stability_options* given) {
    const auto o = read(given, FASTFS_STABILITY_OPTIONS_INIT, "options");
    require_size(o.n_selections, 2, "n_selections");
    require_size(o.n_features, 1, "n_features");
    require(o.selected || o.scores, "selected or scores must be given; got neither");
    require_flag(o.halves, "halves");
    require(o.threshold > 0.5 && o.threshold <= 1, "threshold must lie above 0.5 and be at most 1; got ", o.threshold);
    if (o.selected) {
        require_array(o.selected, "selected");
        require_array(o.begins, "begins");
        require(o.begins[0] == 0, "begins must start with 0; got ", o.begins[0]);
        for (std::int64_t m = 0; m < o.n_selections; ++m) {
            const std::int64_t begin = o.begins[m], n = o.begins[m + 1] - begin;
            require(n >= 0 && n <= o.n_features, "begins must rise by at most the ", o.n_features,
                    " features from each selection to the next; got ", begin, " and ", o.begins[m + 1],
                    " for selection ", m);
            for (std::int64_t e = begin; e < begin + n; ++e) {
                const std::int64_t least = e > begin ? o.selected[e - 1] + 1 : 0;
                require(o.selected[e] >= least && o.selected[e] < o.n_features, "selection ", m,
                        " must name columns from 0 to ", o.n_features - 1, " in ascending order; got ", o.selected[e]);
            }
        }
    }
    if (o.scores) {
        require_array(o.scores, "scores");
        for (std::int64_t m = 0; m < o.n_selections; ++m)
            require_numbers(o.scores[m], o.n_features, "scores", Name::column);
    }
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_design_new(const fastfs_design_options* options, const fastfs_run* run_, fastfs_design** design) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, design, "design");
        const auto o = read_design_options(options);
        run.require_memory(o.n_samples * (160 + 24 * o.n_covariates), "the design", "give fewer samples");
        *design = new fastfs_design(o, run);
    });
}

void fastfs_design_free(fastfs_design* design) { free_handle(design, "design"); }

// Fills `facts` with numbers, and with arrays that the design keeps.
fastfs_status fastfs_design_get(const fastfs_design* design, fastfs_design_facts* facts) {
    return guarded([&] {
        const Design& d = require_handle(design, "design").data;
        fill(facts, FASTFS_DESIGN_FACTS_INIT, "facts", [&](fastfs_design_facts& f) {
            f = {.struct_size = sizeof(fastfs_design_facts),
                 .n_samples = d.n_samples(),
                 .n_labelings = d.n_labelings(),
                 .n_distinct = d.n_distinct(),
                 .n_mirrors = d.n_mirrors(),
                 .smallest_pvalue = d.smallest_pvalue(),
                 .n_units = d.n_units(),
                 .exact = d.is_exact(),
                 .uniform = d.is_uniform(),
                 .moves_groups = d.moves_groups(),
                 .hides_specimens = d.hides_specimens(),
                 .units = d.unit_of_sample().data(),
                 .description = d.description().c_str(),
                 .confounded = d.confounded().empty() ? nullptr : d.confounded().c_str(),
                 .drawn = d.drawn_word(),
                 .n_drawn = static_cast<std::int64_t>(d.stratum_of_unit().size()),
                 .n_strata = d.n_strata(),
                 .drawn_units = d.drawn_unit().data(),
                 .strata = d.stratum_of_unit().data()};
        });
    });
}

// Writes labelings first .. first + count - 1, rows of n_samples values, to numbers for a design with numbers,
// otherwise to labels.
fastfs_status fastfs_design_labelings(const fastfs_design* design, int64_t first, int64_t count, const fastfs_run* run_,
                                      int64_t* labels, double* numbers) {
    return guarded([&] {
        const Design& d = require_handle(design, "design").data;
        Run run = read_run(run_);
        require(d.confounded().empty(), d.confounded());
        require_part(first, count, d.is_exact() ? d.n_labelings() : kMostLabelings, d.n_samples());
        const char* kind = d.has_numbers() ? "numbers" : "labels";
        require((d.has_numbers() ? static_cast<void*>(labels) : numbers) == nullptr,
                d.has_numbers() ? "labels" : "numbers", " must be null, because the design has ", kind);
        d.has_numbers() ? require_output(run, numbers, kind) : require_output(run, labels, kind);
        d.write_labelings(first, count, labels, numbers, run);
    });
}

// Writes subsamples first .. first + count - 1 as rows of `taken`: 1 for each sample in it, otherwise 0.
fastfs_status fastfs_design_subsamples(const fastfs_design* design, const fastfs_subsamples_options* options,
                                       int64_t first, int64_t count, int32_t* taken) {
    return guarded([&] {
        const Design& d = require_handle(design, "design").data;
        const auto o = read(options, FASTFS_SUBSAMPLES_OPTIONS_INIT, "options");
        require_flag(o.halves, "halves");
        require(o.fraction > 0 && o.fraction < 1, "fraction must lie between 0 and 1; got ", o.fraction);
        require_part(first, count, kMostLabelings, d.n_samples());
        require_array(taken, "taken");
        d.write_subsamples(o, first, count, taken);
    });
}

fastfs_status fastfs_null_new(const fastfs_design* design, const fastfs_null_options* options, const fastfs_run* run_,
                              fastfs_null** null) {
    return guarded([&] {
        const Design& d = require_handle(design, "design").data;
        const Run run = read_run(run_);
        require_output(run, null, "null");
        require(d.confounded().empty(), d.confounded());
        require(d.n_labelings() >= 1, "n_permutations of the design must be at least 1; got 0");
        const auto o = read_null_options(options);
        run.require_memory(160 * o.n_features, "the sums of the scores", "give fewer features");
        *null = std::make_unique<fastfs_null>(d, o, run).release();
    });
}

void fastfs_null_free(fastfs_null* null) { free_handle(null, "null"); }

// Adds the scores under labelings *next .. *next + count - 1, and sets *next to the labeling to come, or to -1.
fastfs_status fastfs_null_add(fastfs_null* null, const double* scores, const double* statistics, int64_t count,
                              int64_t* next) {
    return guarded([&] {
        const Use<fastfs_null> use(null, "null");
        require_array(next, "next");
        require(use->next() >= 0, "null must lack labelings; got one with all: call fastfs_null_get");
        require(*next == use->next(), "next must be labeling ", use->next(), "; got ", *next,
                ": hand over the number that fastfs_null_add wrote to it");
        require(count >= 0 && count <= use->room(), "count must be from 0 to the ", use->room(),
                " labelings to come; got ", count);
        if (count > 0) require_array(scores, "scores");
        require_array_or_null(statistics, "statistics");
        add_rows(*use, scores, statistics, count);
        *next = use->next();
    });
}

// Fills the result with views of the null's arrays; with numbers of passes and features alone while labelings are
// missing.
fastfs_status fastfs_null_get(fastfs_null* null, fastfs_null_result* result) {
    return guarded([&] {
        const Use<fastfs_null> use(null, "null");
        fill(result, FASTFS_NULL_RESULT_INIT, "result", [&](fastfs_null_result& r) {
            r = FASTFS_NULL_RESULT_INIT;
            r.n_features = use->n_features();
            r.exact = use->is_exact();
            r.n_passes = use->keeps_rows() ? 1 : 2;
            if (use->next() >= 0) return;
            const NullResult& found = use->result();
            r.n_labelings = use->n();
            r.stopped = use->is_stopped();
            r.statistic = found.statistic;
            r.pvalue = found.pvalue;
            r.resolution = found.resolution;
            r.label_free = found.label_free;
            r.z = found.z.data();
            r.pvalues = found.pvalues.data();
            r.pvalues_adjusted = found.pvalues_adjusted.data();
            r.pvalues_max = found.pvalues_max.data();
            r.mean = found.mean.data();
            r.sd = found.sd.data();
            r.skew = found.skew.data();
            r.degenerate = found.degenerate.data();
            r.statistics = use->statistics().data();
        });
    });
}

fastfs_status fastfs_stability(const fastfs_stability_options* options, fastfs_stability_result* result,
                               fastfs_fitted** fitted) {
    return guarded([&] {
        const auto o = read_stability_options(options);
        fill_fitted(read_run(nullptr), result, FASTFS_STABILITY_RESULT_INIT, fitted, [&](auto& r) { stability(o, r); });
    });
}

}  // extern "C"
