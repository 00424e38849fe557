"""Plots: what stands in them."""

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.sparse import csr_matrix

import fastfs
from fastfs import pl
from sentences import assert_one_sentence


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_ranking_shows_the_best_in_order(ax):
    scores = np.random.default_rng(0).permutation(2000) / 2000
    names = [f"gene{j}" for j in range(2000)]
    assert pl.ranking(scores, names, top=30, ax=ax, title="colon") is ax
    best = np.argsort(-scores)[:30]
    assert [bar.get_width() for bar in ax.patches] == scores[best].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"{r}  {names[j]}" for r, j in enumerate(best, 1)]
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == f"{scores.max():.3f}"
    assert "dashed: median of all 2000, 0.500" in texts
    assert ax.get_xlabel() == "score, the 30 best of 2000 features"
    assert ax.yaxis_inverted()
    assert ax.get_title(loc="left") == "colon"


def test_ranking_in_another_order(ax):
    pl.ranking([0.2, 0.9, 0.5], ["a", "b", "c"], ranks=[2, 1, 3], n_selected=2, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1  b", "2  a", "3  c"]
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.2, 0.5]
    colours = [bar.get_facecolor() for bar in ax.patches]
    assert colours[0] == colours[1] != colours[2]
    assert ax.get_xlabel() == "score; the first 2 selected, in order"
    with pytest.raises(ValueError, match="ranks must have one rank for each"):
        pl.ranking([0.2, 0.9], ranks=[1, 2, 3], ax=ax)


def test_ranking_draws_any_name(ax):
    names = ["$x^", "a_b$c$", "n" * 200]
    pl.ranking([3.0, 2.0, 1.0], names, ax=ax)
    ax.figure.savefig(__import__("io").BytesIO())
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert shown[:2] == ["1  $x^", "2  a_b$c$"]
    assert len(shown[2]) < 40
    assert ax.get_xlabel() == "score"


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [-1.0, -3.0, 2.0], [1e-12, 3e-13, 0.0], [5e8, 2.0, 1.0]])
def test_ranking_of_unusual_scores(ax, scores):
    pl.ranking(scores, ax=ax)
    assert [bar.get_width() for bar in ax.patches] == sorted(scores, reverse=True)
    for bar, text in zip(ax.patches, ax.texts, strict=False):
        np.testing.assert_allclose(float(text.get_text()), bar.get_width(), rtol=0.005, atol=0.005 * max(scores))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([[1.0, 2.0]],), "1-D array with values"),
        (([],), "1-D array with values"),
        (([1.0, 2.0], ["a"]), "feature_names must name all 2 scores; got 1"),
    ],
)
def test_ranking_of_bad_input(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        pl.ranking(*arguments, ax=ax)
    with pytest.raises(ValueError, match="top must be"):
        pl.ranking([1.0], ax=ax, top=0)


def test_image(ax):
    values = np.arange(6.0)
    assert pl.image(values, (2, 3), ax=ax, title="scores") is ax
    (drawn,) = ax.images
    np.testing.assert_array_equal(drawn.get_array(), values.reshape(2, 3))
    assert drawn.get_clim() == (0, 5)
    assert drawn.colorbar is not None
    assert ax.get_title() == "scores"


@pytest.mark.parametrize("values", [[1.0, -4.0], [0.0, 0.0]])
def test_signed_image_is_white_at_zero(ax, values):
    pl.image(values, (1, 2), ax=ax, signed=True)
    (drawn,) = ax.images
    low, high = drawn.get_clim()
    assert -low == high > 0
    np.testing.assert_allclose(drawn.to_rgba([0.0])[0], to_rgba("white"), atol=0.04)


def test_image_of_wrong_shape(ax):
    with pytest.raises(ValueError, match="fill an image of 2 x 3 pixels; got 5"):
        pl.image(np.zeros(5), (2, 3), ax=ax)


def test_a_figure_is_made_where_none_is_given():
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    for axes in (pl.ranking([1.0, 2.0]), pl.image([1.0, 2.0], (1, 2))):
        assert axes.figure.number in plt.get_fignums()
        plt.close(axes.figure)


# ----------------------------------------------------------------------------------------------------------- components


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), np.arange(60) % 3
    return fastfs.ManiFeSt(n_components=2).fit(X + (y == 1)[:, None] * X[:, :1], y)


