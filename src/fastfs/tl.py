"""Tools for AnnData: the methods on cells x genes, with results where scanpy keeps those of `rank_genes_groups`.

They need anndata, which the extra ``[h5ad]`` brings. ``scanpy.get.rank_genes_groups_df`` and
``scanpy.pl.rank_genes_groups*`` read the results as they read scanpy's own.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastfs._estimators.methods import ESTIMATORS
from fastfs._functions.correlation import differential_correlation as correlation_by_group
from fastfs._inference.permutation import permutation_test
from fastfs._inference.scorers import LabelScorer, Scorer
from fastfs._inputs.design import SIGNIFICANT, Design, nested_design
from fastfs._inputs.entry import require_known
from fastfs._inputs.source import Source, as_stream
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import check_structure, stored_values
from fastfs._inputs.streams import sum_groups
from fastfs._machine.errors import in_rows, naming
from fastfs._machine.info import info
from fastfs._machine.params import as_permutations, check_choice, rank_features, some_of
from fastfs._machine.run import DataWarning, Run, as_progress, warn
from fastfs._methods import METHODS
from fastfs._types import Array, Progress

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = [
    "differential_correlation",
    "disc",
    "ikdr",
    "im4e",
    "immigrate",
    "manifest",
    "multisurf",
    "murelief",
    "projse",
    "relief",
    "relieff",
    "surf",
    "swrf",
]

# Columns of `permutations` in `adata.uns`; `PermutationResult` explains them.
_TEST_FIELDS = ("pvalue", "n_permutations", "exact", "stopped", "n_distinct", "resolution", "design")

# Rank correlation between scores with and without labels above which a warning is issued.
_LABEL_FREE = 0.5

# Upper bound on the natural logarithm of a count in a cell.
_LARGEST_LOG = 30

_ONCE = "All groups against their rests come from one fit."
_DISTANCES = "O(n_cells^2 n_genes) time each: thousands of cells are enough, so sample them."
_TARGETS = (
    "O(n_cells^2 n_genes) time each: thousands of cells are enough, so sample them or give `n_targets`. With "
    "``n_targets``, data on disk that don't fit are read twice, which serves all groups against their rests."
)

# Two descriptions of a group's scores, for the docstrings.
_OWN_SCORES = """its own, `class_scores_`, from the fit of all
    groups or, with a `reference`, of these two."""
_SHARED_SCORES = """`scores_` of this comparison, which both sides share:
    two groups have equal scores."""

_DOC = """{summary}

    Runs :class:`fastfs.{estimator}` on all groups together, for `adata.var`, and compares each group with the rest (or
    with `reference`), for `adata.uns`. A group's scores are {score}
    Permutations add p-values.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells x genes. {data}
    groupby : str
        Column of `adata.obs` with the groups.
    groups : sequence of str, optional
        Groups to compare; default: all. With ``reference="rest"`` the other groups stay in the rest.
    reference : str
        "rest", or the group that each of `groups` is compared with.
    layer : str, optional
        Layer in `adata.layers` to read instead of `adata.X`.
    use_raw : bool, optional
        Take `adata.raw`; default: if there is one and `layer` isn't given, as in scanpy.
    mask_var : str or array-like of bool, optional
        The genes to compare, or the column of `adata.var` that tells, such as "highly_variable".
    key_added : str, optional
        Default: "{word}".
    n_permutations : int or "auto"
        For p-values by :func:`fastfs.permutation_test`; 0: none, so that all p-values are NaN.
    samples : str, optional
        Column of `adata.obs` with the samples, whose cells were handled together: libraries, dishes, biopsies. If each
        sample is in one group, samples change groups as wholes; if groups vary within samples, as cell types do, cells
        change groups within their sample.
    donors : str, optional
        Column of `adata.obs`: samples change groups within their donor if it has several groups, such as a treated
        and a control sample; if each donor is in one group, donors change groups as wholes. Without `donors` and
        `samples`, cells are taken as independent, and differences between donors make p-values small.
        Where wholes move, methods that read cells in blocks do so for any number of permutations together.
    batch : str, optional
        Column of `adata.obs`: groups are permuted within batches only.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which groups keep their relation, such as age.
    ranking : {{"score", "z"}}
        "z": `scores` in `adata.uns` are z, distances from the mean under permutations in standard deviations, by
        which genes that are high whatever the groups are rank low. `adata.var` has scores in any case.
    drop_unlabelled : bool
        Leave out cells whose group is missing, rather than raise.
    copy : bool
        Return a copy with the results, rather than write them into `adata`.
    **parameters
        Parameters of :class:`fastfs.{estimator}`; `verbose` also applies to the permutations of each group.

    Returns
    -------
    anndata.AnnData or None
        Sets ``adata.var["KEY_scores"]``, ``["KEY_rank"]`` (1 is best; 0 for genes that weren't compared) and
        ``["KEY_selected"]``, and ``adata.uns["KEY"]`` in the shape of `rank_genes_groups`: `names`, `scores`,
        `logfoldchanges` (computed as by scanpy, which takes X for log1p values), `pvals`, `pvals_adj` and `params`;
        and `pvals_max`, family-wise p-values{together}, and `label_free`, the rank correlation of the scores with their
        means under permutations. With permutations also `z`, and `permutations`: a DataFrame with a row for each group:
        the p-value of all genes together, how many labelings were compared, whether these are all (`exact`) or the
        test ended early (`stopped`), how many the design allows, the smallest p-value there can be, and the design.
        :func:`fastfs.get.df` returns the results as a DataFrame. Strings of `groupby` become categories, as in scanpy.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        A group with fewer than two cells, without a name or called "rest"; cells without a group, batch, donor, sample
        or covariate; gene names that occur twice; a copy or a view of a file; `batch`, `donors`, `samples`,
        `covariates` or ``ranking="z"`` without permutations; a design that leaves nothing to permute; what the
        estimator raises, with the names of cells and genes.
    TypeError
        `adata` isn't an AnnData; `groups` or `covariates` isn't a list; `key_added` isn't a string.
    MemoryError
        X would have to be made dense, and exceeds `max_memory`; or X is on disk or a Dask array, has to be loaded, and
        exceeds a quarter of it.

    Warns
    -----
    fastfs.DataWarning
        X holds counts or scaled values, from which `logfoldchanges` say nothing; genes rank much as without groups
        (`label_free` above 0.5); groups vary within donors and no `samples` are named; the design allows fewer than 20
        labelings, or parts of it contribute nothing; no `pvals_adj` can show what `pvals_max` finds; what the estimator
        warns of.

    Notes
    -----
    One fit more than there are groups; those of the groups run side by side under ``joblib.parallel_config``, on
    machines under ``parallel_config("dask", n_jobs=-1)``. {notes}

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> X = np.random.default_rng(0).normal(3, size=(40, 12)).astype("float32")
    >>> adata = anndata.AnnData(X, obs={{"state": ["a", "b"] * 20}})
    >>> fastfs.tl.{word}(adata, "state"{call})
    >>> adata.uns["{word}"]["names"].dtype.names, sorted(adata.var["{word}_rank"].tolist()) == list(range(1, 13))
    (('a', 'b'), True)
    """


def _make_tool(word: str, *, notes: str, call: str = "") -> Callable[..., AnnData | None]:
    """Return the function of `fastfs.tl` for a method, with its docstring."""
    method = METHODS[word]

    def tool(
        adata: AnnData,
        groupby: str,
        *,
        groups: Sequence[str] | None = None,
        reference: str = "rest",
        layer: str | None = None,
        use_raw: bool | None = None,
        mask_var: str | npt.ArrayLike | None = None,
        key_added: str | None = None,
        n_permutations: int | str = 0,
        samples: str | None = None,
        donors: str | None = None,
        batch: str | None = None,
        covariates: Sequence[str] | None = None,
        ranking: str = "score",
        drop_unlabelled: bool = False,
        copy: bool = False,
        **parameters: Any,
    ) -> AnnData | None:

        estimator = ESTIMATORS[method.estimator]
        known = [*inspect.signature(tool).parameters, *inspect.signature(estimator).parameters]
        require_known(f"fastfs.tl.{word}", [name for name in known if name != "parameters"], parameters)
        model = estimator(**parameters)
        as_permutations(n_permutations, low=0)
        check_choice("ranking", ranking, ("score", "z"))
        if not n_permutations and (ranking == "z" or samples or donors or batch or covariates):
            raise ValueError(
                "samples, donors, batch, covariates and ranking='z' need permutations: give n_permutations='auto'"
            )
        if not isinstance(key_added, str | None):
            raise TypeError(f"key_added must be a string, not {key_added!r}")
        _require_writable(adata, copy)
        adata = adata.copy() if copy else adata
        source = _Source(adata, layer, use_raw, mask_var)
        cells, labels, wanted, reference = _read_grouping(adata, groupby, groups, reference, drop_unlabelled)
        design = _CellDesign.from_columns(adata, cells, samples, donors, batch, covariates)
        test = _PermutationPlan(n_permutations, ranking, design)
        if n_permutations:
            design.warn_of_samples(labels, groupby)
            warn(Design(labels, **nested_design(labels, **design.columns)).weaknesses)
        other = None if reference == "rest" else reference
        pairs = [(group, other) for group in wanted if group != reference]
        result = _compare_groups(model, source, cells, labels, pairs, test)
        params = {
            "groupby": groupby,
            "reference": reference,
            "method": f"fastfs.{word}",
            "use_raw": source.use_raw,
            "layer": layer,
            "corr_method": "benjamini-hochberg",
            "n_permutations": n_permutations,
            "samples": samples,
            "donors": donors,
            "batch": batch,
            "covariates": None if covariates is None else list(covariates),
            "ranking": ranking,
            "estimator": " ".join(repr(model).split()),
            "fastfs_version": info()["version"],
        }
        _write_results(adata, key_added or word, source, result, params)
        _as_categories(adata, groupby)
        return adata if copy else None

    tool.__name__ = tool.__qualname__ = word
    data = "Sparse values are made dense, those of the cells and genes that are compared."
    if method.sparse:
        data = "Sparse values stay sparse" + ("; data on disk are read in one pass." if method.streams else ".")
    if not method.streams:
        data += "\n        X on disk and Dask arrays are loaded, up to a quarter of `max_memory`."
    tool.__doc__ = _DOC.format(
        summary=method.genes,
        estimator=method.estimator,
        word=word,
        data=data,
        notes=notes,
        score=_OWN_SCORES if method.class_scores else _SHARED_SCORES,
        together=" of all groups together" if method.class_scores else "",
        call=call,
    )
    return tool


class _Source:
    """The matrix to compare: its place in `adata`, its genes, and the conversion of some cells for an estimator."""

    def __init__(self, adata: AnnData, layer: str | None, use_raw: bool | None, mask_var: Any) -> None:
        if layer is not None:
            if use_raw:
                raise ValueError("layer and use_raw=True exclude each other: choose one")
            if layer not in adata.layers:
                raise KeyError(f"adata has no layer {layer!r}; there are {_list_names(adata.layers)}")
            self.X, names, self.use_raw = adata.layers[layer], adata.var_names, False
        else:
            if use_raw and adata.raw is None:
                raise ValueError("use_raw=True, but adata.raw is empty")
            self.use_raw = adata.raw is not None if use_raw is None else use_raw
            self.X, names = (adata.raw.X, adata.raw.var_names) if self.use_raw else (adata.X, adata.var_names)
        if self.X is None:
            raise ValueError("adata has no X: give a layer")
        if not self.X.shape[1]:
            raise ValueError("adata must have genes to compare, but has none")
        check_structure(self.X)
        if not names.is_unique:
            repeated = names[names.duplicated()].unique()
            raise ValueError(
                f"gene names must be unique, but {some_of(list(repeated))} occur more than once: call "
                "adata.var_names_make_unique()"
            )
        self.genes = None if mask_var is None else _read_mask(adata, mask_var, names, self.use_raw)
        self.names = names if self.genes is None else names[self.genes]
        self.all_names, self.cell_names = names, adata.obs_names
        self.stream = as_stream(self.X)  # None if X is in memory

    def naming_cells(self, cells: Array | None) -> AbstractContextManager[None]:
        """Let errors about some cells and the compared genes use their names in `adata`."""
        names: dict[str, Callable[[int], str]] = {
            "row": lambda i: f"cell {i} '{self.cell_names[i]}'",
            "column": lambda j: f"gene {j} '{self.all_names[j]}'",
        }
        parts = {"row": cells, "column": self.genes}
        return naming(names, {kind: numbers for kind, numbers in parts.items() if numbers is not None})

    def is_large(self, run: Run) -> bool:
        """Return True if the matrix is a stream that takes more than a quarter of the budget."""
        return self.stream is not None and not self.stream.is_small(run)[0]

    def estimator_input(self, cells: Array, run: Run | None = None) -> Any:
        """Return the given cells (ascending) for an estimator; data on disk and Dask arrays are loaded if they fit."""
        every = len(cells) == self.X.shape[0]
        if self.stream is not None:
            return self.stream.load_rows(run or Run(), rows=None if every else cells, columns=self.genes)
        part = self.X if every else self.X[cells]
        return _as_floats(part if self.genes is None else part[:, self.genes])


@singledispatch
def _as_floats(X: Any) -> Any:
    """Return the values of an AnnData for an estimator: sparse ones as floats, which can't be integers."""
    return np.asarray(X)


@_as_floats.register(Sparse)
def _(X: Any) -> Any:
    return X if X.dtype.kind == "f" else X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def _require_writable(adata: Any, copy: bool) -> None:
    """Raise an error unless results can be written into `adata`."""
    from anndata import AnnData

    if not isinstance(adata, AnnData):
        raise TypeError(f"adata must be an AnnData, not {type(adata).__name__}: anndata.read_h5ad reads files")
    if adata.isbacked and (copy or adata.is_view):
        raise ValueError("results can't be kept in a copy or a view of a file: call adata.to_memory() first")


def _list_names(mapping: Any) -> str:
    """Return the names of a mapping as a list for messages."""
    return ", ".join(repr(name) for name in mapping if name is not None) or "none"  # None is anndata 0.13's layer of X


def _read_mask(adata: AnnData, mask_var: Any, names: Any, use_raw: bool) -> Array:
    """Return the positions of the genes that `mask_var` selects."""
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            raise KeyError(f"adata.var has no column {mask_var!r}; there are {_list_names(adata.var)}")
        column = adata.var[mask_var]
        mask = column.reindex(names, fill_value=False).to_numpy() if use_raw else column.to_numpy()
    else:
        if hasattr(mask_var, "reindex") and names.isin(mask_var.index).all():  # a Series of these genes, in any order
            mask_var = mask_var.reindex(names)
        mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (len(names),):
        raise ValueError(
            f"mask_var must tell for each of the {len(names)} genes whether to compare it, as True or False, but is of "
            f"type {mask.dtype} and shape {mask.shape}"
        )
    if mask.sum() < 2:
        raise ValueError(f"mask_var leaves {mask.sum()} genes, but at least two are needed")
    return np.flatnonzero(mask)


@dataclass(frozen=True)
class _CellDesign:
    """Sample, donor, batch and covariates of each cell that takes part, as far as the caller named their columns."""

    columns: dict[str, Any]  # values by parameter of `nested_design`
    names: dict[str, str]  # names of these columns in adata.obs
    covariates: Any = None

    @classmethod
    def from_columns(
        cls,
        adata: AnnData,
        cells: Array,
        samples: str | None,
        donors: str | None,
        batch: str | None,
        covariates: Sequence[str] | None,
    ) -> _CellDesign:
        """Read the named columns of `adata.obs` for some cells."""
        import pandas as pd

        if covariates is not None and (isinstance(covariates, str) or not hasattr(covariates, "__iter__")):
            raise TypeError(f"covariates must be a list of columns of adata.obs, not {covariates!r}")

        def read_column(name: str) -> Any:
            column = _obs_column(adata, name).iloc[cells]
            missing = cells[column.isna().to_numpy()]
            if len(missing):
                raise ValueError(f"{_missing_in_words(adata, missing, name)}; leave them out")
            return column

        given = {"samples": samples, "donors": donors, "batch": batch}
        names = {word: name for word, name in given.items() if name is not None}
        table = pd.DataFrame({name: read_column(name) for name in covariates}) if covariates else None
        return cls({word: read_column(name).to_numpy() for word, name in names.items()}, names, table)

    def select_cells(self, kept: Array) -> _CellDesign:
        """Return the design of some of the cells."""
        columns = {word: column[kept] for word, column in self.columns.items()}
        return _CellDesign(columns, self.names, None if self.covariates is None else self.covariates.iloc[kept])

    def test_arguments(self, labels: Array) -> dict[str, Any]:
        """Return `blocks`, `groups` and `covariates` for tests of these labels."""
        design = nested_design(labels, **self.columns)
        return design if self.covariates is None else design | {"covariates": self.covariates}

    def moving_groups(self, labels: Array) -> Array | None:
        """Return the donor or sample of each cell if donors or samples change labels as wholes, else None."""
        return Design(labels, **nested_design(labels, **self.columns)).moving_groups

    def warn_of_samples(self, labels: Array, groupby: str) -> None:
        """Warn of samples that may hide in donors."""
        donors = self.columns.get("donors")
        if donors is None or "samples" in self.columns or not Design(labels, groups=donors).hides_specimens:
            return
        message = (
            f"{groupby} varies within donors, so single cells change groups there; if cells of a donor and a group "
            "come from one sample, such as a treated and a control one, p-values are far too small: give samples, the "
            "column of adata.obs that tells them apart"
        )
        warn([f"{message}; samples={self.names['donors']!r} says that each donor gave one sample"])


@dataclass(frozen=True)
class _PermutationPlan:
    """Number and design of the permutations, and the choice between scores and z for the ranking."""

    n_permutations: int | str
    ranking: str
    design: _CellDesign

    def select_cells(self, kept: Array) -> _PermutationPlan:
        """Return the plan for some of the cells."""
        return _PermutationPlan(self.n_permutations, self.ranking, self.design.select_cells(kept))


def _missing_in_words(adata: AnnData, cells: Array, name: str) -> str:
    """Return a sentence that lists cells without a value."""
    n = len(cells)
    return f"{n} cell{'s have' if n > 1 else ' has'} no {name}: {some_of([adata.obs_names[i] for i in cells])}"


def _obs_column(adata: AnnData, name: str) -> Any:
    """Return a column of `adata.obs`, or raise KeyError with the columns there are."""
    if name not in list(adata.obs):
        raise KeyError(f"adata.obs has no column {name!r}; there are {_list_names(adata.obs)}")
    column = adata.obs[name]
    return column.to_series() if hasattr(column, "to_series") else column  # a lazy AnnData has other columns


def _read_grouping(
    adata: AnnData, groupby: str, groups: Sequence[Any] | None, reference: Any, drop_unlabelled: bool
) -> tuple[Array, Array, list[str], str]:
    """Return the cells that take part (ascending), their groups, the groups to compare, and the reference.

    Groups are strings; 1 and "1" also name the group 1.0 of a column of numbers.
    """
    column = _obs_column(adata, groupby)
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing) and not drop_unlabelled:
        raise ValueError(f"{_missing_in_words(adata, missing, groupby)}; give drop_unlabelled=True to leave them out")
    cells = np.flatnonzero(column.notna().to_numpy())
    if column.dtype.kind == "f" and len(fractions := column[column % 1 != 0].dropna()):
        raise ValueError(
            f"{groupby} must hold groups, but holds numbers such as {fractions.iloc[0]:g}: bin them first (pandas.cut)"
        )
    labels = column.iloc[cells].astype(str).to_numpy(dtype=str)
    present = sorted(set(labels.tolist()))
    if hasattr(column, "cat"):
        present = [str(c) for c in column.cat.categories if str(c) in present]
    if len(present) < 2:
        raise ValueError(f"{groupby} must have at least two groups with cells, but has {present}")
    if groups is not None and (isinstance(groups, str) or not hasattr(groups, "__iter__")):
        raise TypeError(f"groups must be a list of groups, not {groups!r}")
    reference = _match_group(present, reference)
    if reference == "rest" and "rest" in present:
        raise ValueError(f'a group of {groupby} is called "rest", which stands for all other groups: rename it')
    compared_groups = present if groups is None else [_match_group(present, group) for group in groups]
    if not compared_groups:
        raise ValueError(f"groups must name one of {', '.join(present)}, but is empty")
    for group in [*compared_groups, *([] if reference == "rest" else [reference])]:
        if group not in present:
            raise KeyError(f"{groupby} has no cells in group {group!r}; its groups are {', '.join(present)}")
    if "" in compared_groups:  # fields of record arrays need a name
        raise ValueError(f"a group of {groupby} has an empty name, under which results can't be kept: rename it")
    if reference != "rest" and not [group for group in compared_groups if group != reference]:
        raise ValueError(f"groups must name one other than the reference {reference!r}")
    if reference != "rest":
        kept = np.isin(labels, [*compared_groups, reference])
        cells, labels = cells[kept], labels[kept]
    for group in sorted({*compared_groups, *([] if reference == "rest" else [reference])}):
        if np.count_nonzero(labels == group) < 2:
            raise ValueError(f"each group must have at least two cells, but {group!r} has one: leave it out of groups")
        if np.count_nonzero(labels != group) < 2:
            raise ValueError(f"the rest of {group!r} must have at least two cells, but has one")
    return cells, labels, compared_groups, reference


