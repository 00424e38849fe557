"""Many callers, forked children, and SciPy's BLAS threads: the one thing of the process that a call touches."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastfs
from fastfs._machine import lapack as _lapack
from fastfs._machine.beside import beside
from fastfs._machine.run import Run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 300))
Y = np.arange(40) % 2


class Stop(Exception):
    pass


def long_call(progress, n_threads=2):
    """Runs until `progress` raises, which gets its first report after 0.05 s."""
    wide = np.broadcast_to(1.0, (500, 20000))
    fastfs.affinity_product(wide, np.ones(20000), kernel="linear", progress=progress, n_threads=n_threads)


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_callers_do_not_disturb_each_other(n_threads):
    def affinity(seed):
        return fastfs.affinity(X + seed, sigma=3.0, n_threads=n_threads).tobytes()

    def scores(seed):
        return fastfs.manifest_scores(X + np.sin(seed * X), Y, n_threads=n_threads).tobytes()

    def classes(seed):
        return fastfs.manifest_scores(X[:, seed::5], Y + 2 * (X[:, 0] > 0.5), n_threads=n_threads).tobytes()

    def wide(seed):
        options = {"accuracy": ("low_rank", "low_rank_high")[seed % 2], "rank": 20, "random_state": seed}
        return fastfs.manifest_scores(X, Y, n_threads=n_threads, **options).tobytes()

    def margins(seed):
        label = [Y, Y + 2 * (X[:, 0] > 0.5)][seed % 2]
        near = fastfs.relieff_scores(X, label, n_neighbors=3, n_threads=n_threads)
        return near.tobytes() + fastfs.im4e(X, label, n_threads=n_threads).weights.tobytes()

    def interactions(seed):
        return fastfs.immigrate(X[:, seed::9], Y, n_threads=n_threads).W.tobytes()

    jobs = [(f, seed) for f in (affinity, scores, classes, wide, margins, interactions) for seed in range(4)]
    alone = [f(seed) for f, seed in jobs]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda job: job[0](job[1]), jobs))
    with ThreadPoolExecutor(8) as pool:
        crowded = list(pool.map(lambda job: job[0](job[1]), 3 * jobs))
    assert together == alone
    assert crowded == 3 * alone


def test_one_caller_may_stop_while_another_works():
    def stopped():
        def stop(step, share):
            raise Stop

        with pytest.raises(Stop):
            long_call(stop)
        return "stopped"

    alone = fastfs.affinity(X, sigma=3.0).tobytes()
    with ThreadPoolExecutor(4) as pool:
        stops = [pool.submit(stopped) for _ in range(2)]
        works = [pool.submit(lambda: fastfs.affinity(X, sigma=3.0, n_threads=2).tobytes()) for _ in range(20)]
        assert [s.result() for s in stops] == ["stopped"] * 2
        assert {w.result() for w in works} == {alone}


def test_calls_inside_a_progress_callback_of_another_thread():
    expected = fastfs.affinity(X, sigma=3.0).tobytes()
    inside = []

    def nested(step, share):
        with ThreadPoolExecutor(2) as pool:
            inside.extend(pool.map(lambda n: fastfs.affinity(X, sigma=3.0, n_threads=n).tobytes(), [1, 2, 3]))
        raise Stop

    with pytest.raises(Stop):
        long_call(nested)
    assert inside == [expected] * 3


# ---------------------------------------------------------------------------------------------------------------- forks

FORK = """
import os, signal
import numpy as np
import fastfs

X = np.random.default_rng(0).normal(size=(40, 300))
y = np.arange(40) % 2

def work():
    affinity, scores = fastfs.affinity(X, sigma=3.0, n_threads=3), fastfs.manifest_scores(X, y, n_threads=1)
    return affinity.tobytes(), scores.tobytes()

