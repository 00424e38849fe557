"""
A ranking
=========

The genes of two kinds of blood cells (10x Genomics, 700 cells as scanpy ships them) by ReliefF. The dashed line is the
median of all genes: the further a bar passes it, the clearer the gene.
"""

import scanpy as sc

import fastfs

cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
cells = cells[cells.obs["bulk_labels"].isin(["CD14+ Monocyte", "CD19+ B"])]
model = fastfs.ReliefF(8).fit(cells.to_df(), cells.obs["bulk_labels"])
fastfs.pl.ranking(model.scores_, cells.var_names, n_selected=8, title="ReliefF, monocytes against B cells")
