"""All pairs of features against the oracle: affinity, affinity_product, GramAccumulator.

The error bounds are those that rounding error analysis gives for the documented algorithm, not measured ones. With
u = eps / 2, c_i the i-th column minus the row shifts (sparse input: the column itself) and n_i = |c_i|^2:

* rounding each entry of c once moves |c_i - c_j|^2 by at most 4 u (n_i + n_j);
* a dot product of N terms is off by at most N u |c_i| |c_j| in any order of summation, so that n_i, n_j and the Gram
  entry bring in 2 N u (n_i + n_j);
* storing and adding n_i, n_j and -2 G_ij, and rounding the result: at most 6 u (n_i + n_j);
* the oracle, which sums N squared differences, is off by at most (N + 2) u D2 <= (2 N + 4) u (n_i + n_j).

Together (2 N + 7) eps (n_i + n_j) to first order; `distance_bound` has 2 N + 8.
"""

import ctypes
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fastfs
from covering import covering, rotating, together
from reference import affinity as oracle
from reference.kernels import SIGNATURE, as_c_function

DTYPES = [np.float32, np.float64]
KERNELS = ["rbf", "sqeuclidean", "linear"]
EXACT = {"rbf": oracle.rbf, "sqeuclidean": oracle.sqeuclidean, "linear": oracle.linear}


