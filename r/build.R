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

main <- function(folder) {
  here <- own_folder()
  core <- file.path(dirname(here), "csrc")
  target <- file.path(folder, "fastfs")
  unlink(target, recursive = TRUE)

  own <- list.files(here, recursive = TRUE)
  own <- own[!own %in% c("build.R", "check.sh", "reference.py", "snippets.R") & !grepl("[.]o$|[.]so$|^src/Makevars$", own)]
  for (file in own) copy(file.path(here, file), file.path(target, file))

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
