# Two classes of 20 samples that differ in the first feature, and in the exclusive or of the next two.
example_data <- function(n = 40, d = 12, seed = 1) {
  set.seed(seed)
  y <- rep(c("a", "b"), length.out = n)
  x <- matrix(rnorm(n * d), n, d, dimnames = list(paste0("s", seq_len(n)), paste0("g", seq_len(d))))
  x[, 1] <- x[, 1] + 2 * (y == "b")
  list(x = x, y = y)
}

# The address of the values of an object, to see whether something was copied.
address <- function(x) sub(" .*", "", utils::capture.output(.Internal(inspect(x)))[1])

experiment_of <- function(data) {
  counts <- t(data$x)
  SummarizedExperiment::SummarizedExperiment(
    assays = list(counts = counts, logs = counts * 2),
    colData = data.frame(state = data$y, row.names = rownames(data$x))
  )
}

METHODS <- list(
  relief = list(), relieff = list(), mu_relief = list(), surf = list(), multisurf = list(), swrf = list(),
  im4e = list(), immigrate = list(), manifest = list(), projse = list(),
  disc = list(n_components = 3, bandwidth_neighbors = 4), ikdr = list()
)

run <- function(method, x, y, ...) {
  suppressWarnings(do.call(get(method, asNamespace("fastfs")), c(list(x, y), METHODS[[method]], list(...))))
}
