"""The result of a method and the warnings that belong to it."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fastfs._machine.run import warn

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What every method's internal function returns; `deliver` is the one place that issues its warnings.

    Parameters
    ----------
    result : object
    messages : list of str
        Of `fastfs.DataWarning`.
    not_converged : list of str
        Of scikit-learn's `ConvergenceWarning`.
    """

    result: Result
    messages: list[str] = field(default_factory=list)
    not_converged: list[str] = field(default_factory=list)

    def deliver(self) -> Result:
        """Issue the warnings, which point to the caller of the library, and return the result."""
        warn(self.messages)
        if self.not_converged:
            from sklearn.exceptions import ConvergenceWarning

            warn(self.not_converged, ConvergenceWarning)
        return self.result
