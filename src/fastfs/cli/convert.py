"""``fastfs convert``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fastfs import io
from fastfs._inputs.matrix import as_decoded, load_stream
from fastfs._machine.run import Run
from fastfs.cli.effects import Needs, given_options, require_effects
from fastfs.cli.grouping import grouped
from fastfs.cli.input import Input
from fastfs.cli.score import check_files, read_input
from fastfs.cli.terminal import progress, say, signals_as_exits
from fastfs.io._convert import write_by_rows, write_h5ad
from fastfs.io._options import ReadOptions


@grouped
def convert(
    source: Input,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The H5AD file to write.", show_default=False)],
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory for the rows that are written together: 4G, 500M.")
    ] = None,
) -> None:
    """Write FILE as H5AD with rows that can be read one block after another, for tables larger than memory.

    An H5AD file with X stored by columns is turned within the memory; other formats are read whole.
    """
    check_files(source, ((out, (".h5ad",)),))
    require_effects(_needs(source), source)
    with progress(f"reading {source.file.name}") as report, signals_as_exits(), io.replacing(out) as temporary:
        if source.file.name.lower().endswith(".h5ad"):
            write_by_rows(source.file, temporary, Run(max_memory=max_memory).available(), report)
        else:
            label, table = _labelled(source, max_memory)
            run = Run(max_memory=max_memory)
            X = load_stream(table.X, run, advice="read the file as it is: it can be read by rows")
            if isinstance(X, io.Genotypes):
                X = as_decoded(X, run)
            write_h5ad(replace(table, X=X), label, temporary)
    say(f"Wrote {out}.")


def _needs(source: Input) -> list[Needs]:
    """Return the conditions under which options of `convert` have an effect on the file that it writes: for H5AD, which
    is copied as a whole, no option has one.
    """
    why = "has no effect on what convert writes, since {}: leave it out".format
    name = source.file.name.lower()
    every = " ".join(option for option in given_options(source) if option != "file")
    return [
        Needs(every, not name.endswith(".h5ad"), why(f"'{source.file}' is copied with all that it has")),
        Needs("covar covar_names", False, why("covariates aren't written")),
        Needs(
            "key match by_order drop_missing min_class control_is_0", _has_labels(source), why("there are no labels")
        ),
        Needs(
            "chromosomes not_chromosomes",
            name.endswith((".bed", ".pgen")),
            why(f"'{source.file}' is not a .bed or .pgen file"),
        ),
    ]


def _has_labels(source: Input) -> bool:
    """Return whether the file is read with labels, which some formats always have."""
    has_labels = source.label is not None or source.labels is not None or source.classes is not None
    return has_labels or source.file.suffix.lower() in (".npz", ".bed", ".pgen")


def _labelled(source: Input, max_memory: str | None) -> tuple[str | None, io.Table]:
    """Return a table and the name of its labels, if it has any."""
    if _has_labels(source):
        return source.label or "label", read_input(source, [], max_memory=max_memory).table
    options = ReadOptions(**source.reading(), max_memory=max_memory or Run().available())
    table = io.read_unlabelled(source.file, options)
    return None, table
