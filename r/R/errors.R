# Errors and warnings are conditions of the classes "fastfs_error" and "fastfs_warning", with one sentence each.

# In the order of fastfs_status.
STATUS <- c("invalid_argument", "out_of_memory", "numerical_error", "canceled", "internal_error", "other_blas")

# Raises an error of the arguments; the parts are pasted. One of memory begins with the function that was called.
refuse <- function(..., class = "invalid_argument") {
  text <- paste0(...)
  if (class == "out_of_memory") {
    called <- called_function()
    if (called %in% c("permutation_test", "stability")) {
      text <- sub("raise max_memory", "raise max_memory in options", text, fixed = TRUE)
    }
    text <- paste0(called, ": ", text)
  }
  stop(errorCondition(text, class = c(paste0("fastfs_", class), "fastfs_error"), call = NULL))
}

# Returns the name of the function of fastfs that the user has called.
called_function <- function() {
  namespace <- environment(refuse)
  names <- c(getNamespaceExports(namespace), "predict.fastfs_im4e")
  for (i in seq_len(sys.nframe())) {
    for (name in names) {
      if (identical(sys.function(i), get(name, namespace))) return(sub("predict\\..*", "predict", name))
    }
  }
  "fastfs"
}

# messages: those of the core have their codes as names.
warn <- function(messages) {
  for (i in seq_along(messages)) {
    warning(warningCondition(messages[[i]], code = names(messages)[i], class = "fastfs_warning", call = NULL))
  }
}

# The warnings of the core's last call, but for some codes; `names` is as for core_result().
core_messages <- function(names = list(), without = character()) {
  all <- .Call(C_last_warnings)
  codes <- vapply(all, `[[`, "", "code")
  messages <- vapply(all, called_by_user, "", names)
  stats::setNames(messages, codes)[!codes %in% without]
}

# The result of a shim, unless the core refused. The core names things by number, from 0; `names` has functions of a
# number that say what the caller calls them. names$set_rows: the samples of each set, if the core counts these in it.
core_result <- function(found, names = list()) {
  if (inherits(found, "fastfs_failure")) fail(found, names)
  found
}

# In the order of fastfs_place_kind.
KINDS <- c("matrix", "row", "column", "class", "set", "chunk", "kernel")

fail <- function(failure, names) {
  if (failure$is_interrupted) interrupt()
  set <- failure$numbers[KINDS[failure$kinds] == "set"] + 1
  if (length(set) == 1 && !is.null(names$set_rows)) {
    is_row <- KINDS[failure$kinds] == "row"
    failure$numbers[is_row] <- names$set_rows[[set]][failure$numbers[is_row] + 1] - 1
  }
  refuse(called_by_user(failure, names), class = STATUS[failure$status])
}

# A message of the core with the user's names at its places.
called_by_user <- function(found, names) {
  defaults <- list(
    row = function(i) paste("sample", i),
    column = function(i) paste("feature", i),
    class = function(i) paste("class", i),
    set = function(i) paste("set", i),
    kernel = function(i) paste("kernel", i)
  )
  names <- utils::modifyList(defaults, names)
  text <- ""
  end <- 0
  for (i in seq_along(found$kinds)) {
    name <- names[[KINDS[found$kinds[i]]]]
    text <- paste0(text, substr(found$message, end + 1, found$begins[i]))
    end <- found$ends[i]
    text <- paste0(text, if (is.null(name)) {
      substr(found$message, found$begins[i] + 1, end)
    } else {
      name(found$numbers[i] + 1)
    })
  }
  paste0(text, substr(found$message, end + 1, nchar(found$message)))
}

# As R does after Ctrl-C: handlers of interrupts first, then the top level.
interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  invokeRestart("abort")
}

# A list for people: all of a few names, or the first three and how many more there are.
some_of <- function(names) {
  shown <- paste(utils::head(names, 3), collapse = ", ")
  if (length(names) > 3) paste0(shown, " and ", length(names) - 3, " more") else shown
}

quoted <- function(names) paste0("'", names, "'")
