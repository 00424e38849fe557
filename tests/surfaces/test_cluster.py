"""Dask arrays on worker processes: the same bits for any number of them, workers that die, and the example."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import fastfs
from covering import turns

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:Port")

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(2)
LABELS = RNG.integers(0, 3, 3000)
X = np.where(RNG.random((3000, 40)) < 0.4, RNG.normal(size=(3000, 40)), 0)
X[:, 0] += LABELS == 1
BUDGET = 2_300_000  # X takes 960,000 bytes, 588,000 as CSR: more than the quarter up to which it is read into memory
MODELS = {
    "ProjSe": fastfs.ProjSe(2, max_memory=BUDGET),
    "ManiFeSt": fastfs.ManiFeSt(3, max_memory=BUDGET),
    "ReliefF": fastfs.ReliefF(3, n_targets=200, max_memory=BUDGET),
    "Relief": fastfs.Relief(3, n_targets=200, max_memory=BUDGET),
    "MultiSURF": fastfs.MultiSURF(3, n_rows=100, max_memory=BUDGET),
    "IM4E": fastfs.IM4E(3, n_rows=100, max_memory=BUDGET),
    "Immigrate": fastfs.Immigrate(3, n_rows=100, max_memory=BUDGET),
    "IKDR": fastfs.IKDR(3, n_rows=100, max_memory=BUDGET),
    "DiSC": fastfs.DiSC(3, graph="knn", n_components=2, n_differential=1, max_memory=BUDGET),
}


@contextmanager
def workers(n, **config):
    """So many processes on loopback, each with one thread."""
    from dask.distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.admin.tick.limit": "1h"} | config),
        LocalCluster(n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n)
        yield client


def fitted(name, table):
    from sklearn.base import clone

    return clone(MODELS[name]).fit(table, LABELS).scores_


def test_workers_give_the_bits_of_this_process_and_no_advice_about_labels():
    """Labels go along with the tasks, of which Dask warns if they are many; nobody can send them otherwise."""
    tables = {
        "dense": da.from_array(X, chunks=(300, 40)),
        "CSR": da.from_array(X, chunks=(300, 40)).map_blocks(sp.csr_matrix),
    }
    # Each model and form; both forms of those whose streams have code for each.
    cases = [(name, form) for name in ("ProjSe", "ManiFeSt", "DiSC") for form in tables]
    cases += turns(1, [name for name in MODELS if name not in ("ProjSe", "ManiFeSt", "DiSC")], tables)
    found = []
    drawn = da.random.default_rng(0).normal(size=(3000, 40), chunks=(300, 40))
    with workers(2, **{"distributed.admin.large-graph-warning-threshold": "10 KiB"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # of the tables, which the graph holds
        found.append({(name, form): fitted(name, tables[form]) for name, form in cases})
        warnings.filterwarnings("error", "Sending large graph")
        for name in ("ProjSe", "ManiFeSt", "Relief"):
            assert fitted(name, drawn).shape == (40,)
    with dask.config.set(scheduler="synchronous"):
        found.append({(name, form): fitted(name, tables[form]) for name, form in cases})
    for case, scores in found[0].items():
        np.testing.assert_array_equal(found[1][case], scores, err_msg=str(case))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ProjSe", "ManiFeSt", "ReliefF", "DiSC"])
def test_a_worker_that_dies(tmp_path, name):
    """Another one does its work again, in either pass; if that kills it too, there is an error and no fit."""

    def lethal(block, folder, at, block_info=None):
        """Kill the worker when the fourth block is read for the at-th time, or always."""
        if block_info[0]["chunk-location"][0] == 3:
            n = len(os.listdir(folder)) + 1
            with open(os.path.join(folder, str(n)), "w"):
                pass
            if at in (0, n):
                os.kill(os.getpid(), signal.SIGKILL)
        return block

    table = da.from_array(X, chunks=(300, 40))
    with dask.config.set(scheduler="synchronous"):
        expected = fitted(name, table)
    with workers(2):
        for at in (1, 2) if name == "ReliefF" else (1,):
            folder = tmp_path / str(at)
            folder.mkdir()
            found = fitted(name, table.map_blocks(lethal, str(folder), at, meta=np.empty((0, 0))))
            assert len(os.listdir(folder)) > at  # it was read again
            np.testing.assert_array_equal(found, expected)
    (tmp_path / "0").mkdir()
    from dask.distributed import KilledWorker

    model = MODELS[name]
    with workers(2, **{"distributed.scheduler.allowed-failures": 1}), pytest.raises(KilledWorker):
        model.fit(table.map_blocks(lethal, str(tmp_path / "0"), 0, meta=np.empty((0, 0))), LABELS)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.slow  # the tests above go the same ways
def test_the_example():
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "cluster.py"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"ManiFeSt from sums: the best are \[[23], [23],", done.stdout), done.stdout
    assert re.search(r"ReliefF from targets: the best are \[[01], [01],", done.stdout)
    assert done.stdout.endswith("the same as in this process alone\n")
    assert time.monotonic() - begin < 100
