"""DiSC on tables of few features: the share of planted ones among the best, by n_components.

A quarter of the features share a factor in the first class alone. Of each number of classes and features come the share
by chance, the (p - 2) / (C - 1) components that fit, and for some numbers of them the mean share of 30 tables.
"""

import warnings

import numpy as np

import fastfs

N_TABLES, N_SAMPLES = 30, 40


def share(n_features, n_classes, n_components, seed):
    """Return the share of planted features among as many best ones."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N_SAMPLES * n_classes, n_features)), np.repeat(np.arange(n_classes), N_SAMPLES)
    n_planted = max(2, n_features // 4)
    X[y == 0, :n_planted] += 1.5 * rng.normal(size=(N_SAMPLES, 1))
    scores = np.atleast_2d(fastfs.DiSC(n_components=n_components).fit(X, y).scores_)[0]
    return np.mean(np.argsort(-scores)[:n_planted] < n_planted)


def main():
    warnings.simplefilter("ignore", fastfs.DataWarning)
    print("classes features chance  fit  components: share")
    for n_classes in (2, 3, 5):
        for n_features in (8, 12, 16, 20, 30):
            fit = (n_features - 2) // (n_classes - 1)
            found = [
                f"{n}: {np.mean([share(n_features, n_classes, n, seed) for seed in range(N_TABLES)]):.2f}"
                for n in sorted({max(1, fit // 4), max(1, fit // 2), fit})
            ]
            chance = max(2, n_features // 4) / n_features
            print(f"{n_classes:7} {n_features:8} {chance:6.2f} {fit:4}  {', '.join(found)}")


if __name__ == "__main__":
    main()
