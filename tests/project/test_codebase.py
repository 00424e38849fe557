"""Rules of the code base that a machine can check, and every example in its documents."""

import ast
import doctest
import graphlib
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stubs

import fastfs
from fastfs._docs import fill_shared

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".cpp", ".hpp", ".h"))
MODULES = sorted(m.name for m in pkgutil.walk_packages(fastfs.__path__, "fastfs.") if not m.name.endswith("__main__"))


# --------------------------------------------------------------------------------------------------------------- layers


def includes(path):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text(encoding="utf-8"), re.MULTILINE)


def test_python_stays_in_the_bindings():
    assert SOURCES
    knows_python = {
        path.relative_to(ROOT).parts[1]
        for path in SOURCES
        for i in includes(path)
        if re.match(r"Python\.h|pybind11", i)
    }
    assert knows_python == {"bindings"}


def test_bindings_use_the_public_headers_only():
    """They get what an embedding user gets."""
    for path in SOURCES:
        if "bindings" in path.parts:
            own = [i for i in includes(path) if (ROOT / "csrc" / i).exists()]
            assert own == [], path


def test_headers_of_the_c_interface_include_no_other_part():
    for path in SOURCES:
        if "include" in path.parts:
            assert not [i for i in includes(path) if "fastfs/" not in i and "/" in i], path


METHODS = ("manifest", "projse", "margin", "disc", "ikdr", "correlation", "interactions", "snps")
MAY_INCLUDE = {
    "support": ("support",),
    "engines": ("support", "engines"),
    **{method: ("support", "engines", method) for method in METHODS},
    "inference": ("support", "engines", "inference"),
    "capi": ("support", "engines", "inference", "capi", *METHODS),
}


def test_rooms_of_the_core():
    """A method knows the engines, an engine no method, and nobody but the C interface several methods."""
    assert {path.relative_to(ROOT).parts[1] for path in SOURCES} >= set(MAY_INCLUDE)
    for path in SOURCES:
        rooms = {i.split("/")[0] for i in includes(path) if (ROOT / "csrc" / i).exists()}
        room = path.relative_to(ROOT).parts[1]
        assert room not in MAY_INCLUDE or rooms <= set(MAY_INCLUDE[room]), path


# Rooms of the package from the lowest floor up; a room imports rooms below its floor only. The package itself imports
# everything on demand, so it is a floor, which only the rooms above it may ask.
FLOORS = (
    ("_types", "_docs", "_methods"),
    ("_machine", "_findings"),
    ("_files", "numba"),
    ("_inputs",),
    ("io",),
    ("_functions",),
    ("_inference",),
    ("_estimators", "pl"),
    ("tl", "_report"),
    ("get",),
    ("fastfs",),
    ("demo",),
    ("cli",),
    ("__main__",),
)
PACKAGE = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "src" / "fastfs").rglob("*.py"))
}


def imported_modules(path):
    """Return the modules of the package that a file imports, also in its functions, but not for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    skipped = {id(inner) for node in typed for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "fastfs")
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from (f"fastfs.{node.module or alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "fastfs":
            for alias in node.names:
                if alias.name not in ("_core", "_scipy_blas"):  # extension modules
                    name = f"{node.module}.{alias.name}"
                    yield name if name in PACKAGE else node.module


def room_of(module):
    return [*module.split("."), "fastfs"][1]


def test_floors_of_the_package():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    assert floor.keys() == {room_of(name) for name in PACKAGE}
    for name, path in PACKAGE.items():
        rooms = {room_of(module) for module in imported_modules(path)} - {room_of(name)}
        assert not [room for room in rooms if floor[room] >= floor[room_of(name)]], name


def test_no_circle_of_imports():
    graph = {name: set(imported_modules(path)) - {name} for name, path in PACKAGE.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_sizes_meet_int64_by_name():
    """std::ssize gives long where int64_t is long long (macOS): max and min of both must say which."""
    mixed = re.compile(r"std::(max|min)\([^;{]*std::ssize")
    assert mixed.search("std::max(most, std::ssize(pairs))")
    for path in SOURCES:
        assert not mixed.search(path.read_text(encoding="utf-8")), path


def test_nobody_parses_messages():
    """Errors of the core carry the places that they name: see fastfs._machine.errors."""
    parsing = re.compile(r"re\.(sub|search|match|fullmatch)\([^)]*str\(|str\(error\)\.(replace|split)| in str\(error\)")
    sources = sorted((ROOT / "src" / "fastfs").rglob("*.py"))
    assert sources
    for path in sources:
        assert not parsing.search(path.read_text(encoding="utf-8")), path


# -------------------------------------------------------------------------------------------------------------- imports

IMPORTS = {
    "import fastfs": ("sklearn", "scipy", "pandas", "matplotlib", "fastfs._core"),
    "import fastfs; dir(fastfs); fastfs.__version__": ("sklearn", "scipy", "pandas", "matplotlib", "fastfs._core"),
    "import fastfs; fastfs.manifest_scores([[0.0, 1, 2], [1, 5, 3]] * 2, [0, 1, 1, 0], sigma=(1, 2))": (
        "sklearn", "joblib", "pandas", "matplotlib",
    ),
    "import fastfs; fastfs.affinity([[0.0, 1.0]], sigma=1.0)": ("sklearn", "joblib", "pandas", "matplotlib"),
    # The RELIEF family and SNPs call no BLAS, so they import none; a call that did would fail here.
    """
