# Designs: which labelings of the samples are as likely as the true one, if the labels say nothing about x. The same
# definitions as in Python's fastfs, drawn by R's generator.

# Tests warn if none of their p-values can be this small.
SIGNIFICANT <- 0.05

# From here on, labelings aren't counted.
COUNTED_BELOW <- 1e6

# Rounds of swaps in a walk from one labeling to another.
N_ROUNDS <- 50

# The most other units on each side of a unit in its cell with which it is compared to fit the classes' probabilities.
N_PARTNERS <- 20

# Shares of the spread of numbers below which residuals are rounding.
RESIDUE <- 1e-9

# Samples, or whole groups of them, exchange their labels within cells: blocks, groups, or both. A labeling is a target.
new_design <- function(target, blocks, groups, n, covariates = NULL) {
  values <- target$values
  keys <- if (is.matrix(values)) do.call(paste, c(as.data.frame(values), sep = "\r")) else values
  codes <- match(keys, unique(keys))
  first <- which(!duplicated(codes))
  block <- design_column("blocks", blocks, n)
  group <- if (!is.null(groups)) design_column("groups", groups, n)
  design <- list(
    is_class = target$kind == "class", codes = codes, first = first, block = block, group = group,
    n_blocks = if (is.null(blocks)) 0 else length(block$names), weaknesses = character(), target = target,
    n_covariates = 0, hides_specimens = FALSE,
    labels = if (target$kind == "class") target$classes[values[first] + 1L] else as.character(keys[first])
  )
  design <- find_cells(design)
  unit_codes <- integer(length(design$cell))
  unit_codes[design$unit] <- codes
  sizes <- tabulate(design$cell)
  single <- sum(sizes == 1)
  is_covered <- length(design$weaknesses) > 0
  if (single > 0 && length(design$weaknesses) == 0 && length(sizes) > 1) {
    design$weaknesses <- paste0(
      single, " of ", length(sizes), " ", design$cell_word, "s ", if (single > 1) "have" else "has", " one ",
      design$word, ", so ", if (single > 1) "they contribute" else "it contributes", " nothing to the test"
    )
  }
  varying <- length(unique(design$cell[unit_codes != unit_codes[match(design$cell, design$cell)]]))
  idle <- length(sizes) - varying - single
  if (idle > 0 && varying > 0 && !is_covered) {
    design$weaknesses <- c(design$weaknesses, paste0(
      idle, " of ", length(sizes), " ", design$cell_word, "s ", if (idle > 1) "have" else "has", " ", design$word,
      "s of one label only, so ", if (idle > 1) "they contribute" else "it contributes", " nothing to the test"
    ))
  }
  # All that follows has the order in which the units of a cell are neighbours.
  design$order <- order(design$cell)
  design$cells <- design$cell[design$order]
  design$unit_codes <- unit_codes[design$order]
  design$n_distinct <- count_labelings(design)
  design$n_mirrors <- count_mirrors(design)
  if (is.null(covariates)) return(design)
  columns <- covariate_columns(covariates, n)
  design$n_covariates <- ncol(columns)
  if (design$n_distinct == 1) design else condition(design, columns)
}

# The design of columns of an experiment may be given by the names of these.
design_of <- function(target, x, blocks, groups, n, covariates = NULL) {
  if (is_experiment(x)) {
    blocks <- column_of(x, blocks, "blocks")
    groups <- column_of(x, groups, "groups")
    if (is.character(covariates) && is.null(dim(covariates)) && length(covariates) < n) {
      covariates <- lapply(stats::setNames(nm = covariates), function(name) column_of(x, name, "covariates"))
      covariates <- as.data.frame(covariates, optional = TRUE)
    }
  }
  samples <- sample_names(x)
  blocks <- by_names("blocks", blocks, samples)
  groups <- by_names("groups", groups, samples)
  new_design(target, blocks, groups, n, by_names("covariates", covariates, samples))
}

# The different values of a column in the order they come in, and the number of each sample's.
design_column <- function(name, given, n) {
  if (is.null(given)) return(list(names = NULL, codes = rep(1L, n)))
  if (!(is.atomic(given) || is.factor(given)) || !is.null(dim(given))) {
    refuse(name, " must be a vector of one value for each sample, not of class ", class(given)[1])
  }
  if (length(given) != n) refuse(name, " must have one value for each of the ", n, " samples, but has ", length(given))
  if (anyNA(given)) {
    rows <- which(is.na(given))
    refuse(name, " must have no missing values, but has some for sample ", some_of(rows), ": drop these samples")
  }
  given <- as.character(given)
  list(names = unique(given), codes = match(given, unique(given)))
}

