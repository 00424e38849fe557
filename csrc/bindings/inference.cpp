#include <pybind11/stl.h>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// A column of a design: a number for each sample, and the names of the numbers; None if there is no column.
struct Column {
    Column(const py::object& values, const py::object& given_names, py::ssize_t n_samples, const char* name)
        : numbers(data_or_null<std::int64_t>(values, name, {n_samples})) {
        if (given_names.is_none()) return;
        names = given_names.cast<std::vector<std::string>>();
        for (const std::string& one : names) pointers.push_back(one.c_str());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(names.size()); }

    const std::int64_t* numbers;
    std::vector<std::string> names;
    std::vector<const char*> pointers;
};

struct Design {
    fastfs::design design;

    // Makes a design; None stands for an array or names that aren't given.
    static Design make(py::ssize_t n_samples, const py::object& labels_, const py::object& label_names,
                       const py::object& numbers, const py::object& blocks_, const py::object& block_names,
                       const py::object& groups_, const py::object& group_names, const py::object& covariates,
                       const py::object& times, const py::object& events, const py::dict& given,
                       const py::object& run_) {
        const Column labels(labels_, label_names, n_samples, "labels");
        const Column blocks(blocks_, block_names, n_samples, "blocks");
        const Column groups(groups_, group_names, n_samples, "groups");
        auto options = read_options("fastfs_design_options", fastfs::default_design_options(), given);
        options.n_samples = n_samples;
        options.labels = labels.numbers;
        options.n_labels = labels.size();
        options.label_names = labels.pointers.data();
        options.numbers = data_or_null<double>(numbers, "numbers", {n_samples});
        options.blocks = blocks.numbers;
        options.n_blocks = blocks.size();
        options.block_names = blocks.pointers.data();
        options.groups = groups.numbers;
        options.n_groups = groups.size();
        options.group_names = groups.pointers.data();
        options.times = data_or_null<double>(times, "times", {n_samples});
        options.events = data_or_null<std::int32_t>(events, "events", {n_samples});
        if (!covariates.is_none()) {
            options.n_covariates = covariates.cast<py::array>().shape(1);
            options.covariates = data_or_null<double>(covariates, "covariates", {n_samples, options.n_covariates});
        }
        Call call(run_);
        return call([&](const fastfs::run& run) { return Design{fastfs::design(options, run)}; });
    }

    // Returns the facts of the design as a dict.
    py::dict facts() const {
        const auto f = design.facts();
        const auto n = static_cast<py::ssize_t>(f.n_samples);
        py::dict found;
        found["n_labelings"] = f.n_labelings;
        found["n_distinct"] = f.n_distinct;
        found["n_mirrors"] = f.n_mirrors;
        found["smallest_pvalue"] = f.smallest_pvalue;
        found["n_units"] = f.n_units;
        found["exact"] = f.exact != 0;
        found["uniform"] = f.uniform != 0;
        found["moves_groups"] = f.moves_groups != 0;
        found["hides_specimens"] = f.hides_specimens != 0;
        found["units"] = to_array(f.units, {n});
        found["description"] = f.description;
        found["confounded"] = f.confounded ? py::object(py::str(f.confounded)) : py::none();
        found["drawn"] = f.drawn;
        found["drawn_units"] = to_array(f.drawn_units, {n});
        found["strata"] = to_array(f.strata, {static_cast<py::ssize_t>(f.n_drawn)});
        return found;
    }

    // Returns labelings first..first + count - 1 as rows, numbers if is_numbers, of a design of numbers.
    py::object labelings(std::int64_t first, py::ssize_t count, bool is_numbers, const py::object& run_) const {
        const auto n = static_cast<py::ssize_t>(design.facts().n_samples);
        Call call(run_);
        if (is_numbers) {
            py::array_t<double> numbers({count, n});
            double* values = numbers.mutable_data();
            call([&](const fastfs::run& run) {
                fastfs::check(fastfs_design_labelings(design.get(), first, count, &run, nullptr, values));
            });
            return numbers;
        }
        py::array_t<std::int64_t> labels({count, n});
        std::int64_t* values = labels.mutable_data();
        call([&](const fastfs::run& run) {
            fastfs::check(fastfs_design_labelings(design.get(), first, count, &run, values, nullptr));
        });
        return labels;
    }

    py::object subsamples(bool halves, double fraction, std::int64_t first, std::int64_t count) const {
        auto options = fastfs::default_subsamples_options();
        options.halves = halves;
        options.fraction = fraction;
        return to_array(design.subsamples(options, first, count),
                        {static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(design.facts().n_samples)});
    }
};

struct Null {
    fastfs::null_scores null;

    // Starts a null distribution of the scores, and of the statistic, of the true labels; `add` takes each labeling's.
    static Null make(const Design& design, const py::object& scores, double statistic, const std::string& method,
                     const py::dict& given, const py::object& run_) {
        auto options = read_options("fastfs_null_options", fastfs::default_null_options(), given);
        options.n_features = static_cast<std::int64_t>(py::len(scores));
        options.scores = data_or_null<double>(scores, "scores", {options.n_features});
        options.statistic = statistic;
        options.method_name = method.c_str();
        Call call(run_);
        return call([&](const fastfs::run& run) { return Null{fastfs::null_scores(design.design, options, run)}; });
    }

