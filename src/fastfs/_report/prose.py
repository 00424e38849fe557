"""The words of a report: the methods paragraph with its references, the environment, and the command."""

import csv
import inspect
import io
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from fastfs._functions.interactions import interaction_scan
from fastfs._inference.permutation import permutation_test
from fastfs._inference.stability import stability
from fastfs._machine.info import info
from fastfs._machine.run import count_threads
from fastfs._methods import METHODS

_REFERENCES = re.compile(r"^References\n-+\n(.*?)(?=^\w|\Z)", re.MULTILINE | re.DOTALL)


def references_of(documented: Any) -> list[str]:
    """Return the references of a docstring, each up to its year, without the remarks behind it."""
    section = _REFERENCES.search(inspect.getdoc(documented) or "")
    entries = re.split(r"^\.\. \[\d+\] ", section[1], flags=re.MULTILINE)[1:] if section else []
    # Cut at the last year, because the number of an arXiv paper can look like a year.
    return [re.sub(r"(.*\b(?:19|20)\d\d\b).*", r"\1.", " ".join(entry.split())) for entry in entries]


class _Citations:
    """Numbers references in the order in which they are first cited."""

    def __init__(self) -> None:
        self.references: list[str] = []

    def __call__(self, documented: Any, *places: int) -> str:
        """Return the citation of references of a docstring, by their numbers there (default: ``[1]``), such as "[2,
        3]".

        New ones are appended to `references`.
        """
        of = references_of(documented)
        cited = [of[place - 1] for place in places or (1,) if place <= len(of)]
        for text in cited:
            if text not in self.references:
                self.references.append(text)
        return f"[{', '.join(str(self.references.index(text) + 1) for text in cited)}]"


