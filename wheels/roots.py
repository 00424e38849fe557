"""CPython for other platforms, each in a folder of its own: nothing is installed on this machine.

For 64-bit ARM, Debian's packages are unpacked. For musl, the C library of Alpine, there is no CPython in Debian: it
is compiled by Zig from Debian's sources, and started by the loader in Debian 13's package of musl.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

from build import run

PACKAGES = ["python3", "python3-venv", "libpython3-dev", "libstdc++6", "zlib1g"]


def apt(folder: Path, architecture: str, *, newer: str | None = None) -> list[object]:
    """apt-get of the archive of this Debian, and of a newer one, with a state of its own that has nothing installed."""
    state = folder / "apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    source = "deb $(REPO_URI) $(CODENAME) $(COMPONENT)"
    # Without updates: not every mirror has their sources.
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    listed = run("apt-get", "indextargets", "--format", source, "Created-By: Packages", f"Codename: {release}")
    listed += listed.replace("deb ", "deb-src ") + (listed.replace(f" {release} ", f" {newer} ") if newer else "")
    (state / "sources.list").write_text(listed, encoding="utf-8")
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Etc::SourceList": state / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Debug::NoLocking": 1,
    }
    command = ["apt-get", "-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
    run(*command, "update")
    return command


def unpack_arm(folder: Path) -> Path:
    """CPython for 64-bit ARM, its headers and the libraries it needs."""
    root = folder / "root"
    if (root / "complete").exists():
        return root
    get = apt(folder, "arm64")
    run(*get, "--download-only", "--no-install-recommends", "--yes", "install", *PACKAGES)
    for package in sorted((folder / "apt/archives").glob("*.deb")):
        run("dpkg-deb", "--extract", package, root)
    (include,) = (root / "usr/include").glob("python3.*")
    (include / "aarch64-linux-gnu").symlink_to("../aarch64-linux-gnu")  # where pyconfig.h includes another one
    (root / "complete").touch()
    return root


def build_musl(folder: Path, compiler: str) -> Path:
    """CPython for musl, with what pip and ctypes need."""
    root = folder / "root"
    if (root / "complete").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    # NumPy's wheels have relocations (DT_RELR) that musl knows from 1.2.4 on.
    get = apt(folder, "amd64", newer="trixie")
    run(*get, "--download-only", "--yes", "install", "musl")
    (package,) = (folder / "apt/archives").glob("musl_*.deb")
    run("dpkg-deb", "--extract", package, root)
    loader = root / "lib/ld-musl-x86_64.so.1"
    loader.parent.mkdir()
    shutil.copy(root / "usr/lib/x86_64-linux-musl/libc.so", loader)
    (root / "etc/ld-musl-x86_64.path").write_text(f"{root / 'lib'}\n", encoding="utf-8")  # not this machine's libraries
    sources = folder / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    run(*get, "--download-only", "source", "zlib", "libffi", f"python{version}", cwd=sources)
    for archive in sources.glob("*.orig.tar.*"):
        run("tar", "-xf", archive, cwd=sources)
    prefix = f"--prefix={root / 'usr'}"

    def make(pattern: str, *options: object, **variables: str) -> None:
        (source,) = sources.glob(pattern)
        # -fPIC: copies of musl's variables in a program of Zig's lie in one place.
        chosen = {"CC": compiler, "CFLAGS": "-O2 -fPIC -Wno-date-time", **variables}
        run("./configure", prefix, *options, cwd=source, env={**os.environ, **chosen})
        run("make", "-j2", "install", cwd=source)

    make("zlib-*/", "--static")
    # musl has no temporary files for code.
    options = ["--disable-shared", "--with-pic", "--disable-docs", "--disable-exec-static-tramp"]
    make("libffi-*/", "--host=x86_64-linux-musl", *options)
    (python,) = sources.glob("Python-*")
    for name, what, by in (
        # The suffix of modules that wheels for musl have, and Alpine's CPython.
        ("configure", "        x86_64-linux-gnu\n", "        x86_64-linux-musl\n"),
        # Where Zig says that it looks for headers without a target: those of this machine.
        ("setup.py", "            self.add_cross_compiling_paths()\n", "            pass\n"),
    ):
        text = (python / name).read_text(encoding="utf-8")
        (python / name).write_text(text.replace(what, by), encoding="utf-8")
    make(
        "Python-*/",
        # As if for another machine: otherwise it looks for libraries of this one.
        *("--build=x86_64-linux-gnu", "--host=x86_64-linux-musl", f"--with-build-python={sys.executable}"),
        *("--disable-test-modules", "--without-ensurepip", f"READELF={shutil.which('readelf')}"),
        *("ac_cv_file__dev_ptmx=yes", "ac_cv_file__dev_ptc=no", "ac_cv_buggy_getaddrinfo=no"),
        f"CPPFLAGS=-I{root / 'usr/include'}",
        f"LDFLAGS=-L{root / 'usr/lib'} -dynamic -Wl,-dynamic-linker,{loader}",
        PKG_CONFIG_LIBDIR=str(root / "usr/lib/pkgconfig"),
    )
    (root / "complete").touch()
    return root