    // Returns the number of the labeling that comes next, or -1 at the end.
    std::int64_t add(const py::object& scores, double statistic) {
        const auto n = static_cast<py::ssize_t>(null.result().n_features);
        const auto* row = data_or_null<double>(scores, "scores", {n});
        py::gil_scoped_release released;
        return null.add(row, &statistic);
    }

    // Returns z, p-values and moments as a dict, and keeps the warnings of the call.
    py::dict result() const {
        fastfs::null_result r;
        Call::forget_warnings();
        {
            py::gil_scoped_release released;
            r = null.result();
            Call::collect_warnings();
        }
        const auto d = static_cast<py::ssize_t>(r.n_features), n = static_cast<py::ssize_t>(r.n_labelings);
        py::dict found;
        found["z"] = to_array(r.z, {d});
        found["pvalues"] = to_array(r.pvalues, {d});
        found["pvalues_adjusted"] = to_array(r.pvalues_adjusted, {d});
        found["pvalues_max"] = to_array(r.pvalues_max, {d});
        found["statistic"] = r.statistic;
        found["pvalue"] = r.pvalue;
        found["null_statistics"] = to_array(r.statistics, {n});
        found["null_mean"] = to_array(r.mean, {d});
        found["null_sd"] = to_array(r.sd, {d});
        found["null_skew"] = to_array(r.skew, {d});
        found["degenerate"] = to_array(r.degenerate, {d});
        found["label_free"] = r.label_free;
        found["n_permutations"] = r.n_labelings;
        found["exact"] = r.exact != 0;
        found["stopped"] = r.stopped != 0;
        found["resolution"] = r.resolution;
        return found;
    }
};

// Returns as a dict how far selections of features, or scores, agree: the index and its bounds, the share of selections
// that hold each feature, and correlations of the scores. selected: None, or the columns of all selections in one
// array, with `begins` of each; scores: None, or a list of arrays.
py::dict stability(py::ssize_t n_selections, py::ssize_t n_features, const py::object& selected,
                   const py::object& begins, const py::object& scores, bool halves, double threshold) {
    auto options = fastfs::default_stability_options();
    options.n_selections = n_selections;
    options.n_features = n_features;
    options.halves = halves;
    options.threshold = threshold;
    if (!selected.is_none()) {
        options.selected =
            data_or_null<std::int64_t>(selected, "selected", {static_cast<py::ssize_t>(py::len(selected))});
        options.begins = data_or_null<std::int64_t>(begins, "begins", {n_selections + 1});
    }
    std::vector<const double*> rows;
    if (!scores.is_none()) {
        if (static_cast<py::ssize_t>(py::len(scores)) != n_selections) {
            throw std::invalid_argument("scores must have one array for each selection; got another number");
        }
        for (const auto row : scores) {
            rows.push_back(data_or_null<double>(py::reinterpret_borrow<py::object>(row), "scores", {n_features}));
        }
        options.scores = rows.data();
    }
    const Views view(fastfs::stability(options));
    const fastfs::stability_result& r = **view;
    py::dict found;
    found["frequencies"] = view(r.frequencies, {options.selected ? n_features : 0});
    found["stability"] = r.stability;
    found["variance"] = r.variance;
    found["relevance_correlation"] = r.relevance_correlation;
    found["relevance_pearson"] = r.relevance_pearson;
    found["rare_bound"] = r.rare_bound;
    found["rare_bound_unimodal"] = r.rare_bound_unimodal;
    return found;
}

}  // namespace

// Adds designs, their null distributions and stability to the module.
void bind_inference(py::module_& m) {
    py::class_<Design>(m, "Design")
        .def(py::init(&Design::make), py::arg("n_samples"), py::arg("labels"), py::arg("label_names"),
             py::arg("numbers"), py::arg("blocks"), py::arg("block_names"), py::arg("groups"), py::arg("group_names"),
             py::arg("covariates"), py::arg("times"), py::arg("events"), py::arg("options"), py::arg("run"))
        .def("facts", &Design::facts)
        .def("labelings", &Design::labelings, py::arg("first"), py::arg("count"), py::arg("is_numbers"), py::arg("run"))
        .def("subsamples", &Design::subsamples, py::arg("halves"), py::arg("fraction"), py::arg("first"),
             py::arg("count"));
    py::class_<Null>(m, "Null")
        .def(py::init(&Null::make), py::arg("design"), py::arg("scores"), py::arg("statistic"), py::arg("method"),
             py::arg("options"), py::arg("run"))
        .def("add", &Null::add, py::arg("scores"), py::arg("statistic"))
        .def("result", &Null::result)
        .def_property_readonly("n_passes", [](const Null& self) { return self.null.result().n_passes; });
    m.def("stability", &stability, py::arg("n_selections"), py::arg("n_features"), py::arg("selected"),
          py::arg("begins"), py::arg("scores"), py::arg("halves"), py::arg("threshold"));
}

}  // namespace fastfs::bindings
