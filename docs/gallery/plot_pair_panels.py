"""
Pairs that act together
=======================

The strongest interactions of thirty measurements on whether a breast tumour is malignant: two features against each
other, coloured by the diagnosis. Ranks take the place of values, which have long tails.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

data = load_breast_cancer(as_frame=True)
diagnosis = data.target_names[data.target]
found = fastfs.interaction_scan(data.data, diagnosis, transform="rank", n_permutations=199)
fastfs.pl.pair_panels(found, data.data, diagnosis)
