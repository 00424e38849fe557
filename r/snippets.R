# Runs the R code of documents as a reader would: the blocks ```r of Markdown, and the examples of Rd.
#
#     Rscript r/snippets.R FILE...
#
# The blocks of a file share their variables. Lines that begin with #> state what the expression above them prints. A
# block that needs a package which isn't installed is skipped.

failed <- FALSE
fail <- function(...) {
  failed <<- TRUE
  message(...)
}

# The blocks of a file, each with the number of its first line.
blocks_of <- function(file) {
  if (grepl("\\.Rd$", file)) {
    macros <- tools::loadPkgRdMacros(dirname(dirname(file)))
    for (own in list.files(file.path(dirname(file), "macros"), full.names = TRUE)) macros <- tools::loadRdMacros(own, macros)
    examples <- tempfile()
    suppressWarnings(tools::Rd2ex(tools::parse_Rd(file, macros = macros), examples))
    return(if (file.exists(examples)) list(list(line = 1, code = readLines(examples))))
  }
  lines <- readLines(file, encoding = "UTF-8")
  begins <- grep("^```r$", lines)
  lapply(begins, function(begin) {
    end <- begin + which(lines[-seq_len(begin)] == "```")[1]
    list(line = begin + 1, code = lines[seq(begin + 1, length.out = end - begin - 1)])
  })
}

missing_package <- function(code) {
  used <- regmatches(code, gregexpr("[A-Za-z][A-Za-z0-9.]*(?=::)", code, perl = TRUE))
  for (name in unique(unlist(used))) if (!requireNamespace(name, quietly = TRUE)) return(name)
}

# The lines #> that follow line `last`.
stated_after <- function(code, last) {
  stated <- character()
  while (last < length(code) && startsWith(code[last + 1], "#>")) {
    last <- last + 1
    stated <- c(stated, sub("^#> ?", "", code[last]))
  }
  stated
}

run <- function(block, file, variables) {
  parsed <- parse(text = block$code, keep.source = TRUE, encoding = "UTF-8")
  ends <- vapply(attr(parsed, "srcref"), function(place) as.integer(place)[3], 0L)
  checked <- integer()
  for (k in seq_along(parsed)) {
    place <- sprintf("%s:%d", file, block$line + ends[k] - 1)
    printed <- tryCatch(
      utils::capture.output({
        value <- withVisible(eval(parsed[[k]], variables))
        if (value$visible) print(value$value)
      }),
      error = function(error) {
        fail(place, " fails: ", conditionMessage(error))
        NULL
      }
    )
    stated <- stated_after(block$code, ends[k])
    checked <- c(checked, ends[k] + seq_along(stated))
    if (length(stated) && !is.null(printed) && !identical(trimws(printed, "right"), trimws(stated, "right"))) {
      fail(place, " states\n", paste(stated, collapse = "\n"), "\nbut prints\n", paste(printed, collapse = "\n"))
    }
  }
  for (line in setdiff(grep("^#>", block$code), checked)) fail(file, ":", block$line + line - 1, " belongs to no expression")
  length(checked)
}

grDevices::pdf(NULL)
n_blocks <- n_lines <- 0
for (file in commandArgs(trailingOnly = TRUE)) {
  variables <- new.env(parent = globalenv())
  for (block in blocks_of(file)) {
    if (!is.null(name <- missing_package(block$code))) {
      message(sprintf("%s:%d is skipped: %s isn't installed", file, block$line, name))
      next
    }
    n_lines <- n_lines + run(block, file, variables)
    n_blocks <- n_blocks + 1
  }
}
if (!n_blocks) fail("there is no R code in these files")
cat(sprintf("%d snippets ran; %d lines of output as stated\n", n_blocks, n_lines))
quit(status = failed)
