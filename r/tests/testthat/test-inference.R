test_that("a feature that differs is significant, and noise isn't", {
  data <- example_data()
  found <- permutation_test("relieff", data$x, data$y, n_permutations = 199)
  expect_equal(found$pvalue, 1 / 200)
  expect_equal(found$pvalues_max[["g1"]], 1 / 200)
  expect_equal(found$n_permutations, 199)
  expect_equal(found$design, "20 + 20 samples")
  expect_true(all(found$pvalues_max[-1] > 0.05))
  expect_true(all(found$pvalues_max >= found$pvalues - 1e-12 | found$z < max(found$z)))
  set.seed(9)
  noise <- permutation_test(relieff, data$x[, -1], data$y)
  expect_true(noise$stopped)
  expect_gt(noise$pvalue, 0.05)
})

test_that("p-values are the shares of labelings that reach the true one", {
  data <- example_data(8, 5, seed = 3)
  found <- suppressWarnings(permutation_test("relieff", data$x, data$y, list(n_neighbors = 2), statistic = "score"))
  expect_true(found$exact)
  expect_equal(found$n_distinct, choose(8, 4))
  expect_equal(found$resolution, 2 / choose(8, 4))
  chosen <- combn(8, 4, simplify = FALSE)
  all_scores <- vapply(chosen, function(own) {
    labels <- rep("a", 8)
    labels[own] <- "b"
    unname(suppressWarnings(relieff(data$x, labels, n_neighbors = 2))$scores)
  }, numeric(5))
  true <- suppressWarnings(relieff(data$x, data$y, n_neighbors = 2))$scores
  expect_equal(unname(found$pvalues), unname(rowMeans(all_scores >= true - 1e-9 * abs(true))))
  expect_equal(found$pvalue, mean(apply(all_scores, 2, max) >= max(true) - 1e-9))
  expect_equal(unname(found$null_mean), rowMeans(all_scores))
  expect_equal(unname(found$null_sd), sqrt(rowMeans((all_scores - rowMeans(all_scores))^2)))
})

test_that("designs permute what may be permuted", {
  data <- example_data(24)
  donor <- rep(1:12, each = 2)
  y <- ifelse(donor %% 2 == 0, "case", "control")
  found <- suppressWarnings(permutation_test("surf", data$x, y, groups = donor))
  expect_equal(found$design, "6 + 6 groups")
  expect_equal(found$n_distinct, 924)
  expect_true(found$exact)
  block <- rep(1:6, each = 4)
  found <- suppressWarnings(permutation_test("surf", data$x, data$y, blocks = block, n_permutations = 50))
  expect_equal(found$design, "12 + 12 samples within 6 blocks")
  expect_equal(found$n_distinct, 6^6)
  target <- list(kind = "class", classes = c("a", "b"), values = match(data$y, c("a", "b")) - 1L)
  design <- fastfs:::new_design(target, block, NULL, 24)
  for (i in 1:20) {
    labeling <- fastfs:::labeling_at(design, i)$values
    expect_equal(tapply(labeling, block, sum), tapply(target$values, block, sum))
  }
  within <- fastfs:::new_design(target, NULL, donor, 24)
  expect_equal(within$n_distinct, 2^12)
  expect_equal(within$description, "12 + 12 samples within 12 groups")
})

test_that("designs without another labeling are refused", {
  data <- example_data(24)
  expect_error(
    permutation_test("surf", data$x, data$y, blocks = data$y),
    "no labeling but the true one is possible: all 12 samples of block 'a' are 'a'"
  )
  expect_error(
    permutation_test("surf", data$x, rep(c("a", "b"), each = 12), blocks = rep(1:2, 12), groups = rep(1:12, each = 2)),
    "got group '1' in the blocks '1', '2'"
  )
  expect_error(
    permutation_test("surf", data$x, data$y, blocks = c(NA, 2:24)), "missing values; got some for sample 1"
  )
})

test_that("R's generator is left alone", {
  data <- example_data()
  set.seed(6)
  before <- .Random.seed
  first <- permutation_test("surf", data$x, data$y, n_permutations = 20)
  expect_identical(.Random.seed, before)
  RNGkind("Wichmann-Hill")
  second <- permutation_test("surf", data$x, data$y, n_permutations = 20)
  RNGkind("default")
  expect_identical(second$null_statistics, first$null_statistics)
})

