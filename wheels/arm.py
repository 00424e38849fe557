"""Builds the wheel for 64-bit ARM Linux on another machine, and uses it there in an emulator as a user would.

python wheels/arm.py [--root-only] [--folder build/arm]

Debian's packages of CPython for arm64 are unpacked into a folder (nothing is installed), the cross compiler builds the
wheel against them, pip inside the emulated CPython installs it with the public wheels of NumPy, SciPy and scikit-learn,
and there check.py, the README's example and some of the tests run. Needs Debian's g++-aarch64-linux-gnu,
qemu-user-static and apt-get, and an index of Python packages.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1]
TOOLS = {
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64-static": "qemu-user-static",
}
PACKAGES = ["python3", "python3-venv", "libpython3-dev", "libstdc++6", "zlib1g"]
# What an emulator ten to a hundred times slower than the machine does in minutes.
TESTS = ["tests/engines/test_isa.py", "tests/methods/margin/test_relief.py"]
TEST_PACKAGES = ["pytest>=8", "pytest-xdist>=3.2", "hypothesis>=6.100", "mpmath>=1.3"]


def run(*command: object, **variables: str) -> str:
    """Run a command, and return what it printed; stop with all of it if the command fails."""
    words = [str(word) for word in command]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": SOURCES}
    finished = subprocess.run(words, env=os.environ | variables, check=False, **options)
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}\nthis failed: {' '.join(words)}")
    return finished.stdout


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((SOURCES / "pyproject.toml").read_text(encoding="utf-8"))


def unpack_root(folder: Path) -> Path:
    """A folder with CPython for arm64, its headers and the libraries it needs, from this Debian's archive."""
    root = folder / "root"
    if (root / "complete").exists():
        return root
    state = folder / "apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Debug::NoLocking": 1,
    }
    apt = ["apt-get", "-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
    run(*apt, "update")
    run(*apt, "--download-only", "--no-install-recommends", "--yes", "install", *PACKAGES)
    for package in sorted((state / "archives").glob("*.deb")):
        run("dpkg-deb", "--extract", package, root)
    (include,) = (root / "usr/include").glob("python3.*")
    (include / "aarch64-linux-gnu").symlink_to("../aarch64-linux-gnu")  # where pyconfig.h includes another one
    (root / "complete").touch()
    return root


def build(root: Path, folder: Path) -> Path:
    """The wheel, by the cross compiler."""
    (include,) = (root / "usr/include").glob("python3.*")
    version = include.name.removeprefix("python")
    if version != f"{sys.version_info[0]}.{sys.version_info[1]}":
        sys.exit(f"this Python must have the version of Debian's, {version}, got {sys.version.split()[0]}")
    defines = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "Python_INCLUDE_DIR": include,
    }
    settings = [f"-Ccmake.define.{name}={value}" for name, value in defines.items()]
    # Not an isolated build: pip would fetch CMake for the other machine.
    tools = folder / "tools"
    run(sys.executable, "-m", "venv", "--clear", tools)
    requirements = [*project()["build-system"]["requires"], "cmake>=3.26", "ninja"]
    run(tools / "bin/python", "-m", "pip", "install", "--quiet", *requirements)
    shutil.rmtree(folder / "built", ignore_errors=True)
    run(
        *(
            tools / "bin/python",
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            folder / "built",
        ),
        *(f"-Cbuild-dir={folder / 'wheel'}", *settings, SOURCES),
        CC="aarch64-linux-gnu-gcc",
        CXX="aarch64-linux-gnu-g++",
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{version.replace('.', '')}-aarch64-linux-gnu.so",
        _PYTHON_HOST_PLATFORM="linux-aarch64",
        PATH=f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}",
    )
    (wheel,) = (folder / "built").glob("*-linux_aarch64.whl")
    return wheel


def install(root: Path, wheel: Path, folder: Path) -> Path:
    """A virtual environment's emulated interpreter, which processes can start like any other program."""
    target = folder / "env"
    shutil.rmtree(target, ignore_errors=True)
    emulator = [shutil.which("qemu-aarch64-static"), "-L", root]
    run(*emulator, root / "usr/bin/python3", "-m", "venv", "--without-pip", target)
    python = target / "bin" / "python"
    python.unlink()
    # Under its own name, Python finds the environment that it belongs to.
    python.write_text(
        f'#!/bin/sh\nexec {emulator[0]} -L "{root}" -0 "{python}" "{(root / "usr/bin/python3").resolve()}" "$@"\n'
    )
    python.chmod(0o755)
    house = folder / "house"
    version = f"{sys.version_info[0]}{sys.version_info[1]}"
    platforms = [f"--platform=manylinux_2_{age}_aarch64" for age in (17, 27, 28)] + ["--platform=manylinux2014_aarch64"]
    tags = ["--python-version", version, "--implementation=cp", f"--abi=cp{version}", "--abi=abi3", "--abi=none"]
    requirements = [*project()["project"]["dependencies"], *TEST_PACKAGES]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", house]
    run(*command, *platforms, *tags, *requirements)
    (pip,) = (root / "usr/share/python-wheels").glob("pip-*.whl")
    run(python, f"{pip}/pip", "install", "--no-index", "--no-compile", "--find-links", house, wheel, *TEST_PACKAGES)
    return python


def use(python: Path, folder: Path) -> None:
    """check.py on both instruction sets, the README's first example, and some tests."""
    for isa in ("", "base"):
        start = time.monotonic()
        line = run(python, "wheels/check.py", *filter(None, [isa]), FASTFS_ISA=isa).splitlines()[-1]
        print(f"{line} ({time.monotonic() - start:.0f} s)", flush=True)
    readme = (SOURCES / "README.md").read_text(encoding="utf-8")
    example = folder / "example.py"
    example.write_text(re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[0], encoding="utf-8")
    print("the README's example:", run(python, example).strip(), flush=True)
    command = [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS]
    print(run(*command).splitlines()[-1], flush=True)


def main() -> None:
    """Unpack, build, install and use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root-only", action="store_true", help="unpack CPython and its libraries only")
    parser.add_argument("--folder", type=Path, default=SOURCES / "build/arm")
    args = parser.parse_args()
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        sys.exit(f"needs Debian's packages {', '.join(missing)}: install them by apt-get")
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    root = unpack_root(folder)
    if args.root_only:
        return
    wheel = build(root, folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
    use(install(root, wheel, folder), folder)


if __name__ == "__main__":
    main()
