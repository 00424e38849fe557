"""Builds the wheel for another platform by Zig's Clang, checks its symbols, and uses it as a user would.

python wheels/cross.py arm|musl|macos [--root-only] [--folder build]

| word | wheel | where it is used |
|---|---|---|
| arm | 64-bit ARM Linux | Debian's CPython for that platform, in an emulator |
| musl | x86-64 Linux with musl (Alpine) | a CPython that Zig compiles from Debian's sources, on Debian's musl |
| macos | 64-bit ARM macOS | nowhere: its architecture, version and symbols are checked |

There, pip installs the wheel with the public ones of NumPy, SciPy and, where it has one, scikit-learn; check.py, the
README's example and some of the tests run. Needs an index of Python packages and, of Debian's packages, those in TOOLS.
"""

import argparse
import os
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from build import ROOT, TOOLS, ZIG, environment, project, repair, run, zig_compilers
from roots import build_musl, unpack_arm

VERSION = f"{sys.version_info[0]}{sys.version_info[1]}"
# What needs no estimator; the tests that do are skipped where there is no scikit-learn.
TESTS = [
    "methods/correlation/test_correlation.py",
    "methods/disc/test_disc.py",
    "methods/margin/test_relief.py",
    "methods/snps/test_snp_pairs.py::test_definition",
]
# test_isa.py has IM4E and IMMIGRATE, too.
WITH_SKLEARN = [
    "engines/test_isa.py",
    "methods/ikdr/test_ikdr.py",
    "methods/manifest/test_manifest.py",
    "methods/projse/test_projse.py",
]
TEST_PACKAGES = ["pytest>=8", "pytest-xdist>=3.2", "hypothesis>=6.100", "mpmath>=1.3", "threadpoolctl>=3.5"]


class Target(NamedTuple):
    """A platform: what Zig, CMake and Python call it, Debian's packages for it, and what pip may install there."""

    zig: str
    system: str
    processor: str
    python: str
    suffix: str
    tools: dict[str, str]
    public: list[str]
    isas: list[str]
    sklearn: bool = True


TARGETS = {
    "arm": Target(
        zig="aarch64-linux-gnu.2.17",
        system="Linux",
        processor="aarch64",
        python="linux-aarch64",
        suffix=f".cpython-{VERSION}-aarch64-linux-gnu.so",
        tools={"apt-get": "apt", "dpkg-deb": "dpkg", "qemu-aarch64-static": "qemu-user-static"},
        public=["manylinux2014_aarch64", *(f"manylinux_2_{age}_aarch64" for age in (17, 27, 28))],
        isas=["neon", "base"],
    ),
    "musl": Target(
        zig="x86_64-linux-musl",
        system="Linux",
        processor="x86_64",
        python="linux-x86_64",
        suffix=f".cpython-{VERSION}-x86_64-linux-musl.so",
        tools={"apt-get": "apt", "dpkg-deb": "dpkg", "make": "make", "readelf": "binutils"},
        public=["musllinux_1_1_x86_64", "musllinux_1_2_x86_64"],
        isas=["avx512", "avx2", "base"],
        sklearn=False,  # it has no wheels for musl
    ),
    "macos": Target(
        zig="aarch64-macos.12.0",
        system="Darwin",
        processor="arm64",
        python="macosx-12.0-arm64",
        suffix=f".cpython-{VERSION}-darwin.so",
        tools={"llvm-nm-19": "llvm-19", "llvm-otool-19": "llvm-19"},
        public=[],
        isas=[],
    ),
}