import fastfs, numpy as np
X, y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2
for name in ("relief", "relieff", "surf", "multisurf", "mu_relief", "swrf", "rrelieff"):
    getattr(fastfs, f"{name}_scores")(X, y[:, None] * 1.5 if name == "rrelieff" else y)
fastfs.relieff_scores(X, y, given=[0], n_targets=10)
fastfs.snp_pairs((X > 0).astype(np.int8), y)
fastfs.ld_clumps((X > 0).astype(np.int8), X[0])
""": ("sklearn", "joblib", "pandas", "scipy.linalg"),
    "import fastfs; fastfs.info()": ("sklearn", "joblib", "pandas", "matplotlib"),
}  # fmt: skip


@pytest.mark.parametrize("code", IMPORTS)
def test_nothing_is_imported_before_it_is_needed(python, code):
    finished = python(f"{code}\nimport sys\nprint(*sys.modules)")
    assert finished.returncode == 0, finished.stderr
    loaded = finished.stdout.split()
    assert "fastfs" in loaded
    assert not set(loaded) & set(IMPORTS[code])


def test_public_names():
    assert set(fastfs.__all__) <= set(dir(fastfs))
    for name in fastfs.__all__:
        assert getattr(fastfs, name) is getattr(fastfs, name)
    with pytest.raises(AttributeError, match="module 'fastfs' has no attribute 'nonsense'"):
        fastfs.nonsense  # noqa: B018


def test_type_checkers_know_the_same_names():
    tree = ast.parse(Path(fastfs.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    found = {alias.asname: node.module for node in imports for alias in node.names}
    homes = {name: f"fastfs.{home}" for name, home in fastfs._HOMES.items()}
    assert found == homes | dict.fromkeys(("get", "io", "pl", "tl"), "fastfs")


def test_version_is_that_of_the_core():
    assert fastfs.info()["version"] == fastfs.__version__


# ------------------------------------------------------------------------------------------------------------- examples


def public_objects():
    for name in fastfs.__all__:
        found = getattr(fastfs, name)
        if inspect.ismodule(found):
            yield from ((f"{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        else:
            yield name, found


PUBLIC = dict(public_objects())


def lacks_of(public):
    """Yield what the docstring of a public name lacks: an example, parameters."""
    doc = inspect.getdoc(public)
    if not doc:
        yield "a docstring"
        return
    if inspect.isclass(public) and issubclass(public, BaseException):
        return
    if "\nExamples\n--------\n" not in doc or ">>> " not in doc:
        yield "an example"
    parameters = inspect.signature(public).parameters
    section = doc.partition("Parameters\n")[2]
    others = re.search(r"^other parameters\n    As for :class:`fastfs\.(\w+)`", section, re.MULTILINE)
    elsewhere = inspect.signature(getattr(fastfs, others[1])).parameters if others else ()
    for parameter in parameters:
        if parameter not in elsewhere and not re.search(rf"^[^\n]*\b{parameter}\b", section, re.MULTILINE):
            yield parameter


def test_every_public_name_has_an_example_and_all_its_parameters_documented():
    assert len(PUBLIC) > 100
    assert {name: lacks for name, public in PUBLIC.items() if (lacks := [*lacks_of(public)])} == {}


@pytest.mark.parametrize("indent", ["", "    "], ids=["CPython 3.13 and newer", "older"])
def test_shared_paragraphs_of_docstrings(indent):
    """The compiler takes the indentation of docstrings away from CPython 3.13 on."""
    doc = f"Read a file.\n\n{indent}<read_options>\n{indent}<max_memory>\n"
    filled = fill_shared(doc, read_options="label : str\n    Where <y> lies.")
    assert inspect.cleandoc(filled).startswith(
        "Read a file.\n\nlabel : str\n    Where <y> lies.\nmax_memory : int, str"
    )
    assert f"\n{indent}    Where" in filled
    with pytest.raises(KeyError, match="nothing"):
        fill_shared(f"{indent}<nothing>")


def test_documentation_that_lacks_parts_is_noticed():
    def undocumented(x):
        """Return x."""

    assert [*lacks_of(undocumented)] == ["an example", "x"]


def count_examples(name):
    return sum(len(test.examples) for test in doctest.DocTestFinder().find(importlib.import_module(name)))


WITH_EXAMPLES = [name for name in MODULES if count_examples(name) > 0]


@pytest.mark.usefixtures("no_figures")  # docs/report.md draws some
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    if name == "fastfs.demo":  # whose picture is looked at by test_demo
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    assert len(WITH_EXAMPLES) >= 10


# ------------------------------------------------------------------------------------------------------------ documents

DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))] if path.exists()]


def blocks(path):
    """The code of each ```python block with its line; a comment `<!-- skip -->` on the line before leaves one out."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"^(<!-- skip -->\n)?```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not found[1]:
            yield text[: found.start(2)].count("\n"), found[2]


