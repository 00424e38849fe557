"""The figures of a report: SVG of one column's width, with text that can be searched."""

import io
import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs import pl
from fastfs._functions.interactions import InteractionScan
from fastfs._inference.assessment import AssessResult
from fastfs._inference.consensus import consensus
from fastfs._report.study import Study
from fastfs._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Widths in inches: one column of most journals (89 mm), and two columns.
_COLUMN, _PAGE = 3.5, 7.2

# Largest number of bars that can still be read.
_BARS_AT_MOST = 30

# Pairs of features that are drawn, and the most samples of each.
_PAIRS, _POINTS_AT_MOST = 3, 500

_STYLE: Any = {
    "font.size": 7,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # its widths come with matplotlib, so all machines lay out alike
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "fastfs",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


class Figures:
    """Draws the figures of one page, and keeps their ids distinct."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def draw_study(self, study: Study, names: Sequence[str], top: int) -> dict[str, str]:
        """Return the figures of a method by name, each an SVG element: the ranking, and those of the parts that the
        study has.
        """
        top = min(top, _BARS_AT_MOST)
        height = 0.75 + 0.135 * min(top, len(names))
        selector, pictures = study.selector, {}
        pictures["ranking"] = self._draw(
            lambda ax: pl.ranking(
                selector.scores_,
                names,
                top=top,
                ranks=selector.ranking_,
                ax=ax,
                n_selected=getattr(selector, "n_selected_", None),
            ),
            _COLUMN,
            height,
        )
        if (twin := study.twin) is not None:
            pictures["shuffled"] = self._draw(
                lambda ax: pl.ranking(twin.shuffled_scores, names, top=top, ranks=twin.shuffled_ranking, ax=ax),
                _COLUMN, height,
            )  # fmt: skip
        if (test := study.test) is not None:
            pictures["permutation"] = self._draw(lambda ax: pl.permutation(test, ax=ax, title=""), _COLUMN, 2.2)
        if (stability := study.stability) is not None:
            selected = max(1, min(top, int(np.count_nonzero(stability.frequencies))))
            pictures["stability"] = self._draw(
                lambda ax: pl.stability(stability, names, top=selected, ax=ax, title=""), _COLUMN, height
            )
        if (picture := study.method.picture) is not None:
            of_features = {"feature_names": names, "top": top} if picture.of_features else {}
            width, tall = (_PAGE, _PAGE) if picture.of_features else (_COLUMN, 2.4)
            draw = getattr(pl, picture.function)
            pictures["picture"] = self._draw(lambda ax: draw(selector, ax=ax, **of_features), width, tall)
        return pictures

    def consensus(self, studies: Sequence[Study], names: Sequence[str], top: int) -> str:
        ranked = consensus({study.method.estimator: study.selector for study in studies})
        top = min(top, _BARS_AT_MOST)
        height = 0.75 + 0.16 * min(top, len(names))
        return self._draw(lambda ax: pl.consensus(ranked, names, top=top, ax=ax), _COLUMN, height)

    def new_samples(self, result: AssessResult) -> str:
        return self._draw(lambda ax: pl.assess(result, ax=ax, title=""), _COLUMN, 2.8)

    def pairs(self, result: InteractionScan, X: Any, y: Array) -> str:
        """Return panels of the strongest pairs, with samples from the first to the last at equal distances."""
        rows = np.linspace(0, len(y) - 1, min(len(y), _POINTS_AT_MOST)).astype(np.int64)
        return self._draw_figure(
            lambda figure: pl.pair_panels(result, X[rows], y[rows], top=_PAIRS, figure=figure), _PAGE, 2.4
        )

    def _draw(self, draw: Callable[["Axes"], Any], width: float, height: float) -> str:
        """Return a picture of one pair of axes."""
        return self._draw_figure(lambda figure: draw(figure.add_subplot()), width, height)

    def _draw_figure(self, draw: Callable[["Figure"], Any], width: float, height: float) -> str:
        """Return a picture as an SVG element for a page, drawn with settings that are the same on each machine."""
        import matplotlib
        from matplotlib.figure import Figure

        text = io.StringIO()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()  # the page doesn't depend on the caller's settings
            matplotlib.rcParams.update(_STYLE)
            figure = Figure(figsize=(width, height), layout="constrained")
            draw(figure)
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return _inline(text.getvalue(), f"f{next(self._numbers)}-")


def _inline(svg: str, prefix: str) -> str:
    """Return an SVG document as an element of a page, with unique ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)
