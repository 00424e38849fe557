"""Choices of ProjSe beyond the span of the targets: an oracle, its properties, and the ways that X can come."""

import pickle

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import fastfs
from covering import covering
from fastfs._functions import projse as functions
from fastfs._machine.run import Run, load_core
from reference import projse as oracle

pytestmark = pytest.mark.filterwarnings("ignore:the first choice is a tie")

N = 12
FORMS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "chunks": lambda X: lambda: iter(np.array_split(X, 3)),
    "dask": lambda X: da.from_array(X, chunks=(len(X) // 2, -1)),
    "sparse chunks": lambda X: iter([sp.csr_matrix(X[:11]), X[11:20], sp.csc_matrix(X[20:])]),
    "sparse dask": lambda X: da.from_array(X, chunks=(len(X) // 2, -1)).map_blocks(sp.csr_matrix),
}
SHAPES = {"wide": (40, 300), "tall": (300, 30)}
TARGETS = {
    "two classes": lambda rng, n: rng.integers(0, 2, n),
    "five classes": lambda rng, n: rng.integers(0, 5, n),
    "a number": lambda rng, n: rng.normal(size=(n, 1)),
    "three numbers": lambda rng, n: rng.normal(size=(n, 3)),
}


def data(shape, target, dtype="float64", seed=0):
    """Features that the target shifts, noise, a copy, nearly a sum of two features and a constant one."""
    rng = np.random.default_rng(seed)
    n, p = SHAPES[shape]
    y = TARGETS[target](rng, n)
    T = oracle.one_hot(y) if y.ndim == 1 else y
    X = rng.normal(size=(n, p))
    X[:, :8] += T @ rng.normal(size=(T.shape[1], 8))
    X[:, 8], X[:, 9], X[:, 10] = X[:, 0], X[:, 1] + X[:, 2] + 0.1 * X[:, 9], 3
    return X.astype(dtype), y, T


@covering(
    form=FORMS.keys(),
    shape=SHAPES.keys(),
    target=TARGETS.keys(),
    dtype=["float64", "float32"],
    center=[True, False],
    n_threads=[1, 2],
)
def test_agrees_with_the_oracle(form, shape, target, dtype, center, n_threads):
    X, y, T = data(shape, target, dtype)
    result = fastfs.projse(
        FORMS[form](X), y, n_features_to_select=N, center=center, beyond="residual", n_threads=n_threads
    )
    within = fastfs.projse(X, y, n_features_to_select=result.kernel_rank, center=center)
    n_within = len(within.selected)
    selected, gains, explained = oracle.beyond(X.astype(float), T, within.selected.tolist(), N, center=center)
    assert result.selected.tolist() == selected
    # Sums of single precision are exact to 1e-7, of which a gain that nears the limit of a copy loses most digits.
    tolerance = 1e-11 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(result.selection_scores[n_within:], gains, rtol=0, atol=tolerance)
    np.testing.assert_allclose(result.explained, explained, rtol=0, atol=tolerance)
    scores = fastfs.projse_scores(FORMS[form](X), y, center=center)
    # Sparse rows are summed about zero within the span, and as arrays beyond it.
    np.testing.assert_allclose(result.scores, scores, rtol=0, atol=tolerance if form.startswith("sparse") else 0)
    assert (result.captured[n_within:] == 1).all()
    assert sorted(result.ranking[result.selected]) == list(range(1, N + 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", [{"kernel": "poly", "degree": 2}, {"kernel": "rbf"}], ids=lambda k: k["kernel"])
def test_other_kernels(kernel, shape):
    X, _, T = data(shape, "three numbers")
    result = fastfs.projse(X, T, n_features_to_select=N, beyond="residual", **kernel)
    within = fastfs.projse(X, T, n_features_to_select=result.kernel_rank, **kernel)
    selected, gains, explained = oracle.beyond(X, T, within.selected.tolist(), N, **kernel)
    assert result.selected.tolist() == selected
    np.testing.assert_allclose(result.selection_scores[len(within.selected) :], gains, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.explained, explained, rtol=0, atol=1e-9)


def test_one_number_is_forward_selection_by_least_squares():
    X, _, T = data("wide", "a number")
    result = fastfs.projse(X, T, n_features_to_select=6, center=True, beyond="residual")
    centred, t = X - X.mean(axis=0), T - T.mean()
    chosen = []
    for share in result.explained:
        fits = []
        for j in range(X.shape[1]):
            A = centred[:, [*chosen, j]]
            fits.append(1 - ((t - A @ np.linalg.lstsq(A, t, rcond=1e-9)[0]) ** 2).sum() / (t**2).sum())
        chosen.append(int(np.argmax(fits)))
        assert fits[chosen[-1]] == pytest.approx(share, abs=1e-12)
    assert chosen == result.selected.tolist()


def test_the_first_choices_are_the_paper_s():
    X, y, _ = data("wide", "five classes")
    result = fastfs.projse(X, y, n_features_to_select=N, beyond="residual")
    plain = fastfs.projse(X, y, n_features_to_select=4)
    for name in ("selected", "selection_scores", "gaps", "captured"):
        np.testing.assert_array_equal(getattr(result, name)[:4], getattr(plain, name))
    assert plain.explained is None


def test_copies_are_never_selected():
    X, y, _ = data("tall", "two classes")
    X = np.hstack([X[:, :5], X[:, :5] * 2 + 1, X[:, [0]] - X[:, [1]]]).astype(np.float32)
    with pytest.warns(fastfs.DataWarning, match="only 5 of the 8 features asked for were selected: the others explain"):
        result = fastfs.projse(X, y, n_features_to_select=8, beyond="residual")
    assert np.linalg.matrix_rank(X[:, result.selected] - X[:, result.selected].mean(axis=0)) == 5


def test_a_target_that_is_explained_ends_the_choice():
    X = np.random.default_rng(0).normal(size=(50, 20))
    y = X[:, [3]] + X[:, [7]]
    with pytest.warns(fastfs.DataWarning, match="only 2 of the 5"):
        result = fastfs.projse(X, y, n_features_to_select=5, center=True, beyond="residual")
    assert sorted(result.selected.tolist()) == [3, 7]
    assert result.explained[-1] == pytest.approx(1)


def test_two_views():
    X, _, T = data("tall", "three numbers")
    of_x, of_y = fastfs.projse_two_view(X, T, n_features_to_select=5, beyond="residual")
    alone = fastfs.projse(X, T, n_features_to_select=5, beyond="residual")
    assert of_x.selected.tolist() == alone.selected.tolist()
    np.testing.assert_allclose(of_x.explained, alone.explained, rtol=1e-12)
    assert len(of_y.selected) == 3
    assert of_y.explained[-1] < 1


def test_estimator_in_chunks():
    X, y, _ = data("tall", "five classes")
    whole = fastfs.ProjSe(8, beyond="residual").fit(X, y)
    parts = fastfs.ProjSe(8, beyond="residual")
    for begin in range(0, len(X), 70):
        parts.partial_fit(X[begin : begin + 70], y[begin : begin + 70], classes=range(5))
        parts = pickle.loads(pickle.dumps(parts))
    assert parts.selected_.tolist() == whole.selected_.tolist()
    np.testing.assert_allclose(parts.explained_, whole.explained_, rtol=1e-11)
    assert whole.transform(X).shape == (len(X), 8)
    assert fastfs.ProjSe(2).fit(X, y).explained_ is None


def test_bits_do_not_depend_on_threads():
    X, y, _ = data("wide", "five classes")
    one, two = (fastfs.projse(X, y, n_features_to_select=N, beyond="residual", n_threads=t) for t in (1, 2))
    for name in ("selected", "selection_scores", "explained", "gaps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize(
    "fit, message",
    [
        (lambda X, y: fastfs.projse(X, beyond="residual"), "beyond needs a target, but there is none"),
        (lambda X, y: fastfs.projse(X, y, beyond="pca"), "beyond must be 'residual' or None; got 'pca'"),
        (lambda X, y: fastfs.projse(X, y, beyond=True), "beyond must be 'residual' or None; got True"),
        (
            lambda X, y: fastfs.ProjSe().partial_fit(X, y, classes=[0, 1]).set_params(beyond="residual").selected_,
            "ask for it before the first rows",
        ),
    ],
    ids=["no target", "another word", "a flag", "sums of one view"],
)
def test_refuses(fit, message):
    X, y, _ = data("tall", "two classes")
    with pytest.raises(ValueError, match=message):
        fit(X, y)


@pytest.mark.parametrize("n", [3, 0.5])
def test_no_features(n):
    with pytest.raises(ValueError, match="X must have features; got none"):
        fastfs.projse(np.empty((20, 0)), np.arange(20) % 2, n_features_to_select=n, beyond="residual")


def test_classes_cannot_be_chosen():
    X, y, _ = data("tall", "two classes")
    run = Run()
    sums = load_core().ProjseStream(2, X.shape[1], "two", run)
    sums.update(X, None, y, run)
    with pytest.raises(ValueError, match="from_y must be 0 for sums of one view or of labels"):
        sums.finish({"n_select": 1, "from_y": True}, run, None)


def test_a_sparse_chunk_with_an_error_changes_nothing(monkeypatch):
    monkeypatch.setattr(functions, "BLOCK_BYTES", 8 * 30 * 100)  # 100 rows
    X, y, _ = data("tall", "two classes")
    bad = X.copy()
    bad[250, 3] = np.nan
    model = fastfs.ProjSe(5, beyond="residual").partial_fit(sp.csr_matrix(X), y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"NaN.*row 250, column 3"):
        model.partial_fit(sp.csr_matrix(bad), y)
    whole = fastfs.ProjSe(5, beyond="residual").fit(X, y)
    assert model.selected_.tolist() == whole.selected_.tolist()
    np.testing.assert_allclose(model.explained_, whole.explained_, rtol=1e-12)


def forward_selection(X, y, n):
    """Choose columns by what they explain of y beyond the chosen ones, with all residuals anew at each step."""
    rests, rest = X - X.mean(axis=0), y - y.mean()
    squares, chosen = (rests**2).sum(axis=0), []
    for _ in range(n):
        left = (rests**2).sum(axis=0)
        chosen.append(int(np.argmax(np.where(left > 1e-6 * squares, (rests.T @ rest) ** 2 / left, 0))))
        q = rests[:, chosen[-1]] / np.linalg.norm(rests[:, chosen[-1]])
        rests, rest = rests - np.outer(q, q @ rests), rest - q * (q @ rest)
    return chosen


@pytest.mark.parametrize("offset", [0, 1e5], ids=["", "far from zero"])
@pytest.mark.parametrize("form", ["rows", "columns"])
def test_tables_beyond_the_caches(form, offset):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 130)
    X = rng.normal(size=(130, 17_000))
    X[:, :40] += np.repeat(0.9 * y[:, None] + rng.normal(size=(130, 4)), 10, axis=1)
    results = [
        fastfs.projse(FORMS[form](X + offset), y, n_features_to_select=9, beyond="residual", n_threads=t)
        for t in (1, 2)
    ]
    assert results[0].selected.tolist() == forward_selection(X, y, 9)
    np.testing.assert_array_equal(results[0].selection_scores, results[1].selection_scores)


def test_budget():
    X, y, _ = data("wide", "two classes")
    with pytest.raises(MemoryError, match="ProjSe of 2 targets and 300 candidates"):
        fastfs.projse(X, y, n_features_to_select=40, beyond="residual", max_memory=100_000)


def test_finds_kinds_where_anova_finds_copies():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    kinds = (y[:, None] - 0.5) * np.linspace(1.5, 0.8, 5) + rng.normal(size=(200, 5))
    X = np.hstack([np.repeat(kinds, 5, axis=1) + 0.3 * rng.normal(size=(200, 25)), rng.normal(size=(200, 100))])
    found = {j // 5 for j in fastfs.projse(X, y, n_features_to_select=8, beyond="residual").selected if j < 25}
    assert found == set(range(5))
    with pytest.warns(fastfs.DataWarning, match="only 1 of the 8"):
        assert len(fastfs.projse(X, y, n_features_to_select=8).selected) == 1
