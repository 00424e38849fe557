"""Rankings as files."""

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastfs._files.paths import UNPRINTABLE, check_output, on_one_line, printable, replacing
from fastfs._inputs.entry import named_arguments

TABLE_ENDINGS = (".csv", ".json", ".parquet")
RANKING_ENDINGS = (*TABLE_ENDINGS, ".txt", ".rnk")

# The first characters of cells that spreadsheets compute.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Columns of the formats that are lists.
_OF_LISTS = {".txt": ("feature",), ".rnk": ("feature", "score")}


@named_arguments
def write_ranking(
    path: str | os.PathLike[str],
    ranking: Mapping[str, Sequence[Any]],
    about: Mapping[str, Any] | None = None,
    *,
    escape_formulas: bool = False,
) -> None:
    """Write a ranking as CSV, JSON, Parquet or a list: either the whole file is written, or nothing.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.json``, or ``.parquet``, which needs pyarrow, of the extra ``[parquet]``; or in ``.txt``:
        the column ``feature`` alone, a line each, as PLINK's ``--extract`` takes names of SNPs; or in ``.rnk``: the
        columns ``feature`` and ``score`` with a tab between them, as GSEA takes a ranked list of genes. Line breaks and
        tabs within names are written as ``\\n`` and ``\\t`` in these two.
    ranking : mapping of str to sequence
        The columns in their order, such as ``rank``, ``feature``, ``index`` and ``score``, of equal length.
    about : mapping, optional
        Method, parameters, version, ...: JSON has them in front of the ``ranking``, Parquet as JSON in the metadata of
        its schema, under the key ``fastfs``; CSV has no place for them.
    escape_formulas : bool
        Write text in CSV that a spreadsheet takes for a formula, because it begins with ``=``, ``+``, ``-``, ``@``, a
        tab or a carriage return, with a ``'`` in front. For files that somebody opens in a spreadsheet: names differ
        then from those of the table.

    Raises
    ------
    ValueError
        `path` has another ending.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastfs.io import write_ranking
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "ranking.csv")
    ...     write_ranking(file, {"rank": [1, 2], "feature": ["TP53", "BRCA1"], "score": [0.5, 0.25]})
    ...     print(file.read_text())
    rank,feature,score
    1,TP53,0.5
    2,BRCA1,0.25
    <BLANKLINE>
    """
    lists = [ending for ending, columns in _OF_LISTS.items() if set(columns) <= ranking.keys()]
    check_output(path, (*TABLE_ENDINGS, *lists))
    with replacing(path) as temporary:
        if temporary.suffix.lower() == ".parquet":
            _write_parquet(temporary, ranking, about or {})
            return
        rows = zip(*ranking.values(), strict=True)
        with open(temporary, "w", encoding="utf-8", errors=UNPRINTABLE, newline="") as file:
            if temporary.suffix.lower() == ".json":
                best_first = [dict(zip(ranking, row, strict=True)) for row in rows]
                file.write(_as_json({**(about or {}), "ranking": best_first}, indent=1) + "\n")
            elif columns := _OF_LISTS.get(temporary.suffix.lower()):
                cells = zip(*(ranking[name] for name in columns), strict=True)
                file.writelines("\t".join(on_one_line(str(cell)) for cell in row) + "\n" for row in cells)
            else:
                writer = csv.writer(file, lineterminator="\n")
                escaped = _without_formulas if escape_formulas else list
                writer.writerow(escaped(ranking))
                writer.writerows(map(escaped, rows))


def _without_formulas(row: Iterable[Any]) -> list[Any]:
    """Return the cells of a row, with a ' in front of text that a spreadsheet takes for a formula."""
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


def _write_parquet(path: Path, ranking: Mapping[str, Sequence[Any]], about: Mapping[str, Any]) -> None:
    import pyarrow.parquet

    table = pyarrow.table({name: pyarrow.array(column) for name, column in ranking.items()})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"fastfs": printable(_as_json(about))}), path)


def _as_json(value: Any, indent: int | None = None) -> str:
    # An option can be any Python value: JSON gets the printed form of types that it doesn't know.
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=str)
