# Against the scores of Python's fastfs from the same sources: r/reference.py writes them.

folder <- Sys.getenv("FASTFS_R_REFERENCE")

read_doubles <- function(name) {
  path <- file.path(folder, paste0(name, ".f64"))
  readBin(path, "double", file.size(path) / 8, size = 8, endian = "little")
}

test_that("scores are those of Python", {
  skip_if(folder == "", "FASTFS_R_REFERENCE has no scores of Python: python r/reference.py FOLDER writes them")
  cases <- utils::read.csv(file.path(folder, "cases.csv"), stringsAsFactors = FALSE)
  expect_gt(nrow(cases), 20)
  y <- as.integer(read_doubles("y"))
  x <- matrix(read_doubles("x"), length(y))
  number <- x[, 1]
  three <- rep(0:2, length.out = length(y))
  missing_x <- x
  missing_x[seq(1, nrow(x), 5), seq(1, ncol(x), 7)] <- NA
  genotypes <- pmin(pmax(round(x - rep(colMeans(x), each = nrow(x))) + 1, 0), 2)
  for (i in seq_len(nrow(cases))) {
    found <- suppressWarnings(eval(parse(text = cases$call[i])))
    if (is.list(found)) found <- found$scores
    expected <- read_doubles(cases$name[i])
    if (cases$tolerance[i] == 0) {
      expect_identical(unname(found), expected, label = cases$call[i])
    } else {
      expect_length(found, length(expected))
      error <- max(abs(found - expected)) / max(abs(expected))
      expect_lte(error, cases$tolerance[i], label = paste("the relative error of", cases$call[i]))
    }
  }
})

test_that("options have the defaults of Python", {
  skip_if(folder == "", "FASTFS_R_REFERENCE has no defaults of Python: python r/reference.py FOLDER writes them")
  defaults <- utils::read.csv(file.path(folder, "defaults.csv"), stringsAsFactors = FALSE)
  compared <- 0
  for (i in seq_len(nrow(defaults))) {
    method <- defaults$method[i]
    found <- formals(getExportedValue("fastfs", method))
    # R has other words for some options, and no blocks of rows.
    if (!defaults$name[i] %in% names(found) || defaults$name[i] == "verbose") next
    expect_equal(
      eval(found[[defaults$name[i]]]), eval(parse(text = defaults$default[i])),
      label = paste("the default of", defaults$name[i], "of", method)
    )
    compared <- compared + 1
  }
  expect_gte(compared, 130)
})
