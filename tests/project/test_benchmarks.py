"""The experiments of the papers still run, and their smallest ones still say what they said."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import fastfs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def papers(monkeypatch):
    if not (ROOT / "benchmarks").exists():  # the source distribution leaves them out
        pytest.skip("the benchmarks aren't here")
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.papers import manifest, protocol

    return manifest, protocol


def test_protocol_finds_the_exclusive_or(papers, capsys):
    """Two features in 30: an SVM on ManiFeSt's choice is right, on a univariate one it guesses."""
    manifest, protocol = papers
    splits = [(X[:, 70:], y, Z[:, 70:], z) for X, y, Z, z in manifest.fresh(manifest.xor_100, 2, N_test=200)]
    how = protocol.Protocol(
        protocol.with_manifest(manifest.factors(0.1, 1.0), controls=True),
        (2, 5),
        C=(10.0,),
        gamma=(1.0,),
        z_scores=False,
    )
    outcomes = protocol.run(how, splits, jobs=1)
    assert [o.accuracy for o in outcomes["ManiFeSt"]] == [1.0, 1.0]
    assert {o.setting["sigma_factor"] for o in outcomes["ManiFeSt"]} == {0.1}
    for name in ("ANOVA", "no labels: ManiFeSt"):
        assert np.mean([o.accuracy for o in outcomes[name]]) < 0.65
    protocol.show("two of 30", how, outcomes, {"ManiFeSt": (90.0, "invented")})
    table = capsys.readouterr().out
    assert "ManiFeSt: 100.0 +- 0.0 here is 10.0 points above the paper's 90; invented." in table
    assert "points, an advantage." in table


def test_protocol_never_looks_at_the_test_samples(papers):
    """Other test samples change accuracies on them, but neither scores nor what is chosen."""
    manifest, protocol = papers
    (X, y, X_test, y_test), *_ = manifest.fresh(manifest.xor_100, 1, N_test=200)
    selectors = protocol.with_manifest(manifest.factors(0.1, 0.5))[:3]
    how = protocol.Protocol(selectors, (2, 5), C=(10.0,), gamma=(1.0,))
    one = protocol.one_split(how, (X, y, X_test, y_test), 0)
    other = protocol.one_split(how, (X, y, 5 - 3 * X_test, 1 - y_test), 0)
    assert one.keys() == other.keys()
    for name in one:
        chosen = [(o.validation, o.number, o.setting) for o in (one[name], other[name])]
        assert chosen[0] == chosen[1], name
    assert one["ManiFeSt"].accuracy != other["ManiFeSt"].accuracy


def test_blend(papers):
    _, protocol = papers
    np.testing.assert_allclose(
        protocol.blend(np.array([0.0, 1.0, 4.0]), np.array([10.0, 30.0, 20.0])), [0.0, 1.25, 1.5]
    )
    np.testing.assert_allclose(protocol.blend(np.full(3, 7.0), np.array([1.0, 2.0, 3.0])), [0.0, 0.5, 1.0])


def test_blend_is_what_combine_does(papers):
    """The protocol blends scores it already has; the estimator would compute them again."""
    manifest, protocol = papers
    X, y = manifest.hypercube(0)
    training = protocol.Training(protocol.Protocol((), (), z_scores=False), (X, y, X, y), 0)
    ours = protocol.manifest_blended(training, {"sigma_factor": 0.5})
    np.testing.assert_allclose(ours, fastfs.ManiFeSt(combine="f").fit(X, y).scores_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_scene_of_disc(papers):
    """A new material in one of two pictures of 20 x 20 pixels and 124 bands."""
    from benchmarks.papers import disc

    before, after, changed = disc.make_scene(20, 0.3, np.random.default_rng(0))
    assert before.shape == after.shape == (124, 400)
    assert changed.sum() == 32
    scores = fastfs.disc([before, after], graph="knn", n_neighbors=15, bandwidth_neighbors=15).set_scores[1]
    assert disc.roc_auc_score(changed, scores) > 0.9


@pytest.mark.slow
def test_folds_of_ikdr(papers):
    """Three blobs: every method tells them apart; the test samples change nothing that is chosen."""
    from benchmarks.papers import ikdr

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 12))
    X[:, :6] += 4 * np.array([[0, 0], [0, 1], [1, 0]])[y].repeat(3, axis=1)
    train, test = np.arange(45), np.arange(45, 60)
    found = ikdr.one_fold(X, y, train, test, tuple(ikdr.METHODS), (2, 3))
    for name, outcome in found.items():
        assert outcome.accuracy >= (0.5 if name == "kernel PCA" else 0.8), name
        assert len(outcome.curve) == (1 if name == "1-NN on the data" else 2)
    assert found["I-KDR, one kernel"].purity > 0.9
    assert 1 <= found["I-KDR, features"].n_features < 6
    assert found["I-KDR, 2 stages"].n_features == 10
    other = ikdr.one_fold(np.r_[X[:45], -X[45:]], y, train, test, tuple(ikdr.METHODS), (2, 3))
    for name, outcome in found.items():
        assert (outcome.k, outcome.setting) == (other[name].k, other[name].setting)


