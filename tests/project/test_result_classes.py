"""How results print: a line, whatever they hold."""

import dataclasses
import inspect

import numpy as np
from scipy.sparse import csr_array

import fastfs
from covering import rotating
from fastfs._machine.results import result_class

CLASSES = [getattr(fastfs, name) for name in fastfs.__all__] + [fastfs.io.Table]
CLASSES = [cls for cls in CLASSES if inspect.isclass(cls) and dataclasses.is_dataclass(cls)]
CLASSES = [cls for cls in CLASSES if not hasattr(cls, "get_params")]  # estimators print as scikit-learn's do

LARGE = {
    "a vector": np.arange(10_000) / 7,
    "a table": np.zeros((500, 500)),
    "names": [f"gene {j}" for j in range(10_000)],
    "strings": np.array([f"gene {j}" for j in range(10_000)]),
    "records": np.zeros(10_000, [("event", bool), ("time", float)]),
    "columns": {f"column {j}": np.arange(10_000) for j in range(100)},
    "vectors": [np.arange(10_000)] * 100,
    "tuples": ((np.arange(10_000),) * 3,) * 3,
    "text": "x" * 10_000,
    "sparse": csr_array(np.eye(500)),
    "nothing": None,
}


def holding(cls, value):
    result = object.__new__(cls)
    for f in dataclasses.fields(cls):
        object.__setattr__(result, f.name, value)
    return result


@rotating(1, cls=CLASSES, what=LARGE.keys())
def test_results_print_briefly(cls, what):
    shown = [f for f in dataclasses.fields(cls) if f.repr]
    text = repr(holding(cls, LARGE[what]))
    assert text.startswith(f"{cls.__name__}(")
    assert text.endswith(")")
    assert all(f"{f.name}=" in text for f in shown)
    assert len(text) < 300 * len(shown) + 50
    assert "\n" not in text


def test_what_is_shown():
    @result_class
    class Result:
        scores: object
        pairs: object
        names: object
        n: object
        hidden: object = dataclasses.field(default=1, repr=False)

    shown = repr(Result(np.arange(5) / 3, np.zeros((2, 3), np.float32), ["a", "b"], 7))
    assert shown == "Result(scores=<5 float64: 0, 0.3333, 0.6667, ...>, pairs=<2 x 3 float32>, names=['a', 'b'], n=7)"
    shown = repr(Result(np.array([True]), [*"abcdefgh"], {"a": 1}, (1.5,)))
    assert shown == "Result(scores=<1 bool: True>, pairs=<list of 8: 'a', 'b', 'c', ...>, names={'a': 1}, n=(1.5,))"


def test_a_fit_prints_on_one_screen():
    X, y = np.random.default_rng(0).normal(size=(60, 3000)), np.arange(60) % 2
    assert len(repr(fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=9))) < 1500
