"""Freeze the results of every method before a change of structure, and compare them after it, to the bit.

    python -m tests.project.frozen write FILE
    python -m tests.project.frozen compare FILE

Each method runs in all of its forms, in both precisions, on dense and sparse data, random and real (if FASTFS_TEST_DATA
names them), with every instruction set of an x86-64 machine, on one and two threads. FILE holds a digest of each array
that a fit leaves behind, and the message of every bad parameter. Digests depend on the BLAS and on the processor, so a
file serves on one machine only, and none is kept in the repository.
"""

import hashlib
import itertools
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def digest(value):
    """Of an array, a number, a sparse matrix, or a list or dataclass of them; None for anything else."""
    if hasattr(value, "tocsr"):
        value = value.tocsr()
        return digest([value.data, value.indices.astype(np.int64), value.indptr.astype(np.int64)])
    if isinstance(value, list | tuple):
        return [digest(v) for v in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: digest(getattr(value, name)) for name in sorted(value.__dataclass_fields__)}
    if value is None or isinstance(value, str | bool | int | float | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        value = np.ascontiguousarray(value)
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    return None


def fitted(estimator):
    found = vars(estimator)
    return {name: digest(found[name]) for name in sorted(found) if name.endswith("_") and not name.startswith("_")}


def tables():
    """Name, X and y: random ones in all storages, and real ones."""
    rng = np.random.default_rng(5)
    y = rng.permutation(np.repeat([0, 1, 2], (18, 22, 20)))
    X = rng.normal(size=(60, 90)) + 3
    X[y == 1, :12] += rng.normal(size=(22, 1))
    X[:, 40] = X[:, 3]
    X[:, 41] = 2.0
    counts = rng.poisson(0.3, size=(60, 90)).astype(float)
    counts[y == 2, 20:30] += rng.poisson(2.0, size=(20, 1))
    names = np.array(["a", "b", "c"])
    yield "f64", X, names[y]
    yield "f32", X.astype(np.float32), names[y]
    yield "two f64", X[y < 2], y[y < 2]
    yield "fortran f32", np.asfortranarray(X.astype(np.float32))[:, ::2], y
    yield "counts", counts, y
    yield "csr f64", sp.csr_matrix(counts), y
    yield "csc f32", sp.csc_matrix(counts.astype(np.float32)), y
    folder = os.environ.get("FASTFS_TEST_DATA")
    for name in ("colon", "wine", "sc_pbmc68k_reduced", "glass") if folder else ():
        with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as data:
            if "indptr" in data:
                parts = data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"]
                yield name, sp.csr_matrix(parts, shape=tuple(data["shape"])), data["y"]
            else:
                yield name, data["X"].astype(float), data["y"]


MANIFEST = [
    {"form": form, "accuracy": accuracy, "multiclass": multiclass, "normalize": times, "n_components": 2, "rank": 20}
    for form, accuracy, multiclass, times in (
        ("pencil", "exact", "ovr", 0),
        ("pencil", "exact", "ovo", 3),
        ("spd", "exact", "ovr", 0),
        ("spsd", "exact", "ovr", 0),
        ("pencil", "low_rank", "ovr", 0),
        ("pencil", "low_rank", "ovo", 2),
        ("pencil", "low_rank_high", "ovr", 0),
    )
] + [{"sigma": "grid", "accuracy": "exact"}, {"sigma": "percentile", "sigma_percentile": 30.0, "accuracy": "exact"}]
PROJSE = [
    {"kernel": kernel, "center": center, "normalize": normalize}
    for kernel, center, normalize in (
        ("linear", False, True),
        ("linear", True, True),
        ("linear", False, False),
        ("poly", False, True),
        ("rbf", True, True),
    )
]
DISC = [
    {"n_components": 4, "bandwidth_neighbors": 6, "n_vectors": 3, "n_neighbors": 8} | extra
    for extra in (
        {"graph": "dense"},
        {"graph": "knn"},
        {"graph": "dense", "density": 0.5, "constant": "project", "n_groups": 3},
        {"graph": "dense", "n_differential": 2},
    )
]
IKDR = [
    {"max_iter": 15} | extra
    for extra in (
        {},
        {"n_components": 4, "lam": 0.5, "tau": 10.0, "zeta": 5.0, "interpretability": "distance"},
        {"solver": "admm", "tau": 10.0, "zeta": 10.0, "width": "mean"},
        {"width": 3.0, "scaling": None},
        {"groups": "third"},
    )
]


def relief_cases(fit):
    """The RELIEF family in each way its sums are formed: on bits or sparse rows, with gaps, draws, lists or blocks."""
    from fastfs.io import pack_genotypes

    rng = np.random.default_rng(7)
    n = 300
    X = rng.normal(size=(n, 24)).astype(np.float32)
    y = rng.integers(0, 3, n)
    X[y == 1, :3] += 1
    times = np.empty(n, dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = rng.random(n) < 0.7, np.exp(X[:, 0] + rng.normal(size=n))
    gaps = np.where(rng.random(X.shape) < 0.05, np.float32("nan"), X)
    gaps[:, ::4] = X[:, ::4]
    G = rng.binomial(2, 0.3, (n, 70)).astype(float)
    G_gaps = np.where(rng.random(G.shape) < 0.05, np.nan, G)
    G_gaps[:, ::4] = G[:, ::4]
    tables = {
        "dense": X,
        "gaps": gaps,
        "wide gaps": gaps.astype(float),
        "csr": sp.csr_matrix(np.where(X > 0.5, X, 0)),
        "bits": pack_genotypes(G),
        "bits gaps": pack_genotypes(G_gaps),
    }
    methods = {
        "Relief": ({}, y),
        "ReliefF": ({"n_neighbors": 5}, y),
        "MultiSURF": ({}, y),
        "SURF": ({"far": True}, y),
        "SWRF": ({"far": True, "dead_band": 0.2}, y),
        "MuRelief": ({"n_neighbors": 5}, y),
        "RReliefF": ({"n_neighbors": 5, "sigma": 3.0}, X[:, 1]),
        "RReliefF survival": ({"n_neighbors": 80}, times),
        "ReliefF number": ({"n_neighbors": 5, "target_type": "number"}, X[:, 1].astype(float)),
    }
    forms = {
        "": {},
        "drawn": {"n_targets": 20},
        "one": {"n_targets": 1},
        "class": {"missing": "class"},
        "weights": {"sample_weight": rng.integers(1, 4, n).astype(float)},
        "distances": {"distances": np.abs(X[:, :1] - X[:, :1].T).astype(float)},
        "blocks": {"max_memory": 2_600_000},
    }
    for (method, (parameters, target)), (table, data), (form, extra) in itertools.product(
        methods.items(), tables.items(), forms.items()
    ):
        cls = method.split()[0]
        if cls == "Relief" and (table != "dense" or form in ("class", "distances")):
            continue
        of_fit = {name: extra[name] for name in ("sample_weight", "distances") if name in extra}
        given = parameters | {name: value for name, value in extra.items() if name not in of_fit}
        if "gaps" in table and form != "class":
            given["missing"] = "ignore"
        yield f"family {method} {table} {form}", fit(cls, data, target, of_fit=of_fit, **given)
    yield "family relief closed form drawn", fit("Relief", X, y, closed_form=True, n_targets=20)
    for table in ("dense", "csr"):
        for cls in ("Relief", "ReliefF"):
            yield f"family stream {cls} {table}", fit(cls, in_blocks_of(tables[table], 70), y, n_targets=40)


def in_blocks_of(X, size):
    """A function that returns an iterator of blocks of rows."""
    return lambda: (X[first : first + size] for first in range(0, X.shape[0], size))


def cases():
    """Name, and a call that returns what it found."""
    import fastfs

    def fit(cls, X, y, of_fit=None, **parameters):
        return lambda: fitted(getattr(fastfs, cls)(**parameters).fit(X, y, **(of_fit or {})))

    yield from relief_cases(fit)

    for name, X, y in tables():
        sparse, wide = hasattr(X, "tocsr"), X.shape[1] > 300
        dense = X.toarray() if sparse else X
        small = dense[:120, :80] if sparse and wide else dense[:200]
        y_small = y[: len(small)]
        for n, parameters in enumerate(MANIFEST):
            if not wide or parameters.get("accuracy") != "exact":
                yield f"manifest {n} {name}", fit("ManiFeSt", X, y, **parameters)
        for n, parameters in enumerate(PROJSE):
            yield f"projse {n} {name}", fit("ProjSe", X, y, **parameters)
            if not sparse:
                yield f"projse numbers {n} {name}", fit("ProjSe", X, dense[:, -3:] @ np.ones((3, 2)), **parameters)
                yield f"projse none {n} {name}", fit("ProjSe", X, None, **parameters)
        for n, parameters in enumerate(DISC):
            if not wide or parameters["graph"] == "knn":
                yield f"disc {n} {name}", fit("DiSC", X, y, **parameters)
        if not sparse:
            yield f"disc scaled {name}", fit("DiSC", X, y, **DISC[1], scaling="standard")
        for scaling in ("range", "standard", None):
            yield f"relief {scaling} {name}", fit("Relief", small, y_small, scaling=scaling)
            yield f"relieff {scaling} {name}", fit("ReliefF", small, y_small, scaling=scaling, n_neighbors=4)
            yield f"multisurf {scaling} {name}", fit("MultiSURF", small, y_small, scaling=scaling)
            yield f"surf {scaling} {name}", fit("SURF", small, y_small, scaling=scaling, far=True)
            yield f"swrf {scaling} {name}", fit("SWRF", small, y_small, scaling=scaling)
            yield f"murelief {scaling} {name}", fit("MuRelief", small, y_small, scaling=scaling)
            yield f"rrelieff {scaling} {name}", fit("RReliefF", small, small[:, 0], scaling=scaling)
            yield f"im4e {scaling} {name}", fit("IM4E", small, y_small, scaling=scaling)
        yield f"relief closed form {name}", fit("Relief", small, y_small, closed_form=True)
        yield f"relief targets {name}", fit("Relief", small, y_small, n_targets=9)
        columns = small[:, :150]
        for n, parameters in enumerate(
            ({}, {"prefilter": "im4e"}, {"sigma": 2.0, "clip": True}, {"smallest": "auto"}, {"prefilter": None})
        ):
            yield f"immigrate {n} {name}", fit("Immigrate", columns, y_small, **parameters)
        yield f"immigrate prefilter {name}", fit("Immigrate", small[:40], y_small[:40])
        for n, parameters in enumerate(IKDR):
            if not (wide and parameters.get("solver") == "admm"):
                if "groups" in parameters:
                    parameters = parameters | {"groups": np.arange(small.shape[1]) // 3}
                yield f"ikdr {n} {name}", fit("IKDR", small[:80], y_small[:80], **parameters)
        first = small[:, :500], y_small == y_small[0]
        for kind in ("pearson", "spearman"):
            yield (
                f"differential correlation {kind} {name}",
                lambda first=first, kind=kind: digest(
                    fastfs.differential_correlation(*first, correlation=kind, n_permutations=9)
                ),
            )
        genotypes = np.digitize(small[:, :150], [-0.5, 0.5])
        yield (
            f"snp pairs {name}",
            lambda G=genotypes, y=first[1]: digest(fastfs.snp_pairs(G, y, n_permutations=9)),
        )
        if not wide:
            labels = np.unique(y, return_inverse=True)[1]
            yield f"affinity {name}", lambda X=X: digest(fastfs.affinity(X, sigma=4.0))
            yield (
                f"product {name}",
                lambda X=X: digest(fastfs.affinity_product(X, np.ones((X.shape[1], 2)), kernel="linear")),
            )
            yield f"nearest {name}", lambda X=X: digest(fastfs.nearest_features(X, 5))
            yield (
                f"permutations {name}",
                lambda X=X, labels=labels: digest(
                    fastfs.permutation_test(fastfs.ReliefF(n_neighbors=3), small_of(X), labels, n_permutations=19)
                ),
            )


BAD_VALUES = (-1, 0, 0.5, 1 << 70, float("nan"), float("inf"), "nonsense", None, True, [], b"bytes", np.ones(3))
BAD_TABLES = {
    "NaN": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 77, np.nan, X), y),
    "infinity": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 77, np.inf, X), y),
    "huge": lambda X, y: (X * 1e300, y),
    "constant": lambda X, y: (np.ones_like(X), y),
    "zeros": lambda X, y: (np.zeros_like(X), y),
    "one column": lambda X, y: (X[:, :1], y),
    "no columns": lambda X, y: (X[:, :0], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "one class": lambda X, y: (X, np.zeros_like(y)),
    "one sample in a class": lambda X, y: (X, np.arange(len(y)) == 3),
    "short y": lambda X, y: (X, y[:-1]),
    "1-D": lambda X, y: (X[0], y),
    "3-D": lambda X, y: (X[None], y),
    "complex": lambda X, y: (X + 1j, y),
}


