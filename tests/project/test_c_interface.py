"""The C interface against what is committed about it: a change of it is a decision."""

import inspect
import shutil
import subprocess
from pathlib import Path

import c_interface
import pytest

import fastfs
from covering import together
from fastfs import _core
from fastfs._functions.disc import DiSCOptions
from fastfs._functions.ikdr import IKDROptions
from fastfs._functions.im4e import IM4EOptions
from fastfs._functions.immigrate import ImmigrateOptions
from fastfs._functions.manifest import ManiFeStOptions
from fastfs._functions.projse import ProjSeOptions
from fastfs._functions.relief_options import (
    MultiSURFOptions,
    MuReliefOptions,
    ReliefFOptions,
    ReliefOptions,
    RReliefFOptions,
    SURFOptions,
    SWRFOptions,
)

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
    clear = ("fastfs_abi_version",)  # by what stands before them
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


@together
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


# ------------------------------------------------------------------------------------------------ defaults, as Python's


def initial_values():
    """The numbers that each _INIT macro gives the fields of its struct; pointers are 1, or 0 for NULL."""
    items = [item for section in c_interface.read_header() for item in section.items]
    lines = []
    for item in items:
        if item.kind == "struct" and any(i.name == f"{item.name.upper()}_INIT" for i in items):
            lines.append(f"{{ {item.name} v = {item.name.upper()}_INIT;")
            for name, type_, _ in item.members:
                value = f"v.{name} != NULL" if "*" in type_ or type_ == "fastfs_tile_kernel" else f"(double)v.{name}"
                value = f"v.{name} != NULL" if type_ == "fastfs_progress" else value
                lines.append(f'printf("{item.name} {name} %.17g\\n", (double)({value}));')
            lines.append("}")
    for item in items:
        if item.kind == "enum":
            lines += [f'printf("constant {name} %d\\n", (int){name});' for name, _, _ in item.members]
    return "\n".join(["#include <stdio.h>", "#include <fastfs/fastfs.h>", "int main(void) {", *lines, "return 0; }"])


