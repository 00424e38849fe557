"""Every public call looks at its arguments first: names of rows, kinds of tables, labels of one kind, known words."""

import inspect
import pickle
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

import fastfs
import fastfs.get
import fastfs.pl
import fastfs.tl
from covering import covering, rotating, some, together
from sentences import assert_one_sentence

rng = np.random.default_rng(0)
y = np.repeat(["a", "b"], 15)
X = rng.normal(size=(30, 8))
X[:, 2] += 2 * (y == "b")
NAMES = [f"s{i}" for i in range(30)]
TABLE = pd.DataFrame(X, index=NAMES, columns=[*"abcdefgh"])
LABELS = pd.Series(y, index=NAMES)
GENOTYPES = fastfs.io.pack_genotypes(rng.integers(0, 3, size=(30, 8)), samples=NAMES)

SELECTORS = {
    **{name: getattr(fastfs, name)() for name in ("ManiFeSt", "ProjSe", "Relief", "ReliefF", "SURF", "MultiSURF")},
    **{name: getattr(fastfs, name)() for name in ("SWRF", "MuRelief", "IM4E", "Immigrate", "DiSC", "IKDR")},
    "TuRF": fastfs.TuRF(fastfs.ReliefF()),
    "VLS": fastfs.VLS(fastfs.ReliefF()),
    "IterativeRelief": fastfs.IterativeRelief(fastfs.ReliefF()),
}
FUNCTIONS = {
    name: getattr(fastfs, name)
    for name in (
        *("manifest_scores", "projse", "projse_scores", "relief_scores", "relieff_scores", "surf_scores", "im4e"),
        *(
            "multisurf_scores",
            "swrf_scores",
            "mu_relief_scores",
            "im4e_scores",
            "immigrate",
            "immigrate_scores",
            "ikdr",
        ),
        "differential_correlation",
    )
}
TESTS = {
    name: partial(getattr(fastfs, name), fastfs.ReliefF())
    for name in ("permutation_test", "stability", "shuffled_twin")
}
OF_LABELS = {name: model.fit for name, model in SELECTORS.items()} | FUNCTIONS | TESTS
OF_LABELS |= {"report": fastfs.report, "Cut": fastfs.Cut(fastfs.ReliefF(), n_permutations=9).fit}
CALLS = OF_LABELS | {
    "RReliefF": fastfs.RReliefF().fit,
    "rrelieff_scores": fastfs.rrelieff_scores,
    "kernel_alignment": fastfs.kernel_alignment,
    "canonical_correlations": fastfs.canonical_correlations,
}