def _match_group(present: Sequence[str], group: Any) -> str:
    """Return the name of a group as it is present; 1 also names the group 1.0."""
    name = str(group)
    if name not in present:
        with suppress(ValueError):
            number = str(float(name))
            return number if number in present else name
    return name


def _compare_groups(
    model: Any,
    source: _Source,
    cells: Array,
    labels: Array,
    pairs: Sequence[tuple[str, str | None]],
    test: _PermutationPlan,
) -> dict[str, Any]:
    """Fit all groups together, and compare each pair: scores, p-values and means of its first group."""
    names, numbers = np.unique(labels, return_inverse=True)
    # Sums over the groups serve all comparisons; only permutations need the cells. If the cells don't fit in memory,
    # sums over the donors or samples that move as wholes serve permutations too.
    serve = model._wants_sums(source.X, pairs[0][1] is None)
    run = Run.from_estimator(model)
    wholes = test.design.moving_groups(labels) if serve and test.n_permutations and source.is_large(run) else None
    X = None if wholes is not None or (serve and not test.n_permutations) else source.estimator_input(cells, run)
    sums = None
    if serve:
        with source.naming_cells(None):  # passes count cells as adata does
            sums = _UnitSums.read_units(model, source, cells, numbers, wholes)
            means, fitted = sums.group_means(), clone(model)._fit_groups(sums.statistics, sums.group_of_unit, names)
    else:
        with source.naming_cells(cells):
            means, fitted = _group_means(X, numbers, len(names)), clone(model).fit(X, labels)
    if len(names) == 2 or (hasattr(fitted, "class_scores_") and pairs[0][1] is None):
        with source.naming_cells(cells):
            of_groups = _scores_by_group(fitted, X, labels, test, sums)
        results_of_pairs = [of_groups[group] for group, _ in pairs]
    else:
        sides = [
            np.where(names == group, 0, 1 if other is None else np.where(names == other, 1, -1))
            for group, other in pairs
        ]
        kept = [np.flatnonzero(of_group[numbers] >= 0) for of_group in sides]
        tasks = (
            (
                clone(model),
                X if X is None or len(selected) == len(cells) else X[selected],
                selected,
                of_group,
                numbers[selected],
                test.select_cells(selected),
                None if sums is None else sums.select_cells(selected),
            )
            for selected, of_group in zip(kept, sides, strict=True)
        )
        with source.naming_cells(cells):
            if X is None:  # comparing sums takes no time
                compared = [_compare_pair(*task) for task in tasks]
            else:
                from joblib import Parallel, delayed

                compared = Parallel()(delayed(_compare_pair)(*task) for task in tasks)
        results_of_pairs = [scores for scores, _ in compared]
        unfinished = [group for (group, _), (_, converged) in zip(pairs, compared, strict=True) if not converged]
        if unfinished:
            message = f"{type(model).__name__} did not converge for {some_of(unfinished)} against the others: its "
            warn([message + "parameters say how long it may take"], ConvergenceWarning)
    if test.n_permutations:
        _warn_of_tests(
            type(model).__name__, dict(zip((group for group, _ in pairs), results_of_pairs, strict=True)), test.ranking
        )
    sizes = np.bincount(numbers)
    _warn_of_changes(means, sizes, X)
    by_group = {}
    for (group, other), result_of_pair in zip(pairs, results_of_pairs, strict=True):
        ours = names == group
        theirs = ~ours if other is None else names == other
        both = [np.average(means[which], axis=0, weights=sizes[which]) for which in (ours, theirs)]
        by_group[group] = result_of_pair | dict(zip(("mean", "mean_rest"), both, strict=True))
    return {"whole": fitted, "groups": by_group}


