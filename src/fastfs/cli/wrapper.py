"""TuRF and VLS around the estimator of a method."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

import fastfs
from fastfs._methods import METHODS, Method
from fastfs.cli.effects import Needs


@dataclass(frozen=True)
class WrapperOptions:
    panel: ClassVar[str] = "Method"

    turf: Annotated[
        str | None,
        typer.Option(
            metavar="STEP",
            help="Take out the worst features, score the others again, and so on, until --top are left (default: half "
            "of them). STEP: features to take out each round, or a share of all such as 0.1.",
        ),
    ] = None
    vls: Annotated[
        str | None,
        typer.Option(
            metavar="SUBSETS",
            help="Score subsets of the features, and take each feature's best score. SUBSETS: pairs, or numbers such "
            "as 200x1000 for 200 random subsets of 1000 features.",
        ),
    ] = None

    def needs(self, method: Method) -> list[Needs]:
        """Return the conditions under which the options have an effect."""
        words = " or ".join(word for word, other in METHODS.items() if other.only_ranks)
        why = f"is for methods that only rank: choose --method {words}"
        return [Needs("turf vls", method.only_ranks, why)]


def wrap(selector: Any, options: WrapperOptions) -> Any:
    """Return the estimator inside those that the options ask for: TuRF around VLS around the method."""
    if options.vls is not None:
        selector = fastfs.VLS(selector, **_subsets(options.vls))
    if options.turf is not None:
        selector = fastfs.TuRF(selector, step=_step(options.turf))
    return selector


def _subsets(text: str) -> dict[str, Any]:
    if text == "pairs":
        return {"subsets": "pairs"}
    numbers = re.fullmatch(r"([0-9]+)x([0-9]+)", text)
    if numbers is None:
        raise ValueError(f"--vls must be pairs, or a number of subsets and their size such as 200x1000; got '{text}'")
    return {"n_subsets": int(numbers[1]), "subset_size": int(numbers[2])}


def _step(text: str) -> int | float:
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    raise ValueError(f"--turf must be a number of features, or a share of them such as 0.1; got '{text}'")
