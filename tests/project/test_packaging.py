"""The installed package as other builds find it, and the ways to build it; tests/embed/ has programs that use it."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import fastfs
import openblas

ROOT = Path(__file__).parents[2]
PREFIX = Path(fastfs.get_include()).parent
SCRIPTS = Path(sys.executable).parent


def run(*command, cwd=None, **environment):
    words = [str(word) for word in command]
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, check=False
    )


def succeed(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


# ------------------------------------------------------------------------------------------------------------- contents


def test_package_brings_headers_declarations_and_no_blas():
    assert {path.name for path in (PREFIX / "include" / "fastfs").iterdir()} == {
        "fastfs.h",
        "fastfs.hpp",
        "link_blas.h",
        "testing.h",
    }
    for name in ("__init__.pxd", "capi.pxd", "py.typed", "_core.pyi", "_scipy_blas.pyi", "_report/template.html"):
        assert (Path(fastfs.__file__).parent / name).is_file(), name
    assert not list(PREFIX.rglob("*.pyx"))
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("binutils' readelf is not installed")
    needed = succeed(readelf, "-d", PREFIX / "lib" / "libfastfs.so")
    assert "NEEDED" in needed
    assert "blas" not in needed.lower()


# ----------------------------------------------------------------------------------------------------- paths for builds

WITHOUT_EXTRAS = """
import runpy, sys
for name in ("typer", "rich", "sklearn", "scipy"):
    sys.modules[name] = None  # an import of it fails
sys.argv[1:] = {arguments!r}
runpy.run_module("fastfs", run_name="__main__", alter_sys=True)
"""


def answer(python, *arguments):
    return python(WITHOUT_EXTRAS.format(arguments=list(arguments)), PATH="")


@pytest.mark.parametrize(
    "option, expected",
    [
        ("--includes", f"-I{PREFIX}/include"),
        ("--cflags", f"-I{PREFIX}/include"),
        ("--libs", f"-L{PREFIX}/lib -Wl,-rpath,{PREFIX}/lib -lfastfs"),
        ("--cmakedir", f"{PREFIX}/lib/cmake/fastfs"),
        ("--pkgconfigdir", f"{PREFIX}/lib/pkgconfig"),
    ],
)
def test_paths_need_no_extras(python, option, expected):
    done = answer(python, option)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{expected}\n", "")


def test_paths_together_are_one_line(python):
    done = answer(python, "--includes", "--cflags", "--libs")
    assert done.stdout == f"-I{PREFIX}/include -L{PREFIX}/lib -Wl,-rpath,{PREFIX}/lib -lfastfs\n"


def test_paths_beside_something_else_are_an_error(python):
    done = answer(python, "--libs", "score")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: score can't be combined with --includes, ")


def test_conda_recipe_agrees_with_the_project():
    recipe = (ROOT / "wheels" / "conda" / "recipe.yaml").read_text()
    assert f"\n  version: {fastfs.__version__} " in recipe
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for needed in [*project["project"]["dependencies"], *project["build-system"]["requires"]]:
        name, operator, bounds = re.fullmatch(r"([\w-]+)(>=)(.*)", needed).groups()
        assert f"- {name} {operator}{bounds}\n" in recipe, needed


def test_entry_points_name_folders_of_the_package():
    (prefix,) = entry_points(group="cmake.prefix", name="fastfs")
    assert prefix.load() is fastfs  # scikit-build-core adds the package's folder to CMAKE_PREFIX_PATH
    (found,) = entry_points(group="pkg_config", name="fastfs")
    assert PREFIX.parent.joinpath(*found.value.split(".")) == Path(fastfs.get_pkgconfig_dir())


def test_pkgconf_finds_the_package_by_its_entry_point():
    words = succeed("pkgconf-pypi", "--cflags", "--libs", "fastfs").split()
    assert [os.path.normpath(word[2:]) for word in words if word[:2] in ("-I", "-L")] == [
        str(PREFIX / "include"),
        str(PREFIX / "lib"),
    ]
    assert words[-1] == "-lfastfs"


def test_pkg_config_file_can_be_moved(tmp_path):
    shutil.copytree(PREFIX / "lib" / "pkgconfig", tmp_path / "moved" / "lib" / "pkgconfig")
    folder = tmp_path / "moved" / "lib" / "pkgconfig"
    flags = succeed("pkgconf-pypi", "--cflags", "fastfs", PKG_CONFIG_PATH=str(folder))
    assert os.path.normpath(flags.strip().removeprefix("-I")) == str(tmp_path / "moved" / "include")
    assert succeed("pkgconf-pypi", "--modversion", "fastfs", PKG_CONFIG_PATH=str(folder)).strip() == fastfs.__version__


# --------------------------------------------------------------------------------------------------------- find_package

SCORE = """
cmake_minimum_required(VERSION 3.26)
project(consumer LANGUAGES C)
{package}
add_executable(score "{root}/examples/score.c")
target_link_libraries(score PRIVATE fastfs::linked_blas)
"""
FIND = "find_package(fastfs CONFIG REQUIRED COMPONENTS blas)"


def configure(folder, *options, package=FIND, package_directory=None):
    """Configure a project that builds examples/score.c."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(SCORE.format(package=package, root=ROOT))
    if package_directory is None:
        package_directory = fastfs.get_cmake_dir()
    where = f"-Dfastfs_DIR={package_directory}"
    return run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", where, *options)


