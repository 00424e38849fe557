# Tables of samples and features as the core takes them: pointers into R's own arrays, and strides.

# Returns the features of x (as of `dense` or `sparse`), the names of features and samples, and y, which for an
# experiment may be the name of a column of colData.
#
# categorical: as the parameter `categorical_features` of the RELIEF family, or NA if a method takes numbers only.
# makes_dense: whether a sparse x is copied into a dense one.
read_features <- function(x, y, assay, run, categorical = NA, makes_dense = FALSE) {
  features <- feature_names_of(x)
  samples <- sample_names(x)
  if (is_experiment(x)) {
    y <- read_column(x, y)
    values <- read_matrix(read_assay(x, assay), "the assay", run, transposed = TRUE)
  } else if (is.data.frame(x)) {
    table <- read_columns(x, categorical)
    values <- dense(table$values)
    values$levels <- table$levels
  } else {
    values <- read_matrix(x, "x", run)
  }
  y <- by_names("y", y, samples)
  if (makes_dense) values <- without_zeros(values, run)
  if (!is.data.frame(x) && !identical(categorical, NA) && !is.null(categorical)) {
    values <- encode_columns(values, categorical, features)
  }
  levels <- values$levels
  values$levels <- NULL
  list(x = values, y = y, levels = levels, features = features, samples = samples)
}

# Returns x and y; of a formula x and its data frame y, the features and the labels.
from_formula <- function(x, y) {
  if (!inherits(x, "formula")) return(list(x = x, y = y))
  if (!is.data.frame(y)) refuse("y must be the data frame of the formula x; got class ", class(y)[1])
  terms <- stats::terms(x, data = y)
  if (attr(terms, "response") == 0 || any(attr(terms, "order") > 1)) {
    refuse("x must be a formula of labels and single features, such as state ~ .; got ", paste(deparse(x), collapse = " "))
  }
  table <- stats::model.frame(terms, y, na.action = stats::na.pass)
  list(x = table[-1], y = table[[1]])
}

# Returns the names of the samples of x, or NULL if they have none. Row numbers of a data.frame are names if rows were
# taken or moved, as by table[rows, ].
sample_names <- function(x) {
  if (is_experiment(x)) return(colnames(x))
  if (is.data.frame(x)) return(if (!identical(attr(x, "row.names"), seq_len(nrow(x)))) rownames(x))
  if (length(dim(x)) == 2) rownames(x)
}

feature_names_of <- function(x) {
  if (is_experiment(x)) return(rownames(x))
  if (is.data.frame(x)) return(names(x))
  if (length(dim(x)) == 2) colnames(x)
}

# Functions that undo how names are written on one side only.
REWRITERS <- c("make.names", "trimws", "tolower", "toupper")

# Puts values with names into the order of `ids`, the names of the samples or features of x, and refuses other names.
by_names <- function(parameter, values, ids, word = "sample", unnamed = unnamed_by(parameter, values)) {
  known <- if (length(dim(values)) == 2) sample_names(values) else names(values)
  if (is.null(known) || is.null(ids) || identical(known, ids)) return(values)
  at <- match(ids, known)
  if (anyNA(at) || anyDuplicated(ids) || anyDuplicated(known[known %in% ids])) {
    refuse_names(parameter, values, known, ids, word, unnamed)
  }
  message(parameter, ": ", length(ids), " of ", length(ids), " ", word, "s matched by name")
  if (length(dim(values)) == 2) values[at, , drop = FALSE] else values[at]
}

# Puts rows and columns of a square matrix, or a dist object, into the order of `ids`.
both_by_names <- function(parameter, values, ids, word = "sample") {
  if (inherits(values, "dist")) values <- as.matrix(values)
  if (!is.matrix(values) || is.null(rownames(values)) || nrow(values) != ncol(values)) return(values)
  order <- stats::setNames(seq_len(nrow(values)), rownames(values))
  order <- by_names(parameter, order, ids, word, paste0("unname(as.matrix(", parameter, "))"))
  unname(values)[order, order, drop = FALSE]
}

