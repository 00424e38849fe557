# From a method's arguments to its result.

# The stage of each method; see family_stage().
STAGES <- list(
  relief = function(given, keep) family_stage("relief", given, keep),
  relieff = function(given, keep) family_stage("relieff", given, keep),
  mu_relief = function(given, keep) family_stage("mu_relief", given, keep),
  surf = function(given, keep) family_stage("surf", given, keep),
  multisurf = function(given, keep) family_stage("multisurf", given, keep),
  swrf = function(given, keep) family_stage("swrf", given, keep),
  rrelieff = function(given, keep) family_stage("rrelieff", given, keep),
  im4e = function(given, keep) im4e_stage(given, keep),
  immigrate = function(given, keep) immigrate_stage(given, keep),
  manifest = function(given, keep) manifest_stage(given, keep),
  projse = function(given, keep) projse_stage(given, keep),
  disc = function(given, keep) disc_stage(given, keep),
  ikdr = function(given, keep) ikdr_stage(given, keep)
)

# Returns the options of a method.
options_of <- function(method) {
  switch(method,
    im4e = IM4E, immigrate = IMMIGRATE, manifest = MANIFEST, projse = PROJSE, disc = DISC, ikdr = IKDR,
    c(FAMILY_OF[[method]], if (method != "relief") TABLES, FAMILY)
  )
}

# given: all arguments of the method's function.
run_method <- function(method, given) {
  given[c("x", "y")] <- from_formula(given$x, given$y)
  stage <- STAGES[[method]](given, FALSE)
  warn_without_effect(method, given)
  # A bad number is refused before the work.
  count_selected(given$n_features_to_select, stage$data$x$n_cols)
  found <- stage$fit(stage$target, stage$run)
  warn(found$messages)
  new_result(method, stage, found, given$n_features_to_select)
}

# The arguments of a method by its name, with defaults for those that aren't given.
arguments_of <- function(method, x, y, options) {
  defaults <- as.list(formals(get(method, envir = environment(run_method), mode = "function")))
  unknown <- setdiff(names(options), names(defaults))
  if (length(options) > 0 && (is.null(names(options)) || length(unknown) > 0)) {
    known <- setdiff(names(defaults), c("x", "y"))
    near <- if (length(unknown)) did_you_mean(unknown[1], known)
    refuse(
      method, " has no parameter ", if (length(unknown)) some_of(quoted(unknown)) else "without a name",
      if (is.null(near)) paste0(", but ", paste(known, collapse = ", ")) else near
    )
  }
  defaults[names(options)] <- options
  given <- from_formula(x, y)
  defaults["x"] <- given["x"]
  samples <- sample_names(given$x)
  defaults["y"] <- list(by_names("y", given$y, samples))
  if (!is.null(defaults$sample_weight)) {
    defaults$sample_weight <- by_names("sample_weight", defaults$sample_weight, samples)
  }
  defaults["distances"] <- list(both_by_names("distances", defaults$distances, samples))
  defaults
}

# The name of a method that is given as its function or by its name.
method_name <- function(method) {
  if (is.function(method)) {
    for (name in names(STAGES)) {
      if (identical(method, get(name, envir = environment(run_method), mode = "function"))) return(name)
    }
    refuse("method must be a function of fastfs, or the name of one: ", paste(names(STAGES), collapse = ", "))
  }
  choose_word("method", method, names(STAGES))
}
