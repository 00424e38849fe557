"""Folders of the headers, the library and its CMake and pkg-config files, for programs that embed the core."""

import importlib.util
import shlex
from pathlib import Path


def _prefix() -> Path:
    """Return the folder that holds the compiled parts. Raise ImportError if there are none."""
    # Compiled parts share a folder with their headers; in an editable install the Python files have another.
    spec = importlib.util.find_spec("fastfs._core")
    if spec is None or spec.origin is None:
        raise ImportError(
            "fastfs is not installed here: install it with python -m pip install and the folder of its sources"
        )
    return Path(spec.origin).parent


def get_include() -> str:
    """Return the folder for a compiler's ``-I``.

    Returns
    -------
    str
        An absolute path; below it are ``fastfs/fastfs.h`` (C99), ``fastfs/fastfs.hpp`` (C++17) and
        ``fastfs/link_blas.h``.

    Examples
    --------
    >>> import os, fastfs
    >>> os.path.exists(os.path.join(fastfs.get_include(), "fastfs", "fastfs.h"))
    True
    """
    return str(_prefix() / "include")


def get_cmake_dir() -> str:
    """Return the folder of the CMake package, for ``-Dfastfs_DIR=``.

    Projects that scikit-build-core builds find it by themselves when their ``build-system.requires`` has
    ``scikit-fastfs``.

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> import os, fastfs
    >>> os.path.exists(os.path.join(fastfs.get_cmake_dir(), "fastfsConfig.cmake"))
    True
    """
    return str(_prefix() / "lib" / "cmake" / "fastfs")


def get_pkgconfig_dir() -> str:
    """Return the folder of ``fastfs.pc``, for the environment variable ``PKG_CONFIG_PATH``.

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> import os, fastfs
    >>> os.path.exists(os.path.join(fastfs.get_pkgconfig_dir(), "fastfs.pc"))
    True
    """
    return str(_prefix() / "lib" / "pkgconfig")


def _includes() -> str:
    return f"-I{shlex.quote(get_include())}"


def _libs() -> str:
    # The dynamic linker needs the folder as rpath.
    folder = shlex.quote(str(_prefix() / "lib"))
    return f"-L{folder} -Wl,-rpath,{folder} -lfastfs"


#: Answers of ``python -m fastfs`` that need none of the command line's packages.
ANSWERS = {
    "--includes": _includes,
    "--cflags": _includes,
    "--libs": _libs,
    "--cmakedir": get_cmake_dir,
    "--pkgconfigdir": get_pkgconfig_dir,
}
