"""Reports: the numbers are those of the functions, the page is one accessible file, and a run can be repeated."""

import contextlib
import csv
import hashlib
import io
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import fastfs
import fastfs.cli
from covering import together
from fastfs._methods import METHODS, REPORTED
from fastfs._report.prose import references_of

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")

NAMES = ["<b>TP53</b> & $x$", *(f"g{j}" for j in range(1, 30))]
Y = np.repeat(["healthy", "sick"], 20)
BATCH = np.tile(["b1", "b2"], 20)
X = np.random.default_rng(0).normal(size=(40, 30)).round(6)
X[20:, :3] += 2
GROUPS = {"shifted": [0, 1, 2], "R & D": [2, 5, 9, 11], "one": [7]}
ARGUMENTS = {"top": 5, "n_permutations": 19, "n_subsamples": 10, "random_state": 3}
TWO = {"methods": ("multisurf", "projse")}
# For what no number of drawn samples decides: a tenth of the time.
FEW = ARGUMENTS | TWO | {"n_permutations": 3, "n_subsamples": 2, "n_repeats": 0, "n_pairs": 0}
PAIRS = FEW | {"n_pairs": 2}


def write(path):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "status", "batch"])
        writer.writerows([*row, y, b] for row, y, b in zip(X.tolist(), Y, BATCH, strict=True))
    sets = [*((name, "", *(NAMES[j] for j in columns)) for name, columns in GROUPS.items()), ("other", "", "BRCA1")]
    path.with_name("sets.gmt").write_text("".join("\t".join(fields) + "\n" for fields in sets))
    return path


def run(*arguments, cwd, script=""):
    code = f"{script}\nimport runpy; runpy.run_module('fastfs', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One with a table, and the report of it by the command line, in this process; another one makes it again below."""
    folder = tmp_path_factory.mktemp("report")
    write(folder / "cells.csv")
    command = ["report", "cells.csv", "--label", "status", "--blocks", "batch", "--out", "report.html", "--top", "5"]
    command += ["--permutations", "19", "--subsamples", "10", "--seed", "3", "--feature-groups", "sets.gmt"]
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()) as said:
        assert fastfs.cli.run(command) == 0
    last = said.getvalue().splitlines()[-1]
    assert last.startswith("Ranked 30 features of 40 samples by 3 methods; wrote report.html, ")
    return folder


@pytest.fixture(scope="module")
def small():
    """The report of two methods that takes the least time."""
    return fastfs.report(X, Y, **FEW)


