"""The three searches for pairs give the same p-values in Python, C, on the command line and in R."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fastfs
from fastfs._inputs.design import Design

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
N, P, N_LABELINGS = 60, 7, 29
G = RNG.binomial(2, 0.4, (N, P))
X = G + 0.01 * RNG.normal(size=(N, P))  # of numbers; G of genotypes
LABELS = (((G[:, 2] == 1) ^ (G[:, 5] == 1)) ^ (RNG.random(N) < 0.1)).astype(np.int64)
NUMBERS = X[:, 2] * X[:, 5] + RNG.normal(size=N)

CHOSEN = [[0, 1], [2, 5], [3, 6], [1, 4], [0, 6]]

# Of each search: the function, its target, whether it takes genotypes, and options of the command line.
SEARCHES = {
    "interaction": (fastfs.interaction_scan, NUMBERS, False, ["pairs", "--kind", "interaction", "--targets", "y"]),
    "chosen interactions": (
        lambda X, y, **how: fastfs.interaction_scan(X, y, pairs=CHOSEN, **how), NUMBERS, False,
        ["pairs", "--kind", "interaction", "--targets", "y", "--pairs", "chosen.tsv"],
    ),
    "correlation": (fastfs.differential_correlation, LABELS, False, ["pairs", "--label", "y"]),
    "genotypes": (fastfs.snp_pairs, LABELS, True, ["snp-pairs", "--label", "y"]),
    "genotypes of numbers": (
        lambda X, y, **how: fastfs.snp_pairs(X, y, coding="genotypic", **how), NUMBERS, True,
        ["snp-pairs", "--coding", "genotypic", "--targets", "y"],
    ),
}  # fmt: skip


def of_python(search):
    find, y, has_genotypes, _ = SEARCHES[search]
    found = find(G if has_genotypes else X, y, n_permutations=N_LABELINGS, random_state=3)
    return found.pairs.tolist(), found.pvalues_max.tolist()


@pytest.mark.parametrize("search", SEARCHES)
def test_the_command_line(search, inside, tmp_path):
    _, y, has_genotypes, (command, *options) = SEARCHES[search]
    table = pd.DataFrame(G if has_genotypes else X, columns=list("abcdefg")).assign(y=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "chosen.tsv").write_text("".join(f"{'abcdefg'[b]}\t{'abcdefg'[a]}\n" for a, b in CHOSEN))
    options += ["--permutations", str(N_LABELINGS), "--seed", "3", "--out", "p.json"]
    finished = inside(command, "t.csv", *options, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    rows = json.loads((tmp_path / "p.json").read_text())["ranking"]
    assert ([[r["index_a"], r["index_b"]] for r in rows], [r["pvalue_max"] for r in rows]) == of_python(search)


# Reads from stdin, and prints the pairs and p-values of a search: n, p, the number of labelings, values row by row (of
# genotypes the copies), the target, and its labelings.
PROGRAM = r"""
#include <fastfs/fastfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *read_numbers(size_t n) {
    double *values = malloc(8 * n);
    for (size_t i = 0; i < n; ++i) if (scanf("%lf", values + i) != 1) exit(3);
    return values;
}
static int64_t *as_labels(const double *values, size_t n) {
    int64_t *labels = malloc(8 * n);
    for (size_t i = 0; i < n; ++i) labels[i] = (int64_t)values[i];
    return labels;
}
static void print(int64_t n, const int64_t *pairs, const double *pvalues) {
    for (int64_t k = 0; k < n; ++k)
        printf("%d %d %.17g\n", (int)pairs[2 * k], (int)pairs[2 * k + 1], pvalues[k]);
}
int main(int argc, char **argv) {
    const double *sizes = read_numbers(3);
    const size_t n = (size_t)sizes[0], p = (size_t)sizes[1], b = (size_t)sizes[2];
    const double *values = read_numbers(n * p), *y = read_numbers(n), *draws = read_numbers(b * n);
    const int64_t *labels = as_labels(y, n), *labelings = as_labels(draws, b * n);
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.n_rows = (int64_t)n, X.n_cols = (int64_t)p;
    unsigned char *bits = calloc(p, (n + 3) / 4);
    if (strncmp(argv[1], "genotypes", 9) == 0) {
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < p; ++j) {
                const double copies = values[i * p + j];
                const int code = copies == 2 ? 0 : copies == 1 ? 2 : 3;
                bits[j * ((n + 3) / 4) + i / 4] |= (unsigned char)(code << 2 * (i % 4));
            }
        X.storage = FASTFS_GENOTYPE, X.values = bits;
        X.col_stride = (int64_t)(n + 3) / 4;
    } else {
        X.storage = FASTFS_DENSE, X.dtype = FASTFS_FLOAT64, X.values = values;
        X.row_stride = (int64_t)p, X.col_stride = 1;
    }
    fastfs_fitted *fitted = NULL;
    fastfs_status status = FASTFS_EINVAL;
    const int64_t first[] = {0, 0, 1, 2, 3}, second[] = {1, 6, 4, 5, 6};  /* CHOSEN, in ascending order */
    const int chosen = strcmp(argv[1], "chosen interactions") == 0;
    if (chosen || strcmp(argv[1], "interaction") == 0) {
        fastfs_interaction_options o = FASTFS_INTERACTION_OPTIONS_INIT;
        fastfs_interaction_result r = FASTFS_INTERACTION_RESULT_INIT;
        o.y_permutations = draws, o.n_labelings = (int64_t)b;
        if (chosen) o.first_of_pairs = first, o.second_of_pairs = second, o.n_chosen = 5;
        status = fastfs_interaction_scan(&X, NULL, NULL, y, &o, NULL, &r, &fitted);
        if (status == FASTFS_OK) print(r.n_pairs, r.pairs, r.pvalues);
    } else if (strcmp(argv[1], "correlation") == 0) {
        fastfs_differential_correlation_options o = FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT;
        fastfs_differential_correlation_result r = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
        o.labelings = labelings, o.n_labelings = (int64_t)b;
        status = fastfs_differential_correlation(&X, labels, &o, NULL, &r, &fitted);
        if (status == FASTFS_OK) print(r.n_pairs, r.pairs, r.pvalues);
    } else {
        const int is_number = strcmp(argv[1], "genotypes") != 0;
        fastfs_snp_pairs_options o = FASTFS_SNP_PAIRS_OPTIONS_INIT;
        fastfs_snp_pairs_result r = FASTFS_SNP_PAIRS_RESULT_INIT;
        o.n_labelings = (int64_t)b;
        if (is_number) o.y = y, o.y_permutations = draws;
        else o.labelings = labelings;
        status = fastfs_snp_pairs(&X, is_number ? NULL : labels, &o, NULL, &r, &fitted);
        if (status == FASTFS_OK) print(r.n_pairs, r.pairs, r.pvalues);
    }
    if (status != FASTFS_OK) puts(fastfs_last_error());
    fastfs_fitted_free(fitted);
    return status != FASTFS_OK;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc")
    assert compiler, "building fastfs has needed a compiler, so there must be one"
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "pairs.c").write_text(PROGRAM)
    include = Path(fastfs.get_include())
    library = Path(fastfs.__file__).parent / "lib"
    subprocess.run(
        [compiler, folder / "pairs.c", f"-I{include}", f"-L{library}", "-lfastfs", f"-Wl,-rpath,{library}",
         "-o", folder / "pairs"], check=True,
    )  # fmt: skip
    return folder / "pairs"