def _warn_of_tests(estimator: str, results: dict[str, dict[str, Any]], ranking: str) -> None:
    """Warn of groups with few permutations, of rankings that don't depend on labels, and of hidden discoveries."""
    messages = []
    tests = {group: one["test"] for group, one in results.items()}
    few = {group: test for group, test in tests.items() if test["exact"] and test["resolution"] > SIGNIFICANT}
    free = {group: one["label_free"] for group, one in results.items() if one["label_free"] > _LABEL_FREE}
    free = {group: share for group, share in free.items() if group not in few}  # a labeling may exchange two groups
    if free and ranking == "score":
        messages.append(
            f"{estimator} ranks genes much as without groups for {some_of(list(free))}: its scores and their means "
            f"under permutations have a rank correlation of {max(free.values()):.2f} (label_free): rank by z instead"
        )
    if few:
        messages.append(
            f"the design allows only {min(test['n_distinct'] for test in few.values())} labelings for "
            f"{some_of(list(few))}, so no p-value is below {max(test['resolution'] for test in few.values()):.2g}"
        )
    # Genes that pvals_max finds but scanpy's table doesn't show.
    family_wise = {group: int(np.count_nonzero(one["pvals_max"] <= SIGNIFICANT)) for group, one in results.items()}
    hidden = [group for group, n in family_wise.items() if n and results[group]["pvals_adj"].min() > SIGNIFICANT]
    if hidden:
        test, n_genes = tests[hidden[0]], len(results[hidden[0]]["pvals_adj"])
        messages.append(
            f"pvals_adj, the p-value that scanpy shows, is above 0.05 for all genes of {some_of(hidden)}, because no "
            f"p-value of {test['n_permutations']} permutations is below {test['resolution']:.2g} and {n_genes} genes "
            f"are compared, but pvals_max is at most 0.05 for {sum(family_wise[group] for group in hidden)}: read the "
            "results by fastfs.get.df, or give more permutations"
        )
    warn(messages)


