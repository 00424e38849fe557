"""The routines that SciPy exports: taken only if their signatures are the known ones."""

import ctypes
import re
import sys
from pathlib import Path

import pytest
from scipy.linalg import cython_blas, cython_lapack

import fastfs
import openblas
from covering import together
from fastfs._machine import lapack as _lapack

MODULES = {"cython_blas": cython_blas, "cython_lapack": cython_lapack}


def capsule_name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()


@together
@pytest.mark.parametrize("module, name, arguments", _lapack._ROUTINES, ids=[r[1] for r in _lapack._ROUTINES])
def test_signatures_of_the_installed_scipy(module, name, arguments):
    assert capsule_name(MODULES[module].__pyx_capi__[name]) == _lapack.expected_signature(module, arguments)


def test_signature_is_spelled_as_cython_does():
    assert _lapack.expected_signature("cython_blas", "ciid") == (
        "void (char *, int *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *)"
    )


@pytest.mark.parametrize(
    "found",
    [
        "void (char *, long *)",  # 64-bit integers
        "void (char *, int *, size_t)",  # hidden lengths of strings
        "int (char *, int *)",
        "",
    ],
)
def test_another_signature_is_refused(found):
    expected = "void (char *, int *)"
    with pytest.raises(ImportError, match="install a SciPy that fastfs supports") as refusal:
        _lapack.check_signature("dpotrf", found, expected)
    for part in ("dpotrf", f"'{found}'", f"'{expected}'"):
        assert part in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_known_signature_passes():
    assert _lapack.check_signature("dpotrf", "void (int *)", "void (int *)") is None


def test_registering_twice_is_fine():
    assert _lapack.register() == _lapack.register() == (True, fastfs.info()["blas_threads_held_by"])


REFUSED = """
import scipy.linalg.cython_lapack as lapack
from scipy.linalg import cython_blas

lapack.__pyx_capi__["dpotrf"] = cython_blas.__pyx_capi__["dgemm"]
import fastfs
for _ in range(2):
    try:
        fastfs.affinity([[0.0, 1.0]], sigma=1.0)
    except ImportError as error:
        print(error)
"""


def test_a_scipy_with_another_signature_is_refused_at_every_call(python):
    finished = python(REFUSED)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("scipy.linalg exports dpotrf as 'void (char *, char *") for line in lines)


HELD = """
import ctypes
import sys

for module in sys.argv[2:]:
    __import__(module)
import numpy as np
from scipy.linalg import cython_blas

import fastfs

name = fastfs.info()["blas_threads_held_by"]
libraries = [ctypes.CDLL(path) for path in (sys.argv[1], cython_blas.__file__)]  # the other one, and what SciPy links
if not hasattr(libraries[0], name):
    sys.exit("other names")
for library in libraries:
    getattr(library, name)(2)
seen = set()

def watch(step, share):
    seen.add(tuple(getattr(library, name.replace("set", "get"))() for library in libraries))

X = np.random.default_rng(0).standard_normal((40, 800))
fastfs.manifest_scores(X, np.arange(40) % 2, n_threads=1, progress=watch)
print(seen - {(2, 2)})
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the messages of the GNU linker")
@pytest.mark.parametrize(
    "modules",
    [("scipy_openblas32", "scipy.linalg.cython_blas"), ("scipy.linalg.cython_blas", "scipy_openblas32")],
    ids=["before SciPy's", "after SciPy's"],
)
def test_another_blas_that_all_of_the_process_sees(python, modules, tmp_path):
    """The threads that are held are those of the library that the linker has chosen for SciPy's calls."""
    other = openblas.library("scipy_openblas32")
    finished = python(HELD, other, *modules, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=tmp_path / "bindings")
    if finished.stderr == "other names\n":
        pytest.skip("SciPy's BLAS has other names")
    assert finished.returncode == 0, finished.stderr
    messages = "".join(path.read_text() for path in tmp_path.iterdir())
    bound = re.findall(r"binding file \S*cython_blas\S* \[\d+\] to (\S+) .*dgemm_", messages)
    if not bound:
        pytest.skip("SciPy's BLAS has other names, or the linker is another one")
    is_other = Path(bound[0]).resolve() == other.resolve()
    assert is_other == (modules[0] == "scipy_openblas32")
    assert finished.stdout.strip() == ("{(1, 2)}" if is_other else "{(2, 1)}")
