# IM4E and IMMIGRATE.

read_smallest <- function(name, value) {
  if (is.null(value)) return(0)
  if (!is.numeric(value)) {
    choose_word(name, value, "auto", "a number", "NULL")
    return(-1)  # FASTFS_SMALLEST_AUTO
  }
  number <- as_number(name, value)
  if (number < 0) refuse(name, " must be a number of at least 0; got ", shown(value))
  number
}

ITERATION <- list(
  max_iter = option(10, whole(low = 1, high = 1e6), "Number of steps at most."),
  tol = option(1e-4, as_number, "The iteration ends if the cost changes by no more than this share.")
)
SIGMA <- list(sigma = option("auto", text = r"(Scale of the soft neighbours: a positive number, or \code{"auto"} for 2
    (IM4E) or 4 (IMMIGRATE) times the median distance of samples to their nearest hit.)"))
END_OF_ITERATIVE <- list(
  scaling = option("standard", text = r"(\code{"standard"}, \code{"range"} or \code{NULL}, as for
    \code{\link{relieff}}.)"),
  random_state = random_state()
)
IM4E <- c(
  SIGMA,
  list(class_weight = option(NULL, text = r"(Factors of classes: a named vector; \code{NULL}: 1.)")),
  ITERATION,
  list(
    w0 = option(NULL, text = r"(Weights to start from; \code{NULL}: all equal.)"),
    n_anchors = option(NULL, as_count, r"(How many samples, drawn anew for each step, a step adds up; \code{NULL}:
    all.)")
  ),
  END_OF_ITERATIVE
)
IMMIGRATE <- c(
  SIGMA,
  ITERATION,
  list(
    prefilter = option("auto", one_of_or_null("auto", "im4e"), r"(Whether IM4E runs first: \code{"im4e"}, \code{NULL} for
    not, or \code{"auto"}: with more than 1000 features; it keeps the best 1000.)"),
    clip = option(FALSE, as_flag, "Negative entries of W become 0, as in the authors' package."),
    smallest = option(NULL, read_smallest, r"(Entries of W below it become 0 in each step; \code{"auto"}: 1 over the
    number of features; \code{NULL}: none.)"),
    negligible = option(0, as_number, "Pairs of samples with a weight up to this are left out."),
    W0 = option(NULL, text = r"(A symmetric matrix to start from; \code{NULL}: all weights equal.)"),
    n_starts = option(1, whole(low = 1, high = 1e6), r"(How many fits to compare: one from \code{W0}, the others from
    random diagonals. The one with the lowest objective of its W is kept.)")
  ),
  END_OF_ITERATIVE
)

iterative_stage <- function(method, given, keep, fit_with) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  scaling <- word_or_none("scaling", given$scaling, c("range", "standard"))
  data <- read_features(given$x, given$y, given$assay, run, makes_dense = TRUE)
  target <- class_target(data$y, data)
  names <- names_of(data, target$classes)
  options <- c(sigma_options(given$sigma), core_options(options_of(method), given))
  of_stage <- list(scaling = scaling)
  if (keep) of_stage$keep <- if (method == "im4e") "manhattan" else "sqeuclidean"
  handle <- NULL
  fit <- function(target, run) {
    if (is.null(handle)) handle <<- core_result(.Call(C_margin_new, data$x, of_stage, run), names)
    found <- fit_with(handle, target, options, run, data, names)
    messages <- core_messages(names)
    found$algorithm <- if (found$stored == 1) "stored" else "blocks"
    found$converged <- found$converged == 1
    found$model <- list(x = data$x, labels = labels_of(target), scaling = scaling)
    found$messages <- messages
    found[setdiff(names(found), "stored")]
  }
  list(data = data, target = target, run = run, fit = fit)
}

sigma_options <- function(sigma) {
  if (is.numeric(sigma)) {
    sigma <- as_number("sigma", sigma)
    if (!(sigma > 0 && is.finite(sigma))) refuse("sigma must be \"auto\" or a positive number; got ", shown(sigma))
    return(list(sigma = sigma, sigma_rule = "given"))
  }
  choose_word("sigma", sigma, "auto", "a positive number")
  list(sigma_rule = "auto")
}

