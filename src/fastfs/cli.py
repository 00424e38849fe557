"""The command line: ``fastfs score``, ``fastfs demo``, ``fastfs info``."""

import ast
import csv
import difflib
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

import fastfs

from . import io

# Each method's word and its estimator. The estimator's parameters say which of the options the method takes.
METHODS = {
    "manifest": "ManiFeSt",
    "projse": "ProjSe",
    "relief": "Relief",
    "relieff": "ReliefF",
    "multisurf": "MultiSURF",
    "im4e": "IM4E",
    "immigrate": "Immigrate",
    "disc": "DiSC",
    "ikdr": "IKDR",
}

# Rows in the terminal and bars in the plot, unless --top says otherwise. More bars than the second cannot be read.
ROWS_SHOWN = 20
BARS_AT_MOST = 50

# Pairs of features in the terminal.
PAIRS_SHOWN = 10

# The summary names no more classes than this.
CLASSES_SHOWN = 10

# Parameters of the estimators that options of the command set, for every method.
SET_BY_OPTION = {
    "n_features_to_select": "--top",
    "n_jobs": "--threads",
    "max_memory": "--max-memory",
    "verbose": "a terminal, which shows progress by itself",
}

PLOT_ENDINGS = (".png", ".pdf", ".svg")

# The class of usage errors, under this name in old versions of Typer (on Click) and new ones (with a copy of Click).
_UsageError: type[Any] = typer.BadParameter.__bases__[0]

