"""The campaign of faults, also run by `nox -s faults`."""

import os

import pytest

from faults import campaign

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")
ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small disk, as root may")


@pytest.mark.huge
def test_signals_at_any_time():
    assert campaign.signals(seed=os.getpid(), minutes=3) == []


@pytest.mark.huge
@ROOT
def test_disks_of_any_size():
    assert campaign.disk() == []


@pytest.mark.huge
def test_budgets_are_kept():
    assert campaign.memory() == []


# Of a machine with one core and half a gigabyte, which the interpreter and SciPy's libraries take most of.
SMALL = """
import os, resource, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
import numpy as np
import fastfs
assert fastfs.info()["n_threads"] == 1
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 1000)), np.arange(60) % 2
print(len(fastfs.ReliefF().fit(X, y).scores_), len(fastfs.ManiFeSt(max_memory="50M").fit(X, y).scores_))
try:
    fastfs.affinity(rng.normal(size=(4, 10_000)), sigma=1.0)
except MemoryError as error:
    print(error)
"""


@pytest.mark.huge
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_one_core_and_half_a_gigabyte(python):
    finished = python(SMALL, OPENBLAS_NUM_THREADS="1")
    assert finished.returncode == 0, finished.stderr
    scores, message = finished.stdout.splitlines()
    assert scores == "1000 1000"
    # NumPy's: the budget by default looks at the machine and at cgroups, not at RLIMIT_AS.
    assert message.startswith("Unable to allocate 763. MiB")
