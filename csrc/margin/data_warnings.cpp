#include "margin/data_warnings.hpp"

#include <algorithm>
#include <cstddef>

#include "support/errors.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

void warn_of_data(const std::vector<std::int64_t>& class_sizes, bool is_uneven, bool skips_targets) {
    std::vector<Message> alone;
    for (std::size_t c = 0; c < class_sizes.size(); ++c) {
        if (class_sizes[c] == 1) alone.push_back(Message() << Name::class_(static_cast<std::int64_t>(c)));
    }
    if (!alone.empty()) {
        warn("one_sample",
             {"one sample only in ", some_of(alone), ": it has no other of its class to be compared with, so it ",
              skips_targets ? "is skipped as a target" : "counts by its misses only",
              ": give more of its class, or leave it out"});
    }
    if (is_uneven) {
        warn("uneven_scales",
             "the standard deviations of the features lie more than 1000 times apart, so that those with the largest "
             "decide alone: choose scaling='standard' or 'range', or scale the features");
    }
}

void warn_of_few_neighbors(const fastfs_relief_options& options, const Numbers& class_sizes) {
    if (options.method != FASTFS_RELIEFF && options.method != FASTFS_MU_RELIEF) return;
    const Message k("n_neighbors = ", options.n_neighbors);
    std::vector<Message> small;
    for (std::size_t c = 0; c < class_sizes.size(); ++c) {
        if (class_sizes[c] > static_cast<double>(options.n_neighbors)) continue;
        small.push_back({Name::class_(static_cast<std::int64_t>(c)), " (", class_sizes[c], ")"});
    }
    if (class_sizes.empty()) {
        warn(
            "few_neighbors",
            {k,
             " is more than the hits or the misses of some samples, so all were used: a smaller n_neighbors treats all "
             "samples alike"});
    } else {
        warn("few_neighbors",
             {k,
              " is more than some classes have to offer, so all their samples were used (a smaller n_neighbors "
              "treats all classes alike)",
              small.empty() ? "" : ": ", some_of(small)});
    }
}

void warn_of_no_neighbors() {
    warn("no_neighbors",
         "no sample has a neighbour nearer than its threshold, so all scores are 0: use ReliefF, which takes a "
         "number of neighbours");
}

void warn_of_no_weight() {
    warn("no_weight",
         "hits came to lie no nearer than misses, which leaves nothing to weigh, so the weights of the iteration "
         "before stay: the classes don't differ locally, or sigma is too small or too large");
}

}  // namespace fastfs::core
