"""Series matrix files of GEO, the Gene Expression Omnibus."""

import re
from collections.abc import Iterator
from pathlib import Path

from fastfs._files.errors import damaged, short, some_of
from fastfs.io._layout import Content, Wanted, annotation_rows, require_no_transpose
from fastfs.io._tables import read_features
from fastfs.io._text import Text, open_text

_KIND = "series matrix of GEO"
_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"

# Number of sample annotations that an error lists.
_MOST_LISTED = 12


def read_series_matrix(path: Path, wanted: Wanted) -> Content:
    """Read a series matrix of GEO: features in rows, annotations of samples in the lines above the table.

    Raise ValueError for a file of another kind, damaged, of several platforms or without values, for `transpose`, and
    for an unknown annotation.
    """
    require_no_transpose(wanted, path, _KIND)
    with open_text(path, wanted.text_form) as file:
        lines = ([_unquoted(cell) for cell in cells] for cells in _joined(file, path))
        fields = []
        for name, *cells in lines:
            if name == _BEGIN:
                break
            if name.startswith("!Sample_"):
                fields.append((name.removeprefix("!Sample_"), cells))
            elif name and not name.startswith("!"):
                raise ValueError(f"'{path}' isn't a {_KIND}: its lines must begin with '!'; got {short(name)!r}")
        else:
            raise ValueError(f"'{path}' isn't a {_KIND}, or is damaged: it has no line '{_BEGIN}'")
        header = next(lines, [""])
        samples = header[1:]
        for name, cells in fields:
            if len(cells) != len(samples):
                raise damaged(path, f"'!Sample_{name}' has {len(cells)} values for the {len(samples)} samples")
        _require_one_platform(fields, path)
        about = _annotations(fields, len(samples))
        candidates = ", ".join(_candidates(about)) or "none tells classes apart"
        rows_aside = annotation_rows(wanted, about, candidates, path)

        def rows() -> Iterator[list[str]]:
            """Yield the wanted annotations, then the rows of the table; raise ValueError if it is damaged or empty."""
            yield from rows_aside
            is_empty = True
            for row in lines:
                if row[0] == _END:
                    break
                if len(row) != len(header):
                    raise damaged(path, f"the row '{short(row[0])}' must have {len(header)} cells; got {len(row)}")
                is_empty = False
                yield row
            else:
                raise damaged(path, f"it ends without the line '{_END}'")
            if is_empty:
                raise ValueError(
                    f"'{path}' holds no values: for sequencing, GEO keeps them in supplementary files, so read those"
                )

        return read_features(path, wanted, header, rows())


def _joined(file: Text, path: Path) -> Iterator[list[str]]:
    """Yield the cells of each row; a cell in quotes can hold ends of lines, which become spaces.

    A line that begins with ! ends a quote, too; raise ValueError for one that doesn't close.
    """
    lines = (line.rstrip("\r\n") for line in file)
    line = next(lines, None)
    while line is not None:
        cells, begin, line = line.split("\t"), file.line, next(lines, None)
        while cells[-1].startswith('"') and (len(cells[-1]) == 1 or not cells[-1].endswith('"')):
            if line is None:
                raise damaged(path, f"line {begin} opens a quote that doesn't close")
            if line.startswith("!"):
                break  # a quote that belongs to the text
            first, *others = line.split("\t")
            cells[-1] = f"{cells[-1]} {first}"
            cells += others
            line = next(lines, None)
        yield cells


def _unquoted(cell: str) -> str:
    return (cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell).strip()


def _require_one_platform(fields: list[tuple[str, list[str]]], path: Path) -> None:
    platforms = list(dict.fromkeys(cell for name, cells in fields if name == "platform_id" for cell in cells))
    if len(platforms) > 1:
        raise ValueError(
            f"'{path}' must hold samples of one platform; got {some_of(platforms)}, which have different probes: "
            "take the series matrix of one platform, or split the file"
        )


def _annotations(fields: list[tuple[str, list[str]]], n_samples: int) -> dict[str, list[str]]:
    """Return the annotations of the samples by name (of a characteristic: tissue, age, ...); "" if missing.

    The lines of characteristics don't correspond between samples: if a sample lacks one, the next ones move up. A name
    that comes again in a sample is numbered, and one of another channel ends in ":ch2".
    """
    about: dict[str, list[str]] = {}
    seen: list[dict[str, str]] = [{} for _ in range(n_samples)]
    for field, cells in fields:
        channel = re.fullmatch(r"characteristics_ch(\d+)", field)
        for sample, cell in enumerate(cells):
            name, value = field, cell
            if channel and (match := re.fullmatch(r"([^:]+):\s*(.*)", cell)):
                name, value = match[1].strip() + ("" if channel[1] == "1" else f":ch{channel[1]}"), match[2]
            elif channel and not cell:
                continue
            unique, again = name, 1
            while unique in seen[sample]:
                unique, again = f"{name}.{again}", again + 1
            seen[sample][unique] = value
            about.setdefault(unique, [""] * n_samples)[sample] = value
    return about


def _candidates(about: dict[str, list[str]]) -> list[str]:
    """Return words for some annotations that can be labels, with their numbers of classes."""
    counts = {name: len(set(values)) for name, values in about.items() if all(values)}
    candidates = [f"{name}: {n} classes" for name, n in counts.items() if 2 <= n <= len(about[name]) / 2]
    return candidates[:_MOST_LISTED] + ["..."] * (len(candidates) > _MOST_LISTED)