find_cells <- function(design) {
  block <- design$block$codes
  group <- design$group$codes
  design$word <- "sample"
  design$cell_word <- "block"
  design$unit <- seq_along(block)
  design$cell <- block
  design$cell_names <- design$block$names
  if (is.null(group)) return(design)
  n_groups <- length(design$group$names)
  label <- integer(n_groups)
  label[group] <- design$codes
  of_group <- integer(n_groups)
  of_group[group] <- block
  varies <- tabulate(group[design$codes != label[group]], n_groups) > 0
  if (!any(varies)) {
    astray <- which(of_group[group] != block)
    if (length(astray)) {
      g <- group[astray[1]]
      refuse(
        "group '", design$group$names[g], "' lies in the blocks ",
        some_of(quoted(unique(design$block$names[block[group == g]]))),
        ", but groups that move as wholes must lie in one block: give other blocks, or leave them out"
      )
    }
    design$word <- "group"
    design$unit <- group
    design$cell <- of_group
    return(design)
  }
  if (any(tabulate(group, n_groups)[!varies] > 1)) {
    idle <- sum(!varies)
    design$weaknesses <- paste0(
      "labels vary within ", n_groups - idle, " of ", n_groups, " groups, so samples are permuted within groups, and ",
      "the other ", idle, " contribute nothing to the test"
    )
  }
  design$hides_specimens <- anyDuplicated(cbind(group, design$codes)[varies[group], , drop = FALSE]) > 0
  pair <- paste(group, block)
  design$cell_word <- "group"
  design$cell <- match(pair, unique(pair))
  design$cell_names <- design$group$names[group[!duplicated(pair)]]
  design
}

# The product of the multinomial coefficients of the cells, Inf from COUNTED_BELOW on.
count_labelings <- function(design) {
  log_count <- 0
  for (codes in split(design$unit_codes, design$cells)) {
    counts <- tabulate(codes)
    log_count <- log_count + lfactorial(length(codes)) - sum(lfactorial(counts))
  }
  found <- round(exp(log_count))
  if (found < COUNTED_BELOW) found else Inf
}

# The number of labelings that only exchange the names of whole classes, the true one included: scores that don't depend
# on these names are the same under all of them.
count_mirrors <- function(design) {
  if (!design$is_class || is.infinite(design$n_distinct)) return(1)
  counts <- table(design$cells, design$unit_codes)
  prod(factorial(table(apply(counts, 2, paste, collapse = " "))))
}

# The smallest p-value that all labelings together can give.
smallest_pvalue <- function(design, ignores_names) (if (ignores_names) design$n_mirrors else 1) / design$n_distinct

# ignores_names: whether the scores to test don't depend on the names of the classes.
check_design <- function(design, ignores_names = TRUE) {
  if (design$n_distinct == 1) {
    where <- vapply(split(design$unit_codes, design$cells), function(codes) {
      n <- length(codes)
      all <- if (n > 1) paste0("all ", n, " ", design$word, "s are") else paste("the only", design$word, "is")
      paste(all, quoted(design$labels[codes[1]]))
    }, "")
    if (!is.null(design$cell_names)) where <- paste0(design$cell_word, " ", quoted(design$cell_names), ": ", where)
    refuse(
      "no labeling but the true one is possible: ", some_of(where), " (confounded); give ",
      if (!is.null(design$cell_names)) paste0(design$cell_word, "s with "), "labels that differ"
    )
  }
  messages <- design$weaknesses
  if (design$hides_specimens) {
    present <- if (design$n_blocks > 0) "combinations of the present blocks and groups" else "the present groups"
    messages <- c(messages, paste0(
      "labels vary within groups, so samples are permuted singly within these; if samples of a group with one label ",
      "belong together, as cells of one specimen do, p-values are far too small: give the specimens as groups, and ",
      present, " as blocks; if they don't, give ", present, " as blocks, and no groups"
    ))
  }
  smallest <- smallest_pvalue(design, ignores_names)
  if (smallest > SIGNIFICANT) {
    messages <- c(messages, paste0(
      "there are only ", design$n_distinct, " distinct labelings (", describe_design(design), ")",
      if (ignores_names && design$n_mirrors > 1) {
        paste0(", ", design$n_mirrors, " of which only exchange the names of classes")
      },
      ", so no p-value can be below ", format(smallest, digits = 2)
    ))
  }
  warn(messages)
}