# Numbers of a start, as doubles of this length.
start_values <- function(name, values, n, what) {
  if (is.null(values)) return(NULL)
  if (!is.numeric(values) || length(values) != n) {
    refuse(name, " must be ", what, "; got ", length(values), " values")
  }
  as.double(values)
}

im4e_stage <- function(given, keep) {
  iterative_stage("im4e", given, keep, function(handle, target, options, run, data, names) {
    d <- data$x$n_cols
    options$start <- start_values(
      "w0", by_names("w0", given$w0, data$features, "feature"), d, paste("one weight for each of the", d, "features")
    )
    options$class_factors <- class_factors(given$class_weight, target$classes)
    found <- core_result(.Call(C_im4e, handle, labels_of(target), n_classes(target), options, run), names)
    c(list(scores = found$weights), found[names(found) != "weights"])
  })
}

class_factors <- function(class_weight, classes) {
  if (is.null(class_weight)) return(NULL)
  if (!is.numeric(class_weight) || is.null(names(class_weight)) || !all(names(class_weight) %in% classes)) {
    refuse(
      "class_weight must be a named vector of factors for some or all of the classes ", some_of(quoted(classes)),
      ", or NULL"
    )
  }
  if (!all(is.finite(class_weight) & class_weight > 0)) {
    refuse("class_weight must hold positive numbers; got ", some_of(class_weight))
  }
  factors <- rep(1, length(classes))
  factors[match(names(class_weight), classes)] <- class_weight
  factors
}

im4e <- method_function("im4e", IM4E)

immigrate_stage <- function(given, keep) {
  iterative_stage("immigrate", given, keep, function(handle, target, options, run, data, names) {
    d <- data$x$n_cols
    options$start_matrix <- start_values(
      "W0", both_by_names("W0", given$W0, data$features, "feature"), d * d, paste("a matrix of", d, "x", d, "features")
    )
    if (!is.null(given$W0) && options$prefilter == "im4e") {
      refuse("W0 must be NULL for prefilter = \"im4e\", which makes the start; got both")
    }
    found <- core_result(.Call(C_immigrate, handle, labels_of(target), n_classes(target), options, run), names)
    found$features <- found$features + 1
    if (is.null(found$W)) found["W"] <- NULL
    if (is.null(found$prefilter_weights)) found["prefilter_weights"] <- NULL
    if (!is.null(data$features)) {
      own <- data$features[found$features]
      names(found$features) <- own
      if (length(found$eigenvectors)) rownames(found$eigenvectors) <- own
      if (!is.null(found$W)) dimnames(found$W) <- list(own, own)
    }
    found
  })
}

immigrate <- method_function("immigrate", IMMIGRATE)

top_pairs <- function(result, n = 20, by = "weight") {
  if (!inherits(result, "fastfs_immigrate")) {
    refuse("result must be a result of immigrate; got class ", class(result)[1])
  }
  n <- as_whole("n", n, low = 0)
  by <- choose_word("by", by, c("weight", "residual"))
  size <- length(result$features)
  run <- read_run(1, NULL, FALSE)
  n <- min(n, size * (size - 1) / 2)
  found <- core_result(
    .Call(C_immigrate_pairs, result$eigenvalues, result$eigenvectors, by == "residual", n, run)
  )
  a <- found$a + 1
  b <- found$b + 1
  V <- result$eigenvectors
  parts <- V[a, , drop = FALSE] * V[b, , drop = FALSE] * rep(result$eigenvalues, each = length(a))
  index <- unname(result$features)
  pairs <- data.frame(
    a = index[a], b = index[b], weight = rowSums(parts), residual = rowSums(parts[, -1, drop = FALSE])
  )
  features <- names(result$scores)
  if (!is.null(features)) pairs <- cbind(pairs, a_name = features[pairs$a], b_name = features[pairs$b])
  pairs
}