def methods_paragraph(numbers: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the paragraphs of a methods section about the analysis, and the references that they cite.

    A test, subsamples, held-out samples and pairs have a paragraph if the report has them.
    """
    from fastfs._estimators.assess import assess  # needs scikit-learn
    from fastfs._estimators.methods import ESTIMATORS

    cite, data, plan, env = _Citations(), numbers["data"], numbers["arguments"], numbers["environment"]
    classes = _listed([f"{count} {name}" for name, count in data["classes"].items()])
    ranked = _listed(
        [
            f"{METHODS[word].estimator} {cite(ESTIMATORS[METHODS[word].estimator])}{_set_params(plan, word)}"
            for word in plan["methods"]
        ]
    )
    texts = [
        f"{data['n_samples']} samples ({classes}) with {data['n_features']} features were analysed with fastfs "
        f"{env['fastfs']}. Features were ranked by {ranked}, with the parameters of that version unless stated."
    ]
    tested = [method["permutation_test"] for method in numbers["methods"] if "pvalue" in method["permutation_test"]]
    if tested:
        how = f"{tested[0]['n_permutations']} random permutations of the labels"
        if tested[0]["exact"]:
            how = f"all {tested[0]['n_distinct']} labelings"
        elif len({test["n_permutations"] for test in tested}) > 1:
            how = f"up to {max(test['n_permutations'] for test in tested)} random permutations of the labels"
        places = [1] + [3] * ("given" in tested[0]["design"])
        text = (
            f"P-values come from {how} of {tested[0]['design']} {cite(permutation_test, *places)}. Family-wise "
            f"p-values are those of the step-down procedure {cite(permutation_test, 2)} on scores standardized "
            "by their means and standard deviations under permuted labels; false discovery rates are by Benjamini and "
            "Hochberg."
        )
        if (wholes := tested[0]["feature_groups"]) is not None:
            text += (
                f" {len(wholes)} groups of features were tested as wholes under the same permutations, by the largest "
                "score of their features and by the sum of scores."
            )
        if any(test["stopped"] for test in tested):
            ended = cite(permutation_test, 5)
            text += f" Tests ended once ten permutations had reached the statistic of the true labels {ended}."
        texts.append(text)
    stable = [method["stability"] for method in numbers["methods"] if "stability" in method["stability"]]
    if stable:
        design = data["design"]
        drawn = data["drawn"]
        units = f"{drawn}s ({design[f'{drawn}s']['column']})" if f"{drawn}s" in design else "samples"
        within = f" and {design['blocks']['column']}" if "blocks" in design else ""
        of_each = "" if drawn == "block" else f" of each class{within}"
        texts.append(
            f"Selection frequencies and the stability index {cite(stability)} rest on "
            f"{stable[0]['n_subsamples']} subsamples, each with half of the {units}{of_each}; of these, "
            f"every method selected at most {numbers['n_selected']} features {cite(stability, 2)}."
        )
    if "rows" in (new := numbers["new_samples"]):
        times = f", dealt {new['n_repeats']} times" if new["n_repeats"] > 1 else ""
        texts.append(
            f"Balanced accuracy and AUC are those of held-out {new['unit']}s in {new['n_splits']} folds{times}; in "
            "each training set features were ranked and scaled, and a logistic regression with a ridge penalty "
            f"learnt from them {cite(assess, 2)}. Intervals are over the {new['n_units']} {new['unit']}s, with three "
            "times the variance of independent ones (AUC: four times)."
        )
    if "ranking" in (pairs := numbers["pairs"]):
        tested_by = f", with {pairs['n_permutations']} labelings of {pairs['design']} {cite(interaction_scan)}"
        texts.append(
            f"{pairs['n_tested']} pairs of features were tested for interaction, each by the partial F of the product "
            f"of both features given both{tested_by if pairs['n_permutations'] else ''}."
        )
    texts.append(
        f"The seed of all random numbers was {plan['random_state']}. Software: Python {env['python']}, NumPy "
        f"{env['numpy']}, SciPy {env['scipy']}, scikit-learn {env['scikit-learn']}; {env['blas']}, instruction set "
        f"{env['instruction_set']}."
    )
    return texts, cite.references


def environment(n_jobs: int | None) -> dict[str, Any]:
    """Return the versions and settings that can change the bits of a result."""
    import scipy

    facts = info()
    blas = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]  # the one that fastfs calls
    return {
        "fastfs": facts["version"],
        "instruction_set": facts["isa"],
        "threads": count_threads(n_jobs) or facts["n_threads"],
        "blas": f"{blas['name']} {blas['version']}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "matplotlib", "jinja2")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def command(arguments: Mapping[str, Any]) -> str:
    """Return the command that makes the report again, or the call in Python if the data came as arrays."""
    plan = {
        "blocks": arguments["blocks"],
        "groups": arguments["groups"],
        "covariate": arguments["covariates"],
        "feature_groups": arguments["feature_groups"],
        "methods": ",".join(arguments["methods"]),
        "method_option": [
            f"{word}.{name}={value}"
            for word, keywords in arguments["params"].items()
            for name, value in keywords.items()
        ],
        "permutations": arguments["n_permutations"],
        "subsamples": arguments["n_subsamples"],
        "repeats": arguments["n_repeats"],
        "pairs": arguments["n_pairs"],
        "top": arguments["top"],
        "seed": arguments["random_state"],
    }
    if arguments["source"] is None:
        keys = ("methods", "params", "top", "n_permutations", "n_subsamples", "n_repeats", "n_pairs", "random_state")
        keywords = ", ".join(f"{name}={arguments[name]!r}" for name in keys if arguments[name] != {})
        return f"fastfs.report(X, y, {keywords})"
    words = ["fastfs", "report", arguments["source"]]
    reading = {"label": arguments["label"]} | arguments["reading"]
    for name in ("classes", "covar_names", "chromosomes", "not_chromosomes"):
        if name in reading:
            reading[name] = _as_csv(reading[name])
    for name, value in (reading | plan | {"out": "report.html"}).items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one is not False:
                words += [f"--{name.replace('_', '-')}"] + [str(one)] * (one is not True)
    return shlex.join(words)


def _as_csv(names: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _set_params(plan: Mapping[str, Any], word: str) -> str:
    params = dict(METHODS[word].reported) | plan["params"].get(word, {})
    return f" ({', '.join(f'{name} = {value}' for name, value in params.items())})" if params else ""


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
