"""Clumps of SNPs: a ranking without the SNPs that repeat a better one nearby."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

import fastfs
from fastfs._types import Integers
from fastfs.cli.effects import Needs

if TYPE_CHECKING:
    from fastfs import LdClumps


@dataclass(frozen=True)
class ClumpOptions:
    panel: ClassVar[str] = "Output"

    clump_r2: Annotated[
        float | None,
        typer.Option(
            metavar="R2",
            help="For .bed and .pgen: leave out SNPs with a squared correlation above R2, such as 0.5, with a better "
            "one nearby.",
        ),
    ] = None
    clump_kb: Annotated[
        float | None, typer.Option(min=0, metavar="KB", help="How near, in thousands of base pairs. Default: 250.")
    ] = None

    def needs(self, file: Path) -> list[Needs]:
        """Return the conditions under which the options have an effect."""
        is_of_plink = file.suffix.lower() in (".bed", ".pgen")
        return [
            Needs("clump_kb", self.clump_r2 is not None, "is for clumps: add --clump-r2, such as 0.5"),
            Needs("clump_r2", is_of_plink, f"is for genotypes: FILE must end in .bed or .pgen; got '{file.suffix}'"),
        ]

    def find(self, G: Any, ranks: Integers, top: int, report: Any) -> "LdClumps | None":
        """Return the clumps of the first SNPs of a ranking."""
        if self.clump_r2 is None:
            return None
        window = round(1000 * (250 if self.clump_kb is None else self.clump_kb))
        return fastfs.ld_clumps(G, -ranks, r2=self.clump_r2, window=window, n_clumps=top, progress=report)
