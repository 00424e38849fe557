"""
Dimensions that can be named
============================

The share of each class of wine in each dimension of I-KDR.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import fastfs

data = load_wine()
X = StandardScaler().fit_transform(data.data)
fastfs.pl.class_profile(fastfs.IKDR().fit(X, data.target_names[data.target]))
