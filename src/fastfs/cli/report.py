"""``fastfs report`` and ``fastfs repeat``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import fastfs
from fastfs._methods import METHODS, REPORTED
from fastfs.cli.grouping import MachineOptions, grouped
from fastfs.cli.input import Input
from fastfs.cli.method import method_options, names
from fastfs.cli.permutation import DesignOptions, as_number_or_auto
from fastfs.cli.score import check_files
from fastfs.cli.terminal import progress, say, signals_as_exits


@dataclass(frozen=True)
class ReportOptions:
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page: .html. Its numbers go next to it: .json, .csv.")]
    methods: Annotated[str, typer.Option(metavar="A,B,...", help=f"Two or more of {', '.join(METHODS)}.")] = ",".join(
        REPORTED
    )
    method_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD.NAME=VALUE",
            help="A parameter of a method's estimator, such as disc.n_groups=4; may be repeated.",
        ),
    ] = None
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of best features to show, select and compare.")
    ] = 20
    permutations: Annotated[
        str,
        typer.Option(metavar="N", help="Permutations of the labels for p-values; 0: no p-values. auto: as for score."),
    ] = "auto"
    subsamples: Annotated[
        int, typer.Option(min=2, metavar="N", help="Halves of the samples for selection frequencies.")
    ] = 50
    repeats: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="How often to deal the folds for the accuracy of new samples; 0: none."),
    ] = 1
    pairs: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of strongest pairs of features to show, if there are at most 20,000 features; 0: none. 100 "
            "samples of 20,000 features take 70 s of CPU time.",
        ),
    ] = 10
    feature_groups: Annotated[
        Path | None,
        typer.Option(metavar="FILE.gmt", help="Test groups of features as wholes, such as pathways, by each method."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random numbers.")] = 0

    def params(self) -> dict[str, dict[str, Any]]:
        """Return the parameters of --method-option by method.

        Raise ValueError unless a text begins with one of --methods.
        """
        texts: dict[str, list[str]] = {}
        for text in self.method_option or []:
            word, dot, rest = text.partition(".")
            if not dot or word not in METHODS:
                raise ValueError(f"--method-option must be METHOD.NAME=VALUE, such as disc.n_groups=4; got '{text}'")
            if word not in names(self.methods.lower(), "--methods"):
                raise ValueError(f"--method-option {text} has no effect, since --methods doesn't name {word}: add it")
            texts.setdefault(word, []).append(rest)
        return {
            word: method_options(METHODS[word], getattr(fastfs, METHODS[word].estimator)().get_params(), given)
            for word, given in texts.items()
        }


@grouped
def report(source: Input, design: DesignOptions, options: ReportOptions, machine: MachineOptions) -> None:
    """Rank the features of FILE by several methods, test the rankings, and write a page with all of it."""
    from fastfs._report.report import report_files, require_packages

    if str(source.file) == "-":
        raise ValueError("FILE must be a file, which fastfs repeat can read again; got - for stdin: write it to a file")
    check_files(source, [(path, (path.suffix,)) for path in report_files(options.out)])
    require_packages()
    reading = source.reading()
    if source.classes is not None:
        reading["classes"] = names(source.classes, "--classes")
    with progress(f"reading {source.file.name}") as bar:
        made_report = fastfs.report(
            source.file,
            source.label,
            methods=names(options.methods, "--methods"),
            params=options.params(),
            blocks=design.blocks,
            groups=design.groups,
            covariates=design.covariate,
            feature_groups=options.feature_groups,
            top=options.top,
            n_permutations=as_number_or_auto(options.permutations),
            n_subsamples=options.subsamples,
            n_repeats=options.repeats,
            n_pairs=options.pairs,
            random_state=options.seed,
            reading=reading,
            n_jobs=machine.threads,
            max_memory=machine.max_memory,
            verbose=bar or False,
        )
    with signals_as_exits():
        made_report.save(options.out)
    page, numbers, table = report_files(options.out)
    data = made_report.numbers["data"]
    say(
        f"Ranked {data['n_features']} features of {data['n_samples']} samples by {len(made_report.numbers['methods'])} "
        f"methods; wrote {page}, {numbers} and {table}."
    )


@grouped
def repeat(
    file: Annotated[Path, typer.Argument(help="The .json that fastfs report wrote.", show_default=False)],
    machine: MachineOptions,
) -> None:
    """Make the report of FILE again, and say whether every number came back to the bit: 0 if so, else 1."""
    with progress(f"reading {file.name}") as bar:
        repetition = fastfs.repeat(file, n_jobs=machine.threads, max_memory=machine.max_memory, verbose=bar or False)
    sentence = str(repetition)
    print(f"{sentence[0].upper()}{sentence[1:]}.")
    if not repetition.same:
        raise typer.Exit(1)
