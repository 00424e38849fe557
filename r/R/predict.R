# Predictions of IM4E and IMMIGRATE, and what these rest on.

# A result refers to x and the labels that it was found on, which predictions compare new samples with. x isn't copied.
metric_of <- function(result) {
  if (inherits(result, "fastfs_im4e")) {
    used <- which(result$scores != 0)
    return(list(
      sigma = result$sigma, features = used - 1, n_features = length(used), weights = unname(result$scores[used])
    ))
  }
  list(
    sigma = result$sigma, features = unname(result$features) - 1, n_features = length(result$features),
    rank = length(result$eigenvalues), values = as.double(result$eigenvalues),
    vectors = as.double(result$eigenvectors)
  )
}

# The new samples, a handle of the old ones and what errors call the new ones.
new_samples <- function(result, newdata, assay, run, y = NULL) {
  data <- read_features(newdata, y, assay, run, makes_dense = TRUE)
  own <- names(result$scores)
  if (data$x$n_cols != length(result$scores)) {
    refuse("newdata must have the ", length(result$scores), " features of the fit; got ", data$x$n_cols)
  }
  if (!is.null(own) && !is.null(data$features) && !identical(own, data$features)) {
    j <- which(own != data$features)[1]
    refuse("newdata must have the features of the fit in their order; got '", data$features[j], "' as feature ", j,
           " in place of '", own[j], "'")
  }
  names <- names_of(data, result$classes)
  # The core reads the features that have weight only.
  bad <- which(!is.finite(data$x$values))
  if (length(bad)) {
    place <- arrayInd(bad[1], dim(data$x$values))
    if (data$x$by_row) place <- rev(place)
    refuse(
      "newdata must be finite; got NaN or infinity first at ", names$row(place[1]), ", ", names$column(place[2]),
      ": impute or drop it"
    )
  }
  model <- result$model
  handle <- core_result(.Call(C_margin_new, model$x, list(scaling = model$scaling), run))
  list(data = data, handle = handle, names = names)
}

distances_to_classes <- function(result, new, run) {
  model <- result$model
  found <- core_result(
    .Call(C_margin_distances, new$handle, model$labels, length(result$classes), metric_of(result), new$data$x, run),
    new$names
  )
  matrix(found, ncol = length(result$classes), byrow = TRUE, dimnames = list(new$data$samples, result$classes))
}

predict.fastfs_im4e <- function(object, newdata, type = "class", assay = 1, n_threads = 0, max_memory = NULL,
                                verbose = FALSE, ...) {
  type <- choose_word("type", type, c("class", "distance"))
  run <- read_run(n_threads, max_memory, verbose)
  distances <- distances_to_classes(object, new_samples(object, newdata, assay, run), run)
  if (type == "distance") return(distances)
  stats::setNames(factor(object$classes[nearest_class(distances)], object$classes), rownames(distances))
}

predict.fastfs_immigrate <- predict.fastfs_im4e

# Of equal distances the first class.
nearest_class <- function(distances) max.col(-distances, ties.method = "first")

explain <- function(result, newdata, y = NULL, top = 20, assay = 1, n_threads = 0, max_memory = NULL,
                    verbose = FALSE) {
  if (!inherits(result, "fastfs_im4e") && !inherits(result, "fastfs_immigrate")) {
    refuse("result must be a result of im4e or immigrate; got class ", class(result)[1])
  }
  top <- as_whole("top", top, low = 1)
  run <- read_run(n_threads, max_memory, verbose)
  new <- new_samples(result, newdata, assay, run, y)
  distances <- distances_to_classes(result, new, run)
  n <- nrow(distances)
  wanted <- nearest_class(distances)
  if (!is.null(y)) {
    y <- as_values(new$data$y, new$data)
    wanted <- match(y, result$classes)
    if (anyNA(wanted)) {
      refuse(
        "y must hold labels of the classes ", some_of(quoted(result$classes)), "; got ",
        quoted(y[is.na(wanted)][1])
      )
    }
  }
  own <- distances[cbind(seq_len(n), wanted)]
  others <- distances
  others[cbind(seq_len(n), wanted)] <- Inf
  other <- nearest_class(others)
  metric <- metric_of(result)
  size <- metric$n_features
  is_pairs <- is.null(metric$weights)
  require_bytes(8 * n * (if (is_pairs) size^2 else size), "the parts of all samples", run)
  parts <- core_result(
    .Call(
      C_margin_explain, new$handle, result$model$labels, length(result$classes), metric, new$data$x, wanted - 1L, run
    ), new$names
  )
  used <- metric$features + 1
  features <- pairs <- list()
  for (i in seq_len(n)) {
    one <- parts[(i - 1) * length(parts) / n + seq_len(length(parts) / n)]
    if (is_pairs) {
      one <- matrix(one, size)
      both <- one + t(one)
      diag(both) <- diag(one)
      both[lower.tri(both)] <- 0
      best <- strongest(both, top)
      best <- best[(best - 1) %/% size >= (best - 1) %% size]
      pairs[[i]] <- data.frame(
        sample = i, a = used[(best - 1) %% size + 1], b = used[(best - 1) %/% size + 1], part = both[best]
      )
      one <- (rowSums(one) + colSums(one)) / 2
    }
    best <- strongest(one, top)
    features[[i]] <- data.frame(sample = i, feature = used[best], part = one[best])
  }
  named <- function(table, columns) {
    for (column in columns) table[[paste0(column, "_name")]] <- names(result$scores)[table[[column]]]
    table
  }
  found <- list(
    samples = data.frame(
      class = result$classes[wanted], other = result$classes[other], distance = own,
      other_distance = others[cbind(seq_len(n), other)], row.names = new$data$samples
    ),
    features = named(do.call(rbind, features), "feature")
  )
  found$samples$margin <- found$samples$other_distance - found$samples$distance
  if (is_pairs) found$pairs <- named(do.call(rbind, pairs), c("a", "b"))
  found
}

strongest <- function(parts, n) utils::head(order(-abs(parts), method = "radix"), n)
