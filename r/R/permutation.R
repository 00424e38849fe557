# Permutation tests: p-values for the scores of any method, from the same method on shuffled labels. The definitions are
# those of Python's fastfs.

# A test stops once so many statistics have reached the true one; z is first given a scale by so many draws.
ENOUGH <- 10
PILOT <- 49

# z of skewed scores needs so many permutations.
ENOUGH_FOR_SKEWED <- 999

# Scores that differ by less than this share are ties, as are those that differ by less than rounding leaves of the
# largest one.
TIE <- 1e-9
ROUNDING <- 1e-14

# What another score must reach to be as large as each of these.
reach <- function(scores) scores - pmax(TIE * abs(scores), ROUNDING * max(abs(scores)))

permutation_test <- function(method, x, y, options = list(), blocks = NULL, groups = NULL, covariates = NULL,
                             statistic = "z", ranking = "score", n_permutations = "auto", stop = NULL, fdr = "bh",
                             random_state = 0, verbose = FALSE) {
  method <- method_name(method)
  choose_word("statistic", statistic, c("z", "score"))
  choose_word("ranking", ranking, c("score", "z"))
  choose_word("fdr", fdr, c("bh", "by"))
  is_auto <- is.character(n_permutations)
  if (is_auto) choose_word("n_permutations", n_permutations, "auto", "a whole number")
  most <- if (is_auto) 999 else as_whole("n_permutations", n_permutations, low = 1)
  may_stop <- if (is.null(stop)) is_auto else as_flag("stop", stop)
  seed <- as_seed(random_state)
  as_flag("verbose", verbose)
  if (is.null(y)) refuse("a permutation test shuffles the samples' labels, but y is NULL: give them")
  given <- arguments_of(method, x, y, options)
  if (!is.null(given$sample_weight) && any(given$sample_weight == 0)) {
    refuse("samples of weight 0 have no label to permute: leave them out of x and y")
  }
  stage <- STAGES[[method]](given, TRUE)
  warn_without_effect(method, given)
  run <- quiet(stage$run)
  design <- design_of(stage$target, x, blocks, groups, stage$data$x$n_rows, covariates)
  ignores_names <- is.null(given$class_weight)
  check_design(design, ignores_names)
  exact <- is_uniform(design) && design$n_distinct <= 1 + most
  if (exact) {
    most <- design$n_distinct - 1
    may_stop <- FALSE
  }
  found <- stage$fit(stage$target, run)
  warn(found$messages)
  scores <- found$scores
  if (!all(is.finite(scores))) refuse("the scores of ", method, " aren't finite, so they can't be compared")
  require_bytes(16 * length(scores) * most, "the scores of all permutations", run)
  overall <- overall_statistic(found)

  score_at <- function(labeling) {
    found <- stage$fit(labeling, run)
    list(scores = found$scores, overall = overall_statistic(found))
  }
  if (!is.null(stage$score_labelings)) score_at <- score_projse(stage, run)
  null <- with_seed(seed, permute(design, score_at, scores, overall, most, exact, may_stop, statistic, verbose))
  summarise_null(null, scores, overall, method, design, stage, exact, statistic, ranking, fdr, ignores_names)
}

overall_statistic <- function(found) max(if (is.null(found$statistic)) found$scores else found$statistic)

score_projse <- function(stage, run) {
  function(labeling) {
    scores <- drop(stage$score_labelings(matrix(labeling$values), run))
    list(scores = scores, overall = max(scores))
  }
}

# The scores under other labelings, a column each, and their overall statistics.
permute <- function(design, score_at, scores, overall, most, exact, may_stop, statistic, verbose) {
  labelings <- if (exact) other_labelings(design)
  design <- ready_to_draw(design)
  bar <- progress_bar(most, verbose)
  rows <- list()
  own <- numeric()
  limit <- overall - TIE * abs(overall)
  pilot <- NULL
  counted <- reached <- 0
  stopped <- FALSE
  for (b in seq_len(most)) {
    found <- score_at(if (exact) labelings[[b]] else draw_labeling(design))
    rows[[b]] <- found$scores
    own[b] <- found$overall
    bar(b)
    if (!may_stop) next
    value <- found$overall
    if (statistic == "z") {
      if (b == PILOT) {
        pilot <- scale_of(moments_of(rows, scores), with_true = FALSE)
        z <- (scores - pilot$center) / pilot$spread
        limit <- reach_of(pilot, scores)[which.max(z)]
      }
      if (b <= PILOT) next
      value <- max((found$scores - pilot$center) / pilot$spread)
    }
    counted <- counted + 1
    reached <- reached + (value >= limit)
    if (reached == ENOUGH) {
      stopped <- TRUE
      break
    }
  }
  list(rows = rows, statistics = own, stopped = stopped, counted = counted)
}

# Sums about the first row.
moments_of <- function(rows, scores) {
  about <- rows[[1]]
  differences <- matrix(unlist(rows), ncol = length(rows)) - about
  list(
    n = length(rows), true = scores, about = about, first = rowSums(differences), second = rowSums(differences^2),
    third = rowSums(differences^3),
    largest = pmax(abs(scores), do.call(pmax, lapply(rows, abs)))
  )
}