def build(target: Target, tools: Path, compilers: dict[str, str], include: Path, folder: Path) -> Path:
    """The wheel."""
    settings = {
        "CMAKE_SYSTEM_NAME": target.system,
        "CMAKE_SYSTEM_PROCESSOR": target.processor,
        "CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",  # a later change would break macOS's signatures
        # This machine's tools may not know the format: the linker strips, and no path is left to change.
        "CMAKE_STRIP": shutil.which("true"),
        "CMAKE_INSTALL_NAME_TOOL": shutil.which("true"),
        "CMAKE_SHARED_LINKER_FLAGS": "-s",
        "CMAKE_MODULE_LINKER_FLAGS": "-s",
        "Python_INCLUDE_DIR": include,
    }
    # Not an isolated build: pip would fetch CMake for the other platform.
    options = ["--no-deps", "--no-build-isolation", f"-Cbuild-dir={folder / 'wheel'}"]
    options += [f"-Ccmake.define.{name}={value}" for name, value in settings.items()]
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"SETUPTOOLS_EXT_SUFFIX": target.suffix, "_PYTHON_HOST_PLATFORM": target.python, "PATH": path}
    shutil.rmtree(folder / "built", ignore_errors=True)
    command = [tools, "-m", "pip", "wheel", *options, "--wheel-dir", folder / "built", ROOT]
    run(*command, env={**os.environ, **compilers, **variables})
    return next((folder / "built").glob("*.whl"))


