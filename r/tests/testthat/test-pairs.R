tied_data <- function() {
  set.seed(0)
  x <- matrix(rnorm(480), 60, 8, dimnames = list(NULL, paste0("g", 1:8)))
  x[1:30, 2] <- x[1:30, 2] + 3 * x[1:30, 1]
  list(x = x, y = rep(c("a", "b"), each = 30))
}

test_that("differential correlation is that of Fisher's transforms", {
  data <- tied_data()
  found <- differential_correlation(data$x, data$y, n_permutations = 99)
  expect_equal(found$pairs[1, ], c(1, 2))
  expect_equal(found$pvalue, 0.01)
  expect_equal(nrow(found$pairs), 28)
  expect_false(is.unsorted(-abs(found$statistics)))
  own <- found$pairs[5, ]
  correlations <- vapply(c("a", "b"), function(k) cor(data$x[data$y == k, own])[1, 2], 0)
  expect_equal(found$correlations[5, ], correlations)
  expect_equal(found$statistics[5], unname(diff(-atanh(correlations)) / sqrt(2 / 27)))
  expect_equal(found$scores[["g3"]], sum(abs(found$statistics[rowSums(found$pairs == 3) > 0])))
  ranks <- differential_correlation(data$x, data$y, correlation = "spearman", n_permutations = 0)
  first <- ranks$pairs[1, ]
  expect_equal(ranks$correlations[1, "b"], cor(data$x[31:60, first], method = "spearman")[1, 2], ignore_attr = TRUE)
  expect_null(ranks$pvalues_max)
})

test_that("pairs may be among some features, and are printed by name", {
  data <- tied_data()
  found <- differential_correlation(data$x, data$y, features = c("g7", "g1", "g2"), n_permutations = 19)
  expect_equal(nrow(found$pairs), 3)
  expect_setequal(found$pairs, c(1, 2, 7))
  expect_output(print(found), "60 samples, 'a' against 'b': 30 \\+ 30 samples, 19 permutations")
  table <- as.data.frame(found)
  expect_equal(table$a_name[1], "g1")
  expect_named(table, c("a", "b", "a_name", "b_name", "correlation_a", "correlation_b", "statistic", "effect", "standard_error",
                        "pvalue_max"))
  expect_equal(summary(found)[["significant"]], 1)
  auto <- differential_correlation(data$x[, -1], data$y, n_permutations = "auto")
  expect_true(auto$stopped)
  expect_equal(auto$n_permutations, 99)
})

test_that("pairs without a finite statistic are left out with a warning", {
  data <- tied_data()
  data$x[1:30, 5] <- 1
  data$x[, 8] <- data$x[, 7]
  expect_warning(
    expect_warning(
      found <- differential_correlation(data$x, data$y, n_permutations = 0),
      "1 feature is constant in a class and left out, having no correlation: column 'g5'"
    ), "1 pair of features is a copy, perfectly correlated alike in both classes, and is left out: columns 'g7' and 'g8'"
  )
  expect_equal(found$excluded_features, 5)
  expect_equal(found$excluded_pairs, matrix(7:8, 1))
})

test_that("pairs need classes of four samples", {
  data <- tied_data()
  three <- differential_correlation(data$x, rep(1:3, 20), n_permutations = 9)
  r <- atanh(three$correlations[1, ])
  expect_equal(three$statistics[1], sum(17 * (r - mean(r))^2))
  expect_equal(c(three$degrees, ncol(three$correlations)), c(2, 3))
  expect_error(
    snp_pairs(matrix(0:2, 60, 4), rep(1:3, 20)), "two classes for pairs of SNPs; got 3 \\('1', '2', '3'",
    class = "fastfs_invalid_argument"
  )
  expect_error(
    differential_correlation(data$x, rep(c("a", "b"), c(57, 3))), "got 3 of class 'b'", class = "fastfs_invalid_argument"
  )
  expect_error(
    differential_correlation(data$x, data$y, features = "g1"), "at least two columns", class = "fastfs_invalid_argument"
  )
  expect_error(
    differential_correlation(data$x, data$y, features = "gene"), "features must be NULL, or a mask",
    class = "fastfs_invalid_argument"
  )
})