@pytest.fixture(scope="module")
def defaults(tmp_path_factory):
    folder = tmp_path_factory.mktemp("defaults")
    (folder / "defaults.c").write_text(initial_values())
    compiler = shutil.which("cc")
    assert compiler, "building fastfs has needed a compiler, so there must be one"
    include = LIBRARY.parents[1] / "include"
    subprocess.run([compiler, "-w", f"-I{include}", folder / "defaults.c", "-o", folder / "defaults"], check=True)
    printed = subprocess.run([folder / "defaults"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in printed.splitlines():
        struct, field, value = line.split()
        found.setdefault(struct, {})[field] = float(value)
    return found


# Python's options, and the struct that they become.
OPTIONS = {
    fastfs.ManiFeSt: ("fastfs_manifest_options", ManiFeStOptions),
    fastfs.ProjSe: ("fastfs_projse_options", ProjSeOptions),
    fastfs.Relief: ("fastfs_relief_options", ReliefOptions),
    fastfs.ReliefF: ("fastfs_relief_options", ReliefFOptions),
    fastfs.SURF: ("fastfs_relief_options", SURFOptions),
    fastfs.MultiSURF: ("fastfs_relief_options", MultiSURFOptions),
    fastfs.SWRF: ("fastfs_relief_options", SWRFOptions),
    fastfs.MuRelief: ("fastfs_relief_options", MuReliefOptions),
    fastfs.RReliefF: ("fastfs_relief_options", RReliefFOptions),
    fastfs.IM4E: ("fastfs_im4e_options", IM4EOptions),
    fastfs.Immigrate: ("fastfs_immigrate_options", ImmigrateOptions),
    fastfs.DiSC: ("fastfs_disc_options", DiSCOptions),
    fastfs.IKDR: ("fastfs_ikdr_options", IKDROptions),
}


@together
@pytest.mark.parametrize("estimator", OPTIONS, ids=lambda estimator: estimator.__name__)
def test_init_values_are_pythons_defaults(estimator):
    struct, options = OPTIONS[estimator]
    initial = _core.initial_options(struct)
    made = options.from_arguments(estimator()).core_options()
    made.pop("method", None)  # the RELIEF family shares a struct, whose method is ReliefF
    assert len(made) >= 2
    for name, value in made.items():
        assert (initial[name] or 0) == (value or 0), name  # None, False and 0 are one in C


def test_the_initial_values_of_fields_are_those_of_the_macros(defaults):
    for struct in {struct for struct, _ in OPTIONS.values()}:
        for name, value in _core.initial_options(struct).items():
            if isinstance(value, int | float):
                assert value == defaults[struct][name], (struct, name)


def test_every_field_of_options_has_a_row():
    # Not options; `user` goes with a kernel, X is a matrix, and the names are those of labels.
    given = {"struct_size", "reserved", "user", "X", "label_names", "block_names", "group_names", "method_name"}
    items = {item.name: item for section in c_interface.read_header() for item in section.items}
    structs = [name for name in items if name.endswith("_options") and items[name].kind == "struct"]
    structs += ["fastfs_margin_metric", "fastfs_manifest_scale", "fastfs_ikdr_kernels"]
    by_hand = ("fastfs_affinity_options", "fastfs_subsamples_options", "fastfs_stability_options")  # from arguments
    structs = [struct for struct in structs if struct not in by_hand]
    for struct in structs:
        members = {name for name, _, _ in items[struct].members} - given
        assert set(_core.initial_options(struct)) == members, struct
    assert _core.initial_options("fastfs_run") == {}


def test_init_values_of_scales_and_functions_are_pythons_defaults(defaults):
    manifest, scale = fastfs.ManiFeSt(), defaults["fastfs_manifest_scale"]
    assert manifest.sigma == "median"
    assert scale["rule"] == defaults["constant"]["FASTFS_MANIFEST_SIGMA_MEDIAN"]
    assert (scale["value"], scale["normalize"]) == (manifest.sigma_factor, manifest.normalize)
    assert defaults["fastfs_disc_set"]["n_components"] == (fastfs.DiSC().n_components or 0)
    for function, struct, fields in (
        (fastfs.differential_correlation, "fastfs_differential_correlation_options", {"n_pairs": "n_pairs"}),
        (fastfs.snp_pairs, "fastfs_snp_pairs_options", {"n_pairs": "n_pairs", "n_permutations": "n_labelings"}),
        (fastfs.ld_clumps, "fastfs_ld_clumps_options", {"r2": "r2", "window": "window", "n_clumps": "n_clumps"}),
    ):
        parameters = inspect.signature(function).parameters
        for parameter, field in fields.items():
            assert (parameters[parameter].default or 0) == defaults[struct][field], (struct, field)


def test_init_values_that_are_not_pythons_defaults_are_the_documented_ones(defaults):
    scaling = defaults["fastfs_margin_options"]["scaling"]
    assert scaling == defaults["constant"]["FASTFS_SCALE_RANGE"]
    for estimator in (fastfs.IM4E, fastfs.Immigrate):
        assert estimator().scaling == "standard"
    assert fastfs.ReliefF().scaling == "auto"  # by range, but for genotypes
    assert defaults["fastfs_projse_options"]["n_select"] == 1
    assert fastfs.ProjSe().n_features_to_select is None
    text = (c_interface.ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    assert "`scaling` of `fastfs_margin_options`" in text
    assert "`n_select` of `fastfs_projse_options`" in text


def test_a_declaration_of_two_fields_is_refused():
    with pytest.raises(AssertionError, match="one field at a time"):
        c_interface.read_struct("pair", "{ int64_t begin, end; }")
    fields = {name for section in c_interface.read_header() for item in section.items for name, _, _ in item.members}
    assert {"begin", "end", "ramp_low", "ramp_high"} <= fields
