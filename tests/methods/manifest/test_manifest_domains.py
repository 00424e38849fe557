"""The oracle of ManiFeSt by domains: exact where a domain or the eigenvectors are everything; well-formed cores."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import fastfs
from covering import rotating
from fastfs import _core
from fastfs._inference import scorers
from fastfs._machine.run import Run
from reference import manifest as oracle
from reference import manifest_domains as by_domains


def two_kernels(
    d: int = 60, n: int = 30, factor: float = 0.5, normalize: int = 0, seed: int = 0
) -> tuple[list[np.ndarray], tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Squared distances and kernels of two classes of correlated features, and their exact scores."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + rng.normal(size=(n, d))
    y = np.arange(n) % 2
    D2 = [oracle.distances(X[y == c]) ** 2 for c in (0, 1)]
    K1, K2, _ = oracle.kernels(X, y, sigma_factor=factor, normalize=normalize)
    return D2, (K1, K2), oracle.scores(oracle.pencil(K1, K2)[1])


@rotating(1, factor=[0.1, 0.5, 1.0], normalize=[0, 3])
def test_a_core_of_all_features_gives_exact_scores(factor: float, normalize: int) -> None:
    D2, kernels, exact = two_kernels(factor=factor, normalize=normalize)
    found = by_domains.manifest_domains(D2, kernels, core=60, buffer=0, k=10, n_neighbors=59)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * exact.max())


def test_a_core_and_a_buffer_of_all_other_features_give_exact_scores() -> None:
    D2, kernels, exact = two_kernels()
    found = by_domains.manifest_domains(D2, kernels, core=20, buffer=40, k=10, n_neighbors=59)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * exact.max())


@pytest.mark.parametrize("core", [1, 7, 20])
def test_all_eigenvectors_give_exact_scores(core: int) -> None:
    D2, kernels, exact = two_kernels(factor=0.3)
    found = by_domains.manifest_domains(D2, kernels, core=core, buffer=0, k=60, n_neighbors=5)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9 * exact.max())


def test_groups_without_ties_between_them_need_neither_buffer_nor_eigenvectors() -> None:
    kernels = [np.zeros((40, 40)), np.zeros((40, 40))]
    for first in (0, 20):
        _, group, _ = two_kernels(d=20, seed=first)
        for K, part in zip(kernels, group, strict=True):
            K[first : first + 20, first : first + 20] = part
    exact = oracle.scores(oracle.pencil(*kernels)[1])
    D2 = [-np.log(np.maximum(K, 1e-300)) for K in kernels]
    found = by_domains.manifest_domains(D2, kernels, core=20, buffer=0, k=0, n_neighbors=10)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * exact.max())


@pytest.mark.parametrize("core, buffer, n_neighbors", [(1, 3, 4), (8, 5, 3), (25, 100, 10), (500, 5, 2)])
def test_each_feature_is_in_one_core_and_no_buffer_repeats_its_core(core: int, buffer: int, n_neighbors: int) -> None:
    D2, kernels, _ = two_kernels()
    found = by_domains.domains(by_domains.edges(D2, kernels, n_neighbors), core, buffer)
    assert sorted(np.concatenate([domain.core for domain in found])) == list(range(60))
    for domain in found:
        assert len(domain.core) <= core
        assert len(domain.buffer) <= buffer
        assert not set(domain.core) & set(domain.buffer)
        assert len(set(domain.buffer)) == len(domain.buffer)


def test_a_core_grows_by_summed_weights_from_the_strongest_edge() -> None:
    weights = np.zeros((6, 6))
    for i, j, w in ((4, 5, 0.9), (5, 1, 0.5), (4, 0, 0.3), (5, 0, 0.3), (2, 3, 0.2)):
        weights[i, j] = weights[j, i] = w
    # 4 is the seed; then 5 (.9), and 0, whose edges to both sum up to .6, before 1 (.5).
    assert [core.tolist() for core in by_domains.grow(weights, 3)] == [[4, 5, 0], [1], [2, 3]]
    assert [core.tolist() for core in by_domains.pack(by_domains.grow(weights, 3), 3)] == [[4, 5, 0], [2, 3, 1]]
    assert [domain.buffer.tolist() for domain in by_domains.domains(weights, 3, 2)] == [[1], [5]]


def test_ties_go_to_the_lower_index() -> None:
    grid = np.array([[float(abs(i - j) % 3) for j in range(9)] for i in range(9)])
    K = np.exp(-grid)
    weights = by_domains.edges([grid, grid], [K, K], 2)
    assert np.flatnonzero(weights[0]).tolist() == [3, 6]
    assert [core.tolist() for core in by_domains.grow(weights, 2)] == [[0, 3], [1, 4], [2, 5], [6], [7], [8]]


def test_copies_inside_and_across_cores_share_a_score_and_stay_finite() -> None:
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(24, 15)), 3, axis=1)
    y = np.arange(24) % 2
    D2 = [oracle.distances(X[y == c]) ** 2 for c in (0, 1)]
    K1, K2, _ = oracle.kernels(X, y)
    exact = oracle.scores(oracle.pencil(K1, K2)[1])
    whole = by_domains.manifest_domains(D2, (K1, K2), core=45, buffer=0, k=5, n_neighbors=44)
    np.testing.assert_allclose(whole, exact, rtol=0, atol=1e-8 * exact.max())
    cut = by_domains.manifest_domains(D2, (K1, K2), core=4, buffer=6, k=5, n_neighbors=8)
    assert np.all(np.isfinite(cut))
    assert oracle.spearman(cut, exact) > 0.9


def test_a_class_of_two_samples_gives_finite_scores_that_follow_the_exact_ones() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(22, 80)), np.r_[0, 0, np.ones(20, int)]
    D2 = [oracle.distances(X[y == c]) ** 2 for c in (0, 1)]
    kernels = oracle.kernels(X, y)[:2]
    exact = oracle.scores(oracle.pencil(*kernels)[1])
    found = by_domains.manifest_domains(D2, kernels, core=20, buffer=20, k=15, n_neighbors=10)
    assert np.all(np.isfinite(found))
    assert oracle.spearman(found, exact) > 0.9


# ------------------------------------------------------------------------------------------------------- of the core


def sample(d: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + rng.normal(size=(n, d)), np.arange(n) % 2


@rotating(1, factor=[0.1, 0.5, 1.0], normalize=[0, 3])
def test_the_core_gives_exact_scores_where_one_domain_has_all_features(factor: float, normalize: int) -> None:
    X, y = sample(300)
    exact, found = (
        fastfs.manifest_scores(X, y, accuracy=accuracy, sigma_factor=factor, normalize=normalize)
        for accuracy in ("exact", "domains")
    )
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * exact.max())


def test_the_core_gives_exact_scores_from_all_eigenvectors() -> None:
    X, y = sample(450)  # two domains
    exact = fastfs.manifest_scores(X, y, accuracy="exact", sigma_factor=0.3)
    found = fastfs.manifest_scores(X, y, accuracy="domains", sigma_factor=0.3, rank=450)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * exact.max())


@pytest.mark.parametrize(
    "accuracy, rank, core, buffer, k", [("domains", 100, 300, 150, 100), ("small_domains", 250, 200, 50, 50)]
)
def test_the_core_agrees_with_the_oracle_where_landmarks_are_all_features(
    accuracy: str, rank: int, core: int, buffer: int, k: int
) -> None:
    X, y = sample(600)
    D2 = [oracle.distances(X[y == c]) ** 2 for c in (0, 1)]
    K1, K2, _ = oracle.kernels(X, y, sigma_factor=0.5)
    expected = by_domains.manifest_domains(D2, (K1, K2), core=core, buffer=buffer, k=k, n_neighbors=30)
    found = fastfs.manifest_scores(X, y, accuracy=accuracy, rank=rank)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * expected.max())


def test_many_fits_take_small_domains_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(400)
    said = r"small domains, since 1000000 fits in the usual form would take minutes: choose accuracy='domains'"
    expect_fits = scorers.expect_fits
    for module in ("permutation", "stability", "assessment"):
        monkeypatch.setattr(f"fastfs._inference.{module}.expect_fits", lambda model, n: expect_fits(model, 10**6))
    small = fastfs.manifest_scores(X, y, accuracy="small_domains")
    with pytest.warns(fastfs.DataWarning, match=said):
        test = fastfs.permutation_test(fastfs.ManiFeSt(), X, y, n_permutations=9)
    np.testing.assert_array_equal(test.scores, small)
    with pytest.warns(fastfs.DataWarning, match=said):
        on_workers = fastfs.permutation_test(fastfs.ManiFeSt(), X, y, n_permutations=9, n_jobs=2)
    np.testing.assert_array_equal(on_workers.null_mean, test.null_mean)
    with pytest.warns(fastfs.DataWarning, match=said):
        fastfs.stability(fastfs.ManiFeSt(5), X, y, n_subsamples=2)
    with pytest.warns(fastfs.DataWarning, match=said) as warned:
        fastfs.assess(X, y, methods=["manifest"], n_features=[5], n_splits=2, n_repeats=1)
    assert len(warned) == 1
    exact = fastfs.permutation_test(fastfs.ManiFeSt(accuracy="exact"), X, y, n_permutations=9)
    np.testing.assert_allclose(exact.scores, fastfs.manifest_scores(X, y), rtol=1e-10)


def test_the_plan_counts_fits_problems_and_scales() -> None:
    X = np.random.default_rng(0).normal(size=(12, 1000))
    stage = _core.Manifest([X], False, Run())

    def accuracy(n_classes: int, n_scales: int, **options: Any) -> tuple[str, str]:
        plan = stage.plan(n_classes, n_scales, options, Run())
        return plan["accuracy"], plan["reason"]

    assert accuracy(2, 1) == accuracy(2, 1, n_fits=300) == accuracy(3, 1, n_fits=100) == ("exact", "size")
    assert accuracy(2, 1, n_fits=301) == accuracy(3, 1, n_fits=101) == ("small_domains", "work")
    assert accuracy(2, 4, n_fits=75) == ("exact", "size")
    assert accuracy(2, 4, n_fits=76) == ("small_domains", "work")
    assert accuracy(2, 1, n_fits=301, accuracy="exact") == ("exact", "asked")
    assert accuracy(2, 1, n_fits=301, accuracy="domains") == ("domains", "asked")
    assert accuracy(2, 1, n_fits=301, form="spsd") == ("exact", "form")
    assert accuracy(2, 1, n_fits=301, n_components=2) == ("exact", "size")
    with pytest.raises(ValueError, match="n_fits must not be negative; got -1"):
        accuracy(2, 1, n_fits=-1)


def test_progress_of_domains_never_starts_at_its_end() -> None:
    X, y = sample(4000)
    heard: list[float] = []
    fastfs.manifest_scores(X, y, accuracy="domains", progress=lambda step, done: heard.append(done))
    assert heard == sorted(heard)
    assert heard[0] < 0.9


# With a rank of 20, sums over the features have two parts.
@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
def test_the_core_gives_the_same_bits_for_any_number_of_threads_and_the_same_scores_for_sparse_X() -> None:
    X, y = sample(450)
    found = fastfs.manifest_scores(X, y, accuracy="domains", rank=20, n_threads=1)
    for n_threads in (2, 3):
        again = fastfs.manifest_scores(X, y, accuracy="domains", rank=20, n_threads=n_threads)
        np.testing.assert_array_equal(again, found)
    for layout in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        sparse = fastfs.manifest_scores(layout(X), y, accuracy="domains", rank=20)
        np.testing.assert_allclose(sparse, found, rtol=0, atol=1e-8 * found.max())


def test_the_estimate_of_the_agreement_is_never_negative() -> None:
    bits = np.random.default_rng(3).integers(0, 2, size=(8, 1600)).astype(float)
    with pytest.warns(fastfs.DataWarning):
        model = fastfs.ManiFeSt(sigma_factor=2.0, normalize=3).fit(bits, np.arange(8) % 2)
    assert model.agreement_ == 0


def test_features_that_are_all_equal_are_refused_before_neighbours_are_searched() -> None:
    X = np.repeat(np.arange(12.0)[:, None], 2000, axis=1)
    steps: list[str] = []
    with pytest.raises(ValueError, match="sigma"):
        fastfs.manifest_scores(X, np.arange(12) % 2, progress=lambda step, done: steps.append(step))
    assert "nearest features" not in steps


def tall(n: int = 950, d: int = 440, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Samples, half of whose values are 0, with as many rows in each class as features; modules move with the class."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, n_classes, size=n)
    y[: 2 * d] = np.arange(2 * d) % n_classes
    factors = rng.normal(size=(n, 40)) * np.where(np.arange(40) % n_classes == y[:, None], 1.0, 0.2)
    X = factors @ np.repeat(np.eye(40), d // 40, axis=1) + rng.normal(size=(n, d))
    return X * (np.abs(X) > 0.7), y


# Dense and CSR tables of so many rows take the products of all features first; CSC ones are read domain by domain.
@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
@pytest.mark.parametrize(
    "n_classes, options, forms",
    [
        (2, {}, [np.asarray, np.asfortranarray, scipy.sparse.csr_matrix]),
        (3, {"multiclass": "ovo", "normalize": 2, "rank": 20}, [scipy.sparse.csr_matrix]),
        (2, {"sigma": "percentile", "sigma_percentile": 20.0, "rank": 20}, [np.float32, np.asarray]),
    ],
)
def test_tall_tables_have_the_scores_of_others(n_classes: int, options: dict[str, object], forms: list[Any]) -> None:
    X, y = tall(1400 if n_classes == 3 else 950, n_classes=n_classes)
    expected = fastfs.manifest_scores(scipy.sparse.csc_matrix(X), y, accuracy="domains", **options)
    for form in forms:
        found = fastfs.manifest_scores(form(X), y, accuracy="domains", n_threads=2, **options)
        precision = 1e-4 if form is np.float32 else 1e-9
        np.testing.assert_allclose(found, expected, rtol=0, atol=precision * expected.max())
    again = fastfs.manifest_scores(form(X), y, accuracy="domains", n_threads=1, **options)
    np.testing.assert_array_equal(again, found)


@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
def test_tall_tables_whose_products_lose_digits_are_read_by_differences() -> None:
    X, y = tall()
    X[:, 1] = X[:, 0] * (1 + 1e-7 * np.random.default_rng(7).normal(size=len(X)))
    expected = fastfs.manifest_scores(scipy.sparse.csc_matrix(X), y, accuracy="domains")
    for table in (X, scipy.sparse.csr_matrix(X)):
        found = fastfs.manifest_scores(table, y, accuracy="domains")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * expected.max())


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_tall_tables_of_any_scale_have_the_scores_of_others() -> None:
    X, y = tall()
    expected = fastfs.manifest_scores(X, y, accuracy="domains")
    for scale, form in ((2.0**-660, np.asarray), (2.0**500, scipy.sparse.csr_matrix), (2.0**660, np.asarray)):
        found = fastfs.manifest_scores(form(scale * X), y, accuracy="domains")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * expected.max(), err_msg=str(scale))


def test_domains_don_t_depend_on_the_unit_of_the_data() -> None:
    """Distances of neighbours are kept in single precision, which holds neither 1e120 nor 1e-120."""
    X, y = sample(500)
    expected = fastfs.manifest_scores(X, y, accuracy="domains")
    for scale in (2.0**-400, 2.0**400):
        np.testing.assert_array_equal(fastfs.manifest_scores(scale * X, y, accuracy="domains"), expected)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("n_rare", [1, 30])
def test_a_rare_class_of_a_tall_table_is_read_by_differences(n_rare: int) -> None:
    X, _ = tall()
    y = np.r_[np.ones(n_rare, int), np.zeros(len(X) - n_rare, int)]
    expected = fastfs.manifest_scores(scipy.sparse.csc_matrix(X), y, accuracy="domains")
    found = fastfs.manifest_scores(X, y, accuracy="domains")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * expected.max())


def test_products_of_tall_tables_can_be_stopped() -> None:
    X, y = tall(40_000)

    def stop(step: str, done: float) -> None:
        if step == "products of the features" and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastfs.manifest_scores(X, y, accuracy="domains", n_threads=1, progress=stop)


@pytest.mark.huge
def test_neighbours_by_lists_find_what_exact_neighbours_find() -> None:
    """100,001 features take lists, and landmarks of some; 100,000 don't: nearly the same ranking of the shared ones."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 100_001)).astype(np.float32), np.arange(40) % 2
    turned = np.where(y == 0, 0.95, -0.95)[:, None]
    X[:, 5:10] = turned * X[:, :5] + np.sqrt(1 - 0.95**2) * X[:, 5:10]
    with pytest.warns(fastfs.DataWarning):
        exact, listed = (fastfs.manifest_scores(X[:, :d], y, sigma_factor=0.1)[:100_000] for d in (100_000, 100_001))
    assert set(np.argsort(-exact)[:10]) == set(range(10))
    assert set(np.argsort(-listed)[:10]) == set(range(10))
    assert oracle.spearman(exact, listed) > 0.8


