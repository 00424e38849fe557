"""Options of the RELIEF family: what estimators and functions share is described once, here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar

from fastfs._functions.margin import MarginOptions, as_scaling
from fastfs._functions.options import option_class, option_field
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.matrix import as_array, as_dense, as_matrix
from fastfs._inputs.response import Response, read_response
from fastfs._inputs.table import Table, as_categorical_features, encode_table
from fastfs._machine.params import as_bool, as_float, as_int, as_seed, check_choice, one_of
from fastfs._machine.run import Run


def as_count(name: str, value: Any) -> int:
    return as_int(name, value, low=1, high=(1 << 63) - 1)


def as_count_or_all(name: str, value: Any) -> int:
    """Return a number of samples, 0 for None."""
    return 0 if value is None else as_count(name, value)


def as_ramp(name: str, ramp: Any) -> str | tuple[float, float]:
    """Return "none" for None, "sd", or the lower and upper end of the ramp as floats.

    Raise ValueError for another word, TypeError for anything else.
    """
    if ramp is None:
        return "none"
    if isinstance(ramp, str):
        return check_choice(name, ramp, ("sd",), "two numbers", "None")
    try:
        low, high = ramp
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be 'sd', two numbers or None; got {ramp!r}") from None
    return as_float(f"the lower end of {name}", low), as_float(f"the upper end of {name}", high)


def as_priors(name: str, priors: Any) -> str | Mapping[Any, Any] | None:
    """Return the priors if they have a valid type; `class_priors` checks their values."""
    if priors is None or isinstance(priors, Mapping):
        return priors
    if isinstance(priors, str):
        return check_choice(name, priors, ("uniform",), "a dict of labels and shares", "None")
    raise TypeError(f"{name} must be 'uniform', a dict of labels and shares, or None; got {priors!r}")


@option_class
class FamilyFields:
    """Options that all methods of the family share, as an estimator or a function takes them."""

    given: Any = option_field(lambda name, value: value, default=None)
    n_targets: int | None = option_field(as_count_or_all, default=None)
    scaling: str | None = option_field(
        lambda name, value: as_scaling(name, value, ("auto", "range", "standard")), default="auto"
    )
    random_state: Any = option_field(lambda _, value: as_seed(value), key="seed", default=0)


@option_class
class ReliefFields(FamilyFields):
    closed_form: bool = option_field(as_bool, default=False)


@option_class
class TableFields(FamilyFields):
    """Options of all methods except RELIEF."""

    categorical_features: Any = option_field(as_categorical_features, default=None)
    missing: str = option_field(one_of("error", "ignore", "class"), default="error")
    target_type: str = option_field(one_of("auto", "class", "number"), default="auto")
    ramp: str | tuple[float, float] | None = option_field(as_ramp, default=None)


@option_class
class ReliefFFields(TableFields):
    n_neighbors: int = option_field(as_count, default=10)
    priors: str | Mapping[Any, float] | None = option_field(as_priors, default=None)


@option_class
class SURFFields(TableFields):
    far: bool = option_field(as_bool, default=False)
    n_rows: int | None = option_field(as_count_or_all, default=None)


@option_class
class SWRFFields(SURFFields):
    radius: str = option_field(one_of("all", "sample"), default="all")
    dead_band: float = option_field(as_float, default=0.0)


@option_class
class RReliefFFields(TableFields):
    n_neighbors: int = option_field(as_count, default=10)
    sigma: float = option_field(as_float, default=20.0)
    target_type: str = option_field(one_of("auto", "number", "survival"), default="auto")


@singledispatch
def _usual_scaling(X: Any) -> str:
    """Return the scaling for "auto"."""
    return "range"


@_usual_scaling.register
def _(X: Genotypes) -> str:
    return "none"


@dataclass(kw_only=True)
class FamilyOptions(FamilyFields, MarginOptions):
    """Options that all methods of the family share, as the core takes them."""

    METHOD: ClassVar[str]
    KEEP: ClassVar[str]  # distances between samples, which fits with different targets share
    IN_BLOCKS: ClassVar[str] = ""  # name of the method if it can compare drawn targets with rows read in blocks

    @property
    def advice_for_streams(self) -> str:
        """Return advice for an X that is too large to be loaded."""
        return f"{'give' if self.IN_BLOCKS else 'use ReliefF with'} n_targets=2000, which reads blocks"

    def make_table(self, X: Any, run: Run) -> Table:
        """Return X as a table of numbers."""
        return Table(as_array(X, run))

    def values_for_core(self, X: Any, run: Run) -> Any:
        """Return the values of a table in the form that the method needs."""
        return as_dense(X, run)

    def scaling_of(self, X: Any) -> str:
        """Return the scaling of a table. Genotypes need none with "auto", because they are comparable already."""
        return _usual_scaling(X) if self.scaling == "auto" else str(self.scaling)

    def as_response(self, y: Any, n_samples: int, n_features: int) -> Response:
        """Return y as the target of the method."""
        return read_response(y, n_samples, n_features, "class")

    def core_options(self) -> dict[str, Any]:
        """Return the options of a fit under the names of the core."""
        core_options = super().core_options() | {"method": self.METHOD}
        del core_options["given"]
        return core_options


@dataclass(kw_only=True)
class ReliefOptions(ReliefFields, FamilyOptions):
    METHOD = "relief"
    KEEP = "sqeuclidean"
    IN_BLOCKS = "Relief"


@dataclass(kw_only=True)
class TableOptions(TableFields, FamilyOptions):
    """Options of all methods except RELIEF."""

    KEEP = "manhattan"
    NUMBERS_ONLY: ClassVar[bool] = False

    def make_table(self, X: Any, run: Run) -> Table:
        return encode_table(X, self.categorical_features, run)

    def values_for_core(self, X: Any, run: Run) -> Any:
        return as_matrix(X, run)

    def as_response(self, y: Any, n_samples: int, n_features: int) -> Response:
        """Read y as classes, numbers or times; raise ValueError for classes if the method takes `NUMBERS_ONLY`, for
        times otherwise.
        """
        response = read_response(
            y,
            n_samples,
            n_features,
            self.target_type,
            numbers_only=self.NUMBERS_ONLY,
            of_number="give target_type='number'",
        )
        if self.NUMBERS_ONLY and response.kind == "class":
            raise ValueError("y must hold numbers or times for RReliefF; got classes: use ReliefF")
        if not self.NUMBERS_ONLY and response.kind == "survival":
            raise ValueError("y must hold classes or numbers; got events and times: use RReliefF")
        return response

    def stage_options(self) -> dict[str, Any]:
        stage_options = super().stage_options() | {"missing": self.missing}
        if isinstance(self.ramp, tuple):
            return stage_options | {"ramp": "given", "ramp_low": self.ramp[0], "ramp_high": self.ramp[1]}
        return stage_options | {"ramp": self.ramp}

    def core_options(self) -> dict[str, Any]:
        return {key: value for key, value in super().core_options().items() if key not in _PYTHON_ONLY}


# Options that Python uses before it calls the core.
_PYTHON_ONLY = ("categorical_features", "target_type", "ramp", "priors", "n_rows")


@dataclass(kw_only=True)
class ReliefFOptions(ReliefFFields, TableOptions):
    METHOD = "relieff"
    IN_BLOCKS = "ReliefF"


@dataclass(kw_only=True)
class MuReliefOptions(ReliefFOptions):
    METHOD = "murelief"
    IN_BLOCKS = ""


@dataclass(kw_only=True)
class SURFOptions(SURFFields, TableOptions):
    METHOD = "surf"

    @property
    def advice_for_streams(self) -> str:
        return "give n_rows=2000, which draws a sample"


@dataclass(kw_only=True)
class MultiSURFOptions(SURFOptions):
    METHOD = "multisurf"


@dataclass(kw_only=True)
class SWRFOptions(SWRFFields, SURFOptions):
    METHOD = "swrf"


@dataclass(kw_only=True)
class RReliefFOptions(RReliefFFields, TableOptions):
    METHOD = "rrelieff"
    NUMBERS_ONLY = True
