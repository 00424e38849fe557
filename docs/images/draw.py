"""Draws the pictures at the top of the method pages: ``python docs/images/draw.py``.

Each row of `fastfs.demo` becomes a separate picture; demo.png has all of them. Colours are reduced to 256.
"""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_digits

import fastfs
from fastfs import demo

FOLDER = Path(__file__).parent
WIDTH = 900


def save(drawn: bytes, name: str) -> None:
    """Write a drawn PNG as a small one of `WIDTH` pixels."""
    picture = Image.open(io.BytesIO(drawn)).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    picture.resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(256, kmeans=4).save(FOLDER / name, optimize=True)


def as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=130)
    return buffer.getvalue()


def snp_pairs() -> Figure:
    """Draw the strongest pair of the example of docs/snp-pairs.md, and the statistics of ten pairs."""
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.4, (1000, 300))
    G = fastfs.io.pack_genotypes(X, names=[f"rs{j}" for j in range(300)])
    differ = (X[:, 17] == 1) ^ (X[:, 202] == 1)
    y = np.where(rng.random(1000) < np.where(differ, 0.7, 0.3), "case", "control")
    result = fastfs.snp_pairs(G, y, n_pairs=10)
    share = result.tables[0, :, :, 0] / result.tables[0].sum(axis=-1)
    first, second = result.names[0]

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    cells, bars = figure.subplots(1, 2, width_ratios=(1, 1.4))
    drawn = cells.imshow(share, cmap="RdBu_r", vmin=0, vmax=1)
    for (i, j), value in np.ndenumerate(share):
        cells.text(j, i, f"{value:.0%}", ha="center", va="center", color="white" if abs(value - 0.5) > 0.3 else "black")
    cells.set_xticks(range(3))
    cells.set_yticks(range(3))
    cells.set_xlabel(f"copies of allele 1 of {second}")
    cells.set_ylabel(f"copies of allele 1 of {first}")
    cells.set_title("share of cases", loc="left", fontweight="bold")
    figure.colorbar(drawn, ax=cells)
    fastfs.pl.ranking(
        result.statistics, [" x ".join(pair) for pair in result.names], ax=bars, title="statistic of a pair"
    )
    return figure


def main() -> None:
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    for method, draw_row in demo.ROWS.items():
        figure = Figure(figsize=(16, 3.7), layout="constrained")
        draw_row(figure.subfigures(1, 1), X[chosen], y[chosen], None)
        save(as_png(figure), f"{method}.png")
    demo.draw(FOLDER / "demo.png")
    save((FOLDER / "demo.png").read_bytes(), "demo.png")

    biopsies = load_breast_cancer(as_frame=True)
    result = fastfs.differential_correlation(biopsies.data, biopsies.target_names[biopsies.target])
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    fastfs.pl.differential_correlation(result, biopsies.data.columns, top=12, ax=figure.add_subplot())
    save(as_png(figure), "differential_correlation.png")
    save(as_png(snp_pairs()), "snp_pairs.png")


if __name__ == "__main__":
    main()
