data <- example_data()
x <- data$x
y <- data$y

refused <- function(code, pattern) expect_error(code, pattern, class = "fastfs_invalid_argument")

test_that("x must be a table of numbers", {
  refused(relieff(NULL, y), "got NULL")
  refused(relieff(list(1, 2), y), "got a list: give a matrix")
  refused(relieff(matrix("1", 40, 2), y), "got a character matrix")
  refused(relieff(factor(y), y), "got a factor")
  refused(relieff(1:40, y), "got an integer vector: a single feature is matrix\\(x, ncol = 1\\)")
  refused(relieff(x + 0i, y), "got a complex matrix")
  refused(relieff(array(0, c(2, 2, 2)), y), "got a double vector")
  refused(relieff(new.env(), y), "got one of class environment")
})

test_that("columns of other types are named", {
  table <- data.frame(x[, 1:2], day = as.Date("2020-01-01") + 1:40)
  refused(relieff(table, y), "got type Date in column 3 \\('day'\\): convert it to numbers, or drop it")
  table$day <- as.character(table$day)
  refused(relieff(table, y), "got type character in column 3 \\('day'\\): make it a factor, or drop it")
  table$day <- factor(table$day)
  refused(projse(table, y), "got type factor in column 3 \\('day'\\): drop it")
  table$day <- I(as.list(1:40))
  refused(relieff(table, y), "column 3 \\('day'\\)")
})

test_that("missing values are named", {
  x[3, 5] <- NA
  for (method in names(METHODS)) {
    refused(run(method, x, y), "sample 3 \\(s3\\)")
    refused(run(method, x, y), "feature 5 \\(g5\\)")
  }
  expect_no_match <- function(text) expect_false(grepl("counted from", text))
  expect_no_match(tryCatch(relieff(x, y), error = conditionMessage))
  x[3, 5] <- Inf
  refused(surf(x, y), "sample 3 \\(s3\\)")
  expect_true(all(is.finite(relieff(replace(data$x, 5, NA), y, missing = "ignore")$scores)))
  labels <- y
  labels[7] <- NA
  refused(relieff(data$x, labels), "y must have a label for each sample; got NA for sample 7 \\(s7\\)")
})

test_that("y must be labels of all samples", {
  refused(relieff(x, NULL), "got NULL")
  refused(relieff(x, y[-1]), "for each of the 40 samples of x; got 39")
  refused(relieff(x, rep("a", 40)), "at least two classes; got only 'a'")
  refused(relieff(x, as.list(y)), "must be a vector or a factor")
  refused(relief(x, x[, 1]), "must hold classes; got values such as")
  refused(relieff(x, rep(c(0, 1, 2, 3), 10)), "got whole numbers, which can be either: give factor\\(y\\)")
  ids <- "got 40 of the 40 samples alone in their class, such as '(id)?1': if these are ids, give the labels in their place"
  refused(relieff(x, paste0("id", 1:40)), paste0(ids, "$"))
  refused(relieff(x, as.character(1:40)), paste0(ids, ", and if they are numbers, cut them into classes$"))
  refused(rrelieff(x, y), "got classes: use relieff")
})

test_that("an assay or a column that isn't there is refused by the names there are", {
  skip_if_not_installed("SummarizedExperiment")
  experiment <- experiment_of(data)
  refused(relieff(experiment, "state", assay = "tpm"), "assay must be one of 'counts', 'logs'; got 'tpm'")
  refused(relieff(experiment, "state", assay = 3), "one of the 2 assays")
  refused(relieff(experiment, "stage"), "got 'stage', but it has 'state'")
})

test_that("parameters are checked", {
  refused(relieff(x, y, n_neighbors = 0), "n_neighbors must be at least 1; got 0")
  refused(relieff(x, y, n_neighbors = 2.5), "n_neighbors must be a whole number; got 2.5")
  refused(relieff(x, y, n_neighbors = 1e300), "n_neighbors must be at most 9007199254740992")
  refused(relieff(x, y, n_neighbors = NA), "must be a whole number; got NA")
  refused(relieff(x, y, scaling = "z"), "scaling must be \"auto\", \"range\", \"standard\" or NULL; got \"z\"")
  refused(relieff(x, y, 13), "from 1 to the 12 features; got 13")
  refused(relieff(x, y, max_memory = "lots"), "max_memory must be a number of bytes")
  refused(relieff(x, y, verbose = NA), "verbose must be TRUE or FALSE; got NA")
  refused(relieff(x, y, n_threads = -1), "n_threads|threads")
  refused(im4e(x, y, class_weight = c(z = 2)), "for some or all of the classes 'a', 'b'")
  refused(manifest(x, y, sigma = 1), "2 numbers, one for each class")
  refused(ikdr(x, y, groups = 1:3), "one label for each of the 12 features")
  refused(permutation_test("lasso", x, y), "method must be \"relief\"")
  refused(permutation_test(mean, x, y), "must be a function of fastfs")
  refused(permutation_test("relieff", x, y, options = list(k = 3)), "relieff has no parameter 'k', but n_features")
})

test_that("groups of features are checked", {
  of <- function(groups, ...) permutation_test("relieff", x, y, feature_groups = groups, ...)
  refused(of(1:3), "feature_groups must be a named list of features; got class integer")
  refused(of(list()), "feature_groups must hold groups; got none")
  refused(of(list(1:3)), "feature_groups must have a different name for each group")
  refused(of(list(a = 1, a = 2)), "feature_groups must have a different name for each group")
  refused(of(list(a = integer())), "group 'a' of feature_groups must hold features; got none: leave it out")
  refused(of(list(a = 99)), "group 'a' of feature_groups must be NULL, or a mask")
  refused(of(list(a = 1:2), stop = TRUE), "stop must be FALSE with feature_groups")
})