# How to give values without their names.
unnamed_by <- function(parameter, values) {
  is_frame <- length(dim(values)) == 2 && !is.matrix(values)
  if (is_frame) paste0("`rownames<-`(", parameter, ", NULL)") else paste0("unname(", parameter, ")")
}

# The way out is to drop what has no value, to undo a change of the names, or to go by the order.
refuse_names <- function(parameter, values, known, ids, word, unnamed) {
  setter <- paste0(if (length(dim(values)) == 2) "rownames(" else "names(", parameter, ")")
  by_order <- paste0("if ", parameter, " stands in the order of x, give ", unnamed)
  repeated <- c(ids[duplicated(ids)], intersect(known[duplicated(known)], ids))
  if (length(repeated)) {
    refuse(
      "the names of ", parameter, " must name each ", word, " of x once; got '", repeated[1],
      "' twice: keep one, or, ", by_order
    )
  }
  lost <- setdiff(ids, known)
  if (length(lost) < length(ids)) {
    refuse(
      parameter, " must have a value for each ", word, " of x; got none for ", length(lost), " of ", length(ids),
      " (", some_of(quoted(lost)), "): give these, or take these ", word, "s out of x"
    )
  }
  first <- function(names) paste(quoted(utils::head(names, 3)), collapse = ", ")
  undone <- Filter(function(name) all(ids %in% do.call(name, list(known))), REWRITERS)
  refuse(
    "the names of ", parameter, " must be those of the ", word, "s of x (", first(ids), "); got ", first(known), ": ",
    if (length(undone)) paste0("set ", setter, " <- ", undone[1], "(", setter, ")") else "rename them", ", or, ",
    by_order
  )
}

# How the core's messages call samples and features; `rows`: the numbers of those that are left.
names_of <- function(data, classes = NULL, rows = NULL) {
  named <- function(word, names, numbers = NULL) {
    function(i) {
      if (!is.null(numbers)) i <- numbers[i]
      paste0(word, " ", i, if (!is.null(names) && i <= length(names)) paste0(" (", names[i], ")"))
    }
  }
  found <- list(row = named("sample", data$samples, rows), column = named("feature", data$features))
  if (!is.null(classes)) found$class <- function(i) paste0("class '", classes[i], "'")
  found
}

# ------------------------------------------------------------------------------------------------------- experiments

is_experiment <- function(x) isS4(x) && methods::is(x, "SummarizedExperiment")

needs_package <- function(package, purpose) {
  if (!requireNamespace(package, quietly = TRUE)) {
    refuse("the package ", package, " is needed ", purpose, ": install it")
  }
}

read_assay <- function(x, assay) {
  needs_package("SummarizedExperiment", "for experiments")
  known <- SummarizedExperiment::assayNames(x)
  n <- length(SummarizedExperiment::assays(x, withDimnames = FALSE))
  if (n == 0) refuse("x must be an experiment with an assay; got one without")
  if (is.character(assay) && length(assay) == 1) {
    if (!assay %in% known) {
      held <- if (is.null(known)) paste("the numbers 1 to", n) else some_of(quoted(known))
      refuse("assay must be one of ", held, "; got '", assay, "'", did_you_mean(assay, known))
    }
  } else if (as_whole("assay", assay) < 1 || assay > n) {
    refuse("assay must be the name or the number of one of the ", n, " assays of x; got ", shown(assay))
  }
  # With the names of its dimensions it would be a copy.
  SummarizedExperiment::assay(x, assay, withDimnames = FALSE)
}

read_column <- function(x, y) if (is.character(y) && length(y) == 1) column_of(x, y, "y") else y

# A column of colData, if `given` is a name, else what is given.
column_of <- function(x, given, parameter) {
  if (!is.character(given) || length(given) != 1) return(given)
  known <- names(SummarizedExperiment::colData(x))
  if (!given %in% known) {
    refuse(
      parameter, " must be a column of colData of x; got '", given, "', but it has ",
      if (length(known)) {
        paste0(some_of(quoted(known)), ": name one of these", did_you_mean(given, known))
      } else {
        paste0("none: give ", parameter, " as a vector")
      }
    )
  }
  SummarizedExperiment::colData(x)[[given]]
}

