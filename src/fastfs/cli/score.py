"""``fastfs score``."""

import shlex
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

import fastfs
from fastfs import _findings, io
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.labels import require_few_classes
from fastfs._inputs.response import as_events
from fastfs._machine.errors import naming_of_a_file
from fastfs._machine.params import some_of
from fastfs._machine.run import Run
from fastfs._methods import FLAGS, METHODS, Method
from fastfs.cli import results
from fastfs.cli.clumps import ClumpOptions
from fastfs.cli.effects import FOR_P_VALUES, Needs, require_effects
from fastfs.cli.grouping import EscapeFormulas, grouped
from fastfs.cli.input import Input
from fastfs.cli.method import MethodOptions, flag, make_selector, names
from fastfs.cli.permutation import DesignOptions, PermutationOptions, Test
from fastfs.cli.show import draw_ranking, print_pairs, print_ranking
from fastfs.cli.terminal import PLOT_ENDINGS, check_shown, progress, say, signals_as_exits
from fastfs.cli.wrapper import WrapperOptions, wrap

# Default of --top for the terminal and the plot, and the largest number of bars that can be read.
ROWS_SHOWN = 20
BARS_AT_MOST = 50

# Default of --method, which a report runs first.
DEFAULT_METHOD = "multisurf"

# The p-value at which a ranking can be cut, in the advice on the next command.
_USUAL_ALPHA = 0.05

# Largest number of classes that the summary names.
_CLASSES_SHOWN = 10


@dataclass(frozen=True)
class SampleOptions:
    panel: ClassVar[str] = "Labels"

    targets: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of numbers to explain, instead of --label.",
        ),
    ] = None
    targets_mod: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of .h5mu: a modality with the numbers to explain, in place of --targets: --method projse.",
        ),
    ] = None
    event: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="For rrelieff with a time as the one column of --targets: 1 if the event happened, 0 if the "
            "observation ended before.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For the RELIEF family: weights of the samples; not used as a feature."),
    ] = None

    @property
    def explains_numbers(self) -> bool:
        return self.targets is not None or self.targets_mod is not None

    def annotation_columns(self) -> list[str]:
        """Return the names of the columns about samples that aren't targets."""
        return [name for name in (self.weights, self.event) if name is not None]


@dataclass(frozen=True)
class Output:
    panel: ClassVar[str] = "Output"

    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Features to keep. Default: all in a file, 20 in the terminal.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the ranking: .csv, .json, .parquet, .txt, .rnk (GSEA)."),
    ] = None
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the ranking: .png, .pdf or .svg.")] = None
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For immigrate: write the strongest pairs of features: .csv, .json or .parquet."
        ),
    ] = None
    escape_formulas: EscapeFormulas = False


@dataclass(frozen=True)
class Data:
    """The table, the options of its reading, and the columns of targets if there are no labels."""

    table: io.Table
    reading: dict[str, Any]
    targets: list[str]

    def samples_of_classes(self) -> dict[str, int]:
        """Return the number of samples of each class by its name; empty for numbers and times."""
        if self.targets:
            return {}
        classes, counts = np.unique(self.table.y, return_counts=True)
        return {str(name): count for name, count in zip(classes.tolist(), counts.tolist(), strict=True)}

    def about(self) -> dict[str, Any]:
        """Return the entries of a JSON file that say what was read, by which version."""
        n_samples, n_features = self.table.X.shape
        return {
            "version": fastfs.__version__,
            "source": self.table.source,
            "reading": self.reading,
            "matching": self.table.matching,
            "n_samples": n_samples,
            "n_features": n_features,
            "classes": self.samples_of_classes(),
        }


