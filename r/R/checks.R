# Parameters: types and words. Ranges are for the core to check.

# How a value looks in a message.
shown <- function(value) {
  text <- paste(deparse(value, nlines = 1L, width.cutoff = 60L), collapse = "")
  if (nchar(text) > 60) paste0(substr(text, 1, 57), "...") else text
}

choose_word <- function(name, value, words, ...) {
  if (is.character(value) && length(value) == 1 && value %in% words) return(value)
  known <- c(shQuote(words, "cmd"), ...)
  most <- paste(utils::head(known, -1), collapse = ", ")
  refuse(name, " must be ", most, if (length(known) > 1) " or ", utils::tail(known, 1), "; got ", shown(value),
         if (is.character(value) && length(value) == 1) did_you_mean(value, words))
}

# Returns the end of an error that names the word which is nearest to a misspelt one, if one is near.
did_you_mean <- function(word, words) {
  if (is.na(word) || length(words) == 0) return(NULL)
  edits <- drop(utils::adist(word, words, ignore.case = TRUE))
  nearest <- order(edits, abs(nchar(words) - nchar(word)))[1]
  if (edits[nearest] <= nchar(word) %/% 3) paste0("; did you mean ", words[nearest], "?")
}

as_number <- function(name, value) {
  if (!is.numeric(value) || is.object(value) || length(value) != 1 || is.na(value)) {
    refuse(name, " must be a number; got ", shown(value))
  }
  as.double(value)
}

# Numbers of R are exact up to 2^53.
as_whole <- function(name, value, low = -2^31, high = 2^53) {
  if (!is.numeric(value) || is.object(value) || length(value) != 1 || is.na(value) || value != floor(value)) {
    refuse(name, " must be a whole number; got ", shown(value))
  }
  if (value < low) refuse(name, " must be at least ", format(low, scientific = FALSE), "; got ", shown(value))
  if (value > high) refuse(name, " must be at most ", format(high, scientific = FALSE), "; got ", shown(value))
  as.double(value)
}

# 0 for NULL.
as_count <- function(name, value) if (is.null(value)) 0 else as_whole(name, value, low = 1)

as_flag <- function(name, value) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) {
    refuse(name, " must be TRUE or FALSE; got ", shown(value))
  }
  value
}

# NULL is a seed that R's generator draws, so that set.seed() decides.
as_seed <- function(value) {
  if (is.null(value)) return(floor(stats::runif(1) * 2^31))
  as_whole("random_state", value, low = 0)
}

word_or_none <- function(name, value, words) if (is.null(value)) "none" else choose_word(name, value, words, "NULL")

UNITS <- c(K = 2^10, M = 2^20, G = 2^30, T = 2^40)

as_memory <- function(value) {
  if (is.null(value)) return(0)
  if (is.character(value) && length(value) == 1) {
    parts <- regmatches(value, regexec("^ *([0-9]*\\.?[0-9]+) *([KMGTkmgt]?)(i?B)?$", value))[[1]]
    bytes <- if (length(parts) > 0) as.double(parts[2]) * if (nzchar(parts[3])) UNITS[[toupper(parts[3])]] else 1
    if (!is.null(bytes) && bytes >= 1 && bytes < 2^53) return(floor(bytes))
    refuse("max_memory must be a number of bytes, or a string such as \"4G\"; got ", shown(value))
  }
  as_whole("max_memory", value, low = 1)
}

# Returns how a call runs. CRAN's checks allow two cores unless a number was given; a forked worker takes one in any case.
read_run <- function(n_threads, max_memory, verbose) {
  n_threads <- as_whole("n_threads", n_threads, high = 2^31 - 1)
  is_limited <- tolower(Sys.getenv("_R_CHECK_LIMIT_CORES_", "false")) %in% c("true", "warn", "error")
  if (n_threads == 0 && is_limited) {
    by_default <- .Call(C_info, list(n_threads = 0, max_memory = 0, verbose = FALSE))$n_threads
    n_threads <- min(2, by_default)
  }
  list(
    n_threads = n_threads,
    max_memory = as_memory(max_memory),
    verbose = as_flag("verbose", verbose)
  )
}

quiet <- function(run) {
  run$verbose <- FALSE
  run
}

# The features by descending score; ties go to the lower index. last: those that come behind all others.
best_first <- function(scores, last = NULL) {
  scores[last] <- -Inf
  order(scores, decreasing = TRUE, method = "radix")
}

# The place of each feature in this order: 1 is best.
places_of <- function(best) {
  ranking <- integer(length(best))
  ranking[best] <- seq_along(best)
  ranking
}

# A number, a fraction below 1, or half of them. R has no other way to tell 1 from 1.0: that is one feature.
count_selected <- function(n, n_features) {
  if (is.null(n)) return(max(1, n_features %/% 2))
  n <- as_number("n_features_to_select", n)
  if (n > 0 && n < 1) return(max(1, floor(n * n_features)))
  if (n != floor(n) || n < 1 || n > n_features) {
    refuse(
      "n_features_to_select must be a fraction below 1, or a whole number from 1 to the ", n_features,
      " features; got ", shown(n)
    )
  }
  n
}
