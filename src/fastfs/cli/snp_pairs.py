"""``fastfs snp-pairs``."""

from pathlib import Path
from typing import Annotated, Any

import typer

import fastfs
from fastfs import io
from fastfs._inputs.columns import column_numbers
from fastfs.cli.grouping import grouped
from fastfs.cli.permutation import DesignOptions, number_of_labelings, summary
from fastfs.cli.score import ROWS_SHOWN, Data, Input, check_files, names_of_the_file, read, samples_of_classes
from fastfs.cli.show import print_pairs
from fastfs.cli.terminal import progress, say, signals_as_exits


@grouped
def snp_pairs(
    source: Input,
    design: DesignOptions,
    snps: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare the pairs among these SNPs only: text, a name a line.")
    ] = None,
    permutations: Annotated[
        int, typer.Option(min=0, metavar="N", help="Labelings for p-values; each takes 0.6 of the time of a scan.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the permutations.")] = 0,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How many of the strongest pairs to keep. Default: 1000 in a file, {ROWS_SHOWN} to look at.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the pairs: .csv, .json or .parquet.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Default: every core this process may use.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse to work above it: 4G, 500M, or bytes.")
    ] = None,
) -> None:
    """Find the pairs of SNPs of FILE whose genotypes interact in their effect on a class."""
    check_files(source, ((out, io.TABLE_ENDINGS),))
    chosen = None if snps is None else [line.strip() for line in snps.read_text().splitlines() if line.strip()]
    with progress(f"reading {source.file.name}") as report:
        data = read(source, design.columns())
        names = data.table.feature_names
        with names_of_the_file(data, source.transpose):
            found = fastfs.snp_pairs(
                data.table.X,
                data.table.y,
                snps=None if chosen is None else column_numbers("--snps", chosen, len(names), names),
                n_pairs=top or 1000,
                n_permutations=permutations,
                **design.of(data.table),
                random_state=seed,
                n_threads=threads or 0,
                max_memory=max_memory,
                progress=report,
            )
    columns = _columns(found, names)
    samples_of = samples_of_classes(data.table.y)
    written = ""
    with signals_as_exits():
        if out is None:
            print_pairs(columns, top or ROWS_SHOWN)
        else:
            io.write_ranking(out, columns, _about(found, data, samples_of))
            written = f"; wrote {len(found.statistic)} pairs to {out}"
    of_each = ", ".join(f"{name}: {count}" for name, count in samples_of.items())
    tested = f"; {summary(found)}" if found.pvalue is not None else ""
    say(f"Compared {found.n_tested} pairs of SNPs of {data.table.X.shape[0]} samples ({of_each}){tested}{written}.")


def _columns(found: "fastfs.SnpPairs", names: Any) -> dict[str, list[Any]]:
    """The pairs as columns of a table."""
    a, b = found.pairs.T.tolist()
    columns = {
        "rank": list(range(1, len(a) + 1)),
        "feature_a": [str(names[j]) for j in a],
        "feature_b": [str(names[j]) for j in b],
        "index_a": a,
        "index_b": b,
        "statistic": found.statistic.tolist(),
        "degrees": found.degrees.tolist(),
    }
    if found.pvalues_max is not None:
        columns["pvalue_max"] = found.pvalues_max.tolist()
    return columns


def _about(found: "fastfs.SnpPairs", data: Data, samples_of: dict[str, int]) -> dict[str, Any]:
    names = data.table.feature_names
    return {
        "method": "snp_pairs",
        "n_tested": found.n_tested,
        "pvalue": found.pvalue,
        "n_permutations": found.n_permutations,
        "design": found.design,
        "n_distinct": number_of_labelings(found),
        "exact": found.exact,
        "version": fastfs.__version__,
        "source": data.table.source,
        "reading": data.reading,
        "n_samples": data.table.X.shape[0],
        "n_features": data.table.X.shape[1],
        "classes": samples_of,
        "excluded_snps": [str(names[j]) for j in found.excluded_snps],
    }