def data(n, d, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def with_sigma(kernel, sigma=2.0):
    return {"kernel": kernel, "sigma": sigma} if kernel == "rbf" else {"kernel": kernel}


def distance_bound(norms, n_terms, eps):
    return (2 * n_terms + 8) * eps * (norms[:, None] + norms)


def row_shift(row):
    """What nearly all values of a row share: the median of five of them, or of 256, unless more than 1/16 of the values
    are 16 times smaller, or no more than half are close to it."""
    sample = row[:: -(-len(row) // 256)]
    for of in (row[np.arange(5) * (len(row) - 1) // 4], sample):
        offset = np.sort(of)[len(of) // 2]
        shared = np.mean(16 * np.abs(sample) < abs(offset)) <= 1 / 16
        if shared and np.mean(2 * np.abs(sample - offset) < abs(offset)) > 1 / 2:
            return offset
    return 0.0


def bound(X, kernel, eps, sigma=2.0, *, n_terms=None, extra=0.0):
    """How far two computations of the kernel may be apart; `extra` eps (n_i + n_j) are added for distances."""
    if sp.issparse(X):
        magnitudes = abs(X).toarray().astype(float)  # duplicate entries add up in magnitude
        centred = magnitudes
    else:
        X = np.asarray(X, dtype=float)
        few = X.shape[1] <= 8 and eps == np.finfo(float).eps  # no offset is looked for
        magnitudes, centred = np.abs(X), X if few else X - np.array([row_shift(row) for row in X])[:, None]
    n_terms = n_terms or X.shape[0]
    if kernel == "linear":  # N u |x_i|'|x_j| on both sides, and two roundings to store
        return (n_terms + 2) * eps * (magnitudes.T @ magnitudes)
    norms = (centred**2).sum(axis=0)
    distances = distance_bound(norms, n_terms, eps) + extra * eps * (norms[:, None] + norms)
    if kernel == "sqeuclidean":
        return distances
    # exp(-a) has slope at most 1; then a relative error of 2 u in its argument a, at most 2 u / e, and 2 ulp of exp.
    return distances / (2 * sigma**2) + 4 * eps


def assert_right(X, result, kernel, sigma=2.0, **how):
    dense = oracle.as_dense(X)
    exact = EXACT[kernel](dense, sigma) if kernel == "rbf" else EXACT[kernel](dense)
    error = np.abs(result - exact)
    # What is below the smallest normal number of the result may be 0.
    allowed = bound(X, kernel, np.finfo(result.dtype).eps, sigma, **how) + np.finfo(result.dtype).tiny
    assert np.all(error <= allowed), (error / np.maximum(allowed, np.finfo(float).tiny)).max()


def assert_well_formed(K, kernel):
    np.testing.assert_array_equal(K, K.T)
    if kernel != "linear":
        np.testing.assert_array_equal(np.diag(K), 1.0 if kernel == "rbf" else 0.0)


# ---------------------------------------------------------------------------------------------------------------- dense


@covering(d=[1, 2, 23, 25, 47, 49, 191, 192, 193, 385, 600], n=[1, 37], dtype=DTYPES, kernel=KERNELS)
def test_shapes(d, n, dtype, kernel):
    X = data(n, d, dtype)
    K = fastfs.affinity(X, **with_sigma(kernel))
    assert K.dtype == dtype
    assert K.shape == (d, d)
    assert_well_formed(K, kernel)
    assert_right(X, K, kernel)


@pytest.mark.parametrize("n", [16383, 16385])
def test_many_samples(n):
    # Across the borders of a checkpoint (8192 samples) and of float32 tiles (16384).
    X = data(n, 3, np.float32)
    assert_right(X, fastfs.affinity(X, kernel="sqeuclidean"), "sqeuclidean")


@given(
    arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(1, 12), st.integers(1, 30)),
        elements=st.floats(-1000, 1000, width=32),
    ),
    st.sampled_from(KERNELS),
    st.sampled_from("CF"),
    st.integers(1, 3),
)
def test_any_values(X, kernel, order, n_threads):
    X = np.asarray(X, order=order)
    sigma = 100.0
    K = fastfs.affinity(X, **with_sigma(kernel, sigma), n_threads=n_threads)
    assert_well_formed(K, kernel)
    assert_right(X, K, kernel, sigma)


LAYOUTS = {
    "fortran": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "every third row": lambda X: np.repeat(X, 3, axis=0)[::3],
    "window": lambda X: np.pad(X, ((1, 2), (3, 1)))[1:-2, 3:-1],
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "field of a record": lambda X: np.stack([X, -X], axis=-1)[..., 0],
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "list": lambda X: X.tolist(),
}


def unaligned(X):
    raw = np.empty(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


def unpickled(X):  # what a worker process gets; its dtype object isn't the one of this process
    import pickle

    return pickle.loads(pickle.dumps(X))


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS |= {
    "unaligned": unaligned,
    "unpickled": unpickled,
    "read-only": read_only,
    "dtype with metadata": lambda X: X.astype(np.dtype(X.dtype, metadata={"unit": "mV"})),
}


@rotating(1, layout=LAYOUTS.keys(), dtype=DTYPES)
def test_layouts(layout, dtype):
    X = data(9, 300, dtype)
    before = X.copy()
    K = fastfs.affinity(LAYOUTS[layout](X), sigma=2.0)
    assert K.dtype == (np.float64 if layout == "list" else dtype)
    assert_right(X, K, "rbf")
    np.testing.assert_array_equal(X, before)


def test_broadcast_rows():
    X = np.broadcast_to(data(1, 40), (7, 40))  # stride 0, which the core takes for another layout
    assert_right(X, fastfs.affinity(X, sigma=2.0), "rbf")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16"])
def test_other_numbers(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, size=(6, 30)).astype(dtype)
    K = fastfs.affinity(X, kernel="sqeuclidean")
    assert K.dtype == (np.float32 if dtype == "float16" else np.float64)
    assert_right(X, K, "sqeuclidean")


# --------------------------------------------------------------------------------------------------------------- sparse


def sparse(n=40, d=300, density=0.1, seed=0, dtype=np.float64):
    """CSR with an empty row, empty columns and an explicit zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[3] = 0
    X[:, [0, 17, d - 1]] = 0
    X = sp.csr_matrix(X.astype(dtype))
    X.data[5] = 0
    return X


def backwards_in_each_row(X):
    X = X.copy()
    for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[a:b] = X.indices[a:b][::-1].copy()
        X.data[a:b] = X.data[a:b][::-1].copy()
    X.has_sorted_indices = False
    return X


def split_in_two(X):
    """Each value as the sum of two entries at the same place, which don't stand next to each other."""
    indices = np.concatenate([np.tile(X.indices[a:b], 2) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)])
    values = np.concatenate(
        [np.r_[3 * X.data[a:b], -2 * X.data[a:b]] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    )
    return type(X)((values.astype(X.dtype), indices, 2 * X.indptr), shape=X.shape)


def long_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_strides(X):
    X = X.copy()
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 3)[::3]
    return X


def with_room_at_the_end(X):
    X = X.copy()
    X.data, X.indices = np.r_[X.data, np.nan, np.nan].astype(X.dtype), np.r_[X.indices, -1, -1].astype(X.indices.dtype)
    return X


def read_only_parts(X):
    X = X.copy()
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


SPARSE = {
    "csr": lambda X: X,
    "csc": lambda X: X.tocsc(),
    "csr array": sp.csr_array,
    "coo": lambda X: X.tocoo(),
    "lil": lambda X: X.tolil(),
    "unsorted csr": backwards_in_each_row,
    "unsorted csc": lambda X: backwards_in_each_row(X.tocsc()),
    "duplicates in csr": split_in_two,
    "duplicates in csc": lambda X: split_in_two(X.tocsc()),
    "64-bit indices in csr": long_indices,
    "64-bit indices in csc": lambda X: long_indices(X.tocsc()),
    "strided parts": with_strides,
    "unused room": with_room_at_the_end,
    "read-only": read_only_parts,
    "unpickled": unpickled,
    "integers": lambda X: X.astype(np.int32),
}


@covering(form=SPARSE.keys(), kernel=KERNELS, dtype=DTYPES)
def test_sparse(form, kernel, dtype):
    X = SPARSE[form](sparse(dtype=dtype))
    K = fastfs.affinity(X, **with_sigma(kernel))
    assert K.dtype == (np.float64 if form == "integers" else dtype)
    assert_well_formed(K, kernel)
    # Split entries make 4 products of magnitudes 9, 6, 6 and 4 out of one: 25 times the error of the whole.
    factor = 25 if "duplicates" in form else 1
    dense = sp.csr_matrix(X.toarray())
    assert_right(dense, K, kernel, n_terms=factor * X.shape[0])


def test_sparse_without_entries():
    K = fastfs.affinity(sp.csr_matrix((4, 300)), sigma=1.0)
    np.testing.assert_array_equal(K, np.ones((300, 300)))


@pytest.mark.parametrize("bad", [-1, 300])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_index_outside(bad, form):
    X = sparse().asformat(form)
    X.indices[7] = bad
    with pytest.raises(ValueError, match=f"got {bad} at position 7"):
        fastfs.affinity(X, kernel="linear")


@pytest.mark.parametrize("position, value", [(0, 1), (5, 0), (-1, 10**6)])
def test_sparse_offsets_wrong(position, value):
    X = sparse()
    X.indptr[position] = value
    with pytest.raises(ValueError, match="indptr"):
        fastfs.affinity(X, kernel="linear")


# ------------------------------------------------------------------------------------------------ digits and invariants


@covering(form=["dense", "csr", "csc"], dtype=DTYPES, kernel=KERNELS)
def test_same_bits_for_any_thread_count(kernel, dtype, form):
    X = sparse(30, 600, dtype=dtype)
    X = X.toarray() if form == "dense" else X.asformat(form)
    V = data(600, 3, dtype)
    options = with_sigma(kernel)
    one, *others = (
        (
            fastfs.affinity(X, **options, n_threads=n).tobytes(),
            fastfs.affinity_product(X, V, **options, n_threads=n).tobytes(),
        )
        for n in (1, 2, 3)
    )
    assert all(other == one for other in others)


@pytest.mark.parametrize("power", [-600, -70, 70, 600])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_powers_of_two_change_no_bit(power, form):
    X = form(data(11, 270))
    factor = 2.0**power
    np.testing.assert_array_equal(fastfs.affinity(X * factor, sigma=2.0 * factor), fastfs.affinity(X, sigma=2.0))


def test_subnormal_values():
    X = np.random.default_rng(0).integers(-50, 50, size=(5, 20)).astype(float)
    smallest = 2.0**-1074
    np.testing.assert_array_equal(fastfs.affinity(X * smallest, sigma=32 * smallest), fastfs.affinity(X, sigma=32.0))


@pytest.mark.parametrize(
    "dtype, scale", [(np.float64, 1e200), (np.float64, 1e-200), (np.float32, 1e30), (np.float32, 1e-30)]
)
def test_huge_and_tiny_scales(dtype, scale):
    X = data(11, 270)
    scaled = (X * scale).astype(dtype)
    K = fastfs.affinity(scaled, sigma=2 * scale)
    # In units of the scale, which float64 holds (float32 values are exact there); one more rounding of each entry.
    assert_right(scaled.astype(float) / scale, K, "rbf", extra=4)


@pytest.mark.parametrize("dtype, offset", [(np.float64, 1e6), (np.float32, 1e3)])
def test_offsets_of_whole_rows_cost_no_digits(dtype, offset):
    rows = offset * np.arange(1, 13)[:, None]
    X = (data(12, 300) + rows).astype(dtype)
    # The bound knows nothing of the offset. Without the shift of the rows it would be exceeded 1e4-fold.
    assert_right(X, fastfs.affinity(X, kernel="sqeuclidean"), "sqeuclidean")


@pytest.mark.parametrize("d", [2, 8, 9])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e6])
def test_offsets_of_few_features(offset, d):
    """No offset is looked for among 8 features: distances that lose 8 bits are computed again, whatever took them."""
    n, eps = 30, np.finfo(float).eps
    X = data(n, d) + offset * np.random.default_rng(1).uniform(1, 2, size=(n, 1))
    X[:, 0] += 0.1 * offset  # some pairs are computed again and some aren't
    D, exact = fastfs.affinity(X, kernel="sqeuclidean"), oracle.sqeuclidean(X)
    assert np.all(np.abs(D - exact) <= 256 * (2 * n + 8) * eps * exact)
    scale = float(np.median(exact[exact > 0]))
    K = fastfs.affinity(X, sigma=np.sqrt(scale / 2))
    assert np.all(np.abs(K - np.exp(-exact / scale)) <= 256 * (2 * n + 8) * eps * exact / scale + 4 * eps)


@rotating(
    1,
    sentinel=[(dtype, huge) for dtype in DTYPES for huge in (1e10, 1e17, 3e19, 1e21, 1e30, 3e38)]
    + [(np.float64, 1e170), (np.float64, 1e250)],
    d=[4, 40],
)
def test_one_huge_value_of_a_whole_row(sentinel, d):
    """Sentinels: what all features share changes no distance, however large it is beside the rest."""
    dtype, huge = sentinel
    rest = data(20, d, dtype)
    X = np.vstack([rest[:7], np.full((1, d), huge, dtype), rest[7:]])
    D2 = oracle.sqeuclidean(rest)
    for kernel, exact in [("sqeuclidean", D2), ("rbf", np.exp(-D2 / 8))]:
        K = fastfs.affinity(X, **with_sigma(kernel))
        allowed = bound(rest, kernel, np.finfo(dtype).eps, extra=4.0)
        assert np.all(np.abs(K - exact) <= allowed + 256 * 50 * np.finfo(dtype).eps * exact)
    V = np.ones((d, 1), dtype)
    np.testing.assert_allclose(
        fastfs.affinity_product(X, V, sigma=2.0), fastfs.affinity(rest, sigma=2.0) @ V, rtol=1e-5
    )


def test_rows_too_far_from_each_other():
    X = data(5, 20)
    X[0], X[1:] = 1e308, 1e-20 * X[1:]
    with pytest.raises(ValueError, match=r"must be within a factor of 1e270 .*; got .*: scale the rows alike"):
        fastfs.affinity(X, sigma=1.0)


@pytest.mark.parametrize("d", [8, 9])
def test_squares_of_what_offsets_leave_fit_float32(d):
    X = (1e17 + 1e10 * data(16385, d)).astype(np.float32)
    exact = oracle.sqeuclidean(X.astype(float))
    np.testing.assert_allclose(fastfs.affinity(X, kernel="sqeuclidean"), exact, rtol=1e-5)


@pytest.mark.parametrize("dtype, tiny", [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_distances_of_near_duplicates(dtype, tiny):
    """Where n_i + n_j - 2 G_ij has no digits left, the distance still has those that X has."""
    X = data(10, 300, dtype)
    X[:, 150:] = X[:, :150] + (tiny * data(10, 150, seed=1)).astype(dtype)
    D = np.sqrt(np.diag(fastfs.affinity(X, kernel="sqeuclidean"), 150))
    exact = np.sqrt(np.diag(oracle.sqeuclidean(X), 150))
    centred = X.astype(float) - X.astype(float).mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=0)
    # Each entry of c is rounded once, u |c|; the sum of squares and its root have relative errors below (N + 4) u.
    eps = np.finfo(dtype).eps
    assert np.all(np.abs(D - exact) <= eps * (norms[:150] + norms[150:]) / 2 + 14 * eps * exact)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_duplicated_and_constant_columns(dtype, form):
    X = data(10, 600, dtype)
    X[:, [5, 290]] = 3.0
    X[:, [6, 299]] = 0.0
    X[:, 300:] = X[:, :300]
    D2 = fastfs.affinity(form(X), kernel="sqeuclidean")
    K = fastfs.affinity(form(X), sigma=1e-3)
    for i, j in [*((i, i + 300) for i in range(300)), (5, 590), (6, 599)]:
        assert D2[i, j] == 0, (i, j)
        assert K[i, j] == 1, (i, j)
    assert_well_formed(D2, "sqeuclidean")
    assert_well_formed(K, "rbf")


@pytest.mark.parametrize("sigma, off_diagonal", [(1e-300, 0.0), (1e300, 1.0)])
def test_extreme_sigma(sigma, off_diagonal):
    K = fastfs.affinity(data(4, 270), sigma=sigma)
    np.testing.assert_array_equal(K, np.where(np.eye(270), 1.0, off_diagonal))


# -------------------------------------------------------------------------------------------------------------- product


@covering(columns=[(), (1,), (5,)], dtype=DTYPES, kernel=KERNELS, form={"dense": np.asarray, "csc": sp.csc_matrix})
def test_product(form, kernel, dtype, columns):
    X = form(sparse(20, 520, dtype=dtype).toarray())
    V = np.random.default_rng(1).normal(size=(520, *columns)).astype(dtype)
    product = fastfs.affinity_product(X, V, **with_sigma(kernel))
    assert product.dtype == dtype
    assert product.shape == V.shape
    dense = oracle.as_dense(X)
    exact = EXACT[kernel](dense, 2.0) if kernel == "rbf" else EXACT[kernel](dense)
    eps, v = np.finfo(dtype).eps, np.abs(V.astype(float))
    # The kernel's own error; tiles of 192 terms in eps, added up and rounded; d terms of the oracle in float64.
    allowed = (
        bound(X, kernel, eps) @ v + 260 * eps * (np.abs(exact) @ v) + 520 * np.finfo(float).eps * (np.abs(exact) @ v)
    )
    assert np.all(np.abs(product - exact @ V.astype(float)) <= allowed)


def test_product_takes_lists():
    X = [[0.0, 3.0], [0.0, 4.0]]
    assert fastfs.affinity_product(X, [[1, 2], [3, 4]], kernel="sqeuclidean").tolist() == [[75, 100], [25, 50]]


# ---------------------------------------------------------------------------------------------------------- accumulator


def gram_of(*chunks, d=None, n_threads=0):
    gram = fastfs.GramAccumulator(d or chunks[0].shape[1], n_threads=n_threads)
    for chunk in chunks:
        gram.update(chunk)
    return gram


def assert_gram_right(X, gram, kernel):
    """Against the oracle over all rows; distances below 64 eps (n_i + n_j) count as zero."""
    K = gram.affinity(**with_sigma(kernel))
    assert K.dtype == np.float64
    assert_well_formed(K, kernel)
    if kernel == "linear":
        means = np.abs(X.mean(axis=1, keepdims=True))
        # The means are added back: N + 8 operations on each product of such parts.
        parts = np.abs(X - X.mean(axis=1, keepdims=True)) + means
        assert np.all(np.abs(K - oracle.linear(X)) <= (len(X) + 8) * np.finfo(float).eps * (parts.T @ parts))
    else:
        assert_right(X, K, kernel, extra=64)


SPLITS = {"one by one": range(1, 24), "halves": [12], "uneven": [1, 5, 6, 20], "whole": []}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_chunks_make_the_whole(split, kernel):
    X = data(24, 300) + 100 * np.arange(24)[:, None]
    gram = gram_of(*np.split(X, SPLITS[split]))
    assert gram.n_rows == 24
    assert_gram_right(X, gram, kernel)
    whole = fastfs.affinity(X, **with_sigma(kernel))
    np.testing.assert_allclose(gram.affinity(**with_sigma(kernel)), whole, rtol=1e-12, atol=1e-12 * np.abs(whole).max())


def test_chunks_of_any_kind():
    X = sparse(30, 280).toarray()
    X32 = X[20:].astype(np.float32)
    gram = gram_of(X[:5], sp.csr_matrix(X[5:12]), sp.csc_matrix(X[12:20]), X32, (X[:2] > 0), d=280)
    together = np.vstack([X[:20], X32, X[:2] > 0])
    assert gram.n_rows == len(together)
    K = gram.affinity(kernel="sqeuclidean")
    # Sparse rows aren't shifted: their share of the error goes with the norms of the values themselves.
    allowed = distance_bound((together**2).sum(axis=0), len(together) + 32, np.finfo(float).eps)
    assert np.all(np.abs(K - oracle.sqeuclidean(together)) <= allowed)


@pytest.mark.parametrize("kernel", KERNELS)
def test_merge(kernel):
    X = data(24, 300)
    left, right = gram_of(X[:10]), gram_of(X[10:15], X[15:])
    left.merge(right)
    assert left.n_rows == 24
    assert right.n_rows == 14
    assert_gram_right(X, left, kernel)
    left.merge(fastfs.GramAccumulator(300))  # nothing
    assert_gram_right(X, left, kernel)


def test_merge_with_itself():
    X = data(6, 10)
    gram = gram_of(X)
    with pytest.raises(ValueError, match="must not be merged with itself"):
        gram.merge(gram)
    assert_gram_right(X, gram, "sqeuclidean")


def test_accumulator_same_bits_for_any_thread_count():
    X = data(24, 600)
    one, *others = (gram_of(X[:10], X[10:], n_threads=n).affinity(sigma=2.0).tobytes() for n in (1, 2, 3))
    assert all(other == one for other in others)


class Stop(Exception):
    pass


def stop(step, fraction):
    raise Stop


def long_chunk(n, d):
    """Takes long enough for progress to be reported (every 0.05 s)."""
    return np.ones((n, d))


REFUSED = {
    "NaN": (np.where(np.arange(3000) == 2500, np.nan, 1.0)[None], {}, ValueError),
    "another width": (np.ones((2, 2999)), {}, ValueError),
    "too large to be squared": (np.full((2, 3000), 1e200), {}, ValueError),
    "too small to be squared": (np.full((2, 3000), 1e-200), {}, ValueError),
    "complex": (np.ones((2, 3000), complex), {}, ValueError),
    "stopped": (long_chunk(4000, 3000), {"progress": stop}, Stop),
}


def test_a_refused_chunk_leaves_the_sums_unchanged():
    gram = gram_of(data(3, 3000), n_threads=1)
    before = gram.affinity(kernel="linear")
    for what, (chunk, options, error) in REFUSED.items():
        with pytest.raises(error):
            gram.update(chunk, **options)
        assert gram.n_rows == 3, what
        np.testing.assert_array_equal(gram.affinity(kernel="linear"), before, err_msg=what)


def test_accumulator_without_rows():
    with pytest.raises(ValueError, match="got no chunk yet"):
        fastfs.GramAccumulator(3).affinity(kernel="linear")


def test_accumulators_of_other_features_do_not_merge():
    with pytest.raises(ValueError, match="the same number of columns to be merged; got 2 and 3"):
        fastfs.GramAccumulator(2).merge(fastfs.GramAccumulator(3))


@pytest.mark.parametrize("d", [0, -1])
def test_accumulator_without_features(d):
    with pytest.raises(ValueError, match=f"got {d}"):
        fastfs.GramAccumulator(d)


# ------------------------------------------------------------------------------------------------------------------ out


def test_out_is_written_and_returned():
    X, out = data(4, 30), np.full((30, 30), np.nan)
    assert fastfs.affinity(X, sigma=2.0, out=out) is out
    np.testing.assert_array_equal(out, fastfs.affinity(X, sigma=2.0))


def test_out_may_come_from_anywhere(tmp_path):
    X = data(4, 30)
    mapped = np.memmap(tmp_path / "K", dtype=np.float64, mode="w+", shape=(30, 30))
    for out in (mapped, unpickled(np.empty((30, 30))), np.empty((2, 30, 30))[1]):
        fastfs.affinity(X, sigma=2.0, out=out)
        np.testing.assert_array_equal(out, fastfs.affinity(X, sigma=2.0))


@together
@pytest.mark.parametrize(
    "out",
    [
        np.empty((30, 29)),
        np.empty(900),
        np.empty((30, 30), np.float32),
        np.empty((30, 30), order="F"),
        np.empty((30, 60))[:, ::2],
        read_only(np.empty((30, 30))),
        [[0.0] * 30] * 30,
    ],
    ids=["shape", "1-D", "dtype", "Fortran order", "strides", "read-only", "list"],
)
def test_out_that_does_not_fit(out):
    with pytest.raises(TypeError, match="out must be"):
        fastfs.affinity(data(4, 30), sigma=2.0, out=out)


def test_bad_values_leave_out_unwritten():
    X, out = data(4, 30), np.full((30, 30), 7.0)
    X[2, 3] = np.inf
    with pytest.raises(ValueError, match="row 2, column 3"):
        fastfs.affinity(X, sigma=2.0, out=out)
    assert np.all(out == 7)


# ------------------------------------------------------------------------------------------------------------- progress


@pytest.mark.parametrize("n_threads", [1, 2])
def test_progress_gets_a_step_and_a_share(n_threads):
    seen = []

    def watch(step, fraction):
        seen.append((step, fraction))
        if len(seen) == 12:
            raise Stop("seen enough")

    with pytest.raises(Stop, match="seen enough"):
        fastfs.affinity_product(
            long_chunk(1000, 20000), np.ones(20000), kernel="linear", progress=watch, n_threads=n_threads
        )
    steps, shares = zip(*seen, strict=True)
    assert all(isinstance(step, str) and step for step in steps)
    assert all(isinstance(share, float) and 0 <= share <= 1 for share in shares)
    assert list(shares) == sorted(shares)


def test_progress_may_call_fastfs():
    X, results = data(4, 30), []

    def nested(step, fraction):
        results.append(fastfs.affinity(X, sigma=2.0))
        raise Stop

    with pytest.raises(Stop):
        fastfs.affinity_product(long_chunk(500, 20000), np.ones(20000), kernel="linear", progress=nested)
    np.testing.assert_array_equal(results[0], fastfs.affinity(X, sigma=2.0))


# --------------------------------------------------------------------------------------------------------------- errors


@together
@covering(
    form=[np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix], value=[np.nan, np.inf, -np.inf], dtype=DTYPES
)
def test_the_first_bad_value_is_named(form, value, dtype):
    X = data(100, 300, dtype)
    X[80, 2] = X[70, 290] = X[70, 257] = value
    with pytest.raises(ValueError, match="row 70, column 257"):
        fastfs.affinity(form(X), sigma=2.0)
    with pytest.raises(ValueError, match="row 70, column 257"):
        fastfs.affinity_product(form(X), np.ones(300), sigma=2.0)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_sigma_out_of_range(sigma):
    with pytest.raises(ValueError, match="sigma must be a positive number"):
        fastfs.affinity(data(4, 5), sigma=sigma)


def test_sigma_missing_or_not_wanted():
    with pytest.raises(ValueError, match="sigma must be a positive number with kernel='rbf'; got None"):
        fastfs.affinity(data(4, 5))
    with pytest.raises(ValueError, match="sigma must be left out with kernel='linear'"):
        fastfs.affinity(data(4, 5), kernel="linear", sigma=1.0)


def test_unknown_kernel():
    with pytest.raises(ValueError, match="'sqeuclidean', 'linear' or a C function; got 'cosine'"):
        fastfs.affinity(data(4, 5), kernel="cosine")


@together
@pytest.mark.parametrize(
    "V, message",
    [
        (np.ones(4), "one row for each of the 5 features"),
        (np.ones((4, 2)), "one row for each of the 5 features"),
        (np.ones((5, 2, 2)), "one row for each of the 5 features"),
        (np.float64(1), "one row for each of the 5 features"),
        (np.array([1, 2, np.nan, 4, 5]), "NaN or infinity"),
        (np.ones((5, 0)), "V must have from 1 to"),
        (np.ones(5) * 1j, "real"),
    ],
    ids=["short", "short 2-D", "3-D", "0-D", "NaN", "no columns", "complex"],
)
def test_product_with_a_wrong_V(V, message):
    with pytest.raises(ValueError, match=message):
        fastfs.affinity_product(data(4, 5), V, sigma=1.0)


@pytest.mark.parametrize("kernel", ["sqeuclidean", "linear"])
@pytest.mark.parametrize("dtype, scale", [(np.float64, 1e200), (np.float32, 1e25)])
def test_squares_that_overflow(kernel, dtype, scale):
    X = (data(4, 5) * scale).astype(dtype)
    with pytest.raises(ValueError, match=f"overflow {np.dtype(dtype).name}"):
        fastfs.affinity(X, kernel=kernel)


@pytest.mark.parametrize("call", ["affinity", "affinity_product", "GramAccumulator"])
def test_memory_budget(call):
    calls = {
        "affinity": lambda m: fastfs.affinity(long_chunk(10, 3000), sigma=1.0, max_memory=m),
        "affinity_product": lambda m: fastfs.affinity_product(
            long_chunk(10, 3000), np.ones(3000), sigma=1.0, max_memory=m
        ),
        "GramAccumulator": lambda m: fastfs.GramAccumulator(3000, max_memory=m),
    }
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"\d+ bytes.*budget is 100000 bytes"):
            calls[call](100000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    calls[call]("1G")


def test_a_chunk_beyond_the_budget():
    gram = fastfs.GramAccumulator(100, max_memory="4M", n_threads=1)
    gram.update(np.ones((10, 100)))
    with pytest.raises(MemoryError, match="smaller chunks"):
        gram.update(long_chunk(10000, 100))
    assert gram.n_rows == 10


def test_more_than_any_machine_has():
    with pytest.raises(MemoryError, match=r"would need 7\d{5}\.\d\d GB"):  # 8 d^2 bytes
        fastfs.affinity(long_chunk(1, 9_600_000), sigma=1.0)


@pytest.mark.huge  # 8.6 GB
def test_more_pairs_than_32_bits_count():
    """46,400 features have more than 2^31 pairs."""
    if fastfs.info()["max_memory"] < 12e9:
        pytest.skip("needs 12 GB of memory")
    d = 46_400
    X = np.random.default_rng(0).normal(size=(3, d)).astype(np.float32)
    K = fastfs.affinity(X, sigma=1.0)
    rows = [0, 1, 23_170, 46_340, 46_341, d - 1]  # about where row * d passes 2^31
    distances = ((X[:, rows, None].astype(float) - X[:, None, :].astype(float)) ** 2).sum(axis=0)
    bound = (2 * 3 + 8) * np.finfo(np.float32).eps * (np.square(X).sum(axis=0).max() * 2)
    np.testing.assert_allclose(K[rows], np.exp(-distances / 2), rtol=0, atol=bound)
    np.testing.assert_array_equal(K[:, rows].T, K[rows])


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("n", [1, 5, 60])
def test_near_duplicates_keep_their_digits_in_float32(n, offset):
    """Columns that differ in their last bits: the shift of a row must not round those bits away."""
    rng = np.random.default_rng(n)
    X = (offset + rng.normal(size=(n, 384))).astype(np.float32)
    X[:, 1] = np.nextafter(X[:, 0], np.float32(np.inf))
    D2 = fastfs.affinity(X, kernel="sqeuclidean")
    expected = oracle.sqeuclidean(X[:, :2].astype(float))[0, 1]
    assert abs(D2[0, 1] - expected) <= 1e-5 * expected


# --------------------------------------------------------------------------------------------- kernels of your own


def rational(d2, n_i, n_j, sigma):
    """1 / (1 + d2 / sigma^2): positive definite, and as smooth as the distance bounds need."""
    return 1 / (1 + d2 / sigma**2)


def inner(d2, n_i, n_j, sigma):
    return (n_i + n_j - d2) / 2


CUSTOM = {
    "dense": lambda X: X,
    "strided": lambda X: np.asfortranarray(X)[::-1],
    "offset": lambda X: X + np.arange(X.shape[0], dtype=X.dtype)[:, None],
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
}


@covering(d=[1, 23, 192, 193, 400], form=CUSTOM.keys(), dtype=DTYPES)
def test_custom_kernel(d, form, dtype):
    X = CUSTOM[form](np.where(data(37, d, dtype) > 0.5, data(37, d, dtype), 0).astype(dtype))
    exact = oracle.custom(X, rational, 2.0)
    allowed = bound(X, "sqeuclidean", np.finfo(float).eps) / 2.0**2 + 2 * np.finfo(dtype).eps
    K = fastfs.affinity(X, kernel=as_c_function(rational), sigma=2.0)
    assert K.dtype == dtype
    np.testing.assert_array_equal(K, K.T)
    assert np.all(np.abs(K - exact) <= allowed)

    V = data(d, 3, dtype)
    product = fastfs.affinity_product(X, V, kernel=as_c_function(rational), sigma=2.0)
    assert product.dtype == dtype
    assert np.all(np.abs(product - exact @ V) <= (allowed + (d + 2) * np.finfo(dtype).eps) @ np.abs(V))


def test_custom_kernel_of_chunks():
    X = data(50, 400) + 3
    exact = oracle.custom(X, rational, 2.0)
    left, right = fastfs.GramAccumulator(400), fastfs.GramAccumulator(400)
    left.update(X[:20])
    right.update(sp.csr_matrix(X[20:30]))
    right.update(X[30:])
    left.merge(right)
    K = left.affinity(kernel=as_c_function(rational), sigma=2.0)
    np.testing.assert_array_equal(K, K.T)
    norms = (X**2).sum(axis=0)
    assert np.all(np.abs(K - exact) <= distance_bound(norms, 50, np.finfo(float).eps) / 2.0**2 + 1e-15)

    K = left.affinity(kernel=as_c_function(inner))
    assert np.all(np.abs(K - oracle.linear(X)) <= distance_bound(norms, 50, np.finfo(float).eps))


@pytest.mark.parametrize("form", CUSTOM)
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_inner_products_can_be_recovered(form, scale):
    X = CUSTOM[form](scale * (data(20, 250) + 100 * data(20, 1, seed=1)))
    exact = oracle.linear(X)
    norms = np.diag(exact)
    K = fastfs.affinity(X, kernel=as_c_function(inner))
    assert np.all(np.abs(K - exact) <= distance_bound(norms, 20, np.finfo(float).eps))


def test_what_a_custom_kernel_is_given():
    """Norms of the columns as they are, whatever was subtracted on the way; exact distances; sigma; no user data."""
    seen = []

    def look(tile, ld, n_rows, n_cols, row_norms, col_norms, sigma, user):
        seen.append((n_rows, n_cols, sigma, user))
        np.testing.assert_array_equal(np.ctypeslib.as_array(row_norms, (n_rows,)), norms[:n_rows])
        np.testing.assert_array_equal(np.ctypeslib.as_array(col_norms, (n_cols,)), norms[:n_cols])
        np.testing.assert_array_equal(np.ctypeslib.as_array(tile, (n_rows, ld))[:, :n_cols], D2)
        seen.append("all right")

    X = 1e6 + np.arange(60.0).reshape(4, 15) % 7  # integers: every sum is exact
    X[:, 3] = 0
    norms, D2 = (X**2).sum(axis=0), oracle.sqeuclidean(X)
    for options in ({}, {"sigma": 2.5}):
        fastfs.affinity(X, kernel=SIGNATURE(look), **options)
    assert seen == [(15, 15, 1.0, None), "all right", (15, 15, 2.5, None), "all right"]


def test_custom_kernel_has_the_same_bits_for_any_thread_count():
    X, V = data(11, 600), data(600, 2)
    kernel = as_c_function(rational)
    one, two = (
        (
            fastfs.affinity(X, kernel=kernel, n_threads=n).tobytes(),
            fastfs.affinity_product(X, V, kernel=kernel, n_threads=n).tobytes(),
        )
        for n in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [fastfs.affinity, lambda X, **o: fastfs.affinity_product(X, np.ones(300), **o)])
def test_custom_kernel_that_is_not_finite(bad, function):
    X = data(5, 300)
    X[:, 210] = 0
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.where((n_i == 0) | (n_j == 0), bad, 1 / (1 + d2)))
    with pytest.raises(
        ValueError, match=r"the kernel must return finite numbers; got .* for features (210 and \d+|\d+ and 210)"
    ):
        function(X, kernel=kernel)


def test_custom_kernel_beyond_float32():
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: 1e60 + 0 * d2)
    assert np.all(fastfs.affinity(data(5, 4), kernel=kernel) == 1e60)
    with pytest.raises(ValueError, match=r"1e\+60 for features 0 and 0, which float32 can't hold: give X as float64"):
        fastfs.affinity(data(5, 4, np.float32), kernel=kernel)


def test_custom_kernel_that_is_not_symmetric():
    X = data(5, 4)
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: n_i + 0 * n_j)
    norms = (X**2).sum(axis=0)
    with pytest.raises(ValueError, match=r"the kernel must be symmetric; got .* for features 0 and 1") as error:
        fastfs.affinity(X, kernel=kernel)
    assert f"got {norms[0]:g} for features 0 and 1, and {norms[1]:g} if they are exchanged" in str(error.value)

    # Symmetric within the first 192 features and the others, but not between them.
    X = data(5, 200)
    X[:, 192:] += 100
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.where((n_i > 1000) & (n_j < 1000), 2.0, 1.0))
    for function in (fastfs.affinity, lambda X, **options: fastfs.affinity_product(X, np.ones(200), **options)):
        with pytest.raises(ValueError, match="got 1 for features 0 and 192, and 2 if they are exchanged"):
            function(X, kernel=kernel)
    gram = fastfs.GramAccumulator(200)
    gram.update(X)
    with pytest.raises(ValueError, match="got 1 for features 0 and 192, and 2 if they are exchanged"):
        gram.affinity(kernel=kernel)


