# Designs: which labelings of the samples are as likely as the true one, if the labels say nothing about x. The same
# definitions as in Python's fastfs, drawn by R's generator.

# From here on, labelings aren't counted.
COUNTED_BELOW <- 1e6

# Samples, or whole groups of them, exchange their labels within cells: blocks, groups, or both. A labeling is, for each
# sample, the number of a sample whose label it gets.
new_design <- function(target, blocks, groups, n) {
  values <- target$values
  keys <- if (is.matrix(values)) do.call(paste, c(as.data.frame(values), sep = "\r")) else values
  codes <- match(keys, unique(keys))
  first <- which(!duplicated(codes))
  block <- design_column("blocks", blocks, n)
  group <- if (!is.null(groups)) design_column("groups", groups, n)
  design <- list(
    is_class = target$kind == "class", codes = codes, first = first, block = block, group = group,
    n_blocks = if (is.null(blocks)) 0 else length(block$names), weaknesses = character(),
    labels = if (target$kind == "class") target$classes[values[first] + 1L] else as.character(keys[first])
  )
  design <- find_cells(design)
  unit_codes <- integer(length(design$cell))
  unit_codes[design$unit] <- codes
  sizes <- tabulate(design$cell)
  single <- sum(sizes == 1)
  if (single > 0 && length(design$weaknesses) == 0 && length(sizes) > 1) {
    design$weaknesses <- paste0(
      single, " of ", length(sizes), " ", design$cell_word, "s ", if (single > 1) "have" else "has", " one ",
      design$word, ", so ", if (single > 1) "they contribute" else "it contributes", " nothing to the test"
    )
  }
  # All that follows has the order in which the units of a cell are neighbours.
  design$order <- order(design$cell)
  design$cells <- design$cell[design$order]
  design$unit_codes <- unit_codes[design$order]
  design$n_distinct <- count_labelings(design)
  design
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

check_design <- function(design) {
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
  if (design$n_distinct < 20) {
    messages <- c(messages, paste0(
      "there are only ", design$n_distinct, " distinct labelings (", describe_design(design),
      "), so no p-value can be below ", format(1 / design$n_distinct, digits = 2)
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
  text
}

# From codes of the units by cell.
labeling_of <- function(design, codes) {
  units <- integer(length(codes))
  units[design$order] <- codes
  design$first[units[design$unit]]
}

draw_labeling <- function(design) {
  labeling_of(design, design$unit_codes[order(design$cells, stats::runif(length(design$cells)))])
}

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
