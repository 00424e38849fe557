"""Genotypes at two bits each, as PLINK's .bed files have them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.entry import named_arguments
from fastfs._inputs.matrix import as_array, as_numbers, column_names
from fastfs._machine.run import Run

# The first bytes of a .bed file whose SNPs stand one after the other.
MAGIC = b"\x6c\x1b\x01"

# Copies of allele 1 by the two bits of a genotype, the lower one first: both are 0, missing, heterozygous, neither.
_DOSAGES = np.array([2, np.nan, 1, 0], dtype=np.float32)
_MISSING = 0b01

# The four dosages of a byte, whose lowest bits are the first sample's.
_OF_BYTE = _DOSAGES[np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3]

# Genotypes that are decoded at once.
_BLOCK = 1 << 22


class Genotypes:
    """A table of samples x SNPs at two bits a genotype, from :func:`fastfs.io.read_plink` or `pack_genotypes`.

    A genotype is how many copies of allele 1 a sample has: 0, 1, 2, or NaN if it is missing. Every method takes the
    table in place of an array. ``G[samples, snps]`` and ``G[samples]`` select by positions, slices or masks, without a
    copy of the genotypes; ``numpy.asarray(G)`` decodes to float32.

    Methods decode the blocks that they work on, never the whole table, unless a function of Python computes on it: a
    kernel of your own for I-KDR, ``combine="f"`` of ManiFeSt, ``graph="approximate"`` and ``meta_features`` of DiSC.
    Estimators take `names` as those of the features if no two SNPs share one; else the features have no names.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_all_snps, n_bytes)
        The genotypes of each SNP, four samples a byte, the first one in its lowest bits: 00 two copies, 01 missing,
        10 one copy, 11 none.
    rows, columns : ndarray of int64, shape (n_samples,) and (n_snps,)
        The samples and SNPs that are in the table.
    samples : ndarray of str, shape (n_samples,)
        Their names: those within a family, or with the family and a colon before them if they aren't unique.
    names : ndarray of str, shape (n_snps,)
    alleles : ndarray of str, shape (n_snps, 2)
        Allele 1, which is counted, and allele 2.
    chromosome : ndarray of str, shape (n_snps,)
    position : ndarray of int64, shape (n_snps,)
        In base pairs.
    phenotype : ndarray of float64, shape (n_samples,)
        NaN if it is unknown.
    path : str or None
        The .bed file, if they are one's.

    Notes
    -----
    The file is memory-mapped: its pages are read when they are used, and are shared between processes. It must not
    change meanwhile; its size and its time of change are compared at each use, also of a part of the table. If it is
    cut while a call reads it, the system ends the process (SIGBUS). Pickling writes the path and the selection, not the
    genotypes.

    Examples
    --------
    >>> import numpy as np
    >>> from fastfs.io import pack_genotypes
    >>> G = pack_genotypes(np.array([[0, 1, 2], [2, np.nan, 1]]), names=["rs1", "rs2", "rs3"])
    >>> G.shape, np.asarray(G[1:, [0, 2]]).tolist(), G[:, :2].names.tolist()
    ((2, 3), [[2.0, 1.0]], ['rs1', 'rs2'])
    """

    __iter__ = None  # without it, Python takes the IndexError of G[0] for the end of an empty table
    ndim = 2
    dtype = np.dtype(np.float32)  # of what `numpy.asarray` returns

    def __init__(
        self,
        bits: npt.NDArray[np.uint8],
        rows: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int64],
        *,
        samples: npt.NDArray[np.str_],
        names: npt.NDArray[np.str_],
        alleles: npt.NDArray[np.str_],
        chromosome: npt.NDArray[np.str_],
        position: npt.NDArray[np.int64],
        phenotype: npt.NDArray[np.float64],
        path: str | None = None,
    ) -> None:
        self.bits, self.rows, self.columns = bits, rows, columns
        self.samples, self.phenotype = samples, phenotype
        self.names, self.alleles, self.chromosome, self.position = names, alleles, chromosome, position
        self.path = path
        self._stamp = None if path is None else _stamp(path)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def size(self) -> int:
        return len(self.rows) * len(self.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Genotypes of {self.shape[0]} samples x {self.shape[1]} SNPs" + (f" in '{self.path}'" * bool(self.path))

    def __getitem__(self, key: Any) -> Genotypes:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > 2:
            raise IndexError(f"genotypes have samples and SNPs, which two keys choose, but {len(keys)} were given")
        by_sample, by_snp = (*keys, slice(None), slice(None))[:2]
        rows = _chosen(by_sample, self.shape[0], "samples")
        columns = _chosen(by_snp, self.shape[1], "SNPs")
        part = object.__new__(Genotypes)
        part.__dict__.update(self.__dict__)  # the file too, as it was when it was opened
        for name in ("rows", "samples", "phenotype"):
            setattr(part, name, getattr(self, name)[rows])
        for name in ("columns", "names", "alleles", "chromosome", "position"):
            setattr(part, name, getattr(self, name)[columns])
        return part

    def copy(self) -> Genotypes:
        """Return the table with genotypes of its own, without those of other SNPs and without the file."""
        self.check_file()
        facts = ("samples", "names", "alleles", "chromosome", "position", "phenotype")
        return Genotypes(
            self.bits[self.columns],
            self.rows,
            np.arange(len(self.columns)),
            **{name: getattr(self, name) for name in facts},
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("genotypes are decoded into a new array, so copy must not be False")
        self.check_file()
        n_samples, n_snps = self.shape
        found = np.empty((n_samples, n_snps), np.float32 if dtype is None else dtype)
        step = max(1, _BLOCK // max(1, 4 * self.bits.shape[1]))
        for begin in range(0, n_snps, step):
            bits = self.bits[self.columns[begin : begin + step]]
            dosages = _OF_BYTE[bits].reshape(len(bits), -1)[:, self.rows].T
            if found.dtype.kind in "biu" and np.isnan(dosages).any():
                raise ValueError(f"missing genotypes are NaN, which {found.dtype} can't hold: choose a float dtype")
            found[:, begin : begin + step] = dosages
        return found

    def __getstate__(self) -> dict[str, Any]:
        # A memory map would be pickled as its values.
        return self.__dict__ if self.path is None else self.__dict__ | {"bits": self.bits.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.path is not None:
            self.check_file()
            self.bits = map_bits(self.path, *state["bits"])

    def check_file(self) -> None:
        """Raise ValueError if the file isn't the one that was opened."""
        if self.path is not None and _stamp(self.path) != self._stamp:
            raise ValueError(f"'{self.path}' has changed since it was opened: read it again")


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of change of a file, which tell it from another one at its place."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def map_bits(path: str | Path, n_snps: int, stride: int) -> npt.NDArray[np.uint8]:
    """Return the genotypes of a .bed file: the bytes of each SNP in a row."""
    return np.memmap(path, np.uint8, "r", len(MAGIC), (n_snps, stride))


