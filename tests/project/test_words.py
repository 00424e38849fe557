"""Words and turns that a reader meets in no other project's comments, docstrings, messages and pages.

``python -m pytest tests/project/test_words.py`` names each place as ``file:line``, with what it says and what says it
better. Write the better one; don't look for a third one that the pattern misses. A turn that becomes a habit gets a row
of TURNS: the pattern, a sentence that it must find, a sentence that it must leave alone (a test tries both), the reason
and the better words. A row belongs here only if ROOMS are free of it. Not here, because a machine can't tell the good
use from the bad one: "may" (chance and permission of a C interface against ability), "where" for "if" or "when", "as
many as", and clauses with "what" inside a sentence.
"""

import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

from covering import together

ROOT = Path(__file__).parents[2]
# Folders and files that are free of all turns.
ROOMS = ("csrc", "src", "r", "docs", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Text that is quoted: (file, words).
QUOTED: tuple[tuple[str, str], ...] = (("CONTRIBUTING.md", '"beside", "one a row"'),)


class Turn(NamedTuple):
    """A turn that isn't used."""

    pattern: str
    bad: str  # a sentence that the pattern finds
    good: str  # a sentence that it leaves alone
    reason: str
    better: str


OTHER_NO = (
    "more|longer|less|fewer|need|such|way|reason|doubt|matter|loss|difference|larger|smaller|better|worse|other|one"
)
TURNS = (
    Turn(
        r"\b[Oo]f (?:its|their|your|my|our|one's) own\b|\b[Oo]f the caller's(?=\W|$)(?! \w)",
        "a kernel of your own",
        "arrays of the caller's type",
        "a possessive after its noun makes the reader look back",
        "custom, separate, the caller's X",
    ),
    Turn(
        r"\b[Bb]eside\b",
        "the cache beside the table",
        "besides, a table is read",
        "it means 'next to' in space",
        "with, besides, in addition to, next to",
    ),
    Turn(
        r"\b(?:one|number|file|line|row|column|value|array|list|byte|bit|thread|task|worker) an? "
        r"(?:row|column|sample|feature|class|set|group|block|pair|method|kernel|label|labeling|target|candidate|scale|"
        r"pass|chunk|thread|core|worker|machine|person|page|script|picture|line|file|SNP|key|panel)\b",
        "scores, one a feature",
        "scores, one per feature",
        "'a' for 'per' is read as an article",
        "one X per Y",
    ),
    Turn(
        rf"(?<!\b[Tt]here )\b(?:is|are|was|were) no (?!(?:{OTHER_NO})\b)(?=\w)",
        "numbers that are no classes",
        "there are no classes",
        "'is no X' before a class is an old form",
        "is not an X, isn't an X",
    ),
    Turn(
        r"\b[Ww]hose\b",
        "features whose values are equal",
        "features with equal values",
        "a clause with 'whose' holds a second statement",
        "with, that have, or two sentences",
    ),
    Turn(
        r"\b[Oo]f which\b",
        "the rows, of which some are drawn",
        "some of the rows are drawn",
        "a clause with 'of which' holds a second statement",
        "two sentences, or name the thing again",
    ),
    Turn(
        r"(?:^|[.:;] )(?:[Ww]hat|[Tt]hose|[Tt]hat which) (?:is|are|was|were|it|they|has|have)\b",
        "What is left of the rows",
        "The rest of the rows, which says what is left",
        "the subject is a thing with a name",
        "name the thing",
    ),
    Turn(
        r"\b[Ss]o many\b(?! that)|\b[Aa]s many \w+ as\b",
        "stop after so many",
        "stop after n_clumps; there are so many that it takes long",
        "a number has a name",
        "n_rows bytes, the same number of",
    ),
    Turn(
        r"\b[Ff]or want of\b|\bcouldn't be had\b|\bits like\b|\btheir like\b|\b[Ww]hatever\b|\bits kin\b",
        "relief_stream and its like",
        "relief_stream and the other streams",
        "idioms that readers must look up",
        "because X is missing; similar; any, for each",
    ),
    Turn(
        r"\b[Aa]t once\b",
        "threads that read at once",
        "threads that read together",
        "it means 'immediately'",
        "together, at the same time, immediately",
    ),
    Turn(
        r"\bcount(?:ed|s|ing)? from 0\b",
        "row 3 (counted from 0)",
        "the 0-based row 3",
        "numbers are 0-based everywhere in C, C++ and Python",
        "0-based, or nothing",
    ),
    Turn(
        r"\bmust [^\n]{0,80}(?:, not|, but (?:is|are|has|have|one is)) '?\{|(?:, not|, but (?:is|are|has|have)) '?$",
        "top must be at least 1, but is {top}",
        "top must be at least 1; got {top}",
        "messages have one form",
        "`name` must be X; got Y: do Z",
    ),
)


def lines_of_cpp(text):
    """Yield the lines of comments and of string literals of C and C++, with their numbers; adjacent literals join."""
    number = 1
    for part in re.finditer(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text, re.DOTALL):
        number = 1 + text.count("\n", 0, part.start())
        if part[0][0] == '"':
            yield number, re.sub(r'"\s*"', "", part[0])[1:-1]
        else:
            for k, line in enumerate(part[0].split("\n")):
                yield number + k, re.sub(r"^\s*(?:///?|/?\*+/?)\s?", "", line)


def lines_of_r(text):
    """Yield the comments and string literals of R."""
    for part in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|#[^\n]*', text, re.DOTALL):
        number = 1 + text.count("\n", 0, part.start())
        for k, line in enumerate(part[0].split("\n")):
            yield number + k, line.strip("\"'# ")


def lines_of_python(text):
    """Yield the comments and string literals of Python, docstrings included."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            for k, line in enumerate(token.string.split("\n")):
                yield token.start[0] + k, line.strip("\"'# ")


def lines_of_page(text):
    """Yield the lines of a page outside its code."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        in_code ^= line.lstrip().startswith("```")
        if not in_code:
            yield number, re.sub(r"`[^`]*`", "``", line)


def lines_of_manual(text):
    """Yield the lines of R's manual pages outside their code."""
    for number, line in enumerate(text.split("\n"), 1):
        yield number, re.sub(r"\\code\{[^{}]*\}", "", line)


READERS = {".md": lines_of_page, ".Rmd": lines_of_page, ".py": lines_of_python, ".R": lines_of_r} | {
    ".Rd": lines_of_manual,
    **dict.fromkeys((".cpp", ".hpp", ".h", ".c"), lines_of_cpp),
}


def files_of(room):
    path = ROOT / room
    return sorted(p for p in path.rglob("*") if p.suffix in READERS) if path.is_dir() else [path]


@together
@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.better.replace(" ", "_"))
def test_patterns_find_the_bad_and_leave_the_good(turn):
    assert re.search(turn.pattern, turn.bad)
    assert not re.search(turn.pattern, turn.good)


@pytest.mark.parametrize("room", ROOMS)
def test_turns_that_are_not_used(room):
    found = []
    paths = files_of(room)
    assert paths
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        for number, line in READERS[path.suffix](path.read_text(encoding="utf-8")):
            if any(name == file and words in line for file, words in QUOTED):
                continue
            found += [
                f"{name}:{number}: {match[0]!r}: {turn.reason}; write {turn.better}\n    {line.strip()}"
                for turn in TURNS
                for match in re.finditer(turn.pattern, line)
            ]
    assert not found, f"{len(found)} places:\n" + "\n".join(found)
