"""The demo: what a first-time user sees."""

import subprocess
import sys

import numpy as np
from matplotlib.image import imread
from sklearn.datasets import load_digits

import fastfs
from fastfs import demo


def test_draw(tmp_path):
    fitted = demo.draw(tmp_path / "demo.png")
    assert list(fitted) == list(demo.ROWS)
    picture = imread(tmp_path / "demo.png")
    assert picture.shape[1] > 1000
    assert picture.shape[0] > 300 * len(demo.ROWS)
    colours = (255 * picture[..., :3]).round().astype(int) @ [1, 256, 65536]
    assert len(np.unique(colours)) > 100

    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    np.testing.assert_allclose(fitted["manifest"].scores_, fastfs.manifest_scores(X[chosen], y[chosen]), rtol=1e-6)


def test_command(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-m", "fastfs", "demo"], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert finished.returncode == 0, finished.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["fastfs_demo.png"]
    assert finished.stderr.splitlines()[-1] == "Wrote fastfs_demo.png."
    rows = [line for line in finished.stdout.splitlines() if "pixel_" in line]
    assert len(rows) == 10 * len(demo.ROWS)


def test_names_follow_the_image():
    assert demo.FEATURE_NAMES[:9] == [*(f"pixel_0_{column}" for column in range(8)), "pixel_1_0"]
    assert len(demo.FEATURE_NAMES) == 64