@grouped
def score(
    *,
    context: typer.Context,
    source: Input,
    samples: SampleOptions,
    method: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(METHODS)}. Default: {DEFAULT_METHOD}, which finds features that matter together and has "
            "nothing to tune; from 10^4 samples on try projse.",
            show_default=False,
            rich_help_panel="Method",
        ),
    ] = DEFAULT_METHOD,
    options: MethodOptions,
    wrapper: WrapperOptions,
    permuting: PermutationOptions,
    design: DesignOptions,
    output: Output,
    clumping: ClumpOptions,
) -> None:
    """Rank the features of FILE: a table on the terminal, or a file with --out, a picture with --plot.

    --method NAME --help adds the options of that method; --help-all lists all.
    """
    word = method.lower()  # the papers write ReliefF
    if word not in METHODS:
        raise ValueError(f"There is no method '{word}': choose one of {', '.join(METHODS)}")
    chosen = METHODS[word]
    _check_outputs(source, output)
    scorer = make_selector(chosen, options)
    targets = _target_columns(chosen, source, samples)
    table = [
        Needs(
            "blocks groups covariate covar statistic rank_by alpha feature_groups", permuting.number != 0, FOR_P_VALUES
        ),
        *_needs(chosen, scorer, targets),
        *clumping.needs(source.file),
        *wrapper.needs(chosen),
    ]
    require_effects(table, source, samples, output, permuting, design, wrapper, clumping)
    selector = wrap(scorer, wrapper)
    permuting.check_method(chosen, samples.explains_numbers, samples.weights is not None)
    with progress(f"reading {source.file.name}") as report:
        data = read_input(
            source,
            [*samples.annotation_columns(), *design.annotation_columns()],
            targets,
            samples.event,
            options.max_memory,
            targets_mod=samples.targets_mod,
        )
        if output.top is not None and (chosen.selects or wrapper.turf is not None):
            selector.set_params(n_features_to_select=min(output.top, data.table.X.shape[1]))
        scorer.set_params(**_parameters_from_table(scorer, data))
        with names_of_the_file(data, source.transpose):
            try:
                selector.set_params(verbose=report or False).fit(
                    data.table.X, data.table.y, **_of_samples(samples, data)
                )
                test = permuting.test(selector, data.table, design, report)
            except TypeError as error:
                if not options.method_option:  # the types of all others are right
                    raise
                raise ValueError(str(error)) from error
        most = output.top or (ROWS_SHOWN if output.out is None else data.table.X.shape[1])
        clumps = clumping.find(data.table.X, results.ranks_of(selector, test), most, report)
    with signals_as_exits():
        about = asdict(wrapper) | asdict(clumping)
        written = _write_ranking(chosen, selector, data, output, most, about, test, clumps)
    summary = _summary(chosen, selector, data) + (f"; {test.summary()}" if test else "")
    say(summary + (f"; wrote {' and '.join(written)}." if written else "."))
    if output.out is None and not samples.explains_numbers and samples.weights is None:
        _say_next(context.obj or [], most, test, data)


def _say_next(arguments: Sequence[str], most: int, test: Test | None, data: Data) -> None:
    """Say how much of the ranking the terminal shows, and the next command: for p-values, to cut there, or to
    assess.
    """
    n_features = data.table.X.shape[1]
    shown = f"The table has the best {min(most, n_features)} of {n_features} features"
    command = shlex.join(["fastfs", *arguments])
    if test is None:
        say(f"{shown}. For p-values, which tell where to cut: {command} --permutations auto")
    elif test.alpha is None:
        n_significant = np.count_nonzero(test.result.pvalues_max <= _USUAL_ALPHA)
        say(
            f"{shown}; {n_significant} of all have pvalue_max <= {_USUAL_ALPHA}. To cut there: "
            f"{command} --alpha {_USUAL_ALPHA}"
        )
    else:
        words = ["fastfs", "assess", *as_words(data)]
        say(f"How well such features classify new samples: {shlex.join(words)}")


def as_words(data: Data) -> list[str]:
    """Return the file and the options of its reading as words of a command."""
    words = [data.table.source]
    for name, value in data.reading.items():
        if name not in ("annotations", "targets"):
            joined = [",".join(value)] if isinstance(value, list) and name != "ignore" else value
            for one in joined if isinstance(joined, list) else [joined]:
                words += [flag(name)] + [str(one)] * (one is not True)
    return words


def _parameters_from_table(selector: Any, data: Data) -> dict[str, Any]:
    """Return the parameters that depend on the table: numbers of named columns, and the type of an "auto" target."""
    params, parameters = selector.get_params(), {}
    known = data.table.feature_names
    for f in FLAGS:
        if f.columns and isinstance(columns := params.get(f.name), list):
            parameters[f.name] = column_numbers(flag(f.name), columns, len(known), known).tolist()
    if params.get("target_type") == "auto" and data.table.y.dtype.names is None:
        parameters["target_type"] = "number" if data.targets else "class"
    return parameters


def _needs(method: Method, scorer: Any, targets: list[str]) -> list[Needs]:
    """Return the conditions of the options that only some methods use."""
    is_of_times = not method.classes and len(targets) == 1
    return [
        Needs(
            "weights",
            "sample_weight" in signature(scorer.fit).parameters,
            "is for the RELIEF family: choose another --method",
        ),
        Needs("event", is_of_times, "is for --method rrelieff with one column of --targets, the time"),
        Needs("pairs", method.pairs, f"is for --method {_words('pairs')}, the one that finds pairs"),
    ]