def in_child(check):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs ends here
        os._exit(0 if check() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

FORKS = {
    "before any call": "in_child(lambda: len(work()[0]) > 0); work()",
    "after a call": "expected = work(); in_child(lambda: work() == expected); assert work() == expected",
    "twice": "expected = work(); in_child(lambda: (in_child(lambda: work() == expected), work() == expected)[1])",
    "many": "expected = work()\nfor _ in range(5): in_child(lambda: work() == expected)",
    "while another thread works": """
import threading
expected, done = work(), threading.Event()
def keep_working():
    while not done.is_set():
        work()
others = [threading.Thread(target=keep_working) for _ in range(2)]
for other in others: other.start()
for _ in range(5): in_child(lambda: fastfs.affinity(X, sigma=3.0, n_threads=3).tobytes() == expected[0])
done.set()
for other in others: other.join()
assert work() == expected
""",
    "pool of processes": """
import multiprocessing
expected = work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert [r.get(60) for r in [pool.apply_async(work) for _ in range(4)]] == [expected] * 4
""",
}


@pytest.mark.parametrize("when", FORKS)
def test_fork(python, when):
    finished = python(FORK + FORKS[when], timeout=200)
    assert finished.returncode == 0, finished.stderr


# --------------------------------------------------------------------------------------------------------- BLAS threads


@pytest.fixture
def blas_threads():
    """Reads SciPy's setting, which is 2 when the test starts, and set back afterwards."""
    setter, getter, name = _lapack.thread_controls()
    if name is None:
        pytest.skip("SciPy's BLAS has no thread setting that fastfs knows")
    setter, getter = ctypes.CFUNCTYPE(None, ctypes.c_int)(setter), ctypes.CFUNCTYPE(ctypes.c_int)(getter)
    before = getter()
    setter(2)
    if getter() != 2:
        pytest.skip("SciPy's BLAS was built for one thread")
    yield getter
    setter(before)


def failing(blas_threads):
    with pytest.raises(ValueError, match="row 39, column 299"):
        fastfs.affinity(np.where(X[-1, -1] == X, np.nan, X), sigma=1.0)


def refused(blas_threads):
    with pytest.raises(MemoryError):
        fastfs.manifest_scores(X, Y, max_memory=1000)


def cancelled(blas_threads):
    seen = []

    def watch(step, share):
        seen.append(blas_threads())
        if len(seen) == 4:
            raise Stop

    with pytest.raises(Stop):
        long_call(watch)
    assert 1 in seen  # held while tiles are computed


ENDINGS = {
    "success": lambda _: fastfs.manifest_scores(X, Y),
    "success on one thread": lambda _: fastfs.manifest_scores(X, Y, n_threads=1),
    "success with few landmarks": lambda _: fastfs.manifest_scores(
        X, Y, accuracy="low_rank", rank=20, sigma_factor=2.0
    ),
    "success with test vectors": lambda _: fastfs.manifest_scores(
        X, Y, accuracy="low_rank_high", rank=20, sigma_factor=2.0
    ),
    "success with classes": lambda _: fastfs.manifest_scores(X, np.arange(40) % 3),
    "product": lambda _: fastfs.affinity_product(X, np.ones(300), sigma=1.0),
    "interactions": lambda _: fastfs.immigrate(X[:, :30], Y),
    "interactions in factors": lambda _: fastfs.immigrate(X[:12], Y[:12], sigma=20.0),
    "prediction": lambda _: fastfs.Immigrate().fit(X[:, :30], Y).predict(X[:, :30]),
    "error": failing,
    "refusal": refused,
    "cancel": cancelled,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_blas_threads_are_restored(blas_threads, ending):
    fastfs.info()
    ENDINGS[ending](blas_threads)
    assert blas_threads() == 2


def test_blas_threads_are_restored_after_a_crowd(blas_threads):
    calls = [ENDINGS["success"], ENDINGS["success on one thread"], ENDINGS["product"], failing] * 5
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda call: call(blas_threads), calls))
    assert blas_threads() == 2


def test_threads_share_an_accumulator():
    chunk = np.random.default_rng(0).normal(size=(7, 200))
    gram = fastfs.GramAccumulator(200, n_threads=1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: gram.update(chunk), range(40)))
    assert gram.n_rows == 280
    np.testing.assert_allclose(gram.affinity(kernel="linear"), 40 * chunk.T @ chunk, rtol=0, atol=1e-10)