test_that("bad columns of a design don't reach the core's arrays", {
  target <- list(kind = "class", classes = c("a", "b"), values = c(0L, 1L, 0L, 1L))
  design <- fastfs:::new_design(target, NULL, NULL, 4)
  expect_error(fastfs:::labels_of_labelings(design, -1, 1), "must be from 0 to")
  broken <- unserialize(serialize(design, NULL))
  expect_error(fastfs:::labeling_at(broken, 0), "was saved by another session")
  expect_error(
    fastfs:::new_design(target, c("\u00e4", "\u00e4", "b", "b"), c("g", "g", "g", "g"), 4, c(1, 2, 3, 3)), NA
  )
  expect_error(
    permutation_test("surf", diag(4), c("\u00e4", "\u00e4", "b", "b"), blocks = c("\u00e4", "\u00e4", "b", "b")),
    "all 2 samples of block '\u00e4' are '\u00e4'"
  )
})

test_that("ProjSe scores many labelings by their own function", {
  data <- example_data()
  found <- permutation_test("projse", data$x, data$y, n_permutations = 99, statistic = "score")
  expect_equal(found$scores, projse(data$x, data$y)$scores)
  expect_lte(found$pvalue, 0.05)
  stage <- fastfs:::projse_stage(fastfs:::arguments_of("projse", data$x, data$y, list()), TRUE)
  labelings <- cbind(rep(0:1, each = 20), rep(1:0, 20))
  expected <- apply(labelings, 2, function(labels) unname(projse(data$x, labels)$scores))
  expect_equal(stage$score_labelings(labelings, stage$run), expected)
})

test_that("groups of features are tested as wholes", {
  data <- example_data()
  colnames(data$x) <- paste0("g", seq_len(ncol(data$x)))
  groups <- list(first = paste0("g", 1:3), others = 4:8, overlap = c(1, 8))
  found <- permutation_test("relieff", data$x, data$y, n_permutations = 99, feature_groups = groups)
  plain <- permutation_test("relieff", data$x, data$y, n_permutations = 99)
  expect_identical(found$pvalues_max, plain$pvalues_max)
  table <- found$feature_groups
  expect_equal(table$group, names(groups))
  expect_equal(table$n_features, c(3, 5, 2))
  expect_equal(table$max_score, c(max(plain$scores[1:3]), max(plain$scores[4:8]), max(plain$scores[c(1, 8)])))
  expect_equal(table$sum_of_scores[3], sum(plain$scores[c(1, 8)]))
  expect_equal(table$pvalue_adjusted, stats::p.adjust(table$pvalue, "BH"))
  expect_lte(table$pvalue_max[1], 0.05)
})

test_that("tests can be printed, summarised and drawn", {
  data <- example_data()
  found <- permutation_test("relieff", data$x, data$y, n_permutations = 99)
  expect_output(print(found), "permutation test of relieff: 20 \\+ 20 samples, 99 permutations")
  expect_equal(summary(found)[["pvalue"]], 0.01)
  expect_equal(as.data.frame(found)$pvalue_max[1], 0.01)
  grDevices::pdf(NULL)
  plot(found)
  grDevices::dev.off()
})

test_that("a selection that comes back is stable", {
  data <- example_data(60, 30)
  data$x[, 1:3] <- data$x[, 1:3] + 4 * (data$y == "b")
  found <- stability("relieff", data$x, data$y, list(n_features_to_select = 3), n_subsamples = 20)
  expect_equal(found$stability, 1)
  expect_equal(unname(found$frequencies[1:3]), c(1, 1, 1))
  expect_named(found$selected_stable, c("g1", "g2", "g3"))
  expect_output(print(found), "stability of relieff: 20 selections of 30 features")
  noise <- stability("relieff", data$x[, -(1:3)], data$y, list(n_features_to_select = 3), n_subsamples = 20)
  expect_lt(noise$stability, 0.4)
})

