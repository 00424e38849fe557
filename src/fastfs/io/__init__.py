"""Tables in, rankings out: the files that the command line reads and writes."""

from fastfs._files.errors import Parameter as Parameter
from fastfs._files.errors import TableError as TableError
from fastfs._files.paths import check_output as check_output
from fastfs._files.paths import on_one_line as on_one_line
from fastfs._files.paths import printable as printable
from fastfs._files.paths import replacing as replacing
from fastfs._files.paths import resolved as resolved
from fastfs._inputs.genotypes import Genotypes
from fastfs.io._genotypes import pack_genotypes
from fastfs.io._gmt import read_gmt
from fastfs.io._plink import read_plink
from fastfs.io._read import read_table
from fastfs.io._read import read_unlabelled as read_unlabelled
from fastfs.io._table import Table
from fastfs.io._table import keep_classes as keep_classes
from fastfs.io._table import take_targets as take_targets
from fastfs.io._text import read_names as read_names
from fastfs.io._text import read_pairs as read_pairs
from fastfs.io._write import RANKING_ENDINGS as RANKING_ENDINGS
from fastfs.io._write import TABLE_ENDINGS as TABLE_ENDINGS
from fastfs.io._write import write_ranking

# Names outside of __all__ are for the command line and the demo.
__all__ = ["Genotypes", "Table", "pack_genotypes", "read_gmt", "read_plink", "read_table", "write_ranking"]
