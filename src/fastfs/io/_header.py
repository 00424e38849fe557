"""The names of a file's columns, without its values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastfs._files.stores import open_hdf5, open_zarr
from fastfs._inputs.pgen import read_samples
from fastfs.io._options import ReadOptions
from fastfs.io._plink import PHENOTYPE
from fastfs.io._text import form_of, open_table

# A header with more names than these has features in it; those without a number below them come first.
_MANY = 50


def column_names(path: Path, options: ReadOptions) -> list[str]:
    """Return the names that can be a label or an annotation, those of words first; none of formats that have no names.

    Raises what the readers raise about a damaged file.
    """
    endings = [ending for ending in _HEADERS if path.name.lower().endswith(ending)]
    return [] if not endings or options.transpose else _HEADERS[max(endings, key=len)](path, options)


def _of_text(path: Path, options: ReadOptions) -> list[str]:
    with open_table(path, "samples", form_of(options, None)) as (header, rows):
        first = next(rows)
    if len(header) <= _MANY:
        return [name for name in header if name]
    named = [(_is_number(cell), name) for cell, name in zip(first, header, strict=True) if name]
    return [name for _, name in sorted(named, key=lambda one: one[0])]


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _of_parquet(path: Path, _: ReadOptions) -> list[str]:
    import pyarrow.parquet

    names: list[str] = pyarrow.parquet.read_schema(path).names
    return names


def _of_h5ad(path: Path, _: ReadOptions) -> list[str]:
    with open_hdf5(path) as file:
        return _of_frames(file["obs"])


def _of_zarr(path: Path, _: ReadOptions) -> list[str]:
    return _of_frames(open_zarr(path)["obs"])


def _of_h5mu(path: Path, options: ReadOptions) -> list[str]:
    with open_hdf5(path) as file:
        return _of_frames(*([] if options.mod is None else [file["mod"][options.mod]["obs"]]), file["obs"])


def _of_frames(*frames: Any) -> list[str]:
    """Return the columns of stored tables of annotations."""
    return [str(name) for frame in frames for name in frame.attrs["column-order"]]


def _of_loom(path: Path, _: ReadOptions) -> list[str]:
    with open_hdf5(path) as file:
        return list(file["col_attrs"])


def _of_pgen(path: Path, _: ReadOptions) -> list[str]:
    return [*read_samples(path, None).columns]


def _of_bed(_: Path, __: ReadOptions) -> list[str]:
    return [PHENOTYPE]


_HEADERS: dict[str, Callable[[Path, ReadOptions], list[str]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx"), _of_text),
    ".parquet": _of_parquet,
    ".h5ad": _of_h5ad,
    ".zarr": _of_zarr,
    ".h5mu": _of_h5mu,
    ".loom": _of_loom,
    ".pgen": _of_pgen,
    ".bed": _of_bed,
}
