"""``fastfs pairs``."""

from pathlib import Path
from typing import Annotated, Any

import typer

import fastfs
from fastfs import io
from fastfs.cli.grouping import grouped
from fastfs.cli.permutation import DesignOptions, as_number_or_auto, number_of_labelings, summary
from fastfs.cli.score import (
    BARS_AT_MOST,
    ROWS_SHOWN,
    Data,
    Input,
    check_files,
    names_of_the_file,
    read,
    samples_of_classes,
)
from fastfs.cli.show import print_pairs
from fastfs.cli.terminal import PLOT_ENDINGS, progress, say, signals_as_exits


@grouped
def pairs(
    source: Input,
    design: DesignOptions,
    correlation: Annotated[str, typer.Option(help="pearson, or spearman for heavy tails and outliers.")] = "pearson",
    permutations: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Labelings for p-values; 0: no p-values. auto: 999, but only 99 if these show that the labels say "
            "nothing.",
        ),
    ] = "999",
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
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the strongest pairs: .png, .pdf or .svg.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Default: every core this process may use.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse to work above it: 4G, 500M, or bytes.")
    ] = None,
) -> None:
    """Find the pairs of features of FILE whose correlation differs between two classes."""
    check_files(source, ((out, io.TABLE_ENDINGS), (plot, PLOT_ENDINGS)))
    n_permutations = as_number_or_auto(permutations, low=0)
    with progress(f"reading {source.file.name}") as report:
        data = read(source, design.columns())
        with names_of_the_file(data, source.transpose):
            found = fastfs.differential_correlation(
                data.table.X,
                data.table.y,
                feature_names=data.table.feature_names,
                correlation=correlation,
                n_pairs=top or 1000,
                n_permutations=n_permutations,
                **design.of(data.table),
                random_state=seed,
                n_threads=threads or 0,
                max_memory=max_memory,
                progress=report,
            )
    columns = _columns(found, data.table.feature_names)
    samples_of = samples_of_classes(data.table.y)
    written = []
    with signals_as_exits():
        if out is None:
            print_pairs(columns, top or ROWS_SHOWN)
        else:
            io.write_ranking(out, columns, _about(found, data, samples_of))
            written.append(f"wrote {len(found.z)} pairs to {out}")
        if plot is not None:
            _draw(plot, found, data, min(top or ROWS_SHOWN, BARS_AT_MOST))
            written.append(f"wrote a picture to {plot}")
    n_samples, n_features = data.table.X.shape
    of_each = ", ".join(f"{name}: {count}" for name, count in samples_of.items())
    tested = f"; {summary(found)}" if found.pvalue is not None else ""
    sentence = f"Compared the pairs of {n_features} features of {n_samples} samples ({of_each}){tested}"
    say("; ".join([sentence, *written]) + ".")


def _columns(found: "fastfs.DifferentialCorrelation", names: Any) -> dict[str, list[Any]]:
    """The pairs as columns of a table."""
    a, b = found.pairs.T.tolist()
    columns = {
        "rank": list(range(1, len(a) + 1)),
        "feature_a": [names[j] for j in a],
        "feature_b": [names[j] for j in b],
        "index_a": a,
        "index_b": b,
    }
    for label, values in zip(found.classes.tolist(), found.correlations.T, strict=True):
        columns[f"r_{label}"] = values.tolist()
    columns["z"] = found.z.tolist()
    if found.pvalues_max is not None:
        columns["pvalue_max"] = found.pvalues_max.tolist()
    return columns


def _about(found: "fastfs.DifferentialCorrelation", data: Data, samples_of: dict[str, int]) -> dict[str, Any]:
    names = data.table.feature_names
    return {
        "method": "differential_correlation",
        "correlation": found.correlation,
        "pvalue": found.pvalue,
        "n_permutations": found.n_permutations,
        "design": found.design,
        "n_distinct": number_of_labelings(found),
        "exact": found.exact,
        "stopped": found.stopped,
        "version": fastfs.__version__,
        "source": data.table.source,
        "reading": data.reading,
        "n_samples": data.table.X.shape[0],
        "n_features": data.table.X.shape[1],
        "classes": samples_of,
        "excluded_features": [names[j] for j in found.excluded_features],
        "n_excluded_pairs": found.n_excluded_pairs,
    }


def _draw(path: Path, found: "fastfs.DifferentialCorrelation", data: Data, top: int) -> None:
    from matplotlib.figure import Figure

    from fastfs import pl

    figure = Figure(figsize=(9, 1.4 + 0.3 * min(top, len(found.z))), layout="constrained")
    pl.differential_correlation(found, data.table.feature_names, top=top, ax=figure.add_subplot())
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
