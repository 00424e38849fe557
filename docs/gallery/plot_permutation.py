"""
Is there anything at all?
=========================

The largest score under shuffled labels, 999 times, and under the true ones.
"""

from sklearn.datasets import load_wine

import fastfs

X, y = load_wine(return_X_y=True)
fastfs.pl.permutation(fastfs.permutation_test(fastfs.MultiSURF(), X, y, n_permutations=999))