@pytest.fixture(scope="module")
def numbers(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def table(folder):
    with open(folder / "report.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Page(HTMLParser):
    """Tags with their attributes, texts of headings, and the values of each table by its caption."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.headings, self.text = [], [], [], ""
        self._open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        if tag not in ("meta", "br", "link", "img", "input"):
            self._open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag == "data" and "table" in self._open:
            self.tables[-1]["rows"][-1].append(given["value"])
        elif tag in ("h1", "h2", "h3"):
            self.headings.append([tag, ""])

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside in ("h1", "h2", "h3"):
            self.headings[-1][1] += data
        elif inside == "caption":
            self.tables[-1]["caption"] += data
        elif inside == "th" and "tbody" in self._open:
            self.tables[-1]["rows"][-1].append(data)
        if inside not in ("style", "script"):
            self.text += data


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text(encoding="utf-8"))


# The numbers


@pytest.mark.parametrize("place, word", list(enumerate(REPORTED)))
def test_numbers_are_those_of_the_functions(place, word, numbers, table):
    found = numbers["methods"][place]
    estimator = getattr(fastfs, METHODS[word].estimator)()
    given = {} if word == "projse" else {"n_features_to_select": 5}
    given |= {"random_state": 3} if "random_state" in estimator.get_params() else {}
    estimator.set_params(**given)
    with np.errstate(all="ignore"):
        test = fastfs.permutation_test(
            estimator, X, Y, blocks=BATCH, n_permutations=19, random_state=3, feature_groups=GROUPS
        )
        twin = fastfs.shuffled_twin(estimator, X, Y, blocks=BATCH, top=5, random_state=3)
        stable = fastfs.stability(estimator, X, Y, blocks=BATCH, n_subsamples=10, random_state=3)
    fitted = estimator.fit(X, Y)
    columns = {
        "rank": fitted.ranking_, "score": fitted.scores_, "z": test.z, "pvalue": test.pvalues,
        "pvalue_adjusted": test.pvalues_adjusted, "pvalue_max": test.pvalues_max, "frequency": stable.frequencies,
        "shuffled_rank": twin.shuffled_ranking, "shuffled_score": twin.shuffled_scores,
    }  # fmt: skip
    for name, values in columns.items():
        assert [row[f"{word}_{name}"] for row in table] == [str(value) for value in values.tolist()], name
    best = np.argsort(fitted.ranking_)[:5].tolist()
    assert [row["index"] for row in found["ranking"]] == best
    assert [row["feature"] for row in found["ranking"]] == [NAMES[j] for j in best]
    for row in found["ranking"]:
        for name, values in columns.items():
            assert row[name] == values[row["index"]], name
    assert found["permutation_test"]["pvalue"] == test.pvalue
    assert found["permutation_test"]["design"] == test.design == "20 + 20 samples within 2 blocks"
    assert found["permutation_test"]["feature_groups"] == test.feature_groups.rows()
    assert found["permutation_test"]["null_statistics"] == test.null_statistics.tolist()
    assert found["permutation_test"]["n_below_5_percent"] == np.sum(test.pvalues_max <= 0.05)
    assert found["shuffled_twin"]["rank_correlation"] == twin.rank_correlation
    assert found["shuffled_twin"]["overlap"] == twin.overlap
    assert found["stability"]["stability"] == stable.stability
    assert found["stability"]["interval"] == list(stable.interval)
    assert found["stability"]["n_selected"] == np.mean([len(selected) for selected in stable.selected])


def test_agreement_is_that_of_consensus_and_alignment(numbers):
    fitted = [fastfs.MultiSURF(5).fit(X, Y), fastfs.ManiFeSt(5, random_state=3).fit(X, Y), fastfs.ProjSe().fit(X, Y)]
    ranked = fastfs.consensus({type(one).__name__: one for one in fitted})
    found = numbers["agreement"]
    assert [row["index"] for row in found["consensus"]] == np.argsort(ranked.ranking)[:5].tolist()
    assert [row["score"] for row in found["consensus"]] == np.sort(ranked.scores)[::-1][:5].tolist()
    first, *_ = found["pairs"]
    a, b = (np.argsort(one.ranking_)[:5] for one in fitted[:2])
    assert first["methods"] == ["MultiSURF", "ManiFeSt"]
    assert first["rank_correlation"] == spearmanr(ranked.ranks[0], ranked.ranks[1]).statistic
    assert first["in_both"] == len(set(a) & set(b))
    assert first["kernel_alignment"] == fastfs.kernel_alignment(X[:, a], X[:, b])
    assert len(found["pairs"]) == 3


def test_sensitivity_is_that_of_other_fits(numbers):
    multisurf, manifest, _ = (found["sensitivity"] for found in numbers["methods"])
    assert multisurf == {
        "reason": "MultiSURF has no parameter, such as sigma or n_neighbors, that a report halves and doubles."
    }
    base = fastfs.ManiFeSt(5, random_state=3).fit(X, Y)
    for row, factor in zip(manifest["rows"], (0.25, 1.0), strict=True):
        other = fastfs.ManiFeSt(5, random_state=3, sigma_factor=factor).fit(X, Y)
        assert (row["value"], row["used"]) == (factor, 0.5)
        assert row["rank_correlation"] == spearmanr(base.scores_, other.scores_).statistic
        assert row["in_both"] == np.sum((base.ranking_ <= 5) & (other.ranking_ <= 5))


def test_card_and_hashes(folder, numbers):
    data = numbers["data"]
    assert (data["n_samples"], data["n_features"], data["n_missing"], data["n_constant"]) == (40, 30, 0, 0)
    assert data["classes"] == {"healthy": 20, "sick": 20}
    assert data["design"]["blocks"]["rows"] == [
        {"value": "b1", "samples": [10, 10]},
        {"value": "b2", "samples": [10, 10]},
    ]
    assert numbers["input"]["file_sha256"] == hashlib.sha256((folder / "cells.csv").read_bytes()).hexdigest()
    assert numbers["environment"]["numpy"] == np.__version__
    (said,) = data["warnings"]
    assert said == "features of feature_groups that the table lacks are left out: BRCA1, and 1 group without others"


@pytest.mark.usefixtures("no_figures")
def test_card_counts_missing_values_and_constant_features():
    holes = X.copy()
    holes[3, 4], holes[:, 7], holes[1:, 8] = np.nan, 2.5, np.nan
    found = fastfs.report(
        *(holes, Y), **FEW | {"methods": ("multisurf", "relieff")},
        params={word: {"missing": "ignore"} for word in ("multisurf", "relieff")},
    ).numbers  # fmt: skip
    assert found["data"]["n_missing"] == 40
    assert found["data"]["n_constant"] == 2
    both = [row["index"] for method in found["methods"] for row in method["ranking"]]
    is_whole = not np.isnan(holes[:, both]).any()
    assert (found["agreement"]["pairs"][0]["kernel_alignment"] is not None) == is_whole


@pytest.mark.usefixtures("no_figures")
def test_arrays_and_files_give_the_same_numbers(folder, numbers):
    found = fastfs.report(
        X, Y, feature_names=NAMES, blocks=BATCH, **ARGUMENTS, n_repeats=0, n_pairs=0, feature_groups=folder / "sets.gmt"
    )
    for name in ("methods", "agreement", "data"):
        ours = json.loads(json.dumps(found.numbers[name]).replace('"column": "blocks"', '"column": "batch"'))
        assert ours == numbers[name], name
    assert found.numbers["command"].startswith("fastfs.report(X, y, methods=['multisurf', ")
    directions = fastfs.direction(X, Y).columns()
    assert list(found.table)[:6] == ["feature", "index", *directions, "multisurf_rank"]
    for name, values in directions.items():
        assert found.table[name] == values
        ranking = found.numbers["methods"][0]["ranking"]
        assert [row[name] for row in ranking] == [values[row["index"]] for row in ranking]


@pytest.mark.usefixtures("no_figures")
def test_sparse_and_genotypes_are_described_as_dense_ones():
    counts = np.random.default_rng(1).integers(0, 3, (40, 12)).astype(np.float64)
    dense, sparse, packed = (
        fastfs.report(table, Y, **FEW).numbers
        for table in (counts, scipy.sparse.csr_matrix(counts), fastfs.io.pack_genotypes(counts))
    )
    for other in (sparse, packed):
        assert {k: v for k, v in other["data"].items() if k not in ("stored", "dtype")} == {
            k: v for k, v in dense["data"].items() if k not in ("stored", "dtype")
        }
        ranks = [row["index"] for row in other["methods"][0]["ranking"]]
        assert ranks == [row["index"] for row in dense["methods"][0]["ranking"]]


@pytest.mark.usefixtures("no_figures")
def test_labels_of_whole_floats_are_classes_and_columns_may_be_named():
    params = {"relieff": {"categorical_features": ["g9", "g10"]}}
    table = X.copy()
    table[:, 9:11] = np.random.default_rng(4).integers(0, 3, (40, 2))
    found = fastfs.report(
        *(table, (Y == "sick").astype(float)), feature_names=NAMES, params=params,
        **FEW | {"methods": ("relieff", "projse")},
    ).numbers  # fmt: skip
    assert found["data"]["classes"] == {"0": 20, "1": 20}
    expected = fastfs.relieff_scores(table, Y, categorical_features=[9, 10])
    for row in found["methods"][0]["ranking"]:
        assert row["score"] == expected[row["index"]]


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("how", ["file", "arrays"])
def test_many_integers_are_classes_as_well(tmp_path, inside, how):
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(22), 3)
    values = rng.normal(size=(66, 5)).round(3)
    values[:, 2] += y
    call = ["report", "t.csv", "--label", "y", "--methods", "multisurf,projse", "--out", "r.html", "--repeats", "0"]
    if how == "file":
        rows = [",".join(map(str, [*row, label])) for row, label in zip(values.tolist(), y, strict=True)]
        (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,e,y", *rows]))
        done = inside(*call, "--permutations", "9", "--subsamples", "2", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = json.loads((tmp_path / "r.json").read_text())
    else:
        found = fastfs.report(values, y, **PAIRS).numbers
    scores = fastfs.MultiSURF(target_type="class").fit(values, y).scores_
    best = found["methods"][0]["ranking"][0]
    assert (best["index"], best["score"]) == (2, scores[2])
    assert len(found["data"]["classes"]) == 22


def test_pairs_and_groups_of_features():
    tied = X.copy()
    tied[20:, 5] = tied[20:, 6] + 0.05 * tied[20:, 5]
    params = {"disc": {"n_components": 3, "bandwidth_neighbors": 5, "n_groups": 3}}
    found = fastfs.report(tied, Y, params=params, **FEW | {"methods": ("immigrate", "disc")})
    immigrate, disc = found.numbers["methods"]
    pairs = fastfs.Immigrate(5, random_state=3).fit(tied, Y).interactions_
    assert [row["weight"] for row in immigrate["findings"]["pairs"]] == pairs["weight"].tolist()
    groups = fastfs.DiSC(5, random_state=3, **params["disc"]).fit(tied, Y).groups_[0]
    ours = disc["findings"]["disc"]["healthy"]["groups"]
    assert [len(group) for group in ours] == [np.sum(groups == k) for k in range(groups.max() + 1)]
    page = Page(found.html)
    assert "Pairs of features" in [text for _, text in page.headings]
    assert "Groups of features" in [text for _, text in page.headings]
    shown = next(t for t in page.tables if t["caption"].startswith("The strongest pairs by Immigrate"))
    assert shown["rows"][1][3] == repr(pairs["weight"][0].item())


def test_a_confounded_design_has_rankings_but_no_p_values():
    found = fastfs.report(X, Y, blocks=Y, **FEW)
    first = found.numbers["methods"][0]
    assert first["permutation_test"]["reason"].startswith("no labeling but the true one is possible")
    assert "pvalue_max" not in first["ranking"][0]
    assert not any("pvalue" in name for name in found.table)
    page = Page(found.html)
    assert "P-values: none, because no labeling but the true one is possible" in " ".join(page.text.split())
    assert "P-values come from" not in page.text


@pytest.mark.usefixtures("no_figures")
def test_covariates_are_followed_and_cited():
    age = np.random.default_rng(2).integers(20, 80, 40)
    found = fastfs.report(X, Y, covariates=age, **ARGUMENTS | TWO | {"n_repeats": 0, "n_pairs": 0}).numbers
    test = fastfs.permutation_test(fastfs.MultiSURF(5), X, Y, covariates=age, n_permutations=19, random_state=3)
    assert found["methods"][0]["permutation_test"]["pvalue"] == test.pvalue
    assert any("conditional permutation test" in reference for reference in found["references"])


@pytest.mark.usefixtures("no_figures")
def test_a_scale_without_effect_is_no_sensitivity():
    params = {"manifest": {"sigma": "percentile"}}
    found = fastfs.report(X, Y, params=params, **FEW | {"methods": ("manifest", "projse")}).numbers
    assert found["methods"][0]["sensitivity"] == {"reason": "sigma_factor has no effect with sigma='percentile'."}
    assert "ManiFeSt [1] (sigma = percentile)" in found["text"][0]


@together
@pytest.mark.parametrize("word", METHODS)
def test_every_method_has_a_reference(word):
    references = references_of(getattr(fastfs, METHODS[word].estimator))
    assert references
    for reference in references:
        assert re.search(r"\b(19|20)\d\d\.$", reference), reference
        assert len(reference) < 300


def test_paragraph_says_what_ran(numbers):
    text = " ".join(numbers["text"])
    assert text.startswith("40 samples (20 healthy and 20 sick) with 30 features were analysed with fastfs ")
    assert "MultiSURF [1], ManiFeSt [2] and ProjSe [3]" in text
    assert "19 random permutations of the labels of 20 + 20 samples within 2 blocks [4]" in text
    assert "3 groups of features were tested as wholes under the same permutations" in text
    assert "10 subsamples, each with half of the samples of each class and batch" in text
    assert f"SciPy {numbers['environment']['scipy']}" in text
    cited = {int(number) for group in re.findall(r"\[([\d, ]+)\]", text) for number in group.split(", ")}
    assert cited == set(range(1, len(numbers["references"]) + 1))


# The page


def test_page_shows_the_numbers_of_json(page, numbers):
    for found in numbers["methods"]:
        shown = next(t for t in page.tables if t["caption"].startswith(f"The best features by {found['estimator']}. "))
        names = [
            "rank",
            "feature",
            "score",
            "direction",
            "effect",
            "z",
            "pvalue_max",
            "pvalue_adjusted",
            "pvalue",
            "frequency",
            "shuffled_rank",
        ]
        assert shown["rows"][1:] == [[str(row[name]) for name in names] for row in found["ranking"]]
        twin = next(t for t in page.tables if t["caption"].endswith(f"{found['estimator']} under shuffled labels."))
        assert [row[1] for row in twin["rows"][1:]] == [row["feature"] for row in found["shuffled_twin"]["ranking"]]
        groups = next(t for t in page.tables[page.tables.index(shown) :] if t["caption"].startswith("Groups by the la"))
        assert [row[0] for row in groups["rows"][1:]] == [
            row["group"] for row in found["permutation_test"]["feature_groups"]
        ]
    glance = page.tables[0]["rows"][1:]
    assert [row[0] for row in glance] == [str(found["permutation_test"]["pvalue"]) for found in numbers["methods"]]
    assert [row[2] for row in glance] == [str(found["stability"]["stability"]) for found in numbers["methods"]]
    shown = next(t for t in page.tables if t["caption"].startswith("Rank correlation (Spearman)"))
    assert [row[1] for row in shown["rows"][1:]] == [str(p["rank_correlation"]) for p in numbers["agreement"]["pairs"]]
    for said in [*numbers["text"], *numbers["references"], numbers["command"], numbers["input"]["sha256"]]:
        assert " ".join(said.split()) in " ".join(page.text.split())


def test_page_needs_no_other_file(folder, page):
    text = (folder / "report.html").read_bytes()
    assert len(text) < 3_000_000
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            target = attributes.get(name, "#")
            assert target.startswith(("#", "data:image/png;base64,")) or (tag == "a" and target.startswith("https://"))
    style = text.decode().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_page_can_be_read_by_keyboard_and_screen_reader(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        if tag == "a":
            assert attributes["href"].removeprefix("#") in ids
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
    assert ("html", {"lang": "en"}) in page.tags
    levels = [int(tag[1]) for tag, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(table["caption"].strip() for table in page.tables)
    sortable = [given["aria-sort"] for tag, given in page.tags if tag == "th" and "aria-sort" in given]
    assert set(sortable) == {"ascending", "none"}
    buttons = sum(tag == "button" and given.get("class") != "save" for tag, given in page.tags)
    assert buttons == len(sortable)


def test_figures_are_text_of_one_column(page):
    svgs = [given for tag, given in page.tags if tag == "svg"]
    assert len(svgs) == 15  # four a method, pairs, new samples, and the consensus
    assert sorted(given["width"] for given in svgs) == ["252pt"] * 14 + ["518.4pt"]  # 3.5 inches, pairs 7.2
    assert page.text.count("g1") > 4
    assert not [tag for tag, _ in page.tags if tag == "glyph"]


def test_names_of_features_are_no_markup(page, folder):
    assert "<b>TP53" not in (folder / "report.html").read_text(encoding="utf-8")
    assert "<b>TP53</b> & $x$" in page.text


def test_notebooks_get_the_page_in_a_frame(small):
    found = small
    (frame,) = (given for tag, given in Page(found._repr_html_()).tags if tag == "iframe")
    assert frame["srcdoc"] == found.html
    assert "agreement" not in repr(found).split("numbers=")[0]


def test_new_samples_are_those_of_assess(numbers, page):
    """The numbers, the sentences and the methods paragraph; the methods have the parameters of the report."""
    methods = {name: getattr(fastfs, name)(random_state=3) if name != "ProjSe" else fastfs.ProjSe()
               for name in ("MultiSURF", "ManiFeSt", "ProjSe")}  # fmt: skip
    expected = fastfs.assess(X, Y, methods=methods, blocks=BATCH, n_repeats=1, random_state=3)
    found = numbers["new_samples"]
    rows = expected.to_frame()
    assert [row["method"] for row in found["rows"]] == rows.method.tolist()
    assert [row["n_features"] for row in found["rows"]] == rows.n_features.tolist()
    for name in ("balanced_accuracy", "low", "high", "permuted", "auc", "auc_low"):
        assert [row[name] for row in found["rows"]] == rows[name].tolist(), name
    assert all(row["permuted_low"] <= row["permuted"] <= row["permuted_high"] for row in found["rows"])
    assert found["words"] == expected.describe()
    assert found["unit"] == "sample"
    for sentence in found["words"]:
        assert f"{sentence}." in page.text
    assert "in 5 folds; in each training set features were ranked and scaled" in page.text


@pytest.mark.usefixtures("no_figures")
def test_new_samples_can_be_left_out_and_say_why_they_are_missing(small):
    few = FEW | {"n_repeats": 1}
    without = small
    assert without.numbers["new_samples"] == {"reason": "n_repeats is 0, so no folds were dealt."}
    assert "Accuracy of new samples:</strong> none, because n_repeats is 0" in without.html
    assert not [text for text in without.numbers["text"] if "AUC" in text]
    values = X.copy()
    values[3, 4] = np.nan
    missing = fastfs.report(values, Y, **few | {"methods": ("multisurf", "surf")}, params={
        "multisurf": {"missing": "ignore"}, "surf": {"missing": "ignore"}})  # fmt: skip
    assert missing.numbers["new_samples"]["reason"].startswith("X must be finite, since classifiers take no missing")
    donors = fastfs.report(X, Y, **few, groups=np.repeat(np.arange(4), 10)).numbers["new_samples"]
    assert (donors["unit"], donors["n_units"], donors["n_splits"]) == ("group", 4, 4)


def test_pairs_are_those_of_interaction_scan(numbers, folder):
    expected = fastfs.interaction_scan(X, Y, n_pairs=10, n_permutations=19, blocks=BATCH, random_state=3)
    found = numbers["pairs"]
    assert [[row["feature_a"], row["feature_b"]] for row in found["ranking"]] == [
        [NAMES[a], NAMES[b]] for a, b in expected.pairs.tolist()
    ]
    for name, values in expected.columns.items():
        assert [row[name] for row in found["ranking"]] == values.tolist(), name
    assert (found["n_tested"], found["pvalue"], found["design"]) == (435, expected.pvalue, expected.design)
    assert found["n_excluded_pairs"] == expected.n_excluded_pairs
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    shown = next(t for t in page.tables if t["caption"].startswith("The strongest pairs: F with 1 and 36 degrees"))
    assert [row[3] for row in shown["rows"][1:]] == [repr(value) for value in expected.statistics.tolist()]
    assert "435 pairs were tested: p = " in page.text
    assert "435 pairs of features were tested for interaction" in page.text


@pytest.mark.usefixtures("no_figures")
def test_pairs_under_other_designs_and_what_has_none():
    without = fastfs.report(X, Y, **FEW)
    assert without.numbers["pairs"] == {"reason": "n_pairs is 0, so no pairs were searched."}
    assert "Pairs:</strong> none, because n_pairs is 0" in without.html
    assert "tested for interaction" not in " ".join(without.numbers["text"])
    donors = np.repeat(np.arange(10), 4)
    found = fastfs.report(X, Y, **PAIRS, groups=donors).numbers["pairs"]
    expected = fastfs.interaction_scan(X, Y, n_pairs=2, n_permutations=3, groups=donors, random_state=3)
    assert [row["pvalue_max"] for row in found["ranking"]] == expected.pvalues_max.tolist()
    covariates = np.random.default_rng(0).normal(size=40)
    bare = fastfs.report(X, Y, **PAIRS | {"n_permutations": 0}, covariates=covariates)
    assert bare.numbers["pairs"]["pvalue"] is None
    assert "pvalue_max" not in bare.numbers["pairs"]["ranking"][0]
    assert bare.numbers["pairs"]["degrees"] == [1, 35]
    three = fastfs.report(X, np.arange(40) % 3, **PAIRS).numbers["pairs"]
    assert three["degrees"] == [2, 35]
    assert "effect" not in three["ranking"][0]
    values = X.copy()
    values[3, 4] = np.nan
    ignore = {
        "methods": ("multisurf", "surf"),
        "params": {word: {"missing": "ignore"} for word in ("multisurf", "surf")},
    }
    missing = fastfs.report(values, Y, **PAIRS | ignore)
    assert missing.numbers["pairs"]["reason"].startswith("X must be finite; got NaN or infinity first at row 3, ")
    with pytest.raises(ValueError, match="n_pairs must be at least 0"):
        fastfs.report(X, Y, **FEW | {"n_pairs": -1})


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, fastfs.io.pack_genotypes])
def test_pairs_of_stored_forms(form):
    G = np.random.default_rng(0).integers(0, 3, (600, 12)).astype(float)
    y = np.where(G[:, 2] * G[:, 7] > 1, "high", "low")
    found = fastfs.report(form(G), y, **PAIRS)
    first = found.numbers["pairs"]["ranking"][0]
    assert (first["feature_a"][-1], first["feature_b"][-1]) == ("2", "7")
    assert "The strongest pairs: one feature against the other" in found.html


@pytest.mark.usefixtures("no_figures")
def test_too_many_features_for_pairs(monkeypatch):
    monkeypatch.setattr("fastfs._report.study._FEATURES_OF_PAIRS", 29)
    reason = fastfs.report(X, Y, **PAIRS).numbers["pairs"]["reason"]
    assert reason.startswith("there are 30 features, and a report searches the pairs of 29 at most")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_tables_sort_in_a_browser(folder, tmp_path):
    """A click on a heading sorts by the values, not by the digits shown; a second one turns the order."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    click = """<script>
    const table = document.querySelector("table.sortable"), head = table.tHead.rows[0].cells[2];
    const ranks = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent.trim()).join(" ");
    head.querySelector("button").click();
    const once = ranks() + " " + head.getAttribute("aria-sort");
    head.querySelector("button").click();
    document.title = once + " | " + ranks() + " " + head.getAttribute("aria-sort");
    </script>"""
    (tmp_path / "clicked.html").write_text(text.replace("</body>", click + "</body>"), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        ["chromium", *options, "--dump-dom", f"file://{tmp_path / 'clicked.html'}"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout)[1]
    assert title == "5 4 3 2 1 ascending | 1 2 3 4 5 descending"


# Files


def test_files_are_the_same_each_time(folder, tmp_path):
    write(tmp_path / "cells.csv")
    command = shlex.split(json.loads((folder / "report.json").read_text())["command"])
    assert command[0] == "fastfs"
    done = run(*command[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("report.html", "report.json", "report.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    names = ["cells.csv", "report.csv", "report.html", "report.json", "sets.gmt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_all_files_or_none(small, tmp_path):
    found = small
    found.save(tmp_path / "a.html")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    broken = fastfs.Report(found.numbers | {"n_selected": float("nan")}, found.table, "changed")
    with pytest.raises(ValueError, match="JSON"):
        broken.save(tmp_path / "a.html")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("no_figures")
def test_other_options_of_reading_come_back_by_the_command(tmp_path, inside):
    write(tmp_path / "cells.csv")
    labels = tmp_path / "labels, of samples.csv"
    labels.write_text("status,batch\n" + "".join(f"{y},{b}\n" for y, b in zip(Y, BATCH, strict=True)))
    reading = {"labels": str(labels), "ignore": ["status", "g4", "batch"], "classes": ["healthy", "sick"]}
    params = {"relieff": {"n_neighbors": 3}}
    found = fastfs.report(
        *(tmp_path / "cells.csv", "status"), params=params, reading=reading, groups="batch",
        **FEW | {"methods": ("relieff", "multisurf")},
    )  # fmt: skip
    done = inside(*shlex.split(found.numbers["command"])[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "report.json").read_text()) == found.numbers


# Repeating


@pytest.fixture
def copied(folder, tmp_path):
    for name in ("cells.csv", "sets.gmt", "report.json"):
        shutil.copy(folder / name, tmp_path)
    return tmp_path


def change(path, **parts):
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


@pytest.mark.usefixtures("no_figures")
def test_repeat_names_the_number_that_differs(record, inside):
    path = damaged(record, json.dumps(record[1]))
    methods = json.loads(path.read_text())["methods"]
    true = methods[1]["ranking"][2]["score"]
    methods[1]["ranking"][2]["score"] = np.nextafter(true, 2)
    methods[0]["sha256"]["frequency"] = "0" * 64
    change(path, methods=methods)
    done = inside("repeat", path.name, cwd=path.parent)
    assert done.returncode == 1, done.stderr
    assert re.match(r"2 of \d+ numbers differ: ", done.stdout)
    assert f"methods.projse.ranking.2.score is {true}, not {np.nextafter(true, 2)}" in done.stdout
    assert "methods.multisurf.sha256.frequency is " in done.stdout
    assert "the environment is the same" in done.stdout


@pytest.mark.usefixtures("no_figures")
def test_repeat_names_what_is_another_version(record):
    path = damaged(record, json.dumps(record[1]))
    found = json.loads(path.read_text())
    change(path, environment=found["environment"] | {"scipy": "1.0.0", "instruction_set": "mmx", "threads": 99})
    again = fastfs.repeat(path)
    assert again.same
    assert again.environment["scipy"] == ("1.0.0", found["environment"]["scipy"])
    assert set(again.environment) == {"scipy", "instruction_set", "threads"}
    assert "came back to the bit, although instruction_set is " in str(again)
    methods = found["methods"]
    methods[1]["stability"]["stability"] += 1
    change(path, methods=methods)
    again = fastfs.repeat(path)
    assert not again.same
    assert list(again.differences) == ["methods.projse.stability.stability"]
    assert f"scipy is {found['environment']['scipy']}, not 1.0.0" in str(again)


def test_repeat_of_other_data_does_no_work(copied, inside):
    text = (copied / "cells.csv").read_text().splitlines()
    (copied / "cells.csv").write_text("\n".join([text[0], *text[2:]]) + "\n")
    done = inside("repeat", "report.json", cwd=copied)
    assert done.returncode == 1
    assert done.stdout.startswith("The data differ: their SHA-256 is ")


@pytest.mark.usefixtures("no_figures")
def test_repeat_finds_the_table_beside_the_report_and_says_that_all_came_back(copied, inside, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = inside("repeat", copied / "report.json", "--threads", 1, "--max-memory", "1G", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"All \d{3,4} numbers came back to the bit(, although threads is 1, not \d+)?\.\n", done.stdout)


def test_repeat_refuses_what_is_no_report(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ranking.json").write_text('{"method": "manifest"}')
    Path("no.json").write_text("{")
    for name in ("ranking.json", "no.json"):
        with pytest.raises(ValueError, match=f"'{name}' isn't a report of fastfs"):
            fastfs.repeat(name)
    with pytest.raises(ValueError, match="is a directory"):
        fastfs.repeat(".")
    with pytest.raises(FileNotFoundError, match=r"There is no file 'nowhere\.json'"):
        fastfs.repeat("nowhere.json")
    small.save("arrays.html")
    with pytest.raises(ValueError, match=r"'arrays.json' was made from arrays"):
        fastfs.repeat("arrays.json")
    change(Path("arrays.json"), report=99)
    with pytest.raises(ValueError, match="must have the layout 1; got 99"):
        fastfs.repeat("arrays.json")


# Wrong input

CELLS = ["report", "cells.csv", "--label", "status"]
REPORT = [*CELLS, "--ignore", "batch", "--out", "r.html"]
WRONG = {
    "label": (["report", "cells.csv", "--label", "statu", "--out", "r.html"], ["'statu'", "did you mean 'status'?"]),
    "no label": (["report", "cells.csv", "--out", "r.html"], ["--label"]),
    "no such file": (["report", "none.csv", "--label", "status", "--out", "r.html"], ["There is no file 'none.csv'"]),
    "directory": (["report", ".", "--label", "status", "--out", "r.html"], ["'.' is a directory"]),
    "block": ([*REPORT, "--blocks", "batches"], ["no column 'batches'", "did you mean 'batch'?"]),
    "text column": ([*CELLS, "--out", "r.html"], ["'batch'"]),
    "unknown method": ([*REPORT, "--methods", "multisurf,lasso"], ["no method 'lasso'", "choose from manifest"]),
    "one method": ([*REPORT, "--methods", "projse"], ["two or more different methods"]),
    "twice": ([*REPORT, "--methods", "projse,projse"], ["two or more different methods"]),
    "method for numbers": ([*REPORT, "--methods", "rrelieff,projse"], ["'rrelieff' explains numbers"]),
    "permutations": ([*REPORT, "--permutations", "many"], ["--permutations must be a number (0: no p-values) or"]),
    "option": ([*REPORT, "--method-option", "manifest.sigmas=1"], ["no parameter 'sigmas'", "did you mean 'sigma'?"]),
    "option of no method": ([*REPORT, "--method-option", "sigma=1"], ["METHOD.NAME=VALUE"]),
    "option of another": ([*REPORT, "--method-option", "disc.n_groups=4"], ["--methods doesn't name disc: add"]),
    "measured label": ([*REPORT, "--ignore", "status", "--label", "g1"], ["40 of 40 samples", "bin them"]),
    "ending": ([*CELLS, "--out", "r.pdf"], ["must end in .html or .htm"]),
    "no folder": ([*CELLS, "--out", "no/r.html"], ["there is no directory"]),
    "a folder": ([*CELLS, "--out", "folder.html"], ["it is a directory"]),
    "a folder beside": ([*CELLS, "--out", "other.html"], ["'other.json'", "it is a directory"]),
    "input": ([*CELLS, "--out", "cells.html"], ["'cells.csv' is the input"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_sentence(case, tmp_path, inside):
    write(tmp_path / "cells.csv")
    for name in ("folder.html", "other.json"):
        (tmp_path / name).mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    arguments, parts = WRONG[case]
    done = inside(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    for part in parts:
        assert part in line
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("module, extra", [("jinja2", "report"), ("matplotlib", "plot")])
def test_missing_packages_are_named_before_the_work(module, extra, tmp_path):
    write(tmp_path / "cells.csv")
    script = f"import sys\nsys.modules[{module!r}] = None"
    done = run(*REPORT, cwd=tmp_path, script=script)
    assert done.returncode == 2, done.stderr
    assert (
        f"this needs {module}, which is not installed; get it with python -m pip install 'scikit-fastfs[" in done.stderr
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells.csv", "sets.gmt"]


def test_missing_packages_are_named_in_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'scikit-fastfs\[report\]'"):
        fastfs.report(X, Y)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"methods": "multisurf"}, TypeError, "methods must be a list of words; got the string 'multisurf'"),
        ({"reading": {"transpose": True}}, ValueError, "reading is for a path"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must have 30 names, one per feature; got 1"),
        ({"params": {"multisurf": {"n_jobs": 2}}}, ValueError, "no parameter 'n_jobs' that a report can set"),
        ({"blocks": [None] * 40}, ValueError, "blocks"),
        ({"top": 0}, ValueError, "top"),
        ({"feature_groups": {"a": []}}, ValueError, "group 'a' of feature_groups must hold features; got none"),
        ({"feature_groups": {"a": [0]}, "n_permutations": 0}, ValueError, "feature_groups must be None with n_permu"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fastfs.report(X, Y, **arguments)


def test_wrong_arguments_with_a_path(tmp_path):
    path = write(tmp_path / "cells.csv")
    with pytest.raises(TypeError, match="y must be the name of a column of"):
        fastfs.report(path, Y)
    with pytest.raises(TypeError, match="feature_groups must be the path of a GMT file if X is a path; got dict"):
        fastfs.report(path, "status", feature_groups=GROUPS)
    with pytest.raises(ValueError, match="feature_names is for arrays"):
        fastfs.report(path, "status", feature_names=NAMES)
    holes = X.copy()
    holes[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 1 'g1'"):
        fastfs.report(holes, Y, feature_names=NAMES)


# ---------------------------------------------------------------------------------------------------- damaged records


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The file of a small report, and what it holds."""
    folder = tmp_path_factory.mktemp("record")
    np.savez(folder / "toy.npz", X=np.random.default_rng(0).normal(size=(24, 6)), y=np.arange(24) % 2)
    made = fastfs.report(folder / "toy.npz", n_repeats=0, **TWO, n_permutations=9, n_subsamples=5)
    made.save(folder / "report.html")
    return folder / "report.json", json.loads((folder / "report.json").read_text(encoding="utf-8"))


def damaged(record, text):
    file = record[0].with_name("damaged.json")
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "place, value",
    [
        ("arguments.source", ["toy.npz"]),
        ("arguments.label", None),
        ("arguments.label", 3),
        ("arguments.top", "many"),
        ("arguments.top", True),
        ("arguments.methods", "multisurf"),
        ("arguments.params", []),
        ("arguments.new", 1),
        ("arguments.feature_groups", {}),
        ("arguments.covariates", [None]),
        ("arguments", []),
        ("environment", 7),
        ("input", None),
        ("input.sha256", 5),
    ],
)
def test_a_damaged_record_is_said_with_its_place(record, place, value):
    changed = json.loads(json.dumps(record[1]))
    *outer, name = place.split(".")
    inner = changed[outer[0]] if outer else changed
    if (place, value) == ("arguments.label", None):
        del inner[name]
    else:
        inner[name] = value
    with pytest.raises(
        ValueError, match=f"was changed since .fastfs report. wrote it, in '{place}': make the report again"
    ):
        fastfs.repeat(damaged(record, json.dumps(changed)))


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 5, "\xff", "3", "null", '"report"', "9" * 10_000, "[]", "{}"])
def test_other_texts_are_no_report(record, text):
    with pytest.raises(ValueError, match="isn't a report of fastfs"):
        fastfs.repeat(damaged(record, text))


