"""Groups of features in permutation tests, against plain step-down comparisons in NumPy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import fastfs
from fastfs._inference.feature_groups import number_members
from fastfs.io import read_gmt

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 12))
y = np.arange(40) % 2
X[:, 3] += 2 * y
GROUPS = {"a": [3, 4, 5], "b": [0, 1], "both": [5, 0, 7, 8], "one": [11]}


def step_down(rows):
    """Family-wise p-values of the first row by z, whose moments include all rows."""
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    order = np.argsort(-z[0], kind="stable")
    pvalues = np.empty(len(order))
    worst = 0.0
    for place, k in enumerate(order):
        largest = z[:, order[place:]].max(axis=1)
        worst = max(worst, np.mean(largest >= largest[0] - 1e-9 * abs(largest[0])))
        pvalues[k] = worst
    return pvalues


class Recorder(fastfs.ReliefF):
    """ReliefF that keeps the scores of all labelings."""

    rows: list = []  # noqa: RUF012

    def _make_scorer(self, X, y):
        labels, scorer = super()._make_scorer(X, y)

        def recording(labelings):
            for scores, value in scorer(labelings):
                self.rows.append(scores.copy())
                yield scores, value

        return labels, recording


@pytest.mark.parametrize("max_memory", [None, 20_000])
def test_against_numpy(max_memory):
    Recorder.rows.clear()
    model = Recorder()
    test = fastfs.permutation_test(model, X, y, n_permutations=99, feature_groups=GROUPS)
    rows = np.array(Recorder.rows)[:100]
    plain = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=99)
    np.testing.assert_array_equal(test.pvalues_max, plain.pvalues_max)
    found = test.feature_groups
    assert found.names == list(GROUPS)
    assert found.sizes.tolist() == [3, 2, 4, 1]
    for of, values, singly, adjusted, together in (
        (np.max, found.maxima, found.pvalues, found.pvalues_adjusted, found.pvalues_max),
        (np.sum, found.sums, found.pvalues_of_sums, found.pvalues_adjusted_of_sums, found.pvalues_max_of_sums),
    ):
        grouped = np.column_stack([of(rows[:, columns], axis=1) for columns in GROUPS.values()])
        np.testing.assert_allclose(values, grouped[0], rtol=1e-12)
        np.testing.assert_allclose(singly, np.mean(grouped >= grouped[0] - 1e-12, axis=0), rtol=1e-12)
        np.testing.assert_allclose(adjusted, false_discovery_control(singly), rtol=1e-12)
        np.testing.assert_allclose(together, step_down(grouped), rtol=1e-12)
    assert found.pvalues_max[0] <= 0.05 < found.pvalues_max[1]


def test_scores_that_are_not_kept_are_compared_in_a_second_pass():
    wide = rng.normal(size=(30, 3000))
    labels = np.arange(30) % 2
    groups = {f"g{k}": [k, k + 1, (7 * k) % 3000] for k in range(0, 2900, 10)}
    found = [
        fastfs.permutation_test(
            fastfs.ReliefF(max_memory=memory), wide, labels, n_permutations=99, feature_groups=groups
        ).feature_groups
        for memory in (None, "3M")
    ]
    np.testing.assert_array_equal(found[0].pvalues_max, found[1].pvalues_max)
    np.testing.assert_array_equal(found[0].pvalues_of_sums, found[1].pvalues_of_sums)


def test_names_masks_and_overlap():
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    asked = {"n_permutations": 19}
    numbers = fastfs.permutation_test(fastfs.ReliefF(), X, y, feature_groups={"u": [3, 4], "v": [4]}, **asked)
    mask = np.isin(np.arange(12), [3, 4])
    for groups in ({"u": ["g3", "g4"], "v": ["g4"]}, {"u": mask, "v": ["g4"]}):
        named = fastfs.permutation_test(fastfs.ReliefF(), table, y, feature_groups=groups, **asked)
        np.testing.assert_array_equal(named.feature_groups.pvalues_max, numbers.feature_groups.pvalues_max)


def test_noise_selects_no_group():
    noise = np.random.default_rng(5).normal(size=(40, 60))
    groups = {str(k): range(6 * k, 6 * k + 6) for k in range(10)}
    cut = fastfs.Cut(fastfs.ReliefF(), feature_groups=groups, n_permutations=99).fit(noise, y)
    assert not cut.get_support().any()


def test_cut_selects_groups_as_wholes():
    cut = fastfs.Cut(fastfs.ReliefF(), feature_groups=GROUPS, n_permutations=99).fit(X, y)
    assert cut.get_support(indices=True).tolist() == [3, 4, 5]
    cut = fastfs.Cut(fastfs.ReliefF(), by="fdr", at=0.1, feature_groups=GROUPS, n_permutations=99).fit(X, y)
    passed = cut.test_.feature_groups.pvalues_adjusted <= 0.1
    assert cut.get_support(indices=True).tolist() == [3, 4, 5]
    assert passed.tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match="feature_groups must be None with by='stability', which tests nothing"):
        fastfs.Cut(fastfs.ReliefF(), by="stability", feature_groups=GROUPS).fit(X, y)


@pytest.mark.parametrize(
    "groups, error, message",
    [
        ({}, ValueError, "feature_groups must hold groups; got none"),
        ({"a": []}, ValueError, "group 'a' of feature_groups must hold features; got none"),
        ({"a": [12]}, ValueError, "group 'a' of feature_groups must hold column numbers from 0 to 11; got 12"),
        ({"a": ["BRCA1"]}, ValueError, "group 'a' of feature_groups holds 'BRCA1', which isn't a column name of X"),
        ([[0, 1]], TypeError, "feature_groups must be a dict of names and features; got list"),
    ],
)
def test_bad_groups(groups, error, message):
    with pytest.raises(error, match=message):
        fastfs.permutation_test(fastfs.ReliefF(), X, y, feature_groups=groups, n_permutations=9)


def test_stop_is_refused():
    with pytest.raises(ValueError, match="stop must be False with feature_groups"):
        fastfs.permutation_test(fastfs.ReliefF(), X, y, feature_groups=GROUPS, stop=True)


def test_gmt(tmp_path):
    path = tmp_path / "sets.gmt"
    path.write_text("R\tof DNA\tBRCA1\tRAD51\tBRCA1\n\nS\t\tTP53\t\n")
    assert read_gmt(path) == {"R": ["BRCA1", "RAD51"], "S": ["TP53"]}
    for text, message in (
        ("R\tx\n", "each line must hold a name, a description and genes"),
        ("R\tx\ta\nR\tx\tb\n", "must have a different name for each group; got 'R' again in line 2"),
        ("\n", "must hold groups of genes; got an empty file"),
        ("", "is empty: give a file with data"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_gmt(path)
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.gmt'"):
        read_gmt(tmp_path / "none.gmt")
    for features in ("TP53", 3, None, [3], [["TP53"]], [True, False]):
        with pytest.raises(TypeError, match="group 'a' of feature_groups must be a list of names; got "):
            number_members({"a": features}, ["TP53", "BRCA1"])
