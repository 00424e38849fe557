"""Rankings of a Dask array by two workers on loopback, the same as in one process.

python -m pip install 'dask[distributed]'
python examples/cluster.py
"""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import fastfs

N_BLOCKS, ROWS, FEATURES = 20, 1000, 100


def labels(block: int) -> np.ndarray:
    return np.random.default_rng([block, 1]).integers(0, 2, ROWS)


def rows(block: int) -> np.ndarray:
    """Features 0 and 1 are shifted in class 1; there, features 2 and 3 rise and fall together."""
    table, y = np.random.default_rng(block).normal(size=(ROWS, FEATURES)), labels(block)
    table[:, :2] += y[:, None]
    table[:, 3] = np.where(y == 1, table[:, 2] + 0.3 * table[:, 3], table[:, 3])
    return table


def main() -> None:
    # A block is made where it is worked on. Instead, it may be read from files: da.from_zarr("cells.zarr").
    X = da.map_blocks(
        lambda block_info: rows(block_info[None]["chunk-location"][0]),
        chunks=((ROWS,) * N_BLOCKS, (FEATURES,)),
        meta=np.empty((0, 0)),
    )
    y = np.concatenate([labels(block) for block in range(N_BLOCKS)])
    # X takes 16 MB, more than a quarter of this budget, so that it isn't loaded.
    models = [fastfs.ManiFeSt(2, max_memory="32M"), fastfs.ReliefF(2, n_targets=200, max_memory="32M")]
    with (
        # Of real machines: Client("tcp://scheduler:8786").
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster),
    ):
        for model in models:
            model.fit(X, y)
    table = np.concatenate([rows(block) for block in range(N_BLOCKS)])
    for model in models:
        name = type(model).__name__
        print(f"{name} from {model.algorithm_}: the best are {np.argsort(model.ranking_)[:4].tolist()}")
        alone = type(model)(**model.get_params() | {"max_memory": None}).fit(table, y)
        assert alone.algorithm_ != model.algorithm_
        np.testing.assert_allclose(model.scores_, alone.scores_, rtol=0, atol=1e-10 * np.abs(alone.scores_).max())
        np.testing.assert_array_equal(model.get_support(), alone.get_support())
    print("the same as in this process alone")


if __name__ == "__main__":
    main()
