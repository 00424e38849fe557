"""Makes the files of this folder that the packages loompy 3.0.8 and cmapPy 4.0.1 write.

python make_files.py, after make_files.R: they hold the same counts.
"""

import gzip
import subprocess

import loompy
import numpy as np
import pandas as pd
from cmapPy.pandasGEXpress import GCToo, write_gct

COUNTS = pd.read_csv("counts.csv", index_col=0)
CONDITIONS = pd.read_csv("conditions.csv", index_col=0)["condition"]
SYMBOLS = np.array(["TP53", "MYC", "ACTB", "GAPDH", "TBCE", "TBCE"])
BATCHES = np.arange(12) // 4

matrix = COUNTS.to_numpy(np.float32).T
loompy.create(
    "raw.loom",
    {"": matrix, "twice": 2 * matrix},
    {"Gene": SYMBOLS, "Accession": COUNTS.columns.to_numpy(str)},
    {"CellID": COUNTS.index.to_numpy(str), "condition": CONDITIONS.to_numpy(str), "batch": BATCHES},
)
# h5repack, of HDF5's tools, leaves a third of the size.
subprocess.run("h5repack -L -l CONTI -f NONE raw.loom cells.loom && rm raw.loom", shell=True, check=True)

about = pd.DataFrame({"condition": CONDITIONS.to_numpy(), "batch": BATCHES}, index=COUNTS.index)
symbols = pd.DataFrame({"symbol": SYMBOLS}, index=COUNTS.columns)
written = GCToo.GCToo(COUNTS.T.astype(float), row_metadata_df=symbols, col_metadata_df=about)
write_gct.write(written, "expression.gct")

# The older version of the format has no place for annotations of the samples.
lines = ["#1.2", "6\t12", "\t".join(["Name", "Description", *COUNTS.index])]
lines += ["\t".join(map(str, [name, symbol, *COUNTS[name]])) for name, symbol in zip(COUNTS, SYMBOLS, strict=True)]
with gzip.GzipFile("expression_1_2.gct.gz", "wb", mtime=0) as file:
    file.write("\n".join([*lines, ""]).encode())
