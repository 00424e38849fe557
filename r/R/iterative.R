# IM4E and IMMIGRATE.

iterative_stage <- function(method, given, keep, options, fit_with) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  scaling <- word_or_none("scaling", given$scaling, c("range", "standard"))
  data <- read_features(given$x, given$y, given$assay, run, makes_dense = TRUE)
  target <- class_target(data$y, data)
  names <- names_of(data, target$classes)
  options <- c(sigma_options(given$sigma), list(
    max_iter = as_whole("max_iter", given$max_iter, low = 1, high = 1e6), tol = as_number("tol", given$tol)
  ), options)
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
  options <- list(n_anchors = as_count("n_anchors", given$n_anchors), seed = as_seed(given$random_state))
  iterative_stage("im4e", given, keep, options, function(handle, target, options, run, data, names) {
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

im4e <- function(x, y, n_features_to_select = NULL, sigma = "auto", class_weight = NULL, max_iter = 10, tol = 1e-4,
                 w0 = NULL, n_anchors = NULL, scaling = "standard", random_state = 0, assay = 1, n_threads = 0,
                 max_memory = NULL, verbose = FALSE) {
  run_method("im4e", as.list(environment()))
}

immigrate_stage <- function(given, keep) {
  smallest <- given$smallest
  options <- list(
    prefilter = word_or_none("prefilter", given$prefilter, c("auto", "im4e")),
    clip = as_flag("clip", given$clip),
    # -1 is FASTFS_SMALLEST_AUTO.
    smallest = if (is.null(smallest)) {
      0
    } else if (is.numeric(smallest)) {
      as_number("smallest", smallest)
    } else {
      choose_word("smallest", smallest, "auto", "a number", "NULL")
      -1
    },
    negligible = as_number("negligible", given$negligible),
    n_starts = as_whole("n_starts", given$n_starts, low = 1, high = 1e6), seed = as_seed(given$random_state)
  )
  if (is.numeric(smallest) && smallest < 0) refuse("smallest must be a number of at least 0; got ", shown(smallest))
  iterative_stage("immigrate", given, keep, options, function(handle, target, options, run, data, names) {
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

immigrate <- function(x, y, n_features_to_select = NULL, sigma = "auto", max_iter = 10, tol = 1e-4,
                      prefilter = "auto", clip = FALSE, smallest = NULL, negligible = 0, W0 = NULL,
                      n_starts = 1, scaling = "standard", random_state = 0, assay = 1, n_threads = 0,
                      max_memory = NULL, verbose = FALSE) {
  run_method("immigrate", as.list(environment()))
}

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