interacting <- function() {
  set.seed(1)
  x <- matrix(rnorm(800), 100, 8, dimnames = list(NULL, paste0("g", 1:8)))
  list(x = x, y = x[, 2] * x[, 5] + rnorm(100))
}

test_that("interactions have the F of two linear models", {
  data <- interacting()
  found <- interaction_scan(data$x, data$y, n_permutations = 99)
  expect_equal(found$pairs[1, ], c(2, 5))
  expect_equal(found$pvalue, 0.01)
  expect_equal(c(found$n_tested, found$degrees), c(28, 1, 96))
  scaled <- as.data.frame(scale(data$x) * sqrt(100 / 99))
  y <- c(scale(data$y)) * sqrt(100 / 99)
  for (k in c(1, 7, 28)) {
    a <- scaled[[found$pairs[k, 1]]]
    b <- scaled[[found$pairs[k, 2]]]
    expected <- anova(lm(y ~ a + b), lm(y ~ a * b))
    expect_equal(found$statistics[k], expected$F[2])
    coefficients <- summary(lm(y ~ a * b))$coefficients["a:b", ]
    expect_equal(c(found$effects[k], found$standard_errors[k]), unname(coefficients[1:2]))
  }
  expect_equal(found$scores[["g3"]], max(found$statistics[rowSums(found$pairs == 3) > 0]))
  table <- as.data.frame(found)
  expect_named(table, c("a", "b", "a_name", "b_name", "statistic", "effect", "standard_error", "pvalue_max"))
  expect_output(print(found), "<pairs of 100 samples, number: ")
})

test_that("interactions of classes, times, covariates and two tables", {
  data <- interacting()
  classes <- interaction_scan(data$x, data$y > 0, n_permutations = 19)
  expect_equal(classes$pairs[1, ], c(2, 5))
  expect_equal(classes$classes, c("FALSE", "TRUE"))
  three <- interaction_scan(data$x, cut(data$y, 3), n_permutations = 0)
  expect_equal(three$degrees[1], 2)
  expect_null(three$effects)
  covariate <- data$x[, 8]
  given <- interaction_scan(data$x[, 1:7], data$y, covariates = covariate, n_permutations = 0)
  a <- data$x[, given$pairs[2, 1]]
  b <- data$x[, given$pairs[2, 2]]
  expected <- anova(lm(data$y ~ covariate + a + b), lm(data$y ~ covariate + a * b))
  expect_equal(given$statistics[2], expected$F[2])
  both <- interaction_scan(data$x[, 1:3], data$y, with_table = data$x[, 4:8], n_permutations = 0)
  expect_equal(as.data.frame(both)[1, c("a_name", "b_name")], data.frame(a_name = "g2", b_name = "g5"))
  expect_equal(both$n_tested, 15)
  expect_length(both$table_scores, 5)
  skip_if_not_installed("survival")
  time <- survival::Surv(exp(-data$y), rep(c(1, 1, 0, 1), 25))
  times <- interaction_scan(data$x, time, n_permutations = 19)
  expect_equal(times$pairs[1, ], c(2, 5))
  residuals <- unname(residuals(survival::coxph(time ~ 1, ties = "breslow"), type = "martingale"))
  expect_equal(times$statistics, interaction_scan(data$x, residuals, n_permutations = 0)$statistics)
})

