"""Result of a fit together with its warnings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fastfs._machine.run import warn

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """Result and warnings of a fit; only `warn_and_return` issues the warnings."""

    result: Result
    warnings: Sequence[str | Warning] = ()  # texts are issued as `fastfs.DataWarning`

    def warn_and_return(self) -> Result:
        """Issue the warnings, which point to the caller of the library, and return the result."""
        warn(self.warnings)
        return self.result