_errors = Console(stderr=True)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def run(arguments: Sequence[str]) -> int:
    """Run one command. Wrong input ends in one sentence on stderr and 2; what is our own fault, in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Greek letters must not stop a ranking that has them.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = app(list(arguments), prog_name="fastfs", standalone_mode=False)
        except _UsageError as error:
            message = error.format_message()
        except typer.Abort:
            raise KeyboardInterrupt from None
        except OSError as error:
            # `io` names the files that it reads and writes.
            used = f"'{error.filename}'" if error.filename else "standard output"
            message = f"Cannot use {used}: {error.strerror or error}"
        except io.TableError as error:
            message = error.spelled(_as_option)
        except (ValueError, MemoryError) as error:
            message = str(error) or "There is not enough memory"
        else:
            if code == 130:  # how newer versions of Typer report Ctrl-C
                raise KeyboardInterrupt
            return code or 0
    _say("Error", "red", message)
    return 2


@app.callback(invoke_without_command=True)
def _fastfs(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Multivariate feature selection for wide data.

    Builds ask for paths by --includes, --cflags, --libs, --cmakedir and --pkgconfigdir.
    """
    if version:
        print(fastfs.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="Samples x features: .csv, .tsv, .txt (tabs) or .mtx, these with .gz; .parquet, .h5ad or .npz.",
            show_default=False,
        ),
    ],
    method: Annotated[str, typer.Option(help=f"How to score: {', '.join(METHODS)}.", show_default=False)],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of the labels: of FILE, of obs in H5AD, or of the file of --labels; with --transpose, "
            "their row; in NPZ, their array (if not given: y).",
        ),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="For projse, in place of --label: columns of numbers to explain."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Labels that stand apart: text, one a line, or with --label a table with header."
        ),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Keep the samples of these classes only. Default: all.")
    ] = None,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="FILE has features in rows, samples in columns.")
    ] = False,
    feature_names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For .mtx: text whose first column names the features. Default: features.tsv beside it.",
        ),
    ] = None,
    layer: Annotated[str | None, typer.Option(metavar="NAME", help="For .h5ad: a layer in place of X.")] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column that is no feature, such as a sample name (with --transpose: or a row); may be repeated.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How many of the best features to keep. Default: all in a file, {ROWS_SHOWN} to look at.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the ranking: .csv, .json or .parquet.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the ranking: .png, .pdf or .svg.")] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For immigrate: write the strongest pairs of features: .csv, .json or .parquet."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Default: every core this process may use.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse to work above it: 4G, 500M, or bytes.")
    ] = None,
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Scale: for manifest median, percentile, grid (compares many), or 0.5,0.7; for projse mean, sqrt_m or "
            "a number; for im4e and immigrate auto or a number.",
        ),
    ] = None,
    sigma_factor: Annotated[
        float | None, typer.Option(metavar="F", help="For manifest: the median distance times this.")
    ] = None,
    sigma_percentile: Annotated[
        float | None, typer.Option(metavar="Q", help="For manifest: this percentile of the distances.")
    ] = None,
    normalize: Annotated[
        int | None, typer.Option(metavar="N", help="For manifest: symmetric normalisations of the kernels, such as 3.")
    ] = None,
    n_components: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="For ikdr: dimensions (default: as many as classes).")
    ] = None,
    lam: Annotated[
        float | None, typer.Option(metavar="L", help="For ikdr: weight of the term that keeps classes apart.")
    ] = None,
    mu: Annotated[float | None, typer.Option(metavar="M", help="For ikdr: weight of interpretability.")] = None,
    tau: Annotated[float | None, typer.Option(metavar="T", help="For ikdr: penalty of a slack variable.")] = None,
    zeta: Annotated[float | None, typer.Option(metavar="Z", help="For ikdr: penalty of the other.")] = None,
    interpretability: Annotated[
        str | None, typer.Option(metavar="TERM", help="For ikdr: laplacian or distance.")
    ] = None,
    solver: Annotated[str | None, typer.Option(metavar="NAME", help="For ikdr: projected_gradient or admm.")] = None,
    width: Annotated[
        str | None, typer.Option(metavar="RULE", help="For ikdr: mean_squared, mean, or the width of the kernels.")
    ] = None,
    method_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Any parameter of the method's estimator, as in Python; may be repeated."
        ),
    ] = None,
) -> None:
    """Rank the features of FILE: a table on the terminal, or a file with --out, a picture with --plot."""
    method = method.lower()  # ReliefF is how it is written
    if method not in METHODS:
        raise ValueError(f"There is no method '{method}': choose one of {', '.join(METHODS)}")
    if pairs is not None and method != "immigrate":
        raise ValueError("--pairs is for --method immigrate, the one that finds pairs")
    for target, endings in ((out, io.RANKING_ENDINGS), (pairs, io.RANKING_ENDINGS), (plot, PLOT_ENDINGS)):
        if target is not None:
            io.check_output(target, endings)
            if target.resolve() in [source.resolve() for source in (file, labels, feature_names) if source is not None]:
                raise ValueError(f"'{target}' is the input; choose another name to write to")
    if out is not None and pairs is not None and out.resolve() == pairs.resolve():
        raise ValueError(f"--out and --pairs are the same file '{out}': the ranking and the pairs need one each")
    if any(target is not None and target.suffix.lower() == ".parquet" for target in (out, pairs)):
        import pyarrow.parquet  # noqa: F401  (missing? then say so now, not after the work)
    if plot is not None:
        import matplotlib.figure  # noqa: F401

    options = {"sigma": sigma, "sigma_factor": sigma_factor, "sigma_percentile": sigma_percentile}
    options |= {"normalize": normalize, "n_jobs": threads, "max_memory": max_memory}
    options |= {"n_components": n_components, "lam": lam, "mu": mu, "tau": tau, "zeta": zeta}
    options |= {"interpretability": interpretability, "solver": solver, "width": width}
    options = {name: value for name, value in options.items() if value is not None}
    selector = _selector(method, options, method_option or [])
    explained = _names(targets, "--targets") if targets is not None else []
    if explained and (method != "projse" or label is not None or classes is not None):
        raise ValueError("--targets is for --method projse, without --label and --classes")
    if explained:
        label = explained[0]

    reading: dict[str, Any] = {"label": label, "labels": labels, "ignore": ignore, "transpose": transpose}
    reading |= {"feature_names": feature_names, "layer": layer}
    reading = {name: value for name, value in reading.items() if value}
    with _progress(f"reading {file.name}") as report:
        table = io.read_table(file, **reading)
        if classes is not None:
            reading["classes"] = _names(classes, "--classes")
            table = io.keep_classes(table, reading["classes"])
        if explained:
            reading["targets"] = explained
            table = io.take_targets(table, explained)
        else:
            _require_classes(table.y)
        if method == "projse" and top is not None:  # which it keeps, while others rank all
            selector.set_params(n_features_to_select=min(top, table.X.shape[1]))
        try:
            selector.set_params(verbose=report or False).fit(table.X, table.y)
        except ValueError as error:
            raise ValueError(_with_names(str(error), table.feature_names, transpose)) from error
        except TypeError as error:
            if any(re.search(rf"\b{name}\b", str(error)) for name in _options(method, method_option or [])):
                raise ValueError(str(error)) from error
            raise

    samples_of = {}
    if not explained:
        found, counts = np.unique(table.y, return_counts=True)
        samples_of = {str(name): count for name, count in zip(found.tolist(), counts.tolist(), strict=True)}
    n_samples, n_features = table.X.shape
    names = ("accuracy", "accuracy_reason", "graph", "graph_reason")
    form: dict[str, Any] = {name: value for name in names if (value := getattr(selector, f"{name}_", None))}
    n_selected = getattr(selector, "n_selected_", None)
    found_pairs = _pairs(selector, table.feature_names)
    parameters = {
        name: "inf" if isinstance(value, float) and value == np.inf else value  # which JSON has no number for
        for name, value in selector.get_params().items()
        if name != "verbose"
    }
    about = {"method": method, "parameters": parameters, "version": fastfs.__version__, "source": table.source}
    about |= {"reading": reading, "n_samples": n_samples, "n_features": n_features, "classes": samples_of, **form}
    for name in ("sigma", "center"):  # parameters that may be rules
        used = getattr(selector, f"{name}_", None)
        if used is not None:
            about[name] = np.asarray(used).tolist()
    if out is None:
        _print_ranking(_ranking(selector, table.feature_names, top or ROWS_SHOWN, to_read=True))
        if found_pairs and pairs is None:
            _print_pairs(found_pairs)
    with _signals_as_exits():
        if out is not None:
            more = {
                **_sensitivity(selector),
                **_significance(selector, table.feature_names),
                **_dimensions(selector),
            }
            if n_selected is not None:
                more["n_selected"] = n_selected
            if found_pairs:
                more["pairs"] = [
                    dict(zip(found_pairs, row, strict=True)) for row in zip(*found_pairs.values(), strict=True)
                ]
            io.write_ranking(out, _ranking(selector, table.feature_names, top or n_features), about | more)
        if pairs is not None:
            io.write_ranking(pairs, found_pairs, about)
        if plot is not None:
            bars = min(top or ROWS_SHOWN, BARS_AT_MOST, n_features)
            _draw(plot, selector, table.feature_names, bars, f"{METHODS[method]}: {file.name}")

    written = [f"{min(top or n_features, n_features)} features to {out}"] if out else []
    written += [f"{len(found_pairs['rank'])} pairs to {pairs}"] if pairs else []
    written += [f"a picture to {plot}"] if plot else []
    written = [", ".join(written[:-1])] * (len(written) > 1) + written[-1:]
    of_each = [f"{name}: {count}" for name, count in samples_of.items()] or [f"targets: {', '.join(explained)}"]
    if len(of_each) > CLASSES_SHOWN:
        of_each[CLASSES_SHOWN:] = [f"and {len(of_each) - CLASSES_SHOWN} classes more"]
    approximated = ""
    if form.get("accuracy", "exact") != "exact":
        approximated = f" in the {form['accuracy']} form"
        if "accuracy_reason" in form:
            approximated += f" ({form['accuracy_reason']})"
    if form.get("graph", "dense") != "dense":
        approximated = f" on the {form['graph']} graph ({form['graph_reason']})"
    if getattr(selector, "prefilter_weights_", None) is not None:
        approximated = f", and the pairs of the {len(selector.kept_features_)} that IM4E kept (the others score 0)"
    if getattr(selector, "sigma", None) == "auto":
        approximated += f", with sigma = {selector.sigma_:.4g}"
    _errors.print(
        f"{METHODS[method]} scored {n_features} features of {n_samples} samples ({', '.join(of_each)})"
        + approximated
        + (f" and selected {n_selected}" if n_selected is not None else "")
        + (f"; wrote {' and '.join(written)}." if written else "."),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The picture: .png, .pdf or .svg.")] = Path(
        "fastfs_demo.png"
    ),
) -> None:
    """Tell fours from nines: rank the pixels of handwritten digits, and draw what each method sees."""
    io.check_output(out, PLOT_ENDINGS)
    import matplotlib.figure  # noqa: F401

    from . import demo as digits

    with _signals_as_exits(), _progress("digits") as report:
        selectors = digits.draw(out, report)
    for method, selector in selectors.items():
        _print_ranking(
            _ranking(selector, digits.FEATURE_NAMES, 10),
            title=f"{METHODS[method]}: the pixels that tell a 4 from a 9, the best 10 of 64",
        )
    _errors.print(f"Wrote {out}.", markup=False, highlight=False, soft_wrap=True)


