test_that("threads default to one in forked workers", {
  skip_on_os("windows")
  data <- example_data()
  expected <- relieff(data$x, data$y)$scores
  found <- parallel::mclapply(1:2, function(i) {
    list(threads = fastfs_info()$n_threads, scores = relieff(data$x, data$y)$scores)
  }, mc.cores = 2)
  for (one in found) {
    expect_equal(one$threads, 1)
    expect_identical(one$scores, expected)
  }
  given <- parallel::mclapply(1, function(i) fastfs_info(n_threads = 2)$n_threads)
  expect_equal(given[[1]], 2)
})

test_that("an interrupt ends a call, which leaves R as it was", {
  skip_on_os("windows")
  skip_on_cran()
  set.seed(5)
  x <- matrix(rnorm(3000 * 3000), 3000)
  y <- rep(0:1, 1500)
  pid <- Sys.getpid()
  # Longer than the test may take: what comes before half a second has passed isn't the core.
  waiting <- parallel::mcparallel({
    Sys.sleep(0.7)
    tools::pskill(pid, tools::SIGINT)
    0
  })
  started <- proc.time()[["elapsed"]]
  ended <- tryCatch({
    repeat im4e(x, y, max_iter = 1000, tol = 0, n_threads = 1)
  }, interrupt = function(condition) "interrupted")
  elapsed <- proc.time()[["elapsed"]] - started
  parallel::mccollect(waiting)
  expect_equal(ended, "interrupted")
  expect_lt(elapsed, 5)
  data <- example_data()
  expect_length(relieff(data$x, data$y)$scores, 12)
})

test_that("a seed of NULL is drawn by R's generator", {
  data <- example_data(200)
  draw <- function() relieff(data$x, data$y, n_targets = 110, random_state = NULL)$scores
  set.seed(1)
  first <- draw()
  expect_false(identical(draw(), first))
  set.seed(1)
  expect_identical(draw(), first)
})

test_that("a bar is drawn after two seconds", {
  skip_on_cran()
  set.seed(5)
  x <- matrix(rnorm(1500 * 1500), 1500)
  y <- rep(0:1, 750)
  drawn <- utils::capture.output(type = "message", {
    # R checks the limit where it looks for interrupts, in the midst of a call.
    setTimeLimit(elapsed = 3, transient = TRUE)
    ended <- tryCatch({
      im4e(x, y, max_iter = 100000, tol = 0, n_threads = 1, verbose = TRUE)
      "finished"
    }, error = function(e) "interrupted", interrupt = function(e) "interrupted")
    setTimeLimit()
  })
  skip_if(ended == "finished", "the call was too short for a bar")
  expect_match(paste(drawn, collapse = ""), "[fastfs] |", fixed = TRUE)
})

test_that("the checks of CRAN get two threads, unless a number is given", {
  before <- Sys.getenv("_R_CHECK_LIMIT_CORES_", NA)
  on.exit(if (is.na(before)) Sys.unsetenv("_R_CHECK_LIMIT_CORES_") else Sys.setenv("_R_CHECK_LIMIT_CORES_" = before))
  for (value in c("TRUE", "warn")) {
    Sys.setenv("_R_CHECK_LIMIT_CORES_" = value)
    expect_lte(fastfs:::read_run(0, NULL, FALSE)$n_threads, 2)
    expect_equal(fastfs:::read_run(3, NULL, FALSE)$n_threads, 3)
  }
  skip_on_os("windows")
  Sys.setenv("_R_CHECK_LIMIT_CORES_" = "TRUE")
  workers <- parallel::mclapply(1:2, function(i) fastfs_info()$n_threads, mc.cores = 2)
  expect_equal(unlist(workers), c(1, 1))
  Sys.setenv("_R_CHECK_LIMIT_CORES_" = "FALSE")
  expect_equal(fastfs:::read_run(0, NULL, FALSE)$n_threads, 0)
})

test_that("the citation names the package and its version", {
  text <- format(citation("fastfs"), style = "text")
  expect_match(text, as.character(packageVersion("fastfs")), fixed = TRUE)
})
