#include "arrays.hpp"

namespace fastfs::bindings {
namespace {

// Label-free stage; keeps the chunks' arrays alive.
class Manifest {
  public:
    Manifest(const py::sequence& chunks, bool keep_distances, int n_threads, std::int64_t max_memory,
             py::object progress) {
        for (const auto& chunk : chunks) {
            chunks_.push_back(std::make_unique<Matrix>(py::reinterpret_borrow<py::object>(chunk)));
            views_.push_back(chunks_.back()->view);
            n_rows_ += views_.back().n_rows();
            n_features_ = views_.back().n_cols();
        }
        Call call(n_threads, max_memory, std::move(progress));
        manifest_ = call(
            [&](const fastfs::run& run) { return std::make_unique<fastfs::manifest>(views_, keep_distances, run); });
    }

    // What a fit would do.
    py::dict plan(std::int64_t n_classes, std::int64_t n_scales, const std::string& form, const std::string& accuracy,
                  std::int64_t rank, const std::string& multiclass, std::int64_t n_components, int n_threads,
                  std::int64_t max_memory) const {
        const auto options = to_options(form, accuracy, rank, multiclass);
        Call call(n_threads, max_memory, py::none());
        const auto found = call(
            [&](const fastfs::run& run) { return manifest_->plan(n_classes, options, n_scales, n_components, run); });
        static const char* accuracies[] = {"auto", "exact", "fast", "high"};
        static const char* reasons[] = {"asked", "size", "memory", "rank", "form"};
        py::dict plan;
        plan["accuracy"] = accuracies[found.accuracy];
        plan["reason"] = reasons[found.reason];
        plan["exact_bytes"] = found.exact_bytes;
        return plan;
    }

    // Each scale is (rule, value, sigma or None, normalize). Returns a result for each scale.
    py::list fit(const py::array_t<std::int64_t, py::array::c_style>& labels, std::int64_t n_classes,
                 const py::sequence& scales_, const std::string& form, const std::string& accuracy, std::int64_t rank,
                 const std::string& multiclass, std::uint64_t seed, std::uintptr_t kernel, std::int64_t n_components,
                 int n_threads, std::int64_t max_memory, py::object progress) const {
        if (labels.ndim() != 1 || labels.shape(0) != n_rows_) {
            throw std::invalid_argument("expected one label for each of the " + std::to_string(n_rows_) + " rows");
        }
        auto options = to_options(form, accuracy, rank, multiclass);
        options.seed = seed;
        options.kernel = reinterpret_cast<fastfs_tile_kernel>(kernel);

        std::vector<std::vector<double>> given;
        std::vector<fastfs::manifest_scale> scales;
        given.reserve(scales_.size());
        for (const auto& scale_ : scales_) {
            const auto scale = scale_.cast<py::tuple>();
            fastfs::manifest_scale s = FASTFS_MANIFEST_SCALE_INIT;
            s.rule = choose(scale[0].cast<std::string>(), {"median", "percentile", "given"});
            s.value = scale[1].cast<double>();
            if (!scale[2].is_none()) {
                const auto sigma = scale[2].cast<py::array_t<double, py::array::c_style | py::array::forcecast>>();
                given.emplace_back(sigma.data(), sigma.data() + sigma.size());
                s.sigma = given.back().data();
            }
            s.normalize = scale[3].cast<int>();
            scales.push_back(s);
        }

        const auto* y = labels.data();
        Call call(n_threads, max_memory, std::move(progress));
        const auto n_scales = static_cast<std::int64_t>(scales.size());
        const auto found = call(
            [&](const fastfs::run& run) { return manifest_->plan(n_classes, options, n_scales, n_components, run); });
        for (const auto& sigma : given) {
            if (static_cast<std::int64_t>(sigma.size()) == found.n_kernels) continue;
            throw std::invalid_argument("sigma must hold one number for each of the " +
                                        std::to_string(found.n_kernels) + " kernels, but has " +
                                        std::to_string(sigma.size()));
        }
        const auto results = call(
            [&](const fastfs::run& run) { return manifest_->fit(y, n_classes, scales, options, n_components, run); });

        py::list fitted;
        for (const auto& r : results) {
            const std::int64_t d = n_features_, m = n_components, p = found.n_problems, k = found.n_kernels;
            py::dict one;
            one["scores"] = to_array(r.scores, {d});
            one["class_scores"] = to_array(r.class_scores, {n_classes, d});
            one["sigma"] = to_array(r.sigma, {k});
            one["kept_trace"] = to_array(r.kept_trace, {k});
            one["kernel_warnings"] = to_array(r.kernel_warnings, {k});
            one["ranks"] = to_array(r.ranks, {p});
            one["agreement"] = to_array(r.agreement, {p});
            one["problem_warnings"] = to_array(r.problem_warnings, {p});
            one["mean_values"] = to_array(r.mean_values, {p, m});
            one["mean_vectors"] = to_array(r.mean_vectors, {p, m, d});
            one["difference_values"] = to_array(r.difference_values, {p, m});
            one["difference_vectors"] = to_array(r.difference_vectors, {p, m, d});
            fitted.append(one);
        }
        return fitted;
    }

  private:
    static fastfs::manifest_options to_options(const std::string& form, const std::string& accuracy, std::int64_t rank,
                                               const std::string& multiclass) {
        auto options = fastfs::default_manifest_options();
        options.form = choose(form, {"pencil", "spd", "spsd"});
        options.accuracy = choose(accuracy, {"auto", "exact", "fast", "high"});
        options.rank = rank;
        options.multiclass = choose(multiclass, {"ovr", "ovo"});
        return options;
    }

    static int choose(const std::string& name, std::initializer_list<const char*> names) {
        int index = 0;
        for (const char* known : names) {
            if (name == known) return index;
            ++index;
        }
        throw std::invalid_argument("there is no option '" + name + "'");
    }

    std::vector<std::unique_ptr<Matrix>> chunks_;
    std::vector<fastfs::matrix> views_;
    std::int64_t n_rows_ = 0, n_features_ = 0;
    std::unique_ptr<fastfs::manifest> manifest_;
};

}  // namespace

void bind_manifest(py::module_& m) {
    m.attr("WARN_SIGMA") = int{FASTFS_WARN_SIGMA};
    m.attr("WARN_ONE_SAMPLE") = int{FASTFS_WARN_ONE_SAMPLE};
    m.attr("WARN_TRACE") = int{FASTFS_WARN_TRACE};
    m.attr("WARN_NO_CONTRAST") = int{FASTFS_WARN_NO_CONTRAST};
    m.attr("WARN_AGREEMENT") = int{FASTFS_WARN_AGREEMENT};
    py::class_<Manifest>(m, "Manifest")
        .def(py::init<const py::sequence&, bool, int, std::int64_t, py::object>(), py::arg("chunks"),
             py::arg("keep_distances"), py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"))
        .def("plan", &Manifest::plan, py::arg("n_classes"), py::arg("n_scales"), py::arg("form"), py::arg("accuracy"),
             py::arg("rank"), py::arg("multiclass"), py::arg("n_components"), py::arg("n_threads"),
             py::arg("max_memory"))
        .def("fit", &Manifest::fit, py::arg("labels").noconvert(), py::arg("n_classes"), py::arg("scales"),
             py::arg("form"), py::arg("accuracy"), py::arg("rank"), py::arg("multiclass"), py::arg("seed"),
             py::arg("kernel"), py::arg("n_components"), py::arg("n_threads"), py::arg("max_memory"),
             py::arg("progress"));
}

}  // namespace fastfs::bindings