test_that("the index is that of Nogueira, and bounds are those of Shah and Samworth", {
  selected <- list(c(1L, 2L), c(1L, 3L), c(1L, 2L))
  frequencies <- c(3, 2, 1, 0) / 3
  index <- fastfs:::compare_selections(4, selected, list(NULL, NULL, NULL), FALSE, 0.75)
  expect_equal(index$frequencies, frequencies)
  variance <- 3 / 2 * frequencies * (1 - frequencies)
  expect_equal(index$stability, 1 - mean(variance) / (2 / 4 * (1 - 2 / 4)))
  # Computed by Python's rare_bounds(3, 30, .75, 10).
  halves <- fastfs:::compare_selections(30, rep(list(1:3), 20), vector("list", 20), TRUE, 0.75)
  expect_equal(c(halves$rare_bound, halves$rare_bound_unimodal), c(0.6, 1 / (2 * (0.5 - 0.05)) * 0.3))
})

test_that("specimens that may hide in groups are told, and how to name them", {
  donor <- rep(1:6, each = 8)
  specimen <- rep(1:12, each = 4)
  y <- c("control", "treated")[1 + specimen %% 2]
  set.seed(1)
  x <- matrix(rnorm(48 * 5), 48)
  said <- "labels vary within groups, so samples are permuted singly .* and the present groups as blocks"
  expect_warning(permutation_test("surf", x, y, groups = donor, n_permutations = 9), said)
  found <- expect_silent(permutation_test("surf", x, y, groups = specimen, blocks = donor))
  expect_equal(found$design, "6 + 6 groups within 6 blocks")
  expect_equal(found$n_distinct, 64)
  expect_silent(permutation_test("surf", x, y, blocks = donor, n_permutations = 9))
  parts <- fastfs:::new_design(
    list(kind = "class", classes = c("control", "treated"), values = specimen %% 2L), donor, specimen, 48
  )
  expect_equal(parts$drawn, "block")
  expect_equal(parts$drawn_units, donor - 1)
})

test_that("complementary halves hold whole groups", {
  data <- example_data(48, 10)
  donor <- rep(1:12, each = 4)
  y <- ifelse(donor <= 6, "a", "b")
  found <- stability(
    "relieff", data$x, y, list(n_features_to_select = 2), groups = donor, scheme = "complementary", n_pairs = 5
  )
  expect_length(found$selected, 10)
  expect_gt(found$rare_bound, 0)
  target <- list(kind = "class", classes = c("a", "b"), values = match(y, c("a", "b")) - 1L)
  parts <- fastfs:::new_design(target, NULL, donor, 48)
  halves <- .Call(fastfs:::C_design_subsamples, parts$handle, TRUE, 0.5, 6, 48, parts$run)
  for (pair in 1:3) {
    first <- which(halves[, 2 * pair - 1] == 1)
    second <- which(halves[, 2 * pair] == 1)
    expect_equal(sort(c(first, second)), 1:48)
    expect_length(intersect(donor[first], donor[second]), 0)
  }
})

test_that("classes are drawn given covariates", {
  set.seed(1)
  n <- 120
  age <- rnorm(n)
  y <- ifelse(age + rnorm(n) > 0, "old", "young")
  x <- matrix(rnorm(n * 5), n)
  x[, 1] <- x[, 1] + age
  target <- list(kind = "class", classes = c("old", "young"), values = match(y, c("old", "young")) - 1L)
  design <- fastfs:::new_design(target, NULL, NULL, n, age)
  drawn <- fastfs:::labels_of_labelings(design, 0, 50)
  expect_true(all(colSums(drawn) == sum(target$values)))
  # Drawn labels are tied to the covariate as the true ones are.
  tie <- function(values) abs(cor(values, age))
  expect_lt(abs(mean(apply(drawn, 2, tie)) - tie(target$values)), 0.1)
  expect_gt(mean(drawn[, 1] != target$values), 0.1)
  # What looks like an effect of y is one of age.
  free <- permutation_test("relieff", x, y, n_permutations = 99)
  given <- permutation_test("relieff", x, y, covariates = data.frame(age), n_permutations = 99)
  expect_lt(free$pvalues[1], 0.05)
  expect_gt(given$pvalues[1], free$pvalues[1])
  expect_match(given$design, "samples, given 1 covariate$")
  expect_false(given$exact)
})

