"""What follows from csrc/include/fastfs/fastfs.h: the reference in docs/, the Cython declarations, the ABI list.

``python -m tests.project.c_interface --write`` writes them anew and says what has changed; a test fails while they
differ.
"""

import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "csrc" / "include" / "fastfs" / "fastfs.h"
TESTING = HEADER.with_name("testing.h")  # exported, but no part of the reference, the declarations or the ABI list
REFERENCE = ROOT / "docs" / "c-api.md"
CYTHON = ROOT / "src" / "fastfs" / "capi.pxd"
ABI = ROOT / "tests" / "project" / "abi.txt"

# ------------------------------------------------------------------------------------------------- reading the header


@dataclass
class Item:
    """A declaration: what it is, its name, its text without comments, what comments say, and its members."""

    kind: str  # function, struct, handle, enum, callback, type, macro
    name: str
    text: str
    comment: str = ""
    members: list[tuple[str, str, str]] = field(default_factory=list)  # name, type or value, comment


@dataclass
class Section:
    """What lies below one of the header's rulers."""

    title: str
    text: str = ""
    items: list[Item] = field(default_factory=list)


def words(comment: str) -> str:
    """The text of a /* comment */ as one line a paragraph."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip()[2:-2].strip().splitlines()]
    paragraphs = re.split(r"\n\s*\n", "\n".join(line.rstrip() for line in lines))
    return "\n\n".join(" ".join(p.split()) for p in paragraphs).strip()


def plain(code: str) -> str:
    """A declaration on one line, without its comments."""
    code = re.sub(r"/\*.*?\*/", " ", code, flags=re.DOTALL)
    code = " ".join(code.split())
    code = re.sub(r"\s+([,;)])", r"\1", re.sub(r"\(\s+", "(", code))
    return re.sub(r"\s*\*\s*", " *", code).replace("( *", "(*").replace("* *", "**")


def read_members(body: str, end: str) -> tuple[str, list[tuple[str, str]]]:
    """The comment at the start of a body, and each member with its own: before it, or behind it on its line."""
    found: list[tuple[str, list[str]]] = []
    about, before, code, same_line = "", [], "", True
    for part in re.findall(rf"/\*.*?\*/|[^{end}/]+|{end}", body, re.DOTALL):
        if part == end:
            found.append((plain(code), before))
            before, code, same_line = [], "", True
        elif part.startswith("/*"):
            if code.strip():  # between the last member and the end of the body
                before.append(words(part))
            elif found and same_line:
                found[-1][1].append(words(part))
            elif not found and same_line:
                about = words(part)
            else:
                before.append(words(part))
        else:
            code += part
            same_line = same_line and "\n" not in part
    if code.strip():
        found.append((plain(code), before))
    return about, [(code, ": ".join(comments)) for code, comments in found]


def read_struct(name: str, body: str) -> tuple[str, list[tuple[str, str, str]]]:
    text, members = read_members(body, ";")
    fields = []
    for code, comment in members:
        assert "," not in code or "(" in code, f"{name}: {code}: declare one field at a time, each with its comment"
        pointer = re.match(r"(.*\(\*)(\w+)(\).*)", code)
        plain_field = re.match(r"(.*?)(\w+)$", code)
        assert pointer or plain_field, f"{name}: {code}"
        if pointer:
            fields.append((pointer[2], pointer[1] + pointer[3], comment))
        else:
            fields.append((plain_field[2], plain_field[1].strip(), comment))
    return text, fields


def read_declaration(code: str, comment: str) -> Item | None:
    line = plain(code)
    if struct := re.fullmatch(r"typedef struct (\w+) \{.*\} \1;", line):
        text, members = read_struct(struct[1], code[code.index("{") + 1 : code.rindex("}")])
        return Item("struct", struct[1], "", " ".join(filter(None, (comment, text))), members)
    if enum := re.fullmatch(r"(?:typedef )?enum ?(\w*) \{.*\} ?(\w*);", line):
        text, members = read_members(code[code.index("{") + 1 : code.rindex("}")], ",")
        values = [(*code.split(" = "), comment) for code, comment in members]
        return Item("enum", enum[1], "", " ".join(filter(None, (comment, text))), values)
    if handle := re.fullmatch(r"typedef struct (\w+) \1;", line):
        return Item("handle", handle[1], line, comment)
    if callback := re.fullmatch(r"typedef .*\(\*(\w+)\)\(.*\);", line):
        return Item("callback", callback[1], line, comment)
    if alias := re.fullmatch(r"typedef \w+ (\w+);", line):
        return Item("type", alias[1], line, comment)
    if function := re.fullmatch(r"FASTFS_API (.*?\b(fastfs_\w+)\(.*\);)", line):
        return Item("function", function[2], function[1], comment)
    raise ValueError(f"not understood: {line}")


def read_header(header: Path = HEADER) -> list[Section]:
    """The sections of a header; the first one holds its conventions."""
    text = header.read_text(encoding="utf-8")
    sections = [Section("Conventions", words(text[: text.index("*/") + 2]))]
    # Between the guards, for a BLAS with 32-bit integers; short names for arguments are written out.
    text = text[text.index('extern "C" {\n#endif') + len('extern "C" {\n#endif') : text.rindex("#ifdef __cplusplus")]
    text = re.sub(r"#if [^\n]*\n.*?#else\n(.*?)#endif\n", r"\1", text, flags=re.DOTALL)
    for name, meaning in re.findall(r"#define (FASTFS_\w+_) (.*)\n", text):
        text = re.sub(rf"#define {name} .*\n|#undef {name}\n", "", text)
        text = re.sub(rf"\b{name}\b", meaning, text)
    token = re.compile(
        r"(?P<comment>/\*.*?\*/)|(?P<macro>#define (?:[^\n]*\\\n)*[^\n]*)|(?P<code>[a-zA-Z](?:[^;{]|\{[^}]*\})*;)",
        re.DOTALL,
    )
    comment, end = "", 0
    for found in token.finditer(text):
        between, end = text[end : found.start()], found.end()
        assert not between.strip(), f"not understood: {between}"
        items = sections[-1].items
        if found["comment"]:
            if ruler := re.match(r"/\* -{4} (.*?) -{4,}", found[0]):
                sections.append(Section(ruler[1], words("/* " + found[0][ruler.end() :])))
                comment = ""
            elif "\n" not in between and items:  # behind a declaration, on its line
                items[-1].comment = " ".join(filter(None, (items[-1].comment, words(found[0]))))
            else:
                comment = words(found[0])
        elif found["macro"]:
            name, value = re.match(r"#define (\w+)\s*(.*)", found[0].replace("\\\n", " "), re.DOTALL).groups()
            items.append(Item("macro", name, " ".join(value.split()), comment))
            comment = ""
        else:
            items.append(read_declaration(found[0], comment))
            comment = ""
    return sections


# -------------------------------------------------------------------------------------------------------- the reference


def prose(text: str) -> str:
    """Text of a comment as Markdown."""
    text = re.sub(r"([\\*_|<>\[\]`])", r"\\\1", text)
    name = r"\b(?:fastfs|FASTFS)\\_(?:\w|\\_)*(?:\\\*)?(?:\.h(?:pp)?)?"
    return re.sub(name, lambda m: f"`{m[0].replace(chr(92), '')}`", text)


def table(head: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---|---|---|"]
    for name, value, comment in rows:
        shown = "Fortran routine" if "fastfs_blas_int" in value else f"`{value}`"
        lines.append(f"| `{name}` | {shown} | {prose(comment)} |")
    return "\n".join(lines)


def item_markdown(item: Item) -> str:
    parts = []
    if item.kind == "enum" and not item.name:
        parts.append(f"### Constants: `{item.members[0][0]}`" + (" ..." if len(item.members) > 1 else ""))
    elif item.kind == "macro":
        parts.append(f"### `{item.name}`\n\n`{item.text}`")
    else:
        parts.append(f"### `{item.name}`")
    if item.kind in ("function", "callback", "handle", "type"):
        code = item.text
        if len(code) > 100:
            head, arguments = code.rsplit("(", 1) if item.kind == "callback" else code.split("(", 1)
            code = f"{head}(\n    " + arguments.replace(", ", ",\n    ")
        parts.append(f"```c\n{code}\n```")
    if item.comment:
        parts.append(prose(item.comment))
    if item.kind == "struct":
        parts.append(table(("field", "type", "meaning"), item.members))
    if item.kind == "enum":
        parts.append(table(("name", "value", "meaning"), item.members))
    return "\n\n".join(parts)


def reference() -> str:
    """docs/c-api.md."""
    out = [
        "# The C interface",
        "Made from the comments of `fastfs.h` by `python -m tests.project.c_interface --write`: change them there. How "
        "to build against it, from which language, and examples: [embedding](embedding.md).",
    ]
    for section in read_header():
        out.append(f"## {section.title[0].upper()}{section.title[1:]}")
        if section.title == "Conventions":
            rules = section.text.split("Conventions - ", 1)[1].split(" - ")
            out.append("\n".join(f"- {prose(rule)}" for rule in rules))
        elif section.text:
            out.append(prose(section.text))
        initial = {i.name.lower().removesuffix("_init"): i for i in section.items if i.name.endswith("_INIT")}
        for item in section.items:
            if item not in initial.values():
                out.append(item_markdown(item))
                if item.name in initial:
                    macro = initial[item.name]
                    out.append(f"`{macro.name}` is `{macro.text}`.")
    return "\n\n".join(out) + "\n"


# ------------------------------------------------------------------------------------------------ Cython's declarations


def cython() -> str:
    """src/fastfs/capi.pxd."""
    items = [item for section in read_header() for item in section.items]
    defaults = [i.name.lower().removesuffix("_init") for i in items if i.name.endswith("_INIT")]
    lines = [
        "# Everything in fastfs.h, for `from fastfs.capi cimport ...`.",
        "# Made by `python -m tests.project.c_interface --write`.",
        "# NAME_init() is what FASTFS_NAME_INIT is in C.",
        "from libc.stdint cimport int32_t, int64_t, uint64_t",
        "",
        'cdef extern from "fastfs/fastfs.h" nogil:',
    ]
    initial = [
        "cdef extern from *:",
        '    """',
        '    #include "fastfs/fastfs.h"',
        *(
            f"    static CYTHON_INLINE {name} {name}_init(void) {{ {name} v = {name.upper()}_INIT; return v; }}"
            for name in defaults
        ),
        '    """',
        *(f"    {name} {name}_init() noexcept nogil" for name in defaults),
    ]
    body: list[str] = []
    for item in items:
        if item.kind == "macro" and not item.name.endswith("_INIT"):
            body.append(f"    enum: {item.name}")
        elif item.kind == "enum":
            body.append(f"    ctypedef enum {item.name}:" if item.name else "    enum:")
            body += [f"        {name}" for name, _, _ in item.members]
        elif item.kind == "handle":
            body += [f"    ctypedef struct {item.name}:", "        pass"]
        elif item.kind == "struct":
            body.append(f"    ctypedef struct {item.name}:")
            for name, type_, _ in item.members:
                pointer = re.match(r"(.*\(\*)(\).*)", type_)
                code = f"{pointer[1]}{name}{pointer[2]} noexcept" if pointer else f"{type_} {name}".replace("* ", "*")
                body.append(f"        {code.replace('(void)', '()')}")
        elif item.kind == "callback":
            body.append(f"    c{item.text[:-1]} noexcept")
        elif item.kind == "type":
            body.append(f"    ctypedef {item.text[len('typedef ') : -1]}")
        elif item.kind == "function":
            body.append(f"    {item.text[:-1].replace('(void)', '()')}")
    return "\n".join([*lines, *body, "", *initial]) + "\n"


