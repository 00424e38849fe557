# Makes the source package: what lies here, with the core of csrc/ in its src/.
#
#     Rscript r/build.R FOLDER
#
# writes FOLDER/fastfs, for R CMD build, check or INSTALL.

ISAS <- list(
  base = NULL,
  avx2 = c("avx2", "fma"),
  avx512 = c("avx512f", "avx512dq", "avx512bw", "avx512vl", "fma", "prefer-vector-width=512")
)

own_folder <- function() {
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  dirname(normalizePath(file))
}

copy <- function(from, to) {
  dir.create(dirname(to), recursive = TRUE, showWarnings = FALSE)
  if (!file.copy(from, to, overwrite = TRUE, copy.mode = TRUE)) stop("can't copy ", from)
}

# CMakeLists.txt gives these options on the command line, which a package must not: other compilers don't know them.
isa_unit <- function(isa, source) {
  c(
    paste0("// ", source, " for the instruction set ", isa, "; made by build.R."),
    "#if defined(__GNUC__) && !defined(__clang__)",
    "#pragma GCC optimize(\"O3\", \"fp-contract=fast\", \"no-trapping-math\")",
    if (!is.null(ISAS[[isa]])) paste0("#pragma GCC target(\"", paste(ISAS[[isa]], collapse = ","), "\")"),
    "#endif",
    paste0("#define FASTFS_ISA_NAME ", isa),
    paste0("#include \"engines/isa/", source, "\"")
  )
}

main <- function(folder) {
  here <- own_folder()
  core <- file.path(dirname(here), "csrc")
  target <- file.path(folder, "fastfs")
  unlink(target, recursive = TRUE)

  own <- list.files(here, recursive = TRUE)
  own <- own[!own %in% c("build.R", "check.sh", "reference.py") & !grepl("[.]o$|[.]so$|^src/Makevars$", own)]
  for (file in own) copy(file.path(here, file), file.path(target, file))

  sources <- list.files(core, "[.](cpp|hpp|h)$", recursive = TRUE)
  sources <- sources[!grepl("^bindings/", sources)]
  for (file in sources) copy(file.path(core, file), file.path(target, "src/core", file))

  units <- grep("^engines/isa/.*[.]cpp$", sources, value = TRUE)
  for (unit in setdiff(basename(units), "dispatch.cpp")) {
    for (isa in names(ISAS)) {
      writeLines(isa_unit(isa, unit), file.path(target, "src", paste0("isa_", isa, "_", unit)))
    }
  }
  cat("wrote ", target, "\n", sep = "")
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1) stop("usage: Rscript r/build.R FOLDER")
main(arguments)