def strictly(call, *args, **kwargs):
    """Call with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*args, **kwargs)


def test_all_public_functions_are_entries():
    for name in fastfs.__all__:
        public = getattr(fastfs, name)
        if inspect.isfunction(public) and inspect.signature(public).parameters and name not in ("info", "link_blas"):
            assert public.__code__.co_name == "checked_call", name


# -------------------------------------------------------------------------------------------------------- names of rows


@together
@pytest.mark.parametrize("call", some(4, 1, CALLS))
def test_rows_in_another_order(call):
    with pytest.raises(fastfs.DataWarning, match=r"another order.*: give [yY]\.loc\[X\.index\], or [yY]\.to_n"):
        strictly(CALLS[call], TABLE, LABELS[::-1])


@together
@pytest.mark.parametrize("call", some(4, 2, CALLS))
def test_rows_of_other_names(call):
    with pytest.raises(fastfs.DataWarning, match=r"name their rows differently \('z0' and 's0' come first\)"):
        strictly(CALLS[call], TABLE, LABELS.set_axis([f"z{i}" for i in range(30)]))


def test_following_the_advice_silences_and_finds():
    shuffled = LABELS.sample(frac=1, random_state=0)
    expected = fastfs.MultiSURF().fit(X, y).scores_
    with pytest.warns(fastfs.DataWarning, match="in another order"):
        wrong = fastfs.MultiSURF().fit(TABLE, shuffled).scores_
    assert not np.array_equal(wrong, expected)
    assert np.array_equal(strictly(fastfs.MultiSURF().fit, TABLE, shuffled.loc[TABLE.index]).scores_, expected)
    assert np.array_equal(strictly(fastfs.MultiSURF().fit, TABLE, shuffled.to_numpy()).scores_, wrong)


@together
@pytest.mark.parametrize(
    "table, labels",
    [
        (TABLE, LABELS),
        (TABLE, y),
        (TABLE, list(y)),
        (X, LABELS[::-1]),
        (TABLE, LABELS.reset_index(drop=True)),
        (TABLE.reset_index(drop=True), LABELS[::-1]),
        (TABLE, LABELS.to_frame()),
    ],
)
def test_rows_that_say_nothing_else(table, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error", fastfs.DataWarning)
        fastfs.MultiSURF().fit(table, labels)


def test_shuffled_numbers_of_rows_are_names():
    with pytest.raises(fastfs.DataWarning, match="in another order"):
        strictly(fastfs.MultiSURF().fit, pd.DataFrame(X), pd.Series(y).sample(frac=1, random_state=0))


@rotating(
    1,
    call=["permutation_test", "shuffled_twin", "differential_correlation", "report"],
    name=["blocks", "groups", "covariates"],
)
def test_designs_in_another_order(call, name):
    column = pd.Series(np.arange(30.0), index=NAMES)
    with pytest.raises(fastfs.DataWarning, match=rf"^{name} names the rows of X in another order"):
        strictly(CALLS[call], TABLE, y, **{name: column[::-1]})


@pytest.mark.parametrize("name", ["blocks", "groups", "covariates"])
def test_designs_of_genotypes_in_another_order(name):
    column = pd.Series(np.arange(30.0), index=NAMES)
    with pytest.raises(fastfs.DataWarning, match=rf"^{name} names the rows of G in another order.*\.loc\[G\.samples\]"):
        strictly(fastfs.snp_pairs, GENOTYPES, y, **{name: column[::-1]})


def test_given_values_in_another_order():
    given = pd.DataFrame({"age": np.arange(30.0)}, index=NAMES)[::-1]
    for call in (partial(fastfs.relieff_scores, given=given), partial(fastfs.projse_scores, given=given)):
        with pytest.raises(
            fastfs.DataWarning, match=r"^given names the rows of X in another order.*given\.loc\[X\.index"
        ):
            strictly(call, TABLE, y)


def test_weights_in_another_order():
    weights = pd.Series(np.ones(30), index=NAMES)[::-1]
    for call in (
        partial(fastfs.ReliefF().fit, sample_weight=weights),
        partial(fastfs.relieff_scores, sample_weight=weights),
        partial(TESTS["permutation_test"], params={"sample_weight": weights}),
        partial(SELECTORS["TuRF"].fit, sample_weight=weights),
    ):
        with pytest.raises(fastfs.DataWarning, match=r"^sample_weight names the rows of X in another order"):
            strictly(call, TABLE, y)


def test_repeated_names_have_no_loc():
    twice = pd.Series(y, index=[f"d{i // 2}" for i in range(30)])
    with pytest.raises(fastfs.DataWarning, match=r"give y in the order of X\.index, or y\.to_numpy\(\)"):
        strictly(fastfs.MultiSURF().fit, TABLE.set_axis(twice.index[::-1]), twice)


def test_calls_within_the_library_warn_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fastfs.stability(fastfs.ReliefF(2), TABLE, LABELS[::-1], n_subsamples=3)
    assert sum("another order" in str(warning.message) for warning in caught) == 1


# ------------------------------------------------------------------------------------------------------ kinds of tables


@pytest.mark.parametrize("call", some(4, 3, CALLS))
def test_annotated_data(call):
    anndata = pytest.importorskip("anndata")
    with pytest.raises(
        TypeError, match=r"^X must be an array.*; got an AnnData: give adata\.X, or use fastfs\.tl$"
    ) as raised:
        CALLS[call](anndata.AnnData(X), y)
    assert_one_sentence(raised)


@pytest.mark.parametrize("call", some(4, 4, CALLS))
def test_lazy_frames(call):
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"^X must be an array.*; got a LazyFrame: give X\.collect\(\)$") as raised:
        CALLS[call](polars.DataFrame(X).lazy(), y)
    assert_one_sentence(raised)


def test_annotated_data_to_transform():
    anndata = pytest.importorskip("anndata")
    fitted = fastfs.IM4E().fit(X, y)
    for method in ("transform", "inverse_transform", "predict", "explain"):
        with pytest.raises(TypeError, match="got an AnnData"):
            getattr(fitted, method)(anndata.AnnData(X))


def test_arrow_tables():
    pa = pytest.importorskip("pyarrow")
    table = TABLE.assign(c=np.arange(30) % 3)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    for columns in (["c"], [2]):
        expected = fastfs.ReliefF(categorical_features=columns).fit(table, y)
        found = fastfs.ReliefF(categorical_features=columns).fit(arrow, y)
        assert np.array_equal(found.scores_, expected.scores_)
        assert found.feature_names_in_.tolist() == [*"abcdefgh"]
    covariates = pd.DataFrame({"age": X[:, 0], "sex": list("mf") * 15})
    ways = covariates, pa.Table.from_pandas(covariates)
    found, expected = (fastfs.permutation_test(fastfs.ReliefF(), X, y, covariates=c, n_permutations=19) for c in ways)
    assert np.array_equal(found.pvalues, expected.pvalues)


# --------------------------------------------------------------------------------------------------------------- labels


@together
@rotating(1, call=some(4, 8, OF_LABELS), kind={"list": list, "tuple": tuple, "array": partial(np.array, dtype=object)})
def test_labels_of_two_kinds(call, kind):
    labels = ["1", "2"] * 13 + [2, 2, 1, 1]
    with pytest.raises(ValueError, match=r"^y must hold labels of one kind") as raised:
        OF_LABELS[call](X, kind(labels))
    assert_one_sentence(raised)


@together
@rotating(1, call=some(2, 9, OF_LABELS), missing=[np.nan, None, pd.NA, pd.NaT])
def test_labels_that_are_missing_in_a_list(call, missing):
    with pytest.raises(ValueError, match=r"^y has no label \(.*\) for sample 29") as raised:
        OF_LABELS[call](X, [*y[:29], missing])
    assert_one_sentence(raised)


def test_features_of_two_kinds():
    with pytest.raises(ValueError, match="features holds 0, which isn't a column name of X"):
        fastfs.differential_correlation(TABLE, y, features=[0, "a"])


def test_covariates_of_two_kinds_in_a_list():
    numbers, words = X[:, 0].tolist(), ["m", "f", "f"] * 10
    found = fastfs.permutation_test(
        fastfs.ReliefF(), X, y, covariates=list(zip(numbers, words, strict=True)), n_permutations=19
    )
    expected = fastfs.permutation_test(
        fastfs.ReliefF(), X, y, covariates=pd.DataFrame({"a": numbers, "b": words}), n_permutations=19
    )
    assert np.array_equal(found.pvalues, expected.pvalues)


@together
@rotating(1, call=some(2, 10, OF_LABELS), dtype=["U", "S", "T"])
def test_numbers_as_strings_in_X(call, dtype):
    digits = np.round(X, 3).astype("U").astype(np.dtypes.StringDType() if dtype == "T" else dtype)
    with pytest.raises(ValueError, match=r"^X must hold numbers, but column 0 .* holds strings"):
        OF_LABELS[call](digits, y)


@together
@pytest.mark.parametrize("call", some(4, 5, OF_LABELS))
def test_ids_are_no_labels(call):
    alone = r"of 30 samples alone in their class, such as '.*': if these are ids, give the labels instead"
    for ids in (NAMES, np.array(NAMES), [*NAMES[:16], *"aabbccddeeffgg"]):
        with pytest.raises(ValueError, match=alone) as raised:
            OF_LABELS[call](X, ids)
        assert_one_sentence(raised)


@together
@pytest.mark.parametrize("call", some(4, 6, OF_LABELS))
def test_numbers_are_no_labels(call):
    with pytest.raises(ValueError, match=r"alone in their class.*if they are numbers, |can be classes or numbers") as e:
        OF_LABELS[call](X, np.arange(30.0)[::-1])
    assert_one_sentence(e)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_the_advice_about_numbers_works():
    numbers = rng.permutation(30)
    with pytest.raises(ValueError, match=r"if they are numbers, give target_type='number'$"):
        fastfs.ReliefF(target_type="class").fit(X, numbers)
    fastfs.ReliefF(target_type="number").fit(X, numbers)
    with pytest.raises(ValueError, match=r"if they are numbers, give np\.reshape\(y, \(-1, 1\)\)$"):
        fastfs.ProjSe().fit(X, numbers.tolist())
    fastfs.ProjSe().fit(X, np.reshape(numbers.tolist(), (-1, 1)))
    with pytest.raises(ValueError, match=r"if they are numbers, bin them$"):
        fastfs.Relief().fit(X, numbers)
    fastfs.Relief().fit(X, np.digitize(numbers, [10, 20]))


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_the_advice_about_numbers_as_text_works():
    text = rng.permutation(30).astype(str)
    with pytest.raises(ValueError, match=r"if they are numbers, convert them to floats and give target_type='number'$"):
        fastfs.ReliefF().fit(X, text)
    fastfs.ReliefF(target_type="number").fit(X, text.astype(float))
    with pytest.raises(ValueError, match=r"convert them to floats and give np\.reshape\(y, \(-1, 1\)\)$"):
        fastfs.ProjSe().fit(X, text)
    fastfs.ProjSe().fit(X, np.reshape(text.astype(float), (-1, 1)))


@together
@pytest.mark.parametrize("call", some(4, 7, OF_LABELS))
def test_words_are_never_taken_for_numbers(call):
    with pytest.raises(ValueError, match=r": if these are ids, give the labels instead$"):
        OF_LABELS[call](X, NAMES)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_half_of_the_samples_may_be_alone():
    fastfs.ReliefF().fit(X, [*NAMES[:15], *"a" * 15])


RECORDS = np.array([(i % 2 == 0, i / 7) for i in range(30)], dtype=[("event", bool), ("time", float)])


@together
@pytest.mark.parametrize("call", some(4, 8, OF_LABELS))
def test_times_are_no_labels(call):
    with pytest.raises(ValueError, match="RReliefF") as raised:
        OF_LABELS[call](X, RECORDS)
    assert_one_sentence(raised)


def test_two_whole_floats_are_classes():
    codes = (y == "b").astype(int)
    for model in (fastfs.ReliefF(), fastfs.SURF(), fastfs.MultiSURF(), fastfs.SWRF(), fastfs.MuRelief()):
        expected = model.fit(X, codes).scores_
        for labels in (codes.astype(float), codes.astype(np.float32), list(codes * 1.0), pd.Series(codes * 1.0)):
            assert np.array_equal(model.fit(X, labels).scores_, expected)
            assert model.target_type_ == "class"
            assert model.classes_.tolist() == [0, 1]
        with pytest.raises(ValueError, match="whole floats, such as 0, which can be classes or numbers"):
            model.fit(X, np.arange(30.0) % 3)


def test_integers_beyond_2_to_53():
    large = 2**55 + np.arange(240).reshape(30, 8)
    for call in OF_LABELS.values():
        with pytest.raises(ValueError, match=r"^X holds integers above 2\^53.*: subtract their minimum first"):
            call(large, y)
    with pytest.raises(ValueError, match=r"^y holds integers above 2\^53"):
        fastfs.RReliefF().fit(X, large[:, 1])
    with pytest.raises(ValueError, match=r"^covariates holds integers above 2\^53"):
        fastfs.permutation_test(fastfs.ReliefF(), X, y, covariates=large[:, 1])
    shifted = large - large.min()
    assert np.array_equal(fastfs.Relief().fit(shifted, y).scores_, fastfs.Relief().fit(shifted * 1.0, y).scores_)
    exact = large // 256 * 256
    assert np.array_equal(fastfs.RReliefF().fit(X, exact[:, 0] + (y == "b") * 4096).scores_ != 0, np.full(8, True))


# --------------------------------------------------------------------------------------------------- misspelt arguments


def test_misspelt_parameters_of_estimators():
    for name, model in SELECTORS.items():
        with pytest.raises(TypeError, match=rf"^{name}\(\) got .* 'n_feature': did you mean n_features_to_select\?"):
            type(model)(n_feature=3)
    with pytest.raises(TypeError, match=r"^ReliefF\(\) .* 'n_neighbours': did you mean n_neighbors\?$"):
        fastfs.ReliefF(n_neighbours=3)
    with pytest.raises(TypeError, match=r"^ReliefF\.fit\(\) .* 'sample_weights': did you mean sample_weight\?$"):
        fastfs.ReliefF().fit(X, y, sample_weights=np.ones(30))
    with pytest.raises(TypeError, match=r"^ReliefF\(\) got too many .*: give all but n_features_to_select by name$"):
        fastfs.ReliefF(3, 10)


# Public functions that read, write, draw or list.
OTHERS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (fastfs.io, fastfs.pl, fastfs.get)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


@together
@pytest.mark.parametrize("name", OTHERS)
def test_misspelt_arguments_of_other_functions(name):
    *_, last = inspect.signature(OTHERS[name]).parameters
    with pytest.raises(TypeError, match=rf"^\w+\(\) got an .* '{last}z': did you mean {last}\?$"):
        OTHERS[name](**{f"{last}z": 1})
    assert pickle.loads(pickle.dumps(OTHERS[name])) is OTHERS[name]


def test_misspelt_arguments_of_methods():
    with pytest.raises(TypeError, match=r"^Immigrate\.top_pairs\(\) got an .* 'bye': did you mean by\?$"):
        fastfs.Immigrate().top_pairs(bye="residual")
    with pytest.raises(TypeError, match=r"^GramAccumulator\(\) got an .*'n_feature': did you mean n_features\?$"):
        fastfs.GramAccumulator(n_feature=3)


@together
@pytest.mark.parametrize("name", FUNCTIONS)
def test_misspelt_arguments_of_functions(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an .* 'n_thread': did you mean n_threads\?$"):
        FUNCTIONS[name](X, y, n_thread=1)
    with pytest.raises(TypeError, match=rf"^{name}\(\) missing a required argument: 'X'$"):
        FUNCTIONS[name]()


def test_misspelt_arguments_of_tests():
    for name, call in TESTS.items():
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an .* 'group': did you mean groups\?$"):
            call(X, y, group=y)
    with pytest.raises(TypeError, match=r"^ikdr_path\(\) got an .* 'max_itr': did you mean max_iter\?$"):
        fastfs.ikdr_path(X, y, [1.0], max_itr=3)


# ---------------------------------------------------------------------------------------------------------------- seeds


def public_functions():
    for module in (fastfs, fastfs.tl):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__}.{name}", getattr(module, name)


def test_every_function_with_a_seed_takes_rng():
    seeded = set()
    for name, function in public_functions():
        parameters = inspect.signature(function).parameters
        assert ("rng" in parameters) == ("random_state" in parameters), name
        if "rng" in parameters:
            seeded.add(name)
            assert parameters["rng"].kind is inspect.Parameter.KEYWORD_ONLY, name
            assert str(parameters["rng"]) in ("rng: Any = <random_state>", "rng: 'Any' = <random_state>"), name
            assert re.search(r"\brng\b", function.__doc__), name
    assert {"fastfs.relieff_scores", "fastfs.permutation_test", "fastfs.ikdr", "fastfs.tl.assess"} <= seeded


SEEDED = {
    "a function with options": lambda **seed: fastfs.multisurf_scores(X, y, n_rows=20, **seed),
    "a function with arguments": lambda **seed: (
        fastfs.shuffled_twin(fastfs.ReliefF(), X, y, top=2, **seed).shuffled_scores
    ),
    "a function that passes them on": lambda **seed: fastfs.ikdr_path(X, y, [1.0], n_rows=20, **seed)[0].scores,
}


@pytest.mark.parametrize("call", SEEDED)
def test_rng_is_a_name_of_random_state(call):
    draw = SEEDED[call]
    by_5 = draw(random_state=5)
    assert np.array_equal(draw(rng=5), by_5)
    assert not np.array_equal(by_5, draw())
    assert not np.array_equal(draw(rng=None), draw(rng=None))
    assert np.array_equal(draw(rng=np.random.default_rng(5)), draw(random_state=np.random.default_rng(5)))
    for make in (np.random.SeedSequence, np.random.PCG64):
        assert np.array_equal(draw(rng=make(5)), draw(rng=np.random.default_rng(5)))
    generator = np.random.default_rng(5)
    assert not np.array_equal(draw(rng=generator), draw(rng=generator))
    with pytest.raises(TypeError, match=r"^rng must not be given with random_state, which is the same seed: give one"):
        draw(rng=5, random_state=0)
    with pytest.raises(ValueError, match=r"^rng must be at least 0; got -1$"):
        draw(rng=-1)
    with pytest.raises(TypeError, match=r"^rng must be an integer; got 'x'"):
        draw(rng="x")


def test_rng_of_the_tool_for_cells():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X.astype(np.float32), obs=pd.DataFrame({"state": y}, index=NAMES))
    assess = partial(fastfs.tl.assess, adata, "state", methods=["relieff"], n_repeats=1, copy=True)
    curves = [assess(**seed).uns["assess"] for seed in ({"rng": 5}, {"random_state": 5}, {})]
    assert str(curves[0]) == str(curves[1]) != str(curves[2])
    with pytest.raises(TypeError, match="rng must not be given with random_state"):
        assess(rng=5, random_state=5)


# ------------------------------------------------------------------------------------------------------------ alignment


def misaligned(array):
    """Return a copy of an array that lies one byte beside its elements' places."""
    array = np.asarray(array)
    found = np.ndarray(array.shape, array.dtype, bytearray(array.nbytes + 1), 1)
    found[...] = array
    assert array.dtype.names or not found.flags.aligned
    return found