def scores(folder, **environment):
    """Build the configured project and score random data with it and in Python."""
    succeed("cmake", "--build", folder / "build")
    X = np.random.default_rng(0).standard_normal((30, 120))
    y = np.arange(30) % 2
    X.tofile(folder / "matrix.bin")
    y.astype(np.int64).tofile(folder / "labels.bin")
    program = folder / "build" / "score"
    printed = succeed(program, folder / "matrix.bin", folder / "labels.bin", *X.shape, **environment)
    expected = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    # Another build of the BLAS: the last digits differ, at most as both differ from the equations.
    np.testing.assert_allclose(np.array(printed.split(), float), expected, rtol=0, atol=1e-9 * expected.max())


@pytest.mark.parametrize(
    "package, options, message",
    [
        (
            "find_package(fastfs CONFIG REQUIRED COMPONENTS lapack)",
            [],
            "fastfs has no component lapack; it has one, blas",
        ),
        ("find_package(fastfs 99.0 CONFIG REQUIRED)", [], "compatible with requested version"),
        (FIND, ["-DFASTFS_BLAS_LIBRARIES=m"], "m has no dgemm and dsyevr under any of the names known for 32-bit"),
        (FIND, ["-DBLA_VENDOR=Arm"], "found no LAPACK with 32-bit integers"),
    ],
)
def test_find_package_says_what_is_missing(tmp_path, package, options, message):
    done = configure(tmp_path / "project", *options, package=package)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_blas_with_other_integers_is_refused(tmp_path):
    """Nothing in a program says how long the integers of its BLAS are, so the library asks the BLAS itself."""
    blas = openblas.library("scipy_openblas64")
    names = ["-DFASTFS_BLAS_PREFIX=scipy_", "-DFASTFS_BLAS_SUFFIX=_64_"]
    ours = succeed(sys.executable, "-m", "fastfs", "--cflags", "--libs").split()
    program = tmp_path / "score"
    succeed("cc", *names, ROOT / "examples" / "score.c", *ours, blas, f"-Wl,-rpath,{blas.parent}", "-o", program)
    np.random.default_rng(0).standard_normal((4, 3)).tofile(tmp_path / "matrix.bin")
    (np.arange(4) % 2).tofile(tmp_path / "labels.bin")
    refused = run(program, tmp_path / "matrix.bin", tmp_path / "labels.bin", 4, 3)
    assert refused.returncode == 1
    assert (
        "this fastfs calls BLAS with 32-bit integers, but the routines of the table have 64-bit ones" in refused.stderr
    )


@pytest.mark.huge
def test_build_without_python_installs_and_can_be_moved(tmp_path):
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    succeed("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Debug")
    succeed("cmake", "--build", build)
    succeed("cmake", "--install", build, "--prefix", prefix)
    moved = prefix.rename(tmp_path / "moved")
    libraries = {path.name for path in (moved / "lib").glob("lib*")}
    assert libraries == {"libfastfs.so", "libfastfs.so.1", f"libfastfs.so.{fastfs.__version__}"}
    folder = tmp_path / "project"
    blas = f"-DFASTFS_BLAS_LIBRARIES={openblas.library('scipy_openblas32')}"
    done = configure(folder, blas, package_directory=moved / "lib" / "cmake" / "fastfs")
    assert done.returncode == 0, done.stderr
    scores(folder)


