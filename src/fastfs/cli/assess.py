"""``fastfs assess``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import fastfs
from fastfs import io
from fastfs._methods import METHODS, REPORTED
from fastfs.cli.effects import Needs, require_effects
from fastfs.cli.grouping import OneTarget, TableOptions, grouped
from fastfs.cli.input import Input
from fastfs.cli.method import names
from fastfs.cli.permutation import DesignOptions
from fastfs.cli.score import check_files, names_of_the_file, read_input
from fastfs.cli.show import print_columns
from fastfs.cli.terminal import PLOT_ENDINGS, check_shown, progress, say, signals_as_exits

# Columns on the terminal; a file has all of them.
_SHOWN = ("method", "n_features", *("{metric}", "low", "high"), "permuted", "difference", "n_for_5_points")


@dataclass(frozen=True)
class AssessOptions(TableOptions):
    methods: Annotated[str, typer.Option(metavar="A,B,...", help=f"Some of {', '.join(METHODS)}.")] = ",".join(REPORTED)
    n_features: Annotated[str, typer.Option(metavar="A,B,...", help="Numbers of best features to learn from.")] = (
        "1,2,5,10,20,50"
    )
    classifier: Annotated[
        str, typer.Option(help="logistic: regression with a ridge penalty; centroid: nearest shrunken centroids.")
    ] = "logistic"
    targets: OneTarget = None
    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With a time as --targets: 1 if the event happened, 0 if not by then."),
    ] = None
    splits: Annotated[int, typer.Option(min=2, metavar="N", help="Number of folds.")] = 5
    repeats: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often to deal the folds, and to permute the labels.")
    ] = 10
    max_memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Refuse to read more: 4G, 500M, or bytes.")] = (
        None
    )
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curve over the number of features: .png, .pdf or .svg."),
    ] = None

    def grid(self) -> list[int]:
        """Return the numbers of features of --n-features; raise ValueError if they aren't integers."""
        try:
            return [int(text) for text in names(self.n_features, "--n-features")]
        except ValueError:
            raise ValueError(
                f"--n-features must be integers with commas between them; got '{self.n_features}'"
            ) from None


@grouped
def assess(source: Input, design: DesignOptions, options: AssessOptions) -> None:
    """Tell how well the best features of FILE classify new donors or samples, with the selection inside the folds."""
    check_shown(options.out)
    check_files(source, ((options.out, io.TABLE_ENDINGS), (options.plot, PLOT_ENDINGS)))
    require_effects(
        [
            Needs("label", options.targets is None, "and --targets are two targets: give one of them"),
            Needs("event", options.targets is not None, "is for --targets, the time"),
        ],
        source,
        options,
    )
    targets = [] if options.targets is None else [options.targets]
    grid = options.grid()
    with progress(f"reading {source.file.name}") as report:
        data = read_input(
            source,
            [*design.annotation_columns(), *([options.event] if options.event else [])],
            targets,
            options.event,
            options.max_memory,
        )
        with names_of_the_file(data, source.transpose):
            result = fastfs.assess(
                data.table.X,
                data.table.y,  # a column of numbers has two dimensions
                methods=names(options.methods, "--methods"),
                n_features=grid,
                classifier=options.classifier,
                n_splits=options.splits,
                n_repeats=options.repeats,
                feature_names=data.table.feature_names,
                random_state=options.seed,
                verbose=report or False,
                **design.design_arguments(data.table),
            )
    columns = {name: _without_nan(values.tolist()) for name, values in result.table.items()}
    metric = result.metrics[0]
    with signals_as_exits():
        if options.out is None:
            shown = [name.format(metric=metric) for name in _SHOWN]
            print_columns({name: columns[name] for name in shown})
        else:
            about = {
                "classifier": result.classifier,
                "metrics": list(result.metrics),
                "n_splits": result.n_splits,
                "n_repeats": result.n_repeats,
                "unit": result.unit,
                "n_units": result.n_units,
                "n_labelings": result.n_labelings,
                "design": result.design,
                **data.about(),
            }
            io.write_ranking(options.out, columns, about, escape_formulas=options.escape_formulas)
        if options.plot is not None:
            _draw(options.plot, result)
    n_samples, n_features = data.table.X.shape
    written = " and ".join(str(path) for path in (options.out, options.plot) if path is not None)
    say(
        f"Ranked {n_features} feature{'s' * (n_features > 1)} of {n_samples} samples in {result.n_repeats} x "
        f"{result.n_splits} folds of whole {result.unit}s ({result.n_units}), labels permuted as {result.design}"
        f"{written and '; wrote '}{written}."
    )
    for sentence in result.describe():
        say(f"{sentence}.")


def _without_nan(values: Sequence[Any]) -> list[Any]:
    """Return values with None in place of NaN, which JSON doesn't have."""
    return [None if value != value else value for value in values]


def _draw(path: Path, result: fastfs.AssessResult) -> None:
    """Draw the curves into a file, which appears when it is complete."""
    from matplotlib.figure import Figure

    from fastfs import pl

    figure = Figure(figsize=(8, 5), layout="constrained")
    pl.assess(result, ax=figure.add_subplot())
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
