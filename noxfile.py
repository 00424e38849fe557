"""The menu of commands: `nox -l` lists it, `nox -s NAME` runs one in its own environment."""

import os
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.default_venv_backend = "venv"


@nox.session
def tests(session: nox.Session) -> None:
    """The test suite against an installed wheel, as the README says."""
    session.install(".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """The tests that the README's command leaves out, and a thousand random examples of each property."""
    session.install(".[test]")
    # One at a time: some need most of the memory.
    session.run("python", "-m", "pytest", "-n", "0", "-m", "slow or huge", *session.posargs)
    session.run(
        "python",
        "-m",
        "pytest",
        "--hypothesis-profile=thorough",
        "tests/engines/test_affinity.py",
        "tests/methods/manifest/test_manifest.py",
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types: ruff, mypy, clang-format."""
    session.install(".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    sources = [str(p) for d in ("csrc", "tests/cpp", "examples", "r/src") for p in sorted(Path(d).rglob("*.[ch]*"))]
    session.run("clang-format", "--dry-run", "--Werror", *sources)


@nox.session
def sanitize(session: nox.Session) -> None:
    """The C++ tests, plain and under the address, undefined-behaviour and thread sanitizers, without Python."""
    session.install("cmake", "ninja", "scipy-openblas32")
    script = "import scipy_openblas32 as b; print(next(__import__('pathlib').Path(b.get_lib_dir()).glob('*.so')))"
    blas = str(session.run("python", "-c", script, silent=True)).strip()
    for preset in ("tests", "address", "thread"):
        session.run("cmake", "--preset", preset, f"-DFASTFS_TEST_BLAS={blas}", silent=True)
        session.run("cmake", "--build", "--preset", preset, silent=True)
        session.run("ctest", "--preset", preset)


@nox.session
def r(session: nox.Session) -> None:
    """The R package against Python's scores: `nox -s r` is `R CMD check`, `nox -s r -- address` the sanitizer."""
    session.install(".")
    session.run("r/check.sh", *session.posargs, external=True, env={"MAKEFLAGS": "-j2"})


@nox.session
def stubs(session: nox.Session) -> None:
    """Regenerate src/fastfs/_core.pyi; a test fails while it differs from the module."""
    session.install(".[test]")
    session.run("python", "-m", "tests.project.stubs", "--write")


@nox.session
def interface(session: nox.Session) -> None:
    """Regenerate what follows from fastfs.h (reference, Cython, ABI list) and say what has changed for old programs."""
    session.run("python", "-m", "tests.project.c_interface", "--write")


@nox.session
def wheels(session: nox.Session) -> None:
    """The sdist and the wheels, built, repaired and checked: `nox -s wheels -- --glibc 2.17`."""
    session.run("python", "wheels/build.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """One benchmark: `nox -s bench -- bench_affinity`."""
    session.install(".[bench]")
    name, *arguments = session.posargs or ["bench_affinity"]
    session.run("python", "-m", f"benchmarks.{name}", *arguments, env={"PYTHONPATH": os.getcwd()})
