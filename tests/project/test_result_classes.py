"""How results print, in a terminal and in a notebook; their frames and their pictures."""

import dataclasses
import html.parser
import inspect
import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import fastfs
from covering import rotating
from fastfs._machine.results import Brief, DrawnResult, Result, result_class

CLASSES = [getattr(fastfs, name) for name in fastfs.__all__]
CLASSES = [cls for cls in CLASSES if inspect.isclass(cls) and dataclasses.is_dataclass(cls)]
CLASSES = [cls for cls in CLASSES if not hasattr(cls, "get_params")]  # estimators print as scikit-learn's do
BRIEF = [cls for cls in CLASSES if issubclass(cls, Brief)] + [fastfs.io.Table]
CLASSES = [cls for cls in CLASSES if cls not in BRIEF]

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

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = RNG.normal(size=(40, 2000))
X[:, 3] += 3 * Y
FEW = X[:, :30]
G = RNG.integers(0, 3, (40, 30))

# A call for each class, on many features where that is fast.
CALLS = {
    "PermutationResult": lambda: fastfs.permutation_test(fastfs.ReliefF(), X, Y, n_permutations=9),
    "GroupsResult": lambda: (
        fastfs.permutation_test(
            fastfs.ReliefF(), X, Y, n_permutations=9, feature_groups={f"set{k}": [k, k + 1] for k in range(1500)}
        ).feature_groups
    ),
    "StabilityResult": lambda: fastfs.stability(fastfs.ReliefF(3), X, Y, n_subsamples=4),
    "TwinResult": lambda: fastfs.shuffled_twin(fastfs.ReliefF(), X, Y),
    "ConsensusResult": lambda: fastfs.consensus({f"<method {k}>": row for k, row in enumerate(X[:12])}),
    "ProjSeResult": lambda: fastfs.projse(X, Y[:, None].astype(float)),
    "IM4EResult": lambda: fastfs.im4e(X, Y),
    "ImmigrateResult": lambda: fastfs.immigrate(FEW, Y),
    "DiSCResult": lambda: fastfs.disc([X[Y == 0], X[Y == 1]]),
    "IKDRResult": lambda: fastfs.ikdr(X, Y),
    "Direction": lambda: fastfs.direction(X, Y),
    "Explanation": lambda: fastfs.Immigrate().fit(FEW, Y).explain(FEW[:1])[0],
    "DifferentialCorrelation": lambda: fastfs.differential_correlation(X, Y, n_permutations=9),
    "InteractionScan": lambda: fastfs.interaction_scan(FEW, Y, n_permutations=9),
    "SnpPairs": lambda: fastfs.snp_pairs(G, Y, n_permutations=9),
    "LdClumps": lambda: fastfs.ld_clumps(G, RNG.random(30)),
    "AssessResult": lambda: fastfs.assess(FEW, Y, methods=["relieff", "projse"], n_repeats=1),
    "Report": lambda: fastfs.report(
        FEW, Y, methods=("multisurf", "projse"), n_permutations=9, n_subsamples=4, n_repeats=0, n_pairs=0
    ),
}


@pytest.fixture(scope="module")
def made():
    """A function that returns the result of a class, made once."""
    results = {}

    def make(cls):
        if cls not in results:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[cls] = CALLS[cls.__name__]()
        assert type(results[cls]) is cls
        return results[cls]

    return make


