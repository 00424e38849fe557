"""Genotypes at two bits each, as PLINK's .bed files have them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# First bytes of a .bed file in SNP-major order.
MAGIC = b"\x6c\x1b\x01"

# Copies of allele 1 for the bit pairs 00, 01, 10 and 11: two copies, missing, one copy, none.
_DOSAGES = np.array([2, np.nan, 1, 0], dtype=np.float32)

# The four genotypes of each byte, from the lowest bits (the first sample) up.
_OF_BYTE = _DOSAGES[np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3]

# Number of genotypes decoded together.
_BLOCK = 1 << 22


class Genotypes:
    """A table of samples x SNPs at two bits a genotype, from :func:`fastfs.io.read_plink` or `pack_genotypes`.

    A genotype is how many copies of allele 1 a sample has: 0, 1, 2, or NaN if it is missing. Every method takes the
    table in place of an array. ``G[samples, snps]`` and ``G[samples]`` select by positions, slices or masks, without a
    copy of the genotypes; ``numpy.asarray(G)`` decodes to float32.

    Methods decode the blocks that they work on, never the whole table, unless a function of Python computes on it: a
    custom kernel for I-KDR, ``combine="f"`` of ManiFeSt, and ``meta_features`` of DiSC.
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
        """Keep packed genotypes, the samples and SNPs of them that are selected, and facts about both; remember the
        state of the file.
        """
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
        """Return some samples and SNPs of the same bits, as ``[samples]`` or ``[samples, SNPs]``.

        Raise IndexError for more than two keys.
        """
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > 2:
            raise IndexError(f"genotypes take at most two keys, for samples and SNPs; got {len(keys)}")
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
        """Return a copy that holds only the genotypes of its SNPs and needs no file.

        Raise ValueError if the file has changed.
        """
        self.check_file()
        facts = ("samples", "names", "alleles", "chromosome", "position", "phenotype")
        return Genotypes(
            self.bits[self.columns],
            self.rows,
            np.arange(len(self.columns)),
            **{name: getattr(self, name) for name in facts},
        )

    def count_missing(self) -> int:
        """Return the number of missing genotypes; raise ValueError if the file has changed."""
        self.check_file()
        places, shifts = np.divmod(self.rows, 4)
        step = max(1, _BLOCK // max(1, 4 * self.bits.shape[1]))
        n_missing = 0
        for begin in range(0, len(self.columns), step):
            bits = self.bits[self.columns[begin : begin + step]]
            is_missing = bits & ~(bits >> 1) & 0b01010101  # the lower bit of a genotype without the upper one
            if is_missing.any():
                n_missing += int(np.count_nonzero(is_missing[:, places] >> 2 * shifts & 1))
        return n_missing

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the copies of the allele, n_samples x n_snps, as float32 or `dtype`; missing genotypes are NaN.

        Raise ValueError for copy=False, missing genotypes in integers, or a file that has changed.
        """
        if copy is False:
            raise ValueError("copy must not be False, since genotypes are decoded into a new array")
        self.check_file()
        n_samples, n_snps = self.shape
        decoded = np.empty((n_samples, n_snps), np.float32 if dtype is None else dtype)
        step = max(1, _BLOCK // max(1, 4 * self.bits.shape[1]))
        for begin in range(0, n_snps, step):
            bits = self.bits[self.columns[begin : begin + step]]
            dosages = _OF_BYTE[bits].reshape(len(bits), -1)[:, self.rows].T
            if decoded.dtype.kind in "biu" and np.isnan(dosages).any():
                raise ValueError(f"missing genotypes are NaN, which {decoded.dtype} can't hold: choose a float dtype")
            decoded[:, begin : begin + step] = dosages
        return decoded

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
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def map_bits(path: str | Path, n_snps: int, stride: int) -> npt.NDArray[np.uint8]:
    """Return the genotypes of a .bed file: the bytes of each SNP in a row."""
    return np.memmap(path, np.uint8, "r", len(MAGIC), (n_snps, stride))


def _chosen(key: Any, n: int, what: str) -> npt.NDArray[np.int64]:
    """Return the positions below n that a list, a slice, a mask or an ellipsis selects; errors call them `what`.

    Others raise IndexError.
    """
    if key is Ellipsis:
        key = slice(None)
    if not isinstance(key, slice):
        key = np.asarray(key)
        if key.size == 0 and key.dtype.kind == "f":  # an empty list
            key = key.astype(np.int64)
    try:
        positions: npt.NDArray[np.int64] = np.arange(n)[key]
    except IndexError as error:
        raise IndexError(f"{what} must be chosen among {n} by positions, a slice or a mask: {error}") from None
    if positions.ndim != 1:
        raise IndexError(f"{what} must be chosen by a 1-D list of positions, a slice or a mask; got {key!r}")
    return positions