def _group_means(X: Any, groups: Array, n_groups: int) -> Array:
    """Return the means of the genes in each group."""
    total = np.zeros((n_groups, X.shape[1]))
    for first, rows in Source.from_data(X).blocks():
        total += sum_groups(rows, groups[first : first + rows.shape[0]], n_groups)
    group_means: Array = total / np.bincount(groups)[:, None]
    return group_means


def _warn_of_changes(means: Array, sizes: Array, X: Any) -> None:
    """Warn if X doesn't hold logarithms of counts, because fold changes then say nothing."""
    sums = means * sizes[:, None]
    if means.min() < 0:
        problem = (
            "means below 0, as after scaling, of which they are NaN or meaningless: give the values before as a layer"
        )
        problem += ", or as adata.raw"
    elif sums.any() and np.allclose(sums, np.rint(sums), rtol=1e-12, atol=1e-9):
        problem = "whole numbers: normalise and log counts first"
    elif (largest := _largest_value(means if X is None else X)) > _LARGEST_LOG:
        problem = f"values up to {largest:.4g}: call scanpy.pp.log1p first, or give a layer that holds logs"
    else:
        return
    warn([f"logfoldchanges take X for log1p values, but it holds {problem}"])


def _largest_value(X: Any) -> float:
    """Return the largest value; missing values don't count."""
    values = stored_values(X)
    return float(np.nanmax(values)) if values.size else 0.0


