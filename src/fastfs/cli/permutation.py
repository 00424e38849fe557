"""P-values: a permutation test in addition to the scores."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import numpy as np
import typer

import fastfs
from fastfs._inference.feature_groups import number_members
from fastfs._machine.params import rank_features
from fastfs._methods import Method
from fastfs._types import Integers
from fastfs.io import Table, read_gmt

if TYPE_CHECKING:
    from fastfs._functions.pairs import PairsResult

    Tested: TypeAlias = fastfs.PermutationResult | PairsResult


@dataclass(frozen=True)
class DesignOptions:
    panel: ClassVar[str] = "Inference"

    blocks: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Permute labels within these only: batches, donors, pairs."),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Permute these as wholes: donors, specimens.",
        ),
    ] = None
    covariate: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Labels keep their relation to it, as to age; may be repeated."),
    ] = None

    def annotation_columns(self) -> list[str]:
        """Return the names of the columns about samples that the test needs."""
        return [name for name in (self.blocks, self.groups, *(self.covariate or [])) if name is not None]

    def design_arguments(self, table: Table) -> dict[str, Any]:
        """Return blocks, groups and covariates as arguments of a test."""
        from fastfs._inputs.design import design_of

        return design_of(table.annotations, self.blocks, self.groups, [*(self.covariate or []), *table.covariates])


@dataclass(frozen=True)
class PermutationOptions:
    panel: ClassVar[str] = "Inference"

    permutations: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Add p-values from N permutations, or auto. Default: none.",
            show_default=False,
        ),
    ] = "0"
    statistic: Annotated[
        str | None,
        typer.Option(metavar="z|score", help="What pvalue_max compares between features: z (default) or the scores."),
    ] = None
    rank_by: Annotated[
        str | None,
        typer.Option(
            metavar="score|z",
            help="Rank by the score (default), or by z, its distance from the mean under permuted labels.",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="Keep only features with pvalue_max of at most A, such as 0.05; maybe none."),
    ] = None

    feature_groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.gmt",
            help="Test groups of features as wholes, such as pathways: a line for each, with a name, a description and "
            "features, and tabs between. A ranking in .json has their p-values.",
        ),
    ] = None

    @property
    def number(self) -> int | str:
        """Return the number of permutations, or auto; 0: no test."""
        return as_number_or_auto(self.permutations)

    def check_method(self, method: Method, has_targets: bool, has_weights: bool) -> None:
        """Raise ValueError, before any work, for values and tests that don't suit the method.

        Without a test, only the values are checked. It takes no weights, and of a method that selects neither targets
        nor z ranks.
        """
        for option, value in (("--statistic", self.statistic), ("--rank-by", self.rank_by)):
            if value not in (None, "z", "score"):
                raise ValueError(f"{option} must be z or score; got '{value}'")
        check_alpha(self.alpha)
        if self.number == 0:
            return
        if has_weights:
            raise ValueError(
                "--permutations can't be combined with --weights: a permutation test takes no weights, so leave one out"
            )
        if has_targets and method.selects:
            raise ValueError(f"--permutations takes no --targets with --method {method.word}: give --label")
        if self.rank_by == "z" and method.selects:
            raise ValueError(
                f"--rank-by z doesn't work with --method {method.word}, which selects step by step: use --rank-by score"
            )

    def read_groups(self, table: Table) -> dict[str, Integers] | None:
        """Return the groups of features in the file, without features that the table lacks."""
        if self.feature_groups is None:
            return None
        return number_members(read_gmt(self.feature_groups), table.feature_names)

    def test(self, selector: Any, table: Table, design: DesignOptions, report: Any) -> "Test | None":
        """Return the permutation test of a fitted estimator's scores; None for --permutations 0.

        Features are ranked by z with --rank-by z, else as they were.
        """
        if self.number == 0:
            return None
        from sklearn.base import clone

        arguments = design.design_arguments(table)
        arguments["feature_groups"] = self.read_groups(table)
        arguments |= {"statistic": self.statistic or "z", "ranking": self.rank_by or "score"}
        result = fastfs.permutation_test(
            clone(selector).set_params(verbose=False),
            table.X,
            table.y,
            n_permutations=self.number,
            verbose=report or False,
            **arguments,
        )
        ranks = rank_features(result.z) if self.rank_by == "z" else selector.ranking_
        return Test(result, arguments["statistic"], arguments["ranking"], ranks, self.alpha)


@dataclass(frozen=True)
class Test:
    """A permutation test, its statistic, the ranks of the features by scores or z (1 is best), and where to cut."""

    result: "fastfs.PermutationResult"
    statistic: str
    ranking: str
    ranks: Integers
    alpha: float | None = None

    def keep_significant(self, places: Integers, order: Integers) -> Integers:
        """Return those of some places in an order of the features that hold a significant one; all without a cut."""
        return places if self.alpha is None else places[self.result.pvalues_max[order[places]] <= self.alpha]

    def ranking_columns(self, order: Integers, *, to_read: bool) -> dict[str, list[Any]]:
        """Return the columns that the test adds to the ranking, fewer of them for a table that people read."""
        columns = {"z": self.result.z, "pvalue": self.result.pvalues, "pvalue_adjusted": self.result.pvalues_adjusted}
        if to_read:
            columns = {"z": self.result.z} if self.is_by_z else {}
        columns["pvalue_max"] = self.result.pvalues_max
        return {name: values[order].tolist() for name, values in columns.items()}

    @property
    def is_by_z(self) -> bool:
        return self.ranking == "z"

    def about(self) -> dict[str, Any]:
        """Return the entries of the JSON file about the test, with alpha and groups of features if there are any."""
        result = self.result
        return {
            "statistic": self.statistic,
            "ranking": self.ranking,
            **({} if self.alpha is None else {"alpha": self.alpha}),
            **entries_of_test(result),
            "stopped": result.stopped,
            **({} if result.feature_groups is None else {"feature_groups": result.feature_groups.rows()}),
            "label_free": result.label_free if np.isfinite(result.label_free) else None,
        }

    def summary(self) -> str:
        """Describe the test as a part of a sentence, with the number of features up to alpha, and the best group, if
        any.
        """
        n_kept = np.count_nonzero(self.result.pvalues_max <= (self.alpha or 0))
        said = summary(self.result) + ("" if self.alpha is None else f"; pvalue_max <= {self.alpha:g} for {n_kept}")
        if (groups := self.result.feature_groups) is None:
            return said
        best, n = groups.rows()[0], len(groups.names)
        return f"{said}; best of {n} feature groups: {best['group']}, pvalue_max {best['pvalue_max']:.2g}"


def check_alpha(alpha: float | None) -> None:
    """Raise ValueError for a value of --alpha that no p-value is compared with."""
    if alpha is not None and not 0 < alpha < 1:
        raise ValueError(f"--alpha must lie between 0 and 1; got {alpha}")


def as_number_or_auto(permutations: str) -> int | str:
    """Return the value of --permutations as a number (0: no test) or "auto"; raise ValueError for others."""
    if permutations == "auto":
        return permutations
    try:
        number = int(permutations)
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError(f"--permutations must be a number (0: no p-values) or auto; got '{permutations}'")
    return number


def summary(result: "Tested") -> str:
    """Return the overall p-value and the design as a part of a sentence."""
    number = f"all {result.n_distinct} labelings" if result.exact else f"{result.n_permutations} permutations"
    return f"p = {result.pvalue:.2g} by {number} of {result.design}" + (", stopped early" if result.stopped else "")


def entries_of_test(result: "Tested") -> dict[str, Any]:
    """Return the entries of a JSON file about the permutations of a test: p-value, numbers of labelings and design."""
    return {
        "pvalue": result.pvalue,
        "n_permutations": result.n_permutations,
        "design": result.design,
        "n_distinct": number_of_labelings(result),
        "exact": result.exact,
        "resolution": result.resolution,
    }


def number_of_labelings(result: "Tested") -> int | str:
    """Return the number of labelings that the design allows, for JSON, which has no infinity."""
    return "inf" if np.isinf(result.n_distinct) else int(result.n_distinct)
