"""
How many groups differ?
=======================

DiSC's significances, one curve a class, on the pixels of the digits 4 and 9: a step says how many vectors matter.
"""

from sklearn.datasets import load_digits

import fastfs

images, digits = load_digits(return_X_y=True)
chosen = (digits == 4) | (digits == 9)
model = fastfs.DiSC().fit(images[chosen], digits[chosen])
fastfs.pl.significance(model)
