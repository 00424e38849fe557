"""
Would another sample say the same?
==================================

How often each feature is among the ten best of half of the samples.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
fastfs.pl.stability(fastfs.stability(fastfs.MultiSURF(10), X, y, n_subsamples=50), X.columns)
