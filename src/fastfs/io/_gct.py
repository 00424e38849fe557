"""GCT files, of versions 1.2 and 1.3."""

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from fastfs._files.errors import damaged, short, some_of, without_samples
from fastfs.io._layout import Content, Wanted, annotation_rows, require_labels_file, require_no_transpose
from fastfs.io._tables import read_features
from fastfs.io._text import open_text, stripped

_KIND = "GCT file"

# Cells that the tools of the format write for missing values.
_MISSING = "-666"


def read_gct(path: Path, wanted: Wanted) -> Content:
    """Read a GCT file of version 1.2 or 1.3: features in rows, annotations of samples above them.

    Columns about features are skipped. Raise ValueError for another version, sizes that don't fit, `transpose` or an
    unknown annotation.
    """
    require_no_transpose(wanted, path, _KIND)
    with open_text(path, wanted.text_form) as file:
        lines = (line.rstrip("\r\n").split("\t") for line in file)
        version = next(lines, [""])[0].strip()
        if version not in ("#1.2", "#1.3"):
            raise ValueError(f"'{path}' isn't a {_KIND}: its first line must be #1.2 or #1.3; got {short(version)!r}")
        sizes = [cell for cell in stripped(next(lines, [])) if cell]
        if len(sizes) != (2 if version == "#1.2" else 4) or not all(
            size.isascii() and size.isdigit() for size in sizes
        ):
            raise ValueError(
                f"'{path}' isn't a {_KIND}: its second line must hold the sizes; got {short(' '.join(sizes))!r}"
            )
        n_features, n_samples, n_about_features, n_about_samples = [*map(int, sizes), 1, 0][:4]
        if not n_samples:
            raise without_samples(path)
        header = stripped(next(lines, []))
        width = 1 + n_about_features + n_samples
        if len(header) < width or any(header[width:]):
            raise damaged(
                path,
                f"its second line announces {width} columns; got {len(header)} in the third: "
                "correct the second line, or export the file again",
            )
        # The columns in between describe the features.
        pick = itemgetter(0, *range(1 + n_about_features, width))
        about = {}
        for _ in range(n_about_samples):
            row = next(lines, [])
            _require_width(row, width, path)
            name, *cells = stripped(pick(row))
            about[name] = ["" if cell == _MISSING else cell for cell in cells]
        if not about:
            require_labels_file(wanted, path)
        rows_aside = annotation_rows(wanted, about, some_of([*about]), path)

        def feature_rows() -> Iterator[list[str]]:
            """Yield the wanted annotations of samples, then the name and values of each feature.

            Raise ValueError for another number of features, or of cells in a row.
            """
            yield from rows_aside
            n = 0
            for row in lines:
                if any(cell.strip() for cell in row):  # Excel writes tabs below the table
                    _require_width(row, width, path)
                    n += 1
                    yield pick(row)
            if n != n_features:
                raise damaged(path, f"its second line announces {n_features} features; got {n}")

        return read_features(path, wanted, list(pick(header)), feature_rows())


def _require_width(row: list[str], width: int, path: Path) -> None:
    if len(row) < width or any(row[width:]):
        raise damaged(path, f"the row '{short(row[0]) if row else ''}' must have {width} columns; got {len(row)}")