# ------------------------------------------------------------------------------------------------ precomputed kernels


def gaussian_kernels(d: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Samples, labels, sigma of both classes, and their kernels."""
    X, y = sample(d, n)
    sigma = np.array([3.0, 3.5])
    return X, y, sigma, [fastfs.affinity(X[y == c], sigma=sigma[c]) for c in (0, 1)]


@pytest.mark.parametrize("normalize", [0, 3])
def test_domains_of_kernels_are_those_of_the_samples(normalize: int) -> None:
    X, y, sigma, kernels = gaussian_kernels(500)
    for K in kernels:
        for _ in range(normalize):
            roots = np.sqrt(K.sum(axis=1))
            K /= np.outer(roots, roots)
    expected = fastfs.manifest_scores(X, y, sigma=sigma, normalize=normalize, accuracy="domains")
    found = fastfs.manifest_from_kernels(*kernels, accuracy="domains")
    if normalize == 0:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * expected.max())
    else:  # neighbours by kernels with a unit diagonal, not by distances: other domains
        assert oracle.spearman(found, expected) > 0.99
    exact = fastfs.manifest_from_kernels(*kernels, accuracy="exact")
    assert oracle.spearman(found, exact) > 0.95


def test_kernels_take_domains_beyond_1500_features() -> None:
    kernels = gaussian_kernels(1501)[-1]
    automatic = fastfs.manifest_from_kernels(*kernels)
    np.testing.assert_array_equal(automatic, fastfs.manifest_from_kernels(*kernels, accuracy="domains"))
    smaller = [np.ascontiguousarray(K[:1500, :1500]) for K in kernels]
    exact = fastfs.manifest_from_kernels(*smaller, accuracy="exact")
    np.testing.assert_array_equal(fastfs.manifest_from_kernels(*smaller), exact)
    assert oracle.spearman(automatic[:1500], exact) > 0.95


def test_domains_of_kernels_with_negative_values_follow_exact_scores() -> None:
    """Products of features that share factors, on scales that differ by a thousand: unlike any Gaussian kernel."""
    rng = np.random.default_rng(5)
    modules = [np.repeat(np.eye(30), 30, axis=0) * rng.choice([-1, 1], size=(900, 1))] * 2
    modules[1] = np.vstack([modules[1][rng.permutation(60)], modules[1][60:]])
    scales = np.exp(rng.uniform(-3.5, 3.5, size=900))
    kernels = [np.outer(scales, scales) * (0.8 * A @ A.T + 0.2 * np.eye(900)) for A in modules]
    exact, found = (fastfs.manifest_from_kernels(*kernels, accuracy=accuracy) for accuracy in ("exact", "domains"))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9 * exact.max())
    assert np.count_nonzero(exact > 1e-6 * exact.max()) > 30


@pytest.mark.parametrize("factor", [1e-290, 1e-30, 1e100])
def test_scores_by_domains_grow_as_the_kernels_do(factor: float) -> None:
    kernels = gaussian_kernels(450)[-1]
    expected = fastfs.manifest_from_kernels(*kernels, accuracy="domains")
    found = fastfs.manifest_from_kernels(*(factor * K for K in kernels), accuracy="domains")
    np.testing.assert_allclose(found / factor, expected, rtol=0, atol=1e-9 * expected.max())


@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
def test_domains_of_kernels_give_the_same_bits_for_any_number_of_threads() -> None:
    kernels = gaussian_kernels(500)[-1]
    one, three = (
        fastfs.manifest_from_kernels(*kernels, accuracy="domains", rank=20, n_threads=n_threads) for n_threads in (1, 3)
    )
    np.testing.assert_array_equal(three, one)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_a_feature_that_a_kernel_leaves_out_has_no_score() -> None:
    kernels = gaussian_kernels(500)[-1]
    for K in kernels:
        K[7] = K[:, 7] = 0
    found = fastfs.manifest_from_kernels(*kernels, accuracy="domains")
    assert np.all(np.isfinite(found))
    assert found[7] < 1e-12 * found.max()


@pytest.mark.parametrize(
    "place, value", [((3, 4), -1.2), ((3, 3), -1.0), ((3, 3), 0.0)], ids=["pair", "negative diagonal", "zero diagonal"]
)
def test_an_indefinite_kernel_is_refused_by_domains(place: tuple[int, int], value: float) -> None:
    K1, K2 = gaussian_kernels(500)[-1]
    K2[place] = K2[place[::-1]] = value
    with pytest.raises(np.linalg.LinAlgError, match="K2 must be positive semidefinite"):
        fastfs.manifest_from_kernels(K1, K2, accuracy="domains")


def test_options_and_memory_of_precomputed_kernels() -> None:
    kernels = gaussian_kernels(900)[-1]
    words = "accuracy must be 'auto', 'exact', 'domains' or 'small_domains'; got 'low_rank'"
    with pytest.raises(ValueError, match=words):
        fastfs.manifest_from_kernels(*kernels, accuracy="low_rank")
    with pytest.raises(ValueError, match="rank must be at least 1; got 0"):
        fastfs.manifest_from_kernels(*kernels, rank=0)
    with pytest.raises(MemoryError, match="ManiFeSt by domains on 900 features"):
        fastfs.manifest_from_kernels(*kernels, accuracy="domains", max_memory="8M")
    with pytest.warns(fastfs.DataWarning, match="may rank features otherwise than the exact ones"):
        fastfs.manifest_from_kernels(*kernels, accuracy="domains", rank=1)
