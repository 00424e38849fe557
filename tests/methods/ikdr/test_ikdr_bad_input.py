"""I-KDR on input that isn't right: one sentence each, nothing half done, and no NaN that comes out silently."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

import fastfs
from covering import rotating, together, turns
from sentences import assert_one_sentence

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = RNG.normal(size=(40, 6))
X[:, 2] += 3 * Y
K = rbf_kernel(X)
CALLS = {
    "function": lambda X, y, **options: fastfs.ikdr(X, y, **options),
    "estimator": lambda X, y, **options: fastfs.IKDR(**options).fit(X, y),
}
every = pytest.mark.parametrize("call", CALLS)


def changed(A, row, column, value):
    A = A.copy()
    A[row, column] = value
    return A


# ---------------------------------------------------------------------------------------------------------------- data

BAD_DATA = {
    "NaN": (changed(X, 7, 2, np.nan), Y, ValueError, ["NaN", "row 7, column 2"]),
    "infinity": (changed(X, 0, 5, -np.inf), Y, ValueError, ["infinity", "row 0, column 5"]),
    "NaN in float32": (changed(X, 39, 0, np.nan).astype("f4"), Y, ValueError, ["row 39, column 0"]),
    "NaN by column": (np.asfortranarray(changed(X, 12, 3, np.nan)), Y, ValueError, ["row 12, column 3"]),
    "the first of several": (changed(changed(X, 9, 1, np.nan), 8, 4, np.inf), Y, ValueError, ["row 8, column 4"]),
    "lengths": (X, Y[:-1], ValueError, ["40", "39"]),
    "no target": (X, None, (ValueError, TypeError), ["y"]),
    "a missing label": (X, np.array(["a", None] * 20, dtype=object), ValueError, ["sample 1"]),
    "numbers as labels": (X, X[:, 0], ValueError, ["continuous"]),
    "one class": (X, np.zeros(40), ValueError, ["one class"]),
    "one sample": (X[:1], Y[:1], ValueError, []),
    "all constant": (np.ones((40, 6)), Y, ValueError, ["feature"]),
    "NaN in CSR": (sparse.csr_matrix(changed(X, 7, 2, np.nan)), Y, ValueError, ["row 7, column 2"]),
    "3-D": (X[None], Y, ValueError, []),
    "1-D": (X[:, 0], Y, ValueError, []),
    "no rows": (X[:0], Y[:0], ValueError, []),
    "no columns": (X[:, :0], Y, ValueError, []),
    "words": (np.char.add(X.astype(str), "!"), Y, (ValueError, TypeError), []),
    "masked": (np.ma.masked_array(X, X > 1), Y, ValueError, ["masked"]),
    "dates in a table": (pd.DataFrame(X).assign(day=pd.Timestamp("2026-01-01")), Y, ValueError, ["column 6", "dates"]),
}


@together
@rotating(1, name=BAD_DATA.keys(), call=CALLS.keys())
def test_bad_data(call, name):
    bad_X, bad_y, error, parts = BAD_DATA[name]
    with pytest.raises(error) as raised:
        CALLS[call](bad_X, bad_y)
    if parts:
        assert_one_sentence(raised, *parts)


@every
def test_chunks_are_told_to_be_one_array(call):
    with pytest.raises(TypeError, match="one array"):
        CALLS[call](iter([X[:20], X[20:]]), Y)
    with pytest.raises(TypeError, match="one array"):
        CALLS[call](iter([X[:20], X[20:]]), Y, kernel=rbf_kernel)


# ---------------------------------------------------------------------------------------------------------- parameters

BAD_PARAMETERS = [
    ({"n_components": 0}, ValueError, ["n_components", "0"]),
    ({"n_components": -1}, ValueError, ["n_components", "-1"]),
    ({"n_components": 41}, ValueError, ["n_components", "40 samples", "41"]),
    ({"n_components": 2.5}, TypeError, ["n_components", "2.5"]),
    ({"n_components": True}, TypeError, ["n_components", "True"]),
    *(({name: value}, ValueError, [name]) for name, value in turns(2, ("lam", "mu", "tol"), (-1e-9, np.nan, np.inf))),
    *(({name: value}, ValueError, [name]) for name, value in turns(2, ("tau", "zeta"), (0, -1.0, -np.inf, np.nan))),
    *(({name: value}, TypeError, [name]) for name, value in turns(1, ("lam", "mu", "tau"), ("much", None, True))),
    *(({"width": value}, ValueError, ["width"]) for value in (0, np.nan, np.inf, "median")),
    ({"width": None}, TypeError, ["width"]),
    ({"interpretability": "trace"}, ValueError, ["interpretability", "'laplacian'", "'trace'"]),
    ({"solver": "newton"}, ValueError, ["solver", "'admm'", "'newton'"]),
    ({"solver": "admm"}, ValueError, ["admm", "tau", "zeta"]),
    ({"solver": "admm", "tau": 10.0}, ValueError, ["admm", "zeta"]),
    ({"max_iter": 0}, ValueError, ["max_iter"]),
    ({"max_iter": 2**31 - 1}, ValueError, ["max_iter"]),
    ({"max_iter": 1.5}, TypeError, ["max_iter"]),
    ({"max_inner": 0}, ValueError, ["max_inner"]),
    ({"scaling": "range"}, ValueError, ["scaling", "'standard'", "'range'"]),
    ({"random_state": -1}, ValueError, ["random_state"]),
    ({"max_memory": "plenty"}, ValueError, ["max_memory"]),
    ({"max_memory": 1000}, MemoryError, ["1000"]),
    ({"kernel": "linear"}, ValueError, ["kernel", "'rbf'", "'precomputed'", "a callable", "'linear'"]),
    ({"kernel": None}, ValueError, ["kernel", "None"]),
    ({"groups": "each"}, ValueError, ["groups", "'all'", "'each'"]),
    ({"groups": [0, 1]}, ValueError, ["groups", "6 features", "(2,)"]),
    ({"groups": np.zeros((6, 1))}, ValueError, ["groups", "(6, 1)"]),
    ({"groups": ["a", "b", None, "a", "b", "a"]}, ValueError, ["groups", "feature 2"]),
    ({"groups": [0, 1, np.nan, 1, 1, 1]}, ValueError, ["groups", "feature 2"]),
    ({"groups": np.array(["a", 1, 2, 3, 4, 5], dtype=object)}, ValueError, ["groups", "one kind"]),
    ({"groups": [0, 1, 2, 3, 4, (5,)]}, ValueError, ["groups", "6 features", "sequences"]),
    ({"width": 1e-320}, ValueError, ["width", "1", "another"]),
]


@together
@rotating(1, case=BAD_PARAMETERS, call=CALLS.keys())
def test_bad_parameters(call, case):
    options, error, parts = case
    with pytest.raises(error) as raised:
        CALLS[call](X, Y, **options)
    assert_one_sentence(raised, *parts)


@pytest.mark.parametrize(
    "options, error, parts",
    [
        ({"rho": 0.0}, ValueError, ["rho"]),
        ({"rho": np.inf}, ValueError, ["rho must be a finite number above 0; got inf"]),
        ({"progress": 1}, TypeError, ["progress"]),
        ({"n_threads": 1.5}, TypeError, ["n_threads"]),
        ({"n_threads": -1}, ValueError, ["n_threads"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_parameters_of_the_function(options, error, parts):
    with pytest.raises(error) as raised:
        fastfs.ikdr(X, Y, **options)
    assert_one_sentence(raised, *parts)


@every
@pytest.mark.parametrize(
    "options, error, parts",
    [
        ({"start": np.full((40, 3), 1 / 40)}, ValueError, ["A of start", "(40, 2)", "(40, 3)"]),
        ({"start": np.full((40, 2), 1 / 39)}, ValueError, ["column"]),
        ({"start": changed(changed(np.full((40, 2), 1 / 40), 3, 1, -1 / 40), 4, 1, 3 / 40)}, ValueError, ["negative"]),
        (
            {"start": changed(np.full((40, 2), 1 / 40), 3, 1, np.nan)},
            ValueError,
            ["start A must be finite", "got nan at row 3, column 1"],
        ),
        ({"start": (np.full((40, 2), 1 / 40), np.ones(5) / 5)}, ValueError, ["weights of start", "(6,)", "(5,)"]),
        ({"start": (np.full((40, 2), 1 / 40), np.ones(6))}, ValueError, ["weights"]),
        ({"start": (np.full((40, 2), 1 / 40), [2, -1, 0, 0, 0, 0])}, ValueError, ["weights"]),
        ({"start": "medoids"}, ValueError, ["A of start"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_starts(call, options, error, parts):
    with pytest.raises(error) as raised:
        CALLS[call](X, Y, **options)
    assert_one_sentence(raised, *parts)


def test_a_start_nearly_on_the_simplex_will_do():
    A = (Y[:, None] == [0, 1]) / 20
    A[0] += 1e-8
    assert np.isfinite(fastfs.ikdr(X, Y, start=A).objective)


def test_bad_paths():
    with pytest.raises(ValueError, match="lams must hold at least one lambda"):
        fastfs.ikdr_path(X, Y, [])
    with pytest.raises(ValueError, match="lam must be a number of at least 0; got -1"):
        fastfs.ikdr_path(X, Y, [0.1, -1])
    with pytest.raises(TypeError, match=r"lams must be a sequence of numbers; got 0\.1: for a single one take ikdr"):
        fastfs.ikdr_path(X, Y, 0.1)
    with pytest.raises(TypeError, match="lam must be a number; got 'b'"):
        fastfs.ikdr_path(X, Y, ["b"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        fastfs.ikdr_path(X, Y, [0.1], depth=3)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'lam'"):
        fastfs.ikdr_path(X, Y, [0.1], lam=0.2)


@pytest.mark.parametrize("bad", [0, 7, 0.0, 1.5])
def test_bad_numbers_of_features_are_refused_before_the_work(bad):
    def kernel(A, B):
        raise AssertionError("too late")

    with pytest.raises(ValueError, match="n_features_to_select"):
        fastfs.IKDR(bad, kernel=kernel).fit(X, Y)


def test_jobs():
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        fastfs.IKDR(n_jobs=0).fit(X, Y)


# ------------------------------------------------------------------------------------------------------------- kernels

MINUS = K - 0.5 * np.outer(np.ones(40), np.ones(40))
BAD_KERNELS = {
    "not square": (K[:, :39], ["square", "40 x 39", "'rbf'"]),
    "other samples": (K[:39, :39], ["39"]),
    "other shapes": ([K, K[:39, :39]], ["shape", "(40, 40)", "kernel 1", "(39, 39)"]),
    "NaN": ([K, changed(K, 3, 4, np.nan)], ["matrix 1", "NaN", "row 3, column 4", "drop"]),
    "infinity": (changed(K, 0, 0, np.inf), ["matrix 0", "infinity", "row 0, column 0"]),
    "not symmetric": (
        [K, changed(K, 3, 4, 0.99)],
        ["matrix 1", "symmetric", "row 3, column 4", "row 4, column 3", "mean"],
    ),
    "nearly symmetric": (changed(K, 3, 4, K[3, 4] + 1e-6), ["matrix 0", "symmetric", "-1e-06 more"]),
    "negative eigenvalue": (MINUS, ["matrix 0", "semidefinite", "diagonal"]),
    "distances": (1 - K, ["matrix 0"]),
    "none": ([], ["kernel"]),
    "1-D": (K[0], []),
    "4-D": (K[None, None], []),
    "words": ("kernel", []),
}


@together
@rotating(1, case=BAD_KERNELS.keys(), call=CALLS.keys())
def test_bad_precomputed_kernels(call, case):
    kernels, parts = BAD_KERNELS[case]
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the parts are compared)
        CALLS[call](kernels, Y, kernel="precomputed")
    assert_one_sentence(raised, *parts)


@rotating(1, call=CALLS.keys(), kernel=["rbf", "precomputed"])
def test_sparse_input_is_made_dense(call, kernel):
    data = K if kernel == "precomputed" else X
    found = [CALLS[call](given, Y, kernel=kernel) for given in (sparse.csr_matrix(data), data)]
    weights = [getattr(one, "kernel_weights_", getattr(one, "weights", None)) for one in found]
    np.testing.assert_array_equal(*weights)
    with pytest.raises(MemoryError, match="a copy of X as dense values would need"):
        CALLS[call](sparse.csr_matrix(data), Y, kernel=kernel, max_memory=data.nbytes)


@every
def test_distance_needs_a_diagonal_of_ones(call):
    with pytest.raises(ValueError, match="matrix 0") as raised:
        CALLS[call](2 * K, Y, kernel="precomputed", interpretability="distance")
    assert_one_sentence(raised, "diagonal", "distance")
    CALLS[call](K, Y, kernel="precomputed", interpretability="distance")
    CALLS[call](2 * K, Y, kernel="precomputed")


@every
def test_groups_of_a_precomputed_kernel(call):
    with pytest.raises(ValueError, match="groups must be left out with kernel='precomputed'"):
        CALLS[call](K, Y, kernel="precomputed", groups="all")


def of_feature(m, change):
    """A kernel that is wrong for one feature."""

    def kernel(A, B):
        own = rbf_kernel(A, B)
        return change(own) if np.array_equal(A[:, 0], X[:, m]) else own

    return kernel


BAD_CALLABLES = {
    "NaN": (lambda own: changed(own, 3, 4, np.nan), ["the kernel of feature 5", "NaN", "row 3, column 4"]),
    "not symmetric": (lambda own: changed(own, 3, 4, 2.0), ["the kernel of feature 5", "symmetric"]),
    "indefinite": (lambda own: -own, ["the kernel of feature 5", "semidefinite"]),
    "a column": (lambda own: own[:, :1], ["the kernel of feature 5 must return", "(40, 40)", "(40, 1)"]),
    "a number": (lambda own: 1.0, ["feature 5", "(40, 40)", "()"]),
    "nothing": (lambda own: None, ["feature 5", "(40, 40)"]),
    "words": (lambda own: np.full(own.shape, "a"), ["numbers"]),
    "complex": (lambda own: own + 0j, ["real"]),
}


@together
@rotating(1, case=BAD_CALLABLES.keys(), call=CALLS.keys())
def test_bad_callables(call, case):
    change, parts = BAD_CALLABLES[case]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        CALLS[call](X, Y, kernel=of_feature(5, change))
    assert_one_sentence(raised, *parts)


def test_bad_callables_by_the_name_of_the_group():
    names = np.array(["a", "b", "c"])[[0, 0, 1, 1, 2, 2]]
    with pytest.raises(ValueError, match=r"the kernel of group b .*symmetric"):
        fastfs.ikdr(X, Y, groups=names, kernel=of_feature(2, lambda own: changed(own, 3, 4, 2.0)))
    with pytest.raises(ValueError, match=r"the kernel of all features .*NaN"):
        fastfs.ikdr(X, Y, groups="all", kernel=of_feature(0, lambda own: changed(own, 3, 4, np.nan)))


def test_an_exception_of_a_callable_comes_through():
    with pytest.raises(ZeroDivisionError):
        fastfs.ikdr(X, Y, kernel=lambda A, B: 1 / 0)


@every
def test_data_of_callables(call):
    with pytest.raises(ValueError, match="first at row 7, column 2"):
        CALLS[call](changed(X, 7, 2, np.nan), Y, kernel=rbf_kernel)
    with pytest.raises(ValueError, match="first at row 7, column 2"):
        CALLS[call](sparse.csr_matrix(changed(X, 7, 2, np.nan)), Y, kernel=cosine_similarity, groups="all")
    with pytest.raises(ValueError, match="constant"):
        CALLS[call](np.ones((40, 6)), Y, kernel=rbf_kernel)
    with pytest.raises(MemoryError, match=r"6 kernels of samples x samples would need 76800 bytes"):
        CALLS[call](X, Y, kernel=rbf_kernel, max_memory=76_800)


# --------------------------------------------------------------------------------------------------------- new samples


def test_embed_of_bad_input():
    model = fastfs.IKDR().fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but IKDR is expecting 6"):
        model.embed(X[:, :5])
    np.testing.assert_array_equal(model.embed(sparse.csr_matrix(X)), model.embed(X))
    chosen = int(np.argmax(model.scores_))
    with pytest.raises(ValueError, match=f"row 3, column {chosen}"):
        model.embed(changed(X, 3, chosen, np.nan))
    result = fastfs.ikdr(X, Y)
    with pytest.raises(ValueError, match="X must have the 6 columns of the fit; got 5"):
        result.embed(X[:, :5])


def test_embed_of_bad_kernels():
    model = fastfs.IKDR(kernel="precomputed").fit([K, rbf_kernel(X[:, :2])], Y)
    with pytest.raises(ValueError, match="X must have the 40 columns of the fit; got 39"):
        model.embed([K[:3, :39]] * 2)
    with pytest.raises(ValueError, match="X must hold 2 kernels as in the fit; got 1"):
        model.embed(K[:3])
    used, row = int(np.argmax(model.kernel_weights_)), int(model.support_samples_[0])
    both = [K[:3], rbf_kernel(X[:, :2])[:3]]
    both[used] = changed(both[used], 1, row, np.nan)
    with pytest.raises(ValueError, match=f"^matrix {used} must not contain NaN or infinity; got nan in row 1"):
        model.embed(both)
    own = fastfs.IKDR(kernel=lambda A, B: rbf_kernel(A, B) * (np.nan if len(A) < 40 else 1)).fit(X, Y)
    with pytest.raises(ValueError, match=r"^the kernel of feature \d must not contain NaN"):
        own.embed(X[:3])
    own = fastfs.IKDR(kernel=lambda A, B: rbf_kernel(A, A)).fit(X, Y)
    with pytest.raises(ValueError, match=r"must return an array of shape \(3, \d+\)"):
        own.embed(X[:3])


# ----------------------------------------------------------------------------------------------- what is merely strange


@every
def test_a_class_of_one_sample(call):
    y = np.where(np.arange(40) == 5, "alone", np.where(Y == 1, "a", "b"))
    with pytest.warns(fastfs.DataWarning, match=r"no dimension is mainly of class alone \(of 3 classes; for lam=0.1\)"):
        fitted = CALLS[call](X, y)
    A = getattr(fitted, "A", getattr(fitted, "dual_coef_", None))
    assert np.isfinite(A).all()
    np.testing.assert_allclose(A.sum(axis=0), 1, rtol=1e-12)


def test_duplicated_samples_with_other_labels():
    both = np.vstack([X, X[:10]])
    result = fastfs.ikdr(both, [*Y, *(1 - Y[:10])])
    assert np.isfinite(result.embedding).all()
    np.testing.assert_allclose(result.embedding[:10], result.embedding[40:], atol=1e-12)


def test_constant_features_have_no_weight_and_no_warning():
    constant = np.c_[np.full(40, 3.0), X, np.zeros(40)]
    result = fastfs.ikdr(constant, Y)
    assert result.constant_features.tolist() == [0, 7]
    assert result.feature_weights[[0, 7]].tolist() == [0, 0]
    np.testing.assert_array_equal(result.weights[1:7], fastfs.ikdr(X, Y).weights)
    own = fastfs.ikdr(constant, Y, kernel=rbf_kernel)
    assert own.constant_features.tolist() == [0, 7]
    np.testing.assert_array_equal(own.weights[1:7], fastfs.ikdr(X, Y, kernel=rbf_kernel).weights)


@pytest.mark.parametrize("unit, offset", [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e6)])
def test_units_make_no_difference(unit, offset):
    expected = fastfs.ikdr(X, Y)
    found = fastfs.ikdr(X * unit + offset, Y)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-6)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


# ------------------------------------------------------------------------------------------------------------ warnings


def warned(category, call, **options):
    with pytest.warns(category) as record:
        fitted = CALLS[call](X, options.pop("y", Y), **options)
    assert all(warning.filename == __file__ for warning in record)
    embedding = getattr(fitted, "embedding", getattr(fitted, "embedding_", None))
    assert np.isfinite(embedding).all()
    return [str(warning.message) for warning in record], fitted


@every
def test_fewer_dimensions_than_classes(call):
    messages, _ = warned(fastfs.DataWarning, call, n_components=2, y=np.arange(40) % 3)
    assert messages == ["n_components=2 is less than the 3 classes, so that some class has no separate dimension"]


@every
def test_a_class_without_a_dimension(call):
    """Lambda grows with the number of classes; with many, a kernel a feature ended with 9 % accuracy and no word."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(list("abcdefghijklmnop")), 6)
    many = 2.0 * rng.normal(size=(16, 8))[np.repeat(np.arange(16), 6)] + rng.normal(size=(96, 8))
    with pytest.warns(fastfs.DataWarning) as record:
        found = CALLS[call](many, y)
    profile = getattr(found, "class_profile", getattr(found, "class_profile_", None))
    lacking = sorted(set(range(16)) - set(profile.argmax(axis=0)))
    assert len(lacking) > 3
    assert [str(warning.message) for warning in record] == [
        f"no dimension is mainly of {', '.join(f'class {y[6 * c]}' for c in lacking[:3])} and {len(lacking) - 3} more "
        "(of 16 classes; for lam=0.1), so that the embedding may not tell them from others: try a smaller lam, such as "
        "0.0067, or groups of features, a kernel each"
    ]
    # One kernel, and a class that is three samples of another one.
    y = np.r_[np.repeat([0, 1], 20), np.full(3, 2)]
    X_three = np.r_[many[:40], many[:3]]
    with pytest.warns(
        fastfs.DataWarning, match=r"mainly of class 2 \(of 3 classes; for lam=0.05\), .*: try two dimensions"
    ):
        CALLS[call](X_three, y, groups="all", lam=0.05)