def _of_samples(samples: SampleOptions, data: Data) -> dict[str, Any]:
    """Return the arguments of `fit` other than X and y."""
    return {} if samples.weights is None else {"sample_weight": _read_weights(data.table, samples.weights)}


def _times(table: io.Table, event: str) -> Any:
    """Return records of an event (True if it happened) and a time."""
    happened = as_events(table.annotations[event], f"Column '{event}' of '{table.source}'")
    records = np.empty(len(happened), [("event", bool), ("time", np.float64)])
    records["event"], records["time"] = happened, table.y[:, 0]
    return records


def _read_weights(table: io.Table, name: str) -> Any:
    """Return a column of annotations as float64; an error names the first cell that isn't a number."""
    weights = []
    for sample, cell in enumerate(table.annotations[name].tolist()):
        try:
            weights.append(float(cell))
        except (TypeError, ValueError):
            raise ValueError(
                f"Column '{name}' of '{table.source}' must hold numbers; got {cell!r} for sample {sample}: fill it in, "
                "or choose another column"
            ) from None
    return np.array(weights)


def _check_outputs(source: Input, output: Output) -> None:
    """Refuse, before any work, files that could not be written in the end."""
    check_shown(output.out)
    endings = ((output.out, io.RANKING_ENDINGS), (output.pairs, io.TABLE_ENDINGS), (output.plot, PLOT_ENDINGS))
    check_files(source, endings)
    if output.out is not None and output.pairs is not None and io.resolved(output.out) == io.resolved(output.pairs):
        raise ValueError(f"--out and --pairs are the same file '{output.out}': the ranking and the pairs need one each")


def check_files(source: Input, endings: Sequence[tuple[Path | None, Collection[str]]]) -> None:
    """Raise ValueError for output files with a wrong ending or that are inputs, ModuleNotFoundError if a package is
    missing.

    Parquet needs pyarrow, and a picture matplotlib.
    """
    read = (source.file, source.labels, source.covar, source.feature_names)
    inputs = [io.resolved(path) for path in read if path is not None]
    written = [(target, understood) for target, understood in endings if target is not None]
    for target, understood in written:
        io.check_output(target, understood)
        if io.resolved(target) in inputs:
            raise ValueError(f"'{target}' is the input: choose another name to write to")
    target_endings = {target.suffix.lower() for target, _ in written}
    if ".parquet" in target_endings:
        import pyarrow.parquet  # noqa: F401  (if it is missing, say so now and not after the work)
    if target_endings & set(PLOT_ENDINGS):
        import matplotlib.figure  # noqa: F401


def _words(fact: str) -> str:
    *others, last = [word for word, method in METHODS.items() if getattr(method, fact)]
    return f"{', '.join(others)} or {last}" if others else last


def _target_columns(method: Method, source: Input, samples: SampleOptions) -> list[str]:
    """Return the columns of --targets; none for labels or --targets-mod.

    Raise ValueError for a target that the method does not explain, or for two targets.
    """
    if not samples.explains_numbers:
        if not method.classes:
            raise ValueError(f"--method {method.word} explains numbers: give --targets instead of --label")
        return []
    option = "--targets-mod" if samples.targets is None else "--targets"
    targets = [] if samples.targets is None else names(samples.targets, option)
    if not method.targets or source.label is not None or source.classes is not None:
        raise ValueError(f"{option} is for --method {_words('targets')}, without --label and --classes")
    if targets and samples.targets_mod is not None:
        raise ValueError("--targets and --targets-mod are two targets: give one of them")
    return targets


def read_input(
    source: Input,
    annotations: list[str],
    targets: Sequence[str] = (),
    event: str | None = None,
    max_memory: str | None = None,
    of_numbers: str = "",
    targets_mod: str | None = None,
) -> Data:
    """Return the table, with these columns as targets if there are any; annotations aren't features.

    Keep the classes of --classes. `targets_mod` is a modality with the targets, and `event` makes the target times.
    `of_numbers` ends the error about a label that holds numbers: default, the methods of `fastfs score` for them. Raise
    ValueError for --min-class with targets.
    """
    if (targets or targets_mod) and source.min_class:
        option = "--targets" if targets else "--targets-mod"
        raise ValueError(f"--min-class is for classes: leave it out with {option}")
    reading: dict[str, Any] = {"label": targets[0] if targets else source.label} | source.reading()
    reading |= {"annotations": annotations, "targets_mod": targets_mod}
    reading = {name: value for name, value in reading.items() if value}
    table = io.read_table(source.file, **reading, max_memory=max_memory or Run().available())
    if source.classes is not None:
        reading["classes"] = names(source.classes, "--classes")
        table = io.keep_classes(table, reading["classes"])
    if targets_mod is not None:
        return Data(table, reading, list(table.targets))
    if targets:
        reading["targets"] = list(targets)
        table = io.take_targets(table, reading["targets"])
        if event is not None:
            table = replace(table, y=_times(table, event))
    else:
        of_numbers = of_numbers or f"explain them by fastfs score --method {_words('targets')}, with --targets"
        require_few_classes(table.y, f", or {of_numbers} instead of --label")
    return Data(table, reading, list(targets))


