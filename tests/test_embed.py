"""What the installed package brings for compiled pipelines; tests/embed/ has the pipelines."""

import shutil
import subprocess
from pathlib import Path

import pytest

import fastfs

PREFIX = Path(fastfs.__file__).parent
LIBRARY = PREFIX / "lib" / "libfastfs.so"


def test_wheel_brings_headers_and_no_blas():
    headers = {path.name for path in (PREFIX / "include" / "fastfs").iterdir()}
    assert headers == {"fastfs.h", "fastfs.hpp", "link_blas.h"}
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("binutils' readelf is not installed")
    needed = subprocess.run([readelf, "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in needed
    assert "blas" not in needed.lower()