@pytest.mark.parametrize("search", SEARCHES)
def test_c(search, program):
    _, y, has_genotypes, _ = SEARCHES[search]
    design = Design(y, n_permutations=N_LABELINGS, seed=3, shuffled=y is LABELS)
    draws = design.labelings(0, N_LABELINGS)
    numbers = [[N, P, N_LABELINGS], (G if has_genotypes else X).ravel(), y, np.asarray(draws).ravel()]
    given = " ".join(repr(float(value)) for part in numbers for value in part)
    finished = subprocess.run([program, search], input=given, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    rows = [line.split() for line in finished.stdout.splitlines()]
    assert ([[int(a), int(b)] for a, b, _ in rows], [float(row[2]) for row in rows]) == of_python(search)


def test_r_compares_the_p_values_of_each_search():
    """`r/check.sh` runs these calls in R, and compares their results with Python's without a tolerance."""
    reference = (ROOT / "r" / "reference.py").read_text()
    for search in ("differential_correlation(", "interaction_scan(", "pairs = cbind(", "snp_pairs("):
        calls = [line for line in reference.split('\n    ("') if search in line.split("lambda")[0]]
        exact = [call for call in calls if "pvalues_max" in call.split("lambda")[0] and call.rstrip().endswith("0),")]
        assert exact, search
