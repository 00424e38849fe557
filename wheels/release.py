"""Makes all that a release publishes, in an empty folder, and publishes nothing.

python wheels/release.py --dry-run [--output dist]     the sdist, a wheel per CPython, R's package, the documentation
python wheels/release.py --check-tag v0.1.0            whether all files agree on the version of a tag

The dry run takes the last commit, not the working copy. Each wheel is installed and used in a new environment
(wheels/build.py), R's package is built from its sources and checked, and the metadata are checked by twine,
check-wheel-contents and validate-pyproject. SHA256SUMS lists the files. RELEASING.md says what only a person can do.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ["twine>=6.1", "check-wheel-contents>=0.6", "validate-pyproject>=0.24", "packaging>=24.2"]


def run(*command: object, **options: object) -> None:
    """Run a command; stop with its output if it fails."""
    words = [str(word) for word in command]
    finished = subprocess.run(
        words, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )  # type: ignore[call-overload]
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}\nthis failed: {' '.join(words)}")


def read_versions(root: Path) -> dict[str, str]:
    """Return the version that each file of the sources gives; CMakeLists.txt is the one that the others follow."""
    places = {
        "CMakeLists.txt": r"project\(fastfs VERSION ([0-9.]+)",
        "r/DESCRIPTION": r"^Version: ([0-9.]+)$",
    }
    return {
        name: match[1] if (match := re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)) else "none"
        for name, pattern in places.items()
    }


def find_disagreements(root: Path, tag: str | None = None) -> list[str]:
    """Return a sentence per file that doesn't have the version of CMakeLists.txt, or of a tag."""
    versions = read_versions(root)
    version = versions["CMakeLists.txt"] if tag is None else tag.removeprefix("v")
    wrong = [f"{name} must have the version {version}; got {of}" for name, of in versions.items() if of != version]
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.M):
        wrong.append(f"CHANGELOG.md must have a section '## [{version}] - YYYY-MM-DD': rename '## [Unreleased]'")
    return wrong


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of each file of a folder, in the form that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def build_r(sources: Path, output: Path) -> str:
    """Build R's package with the core in it, install and use it, and return a sentence about it."""
    if shutil.which("R") is None:
        return "R isn't installed, so its package wasn't built"
    needed = 'quit(status = !(requireNamespace("knitr") && requireNamespace("rmarkdown")))'
    has_knitr = subprocess.run(["Rscript", "-e", needed], capture_output=True, check=False).returncode == 0
    with tempfile.TemporaryDirectory() as name:
        run("Rscript", sources / "r" / "build.R", name)
        # For the vignette, R installs the package: with the core of a wheel, so that the core is compiled once.
        shutil.unpack_archive(next(output.glob("*.whl")), Path(name) / "wheel", "zip")
        env = {**os.environ, "FASTFS_LIB": f"{name}/wheel/fastfs/lib"}
        run("R", "CMD", "build", *([] if has_knitr else ["--no-build-vignettes"]), "fastfs", cwd=name, env=env)
        package = next(Path(name).glob("fastfs_*.tar.gz"))
        (Path(name) / "library").mkdir()
        env = {**os.environ, "MAKEFLAGS": f"-j{os.cpu_count()}"}
        run("R", "CMD", "INSTALL", f"--library={name}/library", package, cwd=name, env=env)
        script = "library(fastfs); stopifnot(relieff(as.matrix(iris[1:4]), iris[[5]])$scores[[3]] > 0.1)"
        run("Rscript", "-e", script, env={**os.environ, "R_LIBS": f"{name}/library"})
        shutil.copy(package, output)
    vignette = "with its vignette" if has_knitr else "WITHOUT its vignette, which needs R's knitr and rmarkdown"
    return f"{package.name}: built from its sources {vignette}, installed and used"


def build_docs(sources: Path, python: Path, output: Path) -> str:
    """Build the documentation, with the wheel of this interpreter, into an archive, and return a sentence about it."""
    wheel = next(output.glob(f"*-cp{sys.version_info[0]}{sys.version_info[1]}-*.whl"))
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[docs]")
    site = sources / "build" / "site"
    run(python, "-m", "sphinx", "-W", "-q", "-c", "docs", ".", site, cwd=sources)
    run(python, "docs/check_links.py", site, cwd=sources)
    shutil.make_archive(str(output / "fastfs-docs"), "zip", site)
    return "fastfs-docs.zip: no warning, no broken link"


def rehearse(output: Path) -> None:
    """Do everything but the upload; stop at the first thing that fails."""
    started = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    if any(output.iterdir()):
        sys.exit(f"'{output}' must be empty: give another --output")
    with tempfile.TemporaryDirectory() as name:
        sources, python = Path(name) / "sources", Path(name) / "tools" / "bin" / "python"
        sources.mkdir()
        archive = Path(name) / "sources.tar"
        run("git", "-C", ROOT, "archive", "--output", archive, "HEAD")
        run("tar", "--extract", "--file", archive, "--directory", sources)
        run(sys.executable, "-m", "venv", Path(name) / "tools")
        run(python, "-m", "pip", "install", "--quiet", *CHECKS)
        run(python, "-m", "validate_pyproject", sources / "pyproject.toml")
        run(python, sources / "wheels" / "build.py", "--output", output)
        files = sorted(output.iterdir())
        run(python, "-m", "twine", "check", "--strict", *files)
        run(python, "-m", "check_wheel_contents", *[path for path in files if path.suffix == ".whl"])
        for path in files:
            tried = "installed and used" if path.suffix == ".whl" else "the wheels were built from it"
            print(f"{path.name}: built; {tried}; metadata without findings", flush=True)
        print(build_r(sources, output), flush=True)
        print(build_docs(sources, python, output), flush=True)
        write_sums(output)
        for sentence in find_disagreements(sources):
            print(f"before the release: {sentence}")
    seconds, n_files = time.monotonic() - started, len(list(output.iterdir()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"{n_files} files in '{output}' after {seconds:.0f} s, {cpu:.0f} s of CPU time; nothing is published")


def main() -> None:
    """Rehearse a release, or compare a tag with the sources."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--dry-run", action="store_true", help="make everything, publish nothing")
    task.add_argument("--check-tag", metavar="TAG", help="compare the version of a tag with all files")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="an empty folder")
    args = parser.parse_args()
    if args.dry_run:
        rehearse(args.output.resolve())
    elif wrong := find_disagreements(ROOT, args.check_tag):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
