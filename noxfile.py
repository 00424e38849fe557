"""The menu of commands: `nox -l` lists it, `nox -s NAME` runs one in its own environment."""

import os
import re
import shutil
import time
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.default_venv_backend = "venv"


@nox.session(python=False)
def nightly(session: nox.Session) -> None:
    """Hours that the gate (.ci/run) leaves out: sanitizers, slow tests, oldest packages, R, the site, fuzzers."""
    for name in ("sanitize", "slow", "oldest", "r", "docs"):
        session.notify(name)
    session.notify("fuzz", posargs=["20"])


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
    """Style and types: ruff, codespell, mypy, clang-format."""
    session.install(".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("mypy")
    session.run("zizmor", "--offline", ".github/workflows")
    sources = [str(p) for d in ("csrc", "tests/cpp", "examples", "r/src") for p in sorted(Path(d).rglob("*.[ch]*"))]
    session.run("clang-format", "--dry-run", "--Werror", *sources)


def find_blas(session: nox.Session) -> str:
    """The OpenBLAS that C++ tests link."""
    session.install("cmake", "ninja", "scipy-openblas32")
    script = "import scipy_openblas32 as b; print(next(__import__('pathlib').Path(b.get_lib_dir()).glob('*.so')))"
    return str(session.run("python", "-c", script, silent=True)).strip()


@nox.session
def sanitize(session: nox.Session) -> None:
    """The C++ tests, plain and under the address, undefined-behaviour and thread sanitizers, without Python."""
    blas = find_blas(session)
    for preset in ("tests", "address", "thread"):
        session.run("cmake", "--preset", preset, f"-DFASTFS_TEST_BLAS={blas}", silent=True)
        session.run("cmake", "--build", "--preset", preset, silent=True)
        session.run("ctest", "--preset", preset)


def run_fuzzers(session: nox.Session, program: str, *arguments: str) -> None:
    """Build with Clang and run, with AVX2 and then without, a program of tests/fuzz."""
    compiler = next((found for found in map(shutil.which, ("clang++", "clang++-19")) if found), None)
    if compiler is None:
        session.error("needs Clang with its sanitizers: Debian's clang-19 and libclang-rt-19-dev, or newer ones")
    session.run(
        "cmake", "--preset", "fuzz", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DFASTFS_TEST_BLAS={find_blas(session)}"
    )
    session.run("cmake", "--build", "--preset", "fuzz", "--target", program)
    for isa in ("best", "base"):
        # Inputs of their own: base would start with all that AVX-512 has found, and take a minute for some.
        new = Path(session.create_tmp()) / isa
        new.mkdir(exist_ok=True)
        corpus = [str(new), "tests/fuzz/corpus"] if program == "fuzz" else []
        env = {"FASTFS_ISA": "" if isa == "best" else isa}
        session.run(f"build/fuzz/tests/fuzz/{program}", *corpus, *arguments, env=env, external=True)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzzers of the C interface and of the readers, half of the time each: `nox -s fuzz -- MINUTES`. Needs Clang."""
    minutes = float(session.posargs[0]) if session.posargs else 10.0
    session.install(".[test]")
    run_fuzzers(session, "fuzz", "-max_len=1024", f"-max_total_time={15 * minutes:.0f}")
    session.run(
        "python", "-m", "tests.fuzz.readers", "--minutes", str(minutes / 2), "--seed", str(time.time_ns() % 10**9)
    )


@nox.session
def faults(session: nox.Session) -> None:
    """Missing memory, signals, full disks, limits, busy neighbours: `nox -s faults`. Needs Clang, and to be root."""
    session.install(".[test]")
    run_fuzzers(session, "allocations")
    session.run("python", "-m", "tests.faults.campaign", "signals", "disk", "memory", "neighbours")


@nox.session
def mutants(session: nox.Session) -> None:
    """Change one token of csrc/engines at a time, and list the changes that no test notices: `nox -s mutants -- 20`."""
    session.install(".[test]")
    session.run("python", "-m", "tests.project.mutants", *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """The tests with the oldest packages that pyproject.toml allows; `nox -s tests` takes the newest."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    listed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    pins = Path(session.create_tmp()) / "oldest.txt"
    extras = re.compile(r"\[.*\]")
    pins.write_text("".join(f"{extras.sub('', one).replace('>=', '==')}\n" for one in listed if ">=" in one))
    session.install("--constraint", str(pins), ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def newest(session: nox.Session) -> None:
    """The tests with pre-releases and nightly wheels of the packages below fastfs (SPEC 4)."""
    index = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
    session.install("--pre", "--upgrade", "--extra-index-url", index, ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def arm(session: nox.Session) -> None:
    """The C++ tests for 64-bit ARM in an emulator, and the loops for NEON by llvm-mca."""
    session.run("python", "wheels/cross.py", "arm", "--root-only")
    session.install("cmake", "ninja")
    blas = Path(session.create_tmp())
    options = ["--platform", "manylinux2014_aarch64", "--only-binary=:all:", "--no-deps", "--dest", str(blas)]
    session.run("python", "-m", "pip", "download", "--quiet", *options, "scipy-openblas32")
    session.run("python", "-m", "zipfile", "-e", str(next(blas.glob("*.whl"))), str(blas))
    library = next(blas.glob("scipy_openblas32/lib/libscipy_openblas*.so"))
    emulator = f"qemu-aarch64-static;-L;{Path('build/arm/root').resolve()}"
    options = [f"-DFASTFS_TEST_BLAS={library}", f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}"]
    session.run("cmake", "--preset", "aarch64", *options, silent=True)
    session.run("cmake", "--build", "--preset", "aarch64", silent=True)
    session.run("ctest", "--preset", "aarch64", "-E", "memory")
    session.run("python", "-m", "benchmarks.port_limits", "build/aarch64")


@nox.session
def pipelines(session: nox.Session) -> None:
    """The Snakemake wrapper on a made-up table, and the MultiQC plug-in on its report."""
    session.install(".[all]", "snakemake>=9", "./examples/pipelines/multiqc")
    folder = Path(session.create_tmp()).resolve() / "test"
    wrapper = Path("examples/pipelines/snakemake/report").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(wrapper / "test", folder)
    with session.chdir(folder):
        session.run("snakemake", "--cores", "1", "--config", f"wrapper=file:{wrapper}")
        session.run("multiqc", "--force", "--module", "fastfs", "report")
        rows = (folder / "multiqc_data/multiqc_fastfs.txt").read_text(encoding="utf-8").splitlines()
    if len(rows) != 3:  # a header and a row for each method
        session.error(f"multiqc_fastfs.txt must have two methods; got {rows}")


@nox.session
def windows(session: nox.Session) -> None:
    """The C++ tests for 64-bit Windows in Wine, compiled by Zig's Clang."""
    session.install("cmake", "ninja", "ziglang")
    blas = Path(session.create_tmp())
    options = ["--platform", "win_amd64", "--only-binary=:all:", "--no-deps", "--dest", str(blas)]
    session.run("python", "-m", "pip", "download", "--quiet", *options, "scipy-openblas32")
    session.run("python", "-m", "zipfile", "-e", str(next(blas.glob("*.whl"))), str(blas))
    library = next(blas.glob("scipy_openblas32/lib/libscipy_openblas.lib")).resolve()
    session.run("cmake", "--preset", "windows", f"-DFASTFS_TEST_BLAS={library}", silent=True)
    session.run("cmake", "--build", "--preset", "windows", silent=True)
    wine = {"WINEPREFIX": str(blas.resolve() / "wine"), "WINEPATH": f"Z:{library.parent}"}
    session.run("ctest", "--preset", "windows", env=wine)


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


@nox.session(python=False)
def release(session: nox.Session) -> None:
    """All that a release publishes, in an empty folder: `nox -s release -- --dry-run --output ../release`."""
    session.run("python", "wheels/release.py", *session.posargs)


@nox.session
def cross(session: nox.Session) -> None:
    """The wheel for another platform, used or checked as far as this machine can: `nox -s cross -- arm|musl|macos`."""
    session.run("python", "wheels/cross.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation site in build/site: warnings are errors, and every link within it is followed."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-c", "docs", ".", "build/site", *session.posargs)
    session.run("python", "docs/check_links.py", "build/site")


@nox.session
def conda(session: nox.Session) -> None:
    """Render the recipe of the conda packages; building them needs the channel conda-forge."""
    session.install("py-rattler-build>=0.70")
    session.run("python", "wheels/conda/render.py")


@nox.session
def bench(session: nox.Session) -> None:
    """One benchmark: `nox -s bench -- bench_affinity`."""
    session.install(".[bench]")
    name, *arguments = session.posargs or ["bench_affinity"]
    session.run("python", "-m", f"benchmarks.{name}", *arguments, env={"PYTHONPATH": os.getcwd()})
