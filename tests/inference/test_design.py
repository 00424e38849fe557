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
from sklearn.linear_model import LogisticRegression
from tests.reference.design import Design as Reference

import fastfs
from covering import together
from fastfs._inputs.design import Design
from fastfs._inputs.targets import as_records


def draw(design_arguments, n, seed=0, **named):
    """The first draws of a seed."""
    return Design(*design_arguments, **named, seed=seed).labelings(0, n)


def enumerate_all(*columns, **named):
    """All labelings, the true one first."""
    design = Design(*columns, **named, n_permutations=10**6)
    assert design.exact
    return [np.asarray(columns[0]), *design.labelings(0, design.n_labelings)]


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
    found = [tuple(labeling.tolist()) for labeling in enumerate_all(*columns)]
    rows = np.asarray(y).tolist()
    assert found[0] == tuple(rows)
    assert len(found) == len(set(found)) == design.n_distinct
    assert set(found) == brute_force(rows, *others)
    drawn = {tuple(labeling.tolist()) for labeling in draw(columns, 3000)}
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
    design, plain = Design(*columns), Reference(*columns)
    labelings = [tuple(labeling.tolist()) for labeling in enumerate_all(*columns)]
    if plain._is_class:
        names = {labeling: tuple(map(labeling.index, labeling)) for labeling in labelings}  # of samples, not of classes
    else:
        names = dict(zip(labelings, labelings, strict=True))
    shared = Counter(names.values())
    n_mirrors = shared[names[labelings[0]]]
    assert set(shared.values()) == {n_mirrors}
    assert design.smallest_pvalue == n_mirrors / len(labelings)
    assert Design(*columns, ignores_names=False).smallest_pvalue == 1 / len(labelings)


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
    for labeling in draw((y, blocks), 20):
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
    counts = Counter(labeling.tobytes() for labeling in draw(columns, n, 1))
    assert len(counts) == design.n_distinct
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_draws_depend_on_their_seed_alone():
    y, blocks = np.arange(40) % 3, np.arange(40) // 10
    few, many = draw((y, blocks), 3, 7), draw((y, blocks), 9, 7)
    assert np.array_equal(few, many[:3])
    design = Design(y, blocks, seed=7)
    assert np.array_equal(design.labelings(4, 3), many[4:7])
    assert not np.array_equal(many[0], many[1])
    assert not np.array_equal(many[0], draw((y, blocks), 1, 8)[0])
    assert len(design.labelings(2, 0)) == 0


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_names_of_blocks_and_a_block_of_one_class_change_nothing():
    rng = np.random.default_rng(0)
    y, blocks = rng.integers(2, size=30), rng.integers(3, size=30)
    names = pd.Series(np.array(["z", "x", "y"])[blocks], index=np.arange(30)[::-1], dtype="category")
    longer = np.append(y, [1, 1, 1]), np.append(blocks, [9, 9, 9])
    assert Design(*longer).n_distinct == Design(y, blocks).n_distinct
    plain = draw((y, blocks), 5)
    assert np.array_equal(draw((y, names), 5), plain)
    assert np.array_equal(draw(longer, 5), np.column_stack([plain, np.ones((5, 3), int)]))


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("columns", DESIGNS.values(), ids=DESIGNS)
def test_the_order_of_samples_changes_nothing(columns):
    y, *others = columns
    order = np.random.default_rng(0).permutation(len(y))
    moved = np.asarray(y)[order], *(None if c is None else np.asarray(c)[order] for c in others)
    expected = {tuple(labeling[order].tolist()) for labeling in enumerate_all(*columns)}
    assert {tuple(labeling.tolist()) for labeling in enumerate_all(*moved)} == expected


# --------------------------------------------------------------------------------------------- the core and its oracle