@pytest.mark.parametrize("comparison", [0, 2])
def test_components_show_the_largest_entries(fitted, comparison):
    names = [f"gene$_{j}" for j in range(12)]
    figure = pl.components(fitted, feature_names=names, top=5, comparison=comparison, figure=Figure())
    axes = np.array(figure.axes).reshape(2, 2)
    for row, vectors in zip(axes, (fitted.mean_eigenvectors_, fitted.difference_eigenvectors_), strict=True):
        for i, ax in enumerate(row):
            vector = vectors[comparison][:, i]
            largest = np.argsort(-np.abs(vector))[:5]
            assert [label.get_text() for label in ax.get_yticklabels()] == [names[j] for j in largest]
            np.testing.assert_allclose([bar.get_width() for bar in ax.patches], vector[largest])
    assert axes[1, 1].get_title() == f"D, 2nd: {fitted.difference_eigenvalues_[comparison, 1]:.3g}"


def test_components_of_pixels_are_images(fitted):
    figure = pl.components(fitted, shape=(3, 4), figure=Figure())
    images = [ax.images[0].get_array() for ax in figure.axes if ax.images and ax.get_title()]
    assert len(images) == 4
    np.testing.assert_array_equal(images[2].ravel(), fitted.difference_eigenvectors_[0][:, 0])


@pytest.mark.parametrize(
    "selector, options, message",
    [
        (fastfs.ManiFeSt(), {}, "fitted ManiFeSt"),
        (fastfs.ManiFeSt().fit(np.eye(6)[:, :4] + 1, [0, 1] * 3), {}, "n_components=1"),
        ("fitted", {"comparison": 3}, "between 0 and 2"),
        ("fitted", {"feature_names": ["a"]}, "feature_names must name all 12 .*; got 1"),
        ("fitted", {"shape": (5, 5)}, "5 x 5"),
    ],
)
def test_components_refuse(fitted, selector, options, message):
    with pytest.raises(ValueError, match=message):
        pl.components(fitted if selector == "fitted" else selector, figure=Figure(), **options)


# --------------------------------------------------------------------------------------------------------- interactions


@pytest.fixture(scope="module")
def immigrate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), np.arange(60) % 2
    X[:, 4] += 3 * y
    return fastfs.Immigrate().fit(X, np.array(["healthy", "sick"])[y]), X


@pytest.mark.parametrize("by", ["weight", "residual"])
def test_interactions_show_the_strongest_features(ax, immigrate, by):
    model, _ = immigrate
    names = [f"gene$_{j}" for j in range(12)]
    assert pl.interactions(model, names, top=5, by=by, ax=ax) is ax
    W = model.W_
    if by == "residual":
        leading = model.eigenvectors_[:, 0]
        W = W - model.eigenvalues_[0] * np.outer(leading, leading)
    order = np.argsort(-(W**2).sum(axis=1), kind="stable")[:5]
    (drawn,) = ax.images
    np.testing.assert_allclose(drawn.get_array(), W[np.ix_(order, order)], atol=1e-12)
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [label.get_text() for label in labels] == [names[j] for j in order]
    low, high = drawn.get_clim()
    assert high == np.abs(drawn.get_array()).max()
    assert low == (-high if drawn.get_array().min() < 0 else 0)
    assert ax.get_title(loc="left") == "the 5 strongest of 12 features"
    ax.figure.savefig(__import__("io").BytesIO())


def test_interactions_of_a_matrix(ax, immigrate):
    model, _ = immigrate
    pl.interactions(model, ax=ax)
    other = pl.interactions(model.W_, ax=Figure().add_subplot())
    np.testing.assert_allclose(ax.images[0].get_array(), other.images[0].get_array(), atol=1e-12)
    assert [t.get_text() for t in ax.get_yticklabels()] == [t.get_text() for t in other.get_yticklabels()]
    assert ax.get_yticklabels()[0].get_text() == "x4"


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        (("unfitted",), {}, "fitted Immigrate or a symmetric matrix"),
        (([[1.0, 2.0], [3.0, 1.0]],), {}, "symmetric matrix"),
        (([1.0, 2.0],), {}, "symmetric matrix"),
        (([[1.0]], ["a", "b"]), {}, "feature_names must name all 1 .*; got 2"),
        (([[1.0]],), {"top": 0}, "top must be"),
        (([[1.0]],), {"by": "size"}, "by must be"),
    ],
)
def test_interactions_refuse(ax, arguments, options, message):
    if arguments == ("unfitted",):
        arguments = (fastfs.Immigrate(),)
    with pytest.raises(ValueError, match=message):
        pl.interactions(*arguments, ax=ax, **options)


