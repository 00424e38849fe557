"""Tables of programs that labs use, known by the names in their headers: the error says how to read them."""

from collections.abc import Sequence
from pathlib import Path

from fastfs._files.errors import TRANSPOSE, Parameter, TableError
from fastfs.io._layout import Wanted

_FEATURE_COUNTS = ["Geneid", "Chr", "Start", "End", "Strand", "Length"]
_DESEQ2 = {"baseMean", "log2FoldChange", "padj"}
_MAXQUANT = {"Protein IDs", "Majority protein IDs"}


def check_known(header: Sequence[str], wanted: Wanted, path: Path) -> None:
    """Raise TableError about a table of featureCounts, MaxQuant, Olink or DESeq2 that is read in another layout.

    It names the options for this table.
    """
    names = set(header)
    if wanted.long is not None:
        return
    if list(header[:6]) == _FEATURE_COUNTS:
        about = [name for name in _FEATURE_COUNTS[1:] if name not in wanted.ignored]
        if not wanted.transpose or (about and wanted.samples is None):
            raise TableError(
                f"'{path}' is a table of featureCounts, with genes in rows and five columns about these: read it with ",
                TRANSPOSE, " and ", Parameter("ignore", _FEATURE_COUNTS[1:]),
            )  # fmt: skip
    elif names >= _MAXQUANT and (not wanted.transpose or wanted.samples is None):
        columns = [kind for kind in ("LFQ intensity ", "Intensity ") if any(name.startswith(kind) for name in header)]
        raise TableError(
            f"'{path}' is a table of MaxQuant, with proteins in rows and columns about these: read it with ",
            TRANSPOSE, ", ", Parameter("names_from", "Protein IDs"), " and ",
            Parameter("samples", f"{columns[0] if columns else 'Intensity '}*"),
        )  # fmt: skip
    elif "SampleID" in names and "NPX" in names:
        feature = "Assay" if "Assay" in names else "OlinkID"
        raise TableError(
            f"'{path}' is a table of Olink, with a row for each value: read it with ",
            Parameter("long", f"SampleID,{feature},NPX"),
        )
    elif names >= _DESEQ2:
        raise TableError(
            f"'{path}' holds results of DESeq2, not values of samples: write these in R, "
            "write.csv(counts(dds, normalized = TRUE), 'counts.csv'), and read that file with ",
            TRANSPOSE,
        )
