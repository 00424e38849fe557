# Targets: classes, numbers, times to an event.

# A target is a list of its kind ("class", "number" or "survival"), the classes if there are any, and the values: labels
# from 0, numbers, or a matrix of times and events.

# The target of other samples, or of these in another order.
target_at <- function(target, index) {
  target$values <- if (is.matrix(target$values)) target$values[index, , drop = FALSE] else target$values[index]
  target
}

labels_of <- function(target) if (target$kind == "class") target$values
n_classes <- function(target) length(target$classes)

# Returns y as a vector of one value per sample.
as_values <- function(y, data, item = "label") {
  n <- data$x$n_rows
  if (is.null(y)) refuse("y must have one ", item, " for each of the ", n, " samples of x; got NULL")
  if (length(dim(y)) == 2 && !inherits(y, "Surv")) {
    if (ncol(y) != 1) {
      refuse("y must be a vector, a factor or one column; got ", ncol(y), " columns: give one of them, ",
             "such as y[, 1, drop = FALSE]")
    }
    y <- y[, 1, drop = TRUE]
  }
  if (is.list(y) || !is.null(dim(y)) || !(is.atomic(y) || is.factor(y))) {
    refuse("y must be a vector or a factor of one ", item, " per sample; got class ", class(y)[1])
  }
  if (length(y) != n) {
    hint <- if (length(y) == data$x$n_cols) {
      "; is x transposed? Its rows must be samples, but those of an experiment features"
    }
    refuse(
      "y must have one ", item, " for each of the ", n, " samples of x; got ", format(length(y), scientific = FALSE), hint
    )
  }
  if (anyNA(y)) {
    i <- which(is.na(y))[1]
    refuse(
      "y must have a ", item, " for each sample; got NA for ", names_of(data)$row(i), ": give it, or drop the sample"
    )
  }
  y
}

# Labels that most samples don't share with any other are ids or numbers.
refuse_unshared <- function(classes, values) {
  alone <- which(tabulate(values + 1L, length(classes)) == 1)
  if (2 * length(alone) > length(values) && length(classes) > 2) {
    refuse("y must hold labels that samples share; got ", length(alone), " of the ", length(values),
           " samples alone in their class, such as ", quoted(as.character(classes[alone[1]])),
           ": if these are ids, give the labels in their place",
           if (!anyNA(suppressWarnings(as.numeric(as.character(classes))))) {
             ", and if they are numbers, cut them into classes"
           })
  }
}

class_target <- function(y, data) {
  y <- as_values(y, data)
  if (is.double(y) && !is.object(y)) {
    odd <- y[!is.finite(y) | y != floor(y)]
    if (length(odd)) {
      refuse("y must hold classes; got values such as ", format(odd[1]), ": bin them first, or give a factor")
    }
  }
  # The order of the locale would be another one on another machine.
  if (is.factor(y)) y <- droplevels(y)
  classes <- if (is.factor(y)) levels(y) else sort(unique(y), method = "radix")
  if (length(classes) < 2) {
    held <- if (length(classes)) paste("only", quoted(classes)) else "none"
    refuse("y must have at least two classes; got ", held)
  }
  values <- match(y, classes) - 1L
  refuse_unshared(classes, values)
  list(kind = "class", classes = as.character(classes), values = values)
}

number_target <- function(y, data) {
  y <- as_values(y, data, "number")
  if (!is.numeric(y) || is.object(y)) {
    refuse("y must hold numbers; got class ", class(y)[1], ": give numbers, or target_type = \"class\"")
  }
  if (any(is.infinite(y))) {
    refuse("y must hold finite numbers; got an infinite one for ", names_of(data)$row(which(is.infinite(y))[1]))
  }
  list(kind = "number", values = as.double(y))
}

survival_target <- function(y, data) {
  if (!inherits(y, "Surv") || !identical(attr(y, "type"), "right")) {
    refuse(
      "y must be survival::Surv(time, event) of right-censored times for target_type = \"survival\"; got class ",
      class(y)[1]
    )
  }
  # unname(y) takes the names of the columns, too.
  times <- matrix(as.double(y), ncol = 2, dimnames = list(NULL, c("time", "status")))
  if (nrow(times) != data$x$n_rows) {
    refuse("y must have one time for each of the ", data$x$n_rows, " samples of x; got ", nrow(times))
  }
  if (anyNA(times)) {
    refuse("y must have a time for each sample; got NA for ", names_of(data)$row(which(is.na(rowSums(times)))[1]))
  }
  list(kind = "survival", values = times)
}

MOST_CLASSES <- 20

# Tells classes from numbers and times, or says that it can't be told.
read_target <- function(y, data, kind, numbers_only = FALSE) {
  if (kind == "auto") {
    kind <- if (inherits(y, "Surv")) {
      "survival"
    } else if (!is.numeric(y) || is.object(y)) {
      "class"
    } else if (numbers_only) {
      "number"
    } else {
      values <- as_values(y, data)
      different <- length(unique(values))
      if (is.integer(values) && different <= MOST_CLASSES) {
        "class"
      } else if (is.double(values) && any(values != floor(values))) {
        "number"
      } else if (is.double(values) && different <= 2) {
        "class"
      } else {
        held <- if (is.integer(values)) paste(different, "different integers") else "whole numbers"
        refuse(
          "y must be classes or numbers; got ", held,
          ", which can be either: give factor(y), or target_type = \"number\""
        )
      }
    }
  }
  switch(kind, class = class_target(y, data), number = number_target(y, data), survival = survival_target(y, data))
}