def test_fisher_of_kernels(papers):
    """With a linear kernel and hardly any ridge, linear discriminant analysis."""
    from benchmarks.papers import ikdr
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 2 * rng.normal(size=(3, 4))[y]
    data = ikdr.Training(X, y, np.arange(60), np.arange(5))
    K = data.X @ data.X.T
    found = K @ ikdr.fisher(data, K, 1e-6)[:, :2]
    expected = LinearDiscriminantAnalysis(solver="eigen").fit_transform(data.X, y)
    for j in range(2):
        assert abs(np.corrcoef(found[:, j], expected[:, j])[0, 1]) > 0.999


def test_margins(papers):
    """LFE's W is the best of norm 1; Simba keeps the one feature that matters."""
    from benchmarks.papers import margins

    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 4))
    X[:, 2] += 3 * y
    gain = np.zeros((4, 4))
    for n in range(40):
        order = np.argsort(((X - X[n]) ** 2).sum(axis=1))[1:]
        hit, miss = (next(j for j in order if (y[j] == y[n]) == same) for same in (True, False))
        gain += np.outer(X[n] - X[miss], X[n] - X[miss]) - np.outer(X[n] - X[hit], X[n] - X[hit])
    W = margins.lfe(X, y)
    assert np.linalg.norm(W) == pytest.approx(1)
    assert np.linalg.eigvalsh(W).min() > -1e-12
    for _ in range(50):
        other = rng.normal(size=(4, 4))
        other = other @ other.T
        assert np.sum(other * gain) / np.linalg.norm(other) < np.sum(W * gain)
    w = margins.simba(X, y, 5, rng)
    assert w[2] == 1
    assert np.delete(w, 2).max() < 0.5


def test_trace_ratio(papers):
    """No other orthonormal coefficients, and no other weights nearby, have a larger ratio."""
    from benchmarks.papers import ikdr

    rng = np.random.default_rng(0)
    between, within = (M @ M.T for M in rng.normal(size=(2, 12, 15)))
    A = ikdr.trace_ratio(between, within, 3)
    np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-10)
    best = np.trace(A.T @ between @ A) / np.trace(A.T @ within @ A)
    for _ in range(50):
        Q = np.linalg.qr(A + 0.1 * rng.normal(size=(12, 3)))[0]
        assert np.trace(Q.T @ between @ Q) / np.trace(Q.T @ within @ Q) < best
    b, v = np.abs(rng.normal(size=(2, 6, 20)))
    weights = ikdr.best_weights(b, v, 0.1, np.full(6, 1 / 6))
    assert weights.sum() == pytest.approx(1)
    best = np.sum((weights @ b) ** 2) / (np.sum((weights @ v) ** 2) + 0.1)
    for _ in range(50):
        other = rng.dirichlet(100 * weights + 0.01)
        assert np.sum((other @ b) ** 2) / (np.sum((other @ v) ** 2) + 0.1) < best * (1 + 1e-3)


def test_gaps_choose_outside_the_folds(papers):
    """On noise, validation promises far more than the test keeps."""
    _, protocol = papers
    rng = np.random.default_rng(0)
    splits = [(rng.normal(size=(40, 300)), np.arange(40) % 2, rng.normal(size=(200, 300)), np.arange(200) % 2)] * 3
    how = protocol.Protocol(
        (protocol.Selector("ANOVA", protocol.anova), protocol.RANDOM), (10,), C=(1.0,), gamma=(1.0,)
    )
    found = protocol.each_split(protocol.gaps, how, splits, jobs=1)
    validation, test = np.mean(found["ANOVA", ""], axis=(0, 1))
    assert validation > test + 0.2
    assert abs(test - 0.5) < 0.1
    validation, test = np.mean(found["random features", ""], axis=(0, 1))
    assert abs(validation - test) < 0.2


