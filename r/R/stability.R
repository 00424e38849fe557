# Stability: how much of a selection comes back on other samples of the same population. The definitions are those of
# Python's fastfs.

stability <- function(method, x, y, options = list(), blocks = NULL, groups = NULL, scheme = "subsamples",
                      n_subsamples = 100, fraction = 0.5, n_pairs = 50, threshold = 0.75, confidence = 0.95,
                      random_state = 0, verbose = FALSE) {
  method <- method_name(method)
  choose_word("scheme", scheme, c("subsamples", "complementary"))
  n_subsamples <- as_whole("n_subsamples", n_subsamples, low = 2)
  n_pairs <- as_whole("n_pairs", n_pairs, low = 1)
  shares <- list(fraction = fraction, confidence = confidence)
  for (name in names(shares)) {
    share <- as_number(name, shares[[name]])
    if (!(share > 0 && share < 1)) refuse(name, " must lie between 0 and 1; got ", share)
  }
  if (!(as_number("threshold", threshold) > 0.5 && threshold <= 1)) {
    refuse("threshold must lie above 0.5 and be at most 1; got ", threshold)
  }
  seed <- as_seed(random_state)
  given <- arguments_of(method, x, y, options)
  # Reads x and y of all samples, so that errors are about these.
  stage <- STAGES[[method]](given, FALSE)
  warn_without_effect(method, given)
  n <- stage$data$x$n_rows
  d <- stage$data$x$n_cols
  design <- design_of(stage$target, given$x, blocks, groups, n, seed = seed)
  halves <- scheme == "complementary"
  taken <- core_result(.Call(
    C_design_subsamples, design$handle, halves, fraction, if (halves) 2 * n_pairs else n_subsamples, n, design$run
  ))
  rows <- lapply(seq_len(ncol(taken)), function(m) which(taken[, m] == 1))
  alone <- sum(tabulate(design$strata + 1) == 1)
  if (alone > 0) {
    warn(paste0(
      alone, " of ", design$n_strata, " combinations of class and block have one ", design$drawn, ", which is ",
      if (halves) "in no half" else "in every subsample"
    ))
  }
  bar <- progress_bar(length(rows), as_flag("verbose", verbose))
  found <- list()
  for (m in seq_along(rows)) {
    found[[m]] <- select_on(method, c(given, n_fits = length(rows)), rows[[m]])
    bar(m)
  }
  if (!is.null(found[[1]]$economy)) warn(found[[1]]$economy)
  selected <- lapply(found, function(one) sort(unname(one$selected)))
  shared <- compare_selections(d, selected, lapply(found, function(one) unname(one$scores)), halves, threshold)
  half <- stats::qnorm((1 + confidence) / 2) * sqrt(shared$variance)
  features <- stage$data$features
  stable <- which(shared$frequencies >= threshold)
  shared$frequencies <- stats::setNames(shared$frequencies, features)
  structure(
    c(
      list(method = method), shared[setdiff(names(shared), "variance")],
      list(
        interval = shared$stability + c(-half, half), selected = selected,
        selected_stable = stats::setNames(stable, features[stable]), scheme = scheme
      )
    ),
    class = "fastfs_stability"
  )
}

# What selections (numbers of features, ascending) and scores have in common.
compare_selections <- function(n_features, selected, scores, halves, threshold) {
  is_complete <- all(vapply(scores, function(one) length(one) == n_features && all(is.finite(one)), NA))
  core_result(.Call(
    C_stability, n_features, unlist(selected) - 1, c(0, cumsum(lengths(selected))),
    if (is_complete) lapply(scores, as.double), halves, threshold, read_run(0, NULL, FALSE)
  ))
}

# The method on some of the samples, without its warnings.
select_on <- function(method, given, rows) {
  x <- given$x
  given$x <- if (is_experiment(x)) x[, rows] else x[rows, , drop = FALSE]
  y <- given$y
  if (!(is.character(y) && length(y) == 1) && !is.null(y)) {
    given$y <- if (is.matrix(y) || is.data.frame(y)) y[rows, , drop = FALSE] else y[rows]
    if (inherits(y, "Surv")) given$y <- y[rows, ]
  }
  if (!is.null(given$sample_weight)) given$sample_weight <- given$sample_weight[rows]
  if (length(dim(given$given)) == 2) given$given <- given$given[rows, , drop = FALSE]
  if (!is.null(given$distances)) given$distances <- as.matrix(given$distances)[rows, rows]
  stage <- STAGES[[method]](given, FALSE)
  count_selected(given$n_features_to_select, stage$data$x$n_cols)
  fitted <- stage$fit(stage$target, quiet(stage$run))
  found <- new_result(method, stage, fitted, given$n_features_to_select)
  # Not what else it found, which may refer to the samples.
  found <- found[c("selected", "scores")]
  if (identical(given$accuracy, "auto") && identical(fitted$accuracy, "small_domains")) {
    found$economy <- paste0(
      "ManiFeSt takes small domains, since ", fitted$accuracy_reason,
      ": choose accuracy = \"domains\" or \"exact\" for scores as of a single fit"
    )
  }
  found
}

print.fastfs_stability <- function(x, ...) {
  cat(
    "<stability of ", x$method, ": ", length(x$selected), " selections of ", length(x$frequencies), " features>\n",
    "index ", format(x$stability, digits = 3), " (", format(x$interval[1], digits = 3), " to ",
    format(x$interval[2], digits = 3), "); ", length(x$selected_stable), " features are selected often\n", sep = ""
  )
  if (!is.na(x$rare_bound)) {
    cat("at most ", format(x$rare_bound, digits = 3), " of them are rare ones, on average\n", sep = "")
  }
  invisible(x)
}

summary.fastfs_stability <- function(object, ...) {
  c(
    stability = object$stability, low = object$interval[1], high = object$interval[2],
    relevance_correlation = object$relevance_correlation, relevance_pearson = object$relevance_pearson,
    n_stable = length(object$selected_stable), rare_bound = object$rare_bound
  )
}

as.data.frame.fastfs_stability <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(
    feature = if (is.null(names(x$frequencies))) seq_along(x$frequencies) else names(x$frequencies),
    frequency = unname(x$frequencies), stable = seq_along(x$frequencies) %in% x$selected_stable, row.names = row.names,
    stringsAsFactors = FALSE
  )
}

plot.fastfs_stability <- function(x, n = 20, main = paste("stability of", x$method), xlab = "frequency", ...) {
  best <- rev(order(-x$frequencies)[seq_len(min(n, length(x$frequencies)))])
  labels <- names(x$frequencies)
  if (is.null(labels)) labels <- paste0("[", seq_along(x$frequencies), "]")
  graphics::dotchart(unname(x$frequencies)[best], labels = labels[best], main = main, xlab = xlab, pch = 19, ...)
  invisible(x)
}
