"""Designs: the labelings they allow, against brute force; the laws of their draws; bad columns."""

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chisquare

import fastfs
from fastfs._inputs.design import Design

SEEDS = np.random.SeedSequence(0)


def brute_force(y, blocks=None, groups=None):
    """All labelings, from all permutations of samples, or of groups that have one label each."""
    n = len(y)
    blocks = ["all"] * n if blocks is None else list(blocks)
    groups = list(range(n)) if groups is None else list(groups)
    names = sorted(set(groups), key=str)
    members = {g: [i for i in range(n) if groups[i] == g] for g in names}
    if all(len({y[i] for i in rows}) == 1 for rows in members.values()):
        moved, cells = [members[g] for g in names], [blocks[members[g][0]] for g in names]
    else:
        moved, cells = [[i] for i in range(n)], list(zip(blocks, groups, strict=True))
    found = set()
    for order in itertools.permutations(range(len(moved))):
        if all(cells[a] == cells[b] for a, b in enumerate(order)):
            labeling = [None] * n
            for rows, source in zip(moved, order, strict=True):
                for i in rows:
                    labeling[i] = y[moved[source][0]]
            found.add(tuple(labeling))
    return found


SURVIVAL = np.array([(1, 2.0), (0, 2.0), (1, 2.0), (1, 5.0), (0, 1.0)], dtype=[("event", np.int32), ("time", float)])
DESIGNS = {
    "free": (["a", "a", "b", "b", "b", "c"], None, None),
    "blocks": ([0, 0, 1, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2, 2], None),
    "pairs": ([0, 1, 0, 1, 1, 0], list("aabbcc"), None),
    "a block of one, a block of one class": ([0, 1, 1, 1, 0, 1, 0], list("abbbaac"), None),
    "donors": ([0, 0, 1, 0, 0, 1, 1], None, list("aabccde")),
    "donors of one sample": ([0, 0, 1, 1], None, [3, 2, 1, 0]),
    "donors in batches": ([0, 0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 2, 2, 2, 2], list("aabcdeef")),
    "labels vary in donors": ([0, 1, 0, 1, 1, 0, 1], None, list("aaabbbb")),
    "labels vary in donors that span batches": ([0, 1, 0, 1, 1, 0, 1], [1, 1, 2, 2, 1, 1, 2], list("aaabbbb")),
    "mixed": ([0, 1, 0, 1, 1, 1, 1], None, list("aaabbbc")),
    "numbers": ([0.5, 1.5, 0.5, 2.5, 1.5, 3.5], None, None),
    "numbers in blocks": ([0.5, 1.5, 0.5, 2.5, 1.5, 3.5], [0, 1, 0, 1, 1, 0], None),
    "times": (SURVIVAL, None, None),
    "times of donors": (SURVIVAL[[0, 0, 1, 2, 3, 3, 4]], None, list("xxyzwwv")),
}


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("columns", DESIGNS.values(), ids=DESIGNS)
def test_enumeration_is_brute_force(columns):
    y, *others = columns
    design = Design(y, *others)
    found = [tuple(labeling.tolist()) for labeling in design.enumerate_labelings()]
    rows = np.asarray(y).tolist()
    assert found[0] == tuple(rows)
    assert len(found) == len(set(found)) == design.n_distinct
    assert set(found) == brute_force(rows, *others)
    drawn = {tuple(design.draw_labeling(seed).tolist()) for seed in SEEDS.spawn(3000)}
    assert drawn == set(found)