def test_cells_of_disc(papers):
    """Genes keep their distribution, and those that move together in one condition stand out."""
    from benchmarks.papers import disc

    sets, kind = disc.make_cells(400, 20_000, 1.0, np.random.default_rng(0))
    A, B = map(disc.log_counts, sets)
    np.testing.assert_allclose(A.mean(), B.mean(), rtol=0.02)
    changed = np.char.str_len(kind) == 1
    assert disc.roc_auc_score(changed, disc.correlation_change(A, B)) > 0.9


def test_rules_of_claims(papers):
    """Two errors, a rival, a range: what is reproduced and what isn't."""
    from benchmarks.papers.claims import Ahead, Between, Claim, Near

    rows = {"a": (90.0, 1.0, 10), "b": (87.0, 1.0, 10), "c": (86.0, 1.0, 10), "exact": (2.0, 0.0, 50)}

    def verdict(row, rule, paper=None):
        return Claim("table", "", paper, row, rule).judge(rows)

    assert verdict("a", Near(), 91.9) == "reproduced"
    assert verdict("a", Near(), 92.1) == "not reproduced: lower"
    assert verdict("a", Near(), 87.9) == "not reproduced: higher"
    assert verdict("exact", Near(), 2.0) == "reproduced"
    assert verdict("exact", Near(), 1.98) == "not reproduced: higher"
    assert verdict("a", Ahead("b")) == "reproduced"
    assert verdict("b", Ahead("c")) == "not reproduced: no difference"
    assert verdict("b", Ahead("a")) == "not reproduced: the reverse"
    assert verdict("b", Ahead("nothing")) == verdict("nothing", Near(), 1.0) == "not measured"
    assert verdict("a", Between(80, 91)) == "reproduced"
    assert verdict("a", Between(most=89)) == "not reproduced"
    assert verdict("", Near(), 1.0) == "not available"


def test_the_page_is_what_was_measured(papers):
    """``python -m benchmarks.papers --page`` writes it; a claim is measured, or says why it can't be."""
    import json

    from benchmarks.papers import claims
    from benchmarks.papers.__main__ import FULL, MAINS, PAGE, QUICK, RECORD, ROWS

    record = json.loads(RECORD.read_text())
    assert PAGE.read_text() == claims.page(record)
    assert ROWS.read_text() == claims.all_rows(record)
    assert FULL.keys() == MAINS.keys()
    for paper, experiments in FULL.items():
        assert record[paper].keys() == set(experiments), paper
    for paper, list_of_claims in claims.CLAIMS.items():
        rows = claims.flat(record, paper)
        assert not [c.row for c in list_of_claims if c.judge(rows) == claims.UNMEASURED]
        assert all(c.row or c.note for c in list_of_claims)
        for values in rows.values():
            assert np.isfinite(values).all()
            assert values[1] >= 0
            assert values[2] >= 1
    assert QUICK.keys() == claims.CLAIMS.keys()


