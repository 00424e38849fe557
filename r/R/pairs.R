# Pairs of features, or of SNPs, in which two classes differ, tested together by permutation.

# n_permutations = "auto" ends after FIRST_LABELINGS labelings if the p-value is above NOTHING then: ten have reached
# the strongest pair. Smaller p-values are those of all labelings, and so as right as without the end.
FIRST_LABELINGS <- 99
NOTHING <- 0.1

# fit(options) calls the core; `what` ends the sentence that refuses more than two classes.
compare_pairs <- function(given, data, parameter, what, options, run, fit, may_stop = FALSE,
                          heeds_rare = FALSE) {
  target <- class_target(data$y, data)
  if (n_classes(target) != 2) {
    refuse(
      "y must have two classes for ", what, "; got ", n_classes(target), " (", some_of(quoted(target$classes)),
      "): give the samples of two"
    )
  }
  options$n_pairs <- as_whole("n_pairs", given$n_pairs, low = 1)
  chosen <- chosen_columns(parameter, given[[parameter]], data)
  if (!is.null(chosen)) options[[parameter]] <- chosen - 1
  n <- data$x$n_rows
  most <- as_whole("n_permutations", given$n_permutations, low = 0)
  design <- design_of(
    target, given$x, given$blocks, given$groups, n, given$covariates, n_permutations = most,
    seed = if (most > 0) as_seed(given$random_state) else 0, shuffled = TRUE
  )
  columns <- names(Filter(Negate(is.null), given[c("blocks", "groups", "covariates")]))
  if (most == 0 && length(columns) > 0) {
    refuse(
      paste(columns, collapse = " and "), if (length(columns) > 1) " say" else " says", " which labels may be ",
      "permuted, but n_permutations is 0: give a number of permutations, or leave the design out"
    )
  }
  exact <- stopped <- FALSE
  labelings <- NULL
  if (most > 0) {
    check_design(design)
    exact <- design$exact
    most <- design$n_labelings
    require_bytes(12 * n * most, "the labelings of all permutations", run)
    labelings <- labels_of_labelings(design, 0, most)
  }
  names <- names_of(data, target$classes)
  compare <- function(labelings) {
    if (!is.null(labelings)) options <- c(options, list(labelings = labelings, n_labelings = ncol(labelings)))
    found <- core_result(fit(target$values, options), names)
    found$messages <- core_messages(list(column = function(i) {
      if (is.null(data$features)) i else quoted(data$features[i])
    }))
    found
  }
  if (most > 0 && heeds_rare && design$n_units < n) {
    options$wholes <- 1
    if (any(compare(NULL)$rare == 1)) {
      labelings <- NULL
      most <- 0
      exact <- FALSE
    }
  }
  if (may_stop && !exact && most > FIRST_LABELINGS) {
    found <- compare(labelings[, seq_len(FIRST_LABELINGS), drop = FALSE])
    stopped <- length(found$pvalues) > 0 && found$pvalues[1] > NOTHING
  }
  if (!stopped) found <- compare(labelings)
  by_pair <- function(values) matrix(values, ncol = 2, byrow = TRUE)
  pvalues <- if (most > 0) found$pvalues
  found$pairs <- by_pair(found$pairs + 1)
  found$pvalues <- NULL
  c(found, list(
    pvalues_max = pvalues, pvalue = if (length(pvalues)) pvalues[1], classes = target$classes, names = data$features,
    n_samples = n, n_permutations = length(found$null_maxima), n_distinct = design$n_distinct, exact = exact,
    resolution = if (exact) design$smallest_pvalue else 1 / (1 + length(found$null_maxima)), stopped = stopped,
    design = design$description
  ))
}

# Numbers of columns, ascending, or NULL for all.
chosen_columns <- function(parameter, chosen, data) {
  if (is.null(chosen)) return(NULL)
  numbers <- which(columns_mask(parameter, chosen, data$x$n_cols, data$features))
  if (length(numbers) < 2) {
    refuse(parameter, " must name at least two columns, which make a pair; got ", length(numbers))
  }
  numbers
}

