# Designs: which labelings of the samples are as likely as the true one, if the labels say nothing about x. The core finds
# and draws them, the same ones as in Python; here columns become numbers and names.

# A list of what the core says of the design, its handle and its target; a labeling of it is a target. seed: of labelings
# and subsamples. keeps_names: whether the scores to test depend on the names of the classes. shuffled: whether all
# labelings come in random order.
new_design <- function(target, blocks, groups, n, covariates = NULL, n_permutations = 0, seed = 0, keeps_names = FALSE,
                       shuffled = FALSE, given = NULL) {
  values <- target$values
  options <- list()
  names <- list()
  is_number <- target$kind == "number" && NCOL(values) == 1
  first <- NULL
  if (target$kind == "class") {
    options <- list(labels = values, n_labels = length(target$classes))
    names$label_names <- quoted(target$classes)
  } else if (is_number) {
    options$numbers <- as.double(values)
  } else {
    keys <- do.call(paste, c(as.data.frame(as.matrix(values)), sep = "\r"))
    first <- which(!duplicated(keys))
    options <- list(labels = match(keys, unique(keys)) - 1, n_labels = length(first), records = TRUE)
    names$label_names <- unique(keys)
    if (target$kind == "survival") {
      options <- c(options, list(times = as.double(values[, 1]), events = as.integer(values[, 2])))
    }
  }
  block <- design_column("blocks", blocks, n)
  group <- design_column("groups", groups, n)
  options <- c(options, list(blocks = block$codes, n_blocks = length(block$names)))
  options <- c(options, list(groups = group$codes, n_groups = length(group$names)))
  names$block_names <- block$names
  names$group_names <- group$names
  if (!is.null(covariates) || !is.null(given)) {
    columns <- cbind(
      if (!is.null(covariates)) covariate_columns(covariates, n), if (!is.null(given)) covariate_columns(given, n, "given")
    )
    options <- c(options, list(covariates = as.double(t(columns)), n_covariates = ncol(columns)))
  }
  options <- c(options, list(
    n_permutations = n_permutations, seed = seed, keeps_names = keeps_names, shuffled = shuffled, n_samples = n
  ))
  run <- read_run(0, NULL, FALSE)
  handle <- core_result(.Call(C_design_new, Filter(Negate(is.null), options), names, run))
  warnings <- core_messages()
  facts <- .Call(C_design_get, handle, run)
  c(facts, list(warnings = warnings, handle = handle, target = target, first = first, has_numbers = is_number, run = run))
}

# The design of columns of an experiment may be given by the names of these.
design_of <- function(target, x, blocks, groups, n, covariates = NULL, ...) {
  if (is_experiment(x)) {
    blocks <- column_of(x, blocks, "blocks")
    groups <- column_of(x, groups, "groups")
    if (is.character(covariates) && is.null(dim(covariates)) && length(covariates) < n) {
      covariates <- lapply(stats::setNames(nm = covariates), function(name) column_of(x, name, "covariates"))
      covariates <- as.data.frame(covariates, optional = TRUE)
    }
  }
  samples <- sample_names(x)
  blocks <- by_names("blocks", blocks, samples)
  groups <- by_names("groups", groups, samples)
  new_design(target, blocks, groups, n, by_names("covariates", covariates, samples), ...)
}

# The number of each sample's value, in the order they come in, from 0, and the names of the values.
design_column <- function(name, given, n) {
  if (is.null(given)) return(list())
  if (!(is.atomic(given) || is.factor(given)) || !is.null(dim(given))) {
    refuse(name, " must be a vector of one value for each sample; got class ", class(given)[1])
  }
  if (length(given) != n) refuse(name, " must have one value for each of the ", n, " samples; got ", length(given))
  if (anyNA(given)) {
    rows <- which(is.na(given))
    refuse(name, " must have no missing values; got some for sample ", some_of(rows), ": drop these samples")
  }
  given <- as.character(given)
  list(names = quoted(unique(given)), codes = match(given, unique(given)) - 1)
}

# Refuses a design without another labeling, and warns of its weaknesses.
check_design <- function(design) {
  if (!is.null(design$confounded)) refuse(design$confounded)
  warn(design$warnings)
}

# Returns `count` labelings from the 0-based `first` on: one column of labels or numbers per labeling.
labels_of_labelings <- function(design, first, count) {
  core_result(.Call(
    C_design_labelings, design$handle, first, count, design$has_numbers, design$n_samples, design$run
  ))
}

labeling_at <- function(design, number) {
  values <- labels_of_labelings(design, number, 1)
  if (!is.null(design$first)) return(target_at(design$target, design$first[values + 1L]))
  design$target$values[] <- values
  design$target
}

# Covariates as numbers: factors and strings as a column of 0 and 1 for each value but the first.
covariate_columns <- function(given, n, parameter = "covariates") {
  if (isS4(given)) given <- as.data.frame(given, optional = TRUE)
  if (!is.data.frame(given)) {
    if (is.list(given) || is.null(given) || !(is.atomic(given) || is.factor(given)) || length(dim(given)) > 2) {
      refuse(
        parameter, " must be a vector, or a matrix or data.frame of samples x covariates; got class ", class(given)[1]
      )
    }
    given <- if (is.matrix(given)) as.data.frame(given) else data.frame(covariate = given)
  }
  if (nrow(given) != n || ncol(given) == 0) {
    refuse(
      parameter, " must have one row for each of the ", n, " samples, and a column at least; got ", nrow(given),
      " rows and ", ncol(given), " columns"
    )
  }
  rows <- which(rowSums(is.na(given)) > 0)
  if (length(rows)) {
    refuse(parameter, " must have no missing values; got some for sample ", some_of(rows), ": drop these samples")
  }
  columns <- lapply(names(given), function(name) {
    column <- given[[name]]
    if ((is.numeric(column) || is.logical(column)) && !is.object(column)) return(as.double(column))
    if (!is.character(column) && !is.factor(column)) {
      refuse(
        parameter, " must hold numbers or categories; got class ", class(column)[1], " in '", name, "': convert it"
      )
    }
    values <- unique(as.character(column))
    vapply(values[-1], function(value) as.double(column == value), numeric(n))
  })
  columns <- matrix(unlist(columns), n)
  if (ncol(columns) == 0) columns <- matrix(0, n, 1)
  rows <- which(rowSums(!is.finite(columns)) > 0)
  if (length(rows)) refuse(parameter, " must be finite; got others for sample ", some_of(rows), ": drop these samples")
  columns
}

# A text bar from two seconds on: a function of the steps done.
progress_bar <- function(total, is_wanted) {
  started <- proc.time()[["elapsed"]]
  bar <- NULL
  function(done) {
    if (!is_wanted) return(invisible())
    if (is.null(bar) && proc.time()[["elapsed"]] > started + 2) {
      bar <<- utils::txtProgressBar(max = total, style = 3, file = stderr())
    }
    if (!is.null(bar)) {
      utils::setTxtProgressBar(bar, done)
      if (done == total) close(bar)
    }
  }
}
