"""Findings of a fitted estimator besides its scores, as columns of tables and entries of JSON."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._methods import FORM, RULES, Method


def pairs(selector: Any, feature_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the strongest pairs of a fit as columns by name: rank, features, indices, weights; {} if it has none."""
    interactions = getattr(selector, "interactions_", None)
    if interactions is None:
        return {}
    return {
        "rank": list(range(1, len(interactions) + 1)),
        "feature_a": [feature_names[j] for j in interactions["a"]],
        "feature_b": [feature_names[j] for j in interactions["b"]],
        **{name: interactions[field].tolist() for name, field in (("index_a", "a"), ("index_b", "b"))},
        **{name: interactions[name].tolist() for name in ("weight", "residual")},
    }


def parameters(selector: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and of estimators inside it for JSON, without `verbose`.

    Infinity becomes "inf", and an estimator the name of its class.
    """

    def json_value(value: Any) -> Any:
        if hasattr(value, "get_params"):
            return type(value).__name__
        return "inf" if isinstance(value, float) and value == np.inf else value

    params = selector.get_params().items()
    return {name: json_value(value) for name, value in params if name.rpartition("__")[2] != "verbose"}


def title(method: Method, selector: Any) -> str:
    """Return the name of the estimator, with the estimators around it in front."""
    around = []
    while (inner := getattr(selector, "estimator", None)) is not None:
        around.append(type(selector).__name__)
        selector = inner
    return " around ".join([*around, method.estimator])


def form(selector: Any) -> dict[str, Any]:
    """Return the form of the method that ran, and the reason for it."""
    return {name: value for name in FORM if (value := getattr(selector, f"{name}_", None))}


def rules(selector: Any) -> dict[str, Any]:
    """Return the values of parameters that can be rules."""
    used = {name: getattr(selector, f"{name}_", None) for name in RULES}
    return {name: np.asarray(value).tolist() for name, value in used.items() if value is not None}


def findings(method: Method, selector: Any, feature_names: Sequence[str]) -> dict[str, Any]:
    """Return a dict of the results of a fit besides the ranking: attributes, some by class, and if the fit has them
    groups, sensitivity, the number selected and pairs.
    """
    attributes: dict[str, Any] = {name: getattr(selector, f"{name}_") for name in method.of_fit}
    for name in method.by_class:
        rows = zip(selector.classes_, getattr(selector, f"{name}_").tolist(), strict=True)
        attributes[name] = {str(label): row for label, row in rows}
    for s, label in enumerate(selector.classes_ if method.of_classes else ()):
        attributes[str(label)] = {name: getattr(selector, f"{name}_")[s].tolist() for name in method.of_classes}
        if hasattr(selector, "groups_"):
            groups = selector.groups_[s]
            members = [np.flatnonzero(groups == group).tolist() for group in range(groups.max() + 1)]
            attributes[str(label)]["groups"] = [[feature_names[j] for j in group] for group in members]
    more: dict[str, Any] = {method.word: attributes} if attributes else {}
    if method.table and hasattr(selector, "sensitivity_"):
        rows = zip(*(selector.sensitivity_[name] for name in method.table), strict=True)
        more["sensitivity"] = [dict(zip(method.table, map(_plain, row), strict=True)) for row in rows]
    if (n_selected := getattr(selector, "n_selected_", None)) is not None:
        more["n_selected"] = n_selected
    if found_pairs := pairs(selector, feature_names):
        more["pairs"] = [dict(zip(found_pairs, row, strict=True)) for row in zip(*found_pairs.values(), strict=True)]
    return more


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no NaN; the last scale of each row has no next one."""
    value = value.item() if hasattr(value, "item") else value
    return None if value != value or value == np.inf else value
