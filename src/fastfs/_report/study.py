"""The numbers of a report: rankings, their tests and stability, and the agreement between methods."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fastfs import _findings
from fastfs._functions.agreement import kernel_alignment
from fastfs._functions.interactions import InteractionScan, interaction_scan
from fastfs._inference.assessment import AssessResult
from fastfs._inference.consensus import consensus
from fastfs._inference.folds import Folds
from fastfs._inference.permutation import PermutationResult, permutation_test, silence_warnings
from fastfs._inference.stability import StabilityResult, stability
from fastfs._inference.twin import TwinResult, shuffled_twin
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.labels import encode_labels
from fastfs._inputs.storage import dense
from fastfs._machine.errors import naming, naming_of_a_file
from fastfs._machine.params import some_of
from fastfs._machine.run import count_threads
from fastfs._methods import FLAGS, METHODS, Method
from fastfs._report.data import Data, digest
from fastfs._types import Array, Integers, Progress

T = TypeVar("T")

# Factors by which a report changes the scale of a method.
_FACTORS = (0.5, 2.0)

# The most features that are searched for pairs that interact, and the most labelings of that search.
_FEATURES_OF_PAIRS, _LABELINGS_OF_PAIRS = 20_000, 99

# Number of folds for new samples; fewer units have a fold each.
_N_SPLITS = 5


@dataclass(frozen=True)
class Plan:
    """Methods and settings that the caller of a report chose."""

    methods: list[str]
    params: dict[str, dict[str, Any]]
    top: int
    n_permutations: int | str
    n_subsamples: int
    n_repeats: int
    n_pairs: int
    random_state: int
    n_jobs: int | None
    max_memory: int | str | None

    def n_selected(self, data: Data) -> int:
        """Return the number of features that each method selects: `top`, but at most half of the features."""
        return int(min(self.top, max(1, data.X.shape[1] // 2)))

    def make(self, word: str, data: Data) -> Any:
        """Make the estimator of a method with the settings of the plan; raise ValueError for a parameter that it
        doesn't have.

        Parameters of the caller come last. Names of columns become numbers, and target_type="auto" becomes
        "class".
        """
        from fastfs._estimators.methods import ESTIMATORS  # needs scikit-learn

        method = METHODS[word]
        selector: Any = ESTIMATORS[method.estimator]()
        params = selector.get_params()
        settings = {"n_jobs": self.n_jobs, "max_memory": self.max_memory, "random_state": self.random_state}
        if not method.selects:  # such a method knows how many features it can tell apart
            settings["n_features_to_select"] = self.n_selected(data)
        settings |= dict(method.reported)
        if params.get("target_type") == "auto":  # a report compares classes, also if they are numbers
            settings["target_type"] = "class"
        settable = [name for name in params if name not in ("n_jobs", "max_memory", "n_features_to_select", "verbose")]
        for name in self.params.get(word, {}):
            if name not in settable:
                raise ValueError(
                    f"Method '{word}' has no parameter '{name}' that a report can set; it has {some_of(settable)}"
                )
        settings |= self.params.get(word, {})
        for flag in FLAGS:  # estimators know columns of arrays by number
            if flag.columns and isinstance(columns := settings.get(flag.name), list):
                settings[flag.name] = column_numbers(flag.name, columns, len(data.names), data.names).tolist()
        return selector.set_params(**{name: value for name, value in settings.items() if name in params})


@dataclass(frozen=True)
class Study:
    """Results of one method on the data. A result that isn't available is None, and `reasons` tells why."""

    method: Method
    selector: Any
    test: PermutationResult | None
    twin: TwinResult | None
    stability: StabilityResult | None
    sensitivity: list[dict[str, Any]] | None
    reasons: dict[str, str]
    warnings: list[str]

    @classmethod
    def make(cls, word: str, data: Data, plan: Plan, report: Progress) -> "Study":
        """Fit, test, repeat and shuffle one method; parts that the design does not allow become `reasons`."""
        from sklearn.base import clone

        method, selector = METHODS[word], plan.make(word, data)
        X, y, seed = data.X, data.y, plan.random_state
        reasons: dict[str, str] = {}
        with collected() as said:
            report(f"{word}: scores", 0.0)
            with _names_of(data):
                selector.fit(X, y)
            n = len(selector.scores_)

            def attempt(what: str, call: Callable[[], T]) -> T | None:
                try:
                    return call()
                except ValueError as error:  # the fit succeeded, so it is the design, or a method without a test
                    reasons[what] = f"{error}."
                    return None

            def permuted() -> PermutationResult:
                """Test a clone by permutations; raise ValueError if the plan asks for none."""
                if plan.n_permutations == 0:
                    raise ValueError("n_permutations is 0, so there are no p-values")
                return permutation_test(
                    clone(selector), X, y, n_permutations=plan.n_permutations, random_state=seed, **data.design,
                    feature_groups=data.feature_groups,
                    verbose=lambda step, share: report(f"{word}: {step}", share),
                )  # fmt: skip

            test = attempt("permutation_test", permuted)
            report(f"{word}: shuffled labels", 0.0)
            twin = attempt(
                "shuffled_twin",
                lambda: shuffled_twin(clone(selector), X, y, top=min(plan.top, n), random_state=seed, **data.design),
            )
            stable = attempt(
                "stability",
                lambda: stability(
                    clone(selector), X, y, n_subsamples=plan.n_subsamples, random_state=seed, **data.for_stability,
                    verbose=lambda step, share: report(f"{word}: {step}", share),
                ),
            )  # fmt: skip
            report(f"{word}: other scales", 0.0)
            sensitivity = attempt("sensitivity", lambda: _sensitivity(method, selector, data, plan.n_selected(data)))
        return cls(method, selector, test, twin, stable, sensitivity, reasons, said)

    @property
    def word(self) -> str:
        return self.method.word

    def feature_columns(self) -> dict[str, Array]:
        """Return columns with one value per feature: ranks and scores, and if these were computed, p-values,
        frequencies, and ranks and scores under shuffled labels.
        """
        columns: dict[str, Array] = {"rank": self.selector.ranking_, "score": self.selector.scores_}
        if self.test is not None:
            columns |= {"z": self.test.z, "pvalue": self.test.pvalues, "pvalue_adjusted": self.test.pvalues_adjusted}
            columns["pvalue_max"] = self.test.pvalues_max
        if self.stability is not None:
            columns["frequency"] = self.stability.frequencies
        if self.twin is not None:
            columns |= {"shuffled_rank": self.twin.shuffled_ranking, "shuffled_score": self.twin.shuffled_scores}
        return columns

    def as_dict(self, data: Data, top: int) -> dict[str, Any]:
        """Return everything that the JSON file and the page show about the method; a part that failed has its reason
        instead.
        """
        columns, selector = self.feature_columns(), self.selector
        of_machine = ("n_jobs", "max_memory")  # a repetition can choose them anew
        parameters = {name: value for name, value in _findings.parameters(selector).items() if name not in of_machine}
        entries: dict[str, Any] = {
            "method": self.word,
            "estimator": self.method.estimator,
            "finds": self.method.genes,
            "picture": None if self.method.picture is None else self.method.picture.title,
            "parameters": json_value(parameters),
            "form": _findings.form(selector) | _findings.rules(selector),
            "ranking": _best_rows(columns | data.directions, selector.ranking_, data.names, top),
            "sha256": {name: digest(values) for name, values in columns.items()},
        }
        for what, make in (
            ("permutation_test", self._tested),
            ("shuffled_twin", self._describe_twin),
            ("stability", self._stable),
            ("sensitivity", self._scales),
        ):
            entries[what] = {"reason": self.reasons[what]} if what in self.reasons else make(data, top)
        entries["findings"] = json_value(_findings.findings(self.method, selector, data.names))
        entries["warnings"] = self.warnings
        return {name: json_value(value) for name, value in entries.items()}

    def _tested(self, data: Data, top: int) -> dict[str, Any]:
        """Return the entries of the permutation test for JSON: p-value, design and counts."""
        test = self.test
        assert test is not None
        return {
            "pvalue": test.pvalue,
            "statistic": test.statistic,
            "n_permutations": test.n_permutations,
            "n_distinct": "over 10^6" if np.isinf(test.n_distinct) else int(test.n_distinct),
            "exact": test.exact,
            "stopped": test.stopped,
            "design": test.design,
            "resolution": test.resolution,
            "label_free": test.label_free,
            "n_below_5_percent": int(np.count_nonzero(test.pvalues_max <= 0.05)),
            "null_statistics": test.null_statistics,
            "feature_groups": None if test.feature_groups is None else test.feature_groups.rows(),
        }

    def _describe_twin(self, data: Data, top: int) -> dict[str, Any]:
        """Return the entries of the fit with shuffled labels for JSON: agreement and the best features."""
        twin = self.twin
        assert twin is not None
        columns = {"score": twin.shuffled_scores, "true_rank": twin.ranking}
        return {
            "rank_correlation": twin.rank_correlation,
            "overlap": twin.overlap,
            "top": twin.top,
            "by_chance": twin.top**2 / len(twin.scores),
            "design": twin.design,
            "ranking": _best_rows({"rank": twin.shuffled_ranking} | columns, twin.shuffled_ranking, data.names, top),
        }

    def _stable(self, data: Data, top: int) -> dict[str, Any]:
        """Return the entries of the subsamples for JSON: stability, its interval and the most frequent features."""
        stability = self.stability
        assert stability is not None
        order = np.argsort(-stability.frequencies, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(1, len(order) + 1)
        return {
            "stability": stability.stability,
            "interval": list(stability.interval),
            "relevance_correlation": stability.relevance_correlation,
            "n_subsamples": len(stability.selected),
            "n_selected": float(np.mean([len(selected) for selected in stability.selected])),
            "ranking": _best_rows({"rank": ranks, "frequency": stability.frequencies}, ranks, data.names, top),
        }

    def _scales(self, data: Data, top: int) -> dict[str, Any]:
        return {"parameter": self.method.scale, "rows": self.sensitivity}


def agreement(studies: Sequence[Study], data: Data, n_selected: int, top: int) -> dict[str, Any]:
    """Return comparisons of each pair of methods, and the consensus ranking of all, as entries for JSON."""
    ranked = consensus({study.method.estimator: study.selector for study in studies})
    pairs = []
    for i, a in enumerate(studies):
        for j, b in enumerate(studies[:i]):
            best = [best_features(study.selector.ranking_, n_selected) for study in (b, a)]
            pairs.append(
                {
                    "methods": [b.method.estimator, a.method.estimator],
                    "rank_correlation": _spearman(ranked.ranks[j], ranked.ranks[i]),
                    "in_both": _in_both(*best),
                    "kernel_alignment": _alignment(data, *best),
                }
            )
    columns: dict[str, Array] = {"rank": ranked.ranking, "score": ranked.scores}
    columns |= {f"rank_{name}": ranks for name, ranks in zip(ranked.names, ranked.ranks, strict=True)}
    return {
        "n_selected": n_selected,
        "by_chance": n_selected**2 / data.X.shape[1],
        "pairs": json_value(pairs),
        "consensus": json_value(_best_rows(columns, ranked.ranking, data.names, top)),
    }


def new_samples(
    studies: Sequence[Study], data: Data, plan: Plan, report: Progress
) -> tuple[dict[str, Any], AssessResult | None]:
    """Return entries and result of `assess`: how well each method's best features classify; or the reason, and None."""
    from fastfs._estimators.assess import assess  # needs scikit-learn

    if plan.n_repeats == 0:
        return {"reason": "n_repeats is 0, so no folds were dealt."}, None
    groups, blocks = data.design.get("groups"), data.design.get("blocks")
    n_units = Folds(encode_labels(data.y, *data.X.shape)[1], blocks, groups).n_units
    try:
        with collected() as said, _names_of(data):
            result = assess(
                data.X,
                data.y,
                methods={study.method.estimator: study.selector for study in studies},
                n_splits=min(_N_SPLITS, n_units),
                n_repeats=plan.n_repeats,
                random_state=plan.random_state,
                verbose=lambda step, share: report(f"new samples: {step}", share),
                **data.design,
            )
    except ValueError as error:
        return {"reason": f"{error}."}, None
    entries = {
        "classifier": result.classifier,
        "n_splits": result.n_splits,
        "n_repeats": result.n_repeats,
        "unit": result.unit,
        "n_units": result.n_units,
        "design": result.design,
        "words": result.describe(),
        "rows": result.to_frame().to_dict("records"),
        "warnings": said,
    }
    return {name: json_value(value) for name, value in entries.items()}, result


def interactions(data: Data, plan: Plan, report: Progress) -> tuple[dict[str, Any], InteractionScan | None]:
    """Return entries and result of `interaction_scan` of all pairs; or the reason why there are none, and None.

    More features than `_FEATURES_OF_PAIRS` are such a reason, and at most `_LABELINGS_OF_PAIRS` labelings are compared.
    """
    if plan.n_pairs == 0:
        return {"reason": "n_pairs is 0, so no pairs were searched."}, None
    n_features = data.X.shape[1]
    if n_features > _FEATURES_OF_PAIRS:
        return {
            "reason": f"there are {n_features} features, and a report searches the pairs of {_FEATURES_OF_PAIRS} at "
            "most: choose some for fastfs.interaction_scan."
        }, None
    n_permutations = _LABELINGS_OF_PAIRS
    if plan.n_permutations != "auto":
        n_permutations = min(int(plan.n_permutations), n_permutations)
    design = data.design if n_permutations else {n: v for n, v in data.design.items() if n == "covariates"}
    try:
        with collected() as said, _names_of(data):
            result = interaction_scan(
                data.X,
                data.y,
                feature_names=data.names,
                target_type="class",
                n_pairs=plan.n_pairs,
                n_permutations=n_permutations,
                random_state=plan.random_state,
                n_threads=count_threads(plan.n_jobs) or 0,
                max_memory=plan.max_memory,
                progress=lambda step, share: report(f"pairs: {step}", share),
                **design,
            )
    except ValueError as error:  # missing values, too few samples, or the design
        return {"reason": f"{error}."}, None
    columns = {name: values.tolist() for name, values in result.columns.items()}
    rows = [
        {"rank": rank, "feature_a": data.names[a], "feature_b": data.names[b]}
        | {name: values[rank - 1] for name, values in columns.items()}
        for rank, (a, b) in enumerate(result.pairs.tolist(), 1)
    ]
    entries = {
        "ranking": rows,
        "degrees": list(result.degrees),
        "pvalue": result.pvalue,
        "n_permutations": result.n_permutations,
        "exact": result.exact,
        "design": result.design,
        "resolution": result.resolution,
        "n_tested": result.n_tested,
        "n_excluded_pairs": result.n_excluded_pairs,
        "n_excluded_features": len(result.excluded_features),
        "warnings": said,
    }
    return {name: json_value(value) for name, value in entries.items()}, result


def json_value(value: Any) -> Any:
    """Return a value for JSON: NaN and infinity as None, NumPy's types as Python's, any other object as text."""
    if isinstance(value, dict):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(inner) for inner in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _best_rows(columns: dict[str, Array], ranks: Integers, names: Sequence[str], top: int) -> list[dict[str, Any]]:
    """Return one dict per feature for the best features."""
    rows = []
    for j in best_features(ranks, top).tolist():
        row = {name: values[j].item() for name, values in columns.items()}
        rows.append({"rank": row.pop("rank"), "feature": names[j], "index": j} | row)
    return rows


def best_features(ranks: Array, n: int) -> Integers:
    features: Integers = np.argsort(ranks, kind="stable")[:n]
    return features


def _in_both(a: Integers, b: Integers) -> int:
    return len(np.intersect1d(a, b))


def _spearman(a: Array, b: Array) -> float:
    from scipy.stats import spearmanr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warned of if all scores are equal; the result is NaN then
        return float(spearmanr(a, b).statistic)


def _alignment(data: Data, a: Integers, b: Integers) -> float | None:
    """Return the kernel alignment of the samples between the features of two methods; None if it is undefined."""
    X, Y = (np.asarray(dense(part)) for part in (data.X[:, a], data.X[:, b]))
    try:
        return kernel_alignment(X, Y.astype(np.float64))
    except ValueError:  # missing values, or samples that don't differ in the features of one method
        return None


def _sensitivity(method: Method, selector: Any, data: Data, n_selected: int) -> list[dict[str, Any]]:
    """Return a row for half and for twice the scale: how the ranking there agrees with the ranking here.

    Raise ValueError if the method has no scale, or it has no effect with this `sigma`.
    """
    from sklearn.base import clone

    name = method.scale
    if not name:
        raise ValueError(
            f"{method.estimator} has no parameter, such as sigma or n_neighbors, that a report halves and doubles"
        )
    params = selector.get_params()
    rules = next((flag.sigmas for flag in FLAGS if flag.name == name), ())
    if rules and params["sigma"] not in rules:
        raise ValueError(f"{name} has no effect with sigma={params['sigma']!r}")
    used = getattr(selector, f"{name}_") if isinstance(params[name], str) else params[name]
    rows = []
    for factor in _FACTORS:
        value = max(1, round(used * factor)) if isinstance(used, int) else float(used) * factor
        with silence_warnings():
            other = clone(selector).set_params(**{name: value}).fit(data.X, data.y)
        best = [best_features(fitted.ranking_, n_selected) for fitted in (selector, other)]
        rows.append(
            {
                "value": value,
                "used": used,
                "rank_correlation": _spearman(selector.scores_, other.scores_),
                "in_both": _in_both(*best),
                "n_selected": n_selected,
            }
        )
    return rows


def _names_of(data: Data) -> AbstractContextManager[None]:
    """Let errors call columns by their names, and samples as the file counts them."""
    if data.source is not None:
        return naming_of_a_file(data.names, data.rows, data.sample_names)
    names = dict(enumerate(data.names))
    return naming({"column": lambda j: f"column {j} '{names[j]}'" if j in names else f"column {j}"})


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield a list that holds, after the block, the text of each different warning; then issue these warnings."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    for warning in caught:
        if str(warning.message) not in said:
            said.append(str(warning.message))
            warnings.warn(warning.message, warning.category, stacklevel=4)
