"""
A group that one class connects
===============================

The genes of DiSC's first group, in B cells and in monocytes: in one of them a block is darker than its surroundings.
"""

import scanpy as sc

import fastfs

cells = sc.datasets.pbmc68k_reduced().raw.to_adata()
cells = cells[cells.obs["bulk_labels"].isin(["CD14+ Monocyte", "CD19+ B"])]
X, y = cells.to_df(), cells.obs["bulk_labels"]
model = fastfs.DiSC(n_groups=4).fit(X, y)
fastfs.pl.group(model, X, y, model.groups_[0] == 0, top=20)