def bad_calls():
    """Name, and a call that mostly fails: every parameter of every estimator, and tables that no method takes."""
    import fastfs

    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(24, 12)), np.arange(24) % 2
    for cls in (fastfs.ManiFeSt, fastfs.ProjSe, fastfs.Relief, fastfs.ReliefF, fastfs.MultiSURF, fastfs.SURF,
                fastfs.SWRF, fastfs.MuRelief, fastfs.RReliefF, fastfs.IM4E, fastfs.Immigrate, fastfs.DiSC,
                fastfs.IKDR):  # fmt: skip
        base = {"n_components": 2, "bandwidth_neighbors": 3} if cls is fastfs.DiSC else {}
        for name in cls().get_params():
            for n, value in enumerate(BAD_VALUES):
                if name == "verbose" or (name == "random_state" and value is None):
                    continue  # prints, and differs from run to run
                estimator = cls(**(base | {name: value}))
                yield f"{cls.__name__} {name} {n}", lambda e=estimator: fitted(e.fit(X, y))
        for name, spoil in BAD_TABLES.items():
            estimator = cls(**base)
            yield f"{cls.__name__} {name}", lambda e=estimator, spoil=spoil: fitted(e.fit(*spoil(X, y)))


def small_of(X):
    return X.toarray() if hasattr(X, "tocsr") else X


