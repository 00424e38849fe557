"""What several test modules share."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings
from threadpoolctl import threadpool_limits

# `pytest --hypothesis-profile=thorough` looks harder; continuous integration sees the same examples every time.
settings.register_profile("ci", deadline=None, max_examples=25, derandomize="CI" in os.environ, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("ci")


def load_data(name):
    """X, float64 or CSR, and y of a real data set; the calling test is skipped if there are none here."""
    folder = os.environ.get("FASTFS_TEST_DATA")
    if not folder:
        pytest.skip("FASTFS_TEST_DATA isn't set: it names the folder of the real data sets")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as data:
        if "indptr" in data:
            parts = data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"]
            return scipy.sparse.csr_matrix(parts, shape=tuple(data["shape"])), data["y"]
        return data["X"].astype(float), data["y"]


_RNG_STATES = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Give a test the data that it has alone, whichever tests of its module ran before."""
    rng = getattr(getattr(item, "module", None), "RNG", None)
    if rng is not None:
        rng.bit_generator.state = _RNG_STATES.setdefault(item.module.__name__, rng.bit_generator.state)


@pytest.fixture(scope="session", autouse=True)
def one_thread_of_others():
    """For NumPy's BLAS, whose part in the tests is the oracles, and scikit-learn's OpenMP: on a busy machine their
    threads wait for each other, and wait busily, which tripled the time of processes that tests start.

    A fastfs call sets the threads that it was asked for by itself.
    """
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENBLAS_NUM_THREADS", "1")
        patched.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture
def interrupt():
    """Sends Ctrl-C as the main thread gets it, also if the test runner ignores it, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def load():
    return load_data


@pytest.fixture(scope="session")
def python():
    """Runs code in a fresh interpreter: ``python(code, *arguments, VARIABLE="value")`` returns the finished process."""

    def run(code, *arguments, timeout=300, **environment):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("FASTFS_")}
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**inherited, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def isas(python):
    """The instruction sets that this machine has, lowest first."""
    finished = python("import fastfs\ntry: fastfs.info()\nexcept ValueError as e: print(e)", FASTFS_ISA="none")
    assert finished.stdout.startswith("FASTFS_ISA must be one of "), finished.stdout + finished.stderr
    return finished.stdout.removeprefix("FASTFS_ISA must be one of ").split(" on ")[0].split(", ")


@pytest.fixture
def inside(monkeypatch, capsys):
    """`python -m fastfs ARGUMENTS` in this process: starting Python takes as long as a hundred of these calls."""
    import fastfs.cli

    def run(*arguments, cwd):
        monkeypatch.chdir(cwd)
        code = fastfs.cli.run([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


@pytest.fixture
def no_figures(monkeypatch):
    """Leave the pictures of a report blank but those of pairs: most of its time, of which its numbers know nothing."""
    monkeypatch.setattr("fastfs._report.figures.Figures._draw", lambda *_: "<svg></svg>")
