"""The installed package as compiled pipelines see it, and the compilers to build them with."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from embedding import clean

import fastfs
import openblas

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@dataclass
class Package:
    """What a program is compiled and linked with."""

    include: Path
    library: Path
    blas: Path

    @property
    def flags(self) -> list[str]:
        return [f"-I{self.include}", str(self.library), f"-Wl,-rpath,{self.library.parent}"]

    @property
    def blas_flags(self) -> list[str]:
        """For link_blas.h and the BLAS of the scipy-openblas32 wheel."""
        return [
            "-DFASTFS_BLAS_PREFIX=scipy_",
            "-DFASTFS_BLAS_SET_THREADS=scipy_openblas_set_num_threads",
            "-DFASTFS_BLAS_GET_THREADS=scipy_openblas_get_num_threads",
            f"{self.blas}",
            f"-Wl,-rpath,{self.blas.parent}",
        ]


@pytest.fixture(scope="session")
def package():
    include = Path(fastfs.get_include())
    return Package(include, include.parent / "lib" / "libfastfs.so", openblas.library("scipy_openblas32"))


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """``build("c99" or "c++17", sources and flags, name)``: a program, or a shared library if name ends in .so."""

    def compile_(standard, arguments, name):
        compiler = shutil.which("cc" if standard.startswith("c9") else "c++")
        assert compiler, "building fastfs has needed a compiler, so there must be one"
        made = tmp_path_factory.mktemp("embed") / name
        shared = ["-shared", "-fPIC"] if name.endswith(".so") else []
        command = [compiler, f"-std={standard}", *WARNINGS, *shared, *map(str, arguments), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return made

    return compile_


@pytest.fixture(scope="session")
def samples():
    """A matrix, and labels of two classes."""
    X = np.random.default_rng(0).standard_normal((30, 120))
    return X, np.arange(30) % 2


@pytest.fixture
def run(tmp_path):
    """Runs a program on a matrix and labels as the examples take them."""

    def run_(program, X, y):
        X.tofile(tmp_path / "matrix.bin")
        y.astype(np.int64).tofile(tmp_path / "labels.bin")
        arguments = [program, tmp_path / "matrix.bin", tmp_path / "labels.bin", *map(str, X.shape)]
        return subprocess.run(arguments, capture_output=True, text=True, check=False, env=clean())

    return run_


@pytest.fixture(scope="session")
def python_script():
    """Runs a script, or code, in a fresh interpreter."""

    def run_(*arguments):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, env=clean()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_
