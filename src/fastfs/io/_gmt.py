"""GMT files: groups of genes, a line for each: name, description, genes, with tabs between them."""

from pathlib import Path

from fastfs._files.errors import short
from fastfs._files.paths import check_input
from fastfs._inputs.entry import entry
from fastfs.io._text import TextForm, open_text


@entry
def read_gmt(path: str | Path) -> dict[str, list[str]]:
    """Read groups of genes from a GMT file, as of MSigDB.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict of str and list of str
        For `feature_groups` of :func:`fastfs.permutation_test`; genes without a name, and repeated ones, are left out.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        A line with fewer than three fields; a name that occurs twice; no groups.

    Examples
    --------
    >>> import fastfs.io
    >>> from pathlib import Path
    >>> _ = Path("pathways.gmt").write_text("REPAIR\\tof DNA\\tBRCA1\\tRAD51\\n")
    >>> fastfs.io.read_gmt("pathways.gmt")
    {'REPAIR': ['BRCA1', 'RAD51']}
    """
    check_input(Path(path))
    groups: dict[str, list[str]] = {}
    with open_text(Path(path), TextForm()) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            name, *rest = (field.strip() for field in line.rstrip("\r\n").split("\t"))
            if len(rest) < 2:
                raise ValueError(
                    f"'{path}' isn't a GMT file: each line must hold a name, a description and genes, with tabs "
                    f"between them; got {short(line.strip())!r} in line {number}"
                )
            if name in groups:
                raise ValueError(
                    f"'{path}' must have a different name for each group; got {name!r} again in line {number}"
                )
            groups[name] = [gene for gene in dict.fromkeys(rest[1:]) if gene]
    if not groups:
        raise ValueError(f"'{path}' must hold groups of genes; got an empty file")
    return groups