def misaligned_sparse(matrix, part):
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    parts[part] = misaligned(parts[part])
    found = type(matrix)(matrix.shape, dtype=matrix.dtype)
    for name, array in parts.items():
        setattr(found, name, array)
    return found


SPD = X.T @ X
NUMBERS = X[:, 0].copy()
ARRAYS = {
    "X": (lambda a: fastfs.relieff_scores(a, y), X),
    "y of classes": (lambda a: fastfs.relieff_scores(X, a), np.arange(30) % 2),
    "y of numbers": (lambda a: fastfs.rrelieff_scores(X, a), NUMBERS),
    "y of records": (lambda a: fastfs.rrelieff_scores(X, a), RECORDS),
    "sample_weight": (lambda a: fastfs.relieff_scores(X, y, sample_weight=a), 1 + NUMBERS**2),
    "distances": (lambda a: fastfs.relieff_scores(X, y, distances=a), np.abs(NUMBERS[:, None] - NUMBERS)),
    "w0": (lambda a: fastfs.im4e_scores(X, y, w0=a), np.arange(1.0, 9)),
    "W0": (lambda a: fastfs.immigrate_scores(X, y, W0=a), SPD),
    "K1": (lambda a: fastfs.manifest_from_kernels(a, np.eye(8)), SPD),
    "K2": (lambda a: fastfs.manifest_from_kernels(np.eye(8), a), SPD),
    "sigma": (lambda a: fastfs.manifest_scores(X, y, sigma=a), np.array([1.0, 2.0])),
    "K of projse": (lambda a: fastfs.projse_from_kernels(a, SPD, np.diag(SPD)).scores, SPD),
    "Y of projse": (lambda a: fastfs.projse_scores(X, a), X[:, :3].copy()),
    "X of projse_two_view": (lambda a: fastfs.projse_two_view(a, X[:, :3], n_features_to_select=2)[0].scores, X),
    "ld_clumps": (lambda a: fastfs.ld_clumps(GENOTYPES, a).clump, np.arange(8.0)),
    "start": (lambda a: fastfs.ikdr(X, y, start=a).scores, np.full((30, 2), 1 / 30)),
    "K of ikdr": (lambda a: fastfs.ikdr(a, y, kernel="precomputed").objective, X @ X.T),
    "V": (lambda a: fastfs.affinity_product(X, a, sigma=1.0), np.arange(8.0)),
    "X of affinity": (lambda a: fastfs.affinity(a, sigma=1.0), X),
    "few_valued": (fastfs.few_valued, X),
    "kernel_alignment": (lambda a: np.array(fastfs.kernel_alignment(a, X)), X),
    "covariates": (
        lambda a: fastfs.permutation_test(fastfs.ReliefF(), X, y, covariates=a, n_permutations=19).pvalues,
        X[:, :2].copy(),
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore::fastfs.DataWarning", "ignore:.*converge")
def test_misaligned_arrays(name):
    call, array = ARRAYS[name]
    np.testing.assert_array_equal(call(misaligned(array)), call(array))


@covering(
    call=["projse_scores", "manifest_scores", "relieff_scores", "differential_correlation"],
    part=["data", "indices", "indptr"],
    form=[scipy.sparse.csr_matrix, scipy.sparse.csc_matrix],
)
def test_misaligned_parts_of_sparse_matrices(call, form, part):
    matrix = form(np.where(np.abs(X) > 0.5, X, 0))
    if call == "differential_correlation":
        found, expected = (FUNCTIONS[call](m, y).pairs for m in (misaligned_sparse(matrix, part), matrix))
    else:
        found, expected = (FUNCTIONS[call](m, y) for m in (misaligned_sparse(matrix, part), matrix))
    np.testing.assert_array_equal(found, expected)


# ----------------------------------------------------------------------------------------------------- where it happens


def test_cells_of_named_tables_are_named():
    damaged = TABLE.copy()
    damaged.iloc[3, 4] = np.nan
    for name in ("ManiFeSt", "ReliefF", "IM4E", "ProjSe"):
        with pytest.raises(ValueError, match=r"first at row 3 \('s3'\), column 4 \('e'\): ") as raised:
            SELECTORS[name].fit(damaged, y)
        assert_one_sentence(raised)
    with pytest.raises(ValueError, match=r"first at row 3, column 4 \('e'\)"):
        fastfs.manifest_scores(damaged.reset_index(drop=True), y)
    with pytest.raises(ValueError, match=r"first at row 3 \('s3'\), column 4 \('e'\)"):
        fastfs.permutation_test(fastfs.ReliefF(), damaged, y)
    with pytest.raises(ValueError, match="first at row 3, column 4: "):
        fastfs.manifest_scores(damaged.to_numpy(), y)


def test_events_in_words_and_in_frames():
    words = np.where(RECORDS["event"], "TRUE", "FALSE")
    table = pd.DataFrame({"event": words, "time": RECORDS["time"]})
    with pytest.raises(
        ValueError, match=r"^y must be one column; got a DataFrame.*y\.to_records\(index=False\)"
    ) as raised:
        fastfs.RReliefF().fit(X, table)
    assert_one_sentence(raised)
    expected = fastfs.RReliefF().fit(X, RECORDS).scores_
    assert np.array_equal(fastfs.RReliefF().fit(X, table.to_records(index=False)).scores_, expected)
    with pytest.raises(ValueError, match=r"the field event of y must hold True and False, or 1 and 0"):
        fastfs.RReliefF().fit(X, table.replace("TRUE", "dead").to_records(index=False))


def test_blocks_of_one_label_contribute_nothing():
    blocks = np.repeat(np.arange(10), 3)
    labels = np.where(blocks < 4, 0, np.arange(30) % 2)
    with pytest.warns(fastfs.DataWarning, match="4 of 10 blocks have samples of one label only, so they cont"):
        fastfs.permutation_test(fastfs.ReliefF(n_neighbors=3), X, labels, blocks=blocks, n_permutations=19)


def test_memory_is_said_in_units_for_people():
    wide = scipy.sparse.csr_matrix((30, 20_000_000))
    with pytest.raises(
        MemoryError, match=r"would need 4\.80 GB \(.*, but the memory budget is .*, or use ReliefF or ProjSe"
    ):
        fastfs.IM4E(max_memory="1G").fit(wide, y)


RANKERS = [
    fastfs.ManiFeSt(), fastfs.ProjSe(2), fastfs.Relief(), fastfs.ReliefF(), fastfs.SURF(), fastfs.MultiSURF(),
    fastfs.SWRF(), fastfs.MuRelief(), fastfs.RReliefF(), fastfs.IM4E(), fastfs.Immigrate(), fastfs.DiSC(),
    fastfs.IKDR(2),
]  # fmt: skip


@together
@rotating(1, selector={type(selector).__name__: selector for selector in RANKERS}, dtype=[np.float64, np.int64])
def test_refusals_of_memory_name_the_method_and_what_would_fit(selector, dtype):
    X = np.arange(60 * 30).reshape(60, 30) ** 2 % 97
    y = np.arange(60) % 2
    target = y + X[:, 0] / 97 if isinstance(selector, fastfs.RReliefF) else y
    called, lower = f"{type(selector).__name__}.fit: ", r"raise max_memory \(or FASTFS_MAX_MEMORY\), or \w+"
    with pytest.raises(MemoryError, match=f"^{called}.* needs? .*{lower}") as refused:
        clone(selector).set_params(max_memory=400).fit(X.astype(dtype), target)
    draws = selector.get_params().get("n_rows", 0) is None
    assert ("give n_rows" in str(refused.value)) == draws


@pytest.mark.parametrize(
    "function, more",
    [
        (fastfs.differential_correlation, {"n_permutations": 0}),
        (fastfs.relieff_scores, {}),
        (fastfs.mu_relief_scores, {}),
    ],
)
def test_refusals_of_memory_name_the_function(function, more):
    X = np.arange(60 * 30.0).reshape(60, 30) ** 2 % 97
    with pytest.raises(MemoryError, match=f"^{function.__name__}: .*raise max_memory .*, or give"):
        function(X, np.arange(60) % 2, max_memory=400, **more)


def test_a_refused_copy_of_overlapping_values_does_not_ask_for_floats():
    X = np.broadcast_to(np.arange(30.0), (60, 30))
    with pytest.raises(MemoryError, match=r"a copy of X \(its values overlap .*give X as a contiguous array"):
        fastfs.relieff_scores(X, np.arange(60) % 2, max_memory=400)
