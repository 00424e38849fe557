"""The demo: what a first-time user sees."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.datasets import load_digits

import fastfs
from fastfs import demo


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The fits of the demo, its figure and its picture."""
    figures, save, path = [], Figure.savefig, tmp_path_factory.mktemp("demo") / "demo.png"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            Figure, "savefig", lambda figure, *args, **how: (figures.append(figure), save(figure, *args, **how))
        )
        fitted = demo.draw(path)
    return fitted, figures[0], imread(path)


def test_draw(drawn):
    fitted, _, picture = drawn
    assert list(fitted) == list(demo.ROWS)
    assert picture.shape[1] > 1000
    assert picture.shape[0] > 300 * len(demo.ROWS)
    colours = (255 * picture[..., :3]).round().astype(int) @ [1, 256, 65536]
    assert len(np.unique(colours)) > 100

    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    np.testing.assert_allclose(fitted["manifest"].scores_, fastfs.manifest_scores(X[chosen], y[chosen]), rtol=1e-6)


def test_no_text_touches_another(drawn):
    _, figure, _ = drawn
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [row._suptitle for row in figure.subfigs]
    for ax in (ax for row in figure.subfigs for ax in row.axes):
        texts += [ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label]
    boxes = {text.get_text(): text.get_window_extent(canvas.get_renderer()) for text in texts if text.get_text()}
    assert len(boxes) > 30
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        apart = max(a.x0, b.x0) - min(a.x1, b.x1) > 8 or max(a.y0, b.y0) > min(a.y1, b.y1)
        assert apart, f"'{one}' touches '{other}'"


@pytest.mark.slow  # the gate runs the command, as the README says
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