def test_rounding_is_no_asymmetry():
    X = data(5, 300)
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.sqrt(n_i) * (np.sqrt(n_j) / (1 + d2)))
    K = fastfs.affinity(X, kernel=kernel)
    np.testing.assert_array_equal(K, K.T)


@together
@pytest.mark.parametrize(
    "kernel",
    [lambda *a: None, np.exp, np.zeros(3), 7, None, ctypes.CFUNCTYPE(None), ctypes.c_void_p(0)],
    ids=["function", "ufunc", "array", "number", "none", "prototype", "pointer"],
)
def test_what_is_no_c_function(kernel):
    with pytest.raises(TypeError, match=r"a custom kernel must be a C function; got .* compile it with @numba.cfunc"):
        fastfs.affinity(data(5, 4), kernel=kernel)


def test_c_function_of_another_signature():
    integers = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, *[ctypes.c_int32] * 3, *[ctypes.c_void_p] * 2, ctypes.c_double, ctypes.c_void_p
    )
    with pytest.raises(
        TypeError, match=r"must have the signature void\(CPointer.* got one that takes \(c_void_p, c_int, c_int"
    ):
        fastfs.affinity(data(5, 4), kernel=integers(lambda *a: None))
    returning = ctypes.CFUNCTYPE(ctypes.c_double, *SIGNATURE._argtypes_)
    with pytest.raises(TypeError, match="and returns c_double"):
        fastfs.affinity(data(5, 4), kernel=returning(lambda *a: 0.0))
    with pytest.raises(TypeError, match="NULL"):
        fastfs.affinity(data(5, 4), kernel=SIGNATURE())