test_that("chosen pairs have the statistics that they have among all", {
  data <- interacting()
  every <- interaction_scan(data$x, data$y, n_permutations = 0)
  chosen <- data.frame(a = c("g5", "g1", "g2", "g8"), b = c("g2", "g3", "g5", "g4"))
  found <- interaction_scan(data$x, data$y, pairs = chosen, n_permutations = 19)
  expect_equal(found$n_tested, 3)
  expect_equal(found$pairs[1, ], c(2, 5))
  place <- match(paste(found$pairs[, 1], found$pairs[, 2]), paste(every$pairs[, 1], every$pairs[, 2]))
  expect_equal(found$statistics, every$statistics[place], tolerance = 1e-9)
  both <- interaction_scan(data$x[, 1:3], data$y, with_table = data$x[, 4:8], pairs = cbind("g2", "g5"), n_permutations = 0)
  expect_equal(both$pairs, matrix(c(2, 2), 1))
  refused <- function(..., message) {
    expect_error(interaction_scan(data$x, data$y, ...), message, class = "fastfs_invalid_argument")
  }
  refused(pairs = 1:2, message = "pairs must be NULL or a table of two columns, a pair in each row; got 1:2")
  refused(pairs = cbind(1, 9), message = "pairs must be .* numbers or the names of some of the 8 features; got 9")
  refused(pairs = cbind("g1", "gene"), message = "got \"gene\"")
  refused(pairs = cbind(TRUE, FALSE), message = "pairs must hold numbers or names of features; got TRUE")
  refused(pairs = cbind(3, 3), message = "pairs must be of two features; got feature 3 with itself")
  refused(pairs = chosen, features = 1:5, message = "features must be NULL with pairs; got 1:5")
})

test_that("heavy tails are told", {
  data <- tied_data()
  expect_warning(
    differential_correlation(exp(2 * data$x), data$y, n_permutations = 9),
    "8 of 8 features have heavy tails within the classes .*: take Spearman's, or leave out columns 'g1', 'g2', 'g3' and 5 more"
  )
  expect_no_warning(differential_correlation(exp(2 * data$x), data$y, correlation = "spearman", n_permutations = 9))
})

test_that("correlations of classes are those given covariates", {
  data <- tied_data()
  z <- rnorm(60)
  x <- data$x + z
  found <- differential_correlation(x, data$y, covariates = z, n_permutations = 9)
  own <- found$pairs[5, ]
  rest <- residuals(lm(x[, own] ~ data$y + z))
  partial <- vapply(c("a", "b"), function(k) cor(rest[data$y == k, ])[1, 2], 0)
  expect_equal(found$correlations[5, ], partial)
  expect_equal(found$statistics[5], unname(diff(-atanh(partial)) / sqrt(2 / 27)))
  expect_equal(found$effects[5], unname(diff(-atanh(partial))))
})

test_that("pairs without a test are named, and wrong arguments refused", {
  data <- interacting()
  data$x[, 8] <- 2 * data$x[, 7]
  expect_warning(
    found <- interaction_scan(data$x, data$y, n_permutations = 0), "1 pair has no test .*: columns 'g7' and 'g8'"
  )
  expect_equal(found$excluded_pairs, matrix(7:8, 1))
  expect_equal(found$n_excluded_pairs, c(copies = 1, product = 0, target = 0))
  refused <- function(..., message) {
    expect_error(interaction_scan(...), message, class = "fastfs_invalid_argument")
  }
  x <- data$x[, 1:7]
  refused(x, data$y, with_table = x[-1, ], message = "x and with_table must have the same rows; got 100 and 99")
  refused(x, data$y, transform = "log", message = "transform must be")
  refused(x, data$y, blocks = rep(1:2, 50), n_permutations = 0, message = "n_permutations must be above 0 with blocks")
  refused(x, data$y, alpha = 0.05, n_permutations = 0, message = "n_permutations must be above 0 with alpha")
  refused(x, data$y, alpha = 5, message = "alpha must lie between 0 and 1; got 5")
  x[3, 2] <- NA
  refused(x, data$y, message = "sample 3 and feature 2 \\(g2\\)|sample 3, feature 2 \\(g2\\)|sample 3")
})

genotypes <- function() {
  set.seed(0)
  x <- matrix(sample(0:2, 12000, TRUE), 400, 30, dimnames = list(NULL, paste0("rs", 1:30)))
  list(x = x, y = ifelse(xor(x[, 5] == 1, x[, 10] == 1), "case", "control"))
}

