"""The documentation site: `nox -s docs` builds it into build/site, and every warning is an error.

The pages are the Markdown files of the repository, read where they lie, so that their links hold in both places. Three
kinds of pages are made by the build: the reference from the docstrings, the gallery from the scripts in gallery/, and
the tutorials; their shell commands run and leave output and pictures on the page.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fastfs

HERE = Path(__file__).parent
MADE = HERE / "made"  # not in the repository

project = "fastfs"
author = "the fastfs developers"
copyright = "the fastfs developers"
version = release = fastfs.__version__
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "benchmarks/**.md", "examples/pipelines/README.md"]
exclude_patterns = ["docs/gallery", "docs/_templates", "**/requirements*"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(HERE / "_templates")]  # autosummary would look below the root

html_theme = "sphinx_book_theme"  # that of the scverse packages, which our users use
html_title = "fastfs"
html_additional_pages = {"index": "redirect.html"}
html_theme_options = {"show_toc_level": 2, "use_download_button": False, "use_fullscreen_button": False}

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence"]

numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Links to the classes of other libraries: from the web, or from a folder with inventories such as numpy.inv. Without a
# network there are none.
_INVENTORIES = os.environ.get("FASTFS_INVENTORIES", "")
_SITES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "sklearn": "https://scikit-learn.org/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "matplotlib": "https://matplotlib.org/stable",
    "anndata": "https://anndata.readthedocs.io/en/stable",
}
if _INVENTORIES:
    extensions.append("sphinx.ext.intersphinx")
    _files = {name: None if _INVENTORIES == "web" else Path(_INVENTORIES, f"{name}.inv").resolve() for name in _SITES}
    intersphinx_mapping = {
        name: (_SITES[name], file and str(file)) for name, file in _files.items() if file is None or file.exists()
    }
    numpydoc_xref_param_type = True
    numpydoc_xref_ignore = "all"  # of the words of a type, those below are links
    numpydoc_xref_aliases = {
        "ndarray": "numpy.ndarray",
        "array-like": "numpy.typing.ArrayLike",
        "Generator": "numpy.random.Generator",
        "RandomState": "numpy.random.RandomState",
        "SeedSequence": "numpy.random.SeedSequence",
        "BitGenerator": "numpy.random.BitGenerator",
        "DataFrame": "pandas.DataFrame",
        "AnnData": "anndata.AnnData",
        "matplotlib.axes.Axes": "matplotlib.axes.Axes",
        "matplotlib.figure.Figure": "matplotlib.figure.Figure",
    }
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!fastfs).*|fastfs\._.*")]  # other libraries' names, and private ones

sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "gallery"),
    "gallery_dirs": str(MADE / "gallery"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "image_srcset": ["2x"],
}

# ------------------------------------------------------------------------------------------------------------ reference

_GROUPS = {
    "Estimators": [n for n, home in fastfs._HOMES.items() if home.startswith("_estimators")],
    "Functions and their results": [n for n, home in fastfs._HOMES.items() if home.startswith("_functions")],
    "Inference and reports": [n for n, home in fastfs._HOMES.items() if home.startswith(("_inference", "_report"))],
    "Inputs and machine": [n for n, home in fastfs._HOMES.items() if home.startswith(("_inputs", "_machine"))],
} | {title: [f"{word}.{name}" for name in getattr(fastfs, word).__all__] for title, word in (
    ("fastfs.tl: AnnData", "tl"), ("fastfs.get: results of AnnData", "get"),
    ("fastfs.io: files", "io"), ("fastfs.pl: pictures", "pl"),
)}  # fmt: skip


def _write_reference() -> None:
    """A page of tables, from which autosummary makes a page for each public name."""
    lines = ["Reference", "=========", "", "The C interface has :doc:`a separate page </docs/c-api>`.", ""]
    for title, names in _GROUPS.items():
        lines += [title, "-" * len(title), "", ".. currentmodule:: fastfs", ""]
        lines += [".. autosummary::", "   :toctree: .", "", *(f"   {name}" for name in names), ""]
    folder = MADE / "reference"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")


_write_reference()

# ------------------------------------------------------------------------------------------------------------ tutorials


def _run_tutorial(app, name: str, source: list[str]) -> None:
    """Run the shell blocks of a tutorial, one after the other in one folder, and show what they print and draw.

    The results of its Python blocks stand in the text; the tests compare them.
    """
    if not name.startswith("docs/tutorials/"):
        return
    word = name.rsplit("/", 1)[1]
    pictures = MADE / "tutorials" / word
    shutil.rmtree(pictures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "MPLBACKEND": "agg",
            "COLUMNS": "100",
        }

        def run(block: re.Match[str]) -> str:
            before = {path.name for path in Path(folder).glob("*.png")}
            ran = subprocess.run(
                ["bash", "-e", "-c", block[1]], cwd=folder, env=environment, capture_output=True, text=True
            )
            if ran.returncode != 0:
                raise RuntimeError(f"{name}: a command failed\n{block[1]}\n{ran.stderr}")
            page = block[0]
            if ran.stdout.strip():
                page += f"\n\n```text\n{ran.stdout.rstrip()}\n```"
            for path in sorted(Path(folder).glob("*.png")):
                if path.name not in before:
                    pictures.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, pictures)
                    page += f"\n\n![{path.stem}](../made/tutorials/{word}/{path.name})"
            return page

        source[0] = re.sub(r"^```sh\n(.*?)^```$", run, source[0], flags=re.MULTILINE | re.DOTALL)


def setup(app) -> None:
    """Connect what runs tutorials."""
    app.connect("source-read", _run_tutorial)
