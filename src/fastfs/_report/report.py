"""`fastfs.report`: rank by several methods, test the rankings, and write one page."""

import csv
import html
import importlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from fastfs import io
from fastfs._inference.consensus import consensus
from fastfs._inputs.entry import entry
from fastfs._machine.params import RANDOM_STATE, as_int, as_permutations, as_seed
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, as_jobs, as_progress
from fastfs._methods import METHODS, REPORTED
from fastfs._report.data import Data, file_sha256
from fastfs._report.study import Plan, Study, agreement, collected, interactions, json_value, new_samples
from fastfs._types import Integers, Progress

# Version of the layout of the JSON, for programs that read it.
LAYOUT = 1


@result_class
class Report(DrawnResult):
    """The page of :func:`fastfs.report` and its numbers. A notebook shows the page.

    Parameters
    ----------
    numbers : dict
        Everything that the page shows, as in the JSON file: ``arguments`` and ``command``, which repeat the run,
        ``input``, ``environment``, ``data``, ``methods`` (one dict per method, with ``ranking``, ``permutation_test``,
        ``shuffled_twin``, ``stability``, ``sensitivity``, ``findings`` and ``warnings``), ``agreement``, ``text`` and
        ``references``. ``new_samples`` has the rows of :func:`fastfs.assess`, ``pairs`` those of
        :func:`fastfs.interaction_scan`.
    table : dict of str to list
        Columns with one value per feature, as in the CSV file: its direction, and ranks, scores, p-values and
        frequencies by each method.
    html : str
        The page, which needs no other file and no network.

    Examples
    --------
    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> result = fastfs.report(X, y, methods=("multisurf", "projse"), n_permutations=19, n_subsamples=10)
    >>> result.numbers["methods"][0]["ranking"][0]["feature"]
    'proline'
    """

    numbers: dict[str, Any]
    table: dict[str, list[Any]] = field(repr=False)
    html: str = field(repr=False)

    _picture = "consensus"

    def _table(self) -> dict[str, Any]:
        return self.table

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        by_method = {name.removesuffix("_rank"): name for name in self.table if name.endswith("_rank")}
        ranked = consensus({word: -np.asarray(self.table[name]) for word, name in by_method.items()})
        return ranked, {"feature_names": self.table["feature"]}

    def _best(self, table: dict[str, Any]) -> Integers:
        ranks = [values for name, values in table.items() if name.endswith("_rank")]
        return super()._best({"rank": ranks[0]})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, and its numbers next to it as ``.json`` and ``.csv``: all three files, or none.

        Parameters
        ----------
        path : path
            Ends in ``.html`` or ``.htm``.
        """
        page, numbers, table = report_files(path)
        with io.replacing(page) as a, io.replacing(numbers) as b, io.replacing(table) as c:
            a.write_text(self.html, encoding="utf-8", newline="\n")
            b.write_text(io.printable(as_json(self.numbers)), encoding="utf-8", newline="\n")
            with open(c, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(self.table)
                writer.writerows(zip(*self.table.values(), strict=True))

    def _repr_html_(self) -> str:
        # A frame separates the styles of the page from those of the notebook.
        page = html.escape(self.html)
        return f'<iframe title="fastfs report" style="width:100%;height:48rem" srcdoc="{page}"></iframe>'


@entry
def report(
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    methods: Collection[str] = REPORTED,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    blocks: Any = None,
    groups: Any = None,
    covariates: Any = None,
    feature_groups: Any = None,
    top: int = 20,
    n_permutations: int | str = "auto",
    n_subsamples: int = 50,
    n_repeats: int = 1,
    n_pairs: int = 10,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    reading: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    verbose: bool | Progress = False,
) -> Report:
    """Rank the features by several methods, test the rankings, and put everything on one page.

    Parameters
    ----------
    X : path, or array-like, DataFrame, sparse or Genotypes of shape (n_samples, n_features)
        A path is read by :func:`fastfs.io.read_table`; only such a report can be repeated from its JSON file.
    y : array-like of shape (n_samples,), or str
        Labels; with a path, the name of their column.
    feature_names : sequence of str, optional
        For arrays; default: the column names of X, or ``x0``, ``x1``, ...
    methods : collection of str
        Two or more words of the command line, such as "multisurf", "manifest", "projse", "immigrate" and "disc".
    params : mapping of str to mapping, optional
        Parameters of the methods' estimators, such as ``{"disc": {"n_groups": 4}}``.
    blocks, groups, covariates : array-like, optional
        As for :func:`fastfs.permutation_test`; with a path, names of columns (of covariates a list). Subsamples follow
        blocks and groups.
    feature_groups : path, or dict of names and lists of features, optional
        Groups of features to test as wholes by each method, as for :func:`fastfs.permutation_test`: a GMT file, which
        may name other features, too; for arrays also a dict.
    top : int
        Number of best features that are shown, selected from each subsample, and compared between methods; at most
        half of the features are selected.
    n_permutations : int or "auto"
        As for :func:`fastfs.permutation_test`; 0: no p-values.
    n_subsamples : int
        As for :func:`fastfs.stability`.
    n_repeats : int
        How often folds are dealt, as for :func:`fastfs.assess`; 0: nothing about new samples.
    n_pairs : int
        How many of the strongest pairs of features to show, as :func:`fastfs.interaction_scan` finds them among up to
        20,000 features, with 99 permutations at most; 0: nothing about pairs. 100 samples x 20,000 features take
        about 70 s of CPU time, half of the features a fourth.
    random_state : int, Generator, RandomState or None
        Seed of permutations, subsamples and estimators.
    <rng>
    reading : mapping, optional
        With a path: further arguments of :func:`fastfs.io.read_table`, and ``classes``, a list of the classes to keep.
    n_jobs, max_memory
        As for the estimators. The numbers don't depend on `n_jobs`.
    verbose : bool or callable
        As for :func:`fastfs.permutation_test`.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        Fewer than two methods, an unknown one, or one that explains numbers only; what the estimators raise about X
        and y; a missing value in a column of the design.
    TypeError
        `feature_groups` is a dict though X is a path.
    ModuleNotFoundError
        Without jinja2 or matplotlib, which the extra ``[report]`` brings.

    Warns
    -----
    fastfs.DataWarning
        Warnings of the methods and tests, which the page says, too.

    Notes
    -----
    If a design or a method can't have p-values, frequencies or other scales, the page says why in their place. Two
    reports of the same data in the same environment are the same to the byte; they hold no date.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(40, 30)), np.repeat(["case", "control"], 20)
    >>> X[:20, 3] += 4
    >>> result = fastfs.report(X, y, methods=("multisurf", "projse"), n_subsamples=20)
    >>> best = result.numbers["methods"][0]["ranking"][0]
    >>> best["feature"], best["pvalue_max"], best["frequency"]
    ('x3', 0.001, 1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(pathlib.Path(folder, "report.html"))
    ...     print(*sorted(path.name for path in pathlib.Path(folder).iterdir()))
    report.csv report.html report.json
    """
    require_packages()
    is_file = isinstance(X, str | os.PathLike)
    if feature_groups is not None:
        if n_permutations == 0:
            raise ValueError("feature_groups must be None with n_permutations=0, which tests nothing: give some")
        if is_file and not isinstance(feature_groups, str | os.PathLike):
            kind = type(feature_groups).__name__
            raise TypeError(f"feature_groups must be the path of a GMT file if X is a path; got {kind}: write one")
    plan = Plan(
        methods=_checked(methods),
        params={str(word): dict(given) for word, given in (params or {}).items()},
        top=as_int("top", top, low=1),
        n_permutations=n_permutations if n_permutations == "auto" else as_permutations(n_permutations, low=0)[0],
        n_subsamples=as_int("n_subsamples", n_subsamples, low=2),
        n_repeats=as_int("n_repeats", n_repeats, low=0),
        n_pairs=as_int("n_pairs", n_pairs, low=0),
        random_state=as_seed(random_state),
        n_jobs=as_jobs(n_jobs),
        max_memory=max_memory,
    )
    for word in plan.params:
        if word not in plan.methods:
            chosen = ", ".join(plan.methods)
            raise ValueError(
                f"params must name methods of the report ({chosen}); got '{word}': add it to methods, or leave it out"
            )
    say: Any = as_progress(verbose) or _nothing
    run = Run(0, max_memory)
    if is_file:
        if feature_names is not None:
            raise ValueError(
                "feature_names is for arrays: a file names its features itself, or `reading` gives a file of names"
            )
        say("reading", 0.0)
        covariates = [covariates] if isinstance(covariates, str) else list(covariates or [])
        data = Data.from_file(Path(X), y, blocks, groups, covariates, reading, run)
    else:
        if reading:
            raise ValueError("reading is for a path: leave it out if X is an array")
        data = Data.given(X, y, feature_names, blocks, groups, covariates, run)
    with collected() as said:
        data = data.with_groups(feature_groups)
    arguments = {
        "source": data.source,
        "label": y if is_file else None,
        "reading": dict(sorted((reading or {}).items())),
        "blocks": blocks if is_file else None,
        "groups": groups if is_file else None,
        "covariates": covariates if is_file else None,
        "feature_groups": os.fspath(feature_groups) if isinstance(feature_groups, str | os.PathLike) else None,
    }
    return _make(data, plan, arguments, said, say)


def _make(data: Data, plan: Plan, arguments: dict[str, Any], said: list[str], say: Progress) -> Report:
    """Run all studies, and put numbers, figures and tables together; a wrong parameter ends it before any work."""
    from fastfs._report.figures import Figures
    from fastfs._report.page import page
    from fastfs._report.prose import command, environment, methods_paragraph

    for word in plan.methods:
        plan.make(word, data)  # a parameter that is wrong ends the report before any work
    numbers: dict[str, Any] = {"report": LAYOUT}
    arguments |= {name: getattr(plan, name) for name in ("methods", "params", "top", "n_permutations", "n_subsamples")}
    arguments |= {"n_repeats": plan.n_repeats, "n_pairs": plan.n_pairs}
    numbers["arguments"] = json_value(arguments | {"random_state": plan.random_state})
    numbers["command"] = command(numbers["arguments"])
    numbers["input"] = {"file_sha256": None if data.source is None else file_sha256(data.source)}
    numbers["input"]["sha256"] = data.sha256()
    numbers["environment"] = environment(plan.n_jobs)
    numbers["data"] = json_value(data.card() | {"warnings": said})
    numbers["n_selected"] = plan.n_selected(data)
    studies = [Study.make(word, data, plan, say) for word in plan.methods]
    numbers["methods"] = [study.as_dict(data, plan.top) for study in studies]
    numbers["agreement"] = agreement(studies, data, plan.n_selected(data), plan.top)
    numbers["new_samples"], assessed = new_samples(studies, data, plan, say)
    numbers["pairs"], scan = interactions(data, plan, say)
    numbers["text"], numbers["references"] = methods_paragraph(numbers)
    say("figures", 0.0)
    drawer = Figures()
    figures: dict[str, Any] = {study.word: drawer.draw_study(study, data.names, plan.top) for study in studies}
    if assessed is not None:
        figures["new_samples"] = drawer.new_samples(assessed)
    if scan is not None and len(scan.pairs):
        figures["pairs"] = drawer.pairs(scan, data.X, data.y)
    figures["consensus"] = drawer.consensus(studies, data.names, plan.top)
    table: dict[str, list[Any]] = {"feature": data.names, "index": list(range(len(data.names)))}
    table |= {name: values.tolist() for name, values in data.directions.items()}
    for study in studies:
        table |= {f"{study.word}_{name}": values.tolist() for name, values in study.feature_columns().items()}
    return Report(numbers, table, io.printable(page(numbers, figures)))


def report_files(path: str | os.PathLike[str]) -> tuple[Path, Path, Path]:
    """Return the paths of the page, its JSON and its CSV; raise ValueError if one of them can't be written."""
    path = Path(path)
    io.check_output(path, (".html", ".htm"))
    others = path.with_suffix(".json"), path.with_suffix(".csv")
    for other in others:
        io.check_output(other, (other.suffix,))
    return path, *others


def as_json(numbers: Mapping[str, Any]) -> str:
    return json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def require_packages() -> None:
    """Raise ModuleNotFoundError, before any work, if a package of the extra is missing."""
    for name in ("jinja2", "matplotlib"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"a report needs {name}, which is not installed; get it with "
                "python -m pip install 'scikit-fastfs[report]'",
                name=name,
            ) from error


def _checked(methods: Collection[str]) -> list[str]:
    """Return the methods in lower case: two or more different methods that compare classes.

    Raise ValueError for others, TypeError for a string.
    """
    if isinstance(methods, str):
        raise TypeError(f"methods must be a list of words; got the string {methods!r}")
    words = [str(word).lower() for word in methods]
    for word in words:
        if word not in METHODS:
            raise ValueError(f"There is no method '{word}': choose from {', '.join(METHODS)}")
        if not METHODS[word].classes:
            raise ValueError(f"Method '{word}' explains numbers, but a report compares classes: choose other methods")
    if len(set(words)) < 2 or len(set(words)) < len(words):
        raise ValueError(f"methods must name two or more different methods; got {', '.join(words) or 'none'}")
    return words


def _nothing(step: str, share: float) -> None:
    """Show no progress."""
