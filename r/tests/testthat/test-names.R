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
  pattern <- "the names of y must .* \\('s1', 's2', 's3'\\); got 'patient1', 'patient2', 'patient3': .* unname\\(y\\)"
  expect_error(relieff(x, wrong), pattern, class = "fastfs_invalid_argument")
  expect_identical(scores(relieff(x, unname(wrong))), scores(relieff(x, data$y)))
  twice <- stats::setNames(c(data$y, "b"), c(rownames(x), "s1"))
  expect_error(relieff(x, twice), "must name each sample of x once; got 's1' twice: keep one")
  matched(found <- relieff(x, twice[40:1][!duplicated(names(twice)[40:1])]))
  expect_identical(scores(found), scores(relieff(x, data$y)))
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
    test(data$y, blocks, data.frame(age = age$age, row.names = paste0("p", 1:40))),
    "`rownames<-`\\(covariates, NULL\\)", class = "fastfs_invalid_argument"
  )
  selected <- function(y, blocks) {
    suppressWarnings(stability(
      "relieff", x, y, list(n_features_to_select = 2), blocks = blocks, n_subsamples = 5
    )$frequencies)
  }
  expect_identical(suppressMessages(selected(shuffled, blocks[order])), selected(data$y, unname(blocks)))
})

# The tables that x may be, and the samples `keep` of them.
TABLES <- list(
  matrix = function(x, keep) x[keep, ],
  data.frame = function(x, keep) as.data.frame(x)[keep, ],
  sparse = function(x, keep) {
    skip_if_not_installed("Matrix")
    methods::as(x[keep, ], "CsparseMatrix")
  },
  experiment = function(x, keep) {
    skip_if_not_installed("SummarizedExperiment")
    SummarizedExperiment::SummarizedExperiment(list(values = t(x[keep, ])))
  }
)

# The forms that labels may have, of a vector with names.
FORMS <- list(
  vector = identity,
  factor = function(y) stats::setNames(factor(y), names(y)),
  data.frame = function(y) data.frame(state = unname(y), row.names = names(y)),
  matrix = function(y) matrix(y, dimnames = list(names(y), "state")),
  DataFrame = function(y) {
    skip_if_not_installed("S4Vectors")
    S4Vectors::DataFrame(state = unname(y), row.names = names(y))
  }
)

best <- function(...) names(which.max(suppressMessages(relieff(...))$scores))

for (table in names(TABLES)) for (form in names(FORMS)) local({
  make <- TABLES[[table]]
  with_names <- function(y, rename = identity) FORMS[[form]](stats::setNames(y, rename(names(y))))
  all <- rep(TRUE, 40)
  test_that(paste("a planted feature comes first, or the advice of the error works:", table, form), {
    order <- sample(40)
    whole <- make(x, all)
    expect_equal(best(whole, with_names(named)), "g1")
    expect_equal(best(whole, with_names(named[order])), "g1")
    expect_equal(best(whole, with_names(c(other = "a", named[order], one = "b"))), "g1")

    some <- order[1:30]
    expect_error(relieff(whole, with_names(named[some])), "y must have a value for each sample of x; got none for 10")
    expect_equal(best(make(x, rownames(x) %in% names(named[some])), with_names(named[some])), "g1")

    for (change in c("toupper", "trimws", "make.names")) {
      undo <- c(toupper = tolower, trimws = function(names) paste0(" ", names), make.names = function(names) {
        sub("-", " ", sub("s", "1-", names))
      })[[change]]
      changed <- x
      rownames(changed) <- match.fun(change)(undo(rownames(x)))
      labels <- with_names(named[order], undo)
      setter <- if (form %in% c("vector", "factor")) "names(y)" else "rownames(y)"
      advice <- paste0(setter, " <- ", change, "(", setter, ")")
      expect_error(relieff(make(changed, all), labels), paste("set", advice), fixed = TRUE)
      y <- labels
      eval(parse(text = advice))
      expect_equal(best(make(changed, all), y), "g1")
    }

    y <- with_names(named, function(names) paste0("patient", seq_along(names)))
    error <- expect_error(relieff(whole, y), "in the order of x, give ")
    y <- eval(parse(text = sub(".*in the order of x, give ", "", conditionMessage(error))))
    expect_equal(best(whole, y), "g1")
  })
})