test_that("residuals of numbers are permuted", {
  set.seed(2)
  n <- 40
  table <- data.frame(age = rnorm(n), sex = factor(sample(c("f", "m"), n, TRUE)))
  y <- table$age + (table$sex == "m") + rnorm(n)
  target <- list(kind = "number", values = y)
  design <- fastfs:::new_design(target, NULL, NULL, n, table)
  fitted <- lm(y ~ age + sex, table)
  labeling <- fastfs:::labeling_at(design, 0)$values
  expect_equal(sort(labeling - unname(fitted(fitted))), sort(unname(residuals(fitted))))
  expect_false(isTRUE(all.equal(labeling, y)))
  x <- matrix(rnorm(n * 4), n)
  found <- permutation_test("rrelieff", x, y, covariates = table, n_permutations = 20)
  expect_equal(found$design, "40 samples, given 2 covariates")
})

test_that("times keep their relation to covariates, as in Python", {
  skip_if_not_installed("survival")
  set.seed(5)
  age <- rnorm(60)
  times <- survival::Surv(round(rexp(60, exp(2 * age)), 3), rep(c(1, 1, 0), 20))
  x <- cbind(age + 0.3 * matrix(rnorm(180), 60), matrix(rnorm(180), 60))
  found <- permutation_test("rrelieff", x, times, covariates = age, n_permutations = 30)
  expect_equal(found$design, "60 samples, given 1 covariate")
  expect_identical(found, permutation_test("rrelieff", x, times, covariates = age, n_permutations = 30))
  given <- permutation_test("rrelieff", x, times, list(given = cbind(age)), n_permutations = 30)
  expect_equal(given$design, found$design)
  expect_error(
    permutation_test("rrelieff", x, times, covariates = rank(times[, 1]), n_permutations = 30), "determine the times",
    class = "fastfs_invalid_argument"
  )
})

test_that("covariates that can't be used are refused", {
  data <- example_data(24)
  refused <- function(covariates, pattern, ...) {
    expect_error(
      permutation_test("surf", data$x, data$y, covariates = covariates, ...), pattern, class = "fastfs_invalid_argument"
    )
  }
  refused(1:3, "one row for each of the 24 samples")
  refused(c(NA, 2:24), "missing values; got some for sample 1")
  refused(c(Inf, 2:24), "finite; got others for sample 1")
  refused(rep(1, 24), "must vary")
  refused(data.frame(day = as.Date("2020-01-01") + 1:24), "got class Date in 'day'")
  refused(as.numeric(data$y == "a"), "determine the labels")
  donor <- rep(1:12, each = 2)
  expect_error(
    permutation_test("surf", data$x, c("a", "b")[1 + donor %% 2], groups = donor, covariates = rnorm(24)),
    "constant within groups that move as wholes; got different values for sample 1 and sample 2", class = "fastfs_invalid_argument"
  )
})

test_that("a second view is permuted by rows", {
  data <- example_data(30)
  set.seed(4)
  y <- cbind(data$x[, 1], rnorm(30))
  found <- permutation_test("projse", data$x, y, n_permutations = 99)
  expect_equal(found$design, "30 samples")
  expect_equal(unname(which.max(found$scores)), 1)
  expect_lt(found$pvalues_max[1], 0.05)
})

test_that("designs may be columns of an experiment", {
  skip_if_not_installed("SummarizedExperiment")
  data <- example_data(24)
  experiment <- experiment_of(data)
  table <- SummarizedExperiment::colData(experiment)
  table$batch <- rep(1:6, each = 4)
  table$age <- rnorm(24)
  table$sex <- rep(c("f", "m", "m", "f"), 6)
  SummarizedExperiment::colData(experiment) <- table
  by_name <- permutation_test("surf", experiment, "state", blocks = "batch", n_permutations = 20)
  by_value <- permutation_test("surf", data$x, data$y, blocks = table$batch, n_permutations = 20)
  expect_identical(by_name, by_value)
  given <- permutation_test("surf", experiment, "state", covariates = c("age", "sex"), n_permutations = 20)
  expect_match(given$design, "given 2 covariates")
  expect_identical(
    given, permutation_test("surf", data$x, data$y, covariates = table[c("age", "sex")], n_permutations = 20)
  )
  expect_error(
    permutation_test("surf", experiment, "state", groups = "donor"), "got 'donor', but it has 'state', 'batch'"
  )
  selections <- stability(
    "surf", experiment, "state", list(n_features_to_select = 3), blocks = "batch", n_subsamples = 5
  )
  expect_length(selections$selected, 5)
})