def test_custom_kernel_of_values_too_large_to_square():
    with pytest.raises(ValueError, match="their squares overflow float64; divide X by a constant first"):
        fastfs.affinity(1e160 * data(5, 4), kernel=as_c_function(rational))


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan, np.inf])
def test_sigma_of_a_custom_kernel(sigma):
    with pytest.raises(ValueError, match="sigma must be a positive number"):
        fastfs.affinity(data(5, 4), kernel=as_c_function(rational), sigma=sigma)


def test_numba():
    numba = pytest.importorskip("numba")
    signature = "void(CPointer(double), int64, int64, int64, CPointer(double), CPointer(double), double, voidptr)"

    @numba.cfunc(signature)
    def kernel(tile, ld, n_rows, n_cols, row_norms, col_norms, sigma, user):
        for a in range(n_rows):
            for b in range(n_cols):
                tile[a * ld + b] = 1 / (1 + tile[a * ld + b] / sigma**2)

    X = data(37, 400)
    K = fastfs.affinity(X, kernel=kernel, sigma=2.0)
    np.testing.assert_allclose(K, fastfs.affinity(X, kernel=as_c_function(rational), sigma=2.0), rtol=1e-15)

    @numba.cfunc("void(CPointer(double), int64)")
    def other(tile, ld):
        tile[0] = 0.0

    with pytest.raises(TypeError, match=r"must have the signature void\(.*got one that takes \(LP_c_double, c_long"):
        fastfs.affinity(X, kernel=other)
    with pytest.raises(TypeError, match="must be a C function"):
        fastfs.affinity(X, kernel=numba.njit(lambda *a: None))


@pytest.mark.parametrize("others", [[0, 99, 199], [0, 49, 99], [99, 149, 199]])
def test_offsets_that_few_columns_do_not_share(others):
    """Where the columns that are looked at first are controls, say, the offset of all others is found nevertheless."""
    n, d, sigma = 60, 200, 8.0
    rng = np.random.default_rng(0)
    X = 1e6 * rng.uniform(1, 2, size=(n, 1)) + rng.normal(size=(n, d))
    X[:, others] = 0
    gram = fastfs.GramAccumulator(d)
    gram.update(X)
    expected = oracle.rbf(X, sigma)
    # Squared norms less the offset are some 2 n, of columns that aren't infinitely far.
    largest = distance_bound(np.array([4.0 * n]), n, np.finfo(float).eps).max() / (2 * sigma**2)
    assert np.abs(gram.affinity(sigma=sigma) - expected).max() <= largest
    assert np.abs(fastfs.affinity(X, sigma=sigma) - expected).max() <= largest
