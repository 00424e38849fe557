# Permutation tests: p-values for the scores of any method, from the same method on shuffled labels. The core draws the
# labelings and compares the scores, as for Python: the same seed gives the same p-values.

permutation_test <- function(method, x, y, options = list(), blocks = NULL, groups = NULL, covariates = NULL,
                             statistic = "z", ranking = "score", n_permutations = "auto", stop = NULL, fdr = "bh",
                             random_state = 0, verbose = FALSE, feature_groups = NULL) {
  method <- method_name(method)
  choose_word("statistic", statistic, c("z", "score"))
  choose_word("ranking", ranking, c("score", "z"))
  choose_word("fdr", fdr, c("bh", "by"))
  is_auto <- is.character(n_permutations)
  if (is_auto) choose_word("n_permutations", n_permutations, "auto", "a whole number")
  most <- if (is_auto) 999 else as_whole("n_permutations", n_permutations, low = 1)
  may_stop <- if (is.null(stop)) is_auto && is.null(feature_groups) else as_flag("stop", stop)
  if (may_stop && !is.null(feature_groups)) {
    refuse("stop must be FALSE with feature_groups: their p-values need all permutations")
  }
  seed <- as_seed(random_state)
  as_flag("verbose", verbose)
  if (is.null(y)) refuse("y must hold the labels that a permutation test shuffles; got NULL")
  given <- arguments_of(method, x, y, options)
  if (!is.null(given$sample_weight) && any(given$sample_weight == 0)) {
    refuse("sample_weight must be above 0 for a permutation test; got 0: leave these samples out of x and y")
  }
  stage <- STAGES[[method]](c(given, n_fits = most), TRUE)
  warn_without_effect(method, given)
  run <- quiet(stage$run)
  members <- read_feature_groups(feature_groups, stage$data$x$n_cols, stage$data$features)
  design <- design_of(
    stage$target, given$x, blocks, groups, stage$data$x$n_rows, covariates, n_permutations = most, seed = seed,
    keeps_names = !is.null(given$class_weight), given = stage$given
  )
  check_design(design)
  found <- stage$fit(stage$target, run)
  warn(found$messages)
  scores <- found$scores
  last <- found$given
  if (!all(is.finite(scores))) {
    refuse(
      "scores of ", method, " must be finite to be compared; got NaN or infinity for feature ",
      which(!is.finite(scores))[1], ": drop it, or choose other options"
    )
  }
  score_at <- function(labeling) {
    found <- stage$fit(labeling, run)
    list(scores = found$scores, overall = overall_statistic(found))
  }
  if (!is.null(stage$score_labelings)) score_at <- score_projse(stage, run)
  options <- list(
    scores = as.double(scores), statistic = overall_statistic(found), by_score = statistic == "score",
    ranks_by_z = ranking == "z", stop = may_stop, fdr = fdr
  )
  null <- core_result(.Call(C_null_new, design$handle, options, method, run))
  of_groups <- if (!is.null(members)) nulls_of_groups(members, design, scores, options, method, run)
  permute(null, of_groups, design, score_at, run, verbose)
  found <- .Call(C_null_get, null, run)
  warn(core_messages())
  named <- function(values) stats::setNames(values, stage$data$features)
  by_feature <- c("z", "pvalues", "pvalues_adjusted", "pvalues_max", "null_mean", "null_sd", "null_skew")
  found[by_feature] <- lapply(found[by_feature], named)
  found$degenerate <- which(found$degenerate)
  best <- best_first(unname(if (ranking == "z") found$z else scores), last)
  structure(
    c(
      list(method = method, scores = named(scores), ranking = named(places_of(best))),
      found[setdiff(names(found), "n_passes")],
      list(n_distinct = design$n_distinct, design = design$description, fdr = fdr),
      if (!is.null(members)) list(feature_groups = table_of_groups(members, of_groups, run))
    ),
    class = "fastfs_permutation"
  )
}

overall_statistic <- function(found) max(if (is.null(found$statistic)) found$scores else found$statistic)

score_projse <- function(stage, run) {
  function(labeling) {
    scores <- drop(stage$score_labelings(matrix(labeling$values), run))
    list(scores = scores, overall = max(scores))
  }
}

# Adds the scores under the labelings of the design, as often as the null asks for them; nulls of groups need all.
permute <- function(null, of_groups, design, score_at, run, verbose) {
  passes_of <- function(null) .Call(C_null_get, null, run)$n_passes
  n <- design$n_labelings
  own <- n * passes_of(null)
  steps <- vapply(of_groups, function(one) n * passes_of(one$null), 0)
  bar <- progress_bar(max(own, steps), verbose)
  done <- following <- 0
  while (following >= 0) {
    found <- score_at(labeling_at(design, following))
    labeling <- following
    if (done < own) following <- core_result(.Call(C_null_add, null, as.double(found$scores), found$overall, labeling, run))
    for (k in which(done < steps)) {
      row <- as.double(of_groups[[k]]$of(found$scores))
      core_result(.Call(C_null_add, of_groups[[k]]$null, row, max(row), labeling, run))
    }
    done <- done + 1
    if (length(of_groups)) following <- if (done < max(own, steps)) done %% n else -1
    bar(done)
  }
}

print.fastfs_permutation <- function(x, n = 10, ...) {
  cat(
    "<permutation test of ", x$method, ": ", x$design, ", ", x$n_permutations, " permutations",
    if (x$exact) " (all)" else if (x$stopped) " (stopped early)", ">\n",
    "p = ", format(x$pvalue, digits = 3), " that the labels have nothing to do with x\n", sep = ""
  )
  table <- as.data.frame(x)
  table <- table[order(x$ranking)[seq_len(min(n, nrow(table)))], c("feature", "score", "z", "pvalue", "pvalue_max")]
  print(table, row.names = FALSE, ...)
  cat(describe_cut(x, "family-wise"), "\n", sep = "")
  invisible(x)
}

summary.fastfs_permutation <- function(object, level = 0.05, ...) {
  c(
    pvalue = object$pvalue, n_permutations = object$n_permutations, resolution = object$resolution,
    label_free = object$label_free, significant = sum(object$pvalues_max <= level),
    discovered = sum(object$pvalues_adjusted <= level)
  )
}

as.data.frame.fastfs_permutation <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(
    feature = if (is.null(names(x$scores))) seq_along(x$scores) else names(x$scores), score = unname(x$scores),
    z = unname(x$z), ranking = unname(x$ranking), pvalue = unname(x$pvalues),
    pvalue_adjusted = unname(x$pvalues_adjusted), pvalue_max = unname(x$pvalues_max), row.names = row.names,
    stringsAsFactors = FALSE
  )
}

plot.fastfs_permutation <- function(x, main = paste("permutation test of", x$method), xlab = "statistic", ...) {
  graphics::hist(
    x$null_statistics, breaks = 30, main = main, xlab = xlab, xlim = range(x$null_statistics, x$statistic), ...
  )
  graphics::abline(v = x$statistic, lwd = 2, col = "firebrick")
  invisible(x)
}
