"""The tool that tells how well genes classify new samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fastfs._inputs.entry import named_arguments
from fastfs._machine.info import info
from fastfs._machine.params import RANDOM_STATE
from fastfs._methods import REPORTED
from fastfs.tl._adata import CellMatrix, read_groups
from fastfs.tl._design import CellDesign
from fastfs.tl._modality import open_place
from fastfs.tl._results import say_written

if TYPE_CHECKING:
    from anndata import AnnData

    from fastfs._types import Progress


@named_arguments
def assess(
    adata: AnnData,
    groupby: str,
    *,
    groups: Sequence[str] | None = None,
    methods: Sequence[str] | Mapping[str, Any] = REPORTED,
    n_features: Sequence[int] = (1, 2, 5, 10, 20, 50),
    classifier: str = "logistic",
    n_splits: int = 5,
    n_repeats: int = 10,
    samples: str | None = None,
    donors: str | None = None,
    batch: str | None = None,
    covariates: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    key_added: str = "assess",
    drop_unlabelled: bool = False,
    min_class: int = 0,
    mod: str | None = None,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
    copy: bool = False,
) -> AnnData | None:
    """Tell how well the best genes of each method classify the cells of new donors or samples.

    Runs :func:`fastfs.assess`. Name the column of the donors: cells are much easier to classify if other cells of their
    donor are known.

    Parameters
    ----------
    adata : anndata.AnnData or mudata.MuData
        Cells x genes. Data on disk are loaded.
    groupby : str
        Column of `adata.obs` with the groups.
    groups : sequence of str, optional
        Groups to tell apart, two or more. Default: all.
    methods, n_features, classifier, n_splits, n_repeats, random_state, rng, n_jobs, verbose
        As for :func:`fastfs.assess`.
    samples, donors, batch : str, optional
        Columns of `adata.obs`, as for :func:`fastfs.tl.manifest`. Donors with one group, otherwise samples with one
        group, are in one fold; so are donors of one sample of each group.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which permuted groups keep their relation.
    layer, use_raw, mask_var, drop_unlabelled, min_class, mod, copy
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results in `adata.uns`.

    Returns
    -------
    AnnData, MuData or None
        Sets ``adata.uns["KEY"]``: `table`, the DataFrame of :meth:`fastfs.AssessResult.to_frame`, and `params`.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        What :func:`fastfs.assess` raises.

    Warns
    -----
    fastfs.DataWarning
        As for :func:`fastfs.assess`; groups vary within donors and no `samples` are named.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> X = np.random.default_rng(0).normal(3, size=(40, 12)).astype("float32")
    >>> X[::2, 1] += 2
    >>> adata = anndata.AnnData(X, obs={"state": ["a", "b"] * 20})
    >>> fastfs.tl.assess(adata, "state", methods=["relieff"], n_features=[1, 5], n_repeats=2)
    >>> table = adata.uns["assess"]["table"]
    >>> table.method.tolist()[::2], bool(table.balanced_accuracy[0] > 0.7)
    (['relieff', 'anova', 'variance'], True)
    """
    from fastfs._estimators.assess import assess as assess_cells  # takes longer than the rest of this module

    place = open_place(adata, mod, copy)
    adata, annotated = place.adata, place.annotated
    source = CellMatrix(adata, layer, use_raw, mask_var)
    cells, labels = read_groups(annotated, groupby, groups, drop_unlabelled, min_class)
    design = CellDesign.from_columns(annotated, cells, samples, donors, batch, covariates)
    design.warn_of_samples(labels, groupby)
    with source.naming_cells(cells):
        result = assess_cells(
            source.estimator_input(cells),
            labels,
            methods=methods,
            n_features=n_features,
            classifier=classifier,
            n_splits=n_splits,
            n_repeats=n_repeats,
            feature_names=source.names,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            **design.test_arguments(labels),
        )
    params = {
        "groupby": groupby,
        "method": "fastfs.assess",
        "groups": sorted(set(labels.tolist())),
        "classifier": result.classifier,
        "n_splits": n_splits,
        "n_repeats": n_repeats,
        "unit": result.unit,
        "n_units": result.n_units,
        "design": result.design,
        "use_raw": source.use_raw,
        "layer": layer,
        "fastfs_version": info()["version"],
    }
    adata.uns[key_added] = {"table": result.to_frame(), "params": params}
    say_written(key_added)
    place.keep_annotation(groupby)
    return place.given if copy else None
