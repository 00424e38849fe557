"""Tables with a row for each value, as Olink writes them."""

from array import array
from pathlib import Path

import numpy as np

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, short, some_of, unknown
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs.io._cells import MISSING, NotANumber, SampleColumn, column_not_numeric, parse_numbers, with_points
from fastfs.io._layout import Content, Wanted, not_numeric, without_name
from fastfs.io._text import Rows


def read_long(path: Path, wanted: Wanted, header: list[str], rows: Rows) -> Content:
    """Read a table with a row for each value, in the columns of samples, features and values that `long` names.

    Missing combinations are NaN; `duplicates` says what becomes of several values for one. Raise ValueError for options
    of other layouts, unknown columns, values that aren't numbers, and two labels of a sample.
    """
    columns = [name.strip() for name in (wanted.long or "").split(",")]
    if len(columns) != 3 or len(set(columns)) < 3:
        raise TableError(
            Parameter("long"), " must name three columns, of samples, features and values, with commas between them; "
            f"got '{wanted.long}'"
        )  # fmt: skip
    for name in [*columns, *wanted.aside]:
        if name not in header:
            raise unknown("column", name, header, path)
    for option in ("samples", "names_from"):
        if getattr(wanted, option) is not None:
            has_long = f" is for features in rows, but '{path}' has a row for each value: leave it out"
            raise TableError(Parameter(option), has_long)
    if wanted.transpose:
        raise TableError(f"'{path}' is read with a row for each value: leave out ", TRANSPOSE)
    if wanted.has_labels and wanted.label is None:
        raise TableError(f"'{path}' needs a label column: choose one with ", Parameter("label"))
    sample_at, feature_at, value_at = (header.index(name) for name in columns)
    aside_at = {name: header.index(name) for name in wanted.aside}
    samples, features = dict[str, int](), dict[str, int]()
    aside: dict[str, list[str]] = {name: [] for name in wanted.aside}
    places, lines, cells = array("q"), array("q"), list[str]()
    held = Held(path, wanted.budget)
    for row in rows:
        sample, feature = row[sample_at].strip(), row[feature_at].strip()
        if feature in wanted.ignored:
            continue
        held.add(TEXT_BYTES + 16)
        for what, name in (("sample", sample), ("feature", feature)):
            if name in MISSING:
                raise without_name(what, name, [rows.line], path)
        i, j = samples.setdefault(sample, len(samples)), features.setdefault(feature, len(features))
        for name, at in aside_at.items():
            cell = row[at].strip()
            if i == len(aside[name]):
                aside[name].append(cell)
            elif aside[name][i] != cell:
                raise ValueError(
                    f"Column '{name}' of '{path}' must have one value for each sample; got '{short(aside[name][i])}' "
                    f"and '{short(cell)}' (line {rows.line}) for '{short(sample)}': correct it"
                )
        places.extend((i, j))
        lines.append(rows.line)
        cells.append(row[value_at])
    names, n = list(features), len(samples)
    if not names:
        raise TableError(f"'{path}' has no feature left: all are ignored; name fewer with ", Parameter("ignore"))
    try:
        values = parse_numbers(cells, wanted.marks)
    except NotANumber as error:
        wrong = column_not_numeric(path, columns[2], error.position, cells[error.position], False)
        raise not_numeric(wrong, cells[error.position], wanted, [value_at]) from None
    of_samples, of_features = np.frombuffer(places, np.int64).reshape(-1, 2).T
    held.add(8 * n * len(names))
    X, count = _pivoted(of_samples, of_features, values, (n, len(names)), wanted.duplicates)
    if wanted.duplicates in ("error", "suffix") and count.max() > 1:
        s, f = np.unravel_index(int(count.argmax()), count.shape)
        given_on = [str(line) for line, a, b in zip(lines, of_samples, of_features, strict=True) if (a, b) == (s, f)]
        others = [name for name in header if name not in (*columns, *wanted.aside)]
        raise TableError(
            f"'{path}' has {count.max()} values of '{short(names[f])}' for the sample '{short(list(samples)[s])}' "
            f"(lines {some_of(given_on)}): take their mean with ",
            Parameter("duplicates", "mean"),
            f", or name another column of features in {Parameter('long')} ({some_of(others)})",
        )
    return Content(
        X,
        names,
        list(samples),
        {
            name: SampleColumn(with_points(cells, wanted.decimal), f"Column '{name}' of '{path}'")
            for name, cells in aside.items()
        },
    )


def _pivoted(
    i: np.ndarray, j: np.ndarray, values: np.ndarray, shape: tuple[int, int], how: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return values in their places (NaN where there is none), and the number of values of each place.

    Several become their mean or maximum if `how` says so, otherwise the first counts.
    """
    count = np.zeros(shape, np.int64)
    np.add.at(count, (i, j), 1)
    X = np.full(shape, np.nan)
    if how == "mean":
        total = np.zeros(shape)
        np.add.at(total, (i, j), values)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan), count
    if how == "max":
        np.fmax.at(X, (i, j), values)
        return X, count
    X[i[::-1], j[::-1]] = values[::-1]  # the first value of a place is written last
    return X, count