test_that("SNPs that interact are found", {
  data <- genotypes()
  found <- snp_pairs(data$x, data$y, n_permutations = 19)
  expect_equal(found$pairs[1, ], c(5, 10))
  expect_equal(found$pvalues_max[1], 0.05)
  expect_equal(found$n_tested, 435)
  expected <- table(data$x[, 5], data$x[, 10], data$y)
  expect_equal(c(found$tables[1, , , ]), c(expected))
  expect_equal(found$degrees[1], 4)
  # The likelihood ratio of logistic regression of the class on both genotypes as factors.
  a <- factor(data$x[, found$pairs[2, 1]])
  b <- factor(data$x[, found$pairs[2, 2]])
  case <- data$y == "case"
  by_terms <- deviance(glm(case ~ a + b, binomial)) - deviance(glm(case ~ a * b, binomial))
  expect_equal(found$statistics[2], by_terms, tolerance = 1e-6)
  expect_equal(as.data.frame(found)$a_name[1], "rs5")
})

test_that("missing genotypes are left out pair by pair", {
  data <- genotypes()
  data$x[1:50, 5] <- NA
  data$x[51:60, 10] <- -9
  found <- snp_pairs(data$x, data$y, n_pairs = 1)
  expect_equal(found$pairs[1, ], c(5, 10))
  expect_equal(sum(found$tables), 340)
  data$x[3, 2] <- 1.5
  expect_error(
    snp_pairs(data$x, data$y), "got 1.5 for sample 3 and feature 2 \\(rs2\\): round dosages",
    class = "fastfs_invalid_argument"
  )
  data$x[3, 2] <- 3
  expect_error(snp_pairs(data$x, data$y), "got 3 for sample 3 and feature 2", class = "fastfs_invalid_argument")
})

test_that("pairs of SNPs for numbers and times", {
  x <- genotypes()$x
  set.seed(1)
  y <- x[, 5] * x[, 10] + rnorm(nrow(x))
  found <- snp_pairs(x, y, n_permutations = 19)
  expect_s3_class(found, "fastfs_interaction_scan")
  expect_equal(found$pairs[1, ], c(5, 10))
  expect_equal(found, interaction_scan(x, y, n_permutations = 19))
  expect_equal(snp_pairs(x, round(y), snps = c(5, 10), target_type = "number")$pairs[1, ], c(5, 10))
  skip_if_not_installed("survival")
  times <- survival::Surv(exp(-y), rep(1, nrow(x)))
  expect_equal(snp_pairs(x, times)$target_type, "survival")
  x[3, 4] <- NA
  expect_error(snp_pairs(x, y), "no missing genotypes if y holds numbers or times; got 1: impute",
               class = "fastfs_invalid_argument")
})

test_that("pairs of SNPs as classes of genotypes", {
  x <- genotypes()$x
  set.seed(1)
  z <- rnorm(nrow(x))
  y <- xor(x[, 5] == 1, x[, 10] == 1) + z + rnorm(nrow(x))
  x[1:9, 5] <- NA
  found <- snp_pairs(x, y, coding = "genotypic", covariates = z, n_permutations = 19)
  expect_s3_class(found, "fastfs_snp_pairs")
  expect_equal(found$pairs[1, ], c(5, 10))
  expect_equal(found$pvalue, 0.05)
  a <- factor(x[, 5])
  b <- factor(x[, 10])
  by_terms <- anova(lm(y ~ z + a + b), lm(y ~ z + a * b))
  expect_equal(found$statistics[1], by_terms$F[2] * by_terms$Df[2], tolerance = 1e-9)
  expect_equal(c(found$degrees[1], found$rest_degrees[1]), c(by_terms$Df[2], by_terms$Res.Df[2]))
  expect_equal(c(found$tables[1, , , "samples"]), c(table(a, b)))
  expect_equal(c(found$tables[1, , , "mean"]), c(tapply(y, list(a, b), mean)))
  expect_equal(names(as.data.frame(found))[5:7], c("statistic", "degrees", "rest_degrees"))
  expect_equal(found$scores[["rs5"]], found$statistics[1])
  expect_error(snp_pairs(x, y > 0, coding = "additive"), "coding must be 'genotypic' for classes; got 'additive'",
               class = "fastfs_invalid_argument")
  expect_error(snp_pairs(x, y, coding = "dominant"), "coding must be", class = "fastfs_invalid_argument")
})