@app.command()
def info() -> None:
    """Say what fastfs found on this machine, and measure how fast it is (about a second)."""
    grid = RichTable.grid(padding=(0, 2))
    for name, value in fastfs.info(ceilings=True).items():
        grid.add_row(*map(Text, _readable(name, value)))
    _output().print(grid)


def _selector(method: str, options: dict[str, Any], method_options: Sequence[str]) -> Any:
    """The method's estimator, with the options that were given."""
    estimator = getattr(fastfs, METHODS[method])
    own = estimator().get_params()
    for name in options:
        if name not in own or (name == "normalize" and isinstance(own[name], bool)):  # a number here
            raise ValueError(f"Method '{method}' has no option --{name.replace('_', '-')}")
    if method == "manifest" and "," in options.get("sigma", ""):
        try:
            options["sigma"] = tuple(float(number) for number in options["sigma"].split(","))
        except ValueError as error:
            raise ValueError(f"--sigma needs numbers around its comma, not '{options['sigma']}'") from error
    for name in ("sigma", "width"):
        if name in options and method != "manifest":
            with suppress(ValueError):
                options[name] = float(options[name])
    for name, value in _options(method, method_options).items():
        if name in options:
            raise ValueError(f"--{name.replace('_', '-')} and --method-option {name} are the same: give one of them")
        options[name] = value
    for name, value in (("groups", "all"), ("kernel", "precomputed")):
        if method == "ikdr" and options.get(name) == value:
            raise ValueError(f"--method-option {name}={value} leaves no features to rank: use it from Python")
    # Each of the two is read under its own rule only, and an option without effect would mislead.
    for name, rules in (("sigma_factor", ("median", "grid")), ("sigma_percentile", ("percentile",))):
        if name in options and options.setdefault("sigma", rules[0]) not in rules:
            raise ValueError(f"--{name.replace('_', '-')} needs --sigma {rules[0]}, not --sigma {options['sigma']}")
    return estimator(**options)


