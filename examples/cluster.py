"""Permutations and subsamples on a cluster of two worker processes, with the results of one.

python -m pip install 'dask[distributed]'
python examples/cluster.py
"""

import numpy as np
from dask.distributed import Client, LocalCluster
from joblib import parallel_config

import fastfs


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2000)), np.arange(100) % 2
    X[:, :10] += y[:, None]
    selector = fastfs.ReliefF(10)
    with (
        # An address of real machines in place of this: Client("tcp://scheduler:8786").
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster),
        parallel_config("dask"),
    ):
        test = fastfs.permutation_test(selector, X, y, n_permutations=199, n_jobs=-1)
        kept = fastfs.stability(selector, X, y, n_subsamples=20, n_jobs=-1)
    alone = fastfs.permutation_test(selector, X, y, n_permutations=199)
    print(f"p = {test.pvalue}; family-wise below 0.05: {np.flatnonzero(test.pvalues_max < 0.05).tolist()}")
    print(f"stability {kept.stability:.2f}; the same as alone: {np.array_equal(test.pvalues, alone.pvalues)}")


if __name__ == "__main__":
    main()
