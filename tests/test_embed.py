"""The installed package as compiled pipelines use it: its library and headers, without its Python."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy_openblas32

import fastfs
from fastfs import _base

PREFIX = Path(fastfs.__file__).parent
LIBRARY = PREFIX / "lib" / "libfastfs.so"
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def score_program(tmp_path_factory):
    """examples/score.c, compiled as C99 against the installed package and the BLAS of the scipy-openblas32 wheel."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "building fastfs has needed a compiler, so there must be one"
    blas = Path(scipy_openblas32.get_lib_dir())
    program = tmp_path_factory.mktemp("embed") / "score"
    subprocess.run(
        [
            *(compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"),
            "-DFASTFS_BLAS_SYMBOL(name)=scipy_##name##_",
            *("-I", PREFIX / "include", EXAMPLES / "score.c", "-o", program),
            *(LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"),
            *(f"-L{blas}", f"-l{scipy_openblas32.get_library()}", f"-Wl,-rpath,{blas}"),
        ],
        check=True,
    )
    return program


def score(program, tmp_path, X, y):
    X.tofile(tmp_path / "matrix.bin")
    y.astype(np.int64).tofile(tmp_path / "labels.bin")
    arguments = [program, tmp_path / "matrix.bin", tmp_path / "labels.bin", *map(str, X.shape)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def test_c99_program_gives_the_scores_of_python(score_program, tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 120))
    y = np.arange(30) % 2
    done = score(score_program, tmp_path, X, y)
    assert done.returncode == 0, done.stderr
    expected = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    # Another build of the BLAS: the last digits differ, at most as both differ from the equations.
    np.testing.assert_allclose(np.array(done.stdout.split(), float), expected, rtol=0, atol=1e-9 * expected.max())


def test_c99_program_reports_bad_data_in_a_sentence(score_program, tmp_path):
    X = np.ones((4, 3))
    X[2, 1] = np.nan
    done = score(score_program, tmp_path, X, np.arange(4) % 2)
    assert done.returncode == 1
    assert "first at row 2, column 1" in done.stderr


class Matrix(ctypes.Structure):
    """fastfs_matrix of fastfs.h."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("storage", ctypes.c_int32),
        ("n_rows", ctypes.c_int64),
        ("n_cols", ctypes.c_int64),
        ("values", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("col_stride", ctypes.c_int64),
        ("indices", ctypes.c_void_p),
        ("indptr", ctypes.c_void_p),
        ("index_bits", ctypes.c_int32),
    )


def test_ctypes_call_gives_the_bits_of_python():
    _base.core()  # registers SciPy's BLAS
    library = ctypes.CDLL(str(LIBRARY))
    library.fastfs_version.restype = ctypes.c_char_p
    assert library.fastfs_version().decode() == fastfs.__version__

    X = np.random.default_rng(1).standard_normal((10, 40))
    view = Matrix(ctypes.sizeof(Matrix), 64, 0, 10, 40, X.ctypes.data, 40, 1, None, None, 0)
    out = np.empty((40, 40))
    status = library.fastfs_affinity(ctypes.byref(view), None, None, ctypes.c_void_p(out.ctypes.data))
    assert status == 0
    np.testing.assert_array_equal(out, fastfs.affinity(X, sigma=1.0))


def test_ctypes_error_is_a_code_and_a_sentence():
    library = ctypes.CDLL(str(LIBRARY))
    library.fastfs_last_error.restype = ctypes.c_char_p
    assert library.fastfs_affinity(None, None, None, None) == 1
    assert library.fastfs_last_error() == b"X is null"


def test_wheel_brings_headers_and_no_blas():
    headers = {path.name for path in (PREFIX / "include" / "fastfs").iterdir()}
    assert headers == {"fastfs.h", "fastfs.hpp", "link_blas.h"}
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("binutils' readelf is not installed")
    needed = subprocess.run([readelf, "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in needed
    assert "blas" not in needed.lower()
