# I-KDR.

IKDR <- list(
  n_components = option(NULL, as_count, r"(Number of dimensions; \code{NULL}: as many as classes.)"),
  groups = option(NULL, text = r"(A label for each feature, which names its group; each group has a kernel; \code{"all"}:
    one kernel; \code{NULL}: one for each feature.)"),
  width = option("mean_squared", text = r"(Width of the Gaussian kernels: \code{"mean_squared"} or \code{"mean"}
    distance, or a number.)"),
  lam = option(0.1, as_number, "Weight of interpretability.", core = "lambdas"),
  mu = option(0.1, as_number, "Weight of sparsity."),
  tau = option(Inf, as_number, "Penalty of the first slack variables; Inf: they equal the terms that they stand for."),
  zeta = option(Inf, as_number, "Penalty of the second slack variables, as \\code{tau}."),
  interpretability = option("laplacian", one_of("laplacian", "distance"), r"(\code{"laplacian"} or
    \code{"distance"}.)", needs = list(mu = ABOVE_0)),
  solver = option("projected_gradient", one_of("projected_gradient", "admm"), r"(\code{"projected_gradient"} or
    \code{"admm"}.)"),
  max_iter = option(100, as_whole, "Outer iterations at most."),
  max_inner = option(200, as_whole, "Steps at most in each of these."),
  tol = option(1e-4, as_number, "The relative decrease at which both end."),
  rho = option(1, as_number, r"(Penalty of \code{"admm"}.)", needs = list(solver = "admm")),
  scaling = option("standard", text = r"(\code{"standard"} or \code{NULL}.)"),
  random_state = random_state()
)

ikdr_stage <- function(given, keep) {
  run <- read_run(given$n_threads, given$max_memory, given$verbose)
  options <- core_options(IKDR, given)
  data <- read_features(given$x, given$y, given$assay, run, makes_dense = TRUE)
  target <- class_target(data$y, data)
  d <- data$x$n_cols
  given["groups"] <- list(by_names("groups", given$groups, data$features, "feature"))
  kernels <- read_kernels(given, d)
  names <- names_of(data, target$classes)
  names$kernel <- function(m) {
    if (!is.null(kernels$groups)) {
      paste0("the kernel of group '", kernels$groups[m], "'")
    } else if (kernels$n > 1) {
      paste("the kernel of", names$column(m))
    } else {
      "the kernel of all features"
    }
  }
  fit <- function(target, run) {
    found <- core_result(.Call(C_ikdr, data$x, kernels$core, labels_of(target), n_classes(target), options, run), names)
    c(ikdr_result(found, kernels, target$classes), list(messages = core_messages(names)))
  }
  list(data = data, target = target, run = run, fit = fit)
}

# Kernels as the core takes them, how many there are, the names of groups, and the kernel of each feature.
read_kernels <- function(given, d) {
  width <- given$width
  core <- list(scaling = word_or_none("scaling", given$scaling, "standard"))
  if (is.numeric(width)) {
    core$width <- "given"
    core$delta <- as_number("width", width)
    if (!(core$delta > 0 && is.finite(core$delta))) {
      refuse("width must be \"mean_squared\", \"mean\" or a positive number; got ", shown(width))
    }
  } else {
    core$width <- choose_word("width", width, c("mean_squared", "mean"), "a positive number")
  }
  groups <- given$groups
  if (is.null(groups)) return(list(core = c(core, n_kernels = 0), n = d, of_feature = seq_len(d)))
  if (identical(groups, "all")) return(list(core = c(core, n_kernels = 1), n = 1, of_feature = rep(1, d)))
  if (!is.atomic(groups) && !is.factor(groups) || length(groups) != d || anyNA(groups)) {
    refuse("groups must be NULL, \"all\" or one label for each of the ", d, " features; got ", shown(groups))
  }
  groups <- as.character(groups)
  known <- sort(unique(groups), method = "radix")
  of_feature <- match(groups, known)
  n <- length(known)
  core$n_kernels <- n
  if (n > 1) core$groups <- of_feature - 1L
  list(core = core, n = n, groups = known, of_feature = of_feature)
}

ikdr_result <- function(found, kernels, classes) {
  constant <- found$scales == 0
  sizes <- tabulate(kernels$of_feature[!constant], kernels$n)
  of_features <- ifelse(constant, 0, (found$weights / pmax(sizes, 1))[kernels$of_feature])
  prices <- ifelse(constant, Inf, found$prices[kernels$of_feature])
  profile <- found$class_profile
  colnames(profile) <- classes
  list(
    scores = ifelse(of_features > 0, of_features, 0 - price_share(prices, abs(found$objective))),
    weights = found$weights,
    feature_weights = of_features,
    A = t(found$A),
    support = which(colSums(found$A != 0) > 0),
    embedding = t(found$embedding),
    class_profile = t(profile),
    interpretability = found$interpretability,
    objective = found$objective,
    history = found$history,
    similarity = found$similarity,
    n_iter = found$n_iter,
    converged = found$converged == 1,
    lam = found$lam,
    deltas = found$deltas,
    constant_features = which(constant),
    group_labels = kernels$groups
  )
}

# p / (p + F), 1 for infinite prices.
price_share <- function(price, objective) {
  share <- rep(1, length(price))
  finite <- is.finite(price)
  price <- pmax(price[finite], 0)
  share[finite] <- ifelse(price > 0, price / (price + objective), 0)
  share
}

ikdr <- method_function("ikdr", IKDR)
