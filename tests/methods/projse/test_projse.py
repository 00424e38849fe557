"""ProjSe's choices: two oracles, the properties of the method, and what is known of real data.

Scores are promised within 1e-12 of the oracle, relative to the score, for float64, and 1e-5 for float32. A score that
has fallen to a share s of the first one carries the rounding of what was taken off, so where an order goes on that far
the promise is to `rounding` = 1e-12 + 100 eps / s. Orders are compared up to the first gap below `DECIDED`.
"""

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import f_classif

import fastfs
from covering import covering, rotating, together
from fastfs._machine.run import Run, load_core
from reference import projse as oracle
from reference.kernels import as_c_function

EPS = np.finfo(float).eps
PROMISED = {"float64": 1e-12, "float32": 1e-5}
DECIDED = {"float64": 1e-9, "float32": 1e-4}
FORMS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda A: np.repeat(np.repeat(A, 2, axis=1), 3, axis=0)[::3, ::2],
    "reversed": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
}


def data(m=60, n_x=20, n_y=4, seed=0, offset=1.0):
    """Features tied to the targets, to each other, and to nothing."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(m, n_y)) + offset * rng.normal(size=n_y)
    X = rng.normal(size=(m, n_x)) + offset * rng.normal(size=n_x)
    X[:, : n_x // 2] += Y @ rng.normal(size=(n_y, n_x // 2))
    return X, Y


def assert_agrees(result, expected, dtype="float64"):
    tolerance = PROMISED[dtype]
    np.testing.assert_allclose(result.scores, expected.score0, rtol=0, atol=tolerance * expected.score0.max())
    assert result.kernel_rank == expected.rank
    scores, gaps = np.array(expected.scores), np.array(expected.gaps)
    undecided = np.flatnonzero(gaps <= DECIDED[dtype] * scores)
    n = min(undecided[0] if len(undecided) else len(scores), len(scores))
    assert result.selected[:n].tolist() == expected.selected[:n]
    rounding = tolerance + 100 * (tolerance / 1e-12 if dtype == "float32" else 1) * EPS / (scores[:n] / scores[0])
    assert np.all(np.abs(result.selection_scores[:n] / scores[:n] - 1) <= rounding)
    np.testing.assert_allclose(result.captured[:n], expected.captured[:n], rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(result.gaps[:n], gaps[:n], rtol=0, atol=10 * tolerance * scores[0])


# --------------------------------------------------------------------------------------------------------------- oracle


@given(
    m=st.integers(12, 80),
    n_x=st.integers(2, 30),
    n_y=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    center=st.booleans(),
    n_threads=st.integers(1, 3),
    form=st.sampled_from(sorted(FORMS)),
)
def test_projector(m, n_x, n_y, seed, center, n_threads, form):
    X, Y = data(m, n_x, n_y, seed)
    n = min(n_x, n_y)
    result = fastfs.projse(FORMS[form](X), FORMS[form](Y), n_features_to_select=n, center=center, n_threads=n_threads)
    assert_agrees(result, oracle.by_projector(X, Y, n, center=center))


KERNELS = {
    "linear": {},
    "poly3": {"kernel": "poly"},
    "poly2": {"kernel": "poly", "degree": 2},
    "rbf": {"kernel": "rbf"},
    "rbf sqrt_m": {"kernel": "rbf", "sigma": "sqrt_m"},
    "rbf 5": {"kernel": "rbf", "sigma": 5.0},
}


@covering(kernel=KERNELS.keys(), form=FORMS.keys(), dtype=["float64", "float32"], center=[False, True])
def test_figure(form, dtype, kernel, center):
    X, Y = (A.astype(dtype) for A in data())
    options = KERNELS[kernel] | {"center": center}
    result = fastfs.projse(FORMS[form](X), FORMS[form](Y), n_features_to_select=4, **options)
    name, rest = options.get("kernel", "linear"), {k: v for k, v in options.items() if k != "kernel"}
    assert_agrees(result, oracle.select(X, Y, 4, name, **rest), dtype)
    if name == "rbf":
        sigma = oracle.kernels(X, Y, name, **rest)[2]
        assert result.sigma == pytest.approx(sigma, rel=PROMISED[dtype])
    else:
        assert result.sigma is None


@pytest.mark.filterwarnings("ignore:the target spans all samples")
@rotating(1, shape=[(9000, 3, 7), (4097, 40, 600), (5000, 700, 30), (300, 5, 1100), (2, 3, 1)], n_threads=[1, 2])
def test_across_parts_and_tiles(shape, n_threads):
    m, n_x, n_y = shape
    X, Y = data(m, n_x, n_y)
    n = min(n_x, n_y, 12)
    result = fastfs.projse(X, Y, n_features_to_select=n, center=m > 2, n_threads=n_threads)
    expected = oracle.by_projector(X, Y, n, center=m > 2)
    assert_agrees(result, expected)


@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float64", "float32")])
def test_mixed_dtypes_are_summed_in_double(dtypes):
    X, Y = (A.astype(t) for A, t in zip(data(), dtypes, strict=True))
    assert_agrees(fastfs.projse(X, Y, n_features_to_select=4), oracle.select(X, Y, 4))


@covering(
    kernel=KERNELS.keys(),
    form=[sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_matrix],
    dtype=["float64", "float32"],
    center=[False, True],
)
def test_sparse(kernel, dtype, form, center):
    X, Y = data(m=400, n_x=90, n_y=20)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, X, 0).astype(dtype)
    X[:, 5] = 0
    options = KERNELS[kernel] | {"n_features_to_select": 5, "center": center}
    result, dense = (fastfs.projse(A, Y, **options) for A in (form(X), X))
    np.testing.assert_allclose(result.scores, dense.scores, rtol=0, atol=1e-12)
    assert result.scores[5] == 0
    assert result.selected.tolist() == dense.selected.tolist()


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@rotating(1, target=["numbers", "labels", "none"], form=[sp.csr_matrix, sp.csc_matrix])
def test_sparse_is_never_made_dense(target, form):
    """As a dense array, X would take 160 GB; what is found is found in its rows and columns that aren't empty."""
    rng = np.random.default_rng(0)
    rows, columns = np.sort(rng.choice(100_000, 300, replace=False)), np.sort(rng.choice(200_000, 50, replace=False))
    some = np.where(rng.random((300, 50)) < 0.2, rng.random((300, 50)), 0)
    entries = sp.coo_matrix(some)
    X = form((entries.data, (rows[entries.row], columns[entries.col])), shape=(100_000, 200_000))
    y = {"numbers": rng.normal(size=(100_000, 3)), "labels": np.arange(100_000) % 4, "none": None}[target]
    result = fastfs.projse(X, y, n_features_to_select=3)
    if y is None:
        expected = fastfs.projse(some, n_features_to_select=3)
    else:
        dense = np.zeros((100_000, 50))
        dense[rows] = some
        expected = fastfs.projse(dense, y, n_features_to_select=3)
    np.testing.assert_allclose(result.scores[columns], expected.scores, rtol=0, atol=1e-12)
    assert result.selected.tolist() == columns[expected.selected].tolist()


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_entries_at_one_place_add_up_in_any_order(form):
    rng = np.random.default_rng(0)
    X, Y = data(m=100, n_x=30)
    X = sp.coo_matrix(np.where(rng.random(X.shape) < 0.3, X, 0))
    twice = form((np.r_[X.data / 4, X.data * 0.75], (np.tile(X.row, 2), np.tile(X.col, 2))), shape=X.shape)
    whole, outer = twice.tocsr() if form is sp.csr_matrix else twice.tocsc(), len(twice.indptr) - 1
    parts = [rng.permutation(np.arange(whole.indptr[i], whole.indptr[i + 1])) for i in range(outer)]
    order = np.concatenate(parts)
    split = form((np.repeat(whole.data[order] / 2, 2), np.repeat(whole.indices[order], 2), 2 * whole.indptr))
    split.resize(X.shape)
    assert not split.has_canonical_format
    expected = fastfs.projse(X.toarray(), Y).scores
    np.testing.assert_allclose(fastfs.projse(split, Y).scores, expected, rtol=0, atol=1e-13)
    unsupervised = fastfs.projse(X.toarray(), n_features_to_select=5, center=True)
    found = fastfs.projse(split, n_features_to_select=5, center=True)
    assert found.selected.tolist() == unsupervised.selected.tolist()


