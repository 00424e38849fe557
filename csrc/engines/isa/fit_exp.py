"""Print the coefficients of the vector exponential in tiles.cpp (needs mpmath).

exp(r) = 1 + r + r^2 q(r) on |r| <= ln 2 / 2; q interpolates (exp(r) - 1 - r) / r^2 at Chebyshev nodes, which spreads
the error evenly over the interval, where a Taylor polynomial of the same degree leaves it all at the ends.
"""

from mpmath import chop, cos, exp, log, lu_solve, matrix, mp, mpf, pi

mp.dps = 60


def fit(degree: int) -> list:
    """Coefficients of q, constant term first."""
    n = degree + 1
    nodes = [log(2) / 2 * cos((2 * k + 1) * pi / (2 * n)) for k in range(n)]
    system = matrix(n, n)
    values = matrix(n, 1)
    for row, r in enumerate(nodes):
        values[row] = (exp(r) - 1 - r) / r**2 if abs(r) > 1e-9 else mpf(1) / 2
        for column in range(n):
            system[row, column] = r**column
    return list(chop(lu_solve(system, values)))


if __name__ == "__main__":
    for name, degree in (("double", 9), ("float", 4)):
        print(name, ", ".join(mp.nstr(c, 20) for c in fit(degree)))