def test_arguments_that_no_method_takes(record):
    for name, value in (("reading", {"no": 1}), ("params", {"multisurf": 5}), ("methods", [["x"], 3])):
        changed = json.loads(json.dumps(record[1]))
        changed["arguments"][name] = value
        with pytest.raises(ValueError, match=r"."):
            fastfs.repeat(damaged(record, json.dumps(changed)))


class Reached(Exception):
    """The work begins: all that stands in the record has been taken."""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_record_is_repeated_or_refused(record, monkeypatch, data):
    monkeypatch.setattr("fastfs._report.study.Study.make", lambda *_: (_ for _ in ()).throw(Reached))
    changed = json.loads(json.dumps(record[1]))
    inner, part = changed, data.draw(st.sampled_from(["report", "arguments", "environment", "input", "methods"]))
    if part in ("arguments", "input") and data.draw(st.booleans()):
        inner, part = changed[part], data.draw(st.sampled_from(sorted(changed[part])))
        if isinstance(inner[part], dict) and data.draw(st.booleans()):
            inner, part = inner[part], data.draw(st.sampled_from(["multisurf", "classes", "transpose", "x"]))
    if part in inner and data.draw(st.integers(0, 3)) == 0:
        del inner[part]
    else:
        inner[part] = data.draw(JSON)
    with contextlib.suppress(ValueError, FileNotFoundError, Reached):
        assert isinstance(fastfs.repeat(damaged(record, json.dumps(changed))), fastfs.Repetition)


@pytest.mark.usefixtures("no_figures")
def test_a_report_without_permutations(record, tmp_path):
    made = fastfs.report(record[0].with_name("toy.npz"), **FEW | {"n_permutations": 0})
    assert made.numbers["methods"][0]["permutation_test"] == {
        "reason": "n_permutations is 0, so there are no p-values."
    }
    assert "n_permutations is 0" in made.html
    assert "multisurf_pvalue" not in made.table
    made.save(tmp_path / "report.html")
    assert fastfs.repeat(tmp_path / "report.json").same
