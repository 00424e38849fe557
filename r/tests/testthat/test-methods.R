for (method in names(METHODS)) {
  test_that(paste(method, "finds a shifted feature, or at least scores all"), {
    data <- example_data()
    found <- run(method, data$x, data$y)
    expect_s3_class(found, "fastfs")
    expect_named(found$scores, colnames(data$x))
    expect_true(all(is.finite(found$scores)))
    # ManiFeSt and DiSC see relations between features, not shifts.
    if (!method %in% c("manifest", "disc")) expect_equal(unname(which.max(found$scores)), 1)
  })

  test_that(paste(method, "gives the same bits for any storage"), {
    data <- example_data()
    expected <- run(method, data$x, data$y)$scores
    expect_identical(run(method, as.data.frame(data$x), data$y)$scores, expected)
    skip_if_not_installed("Matrix")
    data$x[abs(data$x) < 0.5] <- 0
    expected <- run(method, data$x, data$y)$scores
    found <- run(method, Matrix::Matrix(data$x, sparse = TRUE), data$y)$scores
    # Sums over stored values have another order than those over all.
    expect_equal(found, expected, tolerance = 1e-10)
    skip_if_not_installed("SummarizedExperiment")
    experiment <- experiment_of(data)
    expect_identical(run(method, experiment, "state")$scores, expected)
    expect_identical(run(method, experiment, data$y)$scores, expected)
    SummarizedExperiment::assay(experiment, "counts") <- Matrix::Matrix(t(data$x), sparse = TRUE)
    expect_equal(run(method, experiment, "state")$scores, expected, tolerance = 1e-10)
  })

  test_that(paste(method, "doesn't depend on the number of threads"), {
    data <- example_data()
    expect_identical(
      run(method, data$x, data$y, n_threads = 1)$scores, run(method, data$x, data$y, n_threads = 2)$scores
    )
  })
}

test_that("features lie in rows of an experiment, and samples in rows of a matrix", {
  skip_if_not_installed("SummarizedExperiment")
  data <- example_data(40, 12)
  found <- relieff(experiment_of(data), "state")
  expect_length(found$scores, 12)
  expect_equal(found$n_samples, 40)
  expect_identical(found$scores, relieff(data$x, data$y)$scores)
  # In a matrix they would be samples.
  expect_error(relieff(t(data$x), data$y), "is x transposed\\? Its rows must be samples", class = "fastfs_error")
})

test_that("a formula names labels and features of a data frame", {
  features <- iris[, -5]
  expect_identical(relieff(Species ~ ., iris, 2)$scores, relieff(features, iris$Species, 2)$scores)
  expect_identical(names(surf(Species ~ Sepal.Width + log(Petal.Width), iris)$scores), c("Sepal.Width", "log(Petal.Width)"))
  test <- permutation_test("relieff", Species ~ ., iris, n_permutations = 9)
  expect_identical(test$pvalues, permutation_test("relieff", features, iris$Species, n_permutations = 9)$pvalues)
  blocks <- stats::setNames(rep(1:5, 30), 1:150)[150:1]
  shuffled <- iris[150:1, ]
  expect_message(stability("relieff", Species ~ ., shuffled, n_subsamples = 3, blocks = rev(blocks)), "blocks: 150 of 150")
  fitted <- im4e(Species ~ ., iris)
  expect_identical(predict(fitted, features), predict(im4e(features, iris$Species), features))
  expect_error(relieff(Species ~ ., features), "object 'Species' not found")
  expect_error(relieff(Species ~ ., as.matrix(features)), "y must be the data frame of the formula x; got class matrix")
  expect_error(relieff(~ Sepal.Width, iris), "x must be a formula of labels and single features", class = "fastfs_error")
  expect_error(relieff(Species ~ Sepal.Width * Petal.Width, iris), "x must be a formula of labels and single features")
  skip_if_not_installed("survival")
  times <- data.frame(time = exp(iris[[1]]), event = TRUE, features)
  expect_identical(
    rrelieff(survival::Surv(time, event) ~ ., times)$scores,
    rrelieff(features, survival::Surv(times$time, times$event))$scores
  )
})

test_that("single-cell experiments are experiments", {
  skip_if_not_installed("SingleCellExperiment")
  data <- example_data()
  cells <- SingleCellExperiment::SingleCellExperiment(
    assays = list(counts = t(data$x)), colData = data.frame(state = data$y)
  )
  expect_identical(surf(cells, "state")$scores, surf(data$x, data$y)$scores)
})