# ---------------------------------------------------------------------------------------------------------- matrices

# transposed: features are rows.
read_matrix <- function(x, name, run, transposed = FALSE) {
  if (isS4(x) && methods::is(x, "Matrix")) {
    needs_package("Matrix", "for its matrices")
    if (methods::is(x, "sparseMatrix")) return(sparse(x, transposed))
    x <- Matrix::as.matrix(x)
  }
  what <- if (is.null(x)) {
    "NULL"
  } else if (is.factor(x)) {
    "a factor: give the factors of several features as a data.frame"
  } else if (is.data.frame(x)) {
    "a data.frame: give a matrix"
  } else if (!is.matrix(x) && (is.atomic(x) || is.list(x))) {
    paste0(
      if (is.integer(x)) "an " else "a ", if (is.list(x)) "list" else paste(typeof(x), "vector"),
      if (is.numeric(x)) ": a single feature is matrix(x, ncol = 1)" else ": give a matrix of samples x features"
    )
  } else if (!is.matrix(x)) {
    paste0("one of class ", class(x)[1], ": give as.matrix(", name, ")")
  } else if (!is.numeric(x) && !is.logical(x)) {
    paste0("a ", typeof(x), " matrix: convert it, or give a data.frame, which has a type per column")
  }
  if (!is.null(what)) {
    refuse(name, " must be a matrix of numbers, a dgCMatrix, a data.frame or an experiment; got ", what)
  }
  if (!is.double(x)) {
    require_bytes(8 * length(x), paste("a copy of", name, "as doubles"), run)
    storage.mode(x) <- "double"
  }
  dense(x, transposed)
}

# by_row: whether features are the rows of x.
dense <- function(x, transposed = FALSE) {
  n <- dim(x)[1]
  if (transposed) {
    list(storage = "dense", values = x, n_rows = dim(x)[2], n_cols = n, row_stride = n, col_stride = 1, by_row = TRUE)
  } else {
    list(storage = "dense", values = x, n_rows = n, n_cols = dim(x)[2], row_stride = 1, col_stride = n, by_row = FALSE)
  }
}

sparse <- function(x, transposed) {
  if (!methods::is(x, "dgCMatrix")) {
    x <- methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  }
  # Features in rows, column by column, are samples row by row.
  list(
    storage = if (transposed) "csr" else "csc", values = x@x, indices = x@i, indptr = x@p,
    n_rows = dim(x)[1 + transposed], n_cols = dim(x)[2 - transposed]
  )
}

without_zeros <- function(values, run) {
  if (values$storage == "dense") return(values)
  require_bytes(8 * values$n_rows * values$n_cols, "x as a dense matrix", run)
  is_csr <- values$storage == "csr"
  n_lines <- if (is_csr) values$n_rows else values$n_cols
  line <- rep.int(seq_len(n_lines), diff(values$indptr))
  x <- matrix(0, values$n_rows, values$n_cols)
  x[if (is_csr) cbind(line, values$indices + 1) else cbind(values$indices + 1, line)] <- values$values
  dense(x)
}

# The matrix of Matrix that sparse values are from; that of "csr" has features in rows.
as_Matrix <- function(values) {
  Matrix::sparseMatrix(
    i = values$indices, p = values$indptr, x = values$values, index1 = FALSE, repr = "C",
    dims = if (values$storage == "csr") c(values$n_cols, values$n_rows) else c(values$n_rows, values$n_cols)
  )
}

# Some of the samples: a copy.
take_samples <- function(values, rows) {
  if (values$storage != "dense") {
    x <- as_Matrix(values)
    if (values$storage == "csr") return(sparse(x[, rows, drop = FALSE], TRUE))
    return(sparse(x[rows, , drop = FALSE], FALSE))
  }
  if (values$by_row) return(dense(values$values[, rows, drop = FALSE], TRUE))
  dense(values$values[rows, , drop = FALSE])
}

