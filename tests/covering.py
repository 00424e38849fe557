"""Covering arrays: few cases in which every pair of values of two axes occurs, in place of all combinations."""

import inspect
from functools import wraps
from itertools import combinations, product

import pytest


def covering(**axes):
    """Return pytest's parametrisation of a test by `axes`, in which every two values of two axes meet at least once.

    An axis is a sequence of values, or a dict of values by their names in the ids of the cases; one whose name is
    "a, b" has pairs as values, which are two arguments of the test. With three axes or more that is far fewer cases
    than all combinations: 30 in place of 240 for 6 x 5 x 4 x 2 values. A mistake that needs three values at once is
    left to the tests of the engines, which go through all combinations.
    """
    cases = pairwise([list(_named(values)) for values in axes.values()])
    return _parametrize(axes, cases)


def rotating(times, **axes):
    """Return pytest's parametrisation by two `axes`, in which each value of the first meets `times` of the second.

    For a table of mistakes and the functions that share the code which looks for them: each mistake is made, and each
    function is asked, but not each about each.
    """
    return _parametrize(axes, turns(times, *(_named(values) for values in axes.values())))


def together(test):
    """Make one test of the cases of a parametrised one, which goes through all of them and lists those that fail.

    For tables of mistakes: each case takes less time than pytest takes for a test.
    """
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    names, cases = mark.args
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
        cases = [[case] for case in cases] if len(names) == 1 else cases
    cases = [dict(zip(names, case, strict=True)) for case in cases]
    assert cases

    @wraps(test)
    def go_through(**fixtures):
        errors = []
        for case in cases:
            try:
                test(**case, **fixtures)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"The case: {case!r:.300}")
                errors.append(error)
        if errors:
            raise BaseExceptionGroup(f"{len(errors)} of {len(cases)} cases fail", errors)

    signature = inspect.signature(test)
    kept = [parameter for name, parameter in signature.parameters.items() if name not in names]
    go_through.__signature__ = signature.replace(parameters=kept)
    go_through.pytestmark = [other for other in test.pytestmark if other is not mark]
    return go_through


def turns(times, first, second):
    """List pairs in which each value of `first` meets `times` of `second`, which take turns at even distances."""
    second = list(second)
    step = len(second) / times
    return [(a, second[int(i + k * step) % len(second)]) for i, a in enumerate(first) for k in range(times)]


def some(share, number, values):
    """List every `share`-th of `values`, at least one, from the place that `number` says.

    For tests that ask many functions about a mistake that shared code looks for: with the next number in the next test,
    each function is asked in one test of so many.
    """
    values = list(values)
    share = min(share, len(values))
    return values[number % share :: share]


def pairwise(axes):
    """List tuples of one value per axis so that every pair of values of two axes is in one of them.

    Greedy, and the same list each time: a tuple starts from the first pair that is in none, and takes along the other
    axes the value that adds the most pairs; of equally good ones, that which was taken least.
    """
    missing = {
        (i, a, j, b): None  # a dict keeps the order
        for i, j in combinations(range(len(axes)), 2)
        for a, b in product(axes[i], axes[j])
    }
    taken = [dict.fromkeys(axis, 0) for axis in axes]
    cases = []
    while missing:
        i, a, j, b = next(iter(missing))
        case = {i: a, j: b}
        for k, axis in enumerate(axes):
            if k not in case:
                case[k] = min(axis, key=lambda value: (-_gain(missing, case, k, value), taken[k][value]))
        cases.append(tuple(case[k] for k in range(len(axes))))
        for k, value in case.items():
            taken[k][value] += 1
        for one, other in combinations(sorted(case), 2):
            missing.pop((one, case[one], other, case[other]), None)
    return cases


def _gain(missing, case, k, value):
    """Count the pairs of `value`, on axis `k`, with the values of `case` that are in no tuple yet."""
    return sum(((i, a, k, value) if i < k else (k, value, i, a)) in missing for i, a in case.items())


def _parametrize(axes, cases):
    named = [_named(values) for values in axes.values()]
    arguments = [name for axis in axes for name in axis.split(", ")]
    values = []
    for case in cases:
        chosen = [names[name] for names, name in zip(named, case, strict=True)]
        values.append([each for axis, value in zip(axes, chosen, strict=True) for each in _split(axis, value)])
    return pytest.mark.parametrize(arguments, values, ids=["-".join(case) for case in cases])


def _split(axis, value):
    """List the arguments of a test that a value of an axis makes."""
    return value if ", " in axis else [value]


def _named(values):
    """Return the values of an axis by names for them, which differ."""
    if isinstance(values, dict):
        return values
    named = {}
    for number, value in enumerate(values):
        name = (getattr(value, "__name__", None) or str(value))[:40]
        named[f"{name} {number}" if name in named else name] = value
    return named
