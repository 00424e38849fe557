# Direction of features: in which classes they are high or low. As Python's fastfs.direction.

VALUES_AT_ONCE <- 2^22

direction <- function(x, y, assay = 1, max_memory = NULL) {
  given <- from_formula(x, y)
  run <- read_run(0, max_memory, FALSE)
  data <- read_features(given$x, given$y, assay, run)
  target <- projse_target(data$y, data, run)
  if (target$kind == "none" || (target$kind == "number" && ncol(target$values) != 1)) {
    refuse("y must hold a label or one number for each sample; got ",
           if (target$kind == "none") "NULL" else paste(ncol(target$values), "columns: give one at a time"))
  }
  numbers <- if (target$kind == "number") as.double(target$values)
  members <- if (is.null(numbers)) {
    lapply(seq_along(target$classes), function(k) target$values == k - 1)
  } else {
    list(numbers > stats::median(numbers))
  }
  d <- data$x$n_cols
  names <- list(if (is.null(numbers)) as.character(target$classes), data$features)
  effects <- differences <- matrix(0, length(members), d, dimnames = names)
  step <- max(1, VALUES_AT_ONCE %/% max(1, data$x$n_rows))
  for (begin in seq(1, d, by = step)) {
    columns <- seq(begin, min(begin + step - 1, d))
    block <- take_features(data$x, columns)
    if (any(is.infinite(block))) {
      at <- which(is.infinite(block), arr.ind = TRUE)[1, ]
      called <- names_of(data)
      refuse("x must not have infinity; got it for ", called$row(at[1]), ", ", called$column(columns[at[2]]), ": replace it")
    }
    effects[, columns] <- if (is.null(numbers)) dominance(block, members) else rank_correlations(block, numbers)
    for (k in seq_along(members)) {
      of <- function(rows) apply(block[rows, , drop = FALSE], 2, stats::median, na.rm = TRUE)
      differences[k, columns] <- of(members[[k]]) - of(!members[[k]])
    }
  }
  structure(
    list(classes = target$classes, effects = effects, median_differences = differences), class = "fastfs_direction"
  )
}

# Cliff's delta of each class against the rest, from the rank sums of Mann and Whitney.
dominance <- function(block, members) {
  ranks <- matrix(apply(block, 2, rank, na.last = "keep"), nrow(block))
  present <- !is.na(block)
  rows <- lapply(members, function(rows) {
    inside <- colSums(present[rows, , drop = FALSE])
    pairs <- inside * (colSums(present) - inside)
    wins <- colSums(ranks[rows, , drop = FALSE], na.rm = TRUE) - inside * (inside + 1) / 2
    ifelse(pairs > 0, 2 * wins / pmax(pairs, 1) - 1, 0)
  })
  do.call(rbind, rows)
}

# Spearman's correlation of each column with numbers, over the samples that have both; 0 if it is undefined.
rank_correlations <- function(block, numbers) {
  apply(block, 2, function(column) {
    present <- !is.na(column)
    a <- rank(column[present])
    b <- rank(numbers[present])
    if (length(unique(a)) < 2 || length(unique(b)) < 2) 0 else stats::cor(a, b)
  })
}

as.data.frame.fastfs_direction <- function(x, row.names = NULL, optional = FALSE, ...) {
  # Rounding must not decide between two classes, which have opposite effects: of these the positive one counts.
  row <- max.col(t(round(abs(x$effects), 12) + 1e-13 * (x$effects > 0)), ties.method = "first")
  at <- cbind(row, seq_along(row))
  effect <- x$effects[at]
  words <- if (is.null(x$classes)) c("rises", "falls") else c("high in", "low in")
  said <- trimws(paste(ifelse(effect > 0, words[1], words[2]), if (!is.null(x$classes)) x$classes[row] else ""))
  data.frame(
    feature = if (is.null(colnames(x$effects))) seq_along(row) else colnames(x$effects),
    direction = ifelse(effect == 0, "", said), effect = effect, median_difference = x$median_differences[at],
    row.names = row.names, stringsAsFactors = FALSE
  )
}

print.fastfs_direction <- function(x, n = 10, ...) {
  cat("<direction of ", ncol(x$effects), " features",
      if (!is.null(x$classes)) paste0(", classes ", some_of(quoted(x$classes))), ">\n", sep = "")
  table <- as.data.frame(x)
  print(table[order(-abs(table$effect))[seq_len(min(n, nrow(table)))], ], row.names = FALSE, ...)
  invisible(x)
}