@covering(form=FORMS | {"CSR": sp.csr_matrix, "CSC": sp.csc_matrix}, m=[70, 5000], center=[False, True])
def test_labels_are_one_hot_targets(m, form, center):
    X, _ = data(m=m, n_x=25)
    y = np.array(["ill", "well", "other"])[np.random.default_rng(0).integers(0, 3, m)]
    n = 3 - center
    found = fastfs.projse(form(X), y, n_features_to_select=n, center=center)
    assert_agrees(found, oracle.by_projector(X, oracle.one_hot(y), n, center=center))


@rotating(1, kernel=KERNELS.keys(), center=[False, True])
def test_given_kernels(kernel, center):
    X, Y = data()
    options = dict(KERNELS[kernel])
    K_YY, K_YX, _ = oracle.kernels(X, Y, options.pop("kernel", "linear"), center=center, **options)
    expected = fastfs.projse(X, Y, n_features_to_select=4, center=center, **KERNELS[kernel])
    found = fastfs.projse_from_kernels(K_YY, K_YX, np.ones(20), n_features_to_select=4)
    assert_agrees(found, oracle.by_kernels(K_YY, K_YX, 4))
    assert found.selected.tolist() == expected.selected.tolist()


def test_given_kernels_are_normalized():
    X, Y = data()
    found = fastfs.projse_from_kernels(Y.T @ Y, Y.T @ X, (X**2).sum(axis=0), n_features_to_select=4)
    assert_agrees(found, oracle.by_projector(X, Y, 4))
    raw = fastfs.projse_from_kernels(Y.T @ Y, Y.T @ X, (X**2).sum(axis=0), n_features_to_select=4, normalize=False)
    assert_agrees(raw, oracle.by_kernels(Y.T @ Y, Y.T @ X, 4))
    assert_agrees(fastfs.projse(X, Y, n_features_to_select=4, normalize=False), oracle.by_kernels(Y.T @ Y, Y.T @ X, 4))


