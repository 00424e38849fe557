"""The campaign of faults, also run by `nox -s faults`."""

import os
import re
from pathlib import Path

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


# As in a job of a cluster, whose limit isn't that of the machine: three levels, of which the middle one has the limit.
OF_A_JOB = """
import os, sys
import numpy as np
import fastfs
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
np.ones(100_000_000, np.uint8)
try:
    fastfs.affinity(np.zeros((4, 10_000)) + np.arange(10_000), sigma=1.0)
except MemoryError as error:
    print(error)
"""


@ROOT
def test_the_budget_is_what_cgroups_leave(python):
    with campaign.cgroup() as folder:
        if folder is None:
            pytest.skip("no cgroup can be made here")
        job, task = Path(folder, "job"), Path(folder, "job", "task")
        try:
            task.mkdir(parents=True)
            (job / campaign.limit_of(folder)).write_text(str(512 << 20))
            finished = python(OF_A_JOB, str(task))
        finally:
            for made in (task, job):
                made.rmdir()
    assert finished.returncode == 0, finished.stderr
    budget = re.search(r"would need 8\d\d\.\d\d MB .*, but the memory budget is (\d+)", finished.stdout)
    assert budget, finished.stdout
    assert 300 < int(budget[1]) < 537
