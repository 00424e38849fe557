"""`fastfs schema` against the commands and the files that they write."""

import json

import numpy as np
import pytest

import fastfs.cli

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6)).round(3)
DONOR, COUNT = np.arange(N) // 4, RNG.integers(0, 9, N)


@pytest.fixture
def folder(tmp_path):
    lines = ["state,donor,count," + ",".join(f"g{j}" for j in range(6))]
    lines += [f"{'uv'[i // 4 % 2]},d{DONOR[i]},{COUNT[i]}," + ",".join(map(str, X[i])) for i in range(N)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def problems(value, schema, place="$"):
    """The places where a value isn't what the schema says: the words of JSON Schema that `fastfs schema` uses."""
    assert not schema.keys() - {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum",
                                "default", "description", "flags", "panel"}, schema  # fmt: skip
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_a = {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "null": value is None,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    if kinds and not any(is_a[kind] for kind in kinds):
        return [f"{place} is {value!r}, not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place} is {value!r}"]
    found = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{place} lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, part in value.items():
            if name in known:
                found += problems(part, known[name], f"{place}.{name}")
            elif others is False:
                found.append(f"{place}.{name} isn't described")
            elif isinstance(others, dict):
                found += problems(part, others, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        found += [text for k, part in enumerate(value) for text in problems(part, schema["items"], f"{place}[{k}]")]
    return found


def described(inside, folder, *command):
    finished = inside("schema", *command, cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


TABLE = ("t.csv", "--ignore", "count")
OTHERS = ("--ignore", "state", "--ignore", "donor")
LABELLED = (*TABLE, "--label", "state", "--ignore", "donor")
CALLS = {
    "relieff": ("score", *LABELLED, "--method", "relieff", "--permutations", "9", "--alpha", "0.5"),
    "projse": ("score", *LABELLED, "--method", "projse", "--top", "3"),
    "disc": ("score", *LABELLED, "--method", "disc"),
    "manifest": ("score", *LABELLED, "--method", "manifest"),
    "targets": ("score", *TABLE[:1], "--targets", "count", *OTHERS, "--method", "rrelieff"),
    "pairs": ("pairs", *LABELLED, "--permutations", "9"),
    "no p-values": ("pairs", *LABELLED, "--permutations", "0"),
    "interaction": ("pairs", *LABELLED, "--kind", "interaction", "--permutations", "9", "--alpha", "0.9"),
    "assess": ("assess", *TABLE, "--label", "state", "--groups", "donor", "--repeats", "2", "--methods", "relieff"),
    "numbers": ("assess", "t.csv", "--targets", "count", "--ignore", "state", "--ignore", "donor", "--repeats", "1",
                "--methods", "rrelieff"),
}  # fmt: skip


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", CALLS)
def test_outputs_are_what_the_schema_says(folder, inside, name):
    arguments = CALLS[name]
    more = ("--n-features", "1,2") if arguments[0] == "assess" else ()
    finished = inside(*arguments, *more, "--out", "out.json", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    output = described(inside, folder, arguments[0])["commands"][arguments[0]]["output"]
    value = json.loads((folder / "out.json").read_text())
    assert problems(value, output) == []
    assert value["ranking"] or "--alpha" in arguments
    # The test can fail.
    assert problems(value | {"version": 3}, output)
    del value["source"]
    assert problems(value, output) == ["$ lacks source"]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("no_figures")
def test_the_numbers_of_a_report_are_what_the_schema_says(folder, inside):
    pytest.importorskip("jinja2")
    finished = inside("report", *LABELLED, "--permutations", "9", "--subsamples", "4", "--out", "r.html", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    output = described(inside, folder, "report")["commands"]["report"]["output"]
    assert problems(json.loads((folder / "r.json").read_text()), output) == []


def test_all_commands_and_options_are_described(folder, inside):
    commands = described(inside, folder)["commands"]
    assert set(commands) == set(fastfs.cli._COMMANDS) - {"schema"}
    assert {name for name, command in commands.items() if "output" in command} == {
        *("score", "pairs", "snp-pairs", "assess", "report"),
    }
    for name, command in commands.items():
        words = inside(
            name, "--help-all" if "label" in command["options"]["properties"] else "--help", cwd=folder
        ).stdout
        for option in command["options"]["properties"].values():
            assert option["description"] or not option.get("flags")
            for flag in option.get("flags", [])[:1]:
                assert flag[:20] in words, (name, flag)
    score = commands["score"]["options"]
    assert score["required"] == ["file"]
    assert score["properties"]["transpose"]["type"] == "boolean"
    assert score["properties"]["ignore"] == {
        "type": "array", "items": {"type": "string"}, "flags": ["--ignore"], "panel": "Input",
        "description": score["properties"]["ignore"]["description"],
    }  # fmt: skip
    assert (score["properties"]["top"]["type"], score["properties"]["top"]["minimum"]) == ("integer", 1)
    assert score["properties"]["alpha"]["type"] == "number"
    assert score["properties"]["method"]["default"] == "multisurf"


def test_a_command_that_is_not(folder, inside):
    finished = inside("schema", "rank", cwd=folder)
    assert (finished.returncode, "There is no command 'rank': choose one of score" in finished.stderr) == (2, True)
