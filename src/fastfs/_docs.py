"""Paragraphs that the documentation of several public names shares, each written once.

A docstring takes a paragraph by a line that holds nothing but its name in angle brackets.
"""

import re

_NAMED = re.compile(r"^( *)<([a-z_]+)>$", re.MULTILINE)


def fill_shared(doc: str | None, **others: str) -> str | None:
    """Return a docstring with the paragraphs that it names, which can name others, indented as the names are.

    From Python 3.13 on, docstrings aren't indented. `others` are paragraphs of this docstring alone.
    """

    def paragraph(name: re.Match[str]) -> str:
        return _indented(fill_shared(others[name[2]] if name[2] in others else _SHARED[name[2]]) or "", name[1])

    return doc and _NAMED.sub(paragraph, doc)


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

_SCORES_SE = """
scores_se_ : ndarray of shape (n_features,)
    With `n_targets`: the standard error of each score over draws of them; NaN with one target.
"""

_SHARED = {
    "max_memory": _MAX_MEMORY,
    "verbose": _VERBOSE,
    "resources": _N_JOBS.rstrip() + _MAX_MEMORY.rstrip() + _VERBOSE,
    "columns": """
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features,)
    Column names of X, if it had any.
feature_importances_ : ndarray of shape (n_features,)
    `scores_`, with 0 for negative ones, because scikit-learn's tools compare magnitudes.
test_ : PermutationResult
    With ``n_features_to_select="auto"``.
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
    True if the cost came to rest within `tol`; otherwise fastfs doesn't warn.
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
    "n_features_to_select": """
n_features_to_select : int, float, "auto" or None
    Number or fraction of the features to keep; None: half of them. "auto": those with a family-wise p-value of at
    most 0.05, be it all or none: `fit` permutes the labels of all samples, as :func:`fastfs.permutation_test` does
    (up to 999 fits). If samples aren't independent: :class:`fastfs.Cut`, which knows `groups` and `blocks`.
""",
    "family_options": """
given : array-like, DataFrame or None
    Features that you have already: numbers or names of columns of X, a mask, or a table of numbers with a row for each
    sample, such as an age or a score. They count in distances, as much together as all other features, and get no
    score (0) and the last ranks; so others score by what they say between samples that are alike in the given ones.
    Permutation tests take them as covariates. The whole table is in memory.
n_targets : int or None
    Number of samples to compare with their neighbours, drawn at random, at least 50 of each class if that has them, and
    weighted back to the shares of the classes; None: all. Neighbours are found among all samples.
scaling : {"auto", "range", "standard"} or None
    Numbers are scaled to [0, 1], to mean 0 and standard deviation 1, or taken as they are. "auto": "range", but
    genotypes (:class:`fastfs.io.Genotypes`) are taken as they are.
random_state : int, Generator, RandomState or None
    Seed for drawing the targets.
""",
    "table_options": """
categorical_features : array-like, "from_dtype", "all" or None
    The columns that hold categories, which differ or don't: a mask, column numbers or column names; "from_dtype":
    columns of a DataFrame with the type category, bool, object or string; "all" columns. Categories may be of any
    sortable type; which columns hold them is never guessed.
missing : {"error", "ignore", "class"}
    Missing values (NaN, None, pandas.NA) are an error, or distances and scores ignore them: a distance is the mean
    difference in the features that both samples have, times the number of features, and a score counts the
    neighbours that have the feature. "class" takes a missing value for all values of its class together, each with
    its share, which makes gaps of one class look alike.
ramp : "sd", (low, high) or None
    In scores, though not in distances, scaled differences of numbers count as 0 up to `low` and as 1 from `high`
    on, and rise between them. "sd": those above the standard deviation count as 1.
""",
    "family_options_and_scores": """
<family_options>
<resources>

Attributes
----------
<scores_by_range>
<ranking>
""",
    "table_options_and_attributes": """
<table_options>
<target_type>
<family_options_and_scores>
<kind_of_target>
""",
    "target_type": """
target_type : {"auto", "class", "number"}
    Kind of target. "auto": classes if it holds bools, strings, categories, integers of at most 20 different values,
    or two whole floats; numbers if it holds floats that aren't all whole; otherwise you must say it. Two samples
    are hits if their numbers differ by less than the standard deviation, otherwise misses.
""",
    "n_rows": """
n_rows : int or None
    Number of rows, drawn at random in one pass, that are fitted in memory; None: all. The threshold belongs to the
    population, not to the number of samples, so a sample estimates the same scores: 2000 of 5000 digits ranked
    features like all of them (Spearman correlation 0.996 with MultiSURF). X may be a stream larger than memory: a
    path, a function that returns an iterator of blocks of rows, or such an iterator.
""",
    "scores_by_range": """
scores_ : ndarray of shape (n_features,), float64
    Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.
""".rstrip()
    + _SCORES_SE,
    "scores_se": _SCORES_SE,
    "ranking": """
ranking_ : ndarray of shape (n_features,), int64
    1 is best.
""",
    "kind_of_target": """
classes_ : ndarray of shape (n_classes,)
    If y holds classes.
target_type_ : {"class", "number"}
    Kind of target that y was read as.
""",
    "algorithm": """
algorithm_ : {"stored", "blocks"}
    "stored": distances between all samples were stored. "blocks": made by blocks of rows, to save memory.
""",
    "algorithm_in_blocks": """
algorithm_ : {"stored", "blocks", "targets"}
    Whether the distances of all samples were stored or, to stay within the memory, made by blocks of rows; or those
    of `n_targets` to a stream of rows.
n_passes_ : int
    How often a stream was read, if it was larger than memory.
""",
    "raises_of_a_table": """
ValueError
    Fewer than two classes, or equal numbers; infinity in X, or a missing value that `missing` doesn't allow (the
    first one is named); a column that holds no numbers and isn't declared; all features constant; a parameter out
    of range.
