"""Options of the command line that would change nothing are refused, by their names, before any work."""

import numpy as np
import pandas
import pytest
import typer.main

import fastfs.cli

N = 24


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
    frame.assign(state=["x", "y"] * (N // 2), batch=np.arange(N) // 6).to_csv(tmp_path / "t.csv", index=False)
    pandas.DataFrame({"id": range(N), "age": rng.normal(size=N)}).to_csv(tmp_path / "c.csv", index=False)
    return tmp_path


SCORE = ["score", "t.csv", "--label", "state", "--method", "multisurf"]
PAIRS = ["pairs", "t.csv", "--label", "state", "--permutations", "0"]
REPORT = ["report", "t.csv", "--label", "state", "--methods", "multisurf,projse", "--out", "r.html"]
P_VALUES = "is for p-values: add --permutations with a number"


@pytest.mark.parametrize(
    "call, option, why",
    [
        *(([*SCORE, option, "batch"], option, P_VALUES) for option in ("--blocks", "--groups", "--covariate")),
        *(([*SCORE, option, "z"], option, P_VALUES) for option in ("--statistic", "--rank-by")),
        ([*SCORE, "--covar", "c.csv", "--by-order"], "--covar", P_VALUES),
        ([*SCORE, "--covar-name", "age"], "--covar-names", "needs a file of covariates: give it with --covar"),
        ([*SCORE, "--key", "id"], "--key", "is for a file of labels, which is given with --labels"),
        ([*SCORE, "--chr", "1"], "--chr", "is for files that end in .bed or .pgen: leave it out for 't.csv'"),
        (
            [*SCORE, "--not-chromosomes", "1"],
            "--not-chr",
            "is for files that end in .bed or .pgen: leave it out for 't.csv'",
        ),
        ([*SCORE, "--1"], "--control-is-0", "is for files that end in .bed or .pgen: leave it out for 't.csv'"),
        ([*SCORE, "--layer", "raw"], "--layer", "is for files that end in .h5ad"),
        ([*SCORE, "--pairs", "p.csv"], "--pairs", "is for --method immigrate, the one that finds pairs"),
        ([*SCORE, "--event", "batch"], "--event", "is for --method rrelieff with one column of --targets, the time"),
        ([*SCORE, "--clump-kb", "9"], "--clump-kb", "is for clumps: add --clump-r2, such as 0.5"),
        ([*SCORE, "--clump-r2", "0.5"], "--clump-r2", "is for genotypes: FILE must end in .bed or .pgen; got '.csv'"),
        ([*SCORE[:-1], "disc", "--vls", "pairs"], "--vls", "is for methods that only rank"),
        ([*SCORE[:-1], "disc", "--weights", "batch"], "--weights", "is for the RELIEF family: choose another --method"),
        ([*PAIRS, "--seed", "3"], "--seed", P_VALUES),
        ([*PAIRS, "--groups", "batch"], "--groups", P_VALUES),
        (["snp-pairs", *PAIRS[1:4], "--seed", "3"], "--seed", P_VALUES),
        (["snp-pairs", *PAIRS[1:4], "--covariate", "batch"], "--covariate", P_VALUES),
        (
            ["assess", *SCORE[1:4], "--chr", "1"],
            "--chr",
            "is for files that end in .bed or .pgen: leave it out for 't.csv'",
        ),
        (["assess", *SCORE[1:4], "--targets", "a"], "--label", "and --targets are two targets: give one of them"),
        ([*REPORT, "--chr", "1"], "--chr", "is for files that end in .bed or .pgen: leave it out for 't.csv'"),
        ([*REPORT, "--by-order"], "--by-order", "is for a file of labels, which is given with --labels"),
    ],
)
def test_options_without_effect_are_refused(folder, inside, call, option, why):
    before = set(folder.iterdir())
    finished = inside(*call, cwd=folder)
    said = f"{option} {why}"
    assert (finished.returncode, said in finished.stderr, finished.stderr.count("\n")) == (2, True, 1), finished.stderr
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    "call",
    [
        [*SCORE, "--blocks", "batch", "--permutations", "9", "--statistic", "score"],
        [*SCORE, "--covar", "c.csv", "--by-order", "--covar-name", "age", "--permutations", "9"],
        [*PAIRS[:-2], "--seed", "3", "--permutations", "19"],
    ],
)
@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_the_way_out_works(folder, inside, call):
    finished = inside(*call, cwd=folder)
    assert finished.returncode == 0, finished.stderr


def test_messages_call_options_by_their_first_names():
    commands = typer.main.get_command(fastfs.cli._app).commands
    options = [p for command in commands.values() for p in command.params if p.param_type_name == "option"]
    assert len(options) > 100
    assert [(p.name, p.opts[0]) for p in options if p.opts[0] != fastfs.cli.flag(p.name)] == []