# A number of bytes as the core writes it.
human <- function(bytes) {
  exact <- paste(format(bytes, scientific = FALSE, trim = TRUE), "bytes")
  if (bytes < 1e6) return(exact)
  short <- if (bytes >= 1e9) sprintf("%.2f GB", bytes / 1e9) else sprintf("%.2f MB", bytes / 1e6)
  paste0(short, " (", exact, ")")
}

require_bytes <- function(bytes, what, run) {
  if (bytes < 2^26 && run$max_memory == 0) return(invisible())
  budget <- .Call(C_info, run)$max_memory
  if (bytes > budget) {
    refuse(
      what, " would need ", human(bytes), ", but the memory budget is ", human(budget),
      ": raise max_memory (or FASTFS_MAX_MEMORY), or give fewer features",
      class = "out_of_memory"
    )
  }
}

# ------------------------------------------------------------------------------------------------ tables with factors

# Factors become codes from 0, if the method takes categories; other types than numbers and logicals are refused.
read_columns <- function(x, categorical) {
  if (ncol(x) == 0) refuse("x must have features; got no columns")
  names <- names(x)
  takes_categories <- !identical(categorical, NA)
  declared <- if (takes_categories) categorical_mask(categorical, ncol(x), names) else logical(ncol(x))
  values <- matrix(0, nrow(x), ncol(x))
  levels <- numeric(ncol(x))
  for (j in seq_along(x)) {
    column <- x[[j]]
    if (declared[j] && !is.factor(column)) column <- factor(column)
    if (is.factor(column) && takes_categories) {
      values[, j] <- as.integer(column) - 1
      levels[j] <- max(1, nlevels(column))
    } else if ((is.numeric(column) || is.logical(column)) && !is.object(column) && is.null(dim(column))) {
      values[, j] <- column
    } else {
      what <- if (is.object(column)) class(column)[1] else typeof(column)
      refuse(
        "x must hold numbers; got type ", what, " in column ", j, " ('", names[j], "'): ",
        if (is.factor(column)) {
          "drop it, or make a column of 0 and 1 for each level"
        } else if (is.character(column) && takes_categories) {
          "make it a factor, or drop it"
        } else {
          "convert it to numbers, or drop it"
        }
      )
    }
  }
  list(values = values, levels = if (any(levels > 0)) levels)
}

encode_columns <- function(values, categorical, features) {
  mask <- categorical_mask(categorical, values$n_cols, features)
  if (!any(mask)) return(values)
  if (values$storage != "dense") {
    refuse(
      "x must be dense for categorical_features; got a sparse x: leave categorical_features out, or give as.matrix(x)"
    )
  }
  x <- values$values
  levels <- numeric(values$n_cols)
  for (j in which(mask)) {
    codes <- factor(if (values$by_row) x[j, ] else x[, j])
    levels[j] <- max(1, nlevels(codes))
    if (values$by_row) x[j, ] <- as.integer(codes) - 1 else x[, j] <- as.integer(codes) - 1
  }
  values$values <- x
  values$levels <- levels
  values
}

categorical_mask <- function(columns, n_features, names) {
  if (identical(columns, "all")) return(rep(TRUE, n_features))
  columns_mask("categorical_features", columns, n_features, names, "\"all\"")
}

# Which columns are meant by a mask, numbers or names; NULL: none. The others are further words in errors.
columns_mask <- function(parameter, columns, n_features, names, ...) {
  mask <- logical(n_features)
  if (is.null(columns)) return(mask)
  if (is.logical(columns) && length(columns) == n_features && !anyNA(columns)) return(columns)
  if (is.character(columns) && all(columns %in% names)) {
    mask[match(columns, names)] <- TRUE
  } else if (is.numeric(columns) && !anyNA(columns) && all(columns %in% seq_len(n_features))) {
    mask[columns] <- TRUE
  } else {
    refuse(
      parameter, " must be ", paste0(c("NULL", ...), ", ", collapse = ""),
      "or a mask, the numbers or the names of some of the ", n_features, " features; got ", shown(columns),
      if (is.character(columns)) did_you_mean(setdiff(columns, names)[1], names)
    )
  }
  mask
}