# ----------------------------------------------------------------------------------------------------- without a target


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@covering(
    form=FORMS | {"CSR": sp.csr_matrix, "CSC": sp.csc_matrix},
    shape=[(30, 80), (80, 30), (30, 30)],
    center=[False, True],
)
def test_without_target_it_is_qr_with_pivots(shape, form, center):
    X, _ = data(*shape)
    X = X * np.random.default_rng(0).random(shape[1])
    n = min(shape[0] - center, 12)
    result = fastfs.projse(form(X), n_features_to_select=n, center=center)
    unit = oracle.unit_columns(X, center)
    # The first choice is a tie that QR breaks by rounding: it goes on from ours.
    first = unit[:, [0]]
    rest = unit - first @ (first.T @ unit)
    _, R, pivots = scipy.linalg.qr(np.delete(rest, 0, axis=1), mode="economic", pivoting=True)
    assert result.selected[0] == 0
    assert result.selected[1:].tolist() == (pivots[: n - 1] + 1).tolist()
    np.testing.assert_allclose(result.selection_scores, np.r_[1, np.diag(R)[: n - 1] ** 2], rtol=1e-12)
    left = unit - unit[:, result.selected] @ np.linalg.lstsq(unit[:, result.selected], unit, rcond=None)[0]
    assert result.captured[-1] == pytest.approx(1 - (left**2).sum() / shape[1], abs=1e-12)
    np.testing.assert_allclose(result.scores, 1, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@covering(kernel=KERNELS.keys(), shape=[(30, 40), (60, 20)], center=[False, True])
def test_without_target_it_equals_its_own_target(shape, kernel, center):
    X, _ = data(*shape)
    n = 6
    alone = fastfs.projse(X, n_features_to_select=n, center=center, **KERNELS[kernel])
    K, _, sigma = oracle.kernels(X, X, **({"kernel": "linear"} | KERNELS[kernel]), center=center)
    expected = oracle.by_kernels(K + 0.0, K, n, eps=1e-10)
    np.testing.assert_allclose(alone.scores, 1, rtol=0, atol=1e-12)
    assert alone.selected.tolist() == expected.selected
    np.testing.assert_allclose(alone.selection_scores, expected.scores, rtol=1e-9)
    assert alone.sigma == (pytest.approx(sigma) if "rbf" in kernel else None)
    assert alone.kernel_rank is None
    sparse = fastfs.projse(sp.csr_matrix(X), n_features_to_select=n, center=center, **KERNELS[kernel])
    assert sparse.selected.tolist() == alone.selected.tolist()


# ---------------------------------------------------------------------------------------------------- few samples


@rotating(1, center=[False, True], normalize=[False, True])
def test_more_targets_than_samples(normalize, center):
    """Their span comes from the samples' Gram; a target of lower rank doesn't span all samples."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 90)) + 3 * center
    X, _ = data(m=40, n_x=50)
    X[:, :10] += Y[:, :10]
    result = fastfs.projse(X, Y, n_features_to_select=5, center=center, normalize=normalize)
    K_YY, K_YX, _ = oracle.kernels(X, Y, center=center, normalize=normalize)
    if normalize:
        assert_agrees(result, oracle.by_projector(X, Y, 5, center=center))
    expected = oracle.by_kernels(K_YY, K_YX, 5, eps=1e-6 * K_YY.max())
    assert result.kernel_rank == expected.rank == 6
    assert result.selected.tolist() == expected.selected


@pytest.mark.parametrize("center", [False, True])
def test_a_target_that_spans_all_samples_is_told(center):
    X, _ = data(m=30, n_x=12)
    Y = np.random.default_rng(0).normal(size=(30, 35))
    with pytest.warns(fastfs.DataWarning, match="spans all samples.*no influence") as warned:
        result = fastfs.projse(X, Y, center=center)
    assert len(warned) == 1
    np.testing.assert_allclose(result.scores, 1, rtol=0, atol=1e-12)
    assert result.kernel_rank == 30 - center


# ----------------------------------------------------------------------------------------------------------- properties


def found(X, Y, n=4, **options):
    return fastfs.projse(X, Y, n_features_to_select=n, **options)


@pytest.mark.parametrize("kernel", KERNELS)
@given(seed=st.integers(0, 2**32 - 1), center=st.booleans())
def test_scores_lie_in_the_unit_interval_and_fall(kernel, seed, center):
    result = found(*data(seed=seed), center=center, **KERNELS[kernel])
    assert np.all((result.scores >= 0) & (result.scores <= 1 + 1e-12))
    assert np.all(np.diff(result.selection_scores) <= 1e-12)
    assert np.all(np.diff(result.captured) >= 0)
    assert result.captured[-1] <= 1
    assert np.all(result.gaps >= 0)
    assert result.selection_scores[0] == pytest.approx(result.scores.max(), rel=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_fewer_are_the_start_of_more(kernel):
    X, Y = data()
    few, many = found(X, Y, 2, **KERNELS[kernel]), found(X, Y, 4, **KERNELS[kernel])
    np.testing.assert_array_equal(few.selected, many.selected[:2])
    np.testing.assert_array_equal(few.selection_scores, many.selection_scores[:2])


@given(seed=st.integers(0, 2**32 - 1))
def test_linear_scores_depend_on_the_span_only(seed):
    X, Y = data(seed=seed)
    T = scipy.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0] * [1, 2, 3, 0.5]
    np.testing.assert_allclose(found(X, Y @ T).scores, found(X, Y).scores, rtol=0, atol=1e-11)


def test_other_kernels_depend_on_more_than_the_span():
    X, Y = data()
    T = np.random.default_rng(0).normal(size=(4, 4))
    for kernel in ("poly", "rbf"):
        assert np.abs(found(X, Y @ T, kernel=kernel).scores - found(X, Y, kernel=kernel).scores).max() > 0.01


@rotating(1, scale=[1e-100, 1e-6, 1e6, 1e100], kernel=["linear", "poly"])
def test_columns_may_be_scaled(kernel, scale):
    X, Y = data()
    factors = np.where(np.arange(20) % 2, scale, 1.0)
    scaled = found(X * factors, Y * [1, scale, 1, 1 / scale], kernel=kernel)
    np.testing.assert_allclose(scaled.scores, found(X, Y, kernel=kernel).scores, rtol=0, atol=1e-12)


@covering(
    scale=[2.0**-110, 2.0**-75, 2.0**-50, 2.0**50, 2.0**62, 2.0**110],
    y_scale=[1.0, 2.0**-70, 2.0**70],
    form=FORMS.keys(),
)
def test_single_precision_may_be_scaled(scale, y_scale, form):
    """Where squares overflow or lose bits in single precision, sums are in double."""
    X, Y = (A.astype("float32") for A in data(m=5000))
    X[:, 3] = 7
    factors = np.where(np.arange(20) % 2, scale, 1.0).astype("float32")
    scaled = found(FORMS[form](X * factors), Y * np.float32(y_scale), center=True)
    expected = found(X, Y, center=True)
    np.testing.assert_allclose(scaled.scores, expected.scores, rtol=1e-5, atol=1e-7)
    assert scaled.scores[3] == 0
    assert scaled.selected.tolist() == expected.selected.tolist()


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_and_columns_may_be_permuted(kernel):
    X, Y = data()
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(60), rng.permutation(20)
    before, after = found(X, Y, **KERNELS[kernel]), found(X[rows][:, columns], Y[rows], **KERNELS[kernel])
    np.testing.assert_allclose(after.scores, before.scores[columns], rtol=0, atol=1e-12)
    assert columns[after.selected].tolist() == before.selected.tolist()


@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
def test_rbf_ignores_a_number_added_to_a_whole_row(size):
    X, Y = data()
    shift = size * np.random.default_rng(0).normal(size=(60, 1))
    before, after = found(X, Y, kernel="rbf"), found(X + shift, Y + shift, kernel="rbf")
    # Distances come from sums of squares that are (size / 10)^2 times larger.
    np.testing.assert_allclose(after.scores, before.scores, rtol=0, atol=1e-12 * max(1, size**2))


@rotating(1, kernel=KERNELS.keys(), offset=[1e4, 1e6])
def test_an_offset_costs_no_digits_when_centred(kernel, offset):
    X, Y = (np.round(A * 2**20) / 2**20 for A in data())
    far = found(X + offset, Y + offset, center=True, **KERNELS[kernel])
    np.testing.assert_allclose(far.scores, found(X, Y, center=True, **KERNELS[kernel]).scores, rtol=0, atol=1e-12)


def test_an_offset_costs_no_digits_of_uncentred_distances():
    X, Y = (np.round(A * 2**20) / 2**20 for A in data())
    far, near = found(X + 1e6, Y + 1e6, kernel="rbf"), found(X, Y, kernel="rbf")
    # Means of 1e6 are rounded to 1e-10, where sums of squares about zero would be to 1e-4.
    np.testing.assert_allclose(far.scores, near.scores, rtol=0, atol=1e6 * EPS)


def test_a_duplicate_scores_nothing_afterwards():
    X, Y = data()
    second = found(X, Y, center=True).selected[1]
    twice = np.c_[X, X[:, second]]
    result = fastfs.projse(twice, Y, n_features_to_select=4, center=True)
    assert 20 not in result.selected
    assert_agrees(result, oracle.by_projector(twice, Y, 4, center=True))


def test_first_scores_grow_with_the_target():
    X, Y = data(n_y=6)
    scores = [fastfs.projse(X, Y[:, :k]).scores for k in range(1, 7)]
    assert np.all(np.diff(scores, axis=0) >= -1e-12)


def test_the_first_chosen_direction_is_taken_out():
    """The authors' program keeps it: a copy of the best feature comes second there."""
    X, Y = data()
    best = found(X, Y, center=True).selected[0]
    X[:, (best + 1) % 20] = X[:, best]
    with pytest.warns(fastfs.DataWarning, match="tie"):
        result = found(X, Y, center=True)
    assert result.selected[0] == min(best, (best + 1) % 20)
    assert result.gaps[0] == 0
    assert len({best, (best + 1) % 20} & set(result.selected.tolist())) == 1


def test_two_views_are_both_orders():
    X, Y = data()
    for options in ({}, {"center": True}, {"kernel": "poly"}, {"kernel": "rbf"}):
        of_x, of_y = fastfs.projse_two_view(X, Y, n_features_to_select=3, **options)
        name, rest = options.get("kernel", "linear"), {k: v for k, v in options.items() if k != "kernel"}
        assert_agrees(of_x, oracle.select(X, Y, 3, name, **rest))
        assert_agrees(of_y, oracle.select(Y, X, 3, name, **rest))


@pytest.mark.filterwarnings("ignore:the target spans all samples")
def test_two_fat_views():
    X, Y = data(m=30, n_x=50, n_y=8)
    of_x, of_y = fastfs.projse_two_view(X, Y, n_features_to_select=5, center=True)
    assert_agrees(of_x, oracle.by_projector(X, Y, 5, center=True))
    np.testing.assert_allclose(of_y.scores, 1, atol=1e-12)


# -------------------------------------------------------------------------------------------------------------- greedy


@pytest.mark.parametrize("rank", [3, 40])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_lazy_bounds_are_exact(rank, n_threads):
    """Many columns, of which few are refreshed: the plain update finds the same."""
    rng = np.random.default_rng(rank)
    R = rng.normal(size=(40, rank)) @ rng.normal(size=(rank, 3000)) + 0.1 * rng.normal(size=(40, 3000))
    R[:, 2000:] *= 0.01
    expected = oracle.by_kernels(np.eye(40), R, 40)
    result = fastfs.projse_from_kernels(
        np.eye(40), R, (R**2).sum(axis=0), n_features_to_select=40, normalize=False, n_threads=n_threads
    )
    assert_agrees(result, expected)
    assert len(result.selected) == 40


def test_scores_over_twelve_decades():
    """What is left of a column after a choice may be tiny; it is made anew before it is chosen."""
    rng = np.random.default_rng(0)
    Q = scipy.linalg.qr(rng.normal(size=(6, 6)))[0]
    R = Q @ (np.triu(rng.normal(size=(6, 6))) * 0.1 + np.diag(10.0 ** -np.arange(6)))
    result = fastfs.projse_from_kernels(np.eye(6), R, (R**2).sum(axis=0), n_features_to_select=6, normalize=False)
    _, T, pivots = scipy.linalg.qr(R, pivoting=True)
    kept = len(result.selected)
    assert result.selected.tolist() == pivots[:kept].tolist()
    np.testing.assert_allclose(result.selection_scores, np.diag(T)[:kept] ** 2, rtol=1e-8)


def test_ties_go_to_the_lowest_index():
    X, Y = data()
    X = np.c_[X, X, X]
    with pytest.warns(fastfs.DataWarning, match="tie"):
        result = found(X, Y)
    assert np.all(result.selected < 20)
    np.testing.assert_array_equal(result.selected, found(X[:, :20], Y).selected)


def test_scores_alone():
    """The same scores as with a choice, and no warnings of what concerns the choice."""
    X, Y = data()
    twice = np.c_[X, X]
    for target in (Y, None):
        scores = fastfs.projse_scores(twice, target, center=True)
        np.testing.assert_array_equal(scores[:20], scores[20:])
        with pytest.warns(fastfs.DataWarning, match="tie"):
            chosen = fastfs.projse(twice, target, n_features_to_select=1, center=True)
        np.testing.assert_array_equal(scores, chosen.scores)


@covering(
    form=[np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix],
    sizes=[(30, 150, 2, 5), (41, 7, 4, 1300), (25, 70, 9, 1)],
    center=[True, False],
    normalize=[True, False],
)
def test_scores_of_many_labelings(form, sizes, center, normalize):
    """Of each column the part that the means of the classes explain; a class may have no rows."""
    m, n, n_classes, n_labelings = sizes
    rng = np.random.default_rng(m)
    X = rng.poisson(1.0, size=(m, n)) * rng.normal(1, 1, size=(m, n))
    X[:, 3] = 0
    labels = rng.integers(n_classes, size=(n_labelings, m))
    labels[-1, labels[-1] == 1] = 0
    options = {"center": "yes" if center else "no", "normalize": normalize}
    found = [load_core().projse_label_scores(form(X), labels, n_classes, options, Run(threads)) for threads in (1, 2)]
    values = X - X.mean(axis=0) if center else X
    norms = (values**2).sum(axis=0)
    for b in rng.permutation(n_labelings)[:20]:
        explained = sum(values[labels[b] == c].sum(axis=0) ** 2 / np.sum(labels[b] == c) for c in np.unique(labels[b]))
        expected = explained / np.where(norms > 0, norms, 1) if normalize else explained
        np.testing.assert_allclose(found[0][b], expected, rtol=1e-12, atol=1e-12 * (1 if normalize else norms.max()))
    np.testing.assert_array_equal(*found)


@together
@pytest.mark.parametrize(
    "change, part",
    [
        ({"labels": np.full((2, 40), 3)}, "labels must be from 0 to 2"),
        ({"labels": np.zeros((2, 39), dtype=np.int64)}, "a column for each row of X"),
        ({"labels": np.zeros((0, 40), dtype=np.int64)}, "n_labelings must be from 1"),
        ({"n_classes": 1}, "n_classes must be from 2"),
        ({"options": {"kernel": "rbf"}}, 'kernel must be "linear"'),
        ({"X": np.ones((40, 6))}, "X must have a column that varies; got constant ones alone"),
        ({"X": np.full((40, 6), 1e200) * np.arange(40)[:, None]}, "column 0 of X"),
    ],
    ids=["range", "width", "no labelings", "one class", "kernel", "constant", "huge"],
)
def test_labelings_that_are_refused(change, part):
    given = {
        "X": np.eye(40, 6),
        "labels": np.zeros((2, 40), dtype=np.int64),
        "n_classes": 3,
        "options": {"center": "yes"},
    }
    with pytest.raises(ValueError, match=part):
        load_core().projse_label_scores(**given | change, run=Run())


# ------------------------------------------------------------------------------------------------- limits and warnings


def test_never_more_features_than_the_rank():
    X, Y = data()
    with pytest.warns(fastfs.DataWarning, match="only 4 of the 7 features asked for.*rank 4") as warned:
        result = fastfs.projse(X, Y, n_features_to_select=7)
    assert len(warned) == 1
    assert len(result.selected) == 4
    assert sorted(result.ranking) == list(range(1, 21))
    assert len(fastfs.projse(X, Y).selected) == 4  # None asks for no number


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_all_features_may_be_selected(form):
    result = fastfs.projse(form(data()[0]), n_features_to_select=1.0)
    assert sorted(result.selected) == list(range(20))
    assert result.kernel_rank == 20
    assert result.captured[-1] == pytest.approx(1, abs=1e-12)


def test_nearly_dependent_targets_are_told():
    X, _ = data()
    Y = np.ones((60, 6)) + 1e-4 * np.random.default_rng(0).normal(size=(60, 6))
    with pytest.warns(fastfs.DataWarning, match="nearly dependent.*rank 1"):
        assert fastfs.projse(X, Y).kernel_rank == 1
    with pytest.warns(fastfs.DataWarning, match="eps = 1e-12 keeps.*below 1e-07 that have few digits"):
        assert fastfs.projse(X, Y, eps=1e-12).kernel_rank == 6


def mixed(rng, n, cond):
    """A random matrix with singular values of 1, and one of 1 / cond."""
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in "UV")
    return U * np.append(np.ones(n - 1), 1 / cond) @ V


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("n", [8, 150], ids=["tall", "wide"])
def test_mixing_targets_changes_nothing_or_is_told(n, center):
    """To 1e-8, for condition numbers up to 1e8; exact copies are no reason to warn."""
    told = []
    for power in range(9):
        rng = np.random.default_rng(power)
        X, base = rng.normal(size=(120, 30)), rng.normal(size=(120, 8))
        Y = base @ mixed(rng, 8, 10.0**power) @ (np.eye(8) if n == 8 else rng.normal(size=(8, n)))
        Q = np.linalg.qr(base - center * base.mean(axis=0))[0]
        Z = X - center * X.mean(axis=0)
        expected = np.sum((Q.T @ (Z / np.linalg.norm(Z, axis=0))) ** 2, axis=0)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            scores = fastfs.projse(X, Y, center=center).scores
        told.append(any("nearly dependent" in str(w.message) for w in found))
        assert told[-1] or np.abs(scores - expected).max() < 1e-8, power
    assert not any(told[:3])
    assert all(told[5:])