describe_design <- function(design) {
  counts <- tabulate(design$unit_codes)
  few <- design$is_class && length(counts) <= 4
  if (few) counts <- counts[order(design$labels, method = "radix")]
  text <- paste0(paste(if (few) counts else length(design$unit_codes), collapse = " + "), " ", design$word, "s")
  if (design$cell_word == "group") text <- paste0(text, " within ", length(unique(design$cell_names)), " groups")
  if (design$n_blocks > 0) text <- paste0(text, " within ", design$n_blocks, " blocks")
  k <- design$n_covariates
  if (k > 0) text <- paste0(text, ", given ", k, " covariate", if (k > 1) "s")
  text
}

# From codes of the units by cell.
labeling_of <- function(design, codes) {
  if (!is.null(design$fitted)) {
    values <- numeric(length(codes))
    values[design$order] <- design$fitted + design$residuals[codes]
    design$target$values[] <- values[design$unit]
    return(design$target)
  }
  units <- integer(length(codes))
  units[design$order] <- codes
  target_at(design$target, design$first[units[design$unit]])
}

# All labelings are equally likely without covariates, and of numbers with them; only then all can be taken in turn.
is_uniform <- function(design) is.null(design$logits)

# Draws given classes and covariates are walks from one labeling in their midst, which makes them exchangeable with the
# true one, from which that labeling was reached.
ready_to_draw <- function(design) {
  if (!is_uniform(design)) design$hub <- walk(design, design$unit_codes)
  design
}

draw_labeling <- function(design) {
  codes <- if (is_uniform(design)) design$unit_codes[shuffle(design)] else walk(design, design$hub)
  labeling_of(design, codes)
}

# A random order of the units of each cell.
shuffle <- function(design) order(design$cells, stats::runif(length(design$cells)))

# All labelings but the true one.
other_labelings <- function(design) {
  of_cells <- lapply(split(design$unit_codes, design$cells), arrangements)
  choices <- as.matrix(expand.grid(lapply(of_cells, seq_along)))
  found <- list()
  for (i in seq_len(nrow(choices))) {
    codes <- unlist(lapply(seq_along(of_cells), function(cell) of_cells[[cell]][[choices[i, cell]]]), use.names = FALSE)
    if (any(codes != design$unit_codes)) found[[length(found) + 1]] <- labeling_of(design, codes)
  }
  found
}

# All distinct orders of some codes.
arrangements <- function(codes) {
  kind <- codes[1]
  others <- codes[codes != kind]
  if (length(others) == 0) return(list(codes))
  places <- utils::combn(length(codes), length(codes) - length(others), simplify = FALSE)
  rest <- arrangements(others)
  found <- lapply(places, function(at) {
    lapply(rest, function(other) {
      codes[at] <- kind
      codes[-at] <- other
      codes
    })
  })
  unlist(found, recursive = FALSE)
}

# ---------------------------------------------------------------------------------------------------------- covariates

# Covariates as numbers: factors and strings as a column of 0 and 1 for each value but the first.
covariate_columns <- function(given, n) {
  if (isS4(given)) given <- as.data.frame(given, optional = TRUE)
  if (!is.data.frame(given)) {
    if (is.list(given) || is.null(given) || !(is.atomic(given) || is.factor(given)) || length(dim(given)) > 2) {
      refuse(
        "covariates must be a vector, or a matrix or data.frame of samples x covariates, not of class ", class(given)[1]
      )
    }
    given <- if (is.matrix(given)) as.data.frame(given) else data.frame(covariate = given)
  }
  if (nrow(given) != n || ncol(given) == 0) {
    refuse(
      "covariates must have one row for each of the ", n, " samples, and a column at least, but have ", nrow(given),
      " rows and ", ncol(given), " columns"
    )
  }
  rows <- which(rowSums(is.na(given)) > 0)
  if (length(rows)) {
    refuse("covariates must have no missing values, but have some for sample ", some_of(rows), ": drop these samples")
  }
  columns <- lapply(names(given), function(name) {
    column <- given[[name]]
    if ((is.numeric(column) || is.logical(column)) && !is.object(column)) return(as.double(column))
    if (!is.character(column) && !is.factor(column)) {
      refuse(
        "covariates must hold numbers or categories, but '", name, "' is of class ", class(column)[1], ": convert it"
      )
    }
    values <- unique(as.character(column))
    vapply(values[-1], function(value) as.double(column == value), numeric(n))
  })
  columns <- matrix(unlist(columns), n)
  if (ncol(columns) == 0) columns <- matrix(0, n, 1)
  rows <- which(rowSums(!is.finite(columns)) > 0)
  if (length(rows)) refuse("covariates must be finite, but aren't for sample ", some_of(rows), ": drop these samples")
  columns
}