def run_block(code, name, line, namespace):
    if code.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(code, namespace, name, name, line)
        problems = []
        runner = doctest.DocTestRunner()
        runner.run(test, out=problems.append, clear_globs=False)
        namespace.update(test.globs)
        assert not problems, "".join(problems)
    else:
        exec(compile("\n" * line + code, name, "exec"), namespace)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if [*blocks(path)]], ids=lambda path: path.name)
def test_python_blocks_of_documents(path, tmp_path, monkeypatch):
    """One after the other in one namespace, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = {"__name__": "__main__"}
    for line, code in blocks(path):
        run_block(code, str(path), line, namespace)


@pytest.mark.slow  # these are processes of commands that other tests call
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda path: path.name)
def test_shell_blocks_of_tutorials(path, tmp_path):
    """In one shell, in an empty folder; the first failure ends it."""
    code = re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-e", "-c", "\n".join(code)],
        cwd=tmp_path,
        env=os.environ | {"PATH": folders},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    if path.name == "cpp.md":
        assert "\nfeature 7: " in ran.stdout
    if path.name == "cli.md":
        assert "is number" in ran.stdout
        assert (tmp_path / "relieff.png").stat().st_size > 10_000


def test_blocks_are_found_and_skipped(tmp_path):
    path = tmp_path / "text.md"
    path.write_text(
        "a\n\n```python\nx = 1\n```\n<!-- skip -->\n```python\n1 / 0\n```\n```sh\nls\n```\n```python\n>>> x\n1\n```\n"
    )
    assert list(blocks(path)) == [(3, "x = 1\n"), (13, ">>> x\n1\n")]
    namespace = {}
    for line, code in blocks(path):
        run_block(code, "text.md", line, namespace)
    with pytest.raises(AssertionError, match="Expected"):
        run_block(">>> x\n2\n", "text.md", 0, namespace)


def headings(path):
    """The anchors of a document, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path):
    """Yield the links of a page to files of the project, or to their headings, that don't exist."""
    prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not link.startswith("https://") and not (target.exists() and (not anchor or anchor in headings(target))):
            yield f"{path.name}: {link}"


def test_links_within_the_project(tmp_path):
    pages = [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    assert [link for path in pages for link in broken_links(path)] == []
    (page := tmp_path / "page.md").write_text("# A heading\n[a](#a-heading) [b](#b) [c](c.md) [d](https://d)\n")
    assert [*broken_links(page)] == ["page.md: #b", "page.md: c.md"]


# ---------------------------------------------------------------------------------------------------------------- stubs


def test_stub_is_up_to_date():
    """After a change of the bindings: ``python -m tests.project.stubs --write``, or ``nox -s stubs``."""
    assert stubs.COMMITTED.read_text() == stubs.generate()


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="the sdist has no workflows")
def test_hooks_and_workflows_name_the_versions_of_the_project():
    """Pre-commit's tools are those of the extra [dev], and the gate runs on the oldest Python that is allowed."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(line.split("==") for line in project["optional-dependencies"]["dev"] if "==" in line)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    found = re.findall(r"repo: https://github.com/\S+/(\S+)\n    rev: v(\S+)", hooks)
    names = {"ruff-pre-commit": "ruff", "mirrors-clang-format": "clang-format", "codespell": "codespell"}
    assert {names[repo]: version for repo, version in found} == {name: pinned[name] for name in names.values()}
    gate = (ROOT / ".github" / "workflows" / "gate.yml").read_text()
    oldest = project["requires-python"].removeprefix(">=").split(",")[0]
    assert f'"{oldest}"' in gate
    assert "run: .ci/run" in gate
