"""PLINK 2's files of genotypes: .pgen, and .pvar and .psam next to it."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastfs._files.expand import TEXT_BYTES, Held
from fastfs._files.paths import check_input, naming
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.plink import as_phenotypes, as_position

# The bits of -9 (missing), -8 to -1 (not used), and 0, 1 and 2 copies, as .bed has them.
_CODES = np.array([1, *[1] * 8, 3, 2, 0], np.uint8)

# Number of calls that are read together.
_BLOCK = 1 << 22

# Columns of .pvar and .psam that have no header, by their number.
_OF_VARIANTS = {5: ("CHROM", "ID", "POS", "ALT", "REF"), 6: ("CHROM", "ID", "CM", "POS", "ALT", "REF")}
_OF_SAMPLES = {5: ("FID", "IID", "PAT", "MAT", "SEX"), 6: ("FID", "IID", "PAT", "MAT", "SEX", "PHENO1")}

# Columns of .psam that aren't about the sample's traits.
_IDENTIFIERS = ("FID", "IID", "SID", "PAT", "MAT")

# Name of the column that PLINK 2 takes for the phenotype of a file without header.
PHENOTYPE = "PHENO1"


class SampleTable(NamedTuple):
    """The samples of a .psam file: their families and names within these, and all other columns by name."""

    families: list[str]
    individuals: list[str]
    columns: dict[str, list[str]]

    @property
    def names(self) -> list[str]:
        if max(Counter(self.individuals).values()) == 1:
            return self.individuals
        return [f"{family}:{name}" for family, name in zip(self.families, self.individuals, strict=True)]


class Variants(NamedTuple):
    """The variants of a .pvar file."""

    chromosome: np.ndarray
    names: np.ndarray
    position: np.ndarray
    alleles: np.ndarray


def is_pgen(path: Path) -> bool:
    return path.suffix.lower() == ".pgen"


def open_pgen(
    path: Path, budget: int | None, samples: SampleTable, variants: Variants, chosen: np.ndarray | None = None
) -> Genotypes:
    """Return the hard calls of some variants (default: all), which count the alternative allele.

    Samples without a phenotype column get NaN. Raise MemoryError above the budget, ValueError for a damaged file.
    """
    n_samples = len(samples.individuals)
    reader = _open_reader(path, n_samples, len(variants.names))
    chosen = np.arange(len(variants.names)) if chosen is None else chosen
    stride = -(-n_samples // 4)
    Held(path, budget).add(len(chosen) * stride + min(len(chosen) * n_samples, 2 * _BLOCK))
    bits = np.empty((len(chosen), stride), np.uint8)
    step = max(1, _BLOCK // n_samples)
    with _damage_of(path):
        for begin in range(0, len(chosen), step):
            numbers = chosen[begin : begin + step].astype(np.uint32)
            calls = np.empty((len(numbers), n_samples), np.int8)
            reader.read_list(numbers, calls)
            bits[begin : begin + step] = _packed(calls)
        reader.close()
    phenotype = samples.columns.get(PHENOTYPE, ["NA"] * n_samples)
    return Genotypes(
        bits,
        np.arange(n_samples),
        np.arange(len(chosen)),
        samples=np.array(samples.names),
        names=variants.names[chosen],
        alleles=variants.alleles[chosen],
        chromosome=variants.chromosome[chosen],
        position=variants.position[chosen],
        phenotype=as_phenotypes(phenotype),
    )


def _open_reader(path: Path, n_samples: int, n_variants: int) -> Any:
    """Return pgenlib's reader of a file, which must have these numbers of samples and variants.

    Raise ValueError if it has others, or isn't a .pgen.
    """
    from pgenlib import PgenReader

    with naming(path), path.open("rb") as file:
        head = file.read(11)
    if head[:2] != b"\x6c\x1b" or len(head) < 11:
        raise ValueError(f"'{path}' isn't a .pgen file of PLINK 2: it must begin with the bytes 6c 1b and two sizes")
    if head[2] == 1:
        raise ValueError(f"'{path}' holds a .bed of PLINK 1, with another name: rename it and its .bim and .fam")
    found = [int.from_bytes(head[begin : begin + 4], "little") for begin in (3, 7)]
    for number, expected, what, ending in zip(
        found, (n_variants, n_samples), ("variants", "samples"), ("pvar", "psam"), strict=True
    ):
        if number != expected:
            raise ValueError(
                f"'{path}' must have the {expected} {what} of '{path.with_suffix(f'.{ending}').name}'; got {number}: "
                f"it is damaged, or belongs to another .{ending}"
            )
    with _damage_of(path):
        return PgenReader(os.fsencode(path), raw_sample_ct=n_samples, variant_ct=n_variants)


@contextmanager
def _damage_of(path: Path) -> Iterator[None]:
    """Turn pgenlib's errors about a file into ValueError."""
    try:
        yield
    except RuntimeError as error:
        said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"'{path}' isn't a readable .pgen file ({said.strip()}): copy or write it again") from error