@dataclass(frozen=True)
class _UnitSums:
    """Statistics of units of cells, from which an estimator fits any comparison of the units."""

    statistics: Any
    units: Array  # unit of each cell: its group, or the donor or sample that moves as a whole
    group_of_unit: Array

    @classmethod
    def read_units(cls, model: Any, source: _Source, cells: Array, groups: Array, wholes: Array | None) -> _UnitSums:
        """Read the cells, and keep the estimator's statistics of each unit."""
        units = groups if wholes is None else wholes
        group_of_unit = groups[np.unique(units, return_index=True)[1]]
        every = len(cells) == source.X.shape[0]
        statistics = model._sum_groups(source.X, units, len(group_of_unit), None if every else cells, source.genes)
        return cls(statistics, units, group_of_unit)

    def select_cells(self, kept: Array) -> _UnitSums:
        """Return the statistics with the units of some of the cells."""
        return _UnitSums(self.statistics, self.units[kept], self.group_of_unit)

    def group_means(self) -> Array:
        """Return the means of the genes in each group."""
        if np.array_equal(self.group_of_unit, np.arange(len(self.group_of_unit))):
            means: Array = self.statistics.means
            return means
        sizes = np.bincount(self.units)
        parts = [self.group_of_unit == group for group in range(self.group_of_unit.max() + 1)]
        return np.array([np.average(self.statistics.means[part], axis=0, weights=sizes[part]) for part in parts])


