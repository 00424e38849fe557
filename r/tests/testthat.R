library(testthat)
library(fastfs)

test_check("fastfs")