# Means and standard deviations of the rows, and of the true scores among them; infinite for scores that never change.
scale_of <- function(moments, with_true) {
  difference <- if (with_true) moments$true - moments$about else 0
  n <- moments$n + with_true
  mean <- (moments$first + difference) / n
  sd <- sqrt(pmax((moments$second + difference^2) / n - mean^2, 0))
  constant <- sd <= pmax(TIE * moments$largest, ROUNDING * max(abs(moments$true)))
  list(center = moments$about + mean, spread = ifelse(constant, Inf, sd))
}

reach_of <- function(scale, scores) {
  z <- (scores - scale$center) / scale$spread
  z - pmax(TIE * abs(z), (scores - reach(scores)) / scale$spread)
}

skewness_of <- function(moments) {
  first <- moments$first / moments$n
  second <- moments$second / moments$n
  third <- moments$third / moments$n
  (third - 3 * first * second + 2 * first^3) / scale_of(moments, with_true = FALSE)$spread^3
}

# Family-wise p-values of Westfall and Young: each feature against the largest of those that aren't above it.
step_down <- function(true, limits, rows) {
  order <- rev(order(-true, method = "radix"))
  limits <- limits[order]
  counts <- rep(1, length(true))
  for (row in rows) counts <- counts + (cummax(row[order]) >= limits)
  found <- numeric(length(true))
  found[order] <- rev(cummax(rev(counts / (length(rows) + 1))))
  found
}

summarise_null <- function(null, scores, overall, method, design, stage, exact, statistic, ranking, fdr,
                           ignores_names) {
  smallest <- smallest_pvalue(design, ignores_names)
  rows <- null$rows
  n <- length(rows)
  moments <- moments_of(rows, scores)
  scale <- scale_of(moments, with_true = TRUE)
  degenerate <- is.infinite(scale$spread)
  z <- (scores - scale$center) / scale$spread
  limits <- reach(scores)
  exceeding <- Reduce(`+`, lapply(rows, function(row) row >= limits), 0)
  pvalues <- ifelse(degenerate, 1, (1 + exceeding) / (1 + n))
  if (statistic == "z") {
    standardised <- lapply(rows, function(row) (row - scale$center) / scale$spread)
    pvalues_max <- step_down(z, reach_of(scale, scores), standardised)
    value <- max(z)
    statistics <- vapply(standardised, max, 0)
    pvalue <- min(pvalues_max)
  } else {
    pvalues_max <- step_down(scores, limits, rows)
    value <- overall
    statistics <- null$statistics
    pvalue <- (1 + sum(statistics >= value - TIE * abs(value))) / (1 + n)
  }
  if (null$stopped) pvalue <- ENOUGH / null$counted
  skewness <- skewness_of(moments)
  label_free <- mean_correlation(list(scores, moments$about + moments$first / n))
  features <- stage$data$features
  named <- function(values) stats::setNames(values, features)
  found <- list(
    method = method, scores = named(scores), z = named(z),
    ranking = named(places_of(best_first(if (ranking == "z") z else scores))), pvalues = named(pvalues),
    pvalues_adjusted = named(stats::p.adjust(pvalues, if (fdr == "bh") "BH" else "BY")),
    pvalues_max = named(ifelse(degenerate, 1, pvalues_max)), statistic = value, pvalue = pvalue,
    null_statistics = statistics, null_mean = named(scale$center),
    null_sd = named(ifelse(degenerate, 0, scale$spread)), null_skew = named(skewness), degenerate = which(degenerate),
    label_free = label_free, n_distinct = design$n_distinct, n_permutations = n, exact = exact, stopped = null$stopped,
    design = describe_design(design), resolution = if (exact) smallest else 1 / (1 + n), fdr = fdr
  )
  messages <- character()
  if (ranking == "score" && smallest <= SIGNIFICANT && !is.na(label_free) &&
        label_free > max(0.5, 2.5 / sqrt(max(1, length(scores) - 1)))) {
    messages <- paste0(
      method, " ranks features much as without labels: its scores and their means under permuted labels have a rank ",
      "correlation of ", format(label_free, digits = 2), " (label_free): rank by z instead"
    )
  }
  skew <- if (all(degenerate)) 0 else stats::median(skewness[!degenerate])
  if ("z" %in% c(statistic, ranking) && skew > 2 && n < ENOUGH_FOR_SKEWED && !exact && !null$stopped) {
    messages <- c(messages, paste0(
      "scores under permuted labels are skewed (null_skew has the median ", format(skew, digits = 2), "), so z needs ",
      ENOUGH_FOR_SKEWED, " permutations or more, but there are ", n, ": raise n_permutations"
    ))
  }
  warn(messages)
  structure(found, class = "fastfs_permutation")
}

# Mean of Spearman's correlation over all pairs, or of Pearson's; NA if some scores are all equal.
mean_correlation <- function(scores, ranks = TRUE) {
  total <- 0
  for (one in scores) {
    if (all(one == one[1])) return(NA_real_)
    values <- if (ranks) rank(one) else one / max(abs(one))
    values <- values - mean(values)
    total <- total + values / sqrt(sum(values^2))
  }
  M <- length(scores)
  (sum(total^2) - M) / (M * (M - 1))
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