def names_of_the_file(data: Data, transposed: bool) -> AbstractContextManager[None]:
    """Let errors name rows and columns as the file does, although X can lack some of its rows and columns."""
    table = data.table
    return naming_of_a_file(table.feature_names, table.rows, table.sample_names, data.targets, transposed=transposed)


def _write_ranking(
    method: Method,
    selector: Any,
    data: Data,
    output: Output,
    most: int,
    options: dict[str, Any],
    test: Test | None,
    clumps: "fastfs.LdClumps | None",
) -> list[str]:
    """Write or print the `most` best features, the pairs and the picture; return the words "3 features to out.csv"."""
    names = data.table.feature_names
    about: dict[str, Any] = {"method": method.word}
    about |= {name: value for name, value in options.items() if value is not None}
    about |= {"parameters": _findings.parameters(selector)} | data.about()
    about |= _findings.form(selector) | _findings.rules(selector)
    about |= {"permutations": test.about()} if test else {}
    pairs = _findings.pairs(selector, names)
    written = []
    if output.out is None:
        print_ranking(results.ranking(selector, names, most, test, clumps, data.table, to_read=True))
        if pairs and output.pairs is None:
            print_pairs(pairs)
    else:
        ranking = results.ranking(selector, names, most, test, clumps, data.table)
        about_ranking = about | _findings.findings(method, selector, names)
        io.write_ranking(output.out, ranking, about_ranking, escape_formulas=output.escape_formulas)
        written.append(f"{len(ranking['rank'])} features to {output.out}")
    if output.pairs is not None:
        io.write_ranking(output.pairs, pairs, about, escape_formulas=output.escape_formulas)
        written.append(f"{len(pairs['rank'])} pairs to {output.pairs}")
    if output.plot is not None:
        bars = min(output.top or ROWS_SHOWN, BARS_AT_MOST, len(names))
        draw_ranking(output.plot, method, selector, names, bars, Path(data.table.source).name, test)
        written.append(f"a picture to {output.plot}")
    return [", ".join(written[:-1])] * (len(written) > 1) + written[-1:]


def _summary(method: Method, selector: Any, data: Data) -> str:
    """Return one sentence without its end: numbers of features and samples, the form of the method, the selection."""
    of_each = [f"{name}: {count}" for name, count in data.samples_of_classes().items()] or [
        f"targets: {some_of(data.targets)}"
    ]
    if len(of_each) > _CLASSES_SHOWN:
        of_each[_CLASSES_SHOWN:] = [f"and {len(of_each) - _CLASSES_SHOWN} classes more"]
    form = _findings.form(selector)
    how = ""
    if form.get("accuracy", "exact") != "exact":
        accuracy = form["accuracy"].replace("_", "-")
        how = f" by {accuracy}" if accuracy == "domains" else f" in the {accuracy} form"
        if "accuracy_reason" in form:
            how += f" ({form['accuracy_reason']})"
    if form.get("graph", "knn") != "knn":
        how = f" on the {form['graph']} graph"
    if getattr(selector, "prefilter_weights_", None) is not None:
        how = f", and the pairs of the {len(selector.kept_features_)} that IM4E kept (the others score 0)"
    if getattr(selector, "sigma", None) == "auto":
        how += f", with sigma = {selector.sigma_:.4g}"
    if (n_selected := getattr(selector, "n_selected_", None)) is not None:
        how += f" and selected {n_selected}"
    if (removed_at := getattr(selector, "removed_at_", None)) is not None:
        how += f" and kept {np.count_nonzero(removed_at == 0)}"
    n_samples, n_features = data.table.X.shape
    title = _findings.title(method, selector)
    matched = f"; {data.table.matching}" if data.table.matching else ""
    return f"{title} scored {n_features} features of {n_samples} samples ({', '.join(of_each)}){how}{matched}"
