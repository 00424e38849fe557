"""
Two methods against each other
==============================

One dot a gene, the best of each method by name.
"""

import scanpy as sc

import fastfs

cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
cells = cells[cells.obs["bulk_labels"].isin(["CD14+ Monocyte", "CD19+ B"])]
X, y = cells.to_df(), cells.obs["bulk_labels"]
fastfs.pl.comparison(
    fastfs.ReliefF().fit(X, y).scores_, fastfs.ManiFeSt().fit(X, y).scores_, X.columns, labels=("ReliefF", "ManiFeSt")
)