def _options(method: str, texts: Sequence[str]) -> dict[str, Any]:
    """The NAME=VALUE of --method-option, with values as Python reads them, or else as text."""
    known = sorted(getattr(fastfs, METHODS[method])().get_params().keys() - SET_BY_OPTION.keys())
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"--method-option needs NAME=VALUE, not '{text}'")
        if name in SET_BY_OPTION:
            raise ValueError(f"--method-option cannot set {name}: that is for {SET_BY_OPTION[name]}")
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise ValueError(f"Method '{method}' has no parameter '{name}' (it has {', '.join(known)}){hint}")
        if name in options:
            raise ValueError(f"--method-option {name} is given twice")
        try:
            options[name] = ast.literal_eval(value.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            options[name] = value.strip()
    return options


def _sensitivity(selector: Any) -> dict[str, Any]:
    """What a grid of scales found, but for the scores, one entry a scale."""
    if not hasattr(selector, "sensitivity_"):
        return {}
    names = ("scale", "normalize", "spearman_next", "overlap_next", "contrast")
    rows = zip(*(selector.sensitivity_[name] for name in names), strict=True)
    # JSON has no NaN: the last scale of each row has no next one.
    plain = [[value.item() if hasattr(value, "item") else value for value in row] for row in rows]
    return {
        "sensitivity": [
            {name: None if value != value or value == np.inf else value for name, value in zip(names, row, strict=True)}
            for row in plain
        ]
    }


def _significance(selector: Any, feature_names: Sequence[str]) -> dict[str, Any]:
    """What DiSC says of each class."""
    if not hasattr(selector, "significance_"):
        return {}
    names = ("significance", "trivial", "n_differential", "ratio", "gap", "n_connected_components")
    found: dict[str, Any] = {}
    for s, label in enumerate(selector.classes_):
        found[str(label)] = {name: getattr(selector, f"{name}_")[s].tolist() for name in names}
        if hasattr(selector, "groups_"):
            groups = selector.groups_[s]
            members = [np.flatnonzero(groups == group).tolist() for group in range(groups.max() + 1)]
            found[str(label)]["groups"] = [[feature_names[j] for j in group] for group in members]
    return {"disc": found}


def _dimensions(selector: Any) -> dict[str, Any]:
    """What I-KDR says of its dimensions."""
    if not hasattr(selector, "class_profile_"):
        return {}
    profile = zip(selector.classes_, selector.class_profile_.tolist(), strict=True)
    names = ("interpretability", "objective", "similarity", "n_iter", "converged")
    return {
        "ikdr": {name: getattr(selector, f"{name}_") for name in names}
        | {"class_profile": {str(label): shares for label, shares in profile}}
    }


def _names(text: str, option: str) -> list[str]:
    if not text.strip():
        raise ValueError(f"{option} needs names with commas between them")
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def _require_classes(labels: Any) -> None:
    """Refuse numbers of which nearly every sample has its own: a measurement, which no method can take for classes."""
    different = np.unique(labels)
    if len(different) <= max(20, len(labels) / 2):
        return
    try:
        different.astype(float)
    except ValueError:
        return
    raise ValueError(
        f"The labels are {len(different)} different numbers for {len(labels)} samples, such as {different[0]}, and no "
        "classes: bin them first, or explain them by --method projse with --targets in place of --label"
    )


def _ranking(selector: Any, feature_names: Sequence[str], top: int, *, to_read: bool = False) -> dict[str, list[Any]]:
    """The best features as columns; those of single classes are for a file, or summed up to be read."""
    order = np.argsort(selector.ranking_)[:top]
    ranking = {
        "rank": selector.ranking_[order].tolist(),
        "feature": [feature_names[j] for j in order],
        "index": order.tolist(),
        "score": selector.scores_[order].tolist(),
    }
    if hasattr(selector, "selected_"):
        n_selected = selector.n_selected_
        ranking["selected"] = ["yes" if rank <= n_selected else "no" for rank in ranking["rank"]]
        # Of the others there are none.
        steps = {"score when selected": selector.selection_scores_}
        if not to_read:
            steps = {
                "selection_score": selector.selection_scores_,
                "gap": selector.gaps_,
                "captured": selector.captured_,
            }
        for name, values in steps.items():
            ranking[name] = [*values[: len(order)].tolist(), *[None] * max(0, len(order) - n_selected)]
    class_scores = getattr(selector, "class_scores_", None)
    if class_scores is None or len(selector.classes_) <= 2:
        return ranking
    names = [str(name) for name in selector.classes_]
    if to_read:
        return ranking | {"highest in": [names[k] for k in class_scores[:, order].argmax(axis=0)]}
    return ranking | {f"score_{name}": row.tolist() for name, row in zip(names, class_scores[:, order], strict=True)}


def _pairs(selector: Any, feature_names: Sequence[str]) -> dict[str, list[Any]]:
    """The strongest pairs of features as columns, if the method has any."""
    found = getattr(selector, "interactions_", None)
    if found is None:
        return {}
    return {
        "rank": list(range(1, len(found) + 1)),
        "feature_a": [feature_names[j] for j in found["a"]],
        "feature_b": [feature_names[j] for j in found["b"]],
        **{name: found[field].tolist() for name, field in (("index_a", "a"), ("index_b", "b"))},
        **{name: found[name].tolist() for name in ("weight", "residual")},
    }


def _print_pairs(pairs: Mapping[str, Sequence[Any]]) -> None:
    table = RichTable(title="the strongest pairs of features", title_justify="left", title_style="bold")
    shown = [name for name in pairs if not name.startswith("index")]
    for name in shown:
        table.add_column(name, justify="left" if name.startswith("feature") else "right", overflow="fold")
    for row in list(zip(*(pairs[name] for name in shown), strict=True))[:PAIRS_SHOWN]:
        table.add_row(*(Text(f"{cell:.6g}" if isinstance(cell, float) else str(cell)) for cell in row))
    _output().print(table)


def _print_ranking(ranking: Mapping[str, Sequence[Any]], title: str | None = None) -> None:
    table = RichTable(title=title, title_justify="left", title_style="bold")
    for name in ranking:
        table.add_column(name, justify="left" if name in ("feature", "highest in") else "right", overflow="fold")
    table.add_column("share of the best score", no_wrap=True)
    output = _output()
    block = "█" if output.encoding.startswith("utf") else "#"
    best = max(ranking["score"])
    for row in zip(*ranking.values(), strict=True):
        cells = [f"{v:.6g}" if isinstance(v, float) else "" if v is None else str(v) for v in row]
        bar = block * round(20 * ranking["score"][len(table.rows)] / best) if best > 0 else ""
        table.add_row(*map(Text, cells), Text(bar, style="cyan"))
    output.print(table)


def _draw(path: Path, selector: Any, feature_names: Sequence[str], bars: int, title: str) -> None:
    from matplotlib.figure import Figure

    from . import pl

    # A Figure of its own, not pyplot's: no window system and no state that outlives the picture.
    height = 1.4 + 0.25 * bars
    if hasattr(selector, "interactions_"):
        # Subfigures, so that long names below the map take no height from the bars.
        figure = Figure(figsize=(10.5 + height, max(height, 4.0) + 1.2), layout="constrained")
        halves = figure.subfigures(1, 2, squeeze=False, width_ratios=(8, 2.5 + height))[0]
        left, right = (half.add_subplot() for half in halves)
        pl.interactions(selector, feature_names, top=bars, ax=right, title="weights of pairs")
    elif hasattr(selector, "significance_"):
        figure = Figure(figsize=(13, max(height, 4.0)), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(8, 5))
        pl.significance(selector, ax=right, title="how many vectors matter")
    elif hasattr(selector, "class_profile_"):
        figure = Figure(figsize=(13, max(height, 4.0)), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(8, 5))
        pl.class_profile(selector, ax=right, title="classes of each dimension")
    else:
        figure = Figure(figsize=(8, height), layout="constrained")
        left = figure.add_subplot()
    n_selected = getattr(selector, "n_selected_", None)
    how = {"ranks": selector.ranking_, "n_selected": n_selected, "title": title}
    pl.ranking(selector.scores_, feature_names, top=bars, ax=left, **how)
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)