def test_specimens_that_may_hide_in_groups_are_told():
    """Whatever the design, following the advice to the letter ends the warning."""
    donor, specimen = np.arange(48) // 8, np.arange(48) // 4
    treated, batch = specimen % 2, donor // 3
    said = "labels vary within groups, so samples are permuted singly .* give the specimens as groups, and {} as blocks"
    with pytest.warns(fastfs.DataWarning, match=said.format("the present groups")):
        Design(treated, groups=donor).check_labelings()
    combined = "combinations of the present blocks and groups"
    with pytest.warns(fastfs.DataWarning, match=said.format(combined)):
        Design(treated, batch, donor).check_labelings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = list(zip(batch, donor, strict=True))
        for blocks in (donor, both):
            Design(treated, blocks, specimen).check_labelings()
            Design(treated, blocks).check_labelings()
        assert Design(treated, donor, specimen).n_distinct == Design(treated, both, specimen).n_distinct == 64
        Design(np.arange(48) % 2, groups=np.arange(48) // 2).check_labelings()  # no two of a group with one label
        Design(np.arange(48.0), groups=donor).check_labelings()


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("columns", DESIGNS.values(), ids=DESIGNS)
def test_smallest_pvalue_is_that_of_brute_force(columns):
    """A score of the partition alone, all different otherwise: the smallest p-value of any labeling against all."""
    y, *others = columns
    design = Design(y, *others)
    labelings = [tuple(labeling.tolist()) for labeling in design.enumerate_labelings()]
    if design._is_class:
        names = {labeling: tuple(map(labeling.index, labeling)) for labeling in labelings}  # of samples, not of classes
    else:
        names = dict(zip(labelings, labelings, strict=True))
    shared = Counter(names.values())
    assert design.n_mirrors == shared[names[labelings[0]]]
    assert set(shared.values()) == {design.n_mirrors}
    assert design.smallest_pvalue(ignores_names=True) == design.n_mirrors / len(labelings)
    assert design.smallest_pvalue(ignores_names=False) == 1 / len(labelings)


def test_counts():
    assert Design(np.arange(8) % 2).n_distinct == 70
    assert Design(np.arange(60) % 2, np.arange(60) // 2).n_distinct == math.inf
    assert Design(np.arange(38) % 2, np.arange(38) // 2).n_distinct == 2**19
    assert Design(np.arange(20) % 2).n_distinct == math.comb(20, 10)
    assert Design(np.arange(24) % 2).n_distinct == math.inf
    assert Design(np.arange(20000) < 1).n_distinct == 20000
    assert Design(np.arange(9.0)).n_distinct == math.factorial(9)
    assert Design(np.arange(10.0)).n_distinct == math.inf
    assert Design(np.array([0.0] * 8 + [1.0, 2.0])).n_distinct == 90


@pytest.mark.parametrize("kind", [str, float])
def test_draws_keep_the_labels_of_blocks(kind):
    rng = np.random.default_rng(0)
    y, blocks = rng.integers(3, size=50).astype(kind), rng.integers(4, size=50)
    design = Design(y, blocks)
    for seed in SEEDS.spawn(20):
        labeling = design.draw_labeling(seed)
        assert labeling.dtype == y.dtype
        assert not np.array_equal(labeling, y)
        for b in range(4):
            assert Counter(labeling[blocks == b].tolist()) == Counter(y[blocks == b].tolist())


@pytest.mark.parametrize(
    "columns",
    [
        (np.arange(8) % 2, None, None),
        ([0, 1] * 4 + [0], None, list("aabbccddd")),
        (
            np.repeat(np.arange(8) % 2, [1, 2, 3, 1, 2, 3, 1, 2]),
            None,
            np.repeat(np.arange(8), [1, 2, 3, 1, 2, 3, 1, 2]),
        ),
    ],
    ids=["70", "48", "70 of donors"],
)
def test_draws_are_uniform(columns):
    design = Design(*columns)
    n = 60 * design.n_distinct
    counts = Counter(design.draw_labeling(seed).tobytes() for seed in np.random.SeedSequence(1).spawn(n))
    assert len(counts) == design.n_distinct
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_draws_depend_on_their_seed_alone():
    y, blocks = np.arange(40) % 3, np.arange(40) // 10
    design = Design(y, blocks)
    few, many = np.random.SeedSequence(7).spawn(3), np.random.SeedSequence(7).spawn(9)
    for one, other in zip(few, many, strict=False):
        assert np.array_equal(design.draw_labeling(one), Design(y, blocks).draw_labeling(other))
    assert np.array_equal(design.draw_labeling(5), design.draw_labeling(5))
    assert not np.array_equal(design.draw_labeling(few[0]), design.draw_labeling(few[1]))


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_names_of_blocks_and_a_block_of_one_class_change_nothing():
    rng = np.random.default_rng(0)
    y, blocks = rng.integers(2, size=30), rng.integers(3, size=30)
    plain = Design(y, blocks)
    renamed = Design(y, pd.Series(np.array(["z", "x", "y"])[blocks], index=np.arange(30)[::-1], dtype="category"))
    longer = Design(np.append(y, [1, 1, 1]), np.append(blocks, [9, 9, 9]))
    assert longer.n_distinct == plain.n_distinct
    for seed in SEEDS.spawn(5):
        assert np.array_equal(renamed.draw_labeling(seed), plain.draw_labeling(seed))
        assert np.array_equal(longer.draw_labeling(seed), np.append(plain.draw_labeling(seed), [1, 1, 1]))


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("columns", DESIGNS.values(), ids=DESIGNS)
def test_the_order_of_samples_changes_nothing(columns):
    y, *others = columns
    order = np.random.default_rng(0).permutation(len(y))
    moved = Design(np.asarray(y)[order], *(None if c is None else np.asarray(c)[order] for c in others))
    expected = {tuple(labeling[order].tolist()) for labeling in Design(y, *others).enumerate_labelings()}
    assert {tuple(labeling.tolist()) for labeling in moved.enumerate_labelings()} == expected


# ------------------------------------------------------------------------------------------------------- covariates


def law_of_the_star(design, y):
    """Probabilities of all labelings of six samples: products of q, scaled to 1."""
    labelings = list(design.enumerate_labelings())
    logits = np.empty((len(y), 2))
    logits[design._order] = design._logits
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    weights = np.array([np.prod(q[np.arange(len(y)), labeling]) for labeling in labelings])
    return labelings, weights / weights.sum()


@pytest.mark.parametrize("blocks", [None, [0, 0, 1, 1, 1, 1]])
def test_the_star_sampler_against_its_law(blocks):
    y, z = np.array([0, 1, 1, 0, 1, 0]), np.array([-1.3, 1.0, -1.0, 0.2, 0.4, 0.9])
    design = Design(y, blocks, covariates=z)
    labelings, law = law_of_the_star(design, y)
    assert law.max() > 3 * law.min()
    # Each parent has a hub of its own, which has the law, too; so draws of different parents are independent.
    n = 2000
    counts = Counter(design.draw_labeling(np.random.SeedSequence(i).spawn(1)[0]).tobytes() for i in range(n))
    observed = [counts[labeling.tobytes()] for labeling in labelings]
    assert sum(observed) == n
    assert chisquare(observed, n * law).pvalue > 0.001


def test_classes_of_pairs_by_conditional_logistic_regression():
    """What the samples of a pair have in common cancels; one intercept a pair would double the coefficient."""
    rng = np.random.default_rng(0)
    z = (rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))).reshape(-1)
    second = rng.random(60) < 1 / (1 + np.exp(z[::2] - z[1::2]))
    y = np.stack([~second, second], axis=1).reshape(-1).astype(int)
    design = Design(y, np.arange(120) // 2, covariates=z)
    difference = np.where(second, 1, -1) * (z[1::2] - z[::2])
    slope = minimize_scalar(lambda b: np.logaddexp(0, -b * difference).sum()).x
    differences = design._logits[:, 1] - design._logits[:, 0]  # of the label that comes second in y, less the first one
    found = np.polyfit(z, differences, 1)[0] * (1 if y[0] == 0 else -1)
    assert found == pytest.approx(slope, rel=1e-3)


def test_classes_keep_their_relation_to_covariates():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-1.5 * z))).astype(int)
    design = Design(y, covariates=pd.DataFrame({"age": z, "sex": np.array(["f", "m"])[rng.integers(2, size=300)]}))
    assert not design.is_uniform
    assert design.describe_design() == f"{np.sum(y == y[0])} + {np.sum(y != y[0])} samples, given 2 covariates"
    drawn = [design.draw_labeling(seed) for seed in SEEDS.spawn(200)]
    differences = [z[labeling == 1].mean() - z[labeling == 0].mean() for labeling in drawn]
    true = z[y == 1].mean() - z[y == 0].mean()
    assert abs(np.mean(differences) - true) < 4 * np.std(differences)
    assert np.std(differences) > 0
    assert min(differences) > 0.5
    assert {int(labeling.sum()) for labeling in drawn} == {int(y.sum())}


