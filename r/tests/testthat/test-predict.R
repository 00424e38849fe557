fits <- list(im4e = im4e, immigrate = immigrate)

test_that("new samples are predicted by their expected distances", {
  data <- example_data(80, 6)
  train <- 1:60
  for (method in names(fits)) {
    fit <- fits[[method]](data$x[train, ], data$y[train])
    distances <- predict(fit, data$x[-train, ], type = "distance")
    expect_equal(dimnames(distances), list(paste0("s", 61:80), c("a", "b")))
    classes <- predict(fit, data$x[-train, ])
    expect_equal(as.character(classes), ifelse(distances[, "a"] > distances[, "b"], "b", "a"), ignore_attr = TRUE)
    expect_gt(mean(classes == data$y[-train]), 0.7)
    expect_identical(predict(fit, as.data.frame(data$x[-train, ]), type = "distance")[1, ], distances[1, ])
  }
})

test_that("distances are those of the definition", {
  data <- example_data(40, 4)
  fit <- im4e(data$x, data$y)
  z <- scale(data$x, center = FALSE, scale = apply(data$x, 2, function(v) sqrt(mean((v - mean(v))^2))))
  new <- z[1, ]
  d <- colSums(fit$scores * abs(t(z) - new))
  expected <- vapply(c("a", "b"), function(k) {
    own <- d[data$y == k]
    weights <- exp(-(own - min(own)) / fit$sigma)
    sum(own * weights) / sum(weights)
  }, 0)
  expect_equal(predict(fit, data$x[1, , drop = FALSE], type = "distance")[1, ], expected)
})

test_that("explanations add up to margins", {
  data <- example_data(60, 6)
  for (method in names(fits)) {
    fit <- fits[[method]](data$x, data$y)
    found <- explain(fit, data$x[1:5, ], top = 100)
    expect_equal(rownames(found$samples), paste0("s", 1:5))
    expect_equal(found$samples$margin, unname(c(rowsum(found$features$part, found$features$sample))))
    expect_true(all(found$samples$margin >= 0))
    if (method == "immigrate") {
      expect_equal(found$samples$margin, unname(c(rowsum(found$pairs$part, found$pairs$sample))))
      expect_true(all(found$pairs$a <= found$pairs$b))
    }
    other <- explain(fit, data$x[1:5, ], ifelse(found$samples$class == "a", "b", "a"), top = 3)
    expect_equal(other$samples$margin, -found$samples$margin)
    expect_equal(nrow(other$features), 15)
    expect_equal(other$features$feature_name, colnames(data$x)[other$features$feature])
  }
})

test_that("x isn't copied into the result", {
  data <- example_data()
  fit <- im4e(data$x, data$y)
  expect_identical(address(fit$model$x$values), address(data$x))
})

test_that("new samples with other features are refused", {
  data <- example_data()
  fit <- im4e(data$x, data$y)
  expect_error(predict(fit, data$x[, -1]), "the 12 features of the fit; got 11", class = "fastfs_invalid_argument")
  expect_error(predict(fit, data$x[, 12:1]), "got 'g12' as feature 1 in place of 'g1'", class = "fastfs_invalid_argument")
  data$x[2, 3] <- NA
  expect_error(predict(fit, data$x), "sample 2 \\(s2\\)", class = "fastfs_invalid_argument")
  expect_error(explain(fit, data$x[1, , drop = FALSE], "c"), "got 'c'", class = "fastfs_invalid_argument")
  expect_error(explain(relief(data$x[-2, ], data$y[-2]), data$x), "must be a result of im4e", class = "fastfs_error")
})