# ------------------------------------------------------------------------------------------------------- the ABI list


def exported(library: Path) -> list[str] | None:
    """The functions that a shared library exports, or None without nm."""
    nm = shutil.which("nm")
    if nm is None:
        return None
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return sorted(line.split()[-1].split("@")[0] for line in listed.splitlines())


def abi() -> str:
    """tests/project/abi.txt: versions, constants, prototypes, and the layout of structs as the compiler has it."""
    items = [item for section in read_header() for item in section.items]
    print_ = []
    for item in items:
        if item.kind == "macro" and not item.name.endswith("_INIT"):
            print_.append(f'printf("constant {item.name} %d\\n", {item.name});')
        for name, _, _ in item.members if item.kind == "enum" else ():
            print_.append(f'printf("constant {name} %d\\n", {name});')
        if item.kind == "struct":
            print_.append(f'printf("struct {item.name}\\n");')
            for name, type_, _ in item.members:
                place = f"offsetof({item.name}, {name}), sizeof(v_{item.name}.{name})"
                print_.append(f'printf("    %zu +%zu {name}: {type_}\\n", {place});')
        if item.kind == "callback":
            print_.append(f'puts("callback {item.text}");')
        if item.kind == "function":
            print_.append(f'puts("function {item.text}");')
    variables = "".join(f"static {i.name} v_{i.name};\n" for i in items if i.kind == "struct")
    program = (
        "#include <stddef.h>\n#include <stdio.h>\n#include <fastfs/fastfs.h>\n"
        f"{variables}int main(void) {{\n{chr(10).join(print_)}\nreturn 0;\n}}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "abi.c"), Path(folder, "abi")
        source.write_text(program)
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        assert compiler, "a C compiler is needed"
        subprocess.run([compiler, "-w", f"-I{HEADER.parents[1]}", source, "-o", binary], check=True)
        return subprocess.run([binary], capture_output=True, text=True, check=True).stdout


def entries(listing: str) -> dict[str, list[str]]:
    """An ABI list by name: a value or prototype, or the fields of a struct."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in listing.splitlines():
        if line.startswith("    "):
            found[key].append(line.strip())
            continue
        kind, rest = line.split(" ", 1)
        name = re.search(r"\b(?:fastfs|FASTFS)_\w+(?=\(|\)| |$)", rest)[0] if kind != "function" else ""
        name = name or re.search(r"\b(fastfs_\w+)\(", rest)[1]
        key = f"{kind} {name}"
        found[key] = [] if kind == "struct" else [rest]
    return found


def compare(old: str, new: str) -> tuple[list[str], list[str]]:
    """What has changed, in sentences: what breaks programs compiled before, and what doesn't."""
    was, is_ = entries(old), entries(new)
    breaking, harmless = [], [f"{key} is new" for key in is_ if key not in was]
    for key, before in was.items():
        if key not in is_:
            breaking.append(f"{key} is gone")
        elif is_[key] != before:
            more = is_[key][len(before) :]
            # A BLAS table that lacks a routine is refused, so it can't grow in silence.
            if key.startswith("struct") and is_[key][: len(before)] == before and key != "struct fastfs_blas":
                harmless.append(f"{key} has grown at its end: {'; '.join(more)}")
            elif key == "constant FASTFS_ABI_VERSION":
                harmless.append(f"the ABI version is now {is_[key][0].split()[-1]}, not {before[0].split()[-1]}")
            else:
                change = [d for d in difflib.ndiff(before, is_[key]) if d[0] in "+-"]
                breaking.append(f"{key} has changed: {'; '.join(change)}")
    return breaking, harmless


FILES = {REFERENCE: reference, CYTHON: cython, ABI: abi}


def main() -> int:
    """Write all files, or say which ones are out of date."""
    write, stale = "--write" in sys.argv, []
    for path, make in FILES.items():
        new = make()
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if path == ABI and old:
            breaking, harmless = compare(old, new)
            print(*(f"compatible: {line}" for line in harmless), *(f"BREAKING: {line}" for line in breaking), sep="\n")
            if breaking and not any("ABI version" in line for line in harmless):
                print("raise FASTFS_ABI_VERSION, unless nothing has been released with it")
        if new != old:
            stale.append(path.relative_to(ROOT))
            if write:
                path.write_text(new, encoding="utf-8")
    print(f"{'written' if write else 'out of date'}:", *(stale or ["nothing"]))
    return 0 if write or not stale else 1


if __name__ == "__main__":
    sys.exit(main())
