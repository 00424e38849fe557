# Labels reach the samples of their names, or the call is refused.

data <- example_data()
x <- data$x
named <- stats::setNames(data$y, rownames(x))
shuffled <- named[c(sample(seq_along(named)))]

matched <- function(code) expect_message(code, "40 of 40 samples matched by name")
scores <- function(found) found$scores

test_that("named labels in another order reach their samples, by every method", {
  for (method in names(METHODS)) {
    expected <- suppressWarnings(scores(run(method, x, data$y)))
    expect_no_message(expect_identical(scores(run(method, x, named)), expected))
    matched(found <- run(method, x, shuffled))
    expect_identical(scores(found), expected)
  }
  table <- as.data.frame(x)
  matched(found <- relieff(table, factor(shuffled)))
  expect_identical(scores(found), scores(relieff(table, factor(data$y))))
  more <- c(shuffled, other = "a")
  matched(found <- relieff(x, more))
  expect_identical(scores(found), scores(relieff(x, data$y)))
})

test_that("names that don't name each sample are refused, and the advice works", {
  wrong <- stats::setNames(data$y, paste0("patient", 1:40))
  pattern <- "the names of y \\('patient1', 'patient2', 'patient3'\\) .* \\('s1', 's2', 's3'\\) once: .* unname\\(y\\)"
  expect_error(relieff(x, wrong), pattern, class = "fastfs_invalid_argument")
  expect_identical(scores(relieff(x, unname(wrong))), scores(relieff(x, data$y)))
  expect_error(relieff(x, named[-1]), "the names of y", class = "fastfs_invalid_argument")
  twice <- stats::setNames(c(data$y, "b"), c(rownames(x), "s1"))
  expect_error(relieff(x, twice), "the names of y", class = "fastfs_invalid_argument")
  bare <- unname(x)
  expect_identical(scores(relieff(bare, wrong)), scores(relieff(bare, data$y)))
  expect_identical(scores(relieff(as.data.frame(bare), wrong)), scores(relieff(as.data.frame(bare), data$y)))
})

test_that("weights and designs are matched, too", {
  weights <- stats::setNames(rep(c(1, 2), 20), rownames(x))
  order <- sample(40)
  matched(found <- relieff(x, data$y, sample_weight = weights[order]))
  expect_identical(scores(found), scores(relieff(x, data$y, sample_weight = unname(weights))))
  blocks <- stats::setNames(rep(1:4, each = 10), rownames(x))
  age <- data.frame(age = seq_len(40) %% 7, row.names = rownames(x))
  test <- function(y, blocks, covariates) {
    suppressWarnings(permutation_test(
      "relieff", x, y, blocks = blocks, covariates = covariates, n_permutations = 19
    )$pvalues)
  }
  expected <- test(data$y, unname(blocks), data.frame(age = age$age))
  found <- suppressMessages(test(shuffled, blocks[order], age[order, , drop = FALSE]))
  expect_identical(found, expected)
  expect_error(
    test(data$y, blocks, data.frame(age = age$age, row.names = paste0("p", 1:40))), "rownames\\(\\.\\.\\.\\) <- NULL"
  )
  selected <- function(y, blocks) {
    suppressWarnings(stability(
      "relieff", x, y, list(n_features_to_select = 2), blocks = blocks, n_subsamples = 5
    )$frequencies)
  }
  expect_identical(suppressMessages(selected(shuffled, blocks[order])), selected(data$y, unname(blocks)))
})
