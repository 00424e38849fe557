"""The examples, each built and run against the installed package and compared with what Python gives."""

import ctypes
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from embedding import EXAMPLES, clean, python_flags

import fastfs

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def numbers(text):
    return np.array(text.split(), float)


def load(path, name):
    """An extension module or a script, from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# A program's BLAS is another build than SciPy's: the last digits differ. Equal bits with an equal BLAS come below.
CLOSE = {"rtol": 0, "atol": 1e-9}


# ------------------------------------------------------------------------------------------------------------ programs


@pytest.fixture(scope="module")
def c_program(build, package):
    return build("c99", [EXAMPLES / "score.c", *package.flags, *package.blas_flags], "score")


def test_c99_program(c_program, run, samples):
    done = run(c_program, *samples)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(numbers(done.stdout), fastfs.manifest_scores(*samples, sigma_factor=0.1), **CLOSE)


def test_c99_program_reports_bad_data_in_a_sentence(c_program, run):
    X = np.ones((4, 3))
    X[2, 1] = np.nan
    done = run(c_program, X, np.arange(4) % 2)
    assert done.returncode == 1
    assert "first at row 2, column 1" in done.stderr


def test_c99_stream(build, package, run, samples):
    program = build("c99", [EXAMPLES / "stream.c", *package.flags, *package.blas_flags], "stream")
    done = run(program, *samples)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(numbers(done.stdout), fastfs.relieff_scores(*samples), **CLOSE)


def test_c99_pvalues(build, package, run, samples):
    """To the bit: scores of ReliefF have no BLAS in them, and labelings and p-values come from the core."""
    program = build("c99", [EXAMPLES / "pvalues.c", *package.flags, *package.blas_flags], "pvalues")
    done = run(program, *samples)
    assert done.returncode == 0, done.stderr
    expected = fastfs.permutation_test(fastfs.ReliefF(), *samples, n_permutations=199, random_state=7)
    assert np.array_equal(numbers(done.stdout), expected.pvalues_max)
    assert f"p = {expected.pvalue:g} ({expected.design}, 199 labelings)" in done.stderr
    done = run(program, samples[0], np.zeros_like(samples[1]))
    assert done.returncode == 1
    assert "labels must have rows of each class; got none of class 1" in done.stderr


@pytest.fixture(scope="module")
def cpp_program(build, package):
    return build("c++17", [EXAMPLES / "score.cpp", *package.flags, *package.blas_flags], "score")


def test_cpp17_program(cpp_program, run, samples):
    done = run(cpp_program, *samples)
    assert done.returncode == 0, done.stderr
    expected = fastfs.projse(*samples, n_features_to_select=1)
    np.testing.assert_allclose(numbers(done.stdout), expected.scores, **CLOSE)
    selected = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("selected")]
    assert list(map(int, selected)) == list(expected.selected)
    assert "MB at most" in done.stderr


def test_cpp17_program_reports_bad_data_in_a_sentence(cpp_program, run):
    done = run(cpp_program, np.full((4, 3), np.inf), np.arange(4) % 2)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("X must be finite; got NaN or infinity")


def test_cmake_project(package, run, samples, tmp_path_factory):
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("CMake is not installed")
    folder = tmp_path_factory.mktemp("cmake")
    for command in (
        [cmake, "-S", EXAMPLES / "cmake", "-B", folder, f"-Dfastfs_DIR={fastfs.get_cmake_dir()}",
         f"-DFASTFS_BLAS_LIBRARIES={package.blas}"],
        [cmake, "--build", folder],
    ):  # fmt: skip
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run(folder / "score", *samples)
    assert done.returncode == 0, done.stderr
    expected = fastfs.projse(*samples, n_features_to_select=1).scores
    np.testing.assert_allclose(numbers(done.stdout), expected, **CLOSE)


# ------------------------------------------------------------------------------- extensions, on SciPy's BLAS: bit-equal


def test_cython_extension(build, package, samples, tmp_path):
    source = tmp_path / "score_cython.c"
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", EXAMPLES / "score_cython.pyx", "-o", source], check=True, env=clean()
    )
    arguments = ["-w", "-Wno-error", source, *python_flags(), *package.flags]
    module = load(build("c11", arguments, f"score_cython{SUFFIX}"), "score_cython")
    X, y = samples
    np.testing.assert_array_equal(module.relieff(X, y), fastfs.relieff_scores(X, y))
    np.testing.assert_array_equal(module.relieff(np.asfortranarray(X)[:, ::-1], y), fastfs.relieff_scores(X, y)[::-1])
    with pytest.raises(ValueError, match="labels must have rows of each class; got none of class 1"):
        module.relieff(X, 2 * y)


def test_pybind11_extension(build, package, samples):
    import pybind11

    arguments = [EXAMPLES / "score_pybind11.cpp", *python_flags(), f"-isystem{pybind11.get_include()}", *package.flags]
    module = load(build("c++17", arguments, f"score_pybind11{SUFFIX}"), "score_pybind11")
    X, y = samples
    expected = fastfs.disc([X[y == 0], X[y == 1]], n_components=3, bandwidth_neighbors=5, n_differential=3)
    for of_set, scores in zip(module.disc_scores(X[y == 0], X[y == 1]), expected.set_scores, strict=True):
        np.testing.assert_array_equal(of_set, scores)
    with pytest.raises(ValueError, match="X must be a 2-D array"):
        module.disc_scores(X[0], X[1])
    with pytest.raises(ValueError, match="all sets must have the same features"):
        module.disc_scores(X, X[:, 1:])


@pytest.fixture(scope="module")
def methods(build, package):
    """``methods(method, X, y, n_threads)``: scores by fastfs.hpp."""
    library = ctypes.CDLL(build("c++17", [Path(__file__).with_name("methods.cpp"), *package.flags], "methods.so"))
    library.score.restype = ctypes.c_char_p

    def score(method, X, y, n_threads):
        out = np.empty(X.shape[1])
        X, y = np.ascontiguousarray(X, float), np.ascontiguousarray(y, np.int64)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (X, y, out)]
        sizes = map(ctypes.c_int64, X.shape)
        if said := library.score(method.encode(), pointers[0], *sizes, pointers[1], n_threads, pointers[2]):
            raise ValueError(said.decode())
        return out

    return score


# The options that Python's defaults differ in are those that the documents name.
PYTHON = {
    "affinity": lambda X, y: fastfs.affinity(X, sigma=3.0)[0],
    "manifest": fastfs.manifest_scores,
    "projse": lambda X, y: fastfs.projse(X, y).scores,
    "disc": lambda X, y: fastfs.disc([X[y == 0], X[y == 1]], n_components=5).set_scores[0],
    "ikdr": lambda X, y: fastfs.ikdr(X, y).weights,
    "relief": fastfs.relief_scores,
    "relieff": fastfs.relieff_scores,
    "multisurf": fastfs.multisurf_scores,
    "im4e": lambda X, y: fastfs.im4e_scores(X, y, scaling="range"),
    "immigrate": lambda X, y: fastfs.immigrate_scores(X, y, scaling="range"),
    "immigrate filtered": lambda X, y: fastfs.immigrate_scores(
        X, y, scaling="range", prefilter="im4e", smallest="auto"
    ),
}


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # noise has no clear gaps
@pytest.mark.parametrize("method", PYTHON)
def test_methods_in_cpp_give_the_bits_of_python(methods, method, samples):
    X = samples[0]
    y = np.arange(30) // 15
    fastfs.link_blas()
    expected = PYTHON[method](X, y)
    for n_threads in (1, 3):
        np.testing.assert_array_equal(methods(method, X, y, n_threads), expected)


WITHOUT_BLAS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.score.restype = ctypes.c_char_p
n, d = 12, 6
X, y = (ctypes.c_double * 72)(*(i * i % 17 for i in range(72))), (ctypes.c_int64 * 12)(*[0] * 6, *[1] * 6)
out = (ctypes.c_double * 6)()
for method in sys.argv[2:]:
    print((library.score(method.encode(), X, ctypes.c_int64(n), ctypes.c_int64(d), y, 1, out) or b"fine").decode())
"""


