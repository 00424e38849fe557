"""The tools for the methods, all made from one template."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastfs._inference.feature_groups import number_members
from fastfs._inputs.design import SIGNIFICANT, Design, nested_design
from fastfs._inputs.entry import require_known
from fastfs._machine.info import info
from fastfs._machine.params import as_permutations, check_choice, is_auto
from fastfs._machine.run import warn
from fastfs._methods import METHODS
from fastfs.tl._adata import CellMatrix, number_genes, read_grouping, warn_of_numbers
from fastfs.tl._comparison import compare_groups
from fastfs.tl._design import CellDesign, PermutationPlan
from fastfs.tl._modality import open_place
from fastfs.tl._results import as_categories, write_results

if TYPE_CHECKING:
    from anndata import AnnData

_ONCE = "All groups against their rests come from one fit."
_DISTANCES = "O(n_cells^2 n_genes) time each: thousands of cells are enough, so sample them."
_TARGETS = (
    "O(n_cells^2 n_genes) time each: thousands of cells are enough, so sample them or give `n_targets`. With "
    "``n_targets``, data on disk that don't fit are read twice, which serves all groups against their rests."
)

# Two descriptions of a group's scores, for the docstrings.
_OWN_SCORES = """its column of `class_scores_`, from the fit of all
    groups or, with a `reference`, of these two."""
_SHARED_SCORES = """`scores_` of this comparison, which both sides share:
    two groups have equal scores."""

_DOC = """{summary}

    Runs :class:`fastfs.{estimator}` on all groups together, for `adata.var`, and compares each group with the rest (or
    with `reference`), for `adata.uns`. A group's scores are {score}
    Permutations add p-values.

    Parameters
    ----------
    adata : anndata.AnnData or mudata.MuData
        Cells x genes. {data}
    groupby : str
        Column of `adata.obs` with the groups. A warning points out a column of numbers, which scanpy refuses.
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
        Column of `adata.obs` with the samples; cells of a sample were handled together: libraries, dishes, biopsies. If
        each sample is in one group, samples change groups as wholes; if groups vary within samples, as cell types do,
        cells change groups within their sample.
    donors : str, optional
        Column of `adata.obs`: samples change groups within their donor if it has several groups, such as a treated
        and a control sample; if each donor is in one group, donors change groups as wholes. Without `donors` and
        `samples`, cells are taken as independent, and differences between donors make p-values small.
        Where wholes move, methods that read cells in blocks do so for any number of permutations together.
    batch : str, optional
        Column of `adata.obs`: groups are permuted within batches only.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which groups keep their relation, such as age.
    feature_groups : dict of names and lists of genes, optional
        Sets of genes that permutations test as wholes, such as pathways (:func:`fastfs.io.read_gmt`), for the DataFrame
        ``adata.uns["KEY"]["feature_groups"]``; genes that aren't compared are left out.
    ranking : {{"score", "z"}}
        "z": `scores` in `adata.uns` are z, distances from the mean under permutations in standard deviations.
        Genes that score high under any groups rank low by z. `adata.var` has scores in any case.
    drop_unlabelled : bool
        Leave out cells without a group, rather than raise.
    min_class : int
        Leave out groups of fewer cells, with a warning that names them.
    mod : str, optional
        Of a MuData: the modality with the genes, which gets the results. Columns that it lacks are those of
        ``mdata.obs``, and that of `groupby` is copied into it.
    copy : bool
        Return a copy with the results, rather than write them into `adata`.
    **parameters
        Parameters of :class:`fastfs.{estimator}`. ``n_features_to_select="auto"`` selects the genes with `pvals_max` of
        at most 0.05 in any group, under this design. `verbose` also applies to the permutations of each group.

    Returns
    -------
    AnnData, MuData or None
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
        No such column, layer, group, mask or modality.
    ValueError
        A group with fewer than two cells, without a name or called "rest"; cells without a group, batch, donor, sample
        or covariate; gene names that occur twice; a copy or a view of a file; `batch`, `donors`, `samples`,
        `covariates` or ``ranking="z"`` without permutations; a design that leaves nothing to permute; what the
        estimator raises, with the names of cells and genes.
    TypeError
        `adata` is neither an AnnData nor a MuData; `groups` or `covariates` isn't a list; `key_added` isn't a string.
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


