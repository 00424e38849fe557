"""
The same method under shuffled labels
=====================================

A ranking always looks like one. Its twin shows what the method makes of labels that mean nothing; features among the
best of both are dark.
"""

import scanpy as sc

import fastfs

cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
cells = cells[cells.obs["bulk_labels"].isin(["CD14+ Monocyte", "CD19+ B"])]
X, y = cells.to_df(), cells.obs["bulk_labels"]
fastfs.pl.shuffled_twin(fastfs.shuffled_twin(fastfs.ManiFeSt(), X, y, top=15), X.columns)