test_that("features are cut by p-value, stability or score", {
  data <- example_data()
  test <- permutation_test("relieff", data$x, data$y, n_permutations = 199)
  expect_identical(cut_features(test), c(g1 = 1L))
  ranked <- names(sort(test$ranking))
  expect_identical(names(cut_features(test, "fdr", 0.9)), ranked[test$pvalues_adjusted[ranked] <= 0.9])
  expect_output(print(test), "1 feature with a family-wise p-value of at most 0.05: g1")
  noise <- permutation_test("relieff", data$x[, -1], data$y)
  expect_length(cut_features(noise), 0)
  expect_output(print(noise), "no features with a family-wise p-value of at most 0.05")
  scored <- relieff(data$x, data$y)
  expect_identical(names(cut_features(scored, at = -Inf)), names(sort(-scored$scores)))
  expect_length(cut_features(scored, "score", 1e9), 0)
  stable <- stability("relieff", data$x, data$y, list(n_features_to_select = 2), n_subsamples = 10)
  expect_setequal(unname(cut_features(stable)), unname(stable$selected_stable))
  expect_identical(cut_features(permutation_test("relieff", unname(data$x), data$y, n_permutations = 199)), 1L)
  expect_error(cut_features(scored), "at must say which scores are enough", class = "fastfs_error")
  expect_error(cut_features(test, "stability"), "by must be \"family-wise\", \"fdr\" or \"score\"", class = "fastfs_error")
  expect_error(cut_features(test, at = 0), "at must lie above 0 and be at most 1", class = "fastfs_error")
  expect_error(cut_features(1:3), "found must be a result of a method", class = "fastfs_error")
})

test_that("directions are those of all pairs of samples", {
  set.seed(7)
  x <- matrix(round(rnorm(150), 1), 30, 5, dimnames = list(NULL, letters[1:5]))
  x[4, 2] <- NA
  x[, 5] <- 1
  y <- rep(c("p", "q", "r"), 10)
  found <- direction(x, y)
  for (class in c("p", "q", "r")) {
    for (j in 1:5) {
      a <- stats::na.omit(x[y == class, j])
      b <- stats::na.omit(x[y != class, j])
      expect_equal(found$effects[class, j], mean(sign(outer(a, b, "-"))))
      expect_equal(found$median_differences[class, j], stats::median(a) - stats::median(b))
    }
  }
  table <- as.data.frame(found)
  expect_equal(table$direction[5], "")
  best <- which.max(abs(found$effects[, 1]))
  expect_equal(table$direction[1], paste(if (found$effects[best, 1] > 0) "high in" else "low in", names(best)))
  expect_output(print(found), "direction of 5 features, classes 'p', 'q', 'r'")
  number <- x[, 1] + rnorm(30)
  found <- direction(x, number)
  expect_equal(found$effects[[1, 1]], stats::cor(x[, 1], number, method = "spearman"))
  expect_equal(found$effects[[1, 2]], stats::cor(x[-4, 2], number[-4], method = "spearman"))
  expect_true(all(as.data.frame(found)$direction[1:4] %in% c("rises", "falls")))
  expect_error(direction(x, NULL), "y must hold a label or one number for each sample; got NULL", class = "fastfs_error")
  expect_error(direction(x, cbind(number, number)), "got 2 columns: give one at a time", class = "fastfs_error")
  x[3, 1] <- Inf
  expect_error(direction(x, y), "x must not have infinity; got it for sample 3, feature 1 \\(a\\)", class = "fastfs_error")
})
