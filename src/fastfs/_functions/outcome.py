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

    def warnings_of(self, code: str) -> "list[str | Warning]":
        """Return the warnings of the core with this code."""
        return [w for w in self.warnings if isinstance(w, Warning) and w.code == code]  # type: ignore[attr-defined]

    def replace_warnings(self, code: str, others: "Sequence[str | Warning]" = ()) -> "Outcome[Result]":
        """Return the outcome with other warnings in place of those of the core with this code."""
        left_out = self.warnings_of(code)
        return Outcome(self.result, [*others, *(w for w in self.warnings if w not in left_out)])

    def warn_and_return(self) -> Result:
        """Issue the warnings, which point to the caller of the library, and return the result."""
        warn(self.warnings)
        return self.result
