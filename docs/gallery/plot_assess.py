"""
How well do the best features tell new samples?
===============================================

The features are selected anew in each training set. The band is what permuted labels reach; the dashed and the dotted
line are two plain rankings.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
fastfs.pl.assess(fastfs.assess(X[:150], y[:150], n_repeats=5))