def random_columns(rng):
    """Columns of a design of any kind: blocks, groups within them or across, covariates, and labels of many kinds."""
    n = int(rng.integers(2, 40))
    groups = None if rng.random() < 0.5 else rng.integers(0, rng.integers(1, n + 1), n)
    blocks = None
    if rng.random() < 0.6:
        blocks = rng.integers(0, rng.integers(1, n + 1), n)
        if groups is not None and rng.random() < 0.7:
            blocks = blocks[groups]  # nested
    y = rng.integers(0, rng.integers(2, 6), n)
    if groups is not None and rng.random() < 0.6:
        y = y[groups]
    kind = rng.integers(5)
    if kind == 1:
        y = np.array(["ill", "well", "a", "b", "c"])[y]
    elif kind == 2:
        y = rng.normal(size=6)[y]
    elif kind == 3:
        y = np.array([(1, 2.0), (0, 2.0), (1, 2.5), (1, 5.0), (0, 1.0)], SURVIVAL.dtype)[y]
    elif kind == 4 and groups is None:
        y = rng.normal(size=n)
    covariates = None
    if rng.random() < 0.4 and kind != 3:
        covariates = rng.normal(size=(n, int(rng.integers(1, 4))))
        if rng.random() < 0.3:
            covariates = np.column_stack([covariates, covariates[:, 0], np.ones(n)])
        if groups is not None:
            covariates = covariates[groups]
    return y, blocks, groups, covariates


def outcome(make):
    """What make() returns, or the error it raises."""
    try:
        return make()
    except ValueError as error:
        return str(error)


def messages_of(design):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = outcome(design.check_labelings)
    return error, [str(one.message) for one in caught]


@together
@pytest.mark.parametrize("seed", range(60))
def test_random_designs_against_the_oracle(seed):
    columns = random_columns(np.random.default_rng(seed))
    is_fitted = columns[3] is not None
    plain = outcome(lambda: Reference(*columns))
    design = outcome(lambda: Design(*columns, n_permutations=200, seed=seed))
    if isinstance(plain, str):
        assert design == plain
        return
    assert design.n_distinct == plain.n_distinct
    assert design.description == plain.describe_design()
    assert [str(warning) for warning in design.weaknesses] == plain.weaknesses
    assert design.hides_specimens == plain.hides_specimens
    assert messages_of(design) == messages_of(plain)
    assert design.smallest_pvalue == plain.smallest_pvalue(ignores_names=True)
    assert np.array_equal(design.drawn_units, plain.unit_of_sample)
    assert np.array_equal(design.strata, plain.stratum_of_unit)
    assert design.unit_word == plain.unit_word
    assert (design.moving_groups is None) == (plain.moving_groups is None)
    if plain.moving_groups is not None:
        assert np.array_equal(design.moving_groups, plain.moving_groups)
    if plain.n_distinct == 1:
        return
    assert design.exact == plain.has_at_most(201)
    n = design.n_labelings
    found = list(design.labelings(0, n))
    expected = list(plain.other_labelings(n, seed, exact=design.exact))
    drawn = list(Design(*columns, seed=seed).labelings(0, 5)), list(plain.other_labelings(5, seed, exact=False))
    for ours, theirs in (found, expected), drawn:
        if is_fitted and plain._is_class:  # a threshold near a gain may be on the other side of it
            assert np.mean(np.array(ours) == np.array(theirs)) > 0.999
        elif is_fitted:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        else:
            assert all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, *(3**k for k in range(5, 39, 3))])
def test_draws_are_those_of_numpy(seed):
    """Pools of many sizes, which are sorted in two ways, and numbers of draws of one word and of two."""
    rng = np.random.default_rng(0)
    y, blocks = rng.integers(3, size=500), rng.geometric(0.02, size=500) // 30
    design, plain = Design(y, blocks, seed=seed), Reference(y, blocks)
    for number in (0, 1, 17, 2**31, 2**32 - 3):
        child = np.random.SeedSequence(seed, spawn_key=(number,))
        assert np.array_equal(design.labelings(number, 1)[0], plain.draw_labeling(child))
    covariate = rng.normal(size=500) + y
    fitted, plain = Design(y, blocks, covariates=covariate, seed=seed), Reference(y, blocks, covariates=covariate)
    child = np.random.SeedSequence(seed, spawn_key=(3,))
    assert np.array_equal(fitted.labelings(3, 1)[0], plain.draw_labeling(child))


def test_draws_of_many_threads_and_of_one():
    y = np.arange(70000) % 3
    design = Design(y)
    together = design.labelings(0, 6)
    for number in range(6):
        assert np.array_equal(together[number], design.labelings(number, 1)[0])
    child = np.random.SeedSequence(0, spawn_key=(5,))
    assert np.array_equal(together[5], Reference(y).draw_labeling(child))


