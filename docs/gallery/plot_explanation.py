"""
Why this sample?
================

The parts of one biopsy's margin: to the right what speaks for its class, to the left what speaks against it.
"""

from sklearn.datasets import load_breast_cancer

import fastfs

data = load_breast_cancer(as_frame=True)
model = fastfs.IM4E().fit(data.data, data.target_names[data.target])
fastfs.pl.explanation(model.explain(data.data.iloc[[100]])[0])
