# DiSC.

DISC <- list(
  n_components = option(NULL, text = r"(Number of diffusion vectors of each class: one number, or one for each.
    \code{NULL}: 20, or if that is less, a quarter of the (features - 2) / (classes - 1) that always fit.)"),
  graph = option("knn", one_of("knn", "dense", "lists"), r"(\code{"knn"}: the \code{n_neighbors} nearest features of
    each; \code{"dense"}: all pairs of features, which gives other scores; \code{"lists"}: most of the nearest, for very
    many features.)"),
  n_neighbors = option(30, as_whole, r"(For \code{"knn"} and \code{"lists"}.)", needs = list(graph = c("knn", "lists"))),
  bandwidth_neighbors = option(30, as_whole, "A feature's bandwidth is the distance to this nearest other feature."),
  density = option(1, as_number, "In [0, 1]: affinities are divided by a power of their sums."),
  constant = option("drop", one_of("drop", "project"), r"(Whether the constant vector is among those projected out
    (\code{"project"}) or not (\code{"drop"}).)"),
  n_vectors = option(10, as_whole, "Differential vectors of each class."),
  n_differential = option(NULL, as_count, r"(How many of them make the scores; \code{NULL}: up to the largest ratio of
    significances.)"),
  scaling = option(NULL, one_of_or_null("standard"), r"(\code{"standard"} or \code{NULL}.)"),
  random_state = random_state()
)

disc_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  options <- core_options(DISC, given)
  data <- read_features(given$x, given$y, given$assay, run)
  target <- class_target(data$y, data)
  K <- n_classes(target)
  n_components <- vapply(given$n_components, function(n) as_count("n_components", n), 0)
  if (is.null(given$n_components)) n_components <- 0
  if (!length(n_components) %in% c(1, K)) {
    refuse("n_components must be one number, or one for each of the ", K, " classes; got ", length(n_components))
  }
  n_components <- rep_len(n_components, K)
  d <- data$x$n_cols
  fit <- function(target, run) {
    rows <- lapply(seq_len(K), function(k) which(target$values == k - 1L))
    # The core takes a matrix for each class: copies, which are x once more.
    sets <- lapply(rows, function(own) take_samples(data$x, own))
    names <- names_of(data)
    names$set_rows <- rows
    names$set <- function(s) paste0("class '", target$classes[s], "'")
    found <- core_result(.Call(C_disc, sets, n_components, options, run), names)
    c(disc_result(found, target$classes, data, options), list(messages = core_messages(names)))
  }
  list(data = data, target = target, run = run, fit = fit)
}

disc_result <- function(found, classes, data, options) {
  stacked <- function(name) vapply(found, function(set) as.double(set[[name]]), 0)
  n_vectors <- max(lengths(lapply(found, `[[`, "significance")))
  # A set has fewer vectors if the other sets take more directions.
  padded <- function(values) c(as.double(values), numeric(n_vectors - length(values)))
  significance <- vapply(found, function(set) padded(set$significance), numeric(n_vectors))
  trivial <- vapply(found, function(set) padded(set$trivial), numeric(n_vectors)) > 0
  dim(significance) <- dim(trivial) <- c(n_vectors, length(classes))
  class_scores <- matrix(unlist(lapply(found, `[[`, "scores")), ncol = length(classes),
                         dimnames = list(data$features, classes))
  colnames(significance) <- colnames(trivial) <- classes
  first <- found[[1]]
  statistic <- significance
  statistic[trivial] <- 0
  result <- list(
    scores = do.call(pmax, lapply(seq_along(classes), function(k) unname(class_scores[, k]))),
    class_scores = class_scores,
    significance = significance,
    trivial = trivial,
    statistic = apply(statistic, 2, max),
    n_differential = stacked("n_differential"),
    ratio = stacked("ratio"),
    gap = stacked("gap"),
    n_connected_components = stacked("n_connected_components"),
    vectors = lapply(found, `[[`, "vectors"),
    eigenvalues = lapply(found, `[[`, "eigenvalues"),
    diffusion = lapply(found, `[[`, "diffusion"),
    bandwidths = lapply(found, `[[`, "bandwidths"),
    graph = options$graph
  )
  if (options$graph == "lists") result$graph_recall <- stacked("graph_recall")
  if (!is.null(first$mean)) result <- c(result, list(mean = first$mean, scale = first$scale))
  result
}

disc <- method_function("disc", DISC)
