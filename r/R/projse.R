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
    found$selected <- found$selected + 1
    steps <- seq_len(found$n_selected)
    for (part in c("selection_scores", "gaps", "captured", "explained")) found[[part]] <- found[[part]][steps]
    if (options$beyond == "none") found$explained <- NULL
    messages <- projse_messages(found, options, target$kind != "none", !is.null(n))
    found$kernel_rank <- if (found$kernel_rank >= 0) found$kernel_rank
    found$center <- found$center == 1
    if (kernel != "rbf") found$sigma <- NULL
    found$messages <- messages
    found[setdiff(names(found), c("warnings", "n_selected"))]
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

PROJSE <- c(all_samples = 1L, tiny = 2L, nearly = 4L, tie = 8L)

projse_messages <- function(found, options, has_target, is_asked) {
  has <- function(bit) has_bit(found$warnings, PROJSE[[bit]])
  messages <- character()
  if (is_asked && found$n_selected < options$n_select) {
    messages <- c(messages, paste0(
      "only ", found$n_selected, " of the ", options$n_select, " features asked for were selected: ",
      if (options$beyond == "residual") {
        "the others explain nothing more of the target"
      } else {
        paste0(
          "the kernel of ", if (has_target) "the target" else "the features", " has rank ", found$kernel_rank,
          ", and then nothing is left to explain"
        )
      }
    ))
  }
  if (has("tiny")) {
    messages <- c(messages, paste0(
      "no score reaches 1e-8 (the largest is ", format(max(found$scores), digits = 2), "), so the order means ",
      "nothing: ",
      if (options$kernel == "rbf") "give another sigma, or scale the columns" else "x and y have nothing in common"
    ))
  }
  if (has("nearly")) {
    messages <- c(messages, paste0(
      "the columns of the target are nearly dependent: directions with eigenvalues below eps = ", format(options$eps),
      " were left out, which makes its rank ", found$kernel_rank
    ))
  }
  if (has_target && has("all_samples")) {
    messages <- c(messages, paste(
      "the target spans all samples: every feature is explained fully by it, so all scores are equal and the target",
      "has no influence on the choice; give fewer targets or more samples"
    ))
  } else if (has("tie")) {
    messages <- c(messages, paste0(
      "the first choice is a tie: the lowest index wins, and all later choices depend on it",
      if (!has_target) " (without a target it always is)"
    ))
  }
  messages
}

projse <- function(x, y = NULL, n_features_to_select = NULL, kernel = "linear", degree = 3, sigma = "mean",
                   center = "auto", normalize = TRUE, eps = 1e-6, beyond = NULL, assay = 1, n_threads = 0,
                   max_memory = NULL, verbose = FALSE) {
  run_method("projse", as.list(environment()))
}
