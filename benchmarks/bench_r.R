# Runs the lines that bench_r.py sends, and answers with the CPU seconds of each.

arguments <- commandArgs(trailingOnly = TRUE)
library(fastfs, lib.loc = arguments[1])
dyn.load(file.path(arguments[2], "bench_r.so"))

doubles <- function(name) {
  path <- file.path(arguments[2], name)
  readBin(path, "double", file.size(path) / 8, size = 8, endian = "little")
}

read <- function(n) {
  x <<- matrix(doubles("x.f64"), n)
  y <<- as.integer(doubles("y.f64"))
}

package_arithmetic <- function(x, y, n_iter) .Call("package_arithmetic", t(x), y, as.integer(n_iter))

lines <- file("stdin", "r")
while (length(line <- readLines(lines, 1)) > 0) {
  code <- parse(text = line)
  before <- proc.time()
  suppressWarnings(eval(code))
  spent <- proc.time() - before
  cat(format(spent[["user.self"]] + spent[["sys.self"]], digits = 15), "\n", sep = "")
  flush(stdout())
}
