"""
Scores of pixels
================

Which pixels tell a handwritten 4 from a 9? ManiFeSt finds those that change their relations to the others.
"""

from sklearn.datasets import load_digits

import fastfs

images, digits = load_digits(return_X_y=True)
chosen = (digits == 4) | (digits == 9)
model = fastfs.ManiFeSt().fit(images[chosen], digits[chosen])
fastfs.pl.image(model.scores_, (8, 8), title="ManiFeSt, 4 against 9")
