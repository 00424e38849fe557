"""ManiFeSt's compatibility forms, `form="spd"` and `form="spsd"`, and ManiFeSt with a kernel of one's own.

Tolerances: 1e-9 of the largest score, which the project promises at full rank. Where kernels are singular, what
Algorithm 2 gives is definite only if the singular part is exact (duplicated features); on real images its own rounding
noise is some percent, so that only the order of the features is compared there.
"""

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import fastfs
from covering import covering, rotating, together
from fastfs import ManiFeSt, _core
from fastfs._functions.manifest import ManiFeStOptions, ManiFeStStage
from fastfs._machine.run import Run
from reference import manifest as oracle
from reference.kernels import as_c_function
from sentences import assert_one_sentence

PROMISED = 1e-9
FORMS = {"spd": oracle.spd, "spsd": lambda K1, K2: oracle.spsd(K1, K2)[:2]}


def assert_close(scores, expected, relative=PROMISED):
    assert np.all(np.isfinite(scores))
    assert np.abs(scores - expected).max() <= relative * expected.max()


def change(a, b):
    return np.abs(a - b).max() / b.max()


def two_classes(n=60, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    X[y == 1, : d // 3] += 0.7 * X[y == 1, -1:]
    return X, y


def with_duplicates():
    X, y = two_classes()
    X[:, 5] = X[:, 4] = X[:, 3]
    X[:, [10, 11]] = 2.0
    return X, y


def xor(seed):
    """Features 0 and 1 are equal in one class, so that its kernel is singular and that of the other isn't."""
    X = np.random.default_rng(seed).integers(0, 2, size=(50, 100)).astype(float)
    return X, (X[:, 0] != X[:, 1]).astype(int)


# ------------------------------------------------------------------------------------------------------------ full rank


@covering(d=[2, 3, 40, 200], factor=[0.3, 0.5, 1.0], form=FORMS.keys(), normalize=[0, 3])
def test_full_rank(d, factor, normalize, form):
    X, y = two_classes(d=d)
    options = {"sigma": (2.0, 3.0)} if d == 2 else {"sigma_factor": factor}
    K1, K2, _ = oracle.kernels(X, y, normalize=normalize, **options)
    expected = oracle.scores(FORMS[form](K1, K2)[1])
    selector = ManiFeSt(form=form, normalize=normalize, **options).fit(X, y)
    assert_close(selector.scores_, expected)
    assert_close(selector.scores_, fastfs.manifest_scores(X, y, normalize=normalize, **options))
    assert selector.kernel_rank_ == d
    assert (selector.accuracy_, selector.accuracy_reason_) == ("exact", f"form='{form}' exists as an exact one only")


@pytest.mark.parametrize("form", FORMS)
def test_components(form):
    X, y = two_classes()
    K1, K2, _ = oracle.kernels(X, y)
    M, D = FORMS[form](K1, K2)
    found = ManiFeSt(form=form, n_components=4).fit(X, y)
    lam = np.linalg.eigvalsh((D + D.T) / 2)
    np.testing.assert_allclose(found.mean_eigenvalues_, np.linalg.eigvalsh((M + M.T) / 2)[:-5:-1], rtol=PROMISED)
    np.testing.assert_allclose(
        found.difference_eigenvalues_, lam[np.argsort(-np.abs(lam))[:4]], rtol=0, atol=PROMISED * np.abs(lam).max()
    )
    for A, w, V in (
        (M, found.mean_eigenvalues_, found.mean_eigenvectors_),
        (D, found.difference_eigenvalues_, found.difference_eigenvectors_),
    ):
        np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
        assert np.abs(A @ V - V * w).max() <= PROMISED * np.abs(A).max()
        assert np.all(V[np.abs(V).argmax(axis=0), range(4)] > 0)


@pytest.mark.parametrize("form", FORMS)
def test_the_form_is_symmetric_in_the_classes_at_full_rank(form):
    X, y = two_classes()
    assert_close(fastfs.manifest_scores(X, 1 - y, form=form), fastfs.manifest_scores(X, y, form=form))


@pytest.mark.parametrize("form", FORMS)
def test_more_classes(form):
    X, _ = two_classes(n=90)
    y = np.arange(90) % 3
    for multiclass in ("ovr", "ovo"):
        assert_close(
            fastfs.manifest_scores(X, y, form=form, multiclass=multiclass),
            fastfs.manifest_scores(X, y, multiclass=multiclass),
        )


@pytest.mark.parametrize("form", FORMS)
def test_same_bits_for_any_thread_count(form):
    X, y = two_classes(d=550)
    one, *others = (fastfs.manifest_scores(X, y, form=form, n_threads=n).tobytes() for n in (1, 2, 3))
    assert all(other == one for other in others)


@pytest.mark.parametrize("form, squares", [("pencil", 4), ("spd", 5), ("spsd", 9)])
def test_memory_is_asked_for(form, squares):
    X, y = two_classes(d=500)
    with pytest.raises(MemoryError, match="ManiFeSt in its exact form on 500 features"):
        fastfs.manifest_scores(X, y, form=form, accuracy="exact", max_memory=squares * 8 * 500**2)


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_exact_only(form):
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"form must be .pencil. for"):
        fastfs.manifest_scores(X, y, form=form, accuracy="low_rank", rank=5)


# ----------------------------------------------------------------------------------------------------- singular kernels


def test_spd_refuses_singular_kernels():
    for X, y in (with_duplicates(), xor(0)):
        for labels, which in ((y, "first"), (1 - y, "(first|second)")):
            with pytest.raises(
                np.linalg.LinAlgError, match=rf"the kernel of the {which}.* must be invertible .*form=\"pencil\""
            ):
                fastfs.manifest_scores(X, labels, form="spd")


def test_spsd_with_duplicates():
    X, y = with_duplicates()
    K1, K2, _ = oracle.kernels(X, y)
    _, D, rank = oracle.spsd(K1, K2)
    found = ManiFeSt(form="spsd", n_components=40).fit(X, y)
    assert found.kernel_rank_ == rank == 37
    assert_close(found.scores_, oracle.scores(D))
    assert_close(found.scores_, fastfs.manifest_scores(X, y))
    # There are no more eigenpairs than the rank.
    for values, vectors in (
        (found.mean_eigenvalues_, found.mean_eigenvectors_),
        (found.difference_eigenvalues_, found.difference_eigenvectors_),
    ):
        assert np.all(values[:37] != 0)
        assert not values[37:].any()
        assert not vectors[:, 37:].any()


@pytest.mark.parametrize("seed", range(5))
def test_spsd_of_kernels_of_different_rank(seed):
    X, y = xor(seed)
    K1, K2, _ = oracle.kernels(X, y, sigma_factor=1.0)
    _, D, rank = oracle.spsd(K1, K2)
    found = ManiFeSt(form="spsd", sigma_factor=1.0).fit(X, y)
    assert found.kernel_rank_ == rank == 99
    assert_close(found.scores_, oracle.scores(D))

    # D lies in the range of the first class's kernel: their order matters, that of the features doesn't.
    order = np.random.default_rng(seed).permutation(100)
    shuffled = fastfs.manifest_scores(X[:, order], y, form="spsd", sigma_factor=1.0)
    assert change(shuffled, found.scores_[order]) < 1e-11
    assert change(fastfs.manifest_scores(X, 1 - y, form="spsd", sigma_factor=1.0), found.scores_) > 0.4
    # Another definition than the pencil's, then, though the same small distances below (factor 0.1) hide it.
    pencil = fastfs.manifest_scores(X, y, sigma_factor=1.0)
    assert 0.1 < change(found.scores_, pencil) < 0.3
    assert spearmanr(found.scores_, pencil).statistic > 0.85
    small = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    assert_close(fastfs.manifest_scores(X, y, form="spsd", sigma_factor=0.1), small, relative=1e-4)
    assert set(np.argsort(-small)[:2]) == {0, 1}


def test_spsd_on_digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    X, y = X[chosen], y[chosen]
    K1, K2, _ = oracle.kernels(X, y)
    _, D, rank = oracle.spsd(K1, K2)
    with pytest.warns(fastfs.DataWarning, match="depends on signs that are arbitrary"):
        found = ManiFeSt(form="spsd").fit(X, y)
    assert found.kernel_rank_ == rank
    assert spearmanr(found.scores_, oracle.scores(D)).statistic > 0.98


@pytest.mark.parametrize("seed", range(5))
def test_spsd_of_low_rank(seed):
    """Inner products over 8 samples: ranges of 8 dimensions among 30, at all kinds of angles."""
    X, y = np.random.default_rng(seed).normal(size=(16, 30)), np.arange(16) % 2
    K1, K2, _ = oracle.kernels(X, y, kernel=inner, sigma=(1.0, 1.0))
    _, D, rank = oracle.spsd(K1, K2)
    found = ManiFeSt(form="spsd", kernel=as_c_function(inner), sigma=(1.0, 1.0)).fit(X, y)
    assert found.kernel_rank_ == rank == 8
    assert_close(found.scores_, oracle.scores(D))


# -------------------------------------------------------------------------------------------------- kernels of your own


def gaussian(d2, n_i, n_j, sigma):
    return np.exp(-d2 / (2 * sigma**2))


def laplacian(d2, n_i, n_j, sigma):
    return np.exp(-np.sqrt(d2) / sigma)


def inner(d2, n_i, n_j, sigma):
    return (n_i + n_j - d2) / 2


def affine(d2, n_i, n_j, sigma):
    return inner(d2, n_i, n_j, sigma) + sigma


def indefinite(d2, n_i, n_j, sigma):
    return 1 - d2 / sigma**2


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "chunks", "float32"])
def test_custom_gaussian_kernel_is_the_gaussian_kernel(form):
    X, y = two_classes(d=250)
    X += 3
    given = {
        "dense": lambda: X,
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_matrix(X),
        "chunks": lambda: iter(np.array_split(X, 4)),
        "float32": lambda: X.astype(np.float32),
    }[form]
    custom = ManiFeSt(kernel=as_c_function(gaussian)).fit(given(), y)
    exact = ManiFeSt().fit(given(), y)
    np.testing.assert_array_equal(custom.sigma_, exact.sigma_)
    assert_close(custom.scores_, exact.scores_, relative=1e-11)


