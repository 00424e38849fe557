# Results: scores of the features, their ranking, and what else a method finds.

new_result <- function(method, stage, found, n_features_to_select) {
  features <- stage$data$features
  scores <- found$scores
  best <- best_first(scores, found$given)
  n <- count_selected(n_features_to_select, length(scores))
  # ProjSe selects features that aren't the best by themselves, and perhaps fewer than asked for.
  if (method == "projse") {
    best <- c(found$selected, best[!best %in% found$selected])
    n <- length(found$selected)
  }
  selected <- best[seq_len(n)]
  ranking <- places_of(best)
  names(scores) <- names(ranking) <- features
  names(selected) <- features[selected]
  details <- found[setdiff(names(found), c("scores", "selected", "given", "messages"))]
  structure(
    c(
      list(method = method, scores = scores, ranking = ranking, selected = selected, n_samples = stage$data$x$n_rows),
      if (!is.null(stage$target$classes)) list(classes = stage$target$classes),
      details
    ),
    class = c(paste0("fastfs_", method), "fastfs")
  )
}

feature_names <- function(result) {
  names <- names(result$scores)
  if (is.null(names)) paste0("[", seq_along(result$scores), "]") else names
}

print.fastfs <- function(x, n = 10, ...) {
  cat(
    "<", x$method, ": ", length(x$scores), " features of ", x$n_samples, " samples",
    if (!is.null(x$classes)) paste0(", classes ", some_of(quoted(x$classes))), ">\n", sep = ""
  )
  best <- order(x$ranking)[seq_len(min(n, length(x$scores)))]
  print(data.frame(score = unname(x$scores)[best], row.names = make.unique(feature_names(x)[best])), ...)
  more <- length(x$scores) - n
  if (more > 0) cat("... and ", more, " more; selected: ", length(x$selected), "\n", sep = "")
  invisible(x)
}

summary.fastfs <- function(object, ...) {
  details <- object[vapply(object, function(value) is.atomic(value) && length(value) == 1, NA)]
  structure(
    list(
      method = object$method, n_features = length(object$scores), n_selected = length(object$selected),
      scores = summary(unname(object$scores)), details = details[setdiff(names(details), c("method", "n_samples"))],
      n_samples = object$n_samples, classes = object$classes
    ),
    class = "summary.fastfs"
  )
}

print.summary.fastfs <- function(x, ...) {
  cat(x$method, ": ", x$n_features, " features of ", x$n_samples, " samples, ", x$n_selected, " selected\n", sep = "")
  if (!is.null(x$classes)) cat("classes: ", some_of(quoted(x$classes)), "\n", sep = "")
  for (name in names(x$details)) cat(name, ": ", format(x$details[[name]]), "\n", sep = "")
  cat("scores:\n")
  print(x$scores, ...)
  invisible(x)
}

as.data.frame.fastfs <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(
    feature = if (is.null(names(x$scores))) seq_along(x$scores) else names(x$scores),
    score = unname(x$scores), ranking = unname(x$ranking), selected = seq_along(x$scores) %in% x$selected,
    row.names = row.names, stringsAsFactors = FALSE
  )
}

plot.fastfs <- function(x, n = 20, main = x$method, xlab = "score", ...) {
  best <- rev(order(x$ranking)[seq_len(min(n, length(x$scores)))])
  graphics::dotchart(unname(x$scores)[best], labels = feature_names(x)[best], main = main, xlab = xlab, pch = 19, ...)
  invisible(x)
}

add_scores <- function(experiment, result, prefix = result$method) {
  if (!is_experiment(experiment)) {
    refuse("experiment must be a SummarizedExperiment; got class ", class(experiment)[1])
  }
  if (!inherits(result, "fastfs")) refuse("result must be a result of fastfs; got class ", class(result)[1])
  if (nrow(experiment) != length(result$scores)) {
    refuse("experiment must have the ", length(result$scores), " features of the result; got ", nrow(experiment))
  }
  needs_package("SummarizedExperiment", "for experiments")
  rows <- SummarizedExperiment::rowData(experiment)
  table <- as.data.frame(result)
  for (column in c("score", "ranking", "selected")) rows[[paste0(prefix, "_", column)]] <- table[[column]]
  SummarizedExperiment::rowData(experiment) <- rows
  experiment
}

fastfs_info <- function(n_threads = 0, max_memory = NULL) {
  .Call(C_info, read_run(n_threads, max_memory, FALSE))
}
