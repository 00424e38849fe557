"""``fastfs convert``."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from fastfs import io
from fastfs._inputs.matrix import loaded
from fastfs._machine.run import Run
from fastfs.cli.grouping import grouped
from fastfs.cli.method import flag
from fastfs.cli.score import Input, check_files, read
from fastfs.cli.terminal import progress, say, signals_as_exits
from fastfs.io._convert import by_rows, write_h5ad


@grouped
def convert(
    source: Input,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The H5AD file to write.", show_default=False)],
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="What the rows that are written at once may take: 4G, 500M.")
    ] = None,
) -> None:
    """Write FILE as H5AD with rows that can be read one block after another, for tables larger than memory.

    An H5AD file whose X is stored by columns is turned within the memory; other formats are read whole.
    """
    check_files(source, ((out, (".h5ad",)),))
    _check_options(source)
    with progress(f"reading {source.file.name}") as report, signals_as_exits(), io.replacing(out) as temporary:
        if source.file.name.lower().endswith(".h5ad"):
            by_rows(source.file, temporary, Run(max_memory=max_memory).available(), report)
        else:
            label, table = _labelled(source, max_memory)
            X = loaded(table.X, Run(max_memory=max_memory), advice="read the file as it is: it can be read by rows")
            write_h5ad(replace(table, X=X), label, temporary)
    say(f"Wrote {out}.")


def _check_options(source: Input) -> None:
    """Refuse options that would change nothing in the file that is written."""
    given = {f.name for f in fields(source) if f.name != "file" and getattr(source, f.name) not in (None, f.default)}
    if source.file.name.lower().endswith(".h5ad"):
        useless, why = given, f"'{source.file}' is copied with all that it has"
    elif _has_labels(source):
        useless, why = given & {"covar", "covar_names"}, "covariates aren't written"
    else:
        useless = given & {"key", "match", "by_order", "drop_missing", "covar", "covar_names", "control_is_0"}
        why = "there are no labels"
    of_bed = {"chromosomes", "not_chromosomes"}
    if not useless and not source.file.name.lower().endswith(".bed") and given & of_bed:
        useless, why = given & of_bed, f"'{source.file}' is not a .bed file"
    for name in sorted(useless):
        raise ValueError(f"{flag(name)} has no effect on what convert writes, since {why}: leave it out")


def _has_labels(source: Input) -> bool:
    """Return whether the file is read with labels, which some formats always have."""
    has_labels = source.label is not None or source.labels is not None or source.classes is not None
    return has_labels or source.file.suffix.lower() in (".npz", ".bed")


def _labelled(source: Input, max_memory: str | None) -> tuple[str | None, io.Table]:
    """Return a table and the name of its labels, if it has any."""
    if _has_labels(source):
        return source.label or "label", read(source, [], max_memory=max_memory).table
    reading = {name: getattr(source, name) for name in ("duplicates", "transpose", "feature_names", "layer", "mod")}
    table = io.read_unlabelled(
        source.file, ignore=source.ignore or (), **reading, max_memory=max_memory or Run().available()
    )
    return None, table