@covering(form=["pencil", "spd", "spsd"], sigma=["median", (2.0, 3.0)], normalize=[0, 3])
def test_laplacian_kernel(normalize, sigma, form):
    X, y = two_classes(d=250)
    expected = oracle.manifest(X, y, kernel=laplacian, sigma=sigma, normalize=normalize)
    scores = fastfs.manifest_scores(X, y, kernel=as_c_function(laplacian), sigma=sigma, normalize=normalize, form=form)
    assert_close(scores, expected.scores)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_custom_kernel_and_several_classes(multiclass):
    X, _ = two_classes(n=90)
    y = np.arange(90) % 3
    custom = ManiFeSt(kernel=as_c_function(gaussian), multiclass=multiclass).fit(X, y)
    exact = ManiFeSt(multiclass=multiclass).fit(X, y)
    np.testing.assert_allclose(custom.sigma_, exact.sigma_, rtol=1e-12)
    assert_close(custom.class_scores_, exact.class_scores_, relative=1e-11)


@pytest.mark.filterwarnings("ignore:the ranking depends on sigma")
def test_custom_kernel_on_a_grid():
    X, y = two_classes()
    custom = ManiFeSt(kernel=as_c_function(gaussian), sigma="grid", n_features_to_select=5).fit(X, y)
    exact = ManiFeSt(sigma="grid", n_features_to_select=5).fit(X, y)
    assert_close(custom.sensitivity_["scores"], exact.sensitivity_["scores"])


