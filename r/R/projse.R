# ProjSe.

read_center <- function(name, value) {
  if (is.logical(value)) {
    if (as_flag(name, value)) "yes" else "no"
  } else {
    choose_word(name, value, "auto", "TRUE", "FALSE")
  }
}

PROJSE <- list(
  kernel = option("linear", one_of("linear", "poly", "rbf"), r"(Between variables: \code{"linear"}, \code{"poly"} or
    \code{"rbf"}.)"),
  degree = option(3, whole(high = 2^31 - 1), r"(Of \code{"poly"}.)", needs = list(kernel = "poly")),
  sigma = option("mean", text = r"(Of \code{"rbf"}: \code{"mean"} distance of the targets, \code{"sqrt_m"} (the root of
    the number of samples) or a number.)", needs = list(kernel = "rbf")),
  center = option("auto", read_center, r"(Subtract the mean of each column: \code{TRUE}, \code{FALSE}, or \code{"auto"}
    with labels only.)"),
  normalize = option(TRUE, as_flag, "Scale kernels to a unit diagonal."),
  eps = option(1e-6, as_number, "Directions of the targets below this share of the largest don't count."),
  beyond = option(NULL, one_of_or_null("residual"), r"(When the selected features have used up the span of the target:
    \code{NULL} stops, as the paper does; \code{"residual"} goes on with the feature that explains most of the target's
    residual.)"),
  given = given_option(r"(Features that you have already: scores and choices tell what others add, because their span is
    taken out of all features and of the target first.)")
)

projse_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  sigma <- given$sigma
  options <- core_options(PROJSE, given)
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
  added <- read_given(given$given, data)
  if (!is.null(added)) {
    columns <- if (is.null(added$table)) take_features(data$x, added$columns) else added$table
    options$n_given <- ncol(columns)
    if (target$kind == "class" && options$center == "auto") options$center <- "yes"
  }
  fit <- function(target, run) {
    Y <- if (target$kind == "number") target$values
    if (!is.null(added)) {
      if (target$kind == "class") Y <- outer(target$values, seq_along(target$classes) - 1, "==") + 0
      Y <- cbind(Y, columns)
    }
    labels <- if (is.null(added)) labels_of(target)
    Y <- if (!is.null(Y)) dense(Y)
    n_labels <- if (is.null(added)) n_classes(target) else 0
    found <- core_result(.Call(C_projse, data$x, Y, labels, n_labels, options, run), names)
    messages <- core_messages(without = if (is.null(n)) "few_selected")
    found$selected <- found$selected + 1
    if (options$beyond == "none") found$explained <- NULL
    found$kernel_rank <- if (found$kernel_rank >= 0) found$kernel_rank
    found$center <- found$center == 1
    if (options$kernel != "rbf") found$sigma <- NULL
    found$messages <- messages
    found
  }
  stage <- list(data = data, target = target, run = run, fit = fit, given = added$values)
  if (options$kernel == "linear" && target$kind == "class" && is.null(added)) {
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

projse <- method_function("projse", PROJSE, y = list(y = NULL))
