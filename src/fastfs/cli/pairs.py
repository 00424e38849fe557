"""``fastfs pairs`` and ``fastfs snp-pairs``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import fastfs
from fastfs import io
from fastfs._functions.pairs import PairsResult
from fastfs._inputs.columns import column_numbers, columns_in_order
from fastfs.cli.effects import FOR_P_VALUES, Needs, require_effects
from fastfs.cli.grouping import MachineOptions, OneTarget, TableOptions, grouped
from fastfs.cli.input import Input
from fastfs.cli.permutation import DesignOptions, as_number_or_auto, check_alpha, entries_of_test, summary
from fastfs.cli.score import (
    BARS_AT_MOST,
    ROWS_SHOWN,
    Data,
    check_files,
    names_of_the_file,
    read_input,
)
from fastfs.cli.show import print_pairs
from fastfs.cli.terminal import PLOT_ENDINGS, check_shown, progress, say, signals_as_exits


@dataclass(frozen=True)
class PairsOptions(MachineOptions, TableOptions):
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of strongest pairs to keep. Default: 1000 in a file, {ROWS_SHOWN} to look at.",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="Keep only pairs with pvalue_max of at most A, such as 0.05; maybe none."),
    ] = None

    def shared_arguments(self) -> dict[str, Any]:
        """Return the arguments that all functions for pairs share: 1000 pairs and all threads unless options say
        otherwise.
        """
        return {
            "n_pairs": self.top or 1000,
            "alpha": self.alpha,
            "random_state": self.seed,
            "n_threads": self.threads or 0,
            "max_memory": self.max_memory,
        }

    def warn_and_return(self, columns: dict[str, list[Any]], about: dict[str, Any]) -> list[str]:
        """Print the pairs, or write them and return a part of a sentence that says so."""
        if self.out is None:
            print_pairs(columns, self.top or ROWS_SHOWN)
            return []
        io.write_ranking(self.out, columns, about, escape_formulas=self.escape_formulas)
        return [f"wrote {len(columns['rank'])} pairs to {self.out}"]


@dataclass(frozen=True)
class TargetOptions:
    targets: OneTarget = None
    event: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="For interactions with a time as --targets: 1 if the event happened, 0 if it had not by then.",
        ),
    ] = None

    def needs_of_targets(self) -> list[Needs]:
        """Return the conditions under which the options have an effect."""
        return [
            Needs("event", self.targets is not None, "is for --targets, the time"),
            Needs("label", self.targets is None, "and --targets are two targets: give one of them"),
        ]

    def read(self, source: Input, design: DesignOptions, max_memory: str | None) -> Data:
        """Read the table, with the columns of --targets and --event as the target, or the labels."""
        return read_input(
            source,
            [*design.annotation_columns(), *([self.event] if self.event else [])],
            [self.targets] if self.targets else [],
            self.event,
            max_memory,
            of_numbers="take them as numbers with --targets",
        )

    def values(self, data: Data) -> Any:
        """Return the target as functions take it."""
        return data.table.y[:, 0] if self.targets and self.event is None else data.table.y

    @property
    def target_type(self) -> str:
        return "survival" if self.event else "number" if self.targets else "class"


@dataclass(frozen=True)
class KindOptions(TargetOptions):
    kind: Annotated[
        str,
        typer.Option(
            help="correlation: pairs with correlations that differ between classes, or change along numbers; "
            "interaction: pairs with a product that says more about classes, numbers or times than both features.",
        ),
    ] = "correlation"
    correlation: Annotated[
        str | None, typer.Option(help="pearson (default); spearman for counts, heavy tails, outliers.")
    ] = None
    transform: Annotated[
        str | None, typer.Option(help="For interactions: none (default); rank for heavy tails, outliers.")
    ] = None
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For interactions: test these pairs only: text of two columns of names, such as a network's edges.",
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For correlation: draw the strongest pairs: .png, .pdf or .svg."),
    ] = None

    def needs(self, source: Input) -> list[Needs]:
        """Return the conditions under which the options have an effect; raise ValueError for an unknown --kind."""
        if self.kind not in ("correlation", "interaction"):
            raise ValueError(f"--kind must be correlation or interaction; got '{self.kind}'")
        is_interaction = self.kind == "interaction"
        only = "is for --kind"
        return [
            Needs("correlation plot", not is_interaction, f"{only} correlation"),
            Needs("transform event pairs", is_interaction, f"{only} interaction"),
            *self.needs_of_targets(),
        ]

    def columns_of_pairs(self, names: Sequence[str]) -> Any:
        """Return the pairs of the file as columns of a table with these names, or None for all pairs."""
        if self.pairs is None:
            return None
        rows = io.read_pairs(self.pairs)
        sides = [columns_in_order("--pairs", list(side), len(names), names) for side in zip(*rows, strict=True)]
        return np.stack(sides, axis=1)


@grouped
def pairs(
    source: Input,
    design: DesignOptions,
    options: PairsOptions,
    kinds: KindOptions,
    permutations: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Labelings for p-values; 0: no p-values. auto: 999, but only 99 if these show that the labels say "
            "nothing.",
        ),
    ] = "999",
) -> None:
    """Find the pairs of features of FILE with correlations that differ between classes, or that interact."""
    check_shown(options.out)
    check_files(source, ((options.out, io.TABLE_ENDINGS), (kinds.plot, PLOT_ENDINGS)))
    n_permutations = as_number_or_auto(permutations)
    require_effects(kinds.needs(source), source, kinds)
    _require_effects(source, design, options, n_permutations)
    with progress(f"reading {source.file.name}") as report:
        data = kinds.read(source, design, options.max_memory)
        arguments: dict[str, Any] = {"feature_names": data.table.feature_names, "n_permutations": n_permutations}
        arguments |= design.design_arguments(data.table) | options.shared_arguments() | {"progress": report}
        with names_of_the_file(data, source.transpose):
            method = {"correlation": "differential_correlation", "interaction": "interaction_scan"}[kinds.kind]
            if kinds.kind == "correlation":
                result: PairsResult = fastfs.differential_correlation(
                    data.table.X,
                    kinds.values(data),
                    target_type=kinds.target_type,
                    correlation=kinds.correlation or "pearson",
                    **arguments,
                )
            else:
                result = fastfs.interaction_scan(
                    data.table.X,
                    kinds.values(data),
                    target_type=kinds.target_type,
                    transform=kinds.transform or "none",
                    pairs=kinds.columns_of_pairs(data.table.feature_names),
                    **arguments,
                )
    with signals_as_exits():
        written = options.warn_and_return(_pair_columns(result, data), _about(method, result, data, options.alpha))
        if kinds.plot is not None:
            _draw_pairs(kinds.plot, result, data, min(options.top or ROWS_SHOWN, BARS_AT_MOST))
            written.append(f"wrote a picture to {kinds.plot}")
    compared = f"{result.n_tested} pairs" if kinds.pairs else f"the pairs of {data.table.X.shape[1]} features"
    _conclude(f"Compared {compared}", result, data, written)


@grouped
def snp_pairs(
    source: Input,
    design: DesignOptions,
    options: PairsOptions,
    target: TargetOptions,
    snps: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare the pairs among these SNPs only: text, one name per line."),
    ] = None,
    coding: Annotated[
        str | None,
        typer.Option(
            help="How genotypes enter the linear model of --targets: additive (default), copies of an allele; "
            "genotypic, categories, with up to four degrees of freedom, which finds any interaction."
        ),
    ] = None,
    permutations: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Labelings for p-values; 0: no p-values. Each takes 0.6 of the time of a scan."
        ),
    ] = 0,
) -> None:
    """Find the pairs of SNPs of FILE with genotypes that interact in their effect on a class, a number or a time."""
    check_shown(options.out)
    check_files(source, ((options.out, io.TABLE_ENDINGS),))
    _require_effects(source, design, options, permutations)
    require_effects(target.needs_of_targets(), source, target)
    if coding is not None and target.targets is None:
        raise ValueError("--coding is for --targets: leave it out for classes, which have genotypic coding")
    chosen = None if snps is None else [name for name in io.read_names(snps) if name]
    with progress(f"reading {source.file.name}") as report:
        data = target.read(source, design, options.max_memory)
        names = [str(name) for name in data.table.feature_names]
        with names_of_the_file(data, source.transpose):
            result = fastfs.snp_pairs(
                data.table.X,
                target.values(data),
                target_type=target.target_type,
                coding=coding or "auto",
                snps=None if chosen is None else column_numbers("--snps", chosen, len(names), names),
                n_permutations=permutations,
                **design.design_arguments(data.table),
                **options.shared_arguments(),
                progress=report,
            )
    with signals_as_exits():
        written = options.warn_and_return(_pair_columns(result, data), _about("snp_pairs", result, data, options.alpha))
    _conclude(f"Compared {result.n_tested} pairs of SNPs", result, data, written)


def _require_effects(source: Input, design: DesignOptions, options: PairsOptions, n_permutations: int | str) -> None:
    """Refuse options of p-values if no permutations were asked for, and a wrong --alpha."""
    check_alpha(options.alpha)
    of_test = Needs("blocks groups covariate covar seed alpha", n_permutations != 0, FOR_P_VALUES)
    require_effects([of_test], source, design, options)


def _pair_columns(result: PairsResult, data: Data) -> dict[str, list[Any]]:
    """Return the pairs as columns of a table: rank, names, numbers and the values of each."""
    names = data.table.feature_names
    a, b = result.pairs.T.tolist()
    return {
        "rank": list(range(1, len(a) + 1)),
        "feature_a": [names[j] for j in a],
        "feature_b": [names[j] for j in b],
        "index_a": a,
        "index_b": b,
        **{name: values.tolist() for name, values in result.columns.items()},
    }


def _about(method: str, result: PairsResult, data: Data, alpha: float | None) -> dict[str, Any]:
    """Return the entries of the JSON file about a search for pairs: its test, its data, its numbers and those of its
    kind.
    """
    entries = {
        "method": method,
        **entries_of_test(result),
        **data.about(),
        "stopped": result.stopped,
        "n_tested": result.n_tested,
        "excluded_features": [data.table.feature_names[j] for j in result.excluded_features],
        "n_excluded_pairs": result.n_excluded_pairs,
    }
    if alpha is not None:
        entries["alpha"] = alpha
    if isinstance(result, fastfs.DifferentialCorrelation):
        entries["correlation"] = result.correlation
    if isinstance(result, fastfs.InteractionScan):
        entries |= {"degrees": list(result.degrees), "transform": result.transform, "target_type": result.target_type}
    if isinstance(result, fastfs.SnpPairs):
        entries["target_type"] = result.target_type
    return entries


def _conclude(compared: str, result: PairsResult, data: Data, written: list[str]) -> None:
    """Print the closing sentence on stderr: the comparison, its samples, its test and the files that were written."""
    of_each = (
        ", ".join(f"{name}: {count}" for name, count in data.samples_of_classes().items())
        or f"target: {data.targets[0]}"
    )
    tested = f"; {summary(result)}" if result.pvalue is not None else ""
    sentence = f"{compared} of {data.table.X.shape[0]} samples ({of_each}){tested}"
    matched = [data.table.matching] if data.table.matching else []
    say("; ".join([sentence, *matched, *written]) + ".")


def _draw_pairs(path: Path, result: Any, data: Data, top: int) -> None:
    """Draw the strongest pairs into a file, which appears when it is complete."""
    from matplotlib.figure import Figure

    from fastfs import pl

    figure = Figure(figsize=(9, 1.4 + 0.3 * min(top, len(result.pairs))), layout="constrained")
    pl.differential_correlation(result, data.table.feature_names, top=top, ax=figure.add_subplot())
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