def test_every_result_is_tested():
    assert CALLS.keys() == {cls.__name__ for cls in CLASSES}
    assert all(issubclass(cls, Result) for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_results_print_sizes_and_the_best_ten(cls, made):
    result = made(cls)
    above, header, *rows = repr(result).splitlines()
    n = len(result.to_frame())
    assert above.startswith(f"{cls.__name__} of {n} ")
    assert len(above) < 500
    assert len(header) < 200
    assert len(rows) <= 11
    if n > 10 and cls is not fastfs.AssessResult:
        assert len(rows) == 11
        assert rows[-1].startswith(f"... and {n - 10} more: to_frame() has all")
    assert not any(word in repr(result) for word in ("array(", "<", "\x1b")) or cls is fastfs.ConsensusResult
    assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


@pytest.mark.parametrize("cls", CLASSES)
def test_results_have_frames(cls, made):
    result = made(cls)
    frame = result.to_frame()
    polars = pytest.importorskip("polars")
    other = result.to_frame("polars")
    assert isinstance(other, polars.DataFrame)
    assert other.columns == list(frame)
    assert other.height == len(frame) > 0
    assert polars.Object not in other.dtypes
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'csv'"):
        result.to_frame("csv")


@pytest.mark.parametrize("cls", CLASSES)
def test_the_best_rows_of_the_frame_print(cls, made):
    result = made(cls)
    frame, (_, header, *rows) = result.to_frame(), repr(result).splitlines()
    if "rank" in frame:
        expected = frame.sort_values("rank")
    elif "score" in frame:
        expected = frame.sort_values("score", ascending=False, kind="stable")
    elif cls is fastfs.Direction:
        expected = frame.sort_values("effect", key=abs, ascending=False, kind="stable")
    elif cls in (fastfs.AssessResult, fastfs.Report):
        return
    else:
        expected = frame
    name = header.split()[0]
    assert [row.split()[0] for row in rows[:10]] == expected[name].astype(str).tolist()[:10]


def test_an_assessment_prints_the_number_of_features_nearest_to_10(made):
    rows = repr(made(fastfs.AssessResult)).splitlines()[2:]
    assert [row.split()[:2] for row in rows[:4]] == [[m, "10"] for m in ("relieff", "projse", "anova", "variance")]


class Tables(html.parser.HTMLParser):
    """Collects the texts of cells, and the tags that don't close."""

    def __init__(self):
        super().__init__()
        self.cells, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.cells.append(data)


@pytest.mark.parametrize("cls", CLASSES)
def test_notebooks_show_the_same_table(cls, made):
    text = made(cls)._repr_html_()
    if cls is fastfs.Report:  # a notebook shows its page
        assert text.startswith("<iframe")
        return
    page = Tables()
    page.feed(text)
    assert not page.open
    assert " ".join(page.cells).split() == [
        word for line in repr(made(cls)).splitlines()[1:] if "to_frame()" not in line for word in line.split()
    ]


@pytest.mark.parametrize("cls", CLASSES)
def test_results_draw_themselves(cls, made):
    figures = pytest.importorskip("matplotlib.figure")
    assert issubclass(cls, DrawnResult)
    figure = figures.Figure()
    if cls is fastfs.InteractionScan:
        made(cls).plot(FEW, Y, top=2, figure=figure)
    elif cls is fastfs.TwinResult:
        made(cls).plot(figure=figure)
    else:
        ax = figure.add_subplot()
        assert made(cls).plot(ax=ax) is ax
    assert all(ax.has_data() for ax in figure.axes[:1])


def test_a_picture_has_the_order_of_the_ranking(made):
    figures = pytest.importorskip("matplotlib.figure")
    result = made(fastfs.ProjSeResult)
    ax = result.plot(top=3, ax=figures.Figure().add_subplot())
    best = np.argsort(result.ranking)[:3]
    assert [label.get_text().split()[1] for label in ax.get_yticklabels()] == [f"x{j}" for j in best]
    names = [f"g{j}" for j in range(2000)]
    ax = result.plot(names, top=1, ax=figures.Figure().add_subplot())
    assert ax.get_yticklabels()[0].get_text() == f"1  g{best[0]}"


@pytest.mark.parametrize("name", ["ReliefF", "ProjSe", "IM4E", "Immigrate", "DiSC", "IKDR", "TuRF", "VLS", "Cut"])
def test_fitted_estimators_print_their_parameters_alone(name):
    cls = getattr(fastfs, name)
    wraps = name in ("TuRF", "VLS", "Cut")
    estimator = cls(fastfs.ReliefF()) if wraps else cls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = repr(estimator)
        assert repr(estimator.fit(FEW, Y)) == before
    assert len(before) < 200


def holding(cls, value):
    result = object.__new__(cls)
    for f in dataclasses.fields(cls):
        object.__setattr__(result, f.name, value)
    return result


@rotating(1, cls=BRIEF, what=LARGE.keys())
def test_others_print_on_a_line(cls, what):
    shown = [f for f in dataclasses.fields(cls) if f.repr]
    text = repr(holding(cls, LARGE[what]))
    assert text.startswith(f"{cls.__name__}(")
    assert text.endswith(")")
    assert all(f"{f.name}=" in text for f in shown)
    assert len(text) < 300 * len(shown) + 50
    assert "\n" not in text


def test_what_is_shown():
    @result_class
    class Shown(Brief):
        scores: object
        pairs: object
        names: object
        n: object
        hidden: object = dataclasses.field(default=1, repr=False)

    shown = repr(Shown(np.arange(5) / 3, np.zeros((2, 3), np.float32), ["a", "b"], 7))
    assert shown == "Shown(scores=<5 float64: 0, 0.3333, 0.6667, ...>, pairs=<2 x 3 float32>, names=['a', 'b'], n=7)"
    shown = repr(Shown(np.array([True]), [*"abcdefgh"], {"a": 1}, (1.5,)))
    assert shown == "Shown(scores=<1 bool: True>, pairs=<list of 8: 'a', 'b', 'c', ...>, names={'a': 1}, n=(1.5,))"


def test_a_result_without_rows_prints():
    X, y = np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 2
    none = fastfs.interaction_scan(X, y, n_permutations=99, alpha=0.05)
    assert len(none.pairs) == 0
    assert repr(none).startswith("InteractionScan of 0 pairs: ")
    assert "<table>" in none._repr_html_()


def test_frames_with_names(made):
    frame = made(fastfs.StabilityResult).to_frame(feature_names=[f"gene{j}" for j in range(2000)])
    assert frame.columns[:2].tolist() == ["feature", "name"]
    assert frame["name"].tolist() == [f"gene{j}" for j in frame["feature"]]
    assert made(fastfs.ProjSeResult).to_frame("polars", [f"gene{j}" for j in range(2000)])["name"][3] == "gene3"
    for names in (["gene0"], "gene"):
        with pytest.raises(ValueError, match="feature_names must name all 2000 features"):
            made(fastfs.StabilityResult).to_frame(feature_names=names)
    for cls in (fastfs.LdClumps, fastfs.SnpPairs, fastfs.AssessResult, fastfs.Report):
        with pytest.raises(ValueError, match=f"feature_names must be left out: {cls.__name__} has no row for each"):
            made(cls).to_frame(feature_names=["a"])