test_that("clumps are led by the best SNPs", {
  x <- genotypes()$x[, 1:4]
  x[, 3] <- 2 - x[, 1]
  found <- ld_clumps(x, c(0.1, 0.9, 0.4, 0.2))
  expect_equal(found$leads, c(rs2 = 2, rs3 = 3, rs4 = 4))
  expect_equal(unname(found$clump), c(2, 1, 2, 3))
  apart <- ld_clumps(x, c(0.1, 0.9, 0.4, 0.2), position = c(1, 1, 300000, 1))
  expect_length(apart$leads, 4)
  other <- ld_clumps(x, c(0.1, 0.9, 0.4, 0.2), chromosome = c("1", "1", "X", "1"))
  expect_length(other$leads, 4)
  first <- ld_clumps(x, c(0.1, 0.9, 0.4, 0.2), n_clumps = 1)
  expect_equal(unname(first$clump), c(NA, 1, NA, NA))
  expect_error(ld_clumps(x, 1:3), "scores must be 4 numbers", class = "fastfs_invalid_argument")
  expect_error(ld_clumps(x, 1:4, position = 1), "position must be NULL or 4 numbers", class = "fastfs_error")
})

test_that("SNPs of an experiment lie in rows", {
  skip_if_not_installed("SummarizedExperiment")
  data <- genotypes()
  experiment <- SummarizedExperiment::SummarizedExperiment(
    list(calls = t(data$x)), colData = data.frame(state = data$y)
  )
  expect_equal(snp_pairs(experiment, "state", n_pairs = 5), snp_pairs(data$x, data$y, n_pairs = 5))
})

test_that("rare values have no p-values if groups move as wholes", {
  set.seed(0)
  donor <- rep(1:12, each = 4)
  x <- matrix(rnorm(288), 48, dimnames = list(NULL, paste0("g", 1:6)))
  x[, 2] <- rep(c(1, 0, 0, 0, 0, 0, 2, 0), 6) * rep(c(1, 0, 1), each = 16)
  y <- donor %% 2
  expect_warning(
    found <- differential_correlation(x, y, groups = donor, n_permutations = 19),
    "there are no valid p-values, .* 1 feature has one value in more than three fourths of a class, .*: leave column 'g2' out"
  )
  expect_null(found$pvalue)
  expect_equal(c(found$n_permutations, found$resolution), c(0, 1))
  expect_false(is.null(differential_correlation(x[, -2], y, groups = donor, n_permutations = 19)$pvalue))
  every <- seq_along(y)
  expect_equal(
    differential_correlation(x, y, groups = every, n_permutations = 19)$null_maxima,
    differential_correlation(x, y, n_permutations = 19)$null_maxima
  )
})

test_that("pairs may be limited by their p-values", {
  data <- interacting()
  snps <- genotypes()
  for (search in list(
    function(...) interaction_scan(data$x, data$y, n_permutations = 19, ...),
    function(...) differential_correlation(data$x, data$y > 0, n_permutations = 19, ...),
    function(...) snp_pairs(snps$x[, 1:12], snps$y, n_permutations = 19, ...)
  )) {
    every <- as.data.frame(search())
    some <- search(alpha = 0.9)
    expect_equal(as.data.frame(some), every[every$pvalue_max <= 0.9, ])
    expect_lt(nrow(some$pairs), nrow(every))
    expect_warning(none <- search(alpha = 0.01), "alpha is 0.01, but no p-value of this test can be below")
    expect_equal(nrow(none$pairs), 0)
  }
})
