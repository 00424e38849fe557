# ProjSe.

projse_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  kernel <- choose_word("kernel", given$kernel, c("linear", "poly", "rbf"))
  sigma <- given$sigma
  options <- list(
    kernel = kernel,
    degree = as_whole("degree", given$degree, high = 2^31 - 1),
    center = if (is.logical(given$center)) {
      if (as_flag("center", given$center)) "yes" else "no"
    } else {
      choose_word("center", given$center, "auto", "TRUE", "FALSE")
    },
    normalize = as_flag("normalize", given$normalize),
    eps = as_number("eps", given$eps),
    beyond = word_or_none("beyond", given$beyond, "residual")
  )
  options <- c(options, if (is.character(sigma)) {
    list(sigma_rule = choose_word("sigma", sigma, c("mean", "sqrt_m"), "a positive number"))
  } else {
    list(sigma_rule = "given", sigma = as_number("sigma", sigma))
  })
  data <- read_features(given$x, given$y, given$assay, run)
  target <- projse_target(data$y, data, run)
  d <- data$x$n_cols
  n <- given$n_features_to_select
  options$n_select <- if (is.null(n)) min(10, d) else count_selected(n, d)
  names <- names_of(data, target$classes)
  fit <- function(target, run) {
    Y <- if (target$kind == "number") dense(target$values)
    found <- core_result(.Call(C_projse, data$x, Y, labels_of(target), n_classes(target), options, run), names)
    messages <- core_messages(without = if (is.null(n)) "few_selected")
    found$selected <- found$selected + 1
    if (options$beyond == "none") found$explained <- NULL
    found$kernel_rank <- if (found$kernel_rank >= 0) found$kernel_rank
    found$center <- found$center == 1
    if (kernel != "rbf") found$sigma <- NULL
    found$messages <- messages
    found
  }
  stage <- list(data = data, target = target, run = run, fit = fit)
  if (kernel == "linear" && target$kind == "class") {
    # Scores many labelings together: the columns of a matrix.
    stage$score_labelings <- function(labels, run) {
      core_result(.Call(C_projse_label_scores, data$x, labels, n_classes(target), options, run), names)
    }
  }
  stage
}

# Classes, a matrix of numbers, or no target. Whole numbers are labels, unless they are a matrix.
projse_target <- function(y, data, run) {
  if (is.null(y)) return(list(kind = "none", values = rep(0, data$x$n_rows)))
  if (is.data.frame(y)) y <- read_columns(y, NA)$values
  fractions <- is.numeric(y) && !is.object(y) && is.null(dim(y)) && any(y != floor(y), na.rm = TRUE)
  if (is.matrix(y) || fractions) {
    if (fractions) y <- matrix(as_values(y, data, "number"))
    values <- read_matrix(y, "y", run)$values
    if (nrow(values) != data$x$n_rows) {
      refuse("y must have a row for each of the ", data$x$n_rows, " samples of x; got ", nrow(values))
    }
    return(list(kind = "number", values = values))
  }
  target <- class_target(y, data)
  if (is.numeric(y) && !is.object(y) && n_classes(target) > max(20, length(y) / 2)) {
    warn(paste0(
      "y is taken as labels, and has ", n_classes(target), " different ones in ", length(y),
      " samples: if these are numbers, give matrix(y)"
    ))
  }
  target
}

projse <- function(x, y = NULL, n_features_to_select = NULL, kernel = "linear", degree = 3, sigma = "mean",
                   center = "auto", normalize = TRUE, eps = 1e-6, beyond = NULL, assay = 1, n_threads = 0,
                   max_memory = NULL, verbose = FALSE) {
  run_method("projse", as.list(environment()))
}
