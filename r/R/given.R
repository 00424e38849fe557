# Columns that are given: what features add to them is asked.

given_option <- function(text) option(NULL, text = paste(text, r"(\code{given}: numbers or names of features, a mask, or
    a matrix or data.frame with a row for each sample; \code{\link{permutation_test}} takes them as covariates.)"))

# Reads `given`: NULL, or a list of `columns`, the numbers of features of x, and `values`, a data.frame of theirs or of a
# table with the samples of x, and `table`, the numbers of such a table.
read_given <- function(given, data) {
  if (length(given) == 0) return(NULL)
  n <- data$x$n_rows
  d <- data$x$n_cols
  if (length(dim(given)) == 2) {
    given <- by_names("given", given, data$samples)
    return(list(values = as.data.frame(given), table = covariate_columns(given, n, "given")))
  }
  columns <- which(columns_mask("given", given, d, data$features, "a table"))
  if (length(columns) == d) refuse("given must leave features to choose from; got all ", d)
  if (length(columns) == 0) return(NULL)
  values <- as.data.frame(take_features(data$x, columns))
  for (k in which(data$levels[columns] > 0)) values[[k]] <- factor(values[[k]])
  list(columns = columns, values = values)
}

# The values of some features, samples x features.
take_features <- function(values, columns) {
  if (values$storage == "csr") return(t(Matrix::as.matrix(as_Matrix(values)[columns, , drop = FALSE])))
  if (values$storage == "csc") return(Matrix::as.matrix(as_Matrix(values)[, columns, drop = FALSE]))
  if (values$by_row) return(t(values$values[columns, , drop = FALSE]))
  values$values[, columns, drop = FALSE]
}

# x with the columns of a table behind its own.
with_columns <- function(values, table) {
  if (values$storage != "dense") refuse("given must list features of a sparse x; got a table: give as.matrix(x)")
  if (values$by_row) dense(rbind(values$values, t(table)), TRUE) else dense(cbind(values$values, table))
}

# Restricts distances to the features of x and the given columns, which count as much as all others together.
weigh_given <- function(handle, given, n_features, squared, run) {
  n_given <- length(given)
  weights <- rep(1, n_features)
  share <- max(1, (n_features - n_given) / n_given)
  weights[given] <- if (squared) sqrt(share) else share
  core_result(.Call(C_margin_use, handle, as.double(seq_len(n_features) - 1), weights, run))
}

# Scores of the features of x alone: 0 for given ones.
without_given <- function(found, columns, n_features, closed_form) {
  if (is.null(columns)) return(found)
  found$given <- columns[columns <= n_features]
  for (name in c("scores", "scores_se")) {
    if (is.null(found[[name]])) next
    found[[name]] <- found[[name]][seq_len(n_features)]
    found[[name]][found$given] <- 0
  }
  norm <- sqrt(sum(found$scores^2))
  if (closed_form && norm > 0) found$scores <- found$scores / norm
  found
}
