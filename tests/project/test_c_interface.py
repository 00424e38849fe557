"""The C interface against what is committed about it: a change of it is a decision."""

import shutil
import subprocess
from pathlib import Path

import c_interface
import pytest

import fastfs

LIBRARY = Path(fastfs.__file__).parent / "lib" / "libfastfs.so"
AGAIN = "run `python -m tests.project.c_interface --write` (or `nox -s interface`) and look at what it says"


@pytest.mark.parametrize("path", [c_interface.REFERENCE, c_interface.CYTHON], ids=lambda path: path.name)
def test_what_is_made_from_the_header_is_up_to_date(path):
    if path == c_interface.REFERENCE and not path.exists():  # the source distribution leaves the documents out
        pytest.skip("the documents aren't here")
    assert path.read_text(encoding="utf-8") == c_interface.FILES[path](), f"{path.name} is out of date: {AGAIN}"


def test_abi_is_the_one_that_was_decided_on():
    committed, found = c_interface.ABI.read_text(encoding="utf-8"), c_interface.abi()
    breaking, harmless = c_interface.compare(committed, found)
    assert not breaking, f"programs compiled before would break: {breaking}; {AGAIN}"
    assert not harmless, f"the interface has grown: {harmless}; {AGAIN}"
    assert committed == found, AGAIN


def test_the_library_exports_what_the_headers_declare_and_nothing_else():
    exported = c_interface.exported(LIBRARY)
    if exported is None:
        pytest.skip("binutils' nm is not installed")
    headers = (c_interface.HEADER, c_interface.TESTING)
    items = [item for header in headers for section in c_interface.read_header(header) for item in section.items]
    assert exported == sorted(item.name for item in items if item.kind == "function")


def test_every_function_and_struct_is_explained():
    clear = ("fastfs_gram_rows", "fastfs_projse_rows", "fastfs_abi_version")  # by what stands before them
    for section in c_interface.read_header():
        for item in section.items:
            if item.kind == "function" and item.name not in clear:
                assert item.comment or section.items.index(item) > 0, item.name
            if item.kind == "struct":
                assert item.members[0][:2] == ("struct_size", "size_t"), item.name


@pytest.mark.parametrize("standard, compiler", [("c99", "cc"), ("c11", "cc"), ("c++17", "c++"), ("c++20", "c++")])
def test_headers_compile_alone(standard, compiler, tmp_path):
    program = shutil.which(compiler)
    assert program, "building fastfs has needed a compiler, so there must be one"
    headers = ["fastfs.h", "link_blas.h", "testing.h"] + (["fastfs.hpp"] if "+" in standard else [])
    for header in headers:
        source = tmp_path / ("alone.cpp" if "+" in standard else "alone.c")
        source.write_text(f'#include "fastfs/{header}"\n#include "fastfs/{header}"\n')
        command = [program, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
        include = LIBRARY.parents[1] / "include"
        done = subprocess.run(
            [*command, "-Wno-unused-function", f"-I{include}", "-fsyntax-only", source], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


# ----------------------------------------------------------------------------------------------------- the check itself

OLD = """constant FASTFS_ABI_VERSION 1
constant FASTFS_RBF 0
struct fastfs_run
    0 +8 struct_size: size_t
    8 +4 n_threads: int32_t
struct fastfs_blas
    0 +8 struct_size: size_t
callback typedef int (*fastfs_progress)(void *user);
function fastfs_status fastfs_affinity(const fastfs_matrix *X);
"""


@pytest.mark.parametrize(
    "old, new, breaking, harmless",
    [
        ("", "", 0, 0),
        ("    8 +4 n_threads: int32_t\n", "    8 +4 n_threads: int32_t\n    16 +8 user: void *\n", 0, 1),
        ("    8 +4 n_threads: int32_t\n", "    8 +8 n_threads: int64_t\n", 1, 0),
        ("    8 +4 n_threads: int32_t\n", "", 1, 0),
        ("_blas\n    0 +8 struct_size: size_t\n", "_blas\n    0 +8 struct_size: size_t\n    8 +8 x: void *\n", 1, 0),
        ("FASTFS_RBF 0", "FASTFS_RBF 1", 1, 0),
        ("FASTFS_RBF 0", "FASTFS_RBF 0\nconstant FASTFS_LINEAR 2", 0, 1),
        ("ABI_VERSION 1", "ABI_VERSION 2", 0, 1),
        ("(void *user)", "(void *user, int a)", 1, 0),
        ("(const fastfs_matrix *X)", "(fastfs_matrix *X)", 1, 0),
        ("function fastfs_status fastfs_affinity(const fastfs_matrix *X);\n", "", 1, 0),
    ],
)
def test_changes_are_told_apart(old, new, breaking, harmless):
    assert old in OLD
    found = c_interface.compare(OLD, OLD.replace(old, new))
    assert tuple(map(len, found)) == (breaking, harmless), found


@pytest.mark.parametrize(
    "code, kind, name",
    [
        ("typedef struct fastfs_x { int32_t a; /* b */ } fastfs_x;", "struct", "fastfs_x"),
        ("enum { FASTFS_A = 1, FASTFS_B = 2 /* c */ };", "enum", ""),
        ("FASTFS_API void fastfs_f(fastfs_x* x, void (*f)(int));", "function", "fastfs_f"),
        ("typedef struct fastfs_h fastfs_h;", "handle", "fastfs_h"),
    ],
)
def test_declarations_are_read(code, kind, name):
    item = c_interface.read_declaration(code, "")
    assert (item.kind, item.name) == (kind, name)
    if kind == "enum":
        assert item.members == [("FASTFS_A", "1", ""), ("FASTFS_B", "2", "c")]
    if kind == "struct":
        assert item.members == [("a", "int32_t", "b")]


def test_what_is_not_understood_is_an_error():
    with pytest.raises(ValueError, match="not understood"):
        c_interface.read_declaration("union fastfs_u { int a; };", "")
