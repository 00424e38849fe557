"""Result of a fit together with its warnings."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fastfs._machine.run import warn

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """Result and warnings of a fit; only `warn_and_return` issues the warnings."""

    result: Result
    messages: list[str] = field(default_factory=list)  # issued as `fastfs.DataWarning`
    not_converged: list[str] = field(default_factory=list)  # issued as scikit-learn's `ConvergenceWarning`

    def warn_and_return(self) -> Result:
        """Issue the warnings, which point to the caller of the library, and return the result."""
        warn(self.messages)
        if self.not_converged:
            from sklearn.exceptions import ConvergenceWarning

            warn(self.not_converged, ConvergenceWarning)
        return self.result