@pytest.mark.parametrize("blocks", [None, np.arange(30) // 10])
def test_freedman_and_lane(blocks):
    """Residuals move, within blocks; the fit to covariates and blocks stays."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 2))
    y = Z @ [2.0, -1.0] + rng.normal(size=30) + (0 if blocks is None else blocks)
    design = Design(y, blocks, covariates=Z)
    assert design.is_uniform
    cells = np.zeros(30, int) if blocks is None else blocks
    H = np.column_stack([np.eye(cells.max() + 1)[cells], Z])
    fitted = H @ np.linalg.lstsq(H, y, rcond=None)[0]
    for seed in SEEDS.spawn(5):
        residuals = design.draw_labeling(seed) - fitted
        for b in range(cells.max() + 1):
            np.testing.assert_allclose(np.sort(residuals[cells == b]), np.sort((y - fitted)[cells == b]), atol=1e-13)
        assert np.abs(residuals - (y - fitted)).max() > 0.1
    assert np.array_equal(next(design.enumerate_labelings()), y)


def test_enumeration_of_residuals():
    """Ties of y are none of the residuals: each permutation is a labeling of its own."""
    y, z = np.array([1.0, 1.0, 2.0, 3.0]), np.array([0.3, 1.0, 0.7, 2.0])
    design = Design(y, covariates=z)
    H = np.column_stack([np.ones(4), z])
    fitted = H @ np.linalg.lstsq(H, y, rcond=None)[0]
    found = np.array(list(design.enumerate_labelings()))
    assert len(found) == design.n_distinct == 24
    expected = [fitted + np.array(residuals) for residuals in itertools.permutations(y - fitted)]
    np.testing.assert_allclose(np.array(sorted(found.tolist())), np.array(sorted(map(list, expected))), atol=1e-13)


def test_covariates_of_donors():
    groups = np.repeat(np.arange(12), 3)
    z = np.random.default_rng(0).normal(size=12)[groups]
    design = Design(groups % 2, groups=groups, covariates=z)
    for seed in SEEDS.spawn(5):
        labeling = design.draw_labeling(seed)
        assert np.array_equal(labeling, labeling[groups * 3])
        assert labeling.sum() == 18


# --------------------------------------------------------------------------------------------- units of subsamples


def test_units_of_subsamples():
    y = np.array([0, 0, 1, 1, 0, 1])
    free = Design(y)
    assert free.unit_of_sample.tolist() == [0, 1, 2, 3, 4, 5]
    assert free.stratum_of_unit.tolist() == [0, 0, 1, 1, 0, 1]
    blocks = Design(y, [1, 1, 1, 2, 2, 2])
    assert blocks.stratum_of_unit.tolist() == [0, 0, 1, 2, 3, 2]
    donors = Design(y, groups=list("aabbcd"))
    assert donors.unit_of_sample.tolist() == [0, 0, 1, 1, 2, 3]
    assert donors.stratum_of_unit.tolist() == [0, 1, 0, 1]
    varying = Design(y, groups=list("abaabb"))
    assert varying.unit_of_sample.tolist() == [0, 1, 0, 0, 1, 1]
    assert varying.stratum_of_unit.tolist() == [0, 0]
    pairs = Design([0, 1, 1, 0, 1, 0], list("xxyyzz"))
    assert pairs.unit_of_sample.tolist() == [0, 0, 1, 1, 2, 2]
    assert pairs.stratum_of_unit.tolist() == [0, 0, 0]
    numbers = Design(np.arange(6.0), [1, 1, 1, 2, 2, 2])
    assert numbers.unit_of_sample.tolist() == [0, 1, 2, 3, 4, 5]
    assert numbers.stratum_of_unit.tolist() == [0, 0, 0, 1, 1, 1]


# ------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"blocks": [1, 2]}, "blocks must have one value for each of the 6 samples, but has 2"),
        ({"groups": ["a", None, "b", np.nan, "c", "d"]}, "groups must have no missing values, but .* rows 1, 3"),
        ({"blocks": pd.Series([1, 2, pd.NA, 1, 2, 1])}, "blocks must have no missing values, but .* row 2:"),
        ({"covariates": [1.0, 2, np.nan, 1, 2, 1]}, "covariates must have no missing values, but .* row 2:"),
        ({"covariates": pd.DataFrame({"a": [*list("xyxyx"), None]})}, "covariates must have no missing .* row 5:"),
        ({"covariates": pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])}, "must have unique column names"),
        ({"covariates": [1.0, 2, np.inf, 1, 2, 1]}, "covariates must be finite, but aren't in row 2:"),
        ({"covariates": np.ones((6, 2))}, "covariates must vary, but all of them are constant"),
        ({"covariates": np.ones((5, 2))}, "covariates must have one row for each of the 6 samples, but have 5"),
        ({"covariates": np.ones((6, 2, 2))}, "covariates must be a 2-D array"),
        ({"covariates": [0.0, 0.1, 0.2, 1, 2, 1]}, "the covariates determine the labels"),
        ({"covariates": list("aaabbb")}, "the covariates determine the labels"),
        ({"groups": list("aabbcc"), "blocks": [1, 1, 2, 2, 3, 3], "y": [0, 0, 1, 1, 0, 0]}, None),
        (
            {"groups": list("aabbcc"), "blocks": [1, 2, 2, 2, 1, 1], "y": [0, 0, 1, 1, 0, 0]},
            "group 'a' lies in the blocks 1, 2",
        ),
        (
            {"groups": list("aabbcc"), "covariates": [1.0, 1, 2, 3, 4, 4], "y": [0, 0, 1, 1, 0, 0]},
            "constant within groups that move as wholes, but the rows 2 and 3 of one group differ",
        ),
        ({"y": np.arange(6) * 2.0, "covariates": np.arange(6)}, "the covariates determine the numbers of y"),
        ({"y": SURVIVAL[[0, 1, 2, 3, 4, 4]], "covariates": np.arange(6)}, "such as events and times: give strata"),
    ],
)
def test_bad_columns(columns, message):
    columns = {"y": np.array([0, 0, 0, 1, 1, 1])} | columns
    if message is None:
        assert Design(**columns).n_distinct == 1
        return
    with pytest.raises(ValueError, match=message):
        Design(**columns)


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"blocks": np.ones((3, 2))}, "blocks must be a 1-D array of hashable values"),
        ({"blocks": pd.DataFrame({"a": [1, 2, 1]})}, "blocks must be a 1-D array .* not DataFrame"),
        ({"groups": "abc"}, "groups must be a 1-D array .* not str"),
        (
            {"covariates": pd.DataFrame({"a": [1, 2, 1], "b": pd.date_range("2020", periods=3)})},
            "column 1 .* Timestamp",
        ),
        ({"covariates": np.array([1j, 2, 1])}, "column 0 holds values of type complex"),
    ],
)
def test_columns_of_wrong_types(columns, message):
    with pytest.raises(TypeError, match=message):
        Design([0, 1, 0], **columns)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_scale_of_covariates(scale):
    """Neither overflow nor underflow takes a covariate out."""
    rng = np.random.default_rng(0)
    age = rng.normal(size=60)
    y = (age + rng.normal(size=60) > 0).astype(int)
    plain, scaled = Design(y, covariates=age), Design(y, covariates=age * scale)
    agreement = [np.mean(plain.draw_labeling(seed) == scaled.draw_labeling(seed)) for seed in range(20)]
    assert np.mean(agreement) > 0.95  # free draws agree in half of the samples
    ages = [np.corrcoef(age, scaled.draw_labeling(seed))[0, 1] for seed in range(20)]
    assert np.mean(ages) > 0.3


def test_categories_as_covariates():
    """Categories that are numbers count as names, as strings do."""
    site = pd.Series(np.arange(40) % 4)
    y = np.isin(site, (0, 3)) ^ (np.arange(40) % 5 == 0)
    named = Design(y, covariates=site.map("site {}".format))
    coded = Design(y, covariates=site.astype("category"))
    linear = Design(y, covariates=site)
    assert named.describe_design() == coded.describe_design() != linear.describe_design()
    np.testing.assert_array_equal(
        [named.draw_labeling(i) for i in range(5)], [coded.draw_labeling(i) for i in range(5)]
    )


def test_description_has_the_order_of_the_classes():
    assert Design([1, 1, 1, 0, 0, 1]).describe_design() == "2 + 4 samples"


@pytest.mark.parametrize(
    "columns, message",
    [
        (
            {"blocks": ["b1", "b1", "b1", "b2", "b2", "b3"]},
            "all 3 samples of block 'b1' are 'ill', all 2 samples of block 'b2' are 'well', the only sample of block "
            r"'b3' is 'well' \(confounded\); give blocks with labels that differ",
        ),
        (
            {"groups": list("aabbcc"), "blocks": list("xxxxyy"), "y": [0, 0, 0, 0, 1, 1]},
            r"all 2 groups of block 'x' are 0, the only group of block 'y' is 1 \(confounded\); give blocks",
        ),
        ({"y": [3] * 6}, r"all 6 samples are 3 \(confounded\); give labels that differ"),
        (
            {"groups": list("aabbcc"), "blocks": list("xyxxyy"), "y": [0, 1, 1, 1, 0, 0]},
            "the only sample of group 'a' in block 'x' is 0, the only sample of group 'a' in block 'y' is 1, all 2 "
            r"samples of group 'b' in block 'x' are 1 and 1 more \(confounded\); give groups with labels that differ",
        ),
    ],
)
def test_confounded(columns, message):
    columns = {"y": np.array([0, 0, 0, 1, 1, 1]), "names": np.array(["ill"] * 3 + ["well"] * 3)} | columns
    if columns["y"] is not None and not isinstance(columns["y"], np.ndarray):
        columns["names"] = None
    with pytest.raises(ValueError, match=message):
        Design(**columns).check_labelings()


@pytest.mark.parametrize(
    "columns, message",
    [
        (
            {"y": [0] * 4 + [1] * 4, "groups": list("aabbcdef")},
            r"there are only 15 distinct labelings \(2 \+ 4 groups\), so no p-value can be below 0.067",
        ),
        (
            {"y": [0, 0, 1, 1, 1], "groups": list("aabbb")},
            r"there are only 2 distinct labelings \(1 \+ 1 groups\), 2 of which only exchange the names of classes, so "
            "no p-value can be below 1",
        ),
        (
            {"y": [0, 0, 0, 1, 1, 1]},
            r"there are only 20 distinct labelings \(3 \+ 3 samples\), 2 of which only exchange the names of classes, "
            "so no p-value can be below 0.1",
        ),
        (
            {"y": np.arange(10) % 2, "blocks": np.arange(10) // 2},
            r"there are only 32 distinct labelings .*, 2 of which .*, so no p-value can be below 0.062",
        ),
        (
            {"y": np.arange(14) % 2, "blocks": [1] * 6 + [2] * 6 + [3, 4]},
            "2 of 4 blocks have one sample, so they contribute nothing to the test",
        ),
        (
            {"y": np.arange(14) % 2, "blocks": [1] * 6 + [2] * 7 + [3]},
            "1 of 3 blocks has one sample, so it contributes nothing to the test",
        ),
        (
            {"y": [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0, 1], "groups": [1] * 5 + [2] * 5 + [3, 3, 4]},
            "labels vary within 2 of 4 groups, so samples are permuted within groups, and the other 2 contribute",
        ),
    ],
)
def test_warnings(columns, message):
    design = Design(**columns)
    with pytest.warns(fastfs.DataWarning, match=message):
        design.check_labelings()


def test_no_warning_without_need():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Design(np.arange(8) % 2).check_labelings()
        Design(np.arange(40) % 2, np.arange(40) // 2).check_labelings()


def test_descriptions():
    y = np.arange(12) % 2
    assert Design(y).describe_design() == "6 + 6 samples"
    assert Design(y, np.arange(12) // 4).describe_design() == "6 + 6 samples within 3 blocks"
    assert Design(np.arange(12) // 6, groups=np.arange(12) // 2).describe_design() == "3 + 3 groups"
    assert Design(y, groups=np.arange(12) // 4).describe_design() == "6 + 6 samples within 3 groups"
    assert Design(np.arange(12.0)).describe_design() == "12 samples"
