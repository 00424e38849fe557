"""``fastfs assess``, as the function finds it."""

import json

import numpy as np
import pandas
import pytest

import fastfs

RNG = np.random.default_rng(0)
DONOR = np.arange(48) // 4
X = RNG.normal(size=(48, 12)) + 1.5 * np.outer(DONOR % 2, np.arange(12) == 3)
COUNT = RNG.integers(0, 9, 48)
CALL = [
    "assess",
    "t.csv",
    "--methods",
    "relieff",
    "--n-features",
    "1,4",
    "--splits",
    "3",
    "--repeats",
    "2",
    "--seed",
    "5",
]
FOLDS = {"methods": ["relieff"], "n_features": [1, 4], "n_splits": 3, "n_repeats": 2, "random_state": 5}


@pytest.fixture
def folder(tmp_path):
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    frame = frame.assign(state=np.array(["ill", "well"])[DONOR % 2], donor=DONOR, count=COUNT)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_files_hold_all_columns(folder, inside, ending):
    expected = fastfs.assess(X, DONOR % 2, groups=DONOR, **FOLDS)
    design = ["--label", "state", "--groups", "donor", "--ignore", "count"]
    finished = inside(*CALL, *design, "--out", f"a.{ending}", "--plot", "a.svg", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    if ending == "json":
        written = json.loads((folder / "a.json").read_text())
        frame = pandas.DataFrame(written.pop("ranking"))
        assert written["classes"] == {"ill": 24, "well": 24}
        assert (written["unit"], written["n_units"], written["design"]) == ("group", 12, "6 + 6 groups")
        assert (written["metrics"], written["classifier"]) == (["balanced_accuracy", "auc"], "logistic")
    else:
        frame = getattr(pandas, f"read_{ending}")(folder / f"a.{ending}")
    pandas.testing.assert_frame_equal(frame, expected.to_frame(), check_dtype=False)
    assert "balanced accuracy" in (folder / "a.svg").read_text()
    lines = finished.stderr.splitlines()
    assert lines[0] == (
        "Ranked 12 features of 48 samples in 2 x 3 folds of whole groups (12), labels permuted as 6 + 6 groups; wrote "
        f"a.{ending} and a.svg."
    )
    assert lines[1:] == [f"{sentence}." for sentence in expected.describe()]
    assert lines[1].startswith("relieff, 4 features: balanced accuracy 0.")


def test_the_terminal_shows_intervals(folder, inside):
    finished = inside(*CALL, "--label", "state", "--groups", "donor", "--ignore", "count", cwd=folder)
    expected = fastfs.assess(X, DONOR % 2, groups=DONOR, **FOLDS).to_frame()
    assert finished.returncode == 0, finished.stderr
    assert f"{expected.low[0]:.6g}" in finished.stdout
    assert "variance" in finished.stdout


def test_whole_numbers_of_targets_are_numbers(folder, inside):
    finished = inside(
        *CALL, "--targets", "count", "--ignore", "state", "--ignore", "donor", "--out", "a.csv", cwd=folder
    )
    assert finished.returncode == 0, finished.stderr
    expected = fastfs.assess(X, COUNT.astype(float)[:, None], **FOLDS).to_frame()
    pandas.testing.assert_frame_equal(pandas.read_csv(folder / "a.csv"), expected, check_dtype=False)
    assert "r2" in expected


def test_times(folder, inside):
    frame = pandas.read_csv(folder / "t.csv")
    frame["happened"] = (COUNT > 2).astype(int)
    frame.to_csv(folder / "t.csv", index=False)
    options = ["--targets", "count", "--event", "happened", "--ignore", "state", "--ignore", "donor"]
    finished = inside(*CALL, *options, "--out", "a.csv", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    y = np.array(list(zip(COUNT > 2, COUNT, strict=True)), dtype=[("event", bool), ("time", float)])
    expected = fastfs.assess(X, y, **FOLDS).to_frame()
    pandas.testing.assert_frame_equal(pandas.read_csv(folder / "a.csv"), expected, check_dtype=False)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--n-features", "1,x"], "--n-features must be integers with commas between them; got '1,x'"),
        (["--methods", "nothing"], "There is no method 'nothing'"),
        (["--splits", "40"], "--splits must be at most 12, the number of groups"),
        (["--n-features", "0"], "--n-features must be at least 1; got 0"),
        (["--n-features", "100"], "--n-features must name a number of at most"),
        (["--classifier", "forest"], "--classifier must be 'logistic' or 'centroid'"),
        (["--out", "a.txt"], "a.txt"),
    ],
)
def test_wrong_options(folder, inside, options, message):
    finished = inside(*CALL, "--label", "state", "--groups", "donor", *options, cwd=folder)
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1), finished.stderr
    assert message in finished.stderr