@contextmanager
def _signals_as_exits() -> Iterator[None]:
    """While files are written, let SIGTERM and SIGHUP leave the block as SystemExit does, so that it is cleaned up.

    Elsewhere they end the process at once, also within a long call of a library.
    """

    def leave(number: int, _: Any) -> None:
        for other in ours:  # a terminal that closes may send both: the first one's clean-up goes on
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    # Windows has no SIGHUP; Python handles signals in the main thread only; nohup has SIGHUP ignored, which must last.
    ours = [
        getattr(signal, name)
        for name in ("SIGTERM", "SIGHUP")
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread()
    ]
    ours = [number for number in ours if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, leave)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _progress(first_step: str) -> Iterator[Callable[[str, float], None] | None]:
    """A callback that moves a progress bar, or None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_errors, transient=True) as bar:
        task = bar.add_task(first_step, total=None)
        yield lambda step, fraction: bar.update(task, description=step, total=1.0, completed=fraction)


def _output() -> Console:
    # A pipe has no width, and a name cut short there could not be used.
    return Console() if sys.stdout.isatty() else Console(width=10_000)


def _say(kind: str, colour: str, message: str) -> None:
    sentence = " ".join(message.split())
    if sentence[-1:] not in ".?!":  # an error is raised without
        sentence += "."
    _errors.print(Text.assemble((f"{kind}: ", f"bold {colour}"), sentence), soft_wrap=True)


def _as_option(parameter: io.Parameter) -> str:
    """A parameter of `io.read_table` as the option of the same name."""
    option = f"--{parameter.name.replace('_', '-')}"
    if parameter.value is None or parameter.value is True:
        return option
    values = parameter.value if isinstance(parameter.value, list) else [parameter.value]
    return " ".join(f"{option} '{value}'" for value in values)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say("Warning", "yellow", str(message))


def _with_names(message: str, feature_names: Sequence[str], transposed: bool) -> str:
    """The core knows the columns of X by number; say their names too, and what they are in the file."""
    if transposed:
        message = re.sub(r"\brow (\d+), column (\d+)", r"sample \1, feature \2", message)

    def named(match: re.Match[str]) -> str:
        index = int(match[1])
        return f"{match[0]} '{feature_names[index]}'" if index < len(feature_names) else match[0]

    return re.sub(r"\b(?:column|feature) (\d+)", named, message)


def _readable(name: str, value: Any) -> tuple[str, str]:
    """An entry of `fastfs.info` as words and value with unit; the last word of its key is the unit, if it is one."""
    words, _, unit = name.rpartition("_")
    if unit in _UNITS:
        return words.replace("_", " "), f"{value:.3g} {_UNITS[unit]}"
    words = name.replace("_", " ")
    if value is None:
        return words, "none found"
    return words, f"{value / 2**30:.1f} GiB" if "memory" in name else str(value)


_UNITS = {"gflops": "GFLOP/s", "gelems": "billion/s", "gbytes": "GB/s"}