def _chosen(key: Any, n: int, what: str) -> npt.NDArray[np.int64]:
    """Return positions below n."""
    if key is Ellipsis:
        key = slice(None)
    if not isinstance(key, slice):
        key = np.asarray(key)
        if key.size == 0 and key.dtype.kind == "f":  # an empty list
            key = key.astype(np.int64)
    try:
        found: npt.NDArray[np.int64] = np.arange(n)[key]
    except IndexError as error:
        raise IndexError(f"{what} must be chosen among {n} by positions, a slice or a mask, but {error}") from None
    if found.ndim != 1:
        raise IndexError(f"{what} must be chosen by a 1-D list of positions, a slice or a mask, not by {key!r}")
    return found


@named_arguments
def pack_genotypes(
    X: Any,
    *,
    names: Sequence[str] | None = None,
    samples: Sequence[str] | None = None,
    alleles: Sequence[tuple[str, str]] | None = None,
    chromosome: Sequence[str] | None = None,
    position: Sequence[int] | None = None,
    phenotype: Sequence[float] | None = None,
) -> Genotypes:
    """Pack genotypes into two bits each.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_snps)
        Copies of allele 1: 0, 1 or 2. NaN or a negative number is missing.
    names, samples, alleles, chromosome, position, phenotype : array-like, optional
        See :class:`Genotypes`. Default: the columns of a DataFrame or ``snp0`` and so on, ``sample0`` and so on, "1"
        and "2", "0", 0, NaN.

    Returns
    -------
    Genotypes

    Raises
    ------
    ValueError
        Other numbers, such as dosages of imputed genotypes: the first one is named. A parameter of another length, or
        that holds other things than it should.
    TypeError
        X is sparse.

    Notes
    -----
    One pass, in blocks of samples; the copy takes n_samples / 4 bytes a SNP.

    Examples
    --------
    >>> import numpy as np
    >>> from fastfs.io import pack_genotypes
    >>> G = pack_genotypes(np.array([[0, 1], [2, -9]], dtype=np.int8))
    >>> np.asarray(G).tolist()
    [[0.0, 1.0], [2.0, nan]]
    """
    if np.ma.is_masked(X):
        raise ValueError("X has masked values: give X.filled(-1), in which they are missing")
    if names is None:
        names = column_names(X)
    X = as_array(X, Run())
    if hasattr(X, "tocsr"):
        raise TypeError("genotypes must be dense, but the table is sparse: give an array, as of its toarray()")
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"genotypes must be numbers of copies of allele 1, not {X.dtype}")
    n_samples, n_snps = X.shape
    bits = np.empty((n_snps, -(-n_samples // 4)), np.uint8)
    step = 4 * max(1, _BLOCK // max(1, 4 * n_snps))
    for block in range(0, n_samples, step):
        rows = X[block : block + step]
        missing = np.isnan(rows) | (rows < 0)
        bad = ~(missing | (rows == 0) | (rows == 1) | (rows == 2))
        if bad.any():
            i, j = np.argwhere(bad)[0]
            hint = "; round dosages, or give them to an estimator, which takes floats" if rows[i, j] < 2 else ""
            raise ValueError(
                "genotypes must be 0, 1 or 2, or, if missing, NaN or a negative number, but that of "
                f"sample {block + i} and SNP {j} is {rows[i, j]}{hint}"
            )
        codes = np.full((-(-len(rows) // 4) * 4, n_snps), 0, np.uint8)
        codes[: len(rows)] = np.where(
            missing, _MISSING, np.array([3, 2, 0], np.uint8)[np.where(missing, 0, rows).astype(int)]
        )
        packed = codes.reshape(len(codes) // 4, 4, n_snps)
        bits[:, block // 4 : block // 4 + len(packed)] = (
            packed[:, 0] | packed[:, 1] << 2 | packed[:, 2] << 4 | packed[:, 3] << 6
        ).T
    return Genotypes(
        bits,
        np.arange(n_samples),
        np.arange(n_snps),
        samples=_texts("samples", [f"sample{i}" for i in range(n_samples)] if samples is None else samples, n_samples),
        names=_texts("names", [f"snp{j}" for j in range(n_snps)] if names is None else names, n_snps),
        alleles=_texts("alleles", np.tile(["1", "2"], (n_snps, 1)) if alleles is None else alleles, n_snps, 2),
        chromosome=_texts("chromosome", np.full(n_snps, "0") if chromosome is None else chromosome, n_snps),
        position=np.zeros(n_snps, np.int64) if position is None else _positions(position, n_snps),
        phenotype=np.full(n_samples, np.nan) if phenotype is None else _numbers("phenotype", phenotype, n_samples),
    )


def _texts(name: str, given: Any, *shape: int) -> npt.NDArray[Any]:
    try:
        values = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} must have the shape {shape}, but its entries have different lengths") from None
    return _of_shape(name, values, shape).astype(np.str_)


def _numbers(name: str, given: Any, *shape: int) -> npt.NDArray[np.float64]:
    return _of_shape(name, as_numbers(given, name), shape)


def _of_shape(name: str, values: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if values.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, but has {values.shape}")
    return values


def _positions(given: Any, n: int) -> npt.NDArray[np.int64]:
    numbers = _numbers("position", given, n)
    for j, number in enumerate(numbers.tolist()):
        if not is_position(number):
            raise ValueError(f"position must hold whole numbers up to 2^50, but that of SNP {j} is {number}")
    return numbers.astype(np.int64)


def is_position(number: float) -> bool:
    """Whether a number is whole, and not above the largest position that the core takes."""
    return abs(number) <= 1 << 50 and number.is_integer()
