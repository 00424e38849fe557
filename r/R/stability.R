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
    if (!(share > 0 && share < 1)) refuse(name, " must lie between 0 and 1, but is ", share)
  }
  if (!(as_number("threshold", threshold) > 0.5 && threshold <= 1)) {
    refuse("threshold must lie above 0.5 and be at most 1, but is ", threshold)
  }
  seed <- as_seed(random_state)
  given <- arguments_of(method, x, y, options)
  # Reads x and y of all samples, whose errors are then about these.
  stage <- STAGES[[method]](given, FALSE)
  warn_without_effect(method, given)
  n <- stage$data$x$n_rows
  d <- stage$data$x$n_cols
  design <- design_of(stage$target, x, blocks, groups, n)
  parts <- sampling_units(design)
  strata <- split(seq_along(parts$strata), parts$strata)
  if (scheme == "complementary") {
    sizes <- lengths(strata) %/% 2
    require_halves(parts, sizes, stage$target, !is.null(blocks))
    rows <- with_seed(seed, draw_parts(parts, strata, sizes, 2, n_pairs))
  } else {
    sizes <- pmax(1, round(fraction * lengths(strata)))
    if (sum(sizes) == length(parts$strata)) {
      refuse(
        "subsamples must leave out some of the ", sum(sizes), " ", parts$word, "s, but hold all with fraction = ",
        fraction, " of each class and block: give more ", parts$word, "s, or a smaller fraction"
      )
    }
    rows <- with_seed(seed, draw_parts(parts, strata, sizes, 1, n_subsamples))
  }
  alone <- sum(lengths(strata) == 1)
  if (alone > 0) {
    warn(paste0(
      alone, " of ", length(strata), " combinations of class and block have one ", parts$word, ", which is ",
      if (scheme == "complementary") "in no half" else "in every subsample"
    ))
  }
  bar <- progress_bar(length(rows), as_flag("verbose", verbose))
  found <- list()
  for (m in seq_along(rows)) {
    found[[m]] <- select_on(method, given, rows[[m]])
    bar(m)
  }
  selected <- lapply(found, function(one) sort(unname(one$selected)))
  frequencies <- tabulate(unlist(selected), d) / length(rows)
  index <- nogueira(selected, frequencies)
  bounds <- c(NA_real_, NA_real_)
  if (scheme == "complementary") {
    bounds <- rare_bounds(sum(lengths(selected)) / length(rows), d, threshold, n_pairs)
  }
  half <- stats::qnorm((1 + confidence) / 2) * sqrt(index[["variance"]])
  scores <- lapply(found, function(one) unname(one$scores))
  features <- stage$data$features
  stable <- which(frequencies >= threshold)
  structure(
    list(
      method = method, frequencies = stats::setNames(frequencies, features), stability = index[["index"]],
      interval = index[["index"]] + c(-half, half), relevance_correlation = mean_correlation(scores),
      relevance_pearson = mean_correlation(scores, ranks = FALSE), selected = selected,
      selected_stable = stats::setNames(stable, features[stable]), rare_bound = bounds[1],
      rare_bound_unimodal = bounds[2], scheme = scheme
    ),
    class = "fastfs_stability"
  )
}

# The unit of each sample, which is drawn as a whole, and the stratum of each unit: those with the same blocks and
# classes.
sampling_units <- function(design) {
  codes <- if (design$is_class) design$codes else rep(1L, length(design$codes))
  block <- design$block$codes
  group <- design$group$codes
  unit <- if (is.null(group)) seq_along(codes) else group
  word <- if (is.null(group)) "sample" else "group"
  first <- !duplicated(unit)
  moves <- is.null(group) || design$word == "group"
  if (design$is_class && any(block != 1) && moves && !anyDuplicated(paste(block, design$codes)[first])) {
    # No two of a block have one label, as in pairs, and in donors of a treated and a control specimen.
    unit <- block
    word <- "block"
    block <- rep(1L, length(block))
  }
  held <- vapply(split(paste(block, codes), unit), function(parts) paste(sort(unique(parts)), collapse = ";"), "")
  list(unit = unit, strata = match(held, unique(held)), word = word)
}