def in_two_chunks(X, Y, **options):
    model = fastfs.ProjSe(**options).partial_fit(X[:50], Y[:50])
    return pickle.loads(pickle.dumps(model)).partial_fit(X[50:], Y[50:]).scores_


def on_workers(X, Y, **options):
    da = pytest.importorskip("dask.array")
    return fastfs.ProjSe(**options).fit(da.from_array(X, chunks=(50, -1)), da.from_array(Y, chunks=(50, -1))).scores_


WAYS = {
    "memory": lambda X, Y, **o: fastfs.projse(X, Y, **o).scores,
    "sparse": lambda X, Y, **o: fastfs.projse(sp.csr_matrix(X), Y, **o).scores,
    "first view": lambda X, Y, **o: fastfs.projse_two_view(X, Y, **o)[0].scores,
    "second view": lambda X, Y, **o: fastfs.projse_two_view(Y, X, **o)[1].scores,
    "next to given ones": lambda X, Y, **o: fastfs.projse(X, Y, given=GIVEN, **o).scores,
    "chunks": in_two_chunks,
    "iterator": lambda X, Y, **o: fastfs.ProjSe(**o).fit(iter([X[:50], X[50:]]), iter([Y[:50], Y[50:]])).scores_,
    "Dask": on_workers,
}
BY_VALUES = ("memory", "sparse", "first view", "second view", "next to given ones")
GIVEN = np.random.default_rng(9).normal(size=(120, 2))


