# Pairs of features, or of SNPs, that say something about a target, tested together by permutation.

# n_permutations = "auto" ends after FIRST_LABELINGS labelings if the p-value is above NOTHING then: ten have reached
# the strongest pair. Smaller p-values are those of all labelings, and so as right as without the end.
FIRST_LABELINGS <- 99
NOTHING <- 0.1

# fit(options) calls the core, which takes labelings as the option `permuted`. for_tests: arguments without effect if no
# permutations are asked for. heeds_rare: whether rare values end the test if groups move as wholes. name_column(i): as
# the core's warnings call features.
compare_pairs <- function(given, data, target, parameter, options, fit, run, permuted = "labelings",
                          for_tests = c("blocks", "groups", "covariates"), heeds_rare = FALSE, least = 2,
                          name_column = function(i) if (is.null(data$features)) i else quoted(data$features[i])) {
  options$n_pairs <- as_whole("n_pairs", given$n_pairs, low = 1)
  may_stop <- is.character(given$n_permutations)
  if (may_stop) choose_word("n_permutations", given$n_permutations, "auto", "a whole number")
  most <- if (may_stop) 999 else as_whole("n_permutations", given$n_permutations, low = 0)
  if (!is.null(given$alpha)) {
    alpha <- as_number("alpha", given$alpha)
    if (!(alpha > 0 && alpha < 1)) refuse("alpha must lie between 0 and 1; got ", shown(given$alpha))
  }
  chosen <- chosen_columns(parameter, given[[parameter]], data, least)
  if (!is.null(chosen)) options[[parameter]] <- chosen - 1
  n <- data$x$n_rows
  design <- design_of(
    target, given$x, given$blocks, given$groups, n, given$covariates, n_permutations = most,
    seed = if (most > 0) as_seed(given$random_state) else 0, shuffled = TRUE
  )
  columns <- names(Filter(Negate(is.null), given[c(for_tests, "alpha")]))
  if (most == 0 && length(columns) > 0) {
    refuse(
      "n_permutations must be above 0 with ", paste(columns, collapse = " and "), "; got 0: give a number of ",
      "permutations, or leave ", paste(columns, collapse = " and "), " out"
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
  names$matrix <- function(i) c("x", "with_table")[i]
  compare <- function(labelings) {
    if (!is.null(labelings)) options[c(permuted, "n_labelings")] <- list(labelings, ncol(labelings))
    found <- core_result(fit(options), names)
    found$messages <- core_messages(list(column = name_column, matrix = names$matrix))
    found
  }
  if (most > 0 && heeds_rare && design$n_units < n) {
    options$wholes <- 1
    if (any(compare(NULL)$rare == 1)) {
      if (!is.null(given$alpha)) {
        refuse("alpha must be left out if groups move as wholes and features have one value in more than three ",
               "fourths of a class, because there are no p-values: leave these features out")
      }
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
  pvalues <- if (most > 0) found$pvalues
  found$pairs <- by_pair(found$pairs + 1)
  found$excluded_features <- which(found$constant == 1)
  warn(found$messages)
  found[c("pvalues", "constant", "messages")] <- NULL
  c(found, list(
    pvalues_max = pvalues, pvalue = if (length(pvalues)) pvalues[1], classes = target$classes, names = data$features,
    n_samples = n, n_permutations = length(found$null_maxima), n_distinct = design$n_distinct, exact = exact,
    resolution = if (exact) design$smallest_pvalue else 1 / (1 + length(found$null_maxima)), stopped = stopped,
    design = design$description
  ))
}

by_pair <- function(values) matrix(values, ncol = 2, byrow = TRUE)

# What a result has an entry of for each pair.
OF_PAIRS <- c("pairs", "statistics", "effects", "standard_errors", "correlations", "tables", "pvalues_max")

# A result of a class, with those of its pairs that have p-values up to alpha; NULL: with all.
pairs_result <- function(found, class, alpha) {
  if (!is.null(alpha)) {
    if (alpha < found$resolution && !found$stopped) {
      warn(paste0("alpha is ", format(alpha), ", but no p-value of this test can be below ", signif(found$resolution, 2),
                  ", so that no pair is listed: give more permutations, or a larger alpha"))
    }
    kept <- seq_len(sum(found$pvalues_max <= alpha))  # p-values don't fall along the pairs
    of_pairs <- c(OF_PAIRS, if (class == "fastfs_snp_pairs") c("degrees", "rest_degrees"))
    for (part in intersect(of_pairs, names(found))) {
      whole <- found[[part]]
      found[[part]] <- switch(
        as.character(length(dim(whole))), "2" = whole[kept, , drop = FALSE], "4" = whole[kept, , , , drop = FALSE],
        whole[kept]
      )
    }
  }
  structure(found, class = c(class, "fastfs_pairs"))
}

# Numbers of columns, ascending, or NULL for all.
chosen_columns <- function(parameter, chosen, data, least) {
  if (is.null(chosen)) return(NULL)
  numbers <- which(columns_mask(parameter, chosen, data$x$n_cols, data$features))
  if (length(numbers) < least) {
    refuse(parameter, " must name at least two columns, which make a pair; got ", length(numbers))
  }
  numbers
}

differential_correlation <- function(x, y, features = NULL, target_type = "auto", correlation = "pearson",
                                     n_pairs = 1000, n_permutations = 999, alpha = NULL, blocks = NULL, groups = NULL,
                                     covariates = NULL, random_state = 0, assay = 1, n_threads = 0, max_memory = NULL,
                                     verbose = FALSE) {
  given <- as.list(environment())
  run <- read_run(n_threads, max_memory, verbose)
  options <- list(correlation = choose_word("correlation", correlation, c("pearson", "spearman")))
  data <- read_features(x, y, assay, run)
  choose_word("target_type", target_type, c("auto", "class", "number"))
  if (target_type == "number" || (target_type == "auto" && holds_fractions(data$y))) {
    return(correlation_along_numbers(given, data, run))
  }
  target <- class_target(data$y, data)
  options$n_classes <- n_classes(target)
  options <- c(options, covariates_of_models(covariates, data))
  found <- compare_pairs(given, data, target, "features", options, function(options) {
    .Call(C_differential_correlation, data$x, target$values, options, run)
  }, run, heeds_rare = TRUE)
  found$correlations <- matrix(
    found$correlations, ncol = options$n_classes, byrow = TRUE, dimnames = list(NULL, found$classes)
  )
  names(found$scores) <- data$features
  if (options$n_classes == 2) {
    found$effects <- found$statistics * found$error
    found$standard_errors <- rep(found$error, length(found$statistics))
  }
  found$degrees <- options$n_classes - 1
  n_compared <- length(if (is.null(features)) found$scores else chosen_columns("features", features, data, 2))
  n_compared <- n_compared - length(found$excluded_features)
  found$n_tested <- n_compared * (n_compared - 1) / 2 - found$n_copies
  found$excluded_pairs <- by_pair(found$copies + 1)
  found$n_excluded_pairs <- c(copies = found$n_copies)
  found$correlation <- correlation
  pairs_result(found[setdiff(names(found), c("rare", "copies", "n_copies", "error"))], "fastfs_differential_correlation", alpha)
}

holds_fractions <- function(y) is.double(y) && !is.object(y) && any(y != floor(y), na.rm = TRUE)

# given: the arguments of differential_correlation.
correlation_along_numbers <- function(given, data, run) {
  target <- number_target(data$y, data)
  options <- list(along = TRUE, transform = if (given$correlation == "spearman") "rank" else "none")
  options <- c(options, covariates_of_models(given$covariates, data))
  found <- compare_pairs(given, data, target, "features", options, function(options) {
    .Call(C_interaction_scan, data$x, NULL, NULL, target$values, options, run)
  }, run, permuted = "y_permutations", for_tests = c("blocks", "groups"))
  ends <- found$correlations + outer(found$effects, c(below = -1, above = 1))
  found$correlations <- pmin(pmax(ends, -1), 1)
  found$statistics <- sign(found$effects) * sqrt(found$statistics)
  found$scores <- stats::setNames(sqrt(found$scores), data$features)
  found$null_maxima <- sqrt(found$null_maxima)
  found$degrees <- found$rest_degrees
  found$correlation <- given$correlation
  found$target_type <- "number"
  pairs_result(with_excluded(found), "fastfs_differential_correlation", given$alpha)
}

# The covariates as options of a search, which has them in the model of each pair.
covariates_of_models <- function(covariates, data) {
  if (is.null(covariates)) return(NULL)
  columns <- covariate_columns(by_names("covariates", covariates, data$samples), data$x$n_rows)
  list(covariates = as.double(t(columns)), n_covariates = ncol(columns))
}

# Names what a scan of products has left out.
with_excluded <- function(found) {
  found$excluded_pairs <- by_pair(found$excluded + 1)
  found$n_excluded_pairs <- c(copies = found$n_copies, product = found$n_products, target = found$n_explained)
  found[setdiff(names(found), c("rest_degrees", "excluded", "n_copies", "n_products", "n_explained"))]
}

# ------------------------------------------------------------------------------------------------------- interactions

# Martingale residuals of times: events less the Nelson-Aalen estimate of the hazard up to the time of a sample.
martingale_residuals <- function(times) {
  distinct <- sort(unique(times[, 1]))
  place <- match(times[, 1], distinct)
  n_events <- tabulate(place[times[, 2] == 1], length(distinct))
  at_risk <- rev(cumsum(rev(tabulate(place, length(distinct)))))
  residuals <- times[, 2] - cumsum(n_events / at_risk)[place]
  if (length(unique(residuals)) < 2) {
    refuse("y must hold an event, and a time that not all samples share; got none: give other times, or the events ",
           "alone as labels")
  }
  residuals
}

# Returns a table of pairs as options of a search, in ascending order and each once. other: NULL, or the table of the
# second features.
chosen_pairs <- function(pairs, data, other) {
  if (is.null(pairs)) return(NULL)
  if (is.matrix(pairs)) pairs <- as.data.frame(pairs, stringsAsFactors = FALSE)
  if (!is.data.frame(pairs) || ncol(pairs) != 2 || nrow(pairs) == 0) {
    refuse("pairs must be NULL or a table of two columns, a pair in each row; got ", shown(pairs))
  }
  columns_of <- function(side, table) {
    columns <- pairs[[side]]
    if (is.factor(columns)) columns <- as.character(columns)
    if (is.logical(columns)) refuse("pairs must hold numbers or names of features; got ", shown(columns))
    columns_mask("pairs", columns, table$x$n_cols, table$features)
    if (is.character(columns)) match(columns, table$features) else as.double(columns)
  }
  first <- columns_of(1, data)
  second <- columns_of(2, if (is.null(other)) data else other)
  if (is.null(other)) {
    if (any(first == second)) {
      refuse("pairs must be of two features; got feature ", first[first == second][1], " with itself")
    }
    lower <- pmin(first, second)
    second <- pmax(first, second)
    first <- lower
  }
  kept <- order(first, second)
  kept <- kept[!duplicated(data.frame(first, second)[kept, ])]
  list(first_of_pairs = first[kept] - 1, second_of_pairs = second[kept] - 1)
}

# The target as a linear model takes it: times become numbers.
linear_target <- function(data, target_type, covariates) {
  target <- read_target(data$y, data, target_type)
  kind <- target$kind
  if (kind == "survival") {
    if (!is.null(covariates)) {
      refuse("y must hold classes or numbers with covariates; got events and times: give strata of the covariates as ",
             "blocks")
    }
    target <- list(kind = "number", values = martingale_residuals(target$values))
  }
  c(target, list(given_kind = kind))
}

interaction_scan <- function(x, y, with_table = NULL, features = NULL, pairs = NULL, target_type = "auto",
                             transform = "none", n_pairs = 1000, n_permutations = 999, alpha = NULL, blocks = NULL, groups = NULL,
                             covariates = NULL, random_state = 0, assay = 1, n_threads = 0, max_memory = NULL,
                             verbose = FALSE) {
  given <- as.list(environment())
  run <- read_run(n_threads, max_memory, verbose)
  options <- list(transform = choose_word("transform", transform, c("none", "rank")))
  choose_word("target_type", target_type, c("auto", "class", "number", "survival"))
  data <- read_features(x, y, assay, run)
  other <- NULL
  if (!is.null(with_table)) {
    if (is_experiment(with_table)) {
      refuse("with_table must be a matrix or a data.frame; got an experiment: give its assay")
    }
    other <- read_features(by_names("with_table", with_table, data$samples), NULL, assay, run)
    if (other$x$n_rows != data$x$n_rows) {
      refuse("x and with_table must have the same rows; got ", data$x$n_rows, " and ", other$x$n_rows,
             ": give the same samples in the same order")
    }
  }
  target <- linear_target(data, target_type, covariates)
  kind <- target$given_kind
  has_classes <- kind == "class"
  options$n_classes <- if (has_classes) n_classes(target) else 0
  if (!is.null(pairs) && !is.null(features)) {
    refuse("features must be NULL with pairs; got ", shown(features), ": give the pairs of these features")
  }
  options <- c(options, covariates_of_models(covariates, data), chosen_pairs(pairs, data, other))
  # The features of a pair come in turns; with two tables, those of the second one are every other.
  number <- 0
  name_column <- function(i) {
    number <<- number + 1
    known <- if (!is.null(other) && number %% 2 == 0) other$features else data$features
    if (is.null(known)) i else quoted(known[i])
  }
  found <- compare_pairs(given, data, target, "features", options, function(options) {
    .Call(C_interaction_scan, data$x, other$x, if (has_classes) target$values, if (!has_classes) target$values, options,
          run)
  }, run, permuted = if (has_classes) "label_permutations" else "y_permutations", for_tests = c("blocks", "groups"),
  least = if (is.null(other)) 2 else 1, name_column = name_column)
  names(found$scores) <- data$features
  if (options$n_classes > 2) found$effects <- found$standard_errors <- NULL
  found$degrees <- c(found$degrees, found$rest_degrees)
  found <- with_excluded(found)
  if (!is.null(other)) {
    names(found$table_scores) <- other$features
    found$excluded_table_features <- which(found$table_constant == 1)
    found$table_names <- other$features
  }
  found$target_type <- kind
  found$transform <- transform
  found <- found[setdiff(names(found), c("correlations", "table_constant"))]
  pairs_result(found, "fastfs_interaction_scan", alpha)
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
  data$n_missing <- sum(is_missing)
  data
}

# given: the arguments of snp_pairs.
scan_copies <- function(given, data, kind) {
  if (data$n_missing > 0) {
    refuse("x must have no missing genotypes if y holds numbers or times; got ", data$n_missing, ": impute them, ",
           "or leave out their SNPs or samples")
  }
  chosen <- chosen_columns("snps", given$snps, data, 2)
  given <- given[setdiff(names(given), c("snps", "target_type", "coding"))]
  do.call(interaction_scan, c(given, list(features = chosen, target_type = kind)))
}

# given: the arguments of snp_pairs.
scan_genotypes <- function(given, data, kind, run) {
  target <- linear_target(data, kind, given$covariates)
  options <- c(list(y = as.double(target$values)), covariates_of_models(given$covariates, data))
  found <- compare_pairs(given, data, target, "snps", options, function(options) {
    .Call(C_snp_pairs, data$x, NULL, options, run)
  }, run, permuted = "y_permutations", for_tests = c("blocks", "groups"))
  found$tables <- by_genotypes(found, c("samples", "mean"))
  names(found$scores) <- data$features
  found$excluded_pairs <- by_pair(found$excluded + 1)
  found$n_excluded_pairs <- c(product = found$n_products, samples = found$n_few, target = found$n_explained)
  found$target_type <- kind
  found <- found[setdiff(names(found), c("excluded", "n_products", "n_few", "n_explained"))]
  pairs_result(found, "fastfs_snp_pairs", given$alpha)
}

# In the core's order what is counted comes first, then the genotype of the second SNP.
by_genotypes <- function(found, counted) {
  tables <- aperm(array(found$tables, c(2, 3, 3, length(found$statistics))), 4:1)
  dimnames(tables) <- list(NULL, 0:2, 0:2, counted)
  tables
}

snp_pairs <- function(x, y, snps = NULL, target_type = "auto", coding = "auto", n_pairs = 1000, n_permutations = 0,
                      alpha = NULL, blocks = NULL, groups = NULL, covariates = NULL, random_state = 0, assay = 1, n_threads = 0,
                      max_memory = NULL, verbose = FALSE) {
  as_whole("n_permutations", n_permutations, low = 0)
  given <- as.list(environment())
  run <- read_run(n_threads, max_memory, verbose)
  choose_word("target_type", target_type, c("auto", "class", "number", "survival"))
  choose_word("coding", coding, c("auto", "additive", "genotypic"))
  data <- read_genotypes(x, y, assay, run)
  kind <- target_type
  if (kind == "auto") {
    kind <- if (inherits(data$y, "Surv")) "survival" else if (holds_fractions(data$y)) "number" else "class"
  }
  if (kind == "class" && coding == "additive") {
    refuse("coding must be 'genotypic' for classes; got 'additive': give their copies to interaction_scan()")
  }
  if (kind != "class" && coding == "genotypic") return(scan_genotypes(given, data, kind, run))
  if (kind != "class") return(scan_copies(given, data, kind))
  target <- class_target(data$y, data)
  if (n_classes(target) != 2) {
    refuse(
      "y must have two classes for pairs of SNPs; got ", n_classes(target), " (", some_of(quoted(target$classes)),
      "): give the samples of two"
    )
  }
  found <- compare_pairs(given, data, target, "snps", list(), function(options) {
    .Call(C_snp_pairs, data$x, target$values, options, run)
  }, run)
  found$tables <- by_genotypes(found, found$classes)
  pairs_result(found, "fastfs_snp_pairs", alpha)
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
    refuse("scores must be ", d, " numbers, one for each SNP of x; got ", shown(scores))
  }
  if (is.null(position)) position <- numeric(d)
  if (!is.numeric(position) || length(position) != d || anyNA(position)) {
    refuse("position must be NULL or ", d, " numbers of base pairs, one for each SNP of x; got ", shown(position))
  }
  options$positions <- as.double(position)
  if (!is.null(chromosome)) {
    if (!(is.atomic(chromosome) || is.factor(chromosome)) || length(chromosome) != d || anyNA(chromosome)) {
      refuse("chromosome must be NULL or ", d, " names, one for each SNP of x; got ", shown(chromosome))
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
  names <- list(x$names, if (is.null(x$table_scores)) x$names else x$table_names)
  for (side in seq_len(2)) {
    if (!is.null(names[[side]])) table[[c("a_name", "b_name")[side]]] <- names[[side]][table[[side]]]
  }
  if (!is.null(x$correlations)) {
    table <- cbind(table, stats::setNames(as.data.frame(x$correlations), paste0("correlation_", colnames(x$correlations))))
  }
  table$statistic <- x$statistics
  if (inherits(x, "fastfs_snp_pairs")) {
    table$degrees <- x$degrees
    table$rest_degrees <- x$rest_degrees
  }
  table$effect <- x$effects
  table$standard_error <- x$standard_errors
  table$pvalue_max <- x$pvalues_max
  if (!is.null(row.names)) rownames(table) <- row.names
  table
}

print.fastfs_pairs <- function(x, n = 10, ...) {
  target <- if (length(x$classes) == 2) {
    paste(quoted(x$classes), collapse = " against ")
  } else if (length(x$classes)) {
    paste(length(x$classes), "classes")
  } else {
    x$target_type
  }
  cat(
    "<pairs of ", x$n_samples, " samples, ", target,
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
