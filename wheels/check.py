"""Checks an installed fastfs as a stranger would meet it: by itself, with no compiler, no extras and nothing on PATH.

python wheels/check.py [ISA]

With an ISA, the kernels must be the ones of that instruction set.
"""

import ctypes
import importlib.util
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points, metadata, version
from pathlib import Path

import numpy as np

import fastfs

prefix = Path(fastfs.get_include()).parent
installed = Path(sysconfig.get_path("platlib"))


def contents() -> None:
    """Everything that is promised lies in the installed package."""
    assert prefix == installed / "fastfs", (prefix, installed)
    headers = ["fastfs.h", "fastfs.hpp", "link_blas.h", "testing.h"]
    assert sorted(path.name for path in (prefix / "include" / "fastfs").iterdir()) == headers
    (library,) = (path for path in prefix.rglob("*fastfs.*") if path.suffix in (".so", ".dylib", ".dll"))
    for name in ("py.typed", "_core.pyi", "_scipy_blas.pyi", "capi.pxd", "__init__.pxd"):
        assert (prefix / name).is_file(), name
    assert (Path(fastfs.get_cmake_dir()) / "fastfsConfig.cmake").is_file()
    assert (Path(fastfs.get_pkgconfig_dir()) / "fastfs.pc").is_file()
    for group in ("cmake.prefix", "pkg_config"):
        assert "fastfs" in entry_points(group=group).names
    licences = metadata("scikit-fastfs").get_all("License-File")
    assert licences == ["LICENSE", "THIRD-PARTY-NOTICES.txt"], licences
    core = ctypes.CDLL(str(library))
    core.fastfs_version.restype = ctypes.c_char_p
    assert core.fastfs_version().decode() == fastfs.__version__ == version("scikit-fastfs")


def results() -> None:
    """Each engine and method, on data where the answer is known."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 40)).astype(float)
    y = np.where(X[:, 0] != X[:, 1], "case", "control")  # the exclusive or of two features
    for dtype, eps in ((np.float64, 1e-12), (np.float32, 1e-5)):
        Z = rng.standard_normal((25, 300)).astype(dtype)
        squares = ((Z[:, :, None].astype(float) - Z[:, None, :]) ** 2).sum(axis=0)
        np.testing.assert_allclose(fastfs.affinity(Z, sigma=4.0), np.exp(-squares / 32), rtol=0, atol=eps)

    def best(scores: np.ndarray) -> list[int]:
        return sorted(np.argsort(-scores)[:2].tolist())

    assert best(fastfs.manifest_scores(X, y, sigma_factor=0.1)) == [0, 1]
    assert best(fastfs.multisurf_scores(X[:, :8], y)) == [0, 1]
    assert fastfs.immigrate(X[:, :8], X[:, 3], sigma=1.0).scores.argmax() == 3
    Z = rng.standard_normal((60, 40))
    assert fastfs.projse(Z, Z[:, 5] - 2 * Z[:, 7], n_features_to_select=1).selected.tolist() == [7]
    A, B = rng.normal(size=(2, 100, 60))
    A[:, :10] += 3 * rng.normal(size=(100, 1))  # tied to each other in A only
    found = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
    assert sorted(np.argsort(-found.set_scores[0])[:10].tolist()) == list(range(10))
    if importlib.util.find_spec("sklearn"):
        selector = fastfs.ManiFeSt(n_features_to_select=2, sigma_factor=0.1).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0, 1]


def commands() -> None:
    """The paths for builds need none of the command line's extras; the command line says what it lacks."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "fastfs", *arguments], capture_output=True, text=True, check=False)

    assert run("--includes").stdout.strip() == f"-I{prefix / 'include'}"
    assert run("--cmakedir").stdout.strip() == fastfs.get_cmake_dir()
    assert str(prefix / "lib") in run("--libs").stdout
    if not importlib.util.find_spec("typer"):
        finished = run("info")
        assert finished.returncode == 2
        assert "scikit-fastfs[cli]" in finished.stderr


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    found = fastfs.info()
    assert wanted in (None, found["isa"]), found
    contents()
    results()
    if "FASTFS_CHECK_EMULATED" not in os.environ:  # an emulator follows no child processes
        commands()
    print(
        f"fastfs {fastfs.__version__} ({found['isa']}), CPython {sys.version.split()[0]}, NumPy {np.__version__}: good"
    )


if __name__ == "__main__":
    main()
