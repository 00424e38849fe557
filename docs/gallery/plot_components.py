"""
What ManiFeSt's scores rest on
==============================

The leading eigenvectors of the mean of two classes and of their difference, as images of the digits 4 and 9.
"""

from sklearn.datasets import load_digits

import fastfs

images, digits = load_digits(return_X_y=True)
chosen = (digits == 4) | (digits == 9)
model = fastfs.ManiFeSt(n_components=3).fit(images[chosen], digits[chosen])
fastfs.pl.components(model, shape=(8, 8))