@every
def test_many_dimensions(call):
    messages, _ = warned(fastfs.DataWarning, call, n_components=5)
    assert messages[0].startswith("n_components=5 is more than twice the 2 classes, and samples are too much alike")
    assert "(mean similarity above 0.4 for lam=0.1)" in messages[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call](X, Y, n_components=4)
        narrow = CALLS[call](X, Y, groups="all", n_components=10, width=2.0)  # a sixth of the mean squared distance
    assert 0.01 < getattr(narrow, "similarity", getattr(narrow, "similarity_", 1)) < 0.2


@every
def test_lambda_of_zero(call):
    messages, _ = warned(fastfs.DataWarning, call, lam=0)
    assert messages[0].startswith("lam=0 leaves nothing to keep classes apart")


@pytest.mark.parametrize("name", ["lam", "mu"])
def test_weights_of_any_size_are_solved_for(name):
    """Beyond 1e15 the start was returned as converged."""
    with pytest.warns(fastfs.DataWarning, match=f"no dimension is mainly of .*: try a smaller {name}"):
        large, larger = (fastfs.ikdr(X, Y, **{name: size}) for size in (1e12, 1e30))
    np.testing.assert_allclose(larger.class_profile, large.class_profile, atol=1e-6)
    if name == "lam":
        assert larger.objective == pytest.approx(1e18 * large.objective, rel=1e-6)