test_that("names of rows that were moved count, and the numbers of rows that weren't don't", {
  table <- as.data.frame(unname(x))
  table$state <- data$y
  order <- sample(40)
  moved <- table[order, ]
  expect_equal(best(moved[1:12], moved["state"]), "V1")
  expect_equal(best(moved[1:12], moved[sample(40), "state", drop = FALSE]), "V1")
  expect_equal(best(table[1:12], named), "V1")
})

test_that("a table of several columns is refused by what to give", {
  y <- data.frame(state = named, age = 1:40)[sample(40), ]
  expect_error(relieff(x, y), "got 2 columns: give one of them, such as y\\[, 1, drop = FALSE\\]")
  expect_equal(best(x, y[, 1, drop = FALSE]), "g1")
})

test_that("times, distances and the labels of explain are matched", {
  order <- sample(40)
  weights <- as.matrix(stats::dist(x))
  matched(found <- relieff(x, data$y, distances = stats::dist(x[order, ])))
  expect_equal(scores(found), scores(relieff(x, data$y, distances = unname(weights))))
  matched(found <- relieff(x, data$y, distances = weights[order, order]))
  expect_identical(scores(found), scores(relieff(x, data$y, distances = unname(weights))))
  wrong <- stats::dist(unname(x))
  attr(wrong, "Labels") <- paste0("p", 1:40)
  expect_error(relieff(x, data$y, distances = wrong), "unname(as.matrix(distances))", fixed = TRUE)
  matched(found <- explain(im4e(x, data$y), x, named[order]))
  expect_equal(found$samples$class, data$y)
  chosen <- function(...) {
    suppressWarnings(suppressMessages(stability(
      "relieff", x, ..., blocks = NULL, n_subsamples = 5
    )))$frequencies
  }
  expect_identical(
    chosen(named[order], options = list(distances = weights[order, order], n_features_to_select = 2)),
    chosen(data$y, options = list(distances = weights, n_features_to_select = 2))
  )
  skip_if_not_installed("survival")
  times <- survival::Surv(exp(x[, 1]), rep(c(1, 1, 0), length.out = 40))
  matched(found <- rrelieff(x, stats::setNames(times, rownames(x))[order]))
  expect_identical(scores(found), scores(rrelieff(x, unname(times))))
})

test_that("what belongs to features is matched by their names", {
  order <- sample(12)
  f <- stats::setNames(seq_len(12) / 12, colnames(x))
  of_features <- function(...) expect_message(..., "12 of 12 features matched by name")
  of_features(found <- manifest(x, data$y, combine = f[order]))
  expect_identical(scores(found), scores(manifest(x, data$y, combine = unname(f))))
  of_features(found <- manifest(x, data$y, combine = function(x, y) f[order]))
  expect_identical(scores(found), scores(manifest(x, data$y, combine = unname(f))))
  of_features(found <- im4e(x, data$y, w0 = f[order], max_iter = 1))
  expect_identical(scores(found), scores(im4e(x, data$y, w0 = unname(f), max_iter = 1)))
  W <- diag(f)
  dimnames(W) <- list(colnames(x), colnames(x))
  fitted <- function(W) suppressWarnings(immigrate(x, data$y, W0 = W, prefilter = NULL, max_iter = 1))
  of_features(found <- fitted(W[order, order]))
  expect_identical(scores(found), scores(fitted(unname(W))))
  groups <- stats::setNames(rep(c("u", "v", "w"), 4), colnames(x))
  of_features(found <- ikdr(x, data$y, groups = groups[order]))
  expect_identical(scores(found), scores(ikdr(x, data$y, groups = unname(groups))))
  expect_error(manifest(x, data$y, combine = f[-1]), "a value for each feature of x; got none for 1 of 12 \\('g1'")
  G <- matrix(rbinom(480, 2, 0.5), 40, dimnames = dimnames(x))
  of_features(of_features(found <- ld_clumps(G, f[order], n_clumps = 4, position = rev(f))))
  expect_identical(found, ld_clumps(G, unname(f), n_clumps = 4, position = unname(f)))
})
