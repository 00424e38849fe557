# The options of methods, each described once: functions get their arguments from here, and build.R the manual its usage
# and items.

# Returns an option: its default; read(name, value), which makes the value for the core (without it, the method's stage
# reads the option); its text in the manual; `core`, the core's name for it; `needs`, the words of another option with
# which alone it has an effect, such as list(kernel = "poly").
option <- function(default, read = NULL, text, core = NULL, needs = NULL) {
  list(default = default, read = read, text = text, core = core, needs = needs)
}

# In place of words: the other option is a number, and has to be above 0.
ABOVE_0 <- numeric()

# Functions that read an option.
one_of <- function(...) function(name, value) choose_word(name, value, c(...))
one_of_or_null <- function(...) function(name, value) word_or_none(name, value, c(...))
whole <- function(...) function(name, value) as_whole(name, value, ...)

random_state <- function(text = "\\argSeed") {
  option(0, function(name, value) as_seed(value), text, core = "seed")
}

# Returns the arguments that the core reads, by its names.
core_options <- function(options, given) {
  found <- list()
  for (name in names(options)) {
    option <- options[[name]]
    if (is.null(option$read)) next
    found[[if (is.null(option$core)) name else option$core]] <- option$read(name, given[[name]])
  }
  found
}

# Returns the function of a method. y, more: arguments besides the options.
method_function <- function(method, options, y = alist(y = ), more = NULL) {
  made <- function() NULL
  formals(made) <- c(
    alist(x = ), y, list(n_features_to_select = NULL), lapply(options, `[[`, "default"), more,
    list(assay = 1, n_threads = 0, max_memory = NULL, verbose = FALSE)
  )
  body(made) <- bquote(run_method(.(method), as.list(environment())))
  environment(made) <- topenv()
  made
}

# Warns of options that were changed from their default, but have no effect.
warn_without_effect <- function(method, given) {
  options <- options_of(method)
  for (name in names(options)) {
    needs <- options[[name]]$needs
    if (is.null(needs)) next
    other <- names(needs)
    words <- needs[[other]]
    value <- given[[other]]
    is_met <- if (is.character(value)) all(value %in% words) else identical(words, ABOVE_0) && value > 0
    if (is_met || identical(given[[name]], options[[name]]$default)) next
    needed <- if (identical(words, ABOVE_0)) " above 0" else paste(" =", paste(shQuote(words, "cmd"), collapse = " or "))
    warn(paste0(
      name, " = ", shown(given[[name]]), " has no effect with ", other, " = ", shown(value), ": it needs ", other,
      needed
    ))
  }
}