def _compare_pair(
    model: Any, X: Any, rows: Array, of_group: Array, groups: Array, test: _PermutationPlan, sums: _UnitSums | None
) -> tuple[dict[str, Any], bool]:
    """Compare the cells of two sides; return scores and p-values, and True if the method converged.

    ``rows`` are the numbers of these cells among all that take part, for errors. ``of_group`` maps a group to 0 for the
    first side, 1 for the second and -1 for neither; ``groups`` has the group of each cell. The fit takes `sums` if they
    are given, otherwise X.
    """
    sides = np.array(["group", "rest"])
    y = sides[of_group[groups]]
    with warnings.catch_warnings(record=True) as recorded, in_rows(rows):
        warnings.simplefilter("always")
        if sums is None:
            fitted = model.fit(X, y)
        else:
            fitted = model._fit_groups(sums.statistics, of_group[sums.group_of_unit], sides)
        scores_of_groups = _scores_by_group(fitted, X, y, test, sums)["group"]
    # The fit of all groups together has issued warnings about the data.
    return scores_of_groups, not any(issubclass(w.category, ConvergenceWarning) for w in recorded)


def _scores_by_group(
    fitted: Any, X: Any, y: Array, test: _PermutationPlan, sums: _UnitSums | None
) -> dict[str, dict[str, Any]]:
    """Return scores and p-values of each group of y, to which the estimator has been fitted; without X, from sums."""
    names = fitted.classes_.tolist()
    scores = np.atleast_2d(getattr(fitted, "class_scores_", fitted.scores_))  # a single row if the groups share it
    z = pvalues = adjusted = largest = np.full(scores.shape, np.nan)
    of_all: dict[str, Any] = {"label_free": np.nan}
    if test.n_permutations:
        model = clone(fitted).set_params(verbose=False)
        tested: Any = _ModelByGroup(model) if hasattr(fitted, "class_scores_") else model
        if X is None:
            tested = _ModelOfSums(model, sums, not hasattr(fitted, "class_scores_"))
        with warnings.catch_warnings():
            for category in (DataWarning, ConvergenceWarning):  # the fit has issued them
                warnings.simplefilter("ignore", category)
            tested_scores = permutation_test(
                tested,
                X,
                y,
                n_permutations=test.n_permutations,
                verbose=fitted.verbose,
                **test.design.test_arguments(y),
            )
        pvalues, largest = tested_scores.pvalues.reshape(scores.shape), tested_scores.pvalues_max.reshape(scores.shape)
        adjusted = false_discovery_control(pvalues, axis=1)
        z = tested_scores.z.reshape(scores.shape)
        if test.ranking == "z":
            scores = z
        of_all = {
            "label_free": tested_scores.label_free,
            "test": {name: getattr(tested_scores, name) for name in _TEST_FIELDS},
        }
    columns = {"scores": scores, "z": z, "pvals": pvalues, "pvals_adj": adjusted, "pvals_max": largest}
    return {
        name: of_all | {column: values[row % len(scores)] for column, values in columns.items()}
        for row, name in enumerate(names)
    }


