"""A sparse matrix whose structure points outside it is refused by every function, before anything follows it there."""

import json
import os

import pytest

# Each surface runs in a process of its own, which may crash: indexing by SciPy reads, and conversions write, wherever
# indptr and indices point to. These are forks of one that has imported all. Prints the error of each break.
SETUP = """
import json, os, sys, warnings
import anndata
import numpy as np, scipy.sparse as sp
import dask.array as da
import fastfs, fastfs.pl, fastfs.tl
from fastfs import DiSC, IKDR, ManiFeSt, ProjSe

warnings.simplefilter("ignore")
n, d = 40, 30
rng = np.random.default_rng(0)
y = np.arange(n) % 2
MANY = 10**6


def healthy(rows=n, columns=d):
    values = rng.poisson(2.0, size=(rows, columns)).astype(float)
    return sp.csr_matrix(values).asformat(form)


def last(X):
    X.indptr[-1] += MANY


def middle(X):
    X.indptr[15] += MANY


def negative(X):
    X.indptr[15] = -5


def decreasing(X):
    X.indptr[15] = X.indptr[16] + 1


def outside(X):
    X.indices[7] = MANY


def below(X):
    X.indices[7] = -MANY


def short(X):
    X.data = X.data[:-5]


breaks = [last, middle, negative, decreasing, outside, below, short]


def errors(call, make=healthy):
    call(make())  # else the error may be another one
    found = {}
    for change in breaks:
        X = make()
        change(X)
        try:
            call(X)
            found[change.__name__] = "nothing"
        except ValueError as error:
            found[change.__name__] = str(error)
    return found


disc = dict(n_components=3, bandwidth_neighbors=5)


def tool(function, dask=False, **options):
    def call(X):
        adata = anndata.AnnData(healthy(), obs={"group": [f"g{label}" for label in y]})
        if dask:
            adata.X = da.from_array(X, chunks=(n, d), asarray=False)
        else:
            adata.X = X
        function(adata, "group", **options)
    return call


for surface, code in json.loads(sys.argv[1]).items():
    if not (child := os.fork()):
        *before, last_line = code.splitlines()
        for form in ("csr", "csc"):
            exec("\\n".join(before), globals())
            print(json.dumps([surface, form, eval(last_line, globals())]), flush=True)
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        print(json.dumps([surface, "one of both", f"ended with {status}"]), flush=True)
"""

# What is called with a matrix of 40 samples x 30 features.
SURFACES = {
    "DiSC": "errors(lambda X: DiSC(**disc).fit(X, y))",
    "DiSC of chunks": "errors(lambda X: DiSC(**disc).fit(iter([X, healthy()]), np.r_[y, y]))",
    "DiSC.meta_features": "errors(DiSC(**disc).fit(healthy(), y).meta_features)",
    "disc": "errors(lambda X: fastfs.disc([healthy(), X], **disc))",
    "disc of graphs": "good = np.ones((d, d)); good = sp.csr_matrix(good).asformat(form)\n"
    "errors(lambda W: fastfs.disc(graphs=[good, W], **disc | {'bandwidth_neighbors': 30}), good.copy)",
    "nearest_features": "errors(lambda X: fastfs.nearest_features(X, 3))",
    "ManiFeSt": "errors(lambda X: ManiFeSt().fit(X, y))",
    "ManiFeSt of chunks": "errors(lambda X: ManiFeSt().fit(iter([X, healthy()]), np.r_[y, y]))",
    "manifest_scores": "errors(lambda X: fastfs.manifest_scores(X, y))",
    "ProjSe": "errors(lambda X: ProjSe(2).fit(X, y))",
    "projse": "errors(lambda X: fastfs.projse(X, y))",
    "projse_scores": "errors(lambda X: fastfs.projse_scores(X, y))",
    "IKDR": "errors(lambda X: IKDR(kernel=lambda a, b: (a @ b.T).toarray()).fit(X, y))",
    "IKDR.embed": "errors(IKDR(kernel=lambda a, b: (a @ b.T).toarray()).fit(healthy(), y).embed)",
    "differential_correlation": "errors(lambda X: fastfs.differential_correlation(X, y, n_permutations=1))",
    "affinity": "errors(lambda X: fastfs.affinity(X, kernel='linear'))",
    "GramAccumulator": "errors(lambda X: fastfs.GramAccumulator(d).update(X))",
    "transform": "errors(ProjSe(2).fit(healthy(), y).transform)",
    "inverse_transform": "errors(DiSC(d, **disc).fit(healthy(), y).inverse_transform)",
    "permutation_test, DiSC": "errors(lambda X: fastfs.permutation_test(DiSC(**disc), X, y, n_permutations=1))",
    "permutation_test, ProjSe": "errors(lambda X: fastfs.permutation_test(ProjSe(2), X, y, n_permutations=1))",
    "stability": "errors(lambda X: fastfs.stability(ProjSe(2), X, y, n_subsamples=2))",
    "tl.disc": "errors(tool(fastfs.tl.disc, **disc))",
    "tl.manifest": "errors(tool(fastfs.tl.manifest, n_permutations=1))",
    "tl.relieff": "errors(tool(fastfs.tl.relieff, n_neighbors=3))",
    "tl.projse of a mask": "errors(tool(fastfs.tl.projse, mask_var=np.arange(d) < 20))",
    "tl.projse of Dask": "errors(tool(fastfs.tl.projse, dask=True))",
    "pl.group": "model = DiSC(**disc).fit(healthy(), y)\nerrors(lambda X: fastfs.pl.group(model, X, y, np.arange(5)))",
}


def expected(surface, form):
    inner = 29 if form == "csr" or surface == "disc of graphs" else 39
    torn = "the sparse matrix is inconsistent: its indptr, indices and data don't fit each other"
    found = {
        "last": torn,
        "middle": "indptr must not decrease; got a smaller value at position 16",
        "negative": "indptr must not decrease; got a smaller value at position 15",
        "decreasing": "indptr must not decrease; got a smaller value at position 16",
        "outside": f"indices of a sparse matrix must be from 0 to {inner}; got 1000000 at position 7",
        "below": f"indices of a sparse matrix must be from 0 to {inner}; got -1000000 at position 7",
        "short": torn,
    }
    if surface == "tl.projse of Dask":  # it copies its blocks by SciPy's constructor, which finds these two
        found["last"] = "Last value of index pointer should be less than the size of index and data arrays"
        found["short"] = "indices and data should have the same size"
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_broken_structure(python):
    done = python(SETUP, json.dumps(SURFACES))
    assert done.returncode == 0, done.stderr[-2000:]
    found = {(surface, form): errors for surface, form, errors in map(json.loads, done.stdout.splitlines())}
    cases = [(surface, form) for surface in SURFACES for form in ("csr", "csc")]
    assert found == {case: expected(*case) for case in cases}, done.stderr[-2000:]