def test_custom_kernel_that_uses_the_norms():
    """Inner products: they depend on where the origin is, so that no row may stay shifted."""
    X, y = two_classes(n=300, d=50)
    X += 10
    expected = oracle.manifest(X, y, kernel=affine, sigma=(1.0, 2.0))
    kernel = as_c_function(affine)
    for given in (X, sp.csr_matrix(X), iter(np.array_split(X, 7))):
        assert_close(fastfs.manifest_scores(given, y, kernel=kernel, sigma=(1.0, 2.0)), expected.scores)


@pytest.mark.parametrize("name, factor", [("mnist_4v9", 0.5), ("colon", 0.1), ("madelon", 0.1)])
def test_singular_custom_kernels_are_semidefinite_enough(load, name, factor):
    X, y = load(name)
    X, y = X[:1000, :1000], y[:1000]
    custom = fastfs.manifest_scores(X, y, kernel=as_c_function(gaussian), sigma_factor=factor)
    assert_close(custom, fastfs.manifest_scores(X, y, sigma_factor=factor), relative=1e-3)


@rotating(1, form=["pencil", "spd", "spsd"], classes=["both", "one"])
def test_indefinite_kernels_are_refused(classes, form):
    X, y = two_classes()
    # With a large sigma in the other class, the second kernel is next to a constant, and the sum is still indefinite.
    sigma = (5.0, 5.0) if classes == "both" else (1e9, 5.0)
    with pytest.raises(np.linalg.LinAlgError, match="a kernel must be positive semidefinite; got a negative eigen"):
        fastfs.manifest_scores(X, y, kernel=as_c_function(indefinite), sigma=sigma, form=form)