PEAK = """
import sys, warnings
import numpy as np
import scipy.sparse
import fastfs

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

warnings.simplefilter("ignore")
case = sys.argv[1].split()
d = {"low_rank": 40_000, "low_rank_high": 16_000, "domains": 6000, "ovr": 800, "ovo": 800}.get(case[0], 1200)
options = {"rank": 40, "accuracy": case[0] if case[0] in ("low_rank", "low_rank_high", "domains") else "exact"}
if case[0] in ("spd", "spsd"):
    options["form"] = case[0]
if case[0] in ("ovr", "ovo"):
    options["multiclass"] = case[0]
y = np.arange(40) % (3 if case[0] in ("ovr", "ovo") else 2)
X = np.random.default_rng(0).normal(size=(40, d))
if "singular" in case:
    X[:, -100:] = X[:, :100]
if "sparse" in case:
    X = scipy.sparse.random(40, d, density=0.05, format="csr", random_state=0)
if "float32" in case:
    X = X.astype(np.float32)
make = (lambda: iter([X[:7], X[7:]])) if "chunks" in case else (lambda: X)
fastfs.manifest_scores(X[:, :400], y, **options)  # BLAS makes its own buffers once
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
before = resident("VmRSS")
try:
    fastfs.manifest_scores(make(), y, max_memory=X.size * 8, **options)
except MemoryError as error:
    announced = int(str(error).split("(")[1].split()[0])
fastfs.manifest_scores(make(), y, **options)
print(resident("VmHWM") - before, announced)
"""

# The slow ones go through the same requests of memory as a case beside them.
PEAK_CASES = ["pencil singular", "pencil chunks", "spd", "ovr", "low_rank_high", "low_rank sparse", "domains"]
PEAK_CASES += [
    pytest.param(case, marks=pytest.mark.slow)
    for case in ("pencil", "spsd", "spsd singular", "ovo", "low_rank", "domains float32")
]


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux' peak of resident memory")
@pytest.mark.parametrize("case", PEAK_CASES)
def test_memory_announced_is_not_exceeded(case):
    # What is freed goes back to the system at once: glibc would keep 0 to 50 MB of it, as threads take turns.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, case], env=environment, capture_output=True, text=True, check=True
    )
    peak, announced = map(int, done.stdout.split())
    # BLAS keeps buffers of its own, some MB however large the matrices are.
    assert 0.5 * announced < peak <= announced + 16e6


@pytest.mark.parametrize("n_threads, n_bytes, expected", [(3, 1, 3), (3, 400, 2), (3, 5000, 1), (1, 1, 1)])
def test_calls_beside_each_other_come_in_order(n_threads, n_bytes, expected):
    run, lock = Run(n_threads, 1000), threading.Lock()
    running, most, threads = 0, 0, set()

    def call(item, own):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            threads.add(own.n_threads)
        time.sleep(0.02 if item % 3 else 0.06)
        with lock:
            running -= 1
        return item**2

    assert list(beside(call, range(12), run, n_bytes)) == [item**2 for item in range(12)]
    assert most == expected
    assert threads == {n_threads if expected == 1 else 1}


def wait_for_the_end(item, own):
    for _ in range(1000):
        own.progress("waiting", 0.5)
        time.sleep(0.01)
    raise AssertionError("nobody told this call to end")


def test_an_error_ends_the_calls_beside_it():
    def call(item, own):
        if item == 0:
            raise ValueError("the first one")
        wait_for_the_end(item, own)

    begin = time.monotonic()
    with pytest.raises(ValueError, match="the first one"):
        list(beside(call, range(5), Run(3, 1000), 1))
    assert time.monotonic() - begin < 5


def test_ctrl_c_ends_calls_beside_each_other(interrupt):
    timer = threading.Timer(0.2, interrupt)
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(beside(wait_for_the_end, range(5), Run(2, 1000), 1))
    assert time.monotonic() - begin < 5


@pytest.mark.slow  # it starts pytest
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_ctrl_c_is_heard_where_the_parent_ignores_it():
    """As a shell lets a command in the background ignore it."""
    ignoring = ["/bin/sh", "-c", "trap '' INT TERM HUP; exec \"$@\"", "sh"]
    tests = [f"{__file__}::test_ctrl_c_ends_calls_beside_each_other"]
    command = [*ignoring, sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_who_has_enough_ends_calls_beside_each_other():
    found = beside(lambda item, own: item if item == 0 else wait_for_the_end(item, own), range(5), Run(2, 1000), 1)
    begin = time.monotonic()
    assert next(found) == 0
    found.close()
    assert time.monotonic() - begin < 5
