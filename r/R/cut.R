# Where to cut a ranking. As Python's fastfs.Cut.

# The cuts of each class of results, the default first, and where they lie by default.
CUTS <- list(fastfs_permutation = c("family-wise", "fdr", "score"), fastfs_stability = "stability", fastfs = "score")
CUTS_AT <- c("family-wise" = 0.05, fdr = 0.05, stability = 0.75)

cut_features <- function(found, by = NULL, at = NULL) {
  class <- intersect(names(CUTS), class(found))[1]
  if (is.na(class)) {
    refuse("found must be a result of a method, of permutation_test or of stability; got class ", class(found)[1])
  }
  by <- if (is.null(by)) CUTS[[class]][1] else choose_word("by", by, CUTS[[class]])
  if (is.null(at) && by == "score") refuse("at must say which scores are enough; got NULL")
  at <- if (is.null(at)) CUTS_AT[[by]] else as_number("at", at)
  if (by != "score" && !(at > 0 && at <= 1)) refuse("at must lie above 0 and be at most 1 for by = ", shown(by), "; got ", at)
  values <- switch(by,
    "family-wise" = -found$pvalues_max, fdr = -found$pvalues_adjusted, stability = found$frequencies, found$scores
  )
  limit <- if (by %in% c("family-wise", "fdr")) -at else at
  order <- if (class == "fastfs_stability") order(-found$frequencies) else order(found$ranking)
  kept <- order[which(values[order] >= limit)]
  stats::setNames(kept, names(values)[kept])
}

# Says how many features pass a cut, and which are the first.
describe_cut <- function(found, by) {
  kept <- cut_features(found, by)
  count <- paste(if (length(kept)) length(kept) else "no", if (length(kept) == 1) "feature" else "features")
  shown <- if (length(kept)) paste0(": ", some_of(if (is.null(names(kept))) kept else names(kept)))
  paste0(count, " with a ", by, " p-value of at most ", CUTS_AT[[by]], shown)
}