""",
    "raises_of_table_fits": """
Raises
------
<raises_of_a_table>
<raises_of_a_fit>
""",
    "rest_of_thresholds": """
<n_rows>
<table_options_and_attributes>
<algorithm>
<columns>

<raises_of_table_fits>

Warns
-----
fastfs.DataWarning
    A class has one sample; no sample has a near neighbour; two samples have no feature in common; without scaling,
    standard deviations lie more than 1000 times apart.

Notes
-----
O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. The result doesn't depend on the
number of threads.
""",
    "raises_and_warns_of_neighbors": """
<raises_of_table_fits>

Warns
-----
fastfs.DataWarning
    A class has fewer samples than neighbours are asked for, or one only; two samples have no feature in common;
    without scaling, standard deviations lie more than 1000 times apart.

Notes
-----
O(n_samples^2 n_features) time, 8 n_samples^2 bytes, or less by blocks of rows. Ties go to the lowest row. The
result doesn't depend on the number of threads.
""",
    "exclusive_or": """
Examples
--------
The label is the exclusive or of the first two features: neither says anything by itself.

>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
>>> y = X[:, 0] != X[:, 1]
""",
    "exclusive_or_of_many": """
Examples
--------
The label is the exclusive or of the first two of 400 features.

>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).integers(0, 2, size=(150, 400)).astype(float)
>>> y = X[:, 0] != X[:, 1]
>>> fastfs.MultiSURF().fit(X, y).ranking_[:2].tolist()
[1, 9]
""",
    "labelings_of_a_test": """
n_permutations : int
    Labelings that were compared with the true one.
n_distinct : int or float
    Labelings that the design allows, the true one included; infinity from 10^6 on.
exact : bool
    True if all labelings of the design were compared, not a random draw of them.
resolution : float
    No p-value can be smaller: 1 / (1 + n_permutations), or, if all labelings were compared and the classes may be
    exchanged as wholes, 2 / n_distinct. 1 without permutations.