test_that("a dense matrix isn't copied", {
  data <- example_data(62, 2000)
  read <- fastfs:::read_features(data$x, data$y, 1, list(max_memory = 0))
  expect_identical(address(read$x$values), address(data$x))
  skip_if_not_installed("SummarizedExperiment")
  experiment <- experiment_of(data)
  read <- fastfs:::read_features(experiment, "state", "counts", list(max_memory = 0))
  own <- SummarizedExperiment::assay(experiment, "counts", withDimnames = FALSE)
  expect_identical(address(read$x$values), address(own))
})

test_that("factors of a data.frame are categories", {
  set.seed(2)
  table <- data.frame(
    color = factor(sample(c("red", "green", "blue"), 60, TRUE)), size = rnorm(60), is_new = rep(c(TRUE, FALSE), 30)
  )
  y <- table$color == "red"
  found <- relieff(table, y)
  expect_equal(unname(which.max(found$scores)), 1)
  # The order of levels says nothing.
  table$color <- factor(table$color, levels = c("red", "blue", "green"))
  expect_equal(relieff(table, y)$scores, found$scores)
  # As numbers, green lies between blue and red.
  table$color <- as.integer(table$color)
  expect_false(isTRUE(all.equal(relieff(table, y)$scores, found$scores)))
  expect_equal(relieff(table, y, categorical_features = "color")$scores, found$scores)
  expect_equal(relieff(as.matrix(table), y, categorical_features = 1)$scores, found$scores)
})

test_that("rrelieff takes times to an event", {
  skip_if_not_installed("survival")
  data <- example_data()
  set.seed(3)
  times <- survival::Surv(exp(data$x[, 1]), rbinom(40, 1, 0.8))
  found <- rrelieff(data$x, times)
  expect_equal(found$target_type, "survival")
  expect_equal(unname(which.max(found$scores)), 1)
})

test_that("weights and distances are taken", {
  data <- example_data()
  weights <- rep(c(0, 1), c(10, 30))
  keep <- weights > 0
  expect_identical(
    relieff(data$x, data$y, sample_weight = weights)$scores,
    relieff(data$x[keep, ], data$y[keep], sample_weight = weights[keep])$scores
  )
  unit <- apply(data$x, 2, function(v) (v - min(v)) / diff(range(v)))
  expect_equal(
    relieff(data$x, data$y, distances = dist(unit, "manhattan"))$scores, relieff(data$x, data$y)$scores
  )
})

test_that("IMMIGRATE lists pairs of features", {
  set.seed(4)
  x <- matrix(rnorm(1000), 100, dimnames = list(NULL, letters[1:10]))
  found <- immigrate(x, x[, 2] + x[, 4] > 0)
  pairs <- top_pairs(found, 3)
  expect_equal(unlist(pairs[1, c("a", "b")], use.names = FALSE), c(2, 4))
  expect_equal(pairs$a_name[1], "b")
  expect_equal(pairs$weight[1], found$W["b", "d"])
  V <- found$eigenvectors
  expect_equal(unname(found$W), unname(V %*% diag(found$eigenvalues) %*% t(V)))
})

test_that("ManiFeSt adds scores of single features", {
  data <- example_data()
  alone <- manifest(data$x, data$y)$scores
  unit <- function(v) (v - min(v)) / diff(range(v))
  f <- vapply(seq_len(12), function(j) summary(aov(data$x[, j] ~ data$y))[[1]][1, 4], 0)
  found <- manifest(data$x, data$y, combine = "f")
  expect_equal(unname(found$scores), unname(unit(alone) + unit(f)))
  expect_identical(found$manifest_scores, alone)
  expect_equal(manifest(data$x, data$y, combine = f)$scores, found$scores)
  own <- manifest(data$x, data$y, combine = function(x, y) abs(colMeans(x[y == "a", ]) - colMeans(x[y == "b", ])))
  expect_equal(unname(which.max(own$scores - unit(alone))), 1)
  constant <- data$x
  constant[, 4] <- 1
  expect_true(all(is.finite(manifest(constant, data$y, combine = "f")$scores)))
  skip_if_not_installed("SummarizedExperiment")
  expect_equal(manifest(experiment_of(data), "state", combine = "f")$scores, found$scores)
})