def _packed(calls: np.ndarray) -> np.ndarray:
    """Return calls of 0, 1, 2 or -9, a row for each variant, in two bits each."""
    n = calls.shape[1]
    codes = np.zeros((len(calls), -(-n // 4) * 4), np.uint8)
    codes[:, :n] = _CODES[calls + 9]
    codes = codes.reshape(len(calls), -1, 4)
    packed: np.ndarray = codes[:, :, 0] | codes[:, :, 1] << 2 | codes[:, :, 2] << 4 | codes[:, :, 3] << 6
    return packed


def require_pgenlib(path: Path) -> None:
    """Raise ValueError with the ways to read a .pgen file if pgenlib is missing."""
    try:
        import pgenlib  # noqa: F401
    except ModuleNotFoundError:
        name = path.with_suffix("")
        raise ValueError(
            f"'{path}' holds genotypes of PLINK 2: write a .bed by plink2 --pfile '{name}' --make-bed --out '{name}', "
            "or install pgenlib by python -m pip install 'scikit-fastfs[pgen]'"
        ) from None


def read_samples(path: Path, budget: int | None) -> SampleTable:
    """Return the samples of the .psam next to a .pgen."""
    psam = path.with_suffix(".psam")
    columns = _read_columns(psam, budget, _OF_SAMPLES, "#FID or #IID", ("IID",), "sample")
    individuals = columns["IID"]
    others = {name: values for name, values in columns.items() if name not in _IDENTIFIERS}
    return SampleTable(columns.get("FID", ["0"] * len(individuals)), individuals, others)


def read_variants(path: Path, budget: int | None) -> Variants:
    """Return the variants of the .pvar next to a .pgen.

    Raise ValueError if it is compressed, or a variant has more than two alleles.
    """
    pvar = path.with_suffix(".pvar")
    if not pvar.exists() and (stored := pvar.with_name(pvar.name + ".zst")).exists():
        raise ValueError(f"'{stored}' is compressed: expand it by zstd -d '{stored}'")
    columns = _read_columns(pvar, budget, _OF_VARIANTS, "#CHROM", _OF_VARIANTS[5], "variant")
    several = [name for name, alleles in zip(columns["ID"], columns["ALT"], strict=True) if "," in alleles]
    if several:
        name = path.with_suffix("")
        raise ValueError(
            f"'{pvar}' must have two alleles for each variant; got more for {len(several)}, the first of them "
            f"'{several[0]}': leave them out by plink2 --pfile '{name}' --max-alleles 2 --make-pgen --out '{name}2'"
        )
    return Variants(
        np.array(columns["CHROM"]),
        np.array(columns["ID"]),
        np.array([as_position(pvar, i, text) for i, text in enumerate(columns["POS"])], np.int64),
        np.array([columns["ALT"], columns["REF"]]).T,
    )


def _read_columns(
    path: Path,
    budget: int | None,
    without_header: Mapping[int, Sequence[str]],
    begin: str,
    required: Sequence[str],
    noun: str,
) -> dict[str, list[str]]:
    """Return the cells of a text file by column; a file without a header line has the columns of `without_header`.

    Raise ValueError if a column of `required` is missing or repeated, or there is no other line.
    """
    check_input(path)
    header, rows = _read_text(path, budget)
    if header is None:
        n = len(rows[0]) if rows else 0
        if n not in without_header:
            raise ValueError(f"'{path}' must have a header that begins with {begin}, or 5 or 6 columns; got {n}")
        header = list(without_header[n])
    header = [name.removeprefix("#") for name in header]
    for name in required:
        if header.count(name) != 1:
            raise ValueError(f"'{path}' must have one column {name}; got {header.count(name)} in its header")
    if not rows:
        raise ValueError(f"'{path}' must have a line for each {noun}; got none")
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _read_text(path: Path, budget: int | None) -> tuple[list[str] | None, list[list[str]]]:
    """Return the cells of the header, None if there is none, and of the other lines; lines that begin with ## are left
    out.

    Raise ValueError if a line has another number of cells, or the text isn't UTF-8.
    """
    held, header, rows = Held(path, budget), None, list[list[str]]()
    with naming(path), path.open(encoding="utf-8-sig") as file:
        try:
            for i, line in enumerate(file):
                if line.startswith("##"):
                    continue
                row = line.split()
                if line.startswith("#") and not rows:
                    header = row
                    continue
                expected = len(header or (rows or [row])[0])
                if len(row) != expected:
                    raise ValueError(f"line {i + 1} of '{path}' must have {expected} columns; got {len(row)}")
                held.add(TEXT_BYTES * len(row))
                rows.append(row)
        except UnicodeDecodeError as error:
            raise ValueError(f"'{path}' must be UTF-8 text: {error}; save it as UTF-8") from error
    return header, rows
