"""Encodings of text: UTF-8 and those with a byte order mark are read; errors name others, which have to be given."""

import codecs
import contextlib
from pathlib import Path

from fastfs._files.errors import Parameter, TableError, damaged
from fastfs._files.expand import open_expanded

# UTF-32 first: its mark begins with that of UTF-16.
_BY_MARK = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# Bytes at the beginning of a file in which UTF-16 without a mark shows itself.
_BEGINNING = 4096


def encoding_of(path: Path, given: str | None, budget: int | None) -> str:
    """Return the encoding of a file of text: by its mark, UTF-8 if it's valid, or else the given one.

    Without a given one it is UTF-8, which isn't checked. Raise TableError for an unknown encoding, and for text that
    looks like UTF-16 without a mark if none is given.
    """
    with open_expanded(path, budget) as file:
        beginning = file.read(_BEGINNING)
        marked = next((name for mark, name in _BY_MARK.items() if beginning.startswith(mark)), None)
        if marked is not None:
            return marked
        if given is None:
            if wide := _utf_16(beginning):
                raise _not_utf_8(path, [wide])
            return "utf-8"
        try:
            name = codecs.lookup(given).name
            "".encode(given)  # LookupError for base64 and other codecs that don't make text
        except LookupError:
            raise TableError(
                Parameter("encoding"), f" must be an encoding such as latin-1 or utf-16; got '{given}'"
            ) from None
        if name in ("utf-16", "utf-32"):  # without a mark, these don't say which byte of a letter comes first
            if wide := _utf_16(beginning):
                return wide
            raise TableError(f"'{path}' isn't text in {name}: leave out ", Parameter("encoding"))
        if name.startswith(("utf-16", "utf-32")):
            return given
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while beginning:  # a file of labels next to one in another encoding can be UTF-8
                decoder.decode(beginning)
                beginning = file.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return given
    return "utf-8"


def require_no_mark(path: Path, given: str) -> None:
    """Raise TableError if a file begins with the mark of another encoding than the given one."""
    with open_expanded(path, None) as file:
        beginning = file.read(4)
    marked = next((name for mark, name in _BY_MARK.items() if beginning.startswith(mark)), None)
    if marked is None:
        return
    with contextlib.suppress(LookupError):
        if codecs.lookup(given).name.startswith(marked.removesuffix("-sig")):
            return
    raise TableError(
        f"'{path}' begins with the mark of {marked.removesuffix('-sig')}: leave out ", Parameter("encoding")
    )


def _utf_16(beginning: bytes) -> str | None:
    """Return the form of UTF-16 that text without a mark has: every other byte of Latin letters is 0.

    Otherwise return None.
    """
    low, high = beginning[::2], beginning[1::2]
    if len(high) < 2 or b"\0" not in beginning:
        return None
    if high.count(0) > 0.8 * len(high) and low.count(0) < 0.1 * len(low):
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > 0.8 * len(low) and high.count(0) < 0.1 * len(high) else None


def not_decoded(path: Path, error: UnicodeDecodeError, given: str | None, budget: int | None) -> ValueError:
    """Return the error about text with bytes that its encoding doesn't have.

    If no encoding was given, and the text has no mark, it names those that fit; otherwise it asks for another, or calls
    the file damaged.
    """
    if given is None and not error.encoding.startswith("utf-8"):
        return damaged(path, f"it begins as {error.encoding} text, but {error.reason}")
    if given is not None:
        return TableError(f"'{path}' isn't text in {error.encoding}: {error}; give another encoding with ",
                          Parameter("encoding"))  # fmt: skip
    with open_expanded(path, budget) as file:
        others = set(file.read(1 << 24)) & set(range(0x80, 0xA0))
    undefined = {0x81, 0x8D, 0x8F, 0x90, 0x9D}  # of Windows' code page
    if others and not others & undefined:
        fitting = ["cp1252"]
    else:
        fitting = ["latin-1"]
    return _not_utf_8(path, fitting, str(error))


def _not_utf_8(path: Path, fitting: list[str], why: str = "") -> TableError:
    """Return the error about text that isn't UTF-8, with the advice to read it in one of the `fitting` encodings."""
    names = {
        "cp1252": "Western text of Windows, if its letters come out right",
        "latin-1": "Western text (Latin-1), if its letters come out right",
        "utf-16-le": "UTF-16 without a byte order mark",
        "utf-16-be": "UTF-16 without a byte order mark",
    }
    parts: list[str | Parameter] = [f"'{path}' must be UTF-8 text{': ' + why if why else ''}; "]
    for name in fitting:
        parts += [f"it can be {names[name]}: read it with ", Parameter("encoding", name)]
    return TableError(*parts, ", or save it as UTF-8")
