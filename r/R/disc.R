# DiSC.

disc_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  graph <- choose_word("graph", given$graph, c("knn", "dense", "lists"))
  options <- list(
    graph = graph,
    n_neighbors = as_whole("n_neighbors", given$n_neighbors),
    bandwidth_neighbors = as_whole("bandwidth_neighbors", given$bandwidth_neighbors),
    density = as_number("density", given$density),
    constant = choose_word("constant", given$constant, c("drop", "project")),
    n_vectors = as_whole("n_vectors", given$n_vectors),
    n_differential = as_count("n_differential", given$n_differential),
    scaling = word_or_none("scaling", given$scaling, "standard"),
    seed = as_seed(given$random_state)
  )
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

disc <- function(x, y, n_features_to_select = NULL, n_components = NULL, graph = "knn", n_neighbors = 30,
                 bandwidth_neighbors = 30, density = 1, constant = "drop", n_vectors = 10, n_differential = NULL,
                 scaling = NULL, random_state = 0, assay = 1, n_threads = 0, max_memory = NULL, verbose = FALSE) {
  run_method("disc", as.list(environment()))
}
