"""PLINK's files: .bed, with .bim and .fam next to it, and .pgen, with .pvar and .psam."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fastfs._files.errors import Parameter, TableError, unknown
from fastfs._files.paths import check_input
from fastfs._inputs.entry import named_arguments
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.pgen import is_pgen, open_pgen, read_samples, read_variants, require_pgenlib
from fastfs._inputs.plink import fam_rows, open_plink
from fastfs.io._cells import SampleColumn
from fastfs.io._layout import OR_LABELS, Content, Wanted, features_of
from fastfs.io._matrices import columns_of

# Name of the last column of .fam as a label.
PHENOTYPE = "phenotype"

# Phenotypes that mean unknown.
_UNKNOWN = ("NA", "nan", "NaN")


@named_arguments
def read_plink(path: str | os.PathLike[str]) -> Genotypes:
    """Open a PLINK file of genotypes.

    Parameters
    ----------
    path : path
        The .bed file, or its name without the ending; .bim and .fam must be next to it. Or the .pgen file of PLINK 2,
        which needs pgenlib, of the extra ``[pgen]``; .pvar and .psam must be next to it.

    Returns
    -------
    Genotypes
        A .bed is memory-mapped; of a .pgen, the hard calls are held in memory. The phenotype is that of .fam, or
        ``PHENO1`` of .psam: -9, NA and words are NaN, and so is 0 if all others are 1 and 2.

    Raises
    ------
    FileNotFoundError
        One of the three files doesn't exist.
    ValueError
        The file isn't a .bed, is stored sample by sample (``plink --make-bed`` converts it), or is longer or shorter
        than .bim and .fam say; a line of these has too few columns, or a word instead of a number. A .pgen without
        pgenlib, of other sizes than .pvar and .psam, with variants of more than two alleles, or that can't be read.

    Notes
    -----
    O(n_samples + n_snps) time and memory: the genotypes are read when they are used. Genotypes count allele 1 of
    .bim, as PLINK's ``--export A`` does; of a .pgen the alternative allele, as after ``plink2 --make-bed``. Other
    formats of genotypes: ``plink2 --make-bed``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from fastfs.io import read_plink
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.bed").write_bytes(bytes([0x6C, 0x1B, 0x01, 0b111000]))
    >>> _ = (folder / "toy.bim").write_text("1 rs1 0 1000 A G\\n")
    >>> _ = (folder / "toy.fam").write_text("f1 s1 0 0 0 1\\nf2 s2 0 0 0 2\\nf3 s3 0 0 0 -9\\n")
    >>> G = read_plink(folder / "toy.bed")
    >>> np.asarray(G).tolist(), G.phenotype.tolist(), G.alleles.tolist()
    ([[2.0], [1.0], [0.0]], [1.0, 2.0, nan], [['A', 'G']])
    """
    path = Path(path)
    if is_pgen(path):
        check_input(path)
        require_pgenlib(path)
        return open_pgen(path, None, read_samples(path, None), read_variants(path, None))
    return open_plink(path, None)


def read_bed(path: Path, wanted: Wanted) -> Content:
    """Read a .bed with its .fam and .bim as a table of all samples and of the SNPs on the wanted chromosomes.

    The only column about samples is the phenotype; as the label it marks samples without one as dropped. Raise
    TableError for other columns and for `transpose`.
    """
    if wanted.transpose:
        raise TableError(f"'{path}' has its samples told apart by .fam: leave out ", Parameter("transpose", True))
    genotypes = open_plink(path, wanted.budget)
    for name in wanted.aside:
        if name != PHENOTYPE:
            raise TableError(
                *unknown("column about samples", name, [PHENOTYPE], path.with_suffix(".fam")).args,
                ": give a table of them with ",
                Parameter("labels"),
            )
    fam = fam_rows(path.with_suffix(".fam"), wanted.budget)
    where = f"The phenotype of '{path.with_suffix('.fam')}'"
    aside = {}
    if wanted.has_labels:
        aside[PHENOTYPE] = _phenotype([row[5] for row in fam], where, path, wanted.control_is_0)
    genotypes = genotypes[:, _find_snps_on_chromosomes(genotypes.chromosome, wanted, path.with_suffix(".bim"))]
    families, individuals = [row[0] for row in fam], [row[1] for row in fam]
    return _content(genotypes, wanted, path, aside, families, individuals)


def read_pgen(path: Path, wanted: Wanted) -> Content:
    """Read a .pgen with its .psam and .pvar as a table of all samples and of the variants on the wanted chromosomes.

    A column of .psam marks samples without a value as dropped. Raise TableError for unknown columns and for
    `transpose`, ValueError if pgenlib is missing.
    """
    require_pgenlib(path)
    if wanted.transpose:
        raise TableError(f"'{path}' has its samples told apart by .psam: leave out ", Parameter("transpose", True))
    samples, variants = read_samples(path, wanted.budget), read_variants(path, wanted.budget)
    psam, columns = path.with_suffix(".psam"), samples.columns
    for name in wanted.aside:
        if name not in columns:
            problem = unknown("column about samples", name, [*columns], psam).args
            raise TableError(*problem, ": choose another ", Parameter("label"), *OR_LABELS)
    aside = {}
    for name in wanted.aside:
        zero_is_known = wanted.control_is_0 or zero_is_a_value(name, wanted.label)
        aside[name] = _phenotype(columns[name], f"'{name}' in '{psam}'", path, zero_is_known)
    chosen = _find_snps_on_chromosomes(variants.chromosome, wanted, path.with_suffix(".pvar"))
    genotypes = open_pgen(path, wanted.budget, samples, variants, chosen)
    return _content(genotypes, wanted, path, aside, samples.families, samples.individuals)


def _content(
    genotypes: Genotypes,
    wanted: Wanted,
    path: Path,
    aside: dict[str, SampleColumn],
    families: list[str],
    individuals: list[str],
) -> Content:
    """Return genotypes as a table without the SNPs that are ignored; repeated names are made of place and alleles."""
    names = _unique_names(genotypes)
    keep = features_of(names, wanted.ignored, path, "SNP")
    return Content(
        columns_of(genotypes, keep),
        [names[j] for j in keep],
        genotypes.samples.tolist(),
        aside,
        families,
        individuals,
    )


def _phenotype(texts: list[str], where: str, path: Path, zero_is_known: bool) -> SampleColumn:
    """Return a column of .fam or .psam as labels: whole numbers, words, or numbers that aren't all whole.

    Raise TableError if no sample has one.
    """
    codes = missing_codes(texts, where, zero_is_known)
    column = SampleColumn(texts, where, None, codes)
    known = ~column.is_missing()
    if not known.any():
        raise TableError(f"no sample of '{path}' has a phenotype: give a table of them with ", Parameter("labels"))
    try:
        numbers = np.array([float(text) if is_known else np.nan for text, is_known in zip(texts, known, strict=True)])
    except ValueError:
        return column
    if np.all(numbers[known] == np.floor(numbers[known])):
        cells = [int(number) if is_known else None for number, is_known in zip(numbers, known, strict=True)]
        return SampleColumn(cells, where, None, codes)
    return SampleColumn(numbers, where, None, codes)


def zero_is_a_value(name: str, label: str | None) -> bool:
    """Return whether 0 says something in this column: of events, batches or weights, not of a phenotype or the sex."""
    return name != label and name.upper() != "SEX"


def missing_codes(texts: Sequence[str], where: str, zero_is_known: bool) -> tuple[str, ...]:
    """Return the texts that stand for an unknown value by PLINK's conventions, besides NA and nan.

    They are -9, and 0 if all others are 1 and 2 and 0 isn't a control. Raise TableError for 0 and 1 alone, which leave
    this open.
    """
    values = set(texts).difference(_UNKNOWN, ("-9", "-9.0"))
    if zero_is_known or not values or not values <= {"0", "1", "2"}:
        return ("-9", "-9.0")
    if values == {"0", "1"}:
        raise TableError(
            f"{where} is 0 or 1, but PLINK takes 0 for unknown: if 0 is a control and 1 a case, add ",
            Parameter("control_is_0", True),
        )
    return ("-9", "-9.0", "0")


# Numbers that PLINK writes for chromosomes with letters.
_LETTERS = {"23": "X", "24": "Y", "25": "XY", "26": "MT", "M": "MT"}


def _find_snps_on_chromosomes(chromosome: np.ndarray, wanted: Wanted, path: Path) -> np.ndarray:
    """Return the positions of the SNPs on the chromosomes that are wanted (default: all) and not left out.

    Names such as chr1 and 1, or X and 23, are equal. Raise ValueError for an unknown one, or if no SNP is left.
    """

    def without_prefix(name: str) -> str:
        name = name.upper().removeprefix("CHR")
        return _LETTERS.get(name, name)

    present = {name: without_prefix(name) for name in dict.fromkeys(chromosome.tolist())}
    for name in sorted({*wanted.chromosomes, *wanted.not_chromosomes}):
        if without_prefix(name) not in present.values():
            raise unknown("chromosome", name, [*present], path)
    taken, left_out = (
        {without_prefix(name) for name in names} for names in (wanted.chromosomes, wanted.not_chromosomes)
    )
    chosen = [name for name, of in present.items() if (not taken or of in taken) and of not in left_out]
    if not chosen:
        raise TableError(
            f"no SNP of '{path}' is left, which has the chromosomes {', '.join([*present][:30])}: choose others with ",
            Parameter("chromosomes"),
            " or ",
            Parameter("not_chromosomes"),
        )
    return np.flatnonzero(np.isin(chromosome, chosen))


def _unique_names(genotypes: Genotypes) -> list[str]:
    """Return the names of the SNPs; those that several have, such as a dot, are made of place and alleles."""
    names: list[str] = genotypes.names.tolist()
    count = Counter(names)
    if len(count) == len(names):
        return names
    places = zip(genotypes.chromosome, genotypes.position, *genotypes.alleles.T, strict=True)
    return [name if count[name] == 1 else ":".join(map(str, place)) for name, place in zip(names, places, strict=True)]
