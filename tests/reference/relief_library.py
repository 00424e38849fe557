"""The library's RELIEF family, called as its reference is."""

import fastfs

ESTIMATORS = {
    "relief": fastfs.Relief,
    "relieff": fastfs.ReliefF,
    "murelief": fastfs.MuRelief,
    "surf": fastfs.SURF,
    "multisurf": fastfs.MultiSURF,
    "swrf": fastfs.SWRF,
    "rrelieff": fastfs.RReliefF,
}
RENAMED = {"k": "n_neighbors", "categorical": "categorical_features"}


def prepared(core, **options):
    """An estimator of what `reference.relief_family.scores` calls `core`, and the arguments of its fit."""
    of_fit = {name: options.pop(name) for name in ("sample_weight", "distances") if name in options}
    return ESTIMATORS[core](**{RENAMED.get(name, name): value for name, value in options.items()}), of_fit


def fitted(X, y, core, **options):
    estimator, of_fit = prepared(core, **options)
    return estimator.fit(X, y, **of_fit)
