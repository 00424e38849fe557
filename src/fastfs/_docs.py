"""Paragraphs that the documentation of several public names shares, each written once.

A docstring takes a paragraph by a line that holds nothing but its name in angle brackets.
"""

import re

_NAMED = re.compile(r"^( *)<([a-z_]+)>$", re.MULTILINE)


def fill_shared(doc: str | None) -> str | None:
    """Return a docstring with the paragraphs that it names, indented as the names are."""
    return doc and _NAMED.sub(lambda found: _indented(_SHARED[found[2]], found[1]), doc)


def _indented(paragraph: str, spaces: str) -> str:
    """Return a paragraph with spaces in front of each line that isn't empty."""
    return "\n".join(spaces + line if line else line for line in paragraph.strip("\n").split("\n"))


_N_JOBS = """
n_jobs : int or None
    Threads. None means all cores that this process may use (here fastfs differs from scikit-learn), and one inside
    a joblib worker.
"""
_MAX_MEMORY = """
max_memory : int, str or None
    Budget in bytes, or such as "4G"; None: ``FASTFS_MAX_MEMORY`` or what the machine has available.
"""
_VERBOSE = """
verbose : bool or callable
    True prints progress on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.
"""
_AX = """
ax : matplotlib.axes.Axes, optional
    Where to draw; by default a new pyplot figure.
"""
_RETURNS_AX = """
Returns
-------
matplotlib.axes.Axes
"""

_SHARED = {
    "max_memory": _MAX_MEMORY,
    "verbose": _VERBOSE,
    "resources": _N_JOBS.rstrip() + _MAX_MEMORY.rstrip() + _VERBOSE,
    "columns": """
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features,)
    Column names of X, if it had any.
""",
    "raises_of_a_fit": """
TypeError
    A parameter is of another type.
MemoryError
    The fit would exceed the budget; nothing was allocated.
""",
    "raises_of_a_dense_fit": """
TypeError
    A parameter is of another type.
MemoryError
    The fit, or a sparse X as dense values, would exceed the budget; nothing was allocated.
""",
    "iteration": """
sigma_ : float
    The scale used.
cost_, objective_ : ndarray of shape (n_iter,)
    The paper's cost after each step, and G before it. Neither must fall.
n_iter_ : int
converged_ : bool
    True if the cost came to rest within `tol`. There is no warning if it didn't.
classes_ : ndarray of shape (n_classes,)
algorithm_ : {"stored", "blocks"}
    "stored": distances between all samples were stored. "blocks": made by blocks of rows, to save memory.
""",
    "fit_of_a_wrapper": """
Parameters
----------
X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    Data in any form that the estimator takes.
y : array-like
    Target in any form that the estimator takes.
**fit_params
    For the estimator's ``fit``, such as sample weights.

Returns
-------
self
""",
    "feature_names": """
feature_names : sequence of str, optional
    Default: ``x0``, ``x1``, ...
""",
    "ax": _AX,
    "ax_and_title": _AX.rstrip() + "\ntitle : str, optional\n" + _RETURNS_AX,
    "returns_ax": _RETURNS_AX,
    "figure": """
figure : matplotlib.figure.Figure or SubFigure, optional
    Where to draw; by default a new pyplot figure.
""",
    "returns_figure": """
Returns
-------
matplotlib.figure.Figure or SubFigure
""",
}