differential_correlation <- function(x, y, features = NULL, correlation = "pearson", n_pairs = 1000,
                                     n_permutations = 999, blocks = NULL, groups = NULL, covariates = NULL,
                                     random_state = 0, assay = 1, n_threads = 0, max_memory = NULL, verbose = FALSE) {
  given <- as.list(environment())
  run <- read_run(n_threads, max_memory, verbose)
  options <- list(correlation = choose_word("correlation", correlation, c("pearson", "spearman")))
  is_auto <- is.character(n_permutations)
  if (is_auto) {
    choose_word("n_permutations", n_permutations, "auto", "a whole number")
    given$n_permutations <- 999
  }
  data <- read_features(x, y, assay, run)
  found <- compare_pairs(given, data, "features", "differential correlation", options, run,
                         function(labels, options) {
                           .Call(C_differential_correlation, data$x, labels, options, run)
                         }, is_auto, TRUE)
  found$correlations <- matrix(found$correlations, ncol = 2, byrow = TRUE, dimnames = list(NULL, found$classes))
  names(found$scores) <- data$features
  names(found)[names(found) == "statistic"] <- "z"
  found$excluded_features <- which(found$constant == 1)
  found$excluded_pairs <- matrix(found$copies + 1, ncol = 2, byrow = TRUE)
  found$correlation <- correlation
  found$n_excluded_pairs <- found$n_copies
  warn(found$messages)
  structure(
    found[setdiff(names(found), c("constant", "rare", "copies", "n_copies", "messages"))],
    class = c("fastfs_differential_correlation", "fastfs_pairs")
  )
}

# ---------------------------------------------------------------------------------------------------------------- SNPs

# Genotypes at two bits each: copies of an allele, 0, 1 or 2, and NA or a negative number for a missing one.
read_genotypes <- function(x, y, assay, run) {
  data <- read_features(x, y, assay, run)
  values <- without_zeros(data$x, run)
  G <- if (values$by_row) t(values$values) else values$values
  n <- nrow(G)
  is_missing <- is.na(G) | G < 0
  bad <- which(!(is_missing | G == 0 | G == 1 | G == 2))
  if (length(bad)) {
    refuse(
      "genotypes must be 0, 1 or 2, or, if missing, NA or a negative number; got ", format(G[bad[1]]), " for ",
      names_of(data)$row((bad[1] - 1) %% n + 1), " and ", names_of(data)$column((bad[1] - 1) %/% n + 1),
      if (G[bad[1]] < 2) ": round dosages"
    )
  }
  # Four samples a byte, the first one in its lowest bits.
  n_bytes <- ceiling(n / 4)
  codes <- matrix(0L, 4 * n_bytes, ncol(G))
  codes[seq_len(n), ] <- c(1L, 3L, 2L, 0L)[ifelse(is_missing, 1, G + 2)]
  dim(codes) <- c(4, n_bytes * ncol(G))
  data$x <- list(
    storage = "genotype", values = as.raw(c(1, 4, 16, 64) %*% codes), n_rows = n, n_cols = ncol(G), col_stride = n_bytes
  )
  data
}

snp_pairs <- function(x, y, snps = NULL, n_pairs = 1000, n_permutations = 0, blocks = NULL, groups = NULL,
                      covariates = NULL, random_state = 0, assay = 1, n_threads = 0, max_memory = NULL,
                      verbose = FALSE) {
  given <- as.list(environment())
  run <- read_run(n_threads, max_memory, verbose)
  data <- read_genotypes(x, y, assay, run)
  found <- compare_pairs(given, data, "snps", "pairs of SNPs", list(), run,
                         function(labels, options) .Call(C_snp_pairs, data$x, labels, options, run))
  n <- length(found$statistic)
  # In the core's order the class comes first, then the genotype of the second SNP.
  found$tables <- aperm(array(found$tables, c(2, 3, 3, n)), 4:1)
  dimnames(found$tables) <- list(NULL, 0:2, 0:2, found$classes)
  found$excluded_snps <- which(found$constant == 1)
  warn(found$messages)
  structure(found[setdiff(names(found), c("constant", "stopped", "messages"))], class = c("fastfs_snp_pairs", "fastfs_pairs"))
}

