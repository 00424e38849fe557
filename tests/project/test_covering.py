"""The covering arrays that other tests are parametrised by."""

from itertools import combinations, product

import pytest

from covering import covering, pairwise, rotating, some, together

SIZES = [(2, 2), (3, 1, 4), (2, 2, 2), (6, 5, 4, 2), (13, 9, 4), (2, 2, 2, 2, 2, 2, 2), (3, 3, 3, 3)]


@pytest.mark.parametrize("sizes", SIZES)
def test_every_pair_of_values_occurs(sizes):
    axes = [[f"{axis}{value}" for value in range(size)] for axis, size in enumerate(sizes)]
    cases = pairwise(axes)
    assert all(value in axis for case in cases for value, axis in zip(case, axes, strict=True))
    met = {pair for case in cases for pair in combinations(case, 2)}
    assert met == {pair for one, other in combinations(axes, 2) for pair in product(one, other)}
    largest, second = sorted(sizes)[:-3:-1]
    assert largest * second <= len(cases) == len(set(cases)) <= 1.5 * largest * second + 2
    assert cases == pairwise(axes)


def test_parametrisation_of_a_test():
    names, cases = (mark := covering(n=[1, 2], kind={"words": str.split, "letters": list}, form=(dict, tuple))).args
    assert names == ["n", "kind", "form"]
    assert dict(zip(mark.kwargs["ids"], cases, strict=True))["1-words-dict"] == [1, str.split, dict]
    assert len(cases) == len(set(mark.kwargs["ids"])) == 4


def test_values_of_one_axis_may_be_pairs_of_arguments():
    names, cases = (mark := rotating(1, **{"width, name": [(1, "a"), (2, "b")]}, kind=[str, bytes])).args
    assert names == ["width", "name", "kind"]
    assert cases == [[1, "a", str], [2, "b", bytes]]
    assert len(set(mark.kwargs["ids"])) == 2


@pytest.mark.parametrize("n, m, times", [(30, 16, 8), (19, 25, 5), (7, 7, 7), (5, 3, 1)])
def test_values_of_the_second_axis_take_turns(n, m, times):
    names, cases = rotating(times, mistake=range(n), call=range(m)).args
    assert names == ["mistake", "call"]
    assert len({tuple(case) for case in cases}) == len(cases) == n * times
    assert {mistake: sum(case[0] == mistake for case in cases) for mistake in range(n)} == dict.fromkeys(
        range(n), times
    )
    asked = [sum(case[1] == call for case in cases) for call in range(m)]
    assert max(asked) - min(asked) <= times
    assert min(asked) >= 1


@pytest.mark.parametrize("share, n", [(4, 38), (3, 3), (2, 1)])
def test_so_many_tests_share_the_values(share, n):
    shares = [some(share, number, range(n)) for number in range(min(share, n))]
    assert sorted(value for values in shares for value in values) == [*range(n)]
    assert some(share, share, range(n)) == shares[0]
    assert all(shares)


@pytest.mark.filterwarnings("error")
@together
@rotating(1, number=[1, 2, 3, 4], kind=[str, bytes])
def test_cases_of_one_test(number, kind, tmp_path):
    assert tmp_path.exists()
    assert (number % 2 == 1) == (kind is str)


def test_cases_that_fail_are_listed():
    @together
    @pytest.mark.parametrize("number", range(4))
    def odd(number):
        if number == 2:
            pytest.fail("two")
        assert number % 2

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases fail") as raised:
        odd()
    assert [error.__notes__ for error in raised.value.exceptions] == [
        ["The case: {'number': 0}"],
        ["The case: {'number': 2}"],
    ]
    assert odd.pytestmark == []