@pytest.mark.parametrize("size", [1e8, 1e60])
def test_kernels_of_any_size_are_solved_for(size):
    """Such as linear ones of raw values: from 1e8 on the start was returned as converged."""
    with pytest.warns(fastfs.DataWarning, match="the kernels' diagonals are about"):
        first, second = (fastfs.ikdr(s * K, Y, kernel="precomputed", tol=1e-6) for s in (1e4, size))
    assert second.objective == pytest.approx((size / 1e4) ** 2 * first.objective, rel=1e-2)


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 1.7e308},
        {"tau": 1.7e308, "zeta": 1.7e308, "solver": "admm"},
        {"kernel": lambda A, B: 1e160 * np.eye(40)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_leaves_the_range_of_doubles(options):
    with pytest.raises(ValueError, match="the objective must stay within the range of doubles") as raised:
        fastfs.ikdr(X, Y, **options)
    assert_one_sentence(raised)


@every
def test_no_convergence(call):
    messages, fitted = warned(ConvergenceWarning, call, max_iter=1, tol=0.0)
    (message,) = messages
    assert message.startswith("I-KDR did not converge in max_iter=1 iterations for lam=0.1: the best one is kept;")
    assert not getattr(fitted, "converged", getattr(fitted, "converged_", True))


def test_a_path_that_does_not_converge_says_where():
    with pytest.warns(ConvergenceWarning, match=r"for lam=0.01, lam=0.1, lam=1 and 1 more"):
        fastfs.ikdr_path(X, Y, [0.01, 0.1, 1.0, 2.0], max_iter=1, tol=0.0)


@every
def test_samples_that_are_hardly_similar(call):
    messages, fitted = warned(fastfs.DataWarning, call, groups="all", width=1e-3)
    assert messages[0].startswith("samples are hardly similar to each other (mean similarity below 0.01 for lam=0.1)")
    assert "width" in messages[0]
    assert getattr(fitted, "similarity", getattr(fitted, "similarity_", 1)) < 0.01


@every
def test_kernels_of_the_caller_have_no_width(call):
    messages, _ = warned(fastfs.DataWarning, call, groups="all", kernel=lambda A, B: rbf_kernel(A, B, gamma=100.0))
    assert "width" not in messages[0]


@rotating(1, call=CALLS.keys(), size=[0.05, 20])
def test_kernels_of_another_scale(call, size):
    messages, _ = warned(fastfs.DataWarning, call, kernel=lambda A, B: size * rbf_kernel(A, B))
    assert messages[-1].startswith(f"the kernels' diagonals are about {size}, but")
    assert not any("constant" in message for message in messages)


def test_a_feature_that_is_an_outlier():
    outlier = np.zeros((40, 2))
    outlier[7] = 1
    outlier += 1e-6 * RNG.normal(size=outlier.shape)
    with pytest.warns(fastfs.DataWarning, match="a kernel with weight is nearly constant, but for one sample"):
        fastfs.ikdr(outlier, Y)


def test_no_warning_without_a_reason(recwarn):
    fastfs.ikdr(X, Y)
    fastfs.IKDR(groups="all").fit(X, Y)
    assert not list(recwarn)