def test_methods_that_need_no_blas(build, package, python_script):
    library = build("c++17", [Path(__file__).with_name("methods.cpp"), *package.flags], "alone.so")
    need_none = ["affinity", "relief", "relieff", "multisurf", "im4e"]
    said = python_script("-c", WITHOUT_BLAS, library, *need_none, "manifest").splitlines()
    assert said[:-1] == ["fine"] * len(need_none)
    assert said[-1].startswith("no BLAS is registered")


def test_numba_function(samples, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "OPT", type(numba.config.OPT)(0))  # compiling takes the time
    module = load(EXAMPLES / "score_numba.py", "score_numba")
    X, y = samples
    X = X.copy()
    X[:, 3] += 3 * y
    scores, p = module.multisurf(X, y, n_permutations=19)
    np.testing.assert_array_equal(scores, fastfs.multisurf_scores(X, y))
    assert p[3] == 1 / 20
    assert (p > 1 / 20).sum() > 90
    with pytest.raises(ValueError, match="labels must have rows of each class; got none of class 1"):
        module.multisurf(X, 2 * y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        module.multisurf(np.full((4, 3), np.nan), [0, 1, 0, 1])


def test_ctypes_without_python_fastfs(package, python_script, samples, tmp_path):
    X, y = samples
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    out = python_script(EXAMPLES / "score_ctypes.py", package.library, tmp_path / "X.npy", tmp_path / "y.npy")
    np.testing.assert_array_equal(numbers(out), fastfs.im4e_scores(X, y))


def test_ctypes_error_is_a_sentence(package):
    module = load(EXAMPLES / "score_ctypes.py", "score_ctypes")
    with pytest.raises(ValueError, match="labels must have rows of each class; got none of class 1"):
        module.im4e(ctypes.CDLL(str(package.library)), np.eye(4), [0, 2, 0, 2])


# ------------------------------------------------------------------------------------------------------------- plug-ins


@pytest.fixture(scope="module")
def plugin(build, package):
    return build("c99", [EXAMPLES / "plugin.c", *package.flags, *package.blas_flags], "plugin.so")


HOST = """
import ctypes, sys
import numpy as np

plugin_path, order, folder = sys.argv[1:]
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")

def of_plugin():
    plugin = ctypes.CDLL(plugin_path)
    plugin.plugin_error.restype = ctypes.c_char_p
    print("plugin", plugin.plugin_start())
    scores = np.empty(X.shape[1])
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (X, y, scores)]
    sizes = map(ctypes.c_int64, X.shape)
    if plugin.plugin_score(pointers[0], *sizes, *pointers[1:]):
        raise SystemExit(plugin.plugin_error().decode())
    return scores

def of_python():
    import fastfs
    print("scipy", fastfs.link_blas(), fastfs.info()["blas"] is None, fastfs.info()["blas_threads_held_by"] is None)
    return fastfs.manifest_scores(X, y, sigma_factor=0.1)

first, second = (of_plugin, of_python) if order == "plugin" else (of_python, of_plugin)
a, b, c = first(), second(), first()
assert a.tobytes() == b.tobytes() == c.tobytes()
a.tofile(folder + "/scores.bin")

import fastfs
fastfs.projse(X, y, n_features_to_select=1).scores.tofile(folder + "/projse.bin")
"""


def host(python_script, plugin, order, folder, samples):
    np.save(folder / "X.npy", samples[0])
    np.save(folder / "y.npy", samples[1])
    return python_script("-c", HOST, plugin, order, folder).split("\n"), np.fromfile(folder / "scores.bin")


def test_plugin_in_a_process_that_has_imported_fastfs(plugin, python_script, samples, tmp_path):
    said, scores = host(python_script, plugin, "python", tmp_path, samples)
    assert said[:2] == ["scipy True False False", "plugin 1"]  # 1: another BLAS was there
    np.testing.assert_array_equal(scores, fastfs.manifest_scores(*samples, sigma_factor=0.1))


def test_plugin_that_comes_before_fastfs(plugin, python_script, samples, tmp_path, c_program, cpp_program, run):
    """Python then runs on the plug-in's BLAS: to the bit what programs with that BLAS give."""
    said, scores = host(python_script, plugin, "plugin", tmp_path, samples)
    assert said[:2] == ["plugin 0", "scipy False True True"]
    np.testing.assert_array_equal(scores, numbers(run(c_program, *samples).stdout))
    projse = np.fromfile(tmp_path / "projse.bin")
    np.testing.assert_array_equal(projse, numbers(run(cpp_program, *samples).stdout))