@pytest.mark.huge
def test_subdirectory_of_a_project_with_an_ilp64_blas(tmp_path):
    folder = tmp_path / "project"
    options = [
        "-DFASTFS_ILP64=ON",
        "-DFASTFS_LINKED_BLAS=ON",
        f"-DFASTFS_BLAS_LIBRARIES={openblas.library('scipy_openblas64')}",
    ]
    done = configure(folder, "-DCMAKE_BUILD_TYPE=Debug", *options, package=f'add_subdirectory("{ROOT}" fastfs)')
    assert done.returncode == 0, done.stderr
    scores(folder)
    installed = run("cmake", "--install", folder / "build", "--prefix", tmp_path / "prefix")
    assert not (tmp_path / "prefix").exists(), installed.stdout  # only where fastfs is the project itself


# ----------------------------------------------------------------------------------------------------- wheels, editable

C_SOURCE = """
#include <Python.h>
#include <fastfs/fastfs.h>
static PyObject *version(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return PyUnicode_FromString(fastfs_version());
}
static PyMethodDef methods[] = {{"version", version, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "consumer", "", -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_consumer(void) { return PyModule_Create(&module); }
"""
CONSUMERS = {
    "scikit-build-core": {
        "pyproject.toml": """
            [build-system]
            requires = ["scikit-build-core", "scikit-fastfs"]
            build-backend = "scikit_build_core.build"
            [project]
            name = "consumer"
            version = "1"
        """,
        "CMakeLists.txt": """
            cmake_minimum_required(VERSION 3.26)
            project(consumer LANGUAGES C CXX)
            find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
            find_package(fastfs CONFIG REQUIRED)
            python_add_library(consumer MODULE consumer.c WITH_SOABI)
            target_link_libraries(consumer PRIVATE fastfs::fastfs)
            set_target_properties(consumer PROPERTIES INSTALL_RPATH "$ORIGIN/fastfs/lib")
            install(TARGETS consumer DESTINATION .)
        """,
    },
    "meson-python": {
        "pyproject.toml": """
            [build-system]
            requires = ["meson-python", "pkgconf>=2.5.1.post2", "scikit-fastfs"]
            build-backend = "mesonpy"
            [project]
            name = "consumer"
            version = "1"
            [tool.meson-python.args]
            setup = ["--native-file=../native.ini"]
        """,
        "native.ini": """
            [binaries]
            pkg-config = 'pkgconf-pypi'
        """,
        "meson.build": """
            project('consumer', 'c', version: '1')
            import('python').find_installation().extension_module('consumer', 'consumer.c',
              dependencies: dependency('fastfs'), install_rpath: '$ORIGIN/fastfs/lib', install: true)
        """,
    },
}


def test_a_second_build_replaces_the_wheels_of_the_first(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("build_wheels", ROOT / "wheels" / "build.py")
    wheels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wheels)

    def auditwheel(*command, env):
        folder = Path(command[command.index("--wheel-dir") + 1])
        folder.mkdir(exist_ok=True)
        shutil.copy(command[-1], folder / "fastfs-manylinux.whl")

    monkeypatch.setattr(wheels, "run", auditwheel)
    (tmp_path / "dist").mkdir()
    for turn in ("first", "second"):
        (tmp_path / turn).mkdir()
        wheel = tmp_path / turn / "fastfs-linux.whl"
        wheel.write_text(turn)
        repaired = wheels.repair(wheel, Path(sys.executable), tmp_path / "dist")
        assert repaired == tmp_path / "dist" / "fastfs-manylinux.whl"
        assert repaired.read_text() == turn


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """What wheels/build.py makes for this interpreter: sdist, and a wheel that it has checked."""
    folder = tmp_path_factory.mktemp("dist")
    said = succeed(sys.executable, ROOT / "wheels" / "build.py", "--python", sys.executable, "--output", folder)
    assert ": good" in said
    return folder


@pytest.mark.huge
def test_wheel_has_no_more_than_the_package(dist):
    (wheel,) = dist.glob("*.whl")
    assert "manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0].partition("-")[0] for name in archive.namelist()}
        assert sum(name.endswith(".so") for name in archive.namelist()) == 3
        assert "fastfs/_report/template.html" in archive.namelist()
    assert tops == {"fastfs", "scikit_fastfs"}


