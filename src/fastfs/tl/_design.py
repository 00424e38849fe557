"""Designs of the permutations: which labelings of cells are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastfs._inputs.design import Design, nested_design
from fastfs._machine.run import warn
from fastfs._types import Array, Integers
from fastfs.tl._adata import missing_in_words, obs_column

if TYPE_CHECKING:
    from anndata import AnnData


@dataclass(frozen=True)
class CellDesign:
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
    ) -> CellDesign:
        """Read the named columns of `adata.obs` for some cells; raise ValueError for missing values.

        Raise TypeError unless `covariates` is a list or None.
        """
        import pandas as pd

        if covariates is not None and (isinstance(covariates, str) or not hasattr(covariates, "__iter__")):
            raise TypeError(f"covariates must be a list of columns of adata.obs; got {covariates!r}")

        def read_column(name: str) -> Any:
            column = obs_column(adata, name).iloc[cells]
            missing = cells[column.isna().to_numpy()]
            if len(missing):
                raise ValueError(f"{missing_in_words(adata, missing, name)}: leave them out of adata")
            return column

        columns = {"samples": samples, "donors": donors, "batch": batch}
        names = {word: name for word, name in columns.items() if name is not None}
        table = pd.DataFrame({name: read_column(name) for name in covariates}) if covariates else None
        return cls({word: read_column(name).to_numpy() for word, name in names.items()}, names, table)

    def select_cells(self, kept: Array) -> CellDesign:
        """Return the design of some of the cells."""
        columns = {word: column[kept] for word, column in self.columns.items()}
        return CellDesign(columns, self.names, None if self.covariates is None else self.covariates.iloc[kept])

    def test_arguments(self, labels: Array) -> dict[str, Any]:
        """Return `blocks`, `groups` and `covariates` for tests of these labels."""
        design = nested_design(labels, **self.columns)
        return design if self.covariates is None else design | {"covariates": self.covariates}

    def moving_groups(self, labels: Array) -> Array | None:
        """Return the donor or sample of each cell if donors or samples change labels as wholes, else None."""
        return Design(labels, **nested_design(labels, **self.columns)).moving_groups

    def warn_of_samples(self, labels: Array, groupby: str) -> None:
        """Warn if cells of a donor lie in several groups, which specimens that are not named could explain; not with
        `samples`.
        """
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
class PermutationPlan:
    """Number and design of the permutations, and the choice between scores and z for the ranking."""

    n_permutations: int | str
    ranking: str
    design: CellDesign
    feature_groups: dict[str, Integers] | None = None  # genes of each, by number

    def select_cells(self, kept: Array) -> PermutationPlan:
        """Return the plan for some of the cells."""
        return replace(self, design=self.design.select_cells(kept))
