"""What pairs of SNPs refuse or leave out, and the words they have for it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import fastfs
from covering import together
from fastfs._machine.run import Run, load_core
from fastfs.io import pack_genotypes
from sentences import assert_one_sentence

X = np.random.default_rng(0).integers(0, 3, (20, 6)).astype(float)
y = np.repeat(["a", "b"], 10)


def compare(X=X, y=y, **parameters):
    return fastfs.snp_pairs(X, y, **({"n_permutations": 9} | parameters))


@pytest.mark.parametrize("design", ["blocks", "groups", "covariates"])
def test_a_design_needs_permutations(design):
    with pytest.raises(ValueError, match=f"n_permutations must be above 0 with {design}; got 0"):
        fastfs.snp_pairs(X, y, **{design: np.arange(len(y)) % 5})


@together
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"y": ["a"] * 20}, ValueError, "at least two classes; got one class"),
        ({"y": ["a", "b", "c", "d"] * 5}, ValueError, "between two classes; got 4, a, b, c and 1 more"),
        ({"y": [1, 2] * 9 + [np.nan, 2]}, ValueError, "no label for 1 of 20 samples, first for sample 18: drop them"),
        ({"y": np.linspace(0, 1, 20), "target_type": "class"}, ValueError, "continuous"),
        ({"y": y[:-1]}, ValueError, "one label for each of the 20 samples"),
        ({"y": None}, ValueError, "y"),
        ({"X": X[:, :1]}, ValueError, "X must have two SNPs or more"),
        ({"snps": []}, ValueError, "snps must name at least two columns, which make a pair; got 0"),
        ({"snps": [3]}, ValueError, "at least two columns"),
        ({"snps": [3, 6]}, ValueError, "column numbers from 0 to 5"),
        ({"snps": ["u", "v"]}, ValueError, "isn't a column name"),
        ({"snps": [[1], [2, 3]]}, ValueError, "snps holds [1], which isn't a column name"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 1"),
        ({"n_pairs": 1.5}, TypeError, "n_pairs must be an integer"),
        ({"n_permutations": -1}, ValueError, "n_permutations must be at least 0"),
        ({"n_permutations": "auto"}, TypeError, "n_permutations must be an integer"),
        ({"blocks": ["u"] * 19}, ValueError, "blocks must have one value for each of the 20 samples"),
        ({"blocks": y}, ValueError, "confounded"),
        ({"X": np.ones((20, 6))}, ValueError, "two SNPs or more that vary; got 0 of 6"),
        ({"X": np.full((20, 6), np.nan)}, ValueError, "two SNPs or more that vary; got 0 of 6"),
        ({"X": X / 2}, ValueError, "dosages"),
        ({"X": 2 * X}, ValueError, "genotypes must be 0, 1 or 2"),
        ({"X": X[:, :0]}, ValueError, "at least one sample and one feature; got 20 x 0"),
        ({"X": [["u"] * 6] * 20}, ValueError, "must hold numbers"),
        ({"X": X[0]}, ValueError, "2-D"),
        ({"X": scipy.sparse.csr_matrix(X)}, TypeError, "genotypes must be dense"),
        ({"X": pd.DataFrame(X).astype(pd.SparseDtype(float, 0))}, TypeError, "genotypes must be dense"),
    ],
)
def test_refused(change, error, words):
    with pytest.raises(error) as caught:
        compare(**change)
    assert_one_sentence(caught, words)


def test_a_name_of_several_snps_chooses_none_of_them():
    G = pack_genotypes(X, names=["a", "a", "b", "c", "d", "e"])
    assert compare(G, snps=["b", "e"]).pairs.tolist() == [[2, 5]]
    with pytest.raises(ValueError, match="snps holds 'a', the name of 2 columns: give their numbers") as caught:
        compare(G, snps=["a", "b"])
    assert_one_sentence(caught)


def test_a_path_is_its_genotypes(tmp_path):
    G = pack_genotypes(X)
    (tmp_path / "toy.bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
    (tmp_path / "toy.bim").write_text("".join(f"1 rs{j} 0 {j} A G\n" for j in range(6)))
    (tmp_path / "toy.fam").write_text("".join(f"f s{i} 0 0 0 1\n" for i in range(20)))
    found, expected = compare(tmp_path / "toy.bed"), compare(G)
    assert found.names.tolist() == [[f"rs{j}" for j in pair] for pair in expected.pairs.tolist()]
    np.testing.assert_array_equal(found.statistics, expected.statistics)


def test_numbers_are_refused_by_the_core():
    with pytest.raises(ValueError, match=r"X must be genotypes of two bits .*got storage 0"):
        load_core().snp_pairs(X, np.arange(20) % 2, {}, Run())


def test_snps_without_two_genotypes_are_left_out():
    table = X.copy()
    table[:, 2], table[:, 4] = 1, np.nan
    table[3, 2] = np.nan
    with pytest.warns(fastfs.DataWarning, match="2 SNPs have fewer than two genotypes and are left out: columns 2, 4"):
        found = compare(table)
    assert found.excluded_features.tolist() == [2, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = compare(table[:, [0, 1, 3, 5]])
    np.testing.assert_array_equal(found.statistics, rest.statistics)
    np.testing.assert_array_equal(found.pvalues_max, rest.pvalues_max)
    assert found.pairs.tolist() == np.array([0, 1, 3, 5])[rest.pairs].tolist()
    assert found.n_tested == rest.n_tested == 6
    with pytest.warns(fastfs.DataWarning, match="1 SNP has fewer than two genotypes and is left out: column 'rs1'"):
        compare(pack_genotypes(np.column_stack([X, X[:, 0] * 0]), names=[f"rs{j}" for j in (9, 2, 3, 4, 5, 6, 1)]))


def test_a_sample_without_calls_counts_in_no_table():
    table = np.vstack([X, np.full(6, np.nan)])
    found, expected = compare(table, [*y, "a"], n_permutations=0), compare(n_permutations=0)
    np.testing.assert_array_equal(found.tables, expected.tables)
    np.testing.assert_array_equal(found.statistics, expected.statistics)


def test_snps_without_common_calls_make_no_pair():
    table = X.copy()
    table[:10, 0] = table[10:, 1] = np.nan
    found = compare(table)
    assert [0, 1] not in found.pairs.tolist()
    assert (len(found.pairs), found.n_tested) == (14, 15)


def test_copies_have_nothing_to_interact():
    table = np.column_stack([X[:, 0], X[:, 0], 2 - X[:, 0]])
    found = compare(table)
    assert found.degrees.tolist() == [4, 4, 4]
    np.testing.assert_allclose(found.statistics, 0, atol=1e-9)
    assert found.pvalue == 1


def test_names_of_a_table():
    found = compare(pd.DataFrame(X, columns=list("uvwxyz")), snps=["z", "v", "x"])
    assert sorted(map(tuple, found.names.tolist())) == [("v", "x"), ("v", "z"), ("x", "z")]
    assert compare().names is None
