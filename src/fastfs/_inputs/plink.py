"""PLINK's files of genotypes: .bed, and .bim and .fam next to it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fastfs._files.errors import short
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs._files.paths import check_input, naming
from fastfs._inputs.genotypes import MAGIC, Genotypes, map_bits

_SAMPLE_MAJOR = b"\x6c\x1b\x00"

_FAM = ("family", "sample", "father", "mother", "sex", "phenotype")
_BIM = ("chromosome", "name", "centimorgans", "position", "allele 1", "allele 2")

# Number that stands for an unknown phenotype.
_UNKNOWN_PHENOTYPE = -9


def open_plink(path: Path, budget: int | None) -> Genotypes:
    """Return the genotypes of a .bed file, mapped; its .fam and .bim must fit the budget (None: the machine's).

    `path` can lack the ending. Raise ValueError if the file is stored by samples, or its size doesn't fit these two.
    """
    stem = path.with_suffix("") if path.suffix.lower() == ".bed" else path
    bed = path if path.suffix.lower() == ".bed" else path.with_name(path.name + ".bed")
    fam, bim = stem.with_name(stem.name + ".fam"), stem.with_name(stem.name + ".bim")
    for file in (bed, bim, fam):
        check_input(file)
    with naming(bed), bed.open("rb") as opened:
        first = opened.read(len(MAGIC))
    if first == _SAMPLE_MAJOR:
        raise ValueError(f"'{bed}' stores its genotypes sample by sample: convert it with plink --make-bed")
    if first != MAGIC:
        raise ValueError(
            f"'{bed}' isn't a .bed file of PLINK: it must begin with the bytes 6c 1b 01; got {first.hex(' ')}"
        )

    samples, phenotype = _read_fam(fam, budget)
    chromosome, names, position, alleles = _read_snps(bim, budget)
    n_samples, n_snps = len(samples), len(names)
    stride = -(-n_samples // 4)
    size, expected = bed.stat().st_size, len(MAGIC) + n_snps * stride
    if size != expected:
        raise ValueError(
            f"'{bed}' must have {expected} bytes for the {n_snps} SNPs of '{bim.name}' and the {n_samples} samples of "
            f"'{fam.name}'; got {size}: it is damaged, or belongs to another .bim or .fam"
        )
    return Genotypes(
        map_bits(bed, n_snps, stride),
        np.arange(n_samples),
        np.arange(n_snps),
        samples=samples,
        names=names,
        alleles=alleles,
        chromosome=chromosome,
        position=position,
        phenotype=phenotype,
        path=str(bed.resolve()),
    )


def _read_fam(path: Path, budget: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the samples, after their families if they repeat, and their phenotypes, NaN if unknown."""
    rows = fam_rows(path, budget)
    names = [row[1] for row in rows]
    if max(Counter(names).values()) > 1:
        names = [f"{row[0]}:{row[1]}" for row in rows]
    return np.array(names), as_phenotypes([row[5] for row in rows])


def as_phenotypes(texts: Iterable[str]) -> np.ndarray:
    """Return phenotypes as numbers; unknown ones by PLINK's conventions, and words, are NaN."""
    phenotype = np.array([_number_or_nan(text) for text in texts])
    phenotype[phenotype == _UNKNOWN_PHENOTYPE] = np.nan
    if np.isin(phenotype[~np.isnan(phenotype)], (0, 1, 2)).all():
        phenotype[phenotype == 0] = np.nan
    return phenotype


def _read_snps(path: Path, budget: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return chromosomes, names, positions, and pairs of alleles from a .bim; raise ValueError for a position that
    isn't a number.
    """
    rows = list(_text_rows(path, _BIM, budget))
    position = np.array([as_position(path, i, row[3]) for i, row in enumerate(rows)], np.int64)
    return (
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        position,
        np.array([row[4:6] for row in rows]),
    )


def fam_rows(path: Path, budget: int | None) -> list[list[str]]:
    """Return the rows of a .fam file."""
    return list(_text_rows(path, _FAM, budget))


def _text_rows(path: Path, columns: tuple[str, ...], budget: int | None) -> Iterator[list[str]]:
    """Yield the rows of a text file; raise ValueError if one doesn't have these columns, or the text isn't UTF-8."""
    held = Held(path, budget)
    with naming(path), path.open(encoding="utf-8-sig") as file:
        try:
            for i, line in enumerate(file):
                row = line.split()
                if len(row) != len(columns):
                    raise ValueError(
                        f"line {i + 1} of '{path}' must have {len(columns)} columns ({', '.join(columns)}); got "
                        f"{len(row)}"
                    )
                held.add(TEXT_BYTES * len(columns))
                yield row
        except UnicodeDecodeError as error:
            raise ValueError(f"'{path}' must be UTF-8 text: {error}; save it as UTF-8") from error


def _number_or_nan(text: str) -> float:
    """Return a text as a number, NaN for words."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def as_position(path: Path, line: int, text: str) -> int:
    """Return the position of a SNP, or raise ValueError with its line."""
    number = _number_or_nan(text)
    if not is_position(number):
        raise ValueError(f"line {line + 1} of '{path}' must have a whole number as position; got '{short(text)}'")
    return int(number)


def is_position(number: float) -> bool:
    """Return True if a number is whole, and not above the largest position that the core takes."""
    return abs(number) <= 1 << 50 and number.is_integer()