@pytest.mark.huge
@pytest.mark.parametrize("backend", CONSUMERS)
def test_isolated_build_of_another_package(dist, backend, tmp_path):
    for name, text in {**CONSUMERS[backend], "consumer.c": C_SOURCE}.items():
        lines = text.strip("\n").splitlines()
        (tmp_path / name).write_text("\n".join(line.removeprefix(" " * 12) for line in lines) + "\n")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    succeed(*pip, "wheel", "--no-deps", "--find-links", dist, "--wheel-dir", tmp_path / "out", tmp_path)
    (wheel,) = (tmp_path / "out").glob("consumer*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    # As if it lay beside the package in site-packages.
    (tmp_path / "site" / "fastfs").symlink_to(PREFIX)
    code = "import consumer; print(consumer.version())"
    assert succeed(sys.executable, "-c", code, cwd=tmp_path / "site").strip() == fastfs.__version__


@pytest.mark.huge
def test_editable_install_knows_its_paths(tmp_path):
    succeed(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    # What the tests need is there already; the editable package goes before it.
    site = succeed(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    own = succeed(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(".git", "build", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, source, ignore=ignored)
    succeed(python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", source)
    Path(own, "zz_tests.pth").write_text(site)
    code = "import fastfs as f; print(f.__file__, f.get_include(), f.get_cmake_dir(), f.get_pkgconfig_dir())"
    file, include, cmake, pkgconfig = succeed(python, "-c", code, cwd=tmp_path).split()
    assert Path(file) == source / "src" / "fastfs" / "__init__.py"
    assert include == f"{own}/fastfs/include"
    assert Path(include, "fastfs", "fastfs.h").is_file()
    assert Path(cmake, "fastfsConfig.cmake").is_file()
    assert Path(pkgconfig, "fastfs.pc").is_file()
    assert succeed(python, "-m", "fastfs", "--includes", cwd=tmp_path).strip() == f"-I{own}/fastfs/include"
    folder = tmp_path / "project"
    done = configure(folder, f"-DFASTFS_BLAS_LIBRARIES={openblas.library('scipy_openblas32')}", package_directory=cmake)
    assert done.returncode == 0, done.stderr
    scores(folder)


CALLS = """
import fastfs
X, y = [[0.0], [1.0]], [0, 1]
fastfs.relieff_scores(X=X, y=y, n_neighbors=1, n_targets=None, max_memory="1G", rng=1)
fastfs.projse(X, y, n_features_to_select=1).selected
fastfs.relieff_scores(X, y, n_neighbours=1)
fastfs.disc([X, X], density="much")
fastfs.im4e_scores(X, y, sigma=None)
"""


def test_type_checkers_see_the_signatures_of_functions(tmp_path):
    """Functions take the fields of a dataclass as their arguments."""
    pytest.importorskip("mypy")
    (tmp_path / "calls.py").write_text(CALLS)
    # The arguments are of our own types; reading those of NumPy would take most of the time.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-numpy.*,scipy.*,pandas.*,sklearn.*]\nfollow_imports = skip\n")
    done = run(sys.executable, "-m", "mypy", "--python-executable", sys.executable, "calls.py", cwd=tmp_path)
    errors = re.findall(r"^calls\.py:(\d+): error: (.*)", done.stdout, re.MULTILINE)
    assert [(int(line), text.split('"')[1]) for line, text in errors] == [
        (6, "n_neighbours"),
        (7, "density"),
        (8, "sigma"),
    ], done.stdout


# ------------------------------------------------------------------------------------------------------------ promises


def read_rows(page):
    """The cells of the tables of a page, without their first row."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    tables = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in tables if row[-1] not in ("test", "shown by")]


def named_tests(text):
    """The tests that a text names; each must exist."""
    tests = re.findall(r"`(tests/[\w/.]+)::(test_\w+)`", text)
    for file, test in tests:
        assert re.search(rf"^(?:def|void) {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), test
    return tests


@pytest.mark.skipif(not (ROOT / "docs" / "conventions.md").exists(), reason="the sdist has no documentation")
def test_each_convention_has_a_test_a_command_or_a_person():
    rows = read_rows("docs/conventions.md")
    assert len(rows) > 20
    for row in rows:
        shown = row[-1]
        by = r"`(?:python|nox|zizmor|tests/|\.github)|check_estimator|by a person"
        assert named_tests(shown) or re.search(by, shown) or "not used" in row[1], row


@pytest.mark.skipif(not (ROOT / "SECURITY.md").exists(), reason="the sdist has no page about security")
def test_each_attack_in_the_table_has_a_test():
    rows = read_rows("SECURITY.md")
    assert len(rows) == 11
    for attack, _, named in rows:
        assert named_tests(named), attack
    listed = " ".join(attack for attack, _, _ in rows)
    for word in ("external storage", "a link to another file", "virtual dataset", "absolute path", "object arrays"):
        assert word in listed, word
    for word in ("control characters", "spreadsheet"):
        assert word in listed, word


# ------------------------------------------------------------------------------------------------------------- releases


def read_project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "wheels" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_licences_of_compiled_code_come_with_the_package():
    """PEP 639: an SPDX expression, and files in the metadata's folder."""
    about = importlib.metadata.distribution("scikit-fastfs")
    assert about.metadata["License-Expression"] == "BSD-3-Clause"
    stored = {path.name: path.read_text() for path in about.files if path.parent.name == "licenses"}
    assert [*stored] == about.metadata.get_all("License-File") == ["LICENSE", "THIRD-PARTY-NOTICES.txt"]
    (notice,) = (path for path in importlib.metadata.files("pybind11") if path.match("licenses/LICENSE"))
    assert notice.read_text().strip() in stored["THIRD-PARTY-NOTICES.txt"]


@pytest.mark.skipif(not (ROOT / "RELEASING.md").exists(), reason="the sdist has no page about releases")
def test_the_address_of_the_project_stands_where_releasing_says():
    """One address in pyproject.toml; whoever replaces the placeholder finds all other files on one page."""
    urls = read_project()["urls"]
    address = urls["Homepage"]
    assert all(url.startswith(address) for url in urls.values())
    host = address.removeprefix("https://")
    folders = ("src", "csrc", "r", "docs", "examples", "wheels", ".github", "cmake")
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    suffixes = {".py", ".md", ".toml", ".cff", ".yml", ".yaml", ".R", ".Rd", ".h", ".hpp", ".cpp", ".txt", ".html", ""}
    uses = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.suffix in suffixes
        and re.search(rf"{re.escape(host)}|example\.(?:org|com)", path.read_text("utf-8", "ignore"))
    }
    nextflow = "examples/pipelines/nextflow/fastfs/report/meta.yml"
    assert uses == {"pyproject.toml", "CITATION.cff", "r/DESCRIPTION", nextflow, "RELEASING.md"}
    for name in uses - {"pyproject.toml", "RELEASING.md"}:
        assert f"`{name}`" in (ROOT / "RELEASING.md").read_text(), name


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="the sdist has no workflows")
def test_workflows_pin_their_actions_and_have_the_least_rights():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["gate", "nightly", "release", "wheels"]
    for path in workflows:
        text = path.read_text(encoding="utf-8")
        assert "\npermissions:\n  contents: read\n" in text, path.name
        for action in re.findall(r"uses: (\S+@\S.*)", text):
            assert re.fullmatch(r"\S+@[0-9a-f]{40}  # v[0-9.]+", action), action
        assert text.count("actions/checkout@") == text.count("persist-credentials: false"), path.name
        writes = re.findall(r"[a-z-]+: write", text)
        assert writes == (["id-token: write"] if path.stem == "release" else []), path.name


def test_files_agree_on_the_version(tmp_path):
    release = load_script("release")
    versions = release.read_versions(ROOT)
    assert set(versions.values()) == {fastfs.__version__}
    for name in (*versions, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## [Unreleased]", f"## [{fastfs.__version__}] - 2030-01-01"))
    assert release.find_disagreements(tmp_path) == []
    assert release.find_disagreements(tmp_path, f"v{fastfs.__version__}") == []
    (wrong,) = {one.split(" must")[0] for one in release.find_disagreements(tmp_path, "v99.0")} - set(versions)
    assert wrong == "CHANGELOG.md"


def test_sums_are_those_that_sha256sum_checks(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"abc")
    load_script("release").write_sums(tmp_path)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc", FIPS 180-4
    assert (tmp_path / "SHA256SUMS").read_text() == f"{digest}  a.whl\n"
