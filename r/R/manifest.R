# ManiFeSt.

# Number of features up to which accuracy = "auto" is exact (the same as in the core).
EXACT_AT_MOST <- 1500

MANIFEST <- list(
  sigma = option("median", text = r"(Scale of the Gaussian kernels between features: \code{"median"} (times
    \code{sigma_factor}) or a \code{"percentile"} of the distances of each class, or a number for each class; with more
    than two classes and \code{"ovr"} for each class and the rest of it, in turn.)"),
  sigma_factor = option(0.5, text = r"(Factor of the \code{"median"}.)", needs = list(sigma = "median")),
  sigma_percentile = option(50, text = r"(Which \code{"percentile"}.)", needs = list(sigma = "percentile")),
  normalize = option(0, text = "How often kernels are divided by the square roots of their row sums."),
  form = option("pencil", one_of("pencil", "spd", "spsd"), r"(\code{"pencil"}, or the paper's equations: \code{"spd"},
    \code{"spsd"}.)"),
  accuracy = option("auto", one_of("auto", "exact", "domains", "small_domains", "low_rank", "low_rank_high"), r"(\code{"exact"};
    \code{"domains"}, exact problems of near features, joined by leading eigenvectors; \code{"small_domains"}, of half the size and in a
    fourth of the time; or by low-rank kernels:
    \code{"low_rank"}, \code{"low_rank_high"}. \code{"auto"} is exact for up to 1500 features if that fits the memory,
    else by domains; for tests and subsamples that would take minutes it takes small domains, and warns.)"),
  rank = option(
    50, whole(low = 1), "Of low-rank kernels; the number of eigenvectors of each kernel for domains, five times that of
    small domains.",
    needs = list(accuracy = c("auto", "domains", "small_domains", "low_rank", "low_rank_high"))
  ),
  multiclass = option("ovr", one_of("ovr", "ovo", "raise"), r"(More than two classes: each against the rest
    (\code{"ovr"}), all pairs (\code{"ovo"}), or \code{"raise"} an error.)"),
  combine = option(NULL, text = r"(Scores of single features to add, both sides moved and scaled to [0, 1]: \code{"f"} for
    those of the analysis of variance, a number for each feature, or a function of \code{x} and the labels that returns
    these.)"),
  n_components = option(0, whole(low = 0), "Leading eigenpairs wanted of the mean and of the difference."),
  random_state = random_state()
)

# given$n_fits: how many fits a test or a stability analysis compares.
manifest_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  options <- core_options(MANIFEST, given)
  options$n_fits <- if (is.null(given$n_fits)) 0 else given$n_fits
  raises <- options$multiclass == "raise"
  if (raises) options$multiclass <- "ovr"
  data <- read_features(given$x, given$y, given$assay, run)
  target <- class_target(data$y, data)
  K <- n_classes(target)
  if (K > 2 && raises) {
    refuse("y must have two classes; got ", K, ": choose multiclass = \"ovr\" or \"ovo\", or keep two classes")
  }
  by_rest <- K > 2 && options$multiclass == "ovr"
  scale <- read_scale(given, target$classes, by_rest)
  d <- data$x$n_cols
  # Low-rank kernels take no distances between all features.
  keep <- keep && (options$accuracy == "exact" || (options$accuracy == "auto" && d <= EXACT_AT_MOST))
  kernels <- paste("class", quoted(target$classes))
  if (by_rest) {
    kernels <- as.vector(rbind(kernels, paste("all classes but", quoted(target$classes))))
  }
  names <- names_of(data, target$classes)
  names$kernel <- function(i) kernels[i]
  others <- other_scores(given$combine, given$x, data, run)
  handle <- NULL
  fit <- function(target, run) {
    blended_with <- if (!is.null(others)) others(target)
    if (is.null(handle)) handle <<- core_result(.Call(C_manifest_new, data$x, keep, run), names)
    found <- core_result(.Call(C_manifest_fit, handle, labels_of(target), K, options, scale, run), names)
    messages <- core_messages(names)
    found$class_scores <- matrix(found$class_scores, d, K, dimnames = list(data$features, target$classes))
    names(found$sigma) <- names(found$kept_trace) <- kernels
    n_problems <- length(found$agreement)
    for (part in intersect(c("mean", "difference"), sub("_eigenvalues", "", names(found)))) {
      shape <- c(d, options$n_components, if (n_problems > 1) n_problems)
      values <- paste0(part, "_eigenvalues")
      vectors <- paste0(part, "_eigenvectors")
      if (n_problems > 1) dim(found[[values]]) <- shape[-1]
      dim(found[[vectors]]) <- shape
    }
    if (!is.null(blended_with)) {
      found$manifest_scores <- stats::setNames(found$scores, data$features)
      found$scores <- unit_interval(found$scores) + unit_interval(blended_with)
    }
    found$accuracy_reason <- manifest_reason(found, d, options)
    found$messages <- messages
    found[setdiff(names(found), c("reason", "exact_bytes"))]
  }
  list(data = data, target = target, run = run, fit = fit)
}

