# A filter with the interface of mlr3filters: calculate(task), then scores in descending order.

fastfs_filter <- function(method, ...) {
  method <- method_name(method)
  self <- new.env(parent = emptyenv())
  self$id <- method
  self$param_set <- list(...)
  self$scores <- NULL
  self$calculate <- function(task, nfeat = NULL) {
    features <- task$feature_names
    if (!is.function(task$data) || is.null(features)) {
      refuse(
        "task must be a task of mlr3, or have data(cols), feature_names and target_names as one; got class ",
        class(task)[1]
      )
    }
    x <- as.data.frame(task$data(cols = features))
    y <- as.data.frame(task$data(cols = task$target_names))[[1]]
    options <- self$param_set
    if (!is.null(nfeat)) options$n_features_to_select <- nfeat
    found <- run_method(method, arguments_of(method, x, y, options))
    scores <- found$scores[order(found$ranking)]
    self$scores <- if (is.null(nfeat)) scores else utils::head(scores, nfeat)
    invisible(self)
  }
  structure(self, class = "fastfs_filter")
}

print.fastfs_filter <- function(x, ...) {
  cat("<filter of fastfs: ", x$id, ">\n", sep = "")
  if (!is.null(x$scores)) print(utils::head(as.data.frame(x), 10), row.names = FALSE)
  invisible(x)
}

as.data.frame.fastfs_filter <- function(x, row.names = NULL, optional = FALSE, ...) {
  if (is.null(x$scores)) refuse("the filter must have scores; got none yet: call calculate(task) first")
  data.frame(feature = names(x$scores), score = unname(x$scores), row.names = row.names, stringsAsFactors = FALSE)
}
