# The RELIEF family.

# A stage is what fits of the same x with different targets share: the data, the target, and fit(target), which returns
# the scores and what else there is, with the `messages` of its warnings. keep: whether many fits will follow, so that
# distances are worth keeping.
family_stage <- function(method, given, keep = FALSE) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  is_relief <- method == "relief"
  options <- family_options(method, given)
  data <- read_features(
    given$x, given$y, given$assay, run,
    categorical = if (is_relief) NA else given$categorical_features, makes_dense = is_relief
  )
  target <- family_target(method, given, data)
  n <- data$x$n_rows
  rows <- NULL
  added <- read_given(given$given, data)
  if (!is.null(added) && !is.null(given$distances)) {
    refuse("distances must be NULL with given, which counts in the distances of x")
  }
  x <- if (is.null(added$table)) data$x else with_columns(data$x, added$table)
  columns <- if (is.null(added$table)) added$columns else seq(data$x$n_cols + 1, x$n_cols)
  weights <- by_names("sample_weight", given$sample_weight, data$samples)
  distances <- both_by_names("distances", given$distances, data$samples)
  if (!is.null(weights)) {
    if (!is.numeric(weights) || length(weights) != n || anyNA(weights)) {
      refuse("sample_weight must have one number for each of the ", n, " samples of x")
    }
    weights <- as.double(weights)
    if (all(weights == 0)) refuse("sample_weight must be above 0 for some samples; got 0 for all")
  }
  if (!is.null(distances)) {
    if (!is.matrix(distances) || !is.numeric(distances) || any(dim(distances) != n)) {
      refuse(
        "distances must be a dist object, or a matrix of ", n, " x ", n, " numbers, a row and a column for each sample"
      )
    }
    storage.mode(distances) <- "double"
  }
  if (!is.null(weights) && any(weights == 0)) {
    rows <- which(weights != 0)
    data$x <- take_samples(data$x, rows)
    x <- take_samples(x, rows)
    target <- if (target$kind == "class") {
      class_target(target$classes[target$values[rows] + 1L], data)
    } else {
      target_at(target, rows)
    }
    weights <- weights[rows]
    if (!is.null(distances)) distances <- distances[rows, rows]
  }
  names <- names_of(data, target$classes, rows)
  levels <- if (!is.null(data$levels)) c(data$levels, numeric(x$n_cols - data$x$n_cols))
  stage <- list(scaling = options$scaling, missing = options$missing, levels = levels, distances = distances,
                sample_weights = weights)
  stage <- c(Filter(Negate(is.null), stage), options$ramp)
  if (keep) stage$keep <- if (is_relief) "sqeuclidean" else "manhattan"
  handle <- NULL
  fit <- function(target, run) {
    if (is.null(handle)) {
      made <- core_result(.Call(C_margin_new, x, stage, run), names)
      if (!is.null(columns)) weigh_given(made, columns, x$n_cols, is_relief, run)
      handle <<- made
    }
    given <- c(options$core, target_options(target))
    if (!is.null(options$priors)) given$priors <- class_priors(options$priors, target$classes)
    found <- core_result(.Call(C_relief, handle, labels_of(target), n_classes(target), given, run), names)
    found <- without_given(found, columns, data$x$n_cols, isTRUE(options$core$closed_form))
    c(
      Filter(Negate(is.null), found[c("scores", "scores_se", "given")]),
      list(
        algorithm = if (found$stored == 1) "stored" else "blocks", target_type = target$kind,
        messages = core_messages(names)
      )
    )
  }
  list(data = data, target = target, run = run, fit = fit, given = added$values)
}