class _ModelOfSums(LabelScorer):
    """An estimator that fits from sums over units of cells, with the scores of all groups in one row if it has them."""

    def __init__(self, model: Any, sums: Any, ignores_names: bool) -> None:
        self.model, self.sums, self._ignores_names = model, sums, ignores_names

    def _make_scorer(self, _: Any, y: Any) -> tuple[Array, Scorer]:
        names, labels = np.unique(y, return_inverse=True)
        units, first = np.unique(self.sums.units, return_index=True)

        def score_labelings(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            of_unit = np.full(len(self.sums.group_of_unit), -1)
            for labeling in labelings:
                of_unit[units] = labeling[first]
                fitted = self.model._fit_groups(self.sums.statistics, of_unit, names)
                scores = np.array(getattr(fitted, "class_scores_", fitted.scores_), dtype=np.float64).reshape(-1)
                yield scores, float(scores.max())

        return labels, score_labelings

    def __sklearn_clone__(self) -> _ModelOfSums:
        return _ModelOfSums(clone(self.model), self.sums, self._ignores_names)


class _ModelByGroup:
    """An estimator whose scores are those of each group, one group after another, for tests of each of them."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> _ModelByGroup:
        self.scores_ = self.model.fit(X, y).class_scores_.reshape(-1)
        return self

    def __sklearn_clone__(self) -> _ModelByGroup:
        return _ModelByGroup(clone(self.model))


def _write_results(adata: AnnData, key: str, source: _Source, result: dict[str, Any], params: dict[str, Any]) -> None:
    """Write results into `adata.var` and `adata.uns` in scanpy's layout."""
    import pandas as pd

    genes = np.asarray(source.names, dtype=object)
    base = adata.uns.get("log1p", {}).get("base")
    columns: dict[str, dict[str, Array]] = {
        name: {} for name in ("names", "scores", "z", "logfoldchanges", "pvals", "pvals_adj", "pvals_max", "label_free")
    }
    for group, group_result in result["groups"].items():
        order = np.argsort(-group_result["scores"], kind="stable")
        with np.errstate(all="ignore"):  # other values than logarithms of counts give the results that scanpy gives
            means = [
                mean if base is None else mean * np.log(base)
                for mean in (group_result["mean"], group_result["mean_rest"])
            ]
            changes = np.log2((np.expm1(means[0]) + 1e-9) / (np.expm1(means[1]) + 1e-9))
        for name, values in (
            ("names", genes),
            ("scores", group_result["scores"].astype(np.float32)),
            ("z", group_result["z"]),
            ("logfoldchanges", changes.astype(np.float32)),
            ("pvals", group_result["pvals"]),
            ("pvals_adj", group_result["pvals_adj"]),
            ("pvals_max", group_result["pvals_max"]),
        ):
            columns[name][group] = values[order]
        columns["label_free"][group] = np.array([group_result["label_free"]])
    results: dict[str, Any] = {}
    for name, by_group in columns.items():
        fields = [(group, values.dtype) for group, values in by_group.items()]
        results[name] = np.rec.fromarrays([*by_group.values()], dtype=fields)
    results["params"] = params
    if params["n_permutations"]:
        tests = {group: group_result["test"] for group, group_result in result["groups"].items()}
        results["permutations"] = pd.DataFrame.from_dict(tests, orient="index")
    whole = result["whole"]
    ranks = getattr(whole, "ranking_", rank_features(whole.scores_))
    of_genes = (("scores", whole.scores_, np.nan), ("rank", ranks, 0), ("selected", whole.get_support(), False))
    for name, values, of_others in of_genes:
        column = pd.Series(values, index=source.names).reindex(adata.var_names, fill_value=of_others)
        adata.var[f"{key}_{name}"] = column.to_numpy()
    adata.uns[key] = results


def _as_categories(adata: AnnData, name: str) -> None:
    """Turn strings into categories, as scanpy does for its plots."""
    import pandas as pd

    column = adata.obs[name]
    if isinstance(column, pd.Series) and pd.api.types.infer_dtype(column, skipna=True) == "string":
        adata.obs[name] = column.astype("category")


manifest = _make_tool("manifest", notes=f"{_ONCE} Without permutations, larger data on disk are read in one pass.")
projse = _make_tool("projse", notes="One pass over the cells serves all groups.")
relief = _make_tool("relief", notes=_TARGETS)
relieff = _make_tool("relieff", notes=_TARGETS)
surf = _make_tool("surf", notes=_DISTANCES)
multisurf = _make_tool("multisurf", notes=_DISTANCES)
swrf = _make_tool("swrf", notes=_DISTANCES)
murelief = _make_tool("murelief", notes=_DISTANCES)
im4e = _make_tool("im4e", notes=_DISTANCES)
immigrate = _make_tool("immigrate", notes=_DISTANCES)
disc = _make_tool(
    "disc",
    notes=f"{_ONCE} Without permutations, larger data on disk are read in one pass, or in two for over 5000 genes.",
    call=", n_components=3, n_neighbors=8, bandwidth_neighbors=5",
)
ikdr = _make_tool(
    "ikdr",
    notes="Weights, which are positive for few genes, also go to genes that hardly any cell has, whose kernels are 1 "
    f"nearly everywhere: leave these out, by ``scanpy.pp.filter_genes``. `groups` are of cells here: kernels of "
    f"groups of genes are for the estimator alone. {_DISTANCES}",
)


def differential_correlation(
    adata: AnnData,
    groupby: str,
    *,
    groups: Sequence[str] | None = None,
    samples: str | None = None,
    donors: str | None = None,
    batch: str | None = None,
    covariates: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    key_added: str = "differential_correlation",
    drop_unlabelled: bool = False,
    copy: bool = False,
    verbose: bool | Progress = False,
    **parameters: Any,
) -> AnnData | None:
    """Find the pairs of genes whose correlation differs between two groups of cells.

    Runs :func:`fastfs.differential_correlation`. Cells of one donor aren't independent samples: name the column of the
    donors, or compare sums over the cells of each donor.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells x genes, in memory.
    groupby : str
        Column of `adata.obs` with the groups.
    groups : sequence of two str, optional
        Groups to compare; needed if there are more than two.
    samples, donors, batch : str, optional
        Columns of `adata.obs` that say which cells may change groups, as for :func:`fastfs.tl.manifest`.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which labels keep their relation.
    layer, use_raw, mask_var, drop_unlabelled, copy
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results in `adata.uns` and `adata.var`.
    verbose : bool or callable
        True prints progress on stderr once the call takes over two seconds; a callable gets ``(step, fraction)``.
    **parameters
        Parameters of :func:`fastfs.differential_correlation`, such as `n_permutations`, or `features` by their names.

    Returns
    -------
    anndata.AnnData or None
        Sets ``adata.var["KEY_scores"]`` and ``adata.uns["KEY"]``: `pairs`, a DataFrame with the genes, their
        correlation in each group, z and `pvals_max`; `null_maxima`; and `params`.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        Other than two groups; what :func:`fastfs.differential_correlation` raises.

    Warns
    -----
    fastfs.DataWarning
        As for :func:`fastfs.differential_correlation`.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> X = np.random.default_rng(0).normal(3, size=(40, 12)).astype("float32")
    >>> X[::2, 1] += 3 * X[::2, 0]  # tied to each other in group a
    >>> adata = anndata.AnnData(X, obs={"state": ["a", "b"] * 20})
    >>> fastfs.tl.differential_correlation(adata, "state", n_permutations=99)
    >>> adata.uns["differential_correlation"]["pairs"].iloc[0, :2].tolist()
    ['0', '1']
    """
    import pandas as pd

    known = [
        *inspect.signature(differential_correlation).parameters,
        *inspect.signature(correlation_by_group).parameters,
    ]
    require_known("fastfs.tl.differential_correlation", [name for name in known if name != "parameters"], parameters)
    _require_writable(adata, copy)
    adata = adata.copy() if copy else adata
    source = _Source(adata, layer, use_raw, mask_var)
    if groups is None:
        cells, labels, *_ = _read_grouping(adata, groupby, None, "rest", drop_unlabelled)
    elif isinstance(groups, str) or len(groups) != 2:
        raise ValueError(f"groups must be a list of two groups of {groupby}, not {groups!r}")
    else:
        cells, labels, *_ = _read_grouping(adata, groupby, groups[:1], groups[1], drop_unlabelled)
    design = _CellDesign.from_columns(adata, cells, samples, donors, batch, covariates)
    if parameters.get("n_permutations", "auto") != 0:
        design.warn_of_samples(labels, groupby)
    with source.naming_cells(cells):
        result = correlation_by_group(
            source.estimator_input(cells),
            labels,
            feature_names=source.names,
            **design.test_arguments(labels),
            progress=as_progress(verbose),
            **parameters,
        )
    genes = np.asarray(source.names, dtype=object)[result.pairs]
    pairs = pd.DataFrame({"gene_a": genes[:, 0], "gene_b": genes[:, 1]})
    for name, values in zip(result.classes.tolist(), result.correlations.T, strict=True):
        pairs[f"r_{name}"] = values
    pairs["z"] = result.z
    pairs["pvals_max"] = np.nan if result.pvalues_max is None else result.pvalues_max
    params = {
        "groupby": groupby,
        "groups": result.classes.tolist(),
        "method": "fastfs.differential_correlation",
        "correlation": result.correlation,
        "layer": layer,
        "use_raw": source.use_raw,
        "n_permutations": result.n_permutations,
        "design": result.design,
        "fastfs_version": info()["version"],
    }
    scores = pd.Series(result.scores, index=source.names).reindex(adata.var_names, fill_value=np.nan)
    adata.var[f"{key_added}_scores"] = scores.to_numpy()
    adata.uns[key_added] = {"pairs": pairs, "null_maxima": result.null_maxima, "params": params}
    return adata if copy else None


def __dir__() -> list[str]:
    return __all__