def run():
    """Every case of this process, as JSON on standard output."""
    results = {}
    warnings.simplefilter("ignore")
    for name, call in itertools.chain(cases(), bad_calls()):
        try:
            results[name] = call()
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
    json.dump(results, sys.stdout)


def everywhere():
    """The cases on every instruction set and on one and two threads."""
    found = {}
    for isa in ("base", "avx2", "avx512"):
        for threads in ("1", "2"):
            environment = os.environ | {"FASTFS_ISA": isa, "FASTFS_NUM_THREADS": threads}
            finished = subprocess.run(
                [sys.executable, __file__, "run"], env=environment, stdout=subprocess.PIPE, text=True, check=False
            )
            if finished.returncode:
                sys.exit(f"{isa} on {threads} threads ended with {finished.returncode}")
            found |= {f"{isa} {name}": result for name, result in json.loads(finished.stdout).items()}
            for name, result in json.loads(finished.stdout).items():
                if found[f"{isa} {name}"] != result:
                    sys.exit(f"{isa} {name}: one and two threads differ")
    return found


def main(command, file=None):
    if command == "run":
        run()
    elif command == "write":
        Path(file).write_text(json.dumps(everywhere(), indent=0, sort_keys=True), encoding="utf-8")
    elif command == "compare":
        before, after = json.loads(Path(file).read_text(encoding="utf-8")), everywhere()
        changed = sorted(name for name in before if after.get(name) != before[name])
        for name in changed:
            print(name, before[name], after.get(name), sep="\n    ")
        print(f"{len(before)} cases, {len(changed)} changed")
        sys.exit(bool(changed))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