@pytest.mark.parametrize("of", ["pairs", "features"])
def test_explanation_shows_the_strongest_parts(ax, immigrate, of):
    model, X = immigrate
    (found,) = model.explain(X[1:2])
    assert pl.explanation(found, of=of, top=4, ax=ax) is ax
    parts = getattr(found, of)[:4]
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], parts["part"])
    texts = [label.get_text() for label in ax.get_yticklabels()]
    if of == "features":
        assert texts == [f"x{j}" for j in parts["feature"]]
    else:
        expected = [f"x{a} alone" if a == b else f"x{a} x x{b}" for a, b in parts[["a", "b"]].tolist()]
        assert texts == expected
    n_rest = (12 if of == "features" else 78) - 4
    assert f"the other {n_rest} {of} add up to {found.margin - parts['part'].sum():+.3g}" in ax.get_xlabel()
    assert ax.get_title(loc="left") == f"sick, not healthy: margin {found.margin:+.3g}"
    for bar, text in zip(ax.patches, ax.texts, strict=True):
        np.testing.assert_allclose(
            float(text.get_text()), bar.get_width(), rtol=0.005, atol=0.005 * parts["part"].max()
        )


def test_explanation_refuses(ax, immigrate):
    model, X = immigrate
    (found,) = model.explain(X[:1])
    with pytest.raises(ValueError, match="give one entry of explain's list"):
        pl.explanation(model.explain(X[:1]), ax=ax)
    with pytest.raises(ValueError, match="of must be 'features' or 'pairs'"):
        pl.explanation(found, of="genes", ax=ax)
    with pytest.raises(ValueError, match="top must be"):
        pl.explanation(found, top=0, ax=ax)
    (found,) = fastfs.IM4E().fit(X, np.arange(60) % 2).explain(X[:1])
    with pytest.raises(ValueError, match="of must be 'features' here"):
        pl.explanation(found, of="pairs", ax=ax)
    assert len(pl.explanation(found, ax=ax).patches) == min(15, found.n_features)


# ------------------------------------------------------------------------------------------- what goes with a ranking


@pytest.fixture(scope="module")
def tested():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    X[:, :3] += 2 * y[:, None]
    return X, y