def test_an_indefinite_kernel_is_not_hidden_by_the_other():
    """K1 + K2 may be definite all the same, and nothing in the pencil would fail."""
    K1, K2 = np.diag([1.0, -0.1, 1.0]), np.eye(3)
    for pair in ((K1, K2), (K2, K1)):
        with pytest.raises(np.linalg.LinAlgError, match="must be positive semidefinite"):
            _core.pencil(*map(np.asfortranarray, pair), Run(1))


@rotating(1, form=["pencil", "spsd"], scale=[1e-14, 1e14])
def test_scores_scale_with_the_kernel(scale, form):
    """r(a K1, a K2) = a r, and no warning that small values are rounding."""
    X, y = two_classes()
    one = fastfs.manifest_scores(X, y, kernel=as_c_function(laplacian), form=form)
    kernel = as_c_function(lambda *given: scale * laplacian(*given))
    assert_close(fastfs.manifest_scores(X, y, kernel=kernel, form=form), scale * one)
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding"):
        fastfs.manifest_scores(np.r_[X, X], np.repeat([0, 1], 60), kernel=kernel, form=form)


@pytest.mark.parametrize("form", ["pencil", "spd", "spsd"])
def test_scores_below_the_noise_of_a_nearly_singular_kernel_are_warned_of(form):
    """Features 0 and 1 all but coincide in one class, all others are far apart: 4e-7 is what rounding leaves."""
    for distance, warned in ((1e-5, False), (1e-8, True)):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(40, 8)), np.arange(40) % 2
        X[y == 0, 1] = X[y == 0, 0] + distance * rng.normal(size=20)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fastfs.manifest_scores(X, y, sigma_factor=0.1, normalize=1, form=form)
        assert ["zero up to rounding" in str(w.message) for w in caught] == [True] * warned