@pytest.mark.parametrize("n_classes, n_covariates", [(2, 1), (2, 5), (4, 3)])
def test_the_regression_of_the_oracle_is_that_of_scikit_learn(n_classes, n_covariates):
    """Whose logits the core's draws have: to 1e-6 of their largest."""
    rng = np.random.default_rng(n_classes)
    y, Z = rng.integers(n_classes, size=200), rng.normal(size=(200, n_covariates))
    Z[:, 0] += y
    plain = Reference(y, covariates=Z)
    i, j = plain._discordant_pairs()
    Z = ((Z - Z.mean(axis=0)) / Z.std(axis=0))[plain._order]
    labels = np.eye(n_classes)[plain._codes]
    terms = ((labels[i] - labels[j])[:, :, None] * (Z[i] - Z[j])[:, None, :]).reshape(len(i), -1)
    weights = np.full(2 * len(i), 1 / 40)
    model = LogisticRegression(C=1e4, fit_intercept=False, max_iter=10000, tol=1e-10)
    fitted = model.fit(np.vstack([terms, -terms]), np.repeat([1, 0], len(i)), weights)
    logits = Z @ fitted.coef_.reshape(n_classes, -1).T
    assert np.abs(plain._logits - logits).max() < 1e-6 * np.abs(logits).max()


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9], ids=str)
def test_classes_that_a_covariate_nearly_separates(gap):
    """One sample on the wrong side, by a small gap: few swaps are likely, and the fit ends."""
    z = np.arange(40.0)
    y = (z >= 20).astype(int)
    z[20] = 19 - gap
    found = Design(y, covariates=z).labelings(0, 200)
    assert {int(labeling.sum()) for labeling in found} == {20}
    assert np.all(found[:, :15] == 0)
    assert np.all(found[:, 25:] == 1)