def tables_of(text):
    """Header and rows of each table, cells as text."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        head, _, *rows = ([cell.strip() for cell in line.strip("| \n").split("|")] for line in block.splitlines())
        yield head, rows


def numbers_of(cell, of_features=False):
    """The results in a cell: without deviations, and with numbers in brackets if they count features."""
    cell = re.sub(r"\+- ?[\d.]+| for \d+", "", cell if of_features else re.sub(r"\(.*?\)", "", cell))
    if match := re.fullmatch(r"(\d+),\d+,(\d+)(?: \(sic\))?", cell.strip()):  # wins, ties and losses
        return [float(match[1]), float(match[2])]
    return [float(number) for number in re.findall(r"(?<![\w.,])\d*\.?\d+(?![\w.,])", cell)]


def test_every_number_of_the_papers_has_a_claim(papers):
    """Each result in the tables of papers_numbers.md, as often as it is there, and in its columns of results."""
    from collections import Counter

    from benchmarks.papers import claims

    path = Path(os.environ.get("FASTFS_TEST_DATA", "")).parent / "papers_numbers.md"
    if not path.exists():
        pytest.skip("the papers' numbers aren't here")
    _, *sections = re.split(r"^## \d\. ", path.read_text(), flags=re.M)
    names = {title: key for key, (title, _) in claims.TITLES.items()}
    checked = 0
    for section in sections:
        title = section.split()[0].rstrip(",")
        has = Counter(float(c.paper) for c in claims.CLAIMS[names[title]] if c.paper is not None)
        words = " ".join(c.says for c in claims.CLAIMS[names[title]])
        asked: Counter[float] = Counter()
        for head, rows in tables_of(section):
            if head[0] in ("what", "term"):
                continue  # protocols and definitions
            if head[0] == "experiment":  # words with numbers, which a table may repeat
                found = {n for row in rows for n in numbers_of(row[-1]) if n % 1}
                assert not {n for n in found if n not in has and f"{n:g}" not in words}, title
                continue
            first = 0 if head[0] == "LASSO" else 1
            for row in rows:
                asked.update(n for cell in row[first:] for n in numbers_of(cell, title == "I-KDR"))
        assert not asked - has, f"{title}: {asked - has}"
        checked += asked.total()
    assert checked > 700


def test_data_that_are_there_are_measured(papers):
    """A claim that isn't available for want of data names data that the folder hasn't."""
    from benchmarks.papers import claims

    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        pytest.skip("the data aren't here")
    there = " ".join(path.stem for path in Path(folder).rglob("*.*")).lower()
    for paper, list_of_claims in claims.CLAIMS.items():
        for claim in list_of_claims:
            if not claim.row:
                reasons = [reason for reason in claims.REASONS if reason in claim.note]
                assert reasons, f"{paper}: {claim.says}: {claim.note}"
                absent = claims.REASONS[reasons[0]]
                assert not any(name in there for name in absent), f"{paper}: {claim.says} has its data"


def test_univariate_rivals_of_the_papers(papers):
    """Mutual information, Gini's impurity and the Laplacian score, each against its definition."""
    from sklearn.feature_selection import mutual_info_classif

    _, protocol = papers
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    X[:, 6:] = np.round(X[:, 6:])
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    training = protocol.Training(protocol.Protocol((), (), z_scores=False), (X, y, X, y), 0)
    expected = mutual_info_classif(X[:, :6], y, n_neighbors=3, discrete_features=False, random_state=0)
    found = protocol.information(training, 3)
    np.testing.assert_allclose(found[:6], expected, atol=1e-12)
    tied = np.array([mutual_info_classif(X[:, 6:], y, n_neighbors=3, random_state=seed) for seed in range(20)])
    assert np.all(np.abs(found[6:] - tied.mean(axis=0)) <= 4 * tied.std(axis=0))

    def impurity(part):
        return len(part) * (1 - np.mean(part) ** 2 - np.mean(1 - part) ** 2)

    cuts = [min(impurity(y[x <= cut]) + impurity(y[x > cut]) for cut in np.unique(x)[:-1]) for x in X.T]
    np.testing.assert_allclose(protocol.gini(training), -np.array(cuts), rtol=1e-12)
    d = np.linalg.norm(X[:, None] - X, axis=2)
    W = np.exp(-((d / np.percentile(d[np.triu_indices(60, 1)], 30)) ** 2))
    D = np.diag(W.sum(axis=1))
    centred = X - np.diag(D) @ X / D.sum()
    expected = [-(f @ (D - W) @ f) / (f @ D @ f) for f in centred.T]
    np.testing.assert_allclose(protocol.laplacian(training, 30), expected, rtol=1e-10)


@pytest.fixture
def calibration(papers):
    from benchmarks import bench_inference

    return bench_inference


@pytest.mark.slow
@pytest.mark.parametrize("name", ["free", "batches", "pairs", "donors", "donors in batches", "labels in donors"])
def test_designs_keep_the_level(calibration, name):
    """Of 200 data sets of noise 10 are expected to have p <= 0.05; 2 to 20 are within what chance leaves."""
    make, method = calibration.DESIGNS[name], calibration.METHODS["ProjSe"]
    found = np.array([calibration.data_set(make, seed, method, naive=False, shift=0.0) for seed in range(200)])
    low = calibration.shares(found)[:, 0]
    assert (low >= 2).all()
    assert (low <= 20).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["batches", "donors"])
def test_a_design_that_is_ignored_invents_findings(calibration, name):
    make, method = calibration.DESIGNS[name], calibration.METHODS["ProjSe"]
    found = np.array([calibration.data_set(make, seed, method, naive=True, shift=0.0) for seed in range(100)])
    assert (calibration.shares(found)[:, 0] > 15).all()
