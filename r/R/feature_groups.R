# Groups of features, which permutation tests compare as wholes.

# Returns the columns of each group in a named list of features; NULL without groups.
read_feature_groups <- function(groups, n_features, names) {
  if (is.null(groups)) return(NULL)
  if (!is.list(groups) || is.data.frame(groups)) {
    refuse("feature_groups must be a named list of features; got class ", class(groups)[1])
  }
  if (length(groups) == 0) refuse("feature_groups must hold groups; got none")
  called <- names(groups)
  if (is.null(called) || anyNA(called) || any(called == "") || anyDuplicated(called)) {
    refuse("feature_groups must have a different name for each group; got ", shown(called))
  }
  lapply(stats::setNames(called, called), function(name) {
    parameter <- paste0("group '", name, "' of feature_groups")
    columns <- which(columns_mask(parameter, groups[[name]], n_features, names))
    if (length(columns) == 0) refuse(parameter, " must hold features; got none: leave it out")
    columns
  })
}

# Returns the nulls of the largest scores and of the sums of the groups, each with `of`, which makes its row of the scores.
nulls_of_groups <- function(members, design, scores, options, method, run) {
  lapply(list(max, sum), function(summed) {
    of <- function(scores) vapply(members, function(columns) summed(scores[columns]), 0, USE.NAMES = FALSE)
    values <- as.double(of(scores))
    options[c("scores", "statistic")] <- list(values, max(values))
    list(null = core_result(.Call(C_null_new, design$handle, options, method, run)), of = of, values = values)
  })
}

# Returns a data.frame with a row for each group.
table_of_groups <- function(members, nulls, run) {
  found <- lapply(nulls, function(one) .Call(C_null_get, one$null, run))
  data.frame(
    group = names(members), n_features = lengths(members, use.names = FALSE),
    max_score = nulls[[1]]$values, sum_of_scores = nulls[[2]]$values,
    pvalue = found[[1]]$pvalues, pvalue_adjusted = found[[1]]$pvalues_adjusted, pvalue_max = found[[1]]$pvalues_max,
    pvalue_of_sum = found[[2]]$pvalues, pvalue_adjusted_of_sum = found[[2]]$pvalues_adjusted,
    pvalue_max_of_sum = found[[2]]$pvalues_max, stringsAsFactors = FALSE
  )
}