test_that("results can be printed, summarised, drawn and put into an experiment", {
  data <- example_data()
  found <- relieff(data$x, data$y, 3)
  expect_output(print(found), "relieff: 12 features of 40 samples, classes 'a', 'b'")
  expect_output(print(summary(found)), "3 selected")
  table <- as.data.frame(found)
  expect_equal(table$feature, colnames(data$x))
  expect_equal(sum(table$selected), 3)
  expect_equal(table$ranking[1], 1)
  expect_equal(unname(found$selected), order(-found$scores)[1:3])
  grDevices::pdf(NULL)
  expect_silent(plot(found))
  grDevices::dev.off()
  skip_if_not_installed("SummarizedExperiment")
  experiment <- add_scores(experiment_of(data), found)
  rows <- SummarizedExperiment::rowData(experiment)
  expect_equal(rows$relieff_score, unname(found$scores))
  expect_equal(rows$relieff_ranking, unname(found$ranking))
  expect_error(add_scores(experiment[1:5, ], found), "the 12 features of the result; got 5")
})

test_that("the filter has the interface of mlr3filters", {
  data <- example_data()
  table <- data.frame(data$x, state = data$y)
  task <- list(
    feature_names = colnames(data$x), target_names = "state", data = function(cols) table[, cols, drop = FALSE]
  )
  filter <- fastfs_filter("relieff", n_neighbors = 5)
  expect_error(as.data.frame(filter), "got none yet")
  filter$calculate(task)
  expect_equal(names(filter$scores)[1], "g1")
  expect_false(is.unsorted(-filter$scores))
  expect_length(filter$calculate(task, nfeat = 4)$scores, 4)
  expect_output(print(filter), "filter of fastfs: relieff")
})

test_that("the machine is described", {
  info <- fastfs_info()
  expect_equal(info$version, as.character(utils::packageVersion("fastfs")))
  expect_gte(info$n_threads, 1)
  expect_equal(fastfs_info(max_memory = "2M")$max_memory, 2^21)
})

test_that("two whole numbers are classes", {
  set.seed(1)
  x <- matrix(rnorm(240), 40)
  y <- rep(c("case", "control"), 20)
  expect_equal(relieff(x, as.numeric(y == "case"))$scores, relieff(x, y == "case")$scores)
})

test_that("disc has a default for few features", {
  set.seed(1)
  for (n_features in c(6, 12, 20)) {
    x <- matrix(rnorm(60 * n_features), 60)
    y <- rep(c("a", "b", "c"), 20)
    found <- suppressWarnings(disc(x, y))
    expect_true(all(is.finite(found$scores)))
    expect_equal(found$scores, suppressWarnings(disc(x, y, n_components = max(1, (n_features - 2) %/% 8)))$scores)
  }
})

test_that("given features count in distances, and others tell what they add", {
  set.seed(1)
  n <- 60
  x <- matrix(rnorm(n * 8), n, dimnames = list(NULL, letters[1:8]))
  y <- ifelse(x[, 1] + x[, 2] + rnorm(n) > 0, "u", "v")
  for (method in list(relief, relieff, surf, projse)) {
    found <- method(x, y, given = c("a", "c"))
    expect_equal(unname(found$scores[c("a", "c")]), c(0, 0))
    expect_equal(found$scores, method(x, y, given = c(1, 3))$scores)
    expect_equal(found$scores[-c(1, 3)], method(x[, -c(1, 3)], y, given = x[, c(1, 3)])$scores, tolerance = 1e-10)
  }
  found <- relieff(x, y, given = c("a", "c"))
  expect_setequal(names(sort(found$ranking))[7:8], c("a", "c"))
  test <- permutation_test("relieff", x, y, list(given = "a"), n_permutations = 19)
  expect_match(test$design, "given 1 covariate")
  expect_equal(unname(test$ranking["a"]), 8)
  site <- data.frame(site = factor(rep(c("p", "q", "r"), 20)))
  expect_length(relieff(x, y, given = site)$scores, 8)
  expect_error(relieff(x, y, given = 1:8), "given must leave features to choose from; got all 8")
  expect_error(relieff(x, y, given = "z"), "given must be NULL, a table, or a mask")
  expect_error(relieff(x, y, given = x[1:9, ]), "given must have one row for each of the 60 samples")
  expect_error(relieff(x, y, given = 1, distances = dist(x)), "distances must be NULL with given")
  sparse <- Matrix::Matrix(x * (x > 0.5), sparse = TRUE)
  expect_equal(relieff(sparse, y, given = 2)$scores, relieff(as.matrix(sparse), y, given = 2)$scores, tolerance = 1e-10)
  expect_error(relieff(sparse, y, given = x[, 1:2]), "given must list features of a sparse x; got a table")
})