design : str
    Description of the permutations in a few words.
""",
    "test_of_pairs": """
pvalues_max : ndarray of shape (n_pairs,) or None
    Against the largest statistic (\\|z\\| of a z) of all pairs but the stronger ones under each labeling (step-down),
    which controls the family-wise error rate: no other correction is needed. None without permutations.
pvalue : float or None
    p-value of the strongest pair, and so of all pairs together.
null_maxima : ndarray of shape (n_permutations,)
    The largest statistic of all pairs under each labeling.
n_tested : int
    Number of pairs that were compared.
<labelings_of_a_test>
stopped : bool
    True if the test ended early, because the labels are clearly no better than permuted ones.
""",
    "alpha_of_pairs": """
alpha : float, optional
    Report only those of these pairs with `pvalues_max` of at most this, maybe none. Default: all.
""",
    "draws_and_machine": """
random_state : int, Generator, RandomState or None
    Seed of the permutations.
<rng>
n_threads, max_memory, progress
    As for :func:`fastfs.affinity`.
""",
    "rng": """
rng : int, Generator, SeedSequence, BitGenerator or None
    The seed under the name that SPEC 7 of Scientific Python gives it. Give this or `random_state`, not both.
""",
    "top_pairs": """
Parameters
----------
n : int
    Number of pairs, if W has that many.
by : {"weight", "residual"}
    \\|W_ab\\|, or its rest without the leading eigenpair of W: the part that isn't just a product of two strong
    features.

Returns
-------
ndarray with the fields a < b (columns of X), weight and residual, the strongest first.
""",
    "ikdr_example": """
>>> import numpy as np
>>> import fastfs
>>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["high", "low"], 30)
>>> X[:, 3] += 3 * (y == "high")
""",
    "disc_example": """
>>> import numpy as np
>>> import fastfs
>>> rng = np.random.default_rng(0)
>>> A, B = rng.normal(size=(2, 100, 60))
>>> A[:, :10] += 3 * rng.normal(size=(100, 1))  # tied to each other in A only
>>> result = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
""",
    "disc_reference": """
References
----------
.. [1] R. D. Sristi, G. Mishne, A. Jaffe, "DiSC: Differential Spectral Clustering of Features", NeurIPS 2022,
   Algorithm 1, and the public code for more than two sets.
""",
    "immigrate_example": """
>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).normal(size=(100, 5))
>>> result = fastfs.immigrate(X, X[:, 1] + X[:, 3] > 0)
""",
    "permutation_example": """
>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).normal(size=(40, 20))
>>> y = np.arange(40) % 2
>>> X[:, 3] += 3 * y
""",
    "projse_arguments": """
Parameters
----------
X : array-like or sparse of shape (n_samples, n_features), or a stream of its rows
y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
other parameters
    As for :class:`fastfs.ProjSe`.
<machine>
""",
    "projse_raises": """
Raises
------
ValueError, TypeError, MemoryError, numpy.linalg.LinAlgError
    As for :class:`fastfs.ProjSe`.
""",
    "dense_features_and_labels": """
X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    Sparse X is made dense.
y : array-like of shape (n_samples,)
    Labels of any sortable type.
""",
    "one_of_five_features": """
>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).normal(size=(60, 5))
""",
    "design_of_pairs": """
blocks, groups, covariates : array-like, optional
    Which samples may exchange labels: those of the same block (batch, stratum, pair); samples of one group (donor,
    family) stay together if the group has one label, and exchange labels within it otherwise; to covariates labels
    keep their relation.
""",
    "example_of_a_picture": """
Examples
--------
>>> import numpy as np
>>> from matplotlib.figure import Figure
>>> import fastfs
""",
    "machine": """
n_threads, progress
    As for :func:`fastfs.affinity`.
""",
    "stability_example": """
>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).normal(size=(60, 30))
>>> y = np.arange(60) % 2
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
