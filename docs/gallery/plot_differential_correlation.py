"""
Pairs that change their correlation
===================================

The strongest changes between malignant and benign biopsies, with family-wise p-values.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

data = load_breast_cancer(as_frame=True)
found = fastfs.differential_correlation(data.data, data.target_names[data.target])
fastfs.pl.differential_correlation(found, data.data.columns, top=15)
