"""
Pairs of features that work together
====================================

The weights of IMMIGRATE's quadratic form, for the features of 569 biopsies.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = fastfs.Immigrate().fit(X, y)
fastfs.pl.interactions(model, top=12)