def test_row_sums_that_are_not_positive():
    X, y = two_classes()
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.where(d2 == 0, 1.0, -1 / 39))  # semidefinite; K 1 = 0
    with pytest.raises(
        np.linalg.LinAlgError, match=r"row sums of a kernel must be positive for normalize; got .* for feature .*: set"
    ):
        fastfs.manifest_scores(X, y, kernel=kernel, normalize=3)


def test_kernels_that_return_nonsense():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"the kernel must return finite numbers; got .* for features 0 and 0"):
        fastfs.manifest_scores(X, y, kernel=as_c_function(lambda d2, n_i, n_j, sigma: 1 / d2))
    with pytest.raises(ValueError, match=r"the kernel must be symmetric; got .* for features 0 and 1"):
        fastfs.manifest_scores(X, y, kernel=as_c_function(lambda d2, n_i, n_j, sigma: n_i / (1 + d2)))
    with pytest.raises(TypeError, match="a custom kernel must be a C function"):
        fastfs.manifest_scores(X, y, kernel=laplacian)
    with pytest.raises(ValueError, match="kernel must be 'rbf' or a C function; got 'cosine'"):
        fastfs.manifest_scores(X, y, kernel="cosine")


def test_clones_share_the_kernel():
    kernel = as_c_function(laplacian)
    X, y = two_classes()
    selector = ManiFeSt(5, kernel=kernel, sigma_factor=0.3).set_output(transform="default").fit(X, y)
    twin = clone(selector)
    assert twin.kernel is kernel
    assert twin.get_params() == selector.get_params()
    assert not hasattr(twin, "scores_")
    assert selector.kernel is kernel
    assert np.isfinite(cross_val_score(make_pipeline(twin, GaussianNB()), X, y, cv=3, error_score="raise")).all()
    assert copy.copy(selector).kernel is kernel


def test_kept_distances_do_not_change_custom_kernels():
    X, y = two_classes()
    kernel = as_c_function(laplacian)
    stage = ManiFeStStage([X], Run(), keep_distances=True)
    kept = stage.fit_scales(y, np.array([0, 1]), ManiFeStOptions.from_arguments(ManiFeSt(kernel=kernel))).result
    assert_close(kept["scores"], fastfs.manifest_scores(X, y, kernel=kernel))


# -------------------------------------------------------------------------------------------------------- given kernels


def two_kernels(d=12, seed=0):
    factors = np.random.default_rng(seed).normal(size=(2, d, 2 * d))
    return [F @ F.T / d for F in factors]


@pytest.mark.parametrize("d", [2, 12, 70])
def test_given_kernels(d):
    K1, K2 = two_kernels(d)
    expected = oracle.scores(oracle.difference(K1, K2))
    np.testing.assert_allclose(fastfs.manifest_from_kernels(K1, K2), expected, rtol=1e-9)
    np.testing.assert_allclose(fastfs.manifest_from_kernels(K2.tolist(), K1.tolist()), expected, rtol=1e-9)
    np.testing.assert_allclose(fastfs.manifest_from_kernels(sp.csr_matrix(K1), K2), expected, rtol=1e-9)


def test_given_kernels_are_those_of_a_fit():
    X, y = np.random.default_rng(0).normal(size=(40, 20)), np.arange(40) % 2
    K1, K2 = (fastfs.affinity(X[y == c], sigma=4.0) for c in (0, 1))
    expected = fastfs.manifest_scores(X, y, sigma=(4.0, 4.0))
    np.testing.assert_allclose(fastfs.manifest_from_kernels(K1, K2), expected, rtol=1e-9)
    single = fastfs.manifest_from_kernels(K1.astype(np.float32), K2.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=1e-3)


def test_given_kernels_that_are_singular():
    """Copies of features have equal rows; their scores are those of the limit of a vanishing ridge."""
    copies = [0, 1, 2, 0, 3, 3]
    K1, K2 = (K[np.ix_(copies, copies)] for K in two_kernels(4))
    found = fastfs.manifest_from_kernels(K1, K2)
    np.testing.assert_allclose(found, oracle.scores(oracle.pencil(K1, K2)[1]), rtol=1e-6)
    np.testing.assert_allclose(found[[0, 4]], found[[3, 5]], rtol=1e-6)