ld_clumps <- function(x, scores, r2 = 0.5, window = 250000, n_clumps = NULL, position = NULL, chromosome = NULL,
                      assay = 1, n_threads = 0, max_memory = NULL, verbose = FALSE) {
  run <- read_run(n_threads, max_memory, verbose)
  options <- list(
    r2 = as_number("r2", r2), window = as_whole("window", window, low = 0), n_clumps = as_count("n_clumps", n_clumps)
  )
  data <- read_genotypes(x, NULL, assay, run)
  d <- data$x$n_cols
  scores <- by_names("scores", scores, data$features, "feature")
  position <- by_names("position", position, data$features, "feature")
  chromosome <- by_names("chromosome", chromosome, data$features, "feature")
  if (!is.numeric(scores) || length(scores) != d || anyNA(scores)) {
    refuse("scores must be ", d, " numbers, one for each SNP of x")
  }
  if (is.null(position)) position <- numeric(d)
  if (!is.numeric(position) || length(position) != d || anyNA(position)) {
    refuse("position must be NULL or ", d, " numbers of base pairs, one for each SNP of x")
  }
  options$positions <- as.double(position)
  if (!is.null(chromosome)) {
    if (!(is.atomic(chromosome) || is.factor(chromosome)) || length(chromosome) != d || anyNA(chromosome)) {
      refuse("chromosome must be NULL or ", d, " names, one for each SNP of x")
    }
    options$chromosomes <- match(chromosome, unique(chromosome))
  }
  found <- core_result(.Call(C_ld_clumps, data$x, as.double(scores), options, run), names_of(data))
  leads <- found$leads + 1
  clump <- ifelse(found$clump < 0, NA, found$clump + 1)
  list(
    leads = stats::setNames(leads, data$features[leads]),
    clump = if (is.null(data$features)) clump else stats::setNames(clump, data$features)
  )
}

# ------------------------------------------------------------------------------------------------------------- results

as.data.frame.fastfs_pairs <- function(x, row.names = NULL, optional = FALSE, ...) {
  table <- data.frame(a = x$pairs[, 1], b = x$pairs[, 2])
  if (!is.null(x$names)) table <- cbind(table, a_name = x$names[table$a], b_name = x$names[table$b])
  for (part in c("z", "statistic", "degrees")) table[[part]] <- x[[part]]
  if (!is.null(x$correlations)) {
    table <- cbind(table, stats::setNames(as.data.frame(x$correlations), paste0("correlation_", x$classes)))
  }
  table$pvalue_max <- x$pvalues_max
  if (!is.null(row.names)) rownames(table) <- row.names
  table
}

print.fastfs_pairs <- function(x, n = 10, ...) {
  cat(
    "<pairs of ", x$n_samples, " samples, ", quoted(x$classes[1]), " against ", quoted(x$classes[2]),
    if (x$n_permutations > 0) {
      paste0(
        ": ", x$design, ", ", x$n_permutations, " permutations", if (x$exact) " (all)",
        if (isTRUE(x$stopped)) " (stopped early)"
      )
    }, ">\n", sep = ""
  )
  print(utils::head(as.data.frame(x), n), row.names = FALSE, ...)
  invisible(x)
}

summary.fastfs_pairs <- function(object, level = 0.05, ...) {
  c(
    pvalue = if (is.null(object$pvalue)) NA else object$pvalue, n_permutations = object$n_permutations,
    n_pairs = nrow(object$pairs), significant = sum(object$pvalues_max <= level)
  )
}
