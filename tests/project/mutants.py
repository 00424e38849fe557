"""Mutants of csrc/engines: does a test fail when one token of the engines is another one? ``nox -s mutants -- 20``.

The same mutants each time: of all places where a token can be changed, so many at even distances. Each is compiled, put
into a copy of the installed package, and given to the tests of the engines and then to those of the methods above them,
until one fails or a test hangs. What survives both is printed last: either nothing depends on the token (a size of a
block, a bound that is never reached), or a test is missing.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import fastfs

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"
ENGINES = ["tests/engines"]
METHODS = [
    *(f"tests/methods/margin/test_{name}.py" for name in ("relief", "ties", "genotype_bits", "relief_stream")),
    "tests/methods/margin/test_relief_inputs.py",
    "tests/methods/projse/test_projse.py",
    "tests/methods/disc/test_disc.py",
    "tests/methods/ikdr/test_ikdr.py",
    "tests/methods/manifest/test_manifest_forms.py",
]
CHANGES = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " && ": " || ",
    " + ": " - ", " - ": " + ", " += ": " -= ", " / ": " * ", "std::min(": "std::max(", "std::max(": "std::min(",
}  # fmt: skip
TOKENS = re.compile("|".join(map(re.escape, CHANGES)))


def list_places():
    """All places of the engines' sources where a token can be changed: file, line, column."""
    places = []
    for path in sorted((ROOT / "csrc" / "engines").glob("*.cpp")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            code = line.split("//")[0]
            if '"' in code or re.match(r"\s*(#|template|static_assert|require)", code):
                continue  # messages, templates: their tokens are no arithmetic
            places += [(path, number, found.start()) for found in TOKENS.finditer(code)]
    return places


def mutate(place):
    """Return the source with the changed token, and what has changed."""
    path, number, column = place
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    before, after = lines[number][:column], lines[number][column:]
    token = TOKENS.match(after)[0]
    lines[number] = before + CHANGES[token] + after[len(token) :]
    what = f"{path.relative_to(ROOT)}:{number + 1}: '{token.strip()}' to '{CHANGES[token].strip()}'"
    return "".join(lines), f"{what} in {(before + after).strip()}"


def build():
    """Compile the copy of the sources; False if a mutant isn't C++."""
    done = subprocess.run(["cmake", "--build", WORK / "build", "--target", "fastfs"], capture_output=True, text=True)
    return done.returncode == 0


def copy_if_changed(source, target):
    """Copy a file; one with the same content keeps its time, which is later than that of a mutant's object."""
    if not Path(target).exists() or Path(source).read_bytes() != Path(target).read_bytes():
        shutil.copy(source, target)


def prepare():
    """A copy of the sources with its build folder, and one of the installed package that will load its library."""
    for name in ("csrc", "cmake"):
        shutil.copytree(ROOT / name, WORK / "source" / name, dirs_exist_ok=True, copy_function=copy_if_changed)
    copy_if_changed(ROOT / "CMakeLists.txt", WORK / "source" / "CMakeLists.txt")
    # Without -O3's time, and a file at a time: each mutant compiles one.
    command = ["cmake", "-G", "Ninja", "-S", WORK / "source", "-B", WORK / "build", "-DFASTFS_UNITY=OFF"]
    subprocess.run([*command, "-DCMAKE_BUILD_TYPE=Release"], check=True, stdout=subprocess.DEVNULL)
    package = Path(fastfs.__file__).parent
    if package.is_relative_to(WORK):
        raise SystemExit("the package that is copied must be the installed one")
    shutil.copytree(package, WORK / "package" / "fastfs", dirs_exist_ok=True)
    if not build():
        raise SystemExit("the sources can't be compiled")


def limit_memory():
    """Let an allocation of a wrong size fail instead of taking the machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))


def fails(root, selection, seconds):
    """Name the test of `selection`, in the project at `root`, that fails with the library that was built, if any."""
    library = next((WORK / "package" / "fastfs" / "lib").glob("libfastfs.so*"))
    library.unlink()
    shutil.copy((WORK / "build" / "libfastfs.so").resolve(), library)
    tests = [root / path for path in selection if (root / path).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests]
    environment = os.environ | {"PYTHONPATH": str(WORK / "package")}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=seconds, preexec_fn=limit_memory
        )
    except subprocess.TimeoutExpired:
        return f"no end within {seconds} s"
    if done.returncode == 0:
        return None
    failed = re.search(r"^(FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[2] if failed else f"pytest ends with {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=20, help="how many mutants")
    parser.add_argument("--tests", type=Path, default=ROOT, help="a project with other tests, for the same mutants")
    parser.add_argument("--methods-only", action="store_true", help="without the tests of the engines")
    parser.add_argument("--seconds", type=int, default=1800, help="for the tests of one mutant")
    arguments = parser.parse_args()
    prepare()
    parts = [METHODS] if arguments.methods_only else [ENGINES, METHODS]
    places = list_places()
    print(f"{len(places)} places, {arguments.number} mutants", flush=True)
    survivors = []
    for k in range(arguments.number):
        place = places[(2 * k + 1) * len(places) // (2 * arguments.number)]
        text, what = mutate(place)
        copy = WORK / "source" / place[0].relative_to(ROOT)
        copy.write_text(text, encoding="utf-8")
        begin = time.monotonic()
        killer = "the compiler"
        if build():
            killer = next(filter(None, (fails(arguments.tests.resolve(), p, arguments.seconds) for p in parts)), None)
        print(
            f"{what}\n    {'killed by ' + killer if killer else 'SURVIVED'} ({time.monotonic() - begin:.0f} s)",
            flush=True,
        )
        survivors += [] if killer else [what]
        shutil.copy(place[0], copy)
    print(f"{arguments.number - len(survivors)} of {arguments.number} killed; survived:", *survivors, sep="\n")


if __name__ == "__main__":
    main()