def _write_doc(word: str, notes: str, call: str) -> str:
    """Return the docstring of the function of `fastfs.tl` for a method, with `notes` and an example.

    Sentences on sparse and stored data, and on the scores of groups, depend on the method.
    """
    method = METHODS[word]
    data = "Sparse values are made dense, those of the cells and genes that are compared."
    if method.sparse:
        data = "Sparse values stay sparse" + ("; data on disk are read in one pass." if method.streams else ".")
    if not method.streams:
        data += "\n        X on disk and Dask arrays are loaded, up to a quarter of `max_memory`."
    return _DOC.format(
        summary=method.genes,
        estimator=method.estimator,
        word=word,
        data=data,
        notes=notes,
        score=_OWN_SCORES if method.class_scores else _SHARED_SCORES,
        together=" of all groups together" if method.class_scores else "",
        call=call,
    )


def _make_tool(word: str, *, notes: str, call: str = "") -> Callable[..., AnnData | None]:
    """Return the function of `fastfs.tl` for a method, with its docstring."""

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
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        ranking: str = "score",
        drop_unlabelled: bool = False,
        min_class: int = 0,
        mod: str | None = None,
        copy: bool = False,
        **parameters: Any,
    ) -> AnnData | None:
        """Fit the method to groups of cells, test it if asked to, and write the results; return the copy or None.

        Raise TypeError or ValueError for unknown parameters, and for those of a test without permutations. Warn of
        numbers as groups and of weak designs.
        """
        from fastfs._estimators.methods import ESTIMATORS  # takes longer than the rest of this module

        estimator = ESTIMATORS[METHODS[word].estimator]
        known = [*inspect.signature(tool).parameters, *inspect.signature(estimator).parameters]
        require_known(f"fastfs.tl.{word}", [name for name in known if name != "parameters"], parameters)
        model = estimator(**parameters)
        as_permutations(n_permutations, low=0)
        cuts = is_auto(model.n_features_to_select)
        if cuts and not n_permutations:
            raise ValueError("n_features_to_select='auto' needs permutations: give n_permutations='auto'")
        check_choice("ranking", ranking, ("score", "z"))
        if not n_permutations and (ranking == "z" or samples or donors or batch or covariates or feature_groups):
            raise ValueError(
                "samples, donors, batch, covariates, feature_groups and ranking='z' need permutations: give "
                "n_permutations='auto'"
            )
        if not isinstance(key_added, str | None):
            raise TypeError(f"key_added must be a string; got {key_added!r}")
        place = open_place(adata, mod, copy)
        adata, annotated = place.adata, place.annotated
        source = CellMatrix(adata, layer, use_raw, mask_var)
        if getattr(model, "given", None) is not None:
            model.set_params(given=number_genes(model.given, source.names))
        cells, labels, wanted, reference = read_grouping(
            annotated, groupby, groups, reference, drop_unlabelled, min_class
        )
        warn_of_numbers(annotated, groupby, labels)
        design = CellDesign.from_columns(annotated, cells, samples, donors, batch, covariates)
        wholes = None if feature_groups is None else number_members(feature_groups, source.names)
        test = PermutationPlan(n_permutations, ranking, design, wholes)
        if n_permutations:
            design.warn_of_samples(labels, groupby)
            warn(Design(labels, **nested_design(labels, **design.columns)).weaknesses)
        other = None if reference == "rest" else reference
        pairs = [(group, other) for group in wanted if group != reference]
        fitted = model.set_params(n_features_to_select=None) if cuts else model  # its fit knows no donors
        result = compare_groups(fitted, source, cells, labels, pairs, test)
        result["given"] = getattr(model, "given", None)
        if cuts:
            largest = [one["pvals_max"] for one in result["groups"].values()]
            result["selected"] = (np.array(largest) <= SIGNIFICANT).any(axis=0)
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
            "min_class": min_class,
            "estimator": " ".join(repr(model).split()),
            "fastfs_version": info()["version"],
        }
        write_results(adata, key_added or word, source, result, params)
        place.keep_annotation(groupby)
        as_categories(adata, groupby)
        return place.given if copy else None

    tool.__name__ = tool.__qualname__ = word
    tool.__doc__ = _write_doc(word, notes, call)
    return tool


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
    notes="Weights, which are positive for few genes, also go to genes that hardly any cell has, with kernels that are "
    f"1 nearly everywhere: leave these out, by ``scanpy.pp.filter_genes``. `groups` are of cells here: kernels of "
    f"groups of genes are for the estimator alone. {_DISTANCES}",
)