def test_comparison_names_the_best_of_both(ax):
    a, b = np.arange(20.0), np.arange(20.0)[::-1]
    pl.comparison(a, b, [f"g${j}" for j in range(20)], labels=("one", "other"), top=2, ax=ax)
    assert sorted(text.get_text() for text in ax.texts) == ["g$0", "g$1", "g$18", "g$19"]
    assert not any(text.get_parse_math() for text in ax.texts)
    assert sorted(len(dots.get_offsets()) for dots in ax.collections) == [4, 16]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("one", "other")
    assert ax.get_title(loc="left") == "rank correlation -1.00"
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([1, 2], [1, 2, 3]), "of the same features"),
        (([1], [1]), "of the same features"),
        (([1, 2], [1, 2], ["a"]), "feature_names must name all 2 .*; got 1"),
    ],
)
def test_comparison_refuses(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        pl.comparison(*arguments, ax=ax)


def test_permutation_shows_the_null_and_the_truth(ax, tested):
    result = fastfs.permutation_test(fastfs.ReliefF(), *tested, n_permutations=99)
    pl.permutation(result, ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 99
    assert [line.get_xdata()[0] for line in ax.lines] == [result.statistic]
    assert ax.get_title(loc="left") == "p = 0.01 (99 permutations)"
    ax.figure.canvas.draw()


def test_stability_shows_frequencies(ax, tested):
    result = fastfs.stability(fastfs.ReliefF(3), *tested, n_subsamples=8)
    pl.stability(result, [f"g{j}" for j in range(30)], top=4, ax=ax)
    assert [bar.get_width() for bar in ax.patches] == sorted(result.frequencies)[:-5:-1]
    assert ax.get_xlabel() == "share of 8 subsamples that select it"
    assert ax.get_title(loc="left").startswith(f"stability {result.stability:.2f} (")


def test_shuffled_twin_shows_both_rankings(tested):
    result = fastfs.shuffled_twin(fastfs.ReliefF(), *tested, top=8)
    names = [f"g$_{j}" for j in range(30)]
    figure = pl.shuffled_twin(result, names, figure=Figure(layout="constrained"))
    best = []
    for ax, scores, name in zip(
        figure.axes, (result.scores, result.shuffled_scores), ("true labels", "shuffled labels"), strict=True
    ):
        best.append(np.argsort(-scores)[:8])
        assert [bar.get_width() for bar in ax.patches] == scores[best[-1]].tolist()
        assert [t.get_text() for t in ax.get_yticklabels()] == [f"{r}  {names[j]}" for r, j in enumerate(best[-1], 1)]
        assert ax.get_title(loc="left") == name
    for ax, order in zip(figure.axes, best, strict=True):
        dark = [bar.get_facecolor() == to_rgba("#2f6f8f") for bar in ax.patches]
        assert dark == [j in best[0] and j in best[1] for j in order]
        assert sum(dark) == result.overlap
    expected = f"rank correlation {result.rank_correlation:.2f}; {result.overlap:.0f} of the 8 best in both"
    assert figure.get_suptitle() == expected
    figure.canvas.draw()
    assert len(pl.shuffled_twin(result, top=3, title="mine", figure=Figure()).axes[0].patches) == 3
    with pytest.raises(ValueError, match="feature_names must name all 30"):
        pl.shuffled_twin(result, ["a"], figure=Figure())
    with pytest.raises(ValueError, match="top must be at least 1; got 0"):
        pl.shuffled_twin(result, top=0, figure=Figure())


def test_assess_shows_intervals_and_the_band_of_permuted_labels(ax, tested):
    result = fastfs.assess(*tested, methods=["relieff"], n_features=[2, 5], n_repeats=3)
    pl.assess(result, ax=ax)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["permuted labels", "relieff", "anova", "variance"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "5"]
    assert ax.get_ylabel() == "balanced accuracy of new samples"
    frame = result.to_frame()
    for container, (_, rows) in zip(ax.containers, frame.groupby("method", sort=False), strict=True):
        line, _, (bars,) = container
        assert line.get_ydata().tolist() == rows.balanced_accuracy.tolist()
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends, rows[["low", "high"]])
    band = ax.collections[0].get_paths()[0].vertices
    means = frame.groupby("n_features")[["permuted_low", "permuted_high"]].mean().to_numpy()
    assert set(np.round(band[:, 1], 9)) == set(np.round(means.ravel(), 9))
    pl.assess(result, metric="auc", ax=(other := Figure().add_subplot()), title="mine")
    assert (other.get_ylabel(), other.get_title(loc="left")) == ("AUC of new samples", "mine")
    with pytest.raises(ValueError, match="metric must be 'balanced_accuracy' or 'auc'; got 'r2'"):
        pl.assess(result, metric="r2")


def test_consensus_shows_ranks(ax):
    result = fastfs.consensus({"a": [5.0, 1.0, 3.0, 3.0], "b": [4.0, 2.0, 3.0, 1.0]})
    pl.consensus(result, ["w", "x", "y", "z"], top=3, ax=ax, title="all")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1  w", "2  y", "3  z"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.texts] == ["1", "1", "2.5", "2", "2.5", "4"]
    assert ax.get_title(loc="left") == "all"
    ax.figure.canvas.draw()
    with pytest.raises(ValueError, match="feature_names must name all 4"):
        pl.consensus(result, ["w"], ax=ax)


def test_differential_correlation_shows_both_correlations(ax):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.repeat(["$a$", "b"], 30)
    X[:30, 1] += 3 * X[:30, 0]
    found = fastfs.differential_correlation(X, y, correlation="spearman", n_permutations=19)
    names = [f"gene$_{j}" for j in range(6)]
    assert pl.differential_correlation(found, names, top=4, ax=ax) is ax
    for points, values in zip(ax.collections[1:], found.correlations[:4].T, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), np.column_stack([values, np.arange(4)]))
    texts = [label.get_text() for label in ax.get_yticklabels()]
    assert texts == [f"{names[a]}, {names[b]}" for a, b in found.pairs[:4]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a$", "b"]
    assert ax.get_xlabel() == "Spearman's correlation"
    assert ax.get_title(loc="left") == "1 pair with p ≤ 0.05 (19 permutations)"
    untested = fastfs.differential_correlation(X, y, n_permutations=0)
    assert pl.differential_correlation(untested, ax=Figure().add_subplot()).get_title(loc="left") == ""
    with pytest.raises(ValueError, match="top must be at least 1"):
        pl.differential_correlation(found, top=0, ax=ax)
    with pytest.raises(ValueError, match="feature_names must name all 6"):
        pl.differential_correlation(found, names[:5], ax=ax)


def test_pair_panels_of_classes():
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(80, 6)), rng.normal(size=(80, 5))
    y = np.where(X[:, 1] * X[:, 4] > 0, "$a$", "b")
    found = fastfs.interaction_scan(X, y, n_permutations=19, feature_names=[f"gene$_{j}" for j in range(6)])
    figure = pl.pair_panels(found, csr_matrix(X), y, top=5, figure=Figure())
    assert len(figure.axes) == 5
    for ax, (a, b) in zip(figure.axes, found.pairs[:5].tolist(), strict=True):
        assert (ax.get_xlabel(), ax.get_ylabel()) == (f"gene$_{a}", f"gene$_{b}")
        for points, label in zip(ax.collections, ("$a$", "b"), strict=True):
            np.testing.assert_array_equal(points.get_offsets(), X[y == label][:, [a, b]])
    assert figure.axes[0].get_title(loc="left") == f"F = {found.statistics[0]:.3g}, p = 0.05"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["$a$", "b"]
    figure.canvas.draw()

    between = fastfs.interaction_scan(X, y, with_table=table, n_permutations=0)
    ax = pl.pair_panels(between, X, y, table=table, table_names=list("vwxyz"), top=1, figure=Figure()).axes[0]
    a, b = between.pairs[0].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"x{a}", "vwxyz"[b])
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), np.column_stack([X[:, a], table[:, b]])[y == "b"])
    assert ax.get_title(loc="left") == f"F = {between.statistics[0]:.3g}"

    correlations = fastfs.differential_correlation(X, y, n_permutations=0)
    ax = pl.pair_panels(correlations, X, y, top=1, figure=Figure()).axes[0]
    assert ax.get_title(loc="left") == f"z = {correlations.statistics[0]:.3g}"

    for wrong, message in (
        (lambda: pl.pair_panels(between, X, y), "table must be the second table"),
        (lambda: pl.pair_panels(found, X, y, table=table), "table must be left out"),
        (lambda: pl.pair_panels(found, X[:, :4], y), "X must have the 6 columns"),
        (lambda: pl.pair_panels(found, X, y[:7]), "y a value for each row"),
        (lambda: pl.pair_panels(found, X, y, top=0), "top must be at least 1"),
        (lambda: pl.pair_panels(found, X, y, list("ab")), "feature_names must name all 6"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: np.round(5 * x).astype(int), lambda x: np.char.mod("%d", 5 * x)]
)
def test_pair_panels_of_numbers_have_a_scale(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = make(X[:, 0] * X[:, 1])
    found = fastfs.interaction_scan(X, X[:, 0] * X[:, 1], n_permutations=0)
    figure = pl.pair_panels(found, pd.DataFrame(X), y, top=2, figure=Figure())
    assert len(figure.axes) == 3  # with the scale
    codes = y if y.dtype.kind in "fi" else np.unique(y, return_inverse=True)[1]
    np.testing.assert_array_equal(figure.axes[0].collections[0].get_array(), codes)


def drawn_texts(figure):
    """The texts that are seen, with their boxes in pixels; those at a slant are left out."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    found = [*figure.texts]
    for ax in figure.axes:
        found += [*ax.texts, ax.xaxis.label, ax.yaxis.label, *ax.get_children()]
        found += ax.get_legend().get_texts() if ax.get_legend() else []
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = {text for text in found if isinstance(text, Text) and text.get_visible() and text.get_text().strip()}
    renderer = canvas.get_renderer()
    return [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_rotation() % 90 == 0]


RNG = np.random.default_rng(0)
LONG_NAMES = [f"ENSG{j:011d}.transcript_variant_{j}_of_many" for j in range(40)]
SHIFTED = RNG.normal(size=(40, 40)) + 1.5 * np.outer(np.arange(40) % 2, np.arange(40) < 8)
OF_LABELS = SHIFTED, np.arange(40) % 2
PRINTED = {
    "comparison": lambda ax: pl.comparison(
        fastfs.relieff_scores(*OF_LABELS), fastfs.multisurf_scores(*OF_LABELS), LONG_NAMES, ax=ax, top=10
    ),
    "ranking": lambda ax: pl.ranking(fastfs.relieff_scores(*OF_LABELS), LONG_NAMES, ax=ax, title="ReliefF"),
    "negative scores": lambda ax: pl.ranking(-np.arange(40.0), LONG_NAMES, ax=ax),
    "permutation": lambda ax: pl.permutation(
        fastfs.permutation_test(fastfs.ReliefF(), *OF_LABELS, n_permutations=99), ax=ax
    ),
    "stability": lambda ax: pl.stability(
        fastfs.stability(fastfs.ReliefF(5), *OF_LABELS, n_subsamples=5), LONG_NAMES, ax=ax, title=""
    ),
    "assess": lambda ax: pl.assess(
        fastfs.assess(*OF_LABELS, methods=["relieff", "multisurf", "projse"], n_features=[1, 5, 10], n_repeats=2), ax=ax
    ),
    "consensus": lambda ax: pl.consensus(
        fastfs.consensus({name: RNG.normal(size=40) for name in ("MultiSURF", "ManiFeSt", "Immigrate")}),
        LONG_NAMES,
        ax=ax,
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_twenty_long_names_fit_a_column_of_a_journal(name):
    """3.5 inches at 7 points: no label leaves the figure or lies on another one."""
    with matplotlib.rc_context({"font.size": 7}):
        figure = Figure(figsize=(3.5, 3.5), layout="constrained", dpi=150)
        PRINTED[name](figure.add_subplot())
        texts = drawn_texts(figure)
    assert len(texts) > 5
    for text, box in texts:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (a, one), (b, other) in itertools.combinations(texts, 2):
        width = min(one.x1, other.x1) - max(one.x0, other.x0)
        height = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert width <= 1 or height <= 3, (a, b)  # boxes reach beyond the letters


def test_fitted_selectors_are_drawn():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=["CD4", "CD8A", "NKG7", "MS4A1"])
    y = np.arange(40) % 2
    frame["NKG7"] += 3 * y
    fitted = fastfs.ReliefF().fit(frame, y)
    drawn = pl.ranking(fitted, ax=Figure().add_subplot())
    expected = pl.ranking(fitted.scores_, [*frame], ax=Figure().add_subplot())
    names, same = ([label.get_text() for label in ax.get_yticklabels()] for ax in (drawn, expected))
    assert names == same
    assert names[0] == "1  NKG7"
    other = fastfs.MultiSURF().fit(frame, y)
    texts = [text.get_text() for text in pl.comparison(fitted, other, top=1, ax=Figure().add_subplot()).texts]
    assert texts == ["NKG7"]
    with pytest.raises(ValueError, match="a and b must be scores of the same features in the same order"):
        pl.comparison(fitted, fastfs.ReliefF().fit(frame[[*frame][::-1]], y), ax=Figure().add_subplot())


def test_what_holds_no_scores():
    anndata = pytest.importorskip("anndata")
    records = np.array([("CD4", 1.0)], dtype=[("names", "U9"), ("scores", float)])
    for given in (anndata.AnnData(np.eye(3)), {"names": records}, records, fastfs.ReliefF(), "CD4"):
        with pytest.raises(
            TypeError, match="must be an array of one score for each feature, such as scores_ of a"
        ) as e:
            pl.ranking(given, ax=Figure().add_subplot())
        assert_one_sentence(e)
        with pytest.raises(TypeError, match=r"^b must be an array of one score for each feature"):
            pl.comparison([1.0, 2.0], given, ax=Figure().add_subplot())


def test_pairs_keep_the_names_of_a_table():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=["CD4", "CD8A", "NKG7", "MS4A1"])
    y = np.repeat([0, 1], 30)
    frame.loc[:29, "NKG7"] += 3 * frame.loc[:29, "CD4"]
    found = fastfs.differential_correlation(frame, y, n_permutations=19)
    assert found.feature_names == [*frame]
    ax = pl.differential_correlation(found, top=1, ax=Figure().add_subplot())
    assert ax.get_yticklabels()[0].get_text() == "CD4, NKG7"
    assert fastfs.differential_correlation(frame.to_numpy(), y, n_permutations=19).feature_names is None


def test_ranking_says_directions():
    X = np.random.default_rng(0).normal(size=(40, 5))
    y = np.repeat(["case", "control"], 20)
    X[:20, 1] += 3
    X[20:, 2] += 3
    ax = pl.ranking([0.1, 0.9, 0.5, 0, 0], top=2, direction=fastfs.direction(X, y), ax=Figure().add_subplot())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1  x1 (high in case)", "2  x2 (high in control)"]
    with pytest.raises(ValueError, match="direction must be that of the 4 features"):
        pl.ranking([0.1, 0.9, 0.5, 0], direction=fastfs.direction(X, y), ax=Figure().add_subplot())
