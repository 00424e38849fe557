# Makes the source package: what lies here, with the core of csrc/ in its src/.
#
#     Rscript r/build.R FOLDER
#
# writes FOLDER/fastfs, for R CMD build, check or INSTALL.

own_folder <- function() {
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  dirname(normalizePath(file))
}

copy <- function(from, to) {
  dir.create(dirname(to), recursive = TRUE, showWarnings = FALSE)
  if (!file.copy(from, to, overwrite = TRUE, copy.mode = TRUE)) stop("can't copy ", from)
}

# Returns a call of a function with its defaults, as a manual shows it.
usage_of <- function(name, package) {
  arguments <- formals(package[[name]])
  shown <- vapply(names(arguments), function(argument) {
    if (identical(arguments[[argument]], quote(expr = ))) return(argument)
    paste(argument, "=", paste(deparse(arguments[[argument]]), collapse = ""))
  }, "")
  # No break within "a = 1": no-break spaces hold it together until the lines are made.
  shown <- paste0(gsub(" ", "\u00a0", shown), c(rep(",", length(shown) - 1), ")"))
  lines <- strwrap(paste(c(paste0(name, "("), shown), collapse = " "), 88, exdent = 2)
  gsub("( ", "(", gsub("\u00a0", " ", lines), fixed = TRUE)
}

# Returns the items of all options that these methods have.
items_of <- function(methods, package) {
  options <- do.call(c, lapply(methods, package$options_of))
  texts <- vapply(options, `[[`, "", "text")
  same <- unique(data.frame(name = names(options), text = texts))
  if (anyDuplicated(same$name)) stop("an option has two texts: ", same$name[duplicated(same$name)])
  strwrap(paste0("\\item{", same$name, "}{", same$text, "}"), 120, indent = 2, exdent = 4)
}

# Copies a page of the manual, with usage and items for lines such as \usageOf{surf} and \optionsOf{im4e, immigrate}.
copy_page <- function(from, to, package) {
  makers <- list(usageOf = usage_of, optionsOf = items_of)
  pattern <- paste0("^ *\\\\(", paste(names(makers), collapse = "|"), ")\\{([a-z0-9_, ]+)\\}$")
  lines <- lapply(readLines(from, encoding = "UTF-8"), function(line) {
    found <- regmatches(line, regexec(pattern, line))[[1]]
    if (length(found)) makers[[found[2]]](strsplit(found[3], ", ")[[1]], package) else line
  })
  writeLines(enc2utf8(unlist(lines)), to, useBytes = TRUE)
}

main <- function(folder) {
  here <- own_folder()
  core <- file.path(dirname(here), "csrc")
  target <- file.path(folder, "fastfs")
  unlink(target, recursive = TRUE)

  own <- list.files(here, recursive = TRUE)
  own <- own[!own %in% c("build.R", "check.sh", "reference.py", "snippets.R") & !grepl("[.]o$|[.]so$|^src/Makevars$", own)]
  for (file in own) copy(file.path(here, file), file.path(target, file))
  package <- new.env()
  for (file in sort(list.files(file.path(here, "R"), full.names = TRUE), method = "radix")) sys.source(file, package)
  for (page in grep("^man/[^/]*[.]Rd$", own, value = TRUE)) {
    copy_page(file.path(here, page), file.path(target, page), package)
  }

  sources <- list.files(core, "[.](cpp|hpp|h)$", recursive = TRUE)
  sources <- sources[!grepl("^bindings/", sources)]
  for (file in sources) copy(file.path(core, file), file.path(target, "src/core", file))

  # R links with the C++ compiler if it sees a file of C++ here.
  writeLines("// The core is in core/.", file.path(target, "src/core.cpp"))
  cat("wrote ", target, "\n", sep = "")
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1) stop("usage: Rscript r/build.R FOLDER")
main(arguments)