def told_of_mixing(way, X, Y, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scores = WAYS[way](X, Y, center=True, **options)
    return scores, [str(w.message) for w in found if "depend on how the columns are mixed" in str(w.message)]


@pytest.mark.parametrize("eps", [1e-6, 1e-13])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_reading_mixes_targets_silently(way, dtype, eps):
    """Condition numbers up to 1e8: to 1e-8 in double precision and to 1e-3 in single, or a warning."""
    for power in range(9):
        rng = np.random.default_rng(power)
        X, base = rng.normal(size=(120, 30)).astype(dtype), rng.normal(size=(120, 8))
        Y = (base @ mixed(rng, 8, 10.0**power)).astype(dtype)
        span, table = np.c_[np.ones(120), Y].astype(float), np.asarray(X, dtype=float)
        fixed = np.c_[np.ones(120), GIVEN] if way == "next to given ones" else np.ones((120, 1))
        Q = np.linalg.qr(fixed)[0]
        rest, Z = (A - Q @ (Q.T @ A) for A in (span[:, 1:], table))
        expected = np.sum((np.linalg.qr(rest)[0].T @ (Z / np.linalg.norm(Z, axis=0))) ** 2, axis=0)
        scores, told = told_of_mixing(way, X, Y, eps=eps)
        assert told or np.abs(scores - expected).max() < (1e-8 if dtype is np.float64 else 1e-3), power
        assert len(told) == (power > (4 if eps < 1e-6 else 3) - (dtype is np.float32)) or power in (2, 3, 4)


@pytest.mark.parametrize("way", WAYS)
def test_sums_of_copies_name_their_limit(way):
    """Values tell that copies are copies, in double precision; sums don't."""
    X, Y = data()
    X, Y = np.tile(X, (2, 1)), np.tile(Y, (2, 1))
    X += 0.1 * np.random.default_rng(0).normal(size=X.shape)
    _, told = told_of_mixing(way, X, np.hstack([Y, 3.7 * Y + 1]))
    if way in BY_VALUES:
        assert told == []
    else:
        (message,) = told
        assert "below eps = 1e-06 were left out, which makes its rank 4: give the whole table in memory" in message
        assert "below 1e-12 from rounding" in message
        assert "give the whole table in memory, or leave out columns that follow from others" in message
    if way == "next to given ones":  # in double precision, as these are
        return
    _, told = told_of_mixing(way, np.float32(X), np.float32(np.hstack([Y, Y])))
    assert len(told) == 1
    assert "below 1e-06 from rounding" in told[0]
    assert "in memory, or double precision, or leave out" in told[0]


@pytest.mark.parametrize("given", [None, [0, 1]], ids=["alone", "next to given ones"])
@pytest.mark.parametrize("center", [True, "auto"])
def test_columns_of_classes_are_no_reason_to_warn(center, given):
    """They add up to 1, and depend on each other exactly when centred."""
    X, _ = data()
    y = np.arange(60) % 4
    da = pytest.importorskip("dask.array")
    options = {"center": center, "given": given}
    expected = fastfs.projse(X, y, **options).scores
    parts = fastfs.ProjSe(**options).partial_fit(X[:30], y[:30], classes=range(4)).partial_fit(X[30:], y[30:])
    for scores in (
        fastfs.projse(sp.csr_matrix(X), y, **options).scores,
        parts.scores_,
        fastfs.ProjSe(**options).fit(iter([X[:30], X[30:]]), y).scores_,
        fastfs.ProjSe(**options).fit(da.from_array(X, chunks=(20, -1)), y).scores_,
        fastfs.ProjSe(**options).fit(np.float32(X), y).scores_,
    ):
        np.testing.assert_allclose(scores, expected, atol=1e-5)
    one_hot = (y[:, None] == np.arange(4)).astype(float)
    fastfs.projse(X, one_hot, center=True, given=given)


def test_given_copies_in_chunks_name_their_limit():
    X, Y = data()
    X[:, 1] = 2 * X[:, 0]
    fastfs.projse(X, Y, center=True, given=[0, 1, 2])
    model = fastfs.ProjSe(center=True, given=[0, 1, 2]).partial_fit(X, Y)
    with pytest.warns(fastfs.DataWarning, match="given columns depend on each other.*their rank 2.*below 1e-12 from"):
        assert model.kernel_rank_ == 4


@pytest.mark.parametrize("n", [120, 25], ids=["tall", "wide"])
def test_mixing_given_columns_changes_nothing_or_is_told(n):
    """To 1e-8, for condition numbers up to 1e8; exact copies are no reason to warn."""
    told = []
    for power in range(9):
        rng = np.random.default_rng(power)
        X, base, Y = (rng.normal(size=(n, columns)) for columns in (40, 6, 3))
        Q = np.linalg.qr(np.c_[np.ones(n), base])[0]
        x, y = (A - Q @ (Q.T @ A) for A in (X, Y))
        expected = np.sum((np.linalg.qr(y)[0].T @ (x / np.linalg.norm(x, axis=0))) ** 2, axis=0)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            mixing = base @ mixed(rng, 6, 10.0**power)
            given = np.c_[mixing, base[:, 0]] if power == 0 else mixing
            targets = Y if n == 120 else Y @ rng.normal(size=(3, 40))  # more than samples, of the same span
            scores = fastfs.projse(X, targets, center=True, given=given).scores
        told.append(any("given columns are nearly dependent" in str(w.message) for w in found))
        assert told[-1] or np.abs(scores - expected).max() < 1e-8, power
    assert not any(told[:3])
    assert all(told[4:])


@pytest.mark.parametrize("n_copies", [1, 30])
def test_dependent_targets_are_not_called_nearly_dependent(n_copies):
    X, Y = data()
    fastfs.projse(X, np.hstack([Y] + [3.7 * Y + 1] * n_copies), center=True)


def test_a_kernel_of_the_wrong_scale_is_told():
    X, Y = data()
    with pytest.warns(fastfs.DataWarning, match="no score reaches 1e-8.*another sigma"):
        fastfs.projse(X, Y, kernel="rbf", sigma=0.5)


@covering(kernel=KERNELS.keys(), form=[np.asarray, sp.csr_matrix, sp.csc_matrix], center=[False, True])
def test_columns_without_values_are_no_candidates(form, center, kernel):
    X, Y = data()
    X[:, 3] = 0
    X[:, 4] = 0.1
    result = found(form(X), Y, center=center, **KERNELS[kernel])
    assert result.scores[3] == 0
    assert (result.scores[4] == 0) == center
    assert 3 not in result.selected


def assert_identical(a, b):
    for name in ("scores", "selected", "selection_scores", "gaps", "captured"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.kernel_rank, a.center) == (b.kernel_rank, b.center)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@rotating(1, kernel=KERNELS.keys(), form=[np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_labels_alone_are_centered_by_default(form, kernel):
    X, Y = data()
    X, y = form(X + 3), np.arange(len(X)) % 3
    options = {"n_features_to_select": 2} | KERNELS[kernel]
    for target, center in ((y, True), (oracle.one_hot(y), False), (Y, False), (None, False)):
        result = fastfs.projse(X, target, **options)
        assert result.center is center
        assert_identical(result, fastfs.projse(X, target, center=center, **options))
    by_zero = fastfs.projse(X, y, center=False, **options)
    assert by_zero.center is False
    assert not np.allclose(by_zero.scores, fastfs.projse(X, y, **options).scores)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_views_and_given_kernels_are_not_centered_by_default():
    X, Y = data()
    for Y_of in (Y, np.tile(Y, 200)):  # from sums, and one order after the other
        for result, plain in zip(
            fastfs.projse_two_view(X, Y_of, n_features_to_select=2),
            fastfs.projse_two_view(X, Y_of, n_features_to_select=2, center=False),
            strict=True,
        ):
            assert result.center is False
            assert_identical(result, plain)
    assert fastfs.projse_from_kernels(Y.T @ Y, Y.T @ X, (X**2).sum(axis=0)).center is False


# ------------------------------------------------------------------------------------------------------------ real data


@pytest.mark.parametrize("name", ["colon", "srbct_khan", "glioma"])
def test_the_default_starts_with_the_best_gene(load, name):
    X, y = load(name)
    result = fastfs.projse(X, y)
    assert result.selected[0] == f_classif(X, y)[0].argmax()
    assert result.gaps[0] > 1e-3  # and that is no tie


def test_colon(load):
    X, y = load("colon")
    result = fastfs.projse(np.log2(X), y, center=True)
    assert result.selected.tolist() == [492]
    assert result.selection_scores[0] == pytest.approx(0.4038, abs=5e-5)


def test_wine(load):
    X, y = load("wine")
    result = fastfs.projse(X, y, center=True)
    assert result.selected.tolist() == [6, 0]
    np.testing.assert_allclose(result.selection_scores, [0.7278, 0.5467], atol=5e-5)
    F = f_classif(X, y)[0]
    np.testing.assert_allclose(result.scores, F / (F + (178 - 3) / (3 - 1)), rtol=0, atol=1e-12)


def test_mnist_halves(load):
    X, _ = load("mnist_10x500")
    left, right = (X.reshape(-1, 28, 28)[:, :, half].reshape(-1, 392) for half in (slice(14), slice(14, 28)))
    result = fastfs.projse(left, right, n_features_to_select=100)
    assert result.kernel_rank == 341
    assert result.selected[:6].tolist() == [223, 55, 363, 167, 83, 391]
    np.testing.assert_allclose(result.selection_scores[[0, 99]], [0.9117, 0.0197], atol=5e-5)
    assert (result.scores == 0).sum() == 72
    centred = fastfs.projse(left, right, n_features_to_select=6, center=True)
    assert centred.selected.tolist() == [83, 209, 293, 111, 167, 251]
    assert centred.selection_scores[0] == pytest.approx(0.8361, abs=5e-5)


@pytest.mark.parametrize("center", [False, True])
def test_glioma_by_itself(load, center):
    X, _ = load("glioma")
    with pytest.warns(fastfs.DataWarning) as warned:
        result = fastfs.projse(X, n_features_to_select=100, center=center)
    assert len(result.selected) == result.kernel_rank == 50 - center
    assert result.captured[-1] == pytest.approx(1, abs=1e-12)
    assert result.selected[0] == 0
    assert sorted(str(w.message).split()[0] for w in warned) == ["only", "the"]


@pytest.mark.parametrize("name", ["news_pcmac", "sc_worm_neuron"])
def test_real_counts(load, name):
    X, y = load(name)
    X, y = X[:: len(y) // 300], y[:: len(y) // 300]
    dense, csr, csc = (fastfs.projse(A, y, center=True) for A in (X.toarray(), X, X.tocsc()))
    for sparse in (csr, csc):
        np.testing.assert_allclose(sparse.scores, dense.scores, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(sparse.selected, dense.selected)


# ----------------------------------------------------------------------------------------------------- the same bits


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@rotating(
    1,
    make=[
        lambda X, Y: (X, Y),
        lambda X, Y: (np.asfortranarray(X), Y),
        lambda X, Y: (X, np.arange(len(X)) % 5),
        lambda X, Y: (sp.csr_matrix(np.where(X > 0.5, X, 0)), Y),
        lambda X, Y: (sp.csc_matrix(np.where(X > 0.5, X, 0)), np.arange(len(X)) % 5),
        lambda X, Y: (X[:40], None),
        lambda X, Y: (X[:40], np.hstack([Y, Y**2, Y**3, np.sin(Y)])[:40]),
    ],
    dtype=["float64", "float32"],
)
def test_bits_do_not_depend_on_the_threads(make, dtype):
    X, Y = (A.astype(dtype) for A in data(m=9000, n_x=600, n_y=9))
    X, y = make(X, Y)
    results = [
        fastfs.projse(X, y, n_features_to_select=4, center=True, kernel=kernel, n_threads=n_threads)
        for kernel in ("linear", "rbf")
        for n_threads in (1, 2, 3)
    ]
    for one, more in [(results[0], results[1:3]), (results[3], results[4:])]:
        for other in more:
            for name in ("scores", "selected", "selection_scores", "gaps", "captured"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# ------------------------------------------------------------------------------------------------ kernels of your own


@pytest.fixture(scope="module")
def own_kernels():
    """The inner product and the Gaussian, as a user would write them."""
    import ctypes
    import math

    numbers, size = ctypes.POINTER(ctypes.c_double), ctypes.c_int64
    signature = ctypes.CFUNCTYPE(None, numbers, size, size, size, numbers, numbers, ctypes.c_double, ctypes.c_void_p)

    @signature
    def inner(tile, ld, n_rows, n_cols, row_norms, col_norms, sigma, user):
        for a in range(n_rows):
            for b in range(n_cols):
                tile[a * ld + b] = (row_norms[a] + col_norms[b] - tile[a * ld + b]) / 2

    @signature
    def gaussian(tile, ld, n_rows, n_cols, row_norms, col_norms, sigma, user):
        for a in range(n_rows):
            for b in range(n_cols):
                tile[a * ld + b] = 3 * math.exp(-tile[a * ld + b] / (2 * sigma * sigma))

    return {"linear": inner, "rbf": gaussian}


@rotating(1, center=[False, True], name=["linear", "rbf"])
def test_kernels_of_your_own(own_kernels, name, center):
    X, Y = data(n_x=12)
    X[:, 5] = 0
    options = {"n_features_to_select": 3, "center": center}
    expected = fastfs.projse(X, Y, kernel=name, **options)
    result = fastfs.projse(X, Y, kernel=own_kernels[name], **options)
    np.testing.assert_allclose(result.scores, expected.scores, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.selected, expected.selected)
    assert result.sigma == pytest.approx(oracle.kernels(X, Y, "rbf", center=center)[2])
    model = fastfs.ProjSe(3, kernel=own_kernels[name], center=center).partial_fit(X[:20], Y[:20])
    model.partial_fit(X[20:], Y[20:])
    np.testing.assert_allclose(model.scores_, expected.scores, rtol=0, atol=1e-12)
    # Three times the kernel is three times the score, if it isn't normalised.
    factor = 3 if name == "rbf" else 1
    raw = fastfs.projse(X, Y, kernel=own_kernels[name], normalize=False, **options)
    plain = fastfs.projse(X, Y, kernel=name, normalize=False, **options)
    np.testing.assert_allclose(raw.scores, factor * plain.scores, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
def test_kernels_of_your_own_without_target(own_kernels):
    X, _ = data(m=20, n_x=30)
    for name in ("linear", "rbf"):
        expected = fastfs.projse(X, kernel=name, n_features_to_select=4)
        result = fastfs.projse(X, kernel=own_kernels[name], n_features_to_select=4)
        np.testing.assert_array_equal(result.selected, expected.selected)
        np.testing.assert_allclose(result.selection_scores, expected.selection_scores, rtol=1e-9)


def test_kernels_of_your_own_that_are_not_symmetric():
    X, Y = data(n_x=12)
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.where(n_i > n_j, 2.0, 1.0) / (1 + d2))
    with pytest.raises(ValueError, match=r"must be symmetric; got .* for the target columns \d+ and \d+"):
        fastfs.projse(X, Y, kernel=kernel, n_features_to_select=3)
    with pytest.raises(ValueError, match=r"must be symmetric; got .* for candidate \d+ and target 0"):
        fastfs.projse(X, Y[:, :1], kernel=kernel, sigma=1.0, n_features_to_select=1)
    with pytest.raises(ValueError, match=r"must be symmetric; got .* for candidate \d+ and target 0"):
        fastfs.projse(X, kernel=kernel, n_features_to_select=3)