require_halves <- function(parts, sizes, target, has_blocks) {
  stays <- sizes[parts$strata][parts$unit] > 0
  codes <- if (target$kind == "class") target$values else rep(0L, length(stays))
  lost <- setdiff(codes, codes[stays])
  if (length(lost)) {
    of_class <- if (target$kind == "class") paste(" of class", quoted(target$classes[lost[1] + 1]))
    refuse(
      "halves need two ", parts$word, "s", of_class,
      if (has_blocks) " in one block, but no block has them" else ", but there is one", ": give more ", parts$word, "s"
    )
  }
}

# The rows of each subsample, ascending: disjoint parts of so many units of each stratum, so many times.
draw_parts <- function(parts, strata, sizes, n_parts, times) {
  found <- list()
  for (time in seq_len(times)) {
    orders <- lapply(strata, function(units) units[sample.int(length(units))])
    for (part in seq_len(n_parts)) {
      drawn <- Map(function(order, size) order[(part - 1) * size + seq_len(size)], orders, sizes)
      found[[length(found) + 1]] <- which(parts$unit %in% unlist(drawn))
    }
  }
  found
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
  if (!is.null(given$distances)) given$distances <- as.matrix(given$distances)[rows, rows]
  stage <- STAGES[[method]](given, FALSE)
  count_selected(given$n_features_to_select, stage$data$x$n_cols)
  found <- new_result(method, stage, stage$fit(stage$target, quiet(stage$run)), given$n_features_to_select)
  # Not what else it found, which may refer to the samples.
  found[c("selected", "scores")]
}

# The index of Nogueira et al. (definition 4) and its variance (theorem 7).
nogueira <- function(selected, frequencies) {
  M <- length(selected)
  d <- length(frequencies)
  sizes <- lengths(selected)
  k <- mean(sizes)
  chance <- k / d * (1 - k / d)
  if (chance == 0) {
    refuse(
      "every subsample selected ", if (k == 0) "none" else "all", " of the ", d,
      " features, so that there is nothing to compare: choose another n_features_to_select"
    )
  }
  index <- 1 - M / (M - 1) * mean(frequencies * (1 - frequencies)) / chance
  shared <- vapply(selected, function(support) sum(frequencies[support]), 0)
  phi <- (shared / d - sizes * k / d^2 + index / 2 * (2 * k * sizes / d^2 - sizes / d - k / d + 1)) / chance
  list(index = index, variance = 4 / M^2 * sum((phi - mean(phi))^2))
}

# The bounds of Shah and Samworth, of theorems 1 and 2, on the number of rarely selected features.
rare_bounds <- function(q, d, threshold, n_pairs) {
  rare <- q / d
  always <- rare * q / (2 * threshold - 1)
  step <- 1 / (2 * n_pairs)
  if (rare > 1 / sqrt(3) || threshold <= 0.5 + min(rare^2, step + 0.75 * rare^2)) return(c(always, NA_real_))
  factor <- if (threshold <= 0.75) {
    1 / (2 * (2 * threshold - 1 - step))
  } else {
    4 * (1 - threshold + step) / (1 + 2 * step)
  }
  c(always, factor * rare * q)
}

print.fastfs_stability <- function(x, ...) {
  cat(
    "<stability of ", x$method, ": ", length(x$selected), " selections of ", length(x$frequencies), " features>\n",
    "index ", format(x$stability, digits = 3), " (", format(x$interval[1], digits = 3), " to ",
    format(x$interval[2], digits = 3), "); ", length(x$selected_stable), " features are selected often\n", sep = ""
  )
  if (!is.na(x$rare_bound)) {
    cat("of which at most ", format(x$rare_bound, digits = 3), " are rare ones, on average\n", sep = "")
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