def interpreter(root: Path, folder: Path, target: Target) -> Path:
    """The interpreter of a new virtual environment, which processes can start like any other program."""
    place = folder / "env"
    shutil.rmtree(place, ignore_errors=True)
    base = root / "usr/bin/python3"
    emulated = target.processor != os.uname().machine
    emulator = [shutil.which("qemu-aarch64-static"), "-L", root] if emulated else []
    run(*emulator, base, "-m", "venv", "--without-pip", place)
    python = place / "bin/python"
    if emulated:
        python.unlink()
        # Under its own name, Python finds the environment that it belongs to.
        words = [*emulator, "-0", python, base.resolve()]
        python.write_text(f'#!/bin/sh\nexec {" ".join(map(str, words))} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
    return python


def install(wheel: Path, python: Path, pip: Path, folder: Path, target: Target) -> None:
    """Install the wheel and, from the index, what it and the tests need; the other platform's pip checks their tags."""
    house = folder / "house"
    shutil.rmtree(house, ignore_errors=True)
    required = [name for name in project()["project"]["dependencies"] if target.sklearn or "scikit-learn" not in name]
    tags = ["--python-version", VERSION, "--implementation=cp", f"--abi=cp{VERSION}", "--abi=abi3", "--abi=none"]
    tags += [f"--platform={platform}" for platform in target.public]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", house, *tags]
    run(*command, *required, *TEST_PACKAGES)
    start = time.monotonic()
    run(python, f"{pip}/pip", "install", "--no-index", "--no-deps", "--no-compile", wheel, *house.glob("*.whl"))
    print(f"  installed by its own pip ({time.monotonic() - start:.0f} s)", flush=True)


def use(python: Path, folder: Path, target: Target) -> None:
    """check.py on every instruction set, the README's first example, and the tests."""
    for isa in ("", *target.isas):
        start = time.monotonic()
        found = run(python, "wheels/check.py", *filter(None, [isa]), cwd=ROOT, env={**os.environ, "FASTFS_ISA": isa})
        print(f"  {found.splitlines()[-1]} ({time.monotonic() - start:.0f} s)", flush=True)
    tests = [*TESTS]
    if target.sklearn:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        example = folder / "example.py"
        code = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[0]
        example.write_text(code, encoding="utf-8")
        print("  the README's example:", run(python, example).strip(), flush=True)
        tests += WITH_SKLEARN
    command = [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *(f"tests/{name}" for name in tests)]
    print(f"  {run(*command, cwd=ROOT).splitlines()[-1]}", flush=True)


def faults(library: Path) -> Iterator[str]:
    """What keeps a library from running on macOS 12 or newer on 64-bit ARM with the system's libraries alone."""
    header = run("llvm-otool-19", "-hv", "-l", library)
    if "ARM64" not in header:
        yield "isn't for ARM64"
    if re.findall(r"minos (\S+)", header) != ["12.0"]:
        yield f"needs macOS {re.findall(r'minos (.*)', header)}"
    if "LC_CODE_SIGNATURE" not in header:
        yield "isn't signed"
    module = library.suffix == ".so"
    if module and "path @loader_path/lib " not in header:
        yield "doesn't look for libfastfs.dylib in lib/"
    names = set(re.findall(r"^\t(\S+) \(", run("llvm-otool-19", "-L", library), re.MULTILINE))
    known = {"/usr/lib/libSystem.B.dylib", "@rpath/libfastfs.dylib"}
    yield from (f"needs {name}" for name in names - known if name != library.name)
    for line in run("llvm-nm-19", "-m", "--undefined-only", library).splitlines():
        if not re.search(r"\(from (libSystem|libfastfs)\)$|external __?Py\w+( \(dynamically looked up\))?$", line):
            yield f"leaves {line.strip()}"
    # Besides: operators new and delete, which C++ lets programs replace, and the linker's and Cython's own.
    others = r"__Zn[aw]m|__Zd[al]Pv|___dso_handle$|__mh_dylib_header$|___pyx_module_is_main_"
    expected = f"{'_PyInit_' if module else '_fastfs_'}|{others}"
    exported = run("llvm-nm-19", "--extern-only", "--defined-only", "--format=just-symbols", library).split()
    yield from (f"exports {name}" for name in exported if not re.match(expected, name))


def check_macos(wheel: Path, folder: Path) -> None:
    """Check the libraries in the wheel."""
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    shutil.unpack_archive(wheel, unpacked, "zip")
    libraries = [path for path in sorted(unpacked.rglob("*")) if path.suffix in (".so", ".dylib")]
    found = [f"{library.name} {fault}" for library in libraries for fault in faults(library)]
    if found or len(libraries) != 3:
        sys.exit("\n".join([f"{len(libraries)} libraries, must be 3", *found]))
    print("  three libraries for macOS 12 on ARM64, with the system's libraries and Python's symbols only")


def main() -> None:
    """Build, check, install and use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--root-only", action="store_true", help="make the other platform's CPython only")
    parser.add_argument("--folder", type=Path, default=ROOT / "build")
    args = parser.parse_args()
    target = TARGETS[args.target]
    missing = {package for tool, package in target.tools.items() if shutil.which(tool) is None}
    if missing:
        sys.exit(f"needs Debian's packages {', '.join(sorted(missing))}: install them by apt-get")
    folder = args.folder.resolve() / args.target
    folder.mkdir(parents=True, exist_ok=True)
    if args.target == "arm" and args.root_only:  # nothing to compile
        unpack_arm(folder)
        return
    tools = environment(sys.executable, folder / "tools")
    requirements = [*project()["build-system"]["requires"], "cmake>=3.26", "ninja", *TOOLS, ZIG]
    run(tools, "-m", "pip", "install", "--quiet", *requirements)
    shutil.rmtree(folder / "compilers", ignore_errors=True)
    compilers = zig_compilers(tools, target.zig, folder / "compilers")
    if args.target == "macos":
        root, include = None, Path(sysconfig.get_path("include"))
    else:
        root = unpack_arm(folder) if args.target == "arm" else build_musl(folder, compilers["CC"])
        (include,) = (root / "usr/include").glob("python3.*")
        if include.name != f"python{sys.version_info[0]}.{sys.version_info[1]}":
            sys.exit(f"this Python must have the version of Debian's, {include.name}, got {sys.version.split()[0]}")
    if args.root_only:
        return
    wheel = build(target, tools, compilers, include, folder)
    if root is not None:
        # musl's own library, or auditwheel takes this machine's libc.so for it.
        wheel = repair(wheel, tools, folder, "--ldpaths", root / "usr/lib/x86_64-linux-musl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
    if root is None:
        check_macos(wheel, folder)
    else:
        python = interpreter(root, folder, target)
        install(wheel, python, next(root.rglob("pip-*.whl")), folder, target)
        use(python, folder, target)


if __name__ == "__main__":
    main()