def test_given_kernels_that_agree():
    K1, _ = two_kernels()
    with pytest.warns(fastfs.DataWarning, match="the scores are zero up to rounding: K1 and K2 hardly differ"):
        assert fastfs.manifest_from_kernels(K1, K1).max() < 1e-12


def changed(K, row, column, value):
    K = K.copy()
    K[row, column] = value
    return K


GIVEN = two_kernels()
BAD_KERNELS = {
    "sizes": ((GIVEN[0], GIVEN[1][:5, :5]), ValueError, "one size; got (12, 12) and (5, 5)"),
    "no square": ((GIVEN[0][:5], GIVEN[1][:5]), ValueError, "square matrices of one size; got (5, 12)"),
    "1-D": ((GIVEN[0][0], GIVEN[1][0]), ValueError, "one size; got (12,) and (12,)"),
    "one feature": ((np.ones((1, 1)),) * 2, ValueError, "at least two features; got 1"),
    "no feature": ((np.ones((0, 0)),) * 2, ValueError, "at least two features; got 0"),
    "masked": ((GIVEN[0], np.ma.masked_less(GIVEN[1], 0.5)), ValueError, "K2 must not have masked values"),
    "ragged": (([[1], [1, 2]], GIVEN[1]), ValueError, "K1 must be an array; got rows of different lengths"),
    "not symmetric": (
        (GIVEN[0], changed(GIVEN[1], 2, 5, 9.0)),
        ValueError,
        "at row 5, column 2 and 9 at row 2",
    ),
    "NaN": (
        (changed(GIVEN[0], 3, 1, np.nan), GIVEN[1]),
        ValueError,
        "K1 must be finite; got NaN or infinity first at row 3, column 1",
    ),
    "infinity": (
        (GIVEN[0], changed(GIVEN[1], 0, 2, np.inf)),
        ValueError,
        "K2 must be finite; got NaN or infinity first at row 0",
    ),
    "indefinite": ((GIVEN[0] - np.eye(12), GIVEN[1]), np.linalg.LinAlgError, "K1 must be positive semidefinite"),
    "zero": ((GIVEN[0], 0 * GIVEN[1]), ValueError, "K2 must have a positive entry on its diagonal; got 0"),
    "complex": ((GIVEN[0] + 1j, GIVEN[1]), ValueError, "K1 must be real; got complex numbers"),
    "words": (([["a", "b"], ["c", "d"]], GIVEN[1]), ValueError, "K1 must hold numbers only"),
}


@together
@pytest.mark.parametrize("name", BAD_KERNELS)
def test_bad_given_kernels(name):
    kernels, error, part = BAD_KERNELS[name]
    with pytest.raises(error) as raised:
        fastfs.manifest_from_kernels(*kernels)
    assert_one_sentence(raised, part)


def test_given_kernels_beyond_the_budget():
    with pytest.raises(MemoryError, match="ManiFeSt in its exact form on 12 features"):
        fastfs.manifest_from_kernels(*GIVEN, max_memory=1000)


def test_spsd_warns_of_directions_without_a_partner():
    """Features 0 and 2 may be exchanged in both kernels, yet signs of rounding errors decide which of them leads."""
    X = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0]], float)
    y = [0, 0, 0, 1, 1, 1]
    with pytest.warns(fastfs.DataWarning, match="depends on signs that are arbitrary"):
        fastfs.manifest_scores(X, y, form="spsd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = fastfs.manifest_scores(X, y)
        fastfs.manifest_scores(np.random.default_rng(0).normal(size=(6, 3)), y, form="spsd")
    assert scores[0] == pytest.approx(scores[2], rel=1e-12)
