"""
A consensus of methods
======================

The rank that each method gives to the best features of all. Long names stay apart.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
models = [fastfs.ReliefF(), fastfs.MultiSURF(), fastfs.IM4E(), fastfs.ManiFeSt()]
found = fastfs.consensus({type(model).__name__: model.fit(X, y) for model in models})
fastfs.pl.consensus(found, X.columns)