# Makes labelings depend on covariates as the true one does.
condition <- function(design, columns) {
  if (NCOL(design$target$values) > 1) {
    refuse(
      "covariates need classes or one number a sample as y, but y holds several, such as events and times: give ",
      "strata of the covariates as blocks"
    )
  }
  first <- match(seq_len(max(design$unit)), design$unit)
  astray <- which(rowSums(columns[first, , drop = FALSE][design$unit, , drop = FALSE] != columns) > 0)
  if (length(astray)) {
    refuse(
      "covariates must be constant within groups that move as wholes, but the samples ", first[design$unit[astray[1]]],
      " and ", astray[1], " of one group differ: give one value for each group, such as its mean"
    )
  }
  # Whose squares neither overflow nor vanish.
  largest <- apply(abs(columns), 2, max)
  columns <- columns / rep(ifelse(largest > 0, largest, 1), each = nrow(columns))
  Z <- columns[first, , drop = FALSE][design$order, , drop = FALSE]
  Z <- Z - rep(colMeans(Z), each = nrow(Z))
  spread <- sqrt(colMeans(Z^2))
  varies <- spread > RESIDUE
  if (!any(varies)) refuse("covariates must vary, but all of them are constant: leave them out")
  Z <- Z[, varies, drop = FALSE] / rep(spread[varies], each = nrow(Z))
  if (design$is_class) fit_classes(design, Z) else fit_numbers(design, Z)
}

# Splits numbers in their fit to the covariates and the cells, which stays, and residuals, which move.
fit_numbers <- function(design, Z) {
  y <- design$target$values[design$first][design$unit_codes]
  cells <- match(design$cells, unique(design$cells))
  centred <- cbind(y, Z)
  centred <- centred - (rowsum(centred, cells, reorder = FALSE) / tabulate(cells))[cells, , drop = FALSE]
  residuals <- stats::lm.fit(centred[, -1, drop = FALSE], centred[, 1])$residuals
  if (max(abs(residuals)) <= RESIDUE * max(abs(y - mean(y)))) {
    refuse(
      "the covariates determine the numbers of y, so no other labeling keeps their relation: give fewer covariates"
    )
  }
  design$fitted <- y - residuals
  design$residuals <- unique(unname(residuals))
  design$unit_codes <- match(residuals, design$residuals)
  design$labels <- as.character(design$residuals)
  design$n_distinct <- count_labelings(design)
  design
}

# Adds the logits of the classes of each unit, by a fit that hardly shrinks.
fit_classes <- function(design, Z) {
  codes <- design$unit_codes
  n_classes <- max(codes)
  cells <- match(design$cells, unique(design$cells))
  sizes <- tabulate(cells)
  # Of two units of a cell with different labels, the odds that they have them this way round: what all units of a cell
  # have in common cancels, so that cells may be as small as pairs.
  pairs <- unit_pairs(sizes, codes)
  labels <- diag(n_classes)[codes, , drop = FALSE]
  by_label <- labels[pairs$i, , drop = FALSE] - labels[pairs$j, , drop = FALSE]
  by_covariate <- Z[pairs$i, , drop = FALSE] - Z[pairs$j, , drop = FALSE]
  terms <- do.call(cbind, lapply(seq_len(ncol(Z)), function(k) by_label * by_covariate[, k]))
  weights <- 1 / pmin(sizes[cells[pairs$i]] - 1, 2 * N_PARTNERS)
  logits <- Z %*% t(matrix(logistic_fit(terms, 2e4 * weights), n_classes))
  # The swap of two labels that is most likely, from the best unit of each label for each other label.
  gains <- logits - logits[cbind(seq_along(codes), codes)]
  best <- array(-Inf, c(length(sizes), n_classes, n_classes))
  held <- (codes - 1) * length(sizes) + cells
  for (b in seq_len(n_classes)) {
    most <- vapply(split(gains[, b], held), max, 0)
    best[as.integer(names(most)) + (b - 1) * length(sizes) * n_classes] <- most
  }
  likely <- vapply(seq_along(sizes), function(cell) {
    swaps <- best[cell, , ] + t(best[cell, , ])
    max(swaps[row(swaps) != col(swaps)])
  }, 0)
  if (max(likely) < 0) {
    refuse(
      "the covariates determine the labels, so no other labeling keeps their relation: leave out the covariates that ",
      "separate the classes"
    )
  }
  design$logits <- logits
  design
}

