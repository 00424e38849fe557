"""The result of a method and the warnings that belong to it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fastfs._machine.run import warn

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What every method's internal function returns; `deliver` is the one place that issues its warnings."""

    result: Result
    messages: list[str] = field(default_factory=list)  # of `fastfs.DataWarning`
    not_converged: list[str] = field(default_factory=list)  # of scikit-learn's `ConvergenceWarning`

    def deliver(self) -> Result:
        """Issue the warnings, which point to the caller of the library, and return the result."""
        warn(self.messages)
        if self.not_converged:
            from sklearn.exceptions import ConvergenceWarning

            warn(self.not_converged, ConvergenceWarning)
        return self.result


def like(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function ``f(X, y, **options)`` that passes its arguments to `function`: it gets its signature."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        given = inspect.signature(function).replace(return_annotation=inspect.signature(f).return_annotation)
        f.__signature__ = given  # type: ignore[attr-defined]
        return f

    return decorate