def test_many_covariates():
    """More covariates than samples separate the classes; half as many needn't."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    with pytest.raises(ValueError, match="covariates must not determine the labels"):
        Design(y, covariates=rng.normal(size=(60, 80)))
    Z = rng.normal(size=(60, 10))
    wide = np.column_stack([Z, Z[:, :5] @ rng.normal(size=(5, 20)), np.ones((60, 3))])  # of rank 10
    few, many = draw((y, None, None, Z), 50), draw((y, None, None, wide), 50)
    assert np.mean(few == y) == pytest.approx(np.mean(many == y), abs=0.05)


def test_subsamples_against_the_oracle():
    """Disjoint halves, and shares of strata, drawn by NumPy's permutation of the units of each stratum."""
    rng = np.random.default_rng(0)
    y, groups = np.repeat(rng.integers(2, size=30), 3), np.repeat(np.arange(30), 3)
    blocks = groups // 10
    plain = Reference(y, blocks, groups)
    design = Design(y, blocks, groups, seed=9)
    strata = [np.flatnonzero(plain.stratum_of_unit == s) for s in range(plain.stratum_of_unit.max() + 1)]
    for halves in (True, False):
        found = design.subsamples(0, 6, halves=halves, fraction=0.3)
        for number, rows in enumerate(found):
            generator = np.random.default_rng(np.random.SeedSequence(9).spawn(6)[number // 2 if halves else number])
            drawn = []
            for units in strata:
                size = len(units) // 2 if halves else max(1, round(0.3 * len(units)))
                begin = size * (number % 2) if halves else 0
                drawn.append(generator.permutation(units)[begin : begin + size])
            expected = np.flatnonzero(np.isin(plain.unit_of_sample, np.concatenate(drawn)))
            assert np.array_equal(rows, expected)


# ------------------------------------------------------------------------------------------------------- covariates


def law_of_the_star(y, blocks, z):
    """Probabilities of all labelings of six samples: products of q, scaled to 1."""
    labelings, design = enumerate_all(y, blocks), Reference(y, blocks, covariates=z)
    logits = np.empty((len(y), 2))
    logits[design._order] = design._logits
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    weights = np.array([np.prod(q[np.arange(len(y)), labeling]) for labeling in labelings])
    return labelings, weights / weights.sum()


@pytest.mark.parametrize("blocks", [None, [0, 0, 1, 1, 1, 1]])
def test_the_star_sampler_against_its_law(blocks):
    y, z = np.array([0, 1, 1, 0, 1, 0]), np.array([-1.3, 1.0, -1.0, 0.2, 0.4, 0.9])
    labelings, law = law_of_the_star(y, blocks, z)
    assert law.max() > 3 * law.min()
    # Each parent has a hub of its own, which has the law, too; so draws of different parents are independent.
    n = 2000
    counts = Counter(draw((y, blocks, None, z), 1, i)[0].tobytes() for i in range(n))
    observed = [counts[labeling.tobytes()] for labeling in labelings]
    assert sum(observed) == n
    assert chisquare(observed, n * law).pvalue > 0.001


def test_classes_of_pairs_by_conditional_logistic_regression():
    """What the samples of a pair have in common cancels; one intercept a pair would double the coefficient."""
    rng = np.random.default_rng(0)
    z = (rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))).reshape(-1)
    second = rng.random(60) < 1 / (1 + np.exp(z[::2] - z[1::2]))
    y = np.stack([~second, second], axis=1).reshape(-1).astype(int)
    design = Reference(y, np.arange(120) // 2, covariates=z)
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
    assert design.description == f"{np.sum(y == 0)} + {np.sum(y == 1)} samples, given 2 covariates"
    drawn = list(design.labelings(0, 200))
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
    cells = np.zeros(30, int) if blocks is None else blocks
    H = np.column_stack([np.eye(cells.max() + 1)[cells], Z])
    fitted = H @ np.linalg.lstsq(H, y, rcond=None)[0]
    for labeling in design.labelings(0, 5):
        residuals = labeling - fitted
        for b in range(cells.max() + 1):
            np.testing.assert_allclose(np.sort(residuals[cells == b]), np.sort((y - fitted)[cells == b]), atol=1e-13)
        assert np.abs(residuals - (y - fitted)).max() > 0.1


def test_enumeration_of_residuals():
    """Ties of y are none of the residuals: each permutation is a labeling of its own."""
    y, z = np.array([1.0, 1.0, 2.0, 3.0]), np.array([0.3, 1.0, 0.7, 2.0])
    design = Design(y, covariates=z)
    H = np.column_stack([np.ones(4), z])
    fitted = H @ np.linalg.lstsq(H, y, rcond=None)[0]
    found = np.array(enumerate_all(y, covariates=z))
    assert len(found) == design.n_distinct == 24
    expected = [fitted + np.array(residuals) for residuals in itertools.permutations(y - fitted)]
    np.testing.assert_allclose(np.array(sorted(found.tolist())), np.array(sorted(map(list, expected))), atol=1e-13)


def test_covariates_of_donors():
    groups = np.repeat(np.arange(12), 3)
    z = np.random.default_rng(0).normal(size=12)[groups]
    design = Design(groups % 2, groups=groups, covariates=z)
    for labeling in design.labelings(0, 5):
        assert np.array_equal(labeling, labeling[groups * 3])
        assert labeling.sum() == 18


# --------------------------------------------------------------------------------------------- units of subsamples


def test_units_of_subsamples():
    y = np.array([0, 0, 1, 1, 0, 1])
    free = Design(y)
    assert free.drawn_units.tolist() == [0, 1, 2, 3, 4, 5]
    assert free.strata.tolist() == [0, 0, 1, 1, 0, 1]
    blocks = Design(y, [1, 1, 1, 2, 2, 2])
    assert blocks.strata.tolist() == [0, 0, 1, 2, 3, 2]
    donors = Design(y, groups=list("aabbcd"))
    assert donors.drawn_units.tolist() == [0, 0, 1, 1, 2, 3]
    assert donors.strata.tolist() == [0, 1, 0, 1]
    varying = Design(y, groups=list("abaabb"))
    assert varying.drawn_units.tolist() == [0, 1, 0, 0, 1, 1]
    assert varying.strata.tolist() == [0, 0]
    pairs = Design([0, 1, 1, 0, 1, 0], list("xxyyzz"))
    assert pairs.drawn_units.tolist() == [0, 0, 1, 1, 2, 2]
    assert pairs.strata.tolist() == [0, 0, 0]
    numbers = Design(np.arange(6.0), [1, 1, 1, 2, 2, 2])
    assert numbers.drawn_units.tolist() == [0, 1, 2, 3, 4, 5]
    assert numbers.strata.tolist() == [0, 0, 0, 1, 1, 1]


# ------------------------------------------------------------------------------------------------------- bad input


@together
@pytest.mark.parametrize(
    "columns, message",
    [
        ({"blocks": [1, 2]}, "blocks must have one value for each of the 6 samples; got 2"),
        ({"groups": ["a", None, "b", np.nan, "c", "d"]}, "groups must not have missing values; got .* rows 1, 3"),
        ({"blocks": pd.Series([1, 2, pd.NA, 1, 2, 1])}, "blocks must not have missing values; got .* row 2:"),
        ({"covariates": [1.0, 2, np.nan, 1, 2, 1]}, "covariates must not have missing values; got .* row 2:"),
        ({"covariates": pd.DataFrame({"a": [*list("xyxyx"), None]})}, "covariates must not have missing .* row 5:"),
        ({"covariates": pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])}, "must have unique column names"),
        ({"covariates": [1.0, 2, np.inf, 1, 2, 1]}, "covariates must be finite; got NaN or infinity in row 2:"),
        ({"covariates": np.ones((6, 2))}, "covariates and given features must vary; got constant ones"),
        ({"covariates": np.ones((5, 2))}, "covariates must have one row for each of the 6 samples; got 5"),
        ({"covariates": np.ones((6, 2, 2))}, "covariates must be a 2-D array"),
        ({"covariates": [0.0, 0.1, 0.2, 1, 2, 1]}, "covariates must not determine the labels"),
        ({"covariates": list("aaabbb")}, "covariates must not determine the labels"),
        ({"groups": list("aabbcc"), "blocks": [1, 1, 2, 2, 3, 3], "y": [0, 0, 1, 1, 0, 0]}, None),
        (
            {"groups": list("aabbcc"), "blocks": [1, 2, 2, 2, 1, 1], "y": [0, 0, 1, 1, 0, 0]},
            "got group 'a' in the blocks 1, 2",
        ),
        (
            {"groups": list("aabbcc"), "covariates": [1.0, 1, 2, 3, 4, 4], "y": [0, 0, 1, 1, 0, 0]},
            "constant within groups that move as wholes; got different values for row 2 and row 3 of one group",
        ),
        ({"y": np.arange(6) * 2.0, "covariates": np.arange(6)}, "covariates must not determine the numbers of y"),
        ({"y": as_records(np.arange(12.0).reshape(6, 2)), "covariates": np.arange(6)}, "several numbers: give strata"),
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
        ({"blocks": np.ones((3, 2))}, "blocks must be a 1-D array of strings or numbers; got values of the types list"),
        ({"blocks": pd.DataFrame({"a": [1, 2, 1]})}, "blocks must be a 1-D array .*; got DataFrame"),
        ({"groups": "abc"}, "groups must be a 1-D array .*; got str"),
        (
            {"covariates": pd.DataFrame({"a": [1, 2, 1], "b": pd.date_range("2020", periods=3)})},
            "Timestamp in column 1",
        ),
        ({"covariates": np.array([1j, 2, 1])}, "got values of type complex in column 0"),
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
    plain, scaled = draw((y, None, None, age), 20), draw((y, None, None, age * scale), 20)
    assert np.mean(plain == scaled) > 0.95  # free draws agree in half of the samples
    ages = [np.corrcoef(age, labeling)[0, 1] for labeling in scaled]
    assert np.mean(ages) > 0.3


def test_categories_as_covariates():
    """Categories that are numbers count as names, as strings do."""
    site = pd.Series(np.arange(40) % 4)
    y = np.isin(site, (0, 3)) ^ (np.arange(40) % 5 == 0)
    named = Design(y, covariates=site.map("site {}".format))
    coded = Design(y, covariates=site.astype("category"))
    linear = Design(y, covariates=site)
    assert named.description == coded.description != linear.description
    np.testing.assert_array_equal(named.labelings(0, 5), coded.labelings(0, 5))


def test_description_has_the_order_of_the_classes():
    assert Design([1, 1, 1, 0, 0, 1]).description == "2 + 4 samples"


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
            r"there are only 2 distinct labelings \(1 \+ 1 groups\), and 2 only exchange the names of classes, so "
            "no p-value can be below 1",
        ),
        (
            {"y": [0, 0, 0, 1, 1, 1]},
            r"there are only 20 distinct labelings \(3 \+ 3 samples\), and 2 only exchange the names of classes, "
            "so no p-value can be below 0.1",
        ),
        (
            {"y": np.arange(10) % 2, "blocks": np.arange(10) // 2},
            r"there are only 32 distinct labelings .*, and 2 only .*, so no p-value can be below 0.062",
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
    assert Design(y).description == "6 + 6 samples"
    assert Design(y, np.arange(12) // 4).description == "6 + 6 samples within 3 blocks"
    assert Design(np.arange(12) // 6, groups=np.arange(12) // 2).description == "3 + 3 groups"
    assert Design(y, groups=np.arange(12) // 4).description == "6 + 6 samples within 3 groups"
    assert Design(np.arange(12.0)).description == "12 samples"