read_scale <- function(given, classes, by_rest) {
  scale <- list(normalize = as_whole("normalize", given$normalize, low = 0, high = 1000))
  sigma <- given$sigma
  n <- length(classes) * (1 + by_rest)
  if (identical(sigma, "median")) {
    return(c(scale, list(rule = "median", value = as_number("sigma_factor", given$sigma_factor))))
  }
  if (identical(sigma, "percentile")) {
    return(c(scale, list(rule = "percentile", value = as_number("sigma_percentile", given$sigma_percentile))))
  }
  if (!is.numeric(sigma) || length(sigma) != n || anyNA(sigma)) {
    refuse(
      "sigma must be \"median\", \"percentile\" or ", n, " numbers, one for ",
      if (by_rest) "each class and one for the rest of it, in turn" else "each class", "; got ", shown(sigma)
    )
  }
  c(scale, list(rule = "given", sigma = as.double(sigma)))
}

# A function of the target that returns the scores to add.
other_scores <- function(combine, x, data, run) {
  if (is.null(combine)) return(NULL)
  d <- data$x$n_cols
  checked <- function(scores, what) {
    scores <- unname(by_names("combine", scores, data$features, "feature"))
    if (!is.numeric(scores) || length(scores) != d) {
      refuse(what, " one score for each of the ", d, " features; got ", length(scores), " of class ", class(scores)[1])
    }
    finite <- is.finite(scores)
    largest <- max(scores[finite], 0)
    # A constant feature has no F statistic, and one that separates the classes perfectly an infinite one.
    ifelse(finite, scores, ifelse(is.na(scores) | scores < 0, min(scores[finite], 0), if (largest > 0) largest else 1))
  }
  if (is.numeric(combine)) {
    if (!all(is.finite(combine))) refuse("combine must have finite scores; got missing or infinite ones")
    scores <- checked(combine, "combine must have")
    return(function(target) scores)
  }
  if (is.function(combine)) {
    return(function(target) {
      checked(combine(x, factor(target$classes[target$values + 1L], target$classes)), "combine must return")
    })
  }
  choose_word("combine", combine, "f", "one score for each feature", "a function of x and y that returns them", "NULL")
  dense <- without_zeros(data$x, run)
  function(target) checked(f_statistics(dense, target), "the F test must give")
}

# Of the analysis of variance of each feature.
f_statistics <- function(values, target) {
  means_of <- if (values$by_row) rowMeans else colMeans
  within <- between <- 0
  centre <- means_of(values$values)
  for (k in seq_along(target$classes)) {
    own <- take_samples(values, which(target$values == k - 1L))
    n <- own$n_rows
    mean <- means_of(own$values)
    residuals <- own$values - if (own$by_row) mean else rep(mean, each = n)
    within <- within + n * means_of(residuals^2)
    between <- between + n * (mean - centre)^2
  }
  K <- n_classes(target)
  (between / (K - 1)) / (within / (values$n_rows - K))
}

# Moved and scaled to [0, 1]; all equal ones become 0.
unit_interval <- function(scores) {
  span <- max(scores) - min(scores)
  if (span > 0) (scores - min(scores)) / span else 0 * scores
}

manifest_reason <- function(found, d, options) {
  switch(found$reason,
    asked = "as asked for",
    size = paste0(d, " features are ", if (found$accuracy == "exact") "no more" else "more", " than ", EXACT_AT_MOST),
    memory = paste0(
      "the exact form would need ", format(found$exact_bytes / 1e9, digits = 2), " GB, more than the memory budget"
    ),
    rank = paste0("rank ", options$rank, " saves nothing with ", d, " features"),
    form = paste0("form = \"", options$form, "\" exists as an exact one only"),
    work = paste(options$n_fits, "fits in the usual form would take minutes")
  )
}

manifest <- method_function("manifest", MANIFEST)