# The options of all methods of the family, of all but relief, and of each.
FAMILY <- list(
  given = given_option(r"(Features that you have already. They count in distances, as much together as all others, and
    get no score (0) and the last ranks.)"),
  n_targets = option(NULL, as_count, r"(Number of samples with neighbours that are used, drawn at random, at least 50 of
    each class if that has them; \code{NULL}: all.)"),
  scaling = option("auto", text = r"(\code{"auto"} and \code{"range"} scale numbers to [0, 1], \code{"standard"} to mean 0
    and standard deviation 1; \code{NULL}: as they are.)"),
  random_state = random_state()
)
TABLES <- list(
  categorical_features = option(NULL, text = r"(Columns that hold categories, in addition to factors: a mask, numbers,
    names, \code{"all"} or \code{NULL}.)"),
  missing = option("error", text = r"(Missing values are an \code{"error"}, or distances and scores \code{"ignore"} them;
    \code{"class"} takes a missing value for all values of its class, each with its share.)"),
  target_type = option("auto", text = r"(What \code{y} holds. \code{"auto"}: classes if it holds factors, logicals,
    strings or integers of at most 20 different values, or two whole numbers such as \code{as.numeric(y == "case")};
    numbers if it holds fractions; otherwise you must say it.)"),
  ramp = option(NULL, text = r"(In scores, though not in distances, scaled differences count as 0 up to the first of two
    numbers and as 1 from the second one on; \code{"sd"}: those above the standard deviation count as 1; or
    \code{NULL}.)")
)
NEIGHBORS <- list(n_neighbors = option(10, whole(low = 1), r"(Hits of each sample, and misses in each other class; for
    \code{rrelieff} neighbours in all.)"))
PRIORS <- list(priors = option(NULL, text = r"(Shares of the classes, a named vector, or \code{"uniform"}; \code{NULL}:
    those of the samples.)"))
FAR <- list(far = option(FALSE, as_flag, "Use far samples too, with the opposite sign (SURF*, MultiSURF*, SWRF*)."))
FAMILY_OF <- list(
  relief = list(closed_form = option(FALSE, as_flag, r"(\code{FALSE}: Algorithm 1. \code{TRUE}: the weights that maximise
    the margin, of norm 1.)")),
  relieff = c(NEIGHBORS, PRIORS),
  mu_relief = c(NEIGHBORS, PRIORS),
  surf = FAR,
  multisurf = FAR,
  swrf = c(FAR, list(
    radius = option("all", one_of("all", "sample"), r"(What the threshold is taken from: the distances of \code{"all"}
    pairs, or of each \code{"sample"}.)"),
    dead_band = option(0, as_number, "Samples within this many standard deviations of the threshold don't count.")
  )),
  rrelieff = c(NEIGHBORS, list(sigma = option(20, as_number, r"(The r-th nearest neighbour weighs
    \eqn{\exp(-(r / \sigma)^2)}{exp(-(r / sigma)^2)}.)")))
)

family_options <- function(method, given) {
  scaling <- word_or_none("scaling", given$scaling, c("auto", "range", "standard"))
  core <- c(list(method = sub("_", "", method)), core_options(options_of(method), given))
  found <- list(core = core, scaling = if (scaling == "auto") "range" else scaling)
  if (method != "relief") {
    found$missing <- choose_word("missing", given$missing, c("error", "ignore", "class"))
    found$ramp <- read_ramp(given$ramp)
  }
  found["priors"] <- list(read_priors(given$priors))
  found
}

read_ramp <- function(ramp) {
  if (is.null(ramp)) return(list(ramp = "none"))
  if (is.numeric(ramp) && length(ramp) == 2 && !anyNA(ramp)) {
    return(list(ramp = "given", ramp_low = as.double(ramp[1]), ramp_high = as.double(ramp[2])))
  }
  list(ramp = choose_word("ramp", ramp, "sd", "two numbers", "NULL"))
}

read_priors <- function(priors) {
  if (is.null(priors) || (is.numeric(priors) && !is.null(names(priors)))) return(priors)
  choose_word("priors", priors, "uniform", "a named vector of shares", "NULL")
}

class_priors <- function(priors, classes) {
  if (is.null(classes)) refuse("priors must be NULL for numbers as y, which have no classes: leave priors out")
  if (is.character(priors)) return(rep(1 / length(classes), length(classes)))
  if (!setequal(names(priors), classes) || length(priors) != length(classes)) {
    refuse("priors must have a share for each of the classes ", some_of(quoted(classes)), ", and for no others")
  }
  as.double(priors[classes])
}

family_target <- function(method, given, data) {
  if (method == "relief") return(class_target(data$y, data))
  is_rrelieff <- method == "rrelieff"
  words <- if (is_rrelieff) c("auto", "number", "survival") else c("auto", "class", "number")
  target <- read_target(data$y, data, choose_word("target_type", given$target_type, words), is_rrelieff)
  if (is_rrelieff && target$kind == "class") {
    refuse("y must hold numbers or times for rrelieff; got classes: use relieff")
  }
  if (!is_rrelieff && target$kind == "survival") {
    refuse("y must hold classes or numbers; got events and times: use rrelieff")
  }
  target
}

target_options <- function(target) {
  switch(target$kind,
    class = list(target = "class"),
    number = list(target = "number", y = target$values),
    survival = list(target = "survival", y = as.double(target$values[, 1]), events = as.integer(target$values[, 2]))
  )
}

# Returns the function of a method of the family.
family_function <- function(method) {
  rows <- c(list(sample_weight = NULL), if (method != "relief") list(distances = NULL))
  method_function(method, c(FAMILY_OF[[method]], if (method != "relief") TABLES, FAMILY), more = rows)
}

relief <- family_function("relief")
relieff <- family_function("relieff")
mu_relief <- family_function("mu_relief")
surf <- family_function("surf")
multisurf <- family_function("multisurf")
swrf <- family_function("swrf")
rrelieff <- family_function("rrelieff")
