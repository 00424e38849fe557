"""Custom kernels, written in Python and compiled by Numba: ``python -m pip install 'scikit-fastfs[numba]'``.

Pass a kernel made by `kernel` wherever fastfs takes one: ``fastfs.affinity(X, kernel=laplacian, sigma=2.0)``,
``fastfs.ManiFeSt(kernel=laplacian)``. Several threads call its machine code simultaneously, without Python.
"""

import functools
import inspect
import math
import threading
from collections.abc import Callable
from typing import Any

try:
    import numba
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic
except ImportError as error:
    raise ImportError("fastfs.numba needs numba: python -m pip install 'scikit-fastfs[numba]'") from error

from fastfs._machine.params import KERNEL_SIGNATURE

__all__ = ["TileKernel", "cosine_power", "exp", "kernel", "laplacian", "rational_quadratic"]

# Division by zero gives infinity or NaN, as in C, instead of an exception, which would keep loops from being
# vectorised. Liberties with the arithmetic: fused multiply-add, and multiplying by reciprocals of what stays the same
# in a loop, such as sigma.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "arcp"}, "nogil": True}


# ---------------------------------------------------------------------------------------------------------------- exp


@intrinsic
def _bits(typing_context: Any, x: Any) -> Any:
    """Return the bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@numba.njit(**_OPTIONS)
def exp(x: float) -> float:
    """Exponential function for use in kernels: free of branches, so that loops over it are vectorised.

    Parameters
    ----------
    x : float

    Returns
    -------
    float
        exp(x) within 2 units in the last place; 0 below -708 (the smallest results of ``math.exp`` are subnormal),
        infinity above 709.78, NaN for NaN.

    Notes
    -----
    x = n log 2 + r with an integer n and \\|r\\| <= log(2) / 2, exp(x) = 2^n (1 + r + r^2 q(r)); q is the polynomial of
    fastfs's own kernels. 1.5 * 2^52 added to a number rounds it to an integer, which then stands in the low bits.

    Examples
    --------
    >>> from fastfs.numba import exp
    >>> exp(0.0), round(exp(1.0), 12), exp(-1000.0)
    (1.0, 2.718281828459, 0.0)
    """
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = (x - n * 0.6931471805598903) - n * 5.497923018708371e-14
    r2 = r * r
    r4 = r2 * r2
    a = 0.50000000000000010211 + 0.16666666666666667452 * r
    b = 0.041666666666624161903 + 0.0083333333333300644495 * r
    c = 0.0013888888917196719077 + 0.00019841269863040545271 * r
    d = 0.000024801521322368693266 + 2.7557268480310025526e-6 * r
    e = 2.7620075879983366586e-7 + 2.5100375832561233664e-8 * r
    p = 1.0 + (r + r2 * ((a + b * r2) + r4 * ((c + d * r2) + r4 * e)))
    power = _from_bits((_bits(shifted) + 1022) << 52)  # 2^(n - 1): 2^1024 isn't a number, but 2 * 2^1023 * p may be
    result = 2.0 * (p * power)
    result = 0.0 if x < -708.0 else result
    return float("inf") if x > 709.782712893384 else result


# ------------------------------------------------------------------------------------------------------------- kernels


class TileKernel:
    """A kernel that Numba compiles when it is first used; made by :func:`kernel`.

    Parameters
    ----------
    function : callable
        Of single elements or, with `tile`, of tiles.
    tile : bool
        Whether the function takes whole tiles.

    Attributes
    ----------
    function : callable
        The Python function; calling the kernel calls it.
    tile : bool
    ctypes : ctypes function
        The machine code.
    address : int
        Its address: a ``fastfs_tile_kernel`` for the C interface.

    Raises
    ------
    TypeError
        The function takes other arguments than such a kernel.

    Examples
    --------
    >>> from fastfs.numba import TileKernel
    >>> inverse = TileKernel(lambda d2, sigma: 1 / (1 + d2))
    >>> inverse(3.0, 1.0)
    0.25
    """

    def __init__(self, function: Callable[..., Any], tile: bool = False) -> None:
        """Store a function of distances, with norms if it takes four arguments, or of tiles with `tile`.

        Raise TypeError unless it is a Python function with such arguments.
        """
        python = getattr(function, "py_func", function)  # of one that is jitted already
        if not inspect.isfunction(python):
            raise TypeError(f"a kernel must be a Python function; got {function!r}")
        takes = len(inspect.signature(python).parameters)
        if tile and takes != 4:
            raise TypeError(
                "a kernel of tiles must take (tile, row_norms, col_norms, sigma); got "
                f"{python.__name__}, which takes {takes} arguments"
            )
        if not tile and takes not in (2, 4):
            raise TypeError(
                "a kernel must take (d2, sigma) or (d2, norm_i, norm_j, sigma); got "
                f"{python.__name__}, which takes {takes} arguments"
            )
        self.function, self.tile = function, tile
        self._body = _of_tile if tile else _of_norms if takes == 4 else _of_distance
        self._cfunc: Any = None
        self._lock = threading.Lock()
        functools.update_wrapper(self, python)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    @property
    def ctypes(self) -> Any:
        return self._compiled().ctypes

    @property
    def address(self) -> int:
        return int(self._compiled().address)

    def _compiled(self) -> Any:
        with self._lock:  # a second compilation would free the code of the first
            if self._cfunc is None:
                function = self.function if hasattr(self.function, "py_func") else numba.njit(**_OPTIONS)(self.function)
                body = numba.njit(**_OPTIONS)(self._body(function))
                self._cfunc = numba.cfunc(KERNEL_SIGNATURE, nopython=True)(_c_function(body))
        return self._cfunc

    def __repr__(self) -> str:
        return f"<fastfs kernel {self.__qualname__}>"  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any) -> "TileKernel":
        return self  # it never changes

    def __reduce__(self) -> Any:
        # A kernel of a module is pickled by name, as functions are; any other kernel is made anew from its function.
        if self.__module__ != "__main__" and "<" not in self.__qualname__:  # type: ignore[attr-defined]
            return self.__qualname__  # type: ignore[attr-defined]
        return TileKernel, (self.function, self.tile)


def _of_distance(f: Any) -> Any:
    def body(tile: Any, ld: int, n_rows: int, n_cols: int, rows: Any, cols: Any, sigma: float) -> None:
        for a in range(n_rows):
            for b in range(n_cols):
                tile[a * ld + b] = f(tile[a * ld + b], sigma)

    return body


def _of_norms(f: Any) -> Any:
    def body(tile: Any, ld: int, n_rows: int, n_cols: int, rows: Any, cols: Any, sigma: float) -> None:
        for a in range(n_rows):
            for b in range(n_cols):
                tile[a * ld + b] = f(tile[a * ld + b], rows[a], cols[b], sigma)

    return body


def _of_tile(f: Any) -> Any:
    """Return the body of a kernel that passes each row of a tile to `f`, which overwrites its distances."""

    def body(tile: Any, ld: int, n_rows: int, n_cols: int, rows: Any, cols: Any, sigma: float) -> None:
        # Row by row: Numba vectorises loops over arrays only if it knows that they are contiguous.
        values, row_norms = numba.carray(tile, n_rows * ld), numba.carray(rows, n_rows)
        for a in range(n_rows):
            row = values[a * ld : a * ld + n_cols].reshape(1, n_cols)
            f(row, row_norms[a : a + 1], numba.carray(cols, n_cols), sigma)

    return body


def _c_function(body: Any) -> Any:
    """Return `body` as a function for C, without exceptions: an interrupted tile gets a NaN, which the core reports."""

    def tile_kernel(
        tile: Any, ld: int, n_rows: int, n_cols: int, rows: Any, cols: Any, sigma: float, user: Any
    ) -> None:
        try:
            body(tile, ld, n_rows, n_cols, rows, cols, sigma)
        except Exception:
            tile[0] = float("nan")

    return tile_kernel


def kernel(function: Callable[..., Any] | None = None, *, tile: bool = False) -> Any:
    """Compile a kernel between features that is written in Python.

    Parameters
    ----------
    function : callable
        Of one pair of features, ``function(d2, sigma)`` or ``function(d2, norm_i, norm_j, sigma)``: returns the kernel
        of x_i and x_j by d2 = \\|x_i - x_j\\|^2, norm_i = \\|x_i\\|^2 and norm_j = \\|x_j\\|^2, so that x_i' x_j =
        (norm_i + norm_j - d2) / 2. Or, with `tile`, of many pairs, ``function(tile, row_norms, col_norms, sigma)``:
        overwrites the squared distances in ``tile``, a C-contiguous array of any shape (len(row_norms),
        len(col_norms)). Numba must be able to compile it in nopython mode; it may be jitted already. Values must be
        finite, symmetric in i and j, and (ManiFeSt) positive semidefinite as a matrix.
    tile : bool
        Whether the function takes whole tiles.

    Returns
    -------
    TileKernel
        For ``kernel=`` of `affinity`, `affinity_product`, `GramAccumulator.affinity`, `projse`, `disc`,
        `ManiFeSt` and so on. Compiled when it is first used, in about a second.

    Raises
    ------
    TypeError
        The function takes other arguments.
    numba.core.errors.TypingError
        At the first use, if Numba can't compile the function.

    Notes
    -----
    Loops are vectorised as long as the function has no branches with side effects and calls nothing but arithmetic,
    ``math.sqrt`` and :func:`exp`; ``math.exp`` is called value by value. Division by zero gives infinity or NaN. An
    exception in a kernel becomes NaN, which the call reports with the pair of features.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> from fastfs.numba import kernel
    >>> @kernel
    ... def inverse_quadratic(d2, sigma):
    ...     return 1 / (1 + d2 / sigma**2)
    >>> X = np.array([[0.0, 3.0, 0.0], [0.0, 4.0, 0.0]])
    >>> fastfs.affinity(X, kernel=inverse_quadratic, sigma=5.0)
    array([[1. , 0.5, 1. ],
           [0.5, 1. , 0.5],
           [1. , 0.5, 1. ]])
    """
    if function is None:
        return functools.partial(kernel, tile=tile)
    return TileKernel(function, tile)


# ------------------------------------------------------------------------------------------------------ worked examples


@kernel
def rational_quadratic(d2: float, sigma: float) -> float:
    """Rational quadratic kernel, 1 / (1 + d2 / (2 sigma^2)): the Gaussian one with a heavy tail.

    Parameters
    ----------
    d2 : float
        Squared distance.
    sigma : float
        Scale, in units of the distances.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastfs.numba import rational_quadratic
    >>> rational_quadratic(2.0, 1.0)
    0.5
    """
    return 1.0 / (1.0 + d2 / (2.0 * sigma * sigma))


@kernel
def laplacian(d2: float, sigma: float) -> float:
    """Laplacian of the Euclidean distance, exp(-sqrt(d2) / sigma): rougher than the Gaussian kernel.

    Its parameters are those of :func:`rational_quadratic`.

    Examples
    --------
    >>> from fastfs.numba import laplacian
    >>> round(laplacian(4.0, 2.0), 12)
    0.367879441171
    """
    value: float = exp(-math.sqrt(d2) / sigma)
    return value


@functools.cache
def cosine_power(power: int) -> TileKernel:
    """Power of the cosine between features, (x_i' x_j / (\\|x_i\\| \\|x_j\\|))^power: of correlations if X is centred.

    Parameters
    ----------
    power : int
        At least 1; even powers count opposite features as alike.

    Returns
    -------
    TileKernel
        It ignores sigma, and is 0 for features that are zero.

    Raises
    ------
    ValueError
        `power` isn't an integer of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> from fastfs.numba import cosine_power
    >>> X = np.array([[1.0, 3.0, 0.0], [1.0, 4.0, 0.0]])
    >>> fastfs.affinity(X, kernel=cosine_power(2)).round(2)
    array([[1.  , 0.98, 0.  ],
           [0.98, 1.  , 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    if not isinstance(power, int) or power < 1:
        raise ValueError(f"power must be an integer of at least 1; got {power!r}")

    def cosine(d2: float, norm_i: float, norm_j: float, sigma: float) -> float:
        norms = math.sqrt(norm_i) * math.sqrt(norm_j)
        c = (norm_i + norm_j - d2) / (2.0 * norms) if norms > 0.0 else 0.0
        result = c
        for _ in range(power - 1):
            result *= c
        return result

    return TileKernel(cosine)