# Pairs of units of one cell with different labels: all, or those of each unit with some others.
unit_pairs <- function(sizes, codes) {
  ends <- cumsum(sizes)
  i <- j <- list()
  for (cell in which(sizes > 1)) {
    begin <- ends[cell] - sizes[cell]
    half <- sizes[cell] %/% 2
    for (step in unique(floor(seq(1, half, length.out = min(half, N_PARTNERS))))) {
      # Opposite units meet once.
      own <- seq_len(if (2 * step == sizes[cell]) half else sizes[cell])
      i[[length(i) + 1]] <- begin + own
      j[[length(j) + 1]] <- begin + (own - 1 + step) %% sizes[cell] + 1
    }
  }
  i <- unlist(i)
  j <- unlist(j)
  differ <- codes[i] != codes[j]
  list(i = i[differ], j = j[differ])
}

# The minimum of sum(weights * log(1 + exp(-terms %*% theta))) + sum(theta^2) / 2, by Newton's method; steps that climb
# are halved.
logistic_fit <- function(terms, weights) {
  cost <- function(theta) {
    z <- drop(terms %*% theta)
    sum(weights * (pmax(-z, 0) + log1p(exp(-abs(z))))) + sum(theta^2) / 2
  }
  theta <- numeric(ncol(terms))
  now <- cost(theta)
  for (iteration in 1:100) {
    p <- stats::plogis(-drop(terms %*% theta))
    gradient <- theta - drop(crossprod(terms, weights * p))
    hessian <- crossprod(terms, terms * (weights * p * (1 - p))) + diag(ncol(terms))
    step <- solve(hessian, gradient)
    while ((after <- cost(theta - step)) > now && max(abs(step)) > 1e-12) step <- step / 2
    if (!(after < now)) break
    done <- now - after <= 1e-14 * now
    theta <- theta - step
    now <- after
    if (done) break
  }
  theta
}

# The codes after rounds of swaps between random pairs of each cell.
walk <- function(design, codes) {
  sizes <- rle(design$cells)$lengths
  places <- sequence(sizes)
  left <- which(places %% 2 == 1 & places < rep(sizes, sizes))
  for (round in seq_len(N_ROUNDS)) {
    order <- shuffle(design)
    i <- order[left]
    j <- order[left + 1]
    a <- codes[i]
    b <- codes[j]
    gain <- design$logits[cbind(i, b)] - design$logits[cbind(j, b)] -
      design$logits[cbind(i, a)] + design$logits[cbind(j, a)]
    swapped <- stats::rlogis(length(left)) < gain
    codes[i[swapped]] <- b[swapped]
    codes[j[swapped]] <- a[swapped]
  }
  codes
}

# Evaluates with this seed, and leaves R's generator as it was.
with_seed <- function(seed, code) {
  had <- exists(".Random.seed", globalenv(), inherits = FALSE)
  old <- if (had) get(".Random.seed", globalenv(), inherits = FALSE)
  kinds <- RNGkind()
  on.exit({
    do.call(RNGkind, as.list(kinds))
    if (had) assign(".Random.seed", old, envir = globalenv())
  })
  set.seed(seed %% (2^31 - 1), kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  code
}

# A text bar from two seconds on: a function of the steps done.
progress_bar <- function(total, is_wanted) {
  started <- proc.time()[["elapsed"]]
  bar <- NULL
  function(done) {
    if (!is_wanted) return(invisible())
    if (is.null(bar) && proc.time()[["elapsed"]] > started + 2) {
      bar <<- utils::txtProgressBar(max = total, style = 3, file = stderr())
    }
    if (!is.null(bar)) {
      utils::setTxtProgressBar(bar, done)
      if (done == total) close(bar)
    }
  }
}