test_that("the nearest name is named", {
  refused(permutation_test("releiff", x, y), "got \"releiff\"; did you mean relieff\\?")
  refused(stability("ReliefF", x, y), "did you mean relieff\\?")
  refused(fastfs_filter("multi_surf"), "did you mean multisurf\\?")
  refused(relieff(x, y, scaling = "standart"), "did you mean standard\\?")
  misspelt <- list(n_neighbours = 3)
  refused(permutation_test("relieff", x, y, options = misspelt), "'n_neighbours'; did you mean n_neighbors\\?$")
  refused(differential_correlation(x, y, correlation = "spearmen"), "did you mean spearman\\?")
  refused(differential_correlation(x, y, features = c("g1", "G2")), "did you mean g2\\?")
  skip_if_not_installed("SummarizedExperiment")
  refused(relieff(experiment_of(data), "State"), "got 'State'.*did you mean state\\?")
  refused(relieff(experiment_of(data), "state", assay = "count"), "got 'count'.*did you mean counts\\?")
})

test_that("options without effect are named", {
  warned <- function(code, text) expect_warning(code, text, fixed = TRUE, class = "fastfs_warning")
  warned(manifest(x, y, sigma_percentile = 10),
         'sigma_percentile = 10 has no effect with sigma = "median": it needs sigma = "percentile"')
  warned(manifest(x, y, sigma = c(1, 2), sigma_factor = 2), "sigma_factor = 2 has no effect with sigma = c(1, 2)")
  warned(manifest(x, y, accuracy = "exact", rank = 3), 'rank = 3 has no effect with accuracy = "exact"')
  warned(projse(x, y, degree = 7), 'degree = 7 has no effect with kernel = "linear": it needs kernel = "poly"')
  warned(ikdr(x, y, rho = 2), 'rho = 2 has no effect with solver = "projected_gradient": it needs solver = "admm"')
  warned(ikdr(x, y, mu = 0, interpretability = "distance"),
         'interpretability = "distance" has no effect with mu = 0: it needs mu above 0')
  warned(projse(x, y, sigma = 2), 'sigma = 2 has no effect with kernel = "linear": it needs kernel = "rbf"')
  warned(disc(x, y, graph = "dense", n_neighbors = 3, n_components = 3, bandwidth_neighbors = 4),
         'it needs graph = "knn" or "lists"')
  warned(permutation_test("projse", x, y, list(degree = 7), n_permutations = 5, statistic = "score"), "degree = 7 has")
  warned(stability("projse", x, y, list(degree = 7, n_features_to_select = 2), n_subsamples = 3), "degree = 7 has no")
  expect_no_warning(manifest(x, y, sigma = "percentile", sigma_percentile = 10))
  expect_no_warning(projse(x, y, kernel = "poly", degree = 2))
})

test_that("memory beyond the budget is refused before the work", {
  memory <- function(code, pattern) expect_error(code, pattern, class = "fastfs_out_of_memory")
  memory(relieff(x, y, max_memory = 1000), "^relieff: .* memory budget .* raise max_memory \\(or FASTFS_MAX_MEMORY\\)")
  memory(do.call(surf, list(x, y, max_memory = 1000)), "^surf: ")
  memory(permutation_test("relieff", x, y, list(max_memory = 1000)), "^permutation_test: .* raise max_memory in options")
  memory(stability("relieff", x, y, list(max_memory = 1000)), "^stability: .* raise max_memory in options")
  memory(predict(im4e(x, y), x, max_memory = 1000), "^predict: ")
  memory(differential_correlation(x, y, max_memory = 1000), "^differential_correlation: ")
  skip_if_not_installed("Matrix")
  sparse <- Matrix::sparseMatrix(i = 1:40, j = 1:40, x = 1, dims = c(40, 50000))
  expect_error(
    im4e(sparse, y, max_memory = "1M"), "as a dense matrix would need 16.00 MB", class = "fastfs_out_of_memory"
  )
})

test_that("sizes beyond 32 bits don't overflow", {
  # Vectors of 3e9 values, which R doesn't store.
  refused(relieff(x, seq_len(3e9)), "for each of the 40 samples of x; got 3000000000$")
  refused(relieff(seq_len(3e9), y), "got a double vector")
  skip_if_not_installed("Matrix")
  wide <- Matrix::sparseMatrix(i = 1:40, j = 1:40, x = 1, dims = c(30000, 100000))
  expect_error(
    im4e(wide, rep(0:1, 15000), max_memory = "8G"), "as a dense matrix would need 24.00 GB",
    class = "fastfs_out_of_memory"
  )
})

test_that("scores to combine are checked", {
  refused(manifest(x, y, combine = 1:3), "one score for each of the 12 features; got 3 of class integer")
  refused(manifest(x, y, combine = c(NA, 1:11)), "missing or infinite")
  refused(manifest(x, y, combine = "t"), "combine must be \"f\"")
  refused(manifest(x, y, combine = function(x, y) "many"), "must return one score")
})

test_that("warnings are conditions", {
  said <- expect_warning(
    relieff(x, y, n_neighbors = 30), "more than some classes have to offer.*: class '", class = "fastfs_warning"
  )
  expect_identical(said$code, "few_neighbors")
})
