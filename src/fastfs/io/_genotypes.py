"""Packing of genotypes into two bits each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.entry import named_arguments
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.matrix import as_array, as_numbers, column_names
from fastfs._inputs.plink import is_position
from fastfs._inputs.storage import refuse_sparse
from fastfs._machine.run import Run

# The bits of a missing genotype.
_MISSING = 0b01

# Number of values that are packed together.
_BLOCK = 1 << 22


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
        raise ValueError("X has masked values: give X.filled(-1), which marks them as missing")
    if names is None:
        names = column_names(X)
    X = as_array(X, Run())
    refuse_sparse(X, "genotypes must be dense; got a sparse table: give X.toarray()", TypeError)
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"genotypes must be numbers of copies of allele 1; got {X.dtype}")
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
                "genotypes must be 0, 1 or 2, or, if missing, NaN or a negative number; got "
                f"{rows[i, j]} for sample {block + i} and SNP {j}{hint}"
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


def _texts(name: str, texts_of_caller: Any, *shape: int) -> npt.NDArray[Any]:
    try:
        values = np.asarray(texts_of_caller)
    except ValueError:
        raise ValueError(f"{name} must have the shape {shape}; got entries of different lengths") from None
    return _of_shape(name, values, shape).astype(np.str_)


def _numbers(name: str, values: Any, *shape: int) -> npt.NDArray[np.float64]:
    return _of_shape(name, as_numbers(values, name), shape)


def _of_shape(name: str, values: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if values.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}; got {values.shape}")
    return values


def _positions(values: Any, n: int) -> npt.NDArray[np.int64]:
    numbers = _numbers("position", values, n)
    for j, number in enumerate(numbers.tolist()):
        if not is_position(number):
            raise ValueError(f"position must hold whole numbers up to 2^50; got {number} for SNP {j}")
    return numbers.astype(np.int64)
