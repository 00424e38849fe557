"""The embedding of new samples by I-KDR, from the part of the training data that it needs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._functions.ikdr_kernels import Kernels, call_kernel
from fastfs._inputs.storage import by_columns, take_columns, take_rows
from fastfs._inputs.values import for_core
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Floats, Integers


@dataclass(frozen=True)
class Embedder:
    """Samples with coefficients, in the columns with weight, from which new samples are embedded."""

    kernel: Any
    n_columns: int  # columns of X, or samples of the fit if kernels are precomputed
    n_kernels: int
    which: Integers  # kernels with weight
    weights: Floats  # of the kernels in `which`
    columns: list[Integers] | None  # of each kernel in `which`
    names: list[str]
    support: Any  # values of the samples, in the form of the core or of a custom kernel; or their numbers
    coefficients: Floats
    deltas: Floats | None = None
    means: Floats | None = None
    scales: Floats | None = None

    def embed_data(self, data: Any, run: Run) -> Floats:
        """Return the embedding of data from `read_data`, one row per sample.

        Raise ValueError for other columns, or another number of precomputed kernels, than those of the fit.
        """
        if data.shape[-1] != self.n_columns:
            raise ValueError(f"X must have the {self.n_columns} columns of the fit; got {data.shape[-1]}")
        if self.columns is None:
            if len(data) != self.n_kernels:
                raise ValueError(f"X must hold {self.n_kernels} kernels as in the fit; got {len(data)}")
            return self._combine_kernels((data[m][:, self.support] for m in self.which), data.shape[1])
        if callable(self.kernel):
            by_column = by_columns(data)
            ends = np.cumsum([len(columns_of_kernel) for columns_of_kernel in self.columns])
            support_positions = [
                np.arange(end - len(columns_of_kernel), end)
                for columns_of_kernel, end in zip(self.columns, ends, strict=True)
            ]
            parts = (
                call_kernel(self.kernel, by_column[:, columns_of_kernel], self.support[:, place], name)
                for columns_of_kernel, place, name in zip(self.columns, support_positions, self.names, strict=True)
            )
            return self._combine_kernels(parts, data.shape[0])
        model = {
            "weights": self.weights,
            "deltas": self.deltas,
            "begins": np.cumsum([0, *map(len, self.columns)]),
            "features": np.concatenate(self.columns),
            "means": self.means,
            "scales": self.scales,
            "support": self.support,
            "coefficients": self.coefficients,
        }
        embedded: Floats = load_core().ikdr_embed(model, data, run)
        return embedded

    def _combine_kernels(self, parts: Iterable[Array], n_rows: int) -> Floats:
        """Return the sum of weight x (K @ coefficients) over kernels that come one at a time.

        A custom kernel may return the same array at each call. Raise ValueError for values that aren't finite.
        """
        embedded = np.zeros((n_rows, self.coefficients.shape[1]))
        for weight, K, name in zip(self.weights, parts, self.names, strict=True):
            rows = np.flatnonzero(~np.isfinite(K).all(axis=1))
            if len(rows):  # K has the columns of the support only, which the caller doesn't know
                bad = K[rows[0]]
                raise ValueError(
                    f"{name} must not contain NaN or infinity; got {bad[~np.isfinite(bad)][0]} in row {rows[0]}"
                    ": fix the value or drop the sample"
                )
            embedded += weight * (K @ self.coefficients)
        return embedded


def make_embedder(
    kernels: Kernels, core_result: dict[str, Any], weights: Array, constant: Array | None, support: Integers
) -> Embedder:
    """Return an embedder with the kernels of weight above 0, and their samples, columns and coefficients.

    It standardises samples unless a custom kernel gets them as they are, or kernels were given as matrices. constant:
    True for each constant feature, which is left out; None for matrices.
    """
    which = np.flatnonzero(weights > 0)
    common = {
        "kernel": kernels.options.kernel,
        "n_kernels": kernels.n_kernels,
        "which": which,
        "weights": weights[which],
        "names": [kernels.kernel_name(m) for m in which],
        "coefficients": core_result["A"][support],
    }
    if kernels.X is None:
        return Embedder(n_columns=len(core_result["A"]), columns=None, support=support, **common)
    assert constant is not None
    X = kernels.X
    columns = kernels.columns_of_kernels(which, constant)
    features = np.concatenate(columns)
    common |= {"n_columns": X.shape[1], "columns": columns}
    values = take_columns(take_rows(X, support), features)
    if callable(kernels.options.kernel):
        return Embedder(support=values, **common)
    means, scales = core_result["means"][features], core_result["scales"][features]
    return Embedder(
        support=for_core((values - means) / scales),
        deltas=core_result["deltas"][which],
        means=means,
        scales=scales,
        **common,
    )
