"""How far the inner loops of the NEON tiles are from what a core's vector units can do, by llvm-mca.

python -m benchmarks.port_limits FOLDER

FOLDER is a build of the preset aarch64. Of each tile, the innermost loop that does most of its work is taken from the
object, and llvm-mca (LLVM 18 or newer) says how many cycles a turn takes. The limit is the number of vector operations
that the tile's formula needs, over the number of vector pipes; it counts no copies, loads or stores. llvm-mca knows
instructions, ports and latencies; all data are in the first cache, all branches are foreseen, and how fast instructions
are fetched isn't looked at: this is no measurement. LLVM's model of all Apple cores is that of Cyclone, of 2013: three
vector pipes instead of four, two of which multiply doubles, latencies up to 10 cycles instead of 4, and 192
instructions on their way instead of some 600.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

AIM = 1.3
PIPES = {"neoverse-v2": 4, "neoverse-n1": 2, "apple-m1": 3}
PRODUCT_PIPES = {"neoverse-v2": 4, "neoverse-n1": 2, "apple-m1": 2}  # those that multiply doubles
TURNS = 1000


class Tile(NamedTuple):
    """A loop: its function, the instruction that counts its units of work, and the operations of a unit.

    `products` are those among them that multiply doubles.
    """

    name: str
    function: str
    unit: str
    operations: int
    products: int = 0  # of doubles


# exp: scale, 1 FMA and 1 subtraction for the power, 2 FMA for the rest r, 5 (11) for the polynomial q, r + r^2 q, 1 +,
# 2 for the power's bits, the product, 2 for what is too small. RBF: besides, 3 for the distance and 5 for lost digits.
TILES = [
    Tile("inner products, float32", r"gram_block<float, 8, 3>", "fmla", 1),
    Tile("inner products, float64", r"gram_block<double, 8, 3>", "fmla", 1, 1),
    Tile("quadratic forms, float32", r"::form<float>", "fmla", 1),
    Tile("quadratic forms, float64", r"::form<double>", "fmla", 1, 1),
    Tile("sums of |differences|, float32", r"pair_tile<float, .*Term.0>", "fabd", 2),
    Tile("sums of |differences|, float64", r"pair_tile<double, .*Term.0>", "fabd", 2),
    Tile("sums of squared differences, float32", r"pair_tile<float, .*Term.1>", "fsub", 2),
    Tile("sums of squared differences, float64", r"pair_tile<double, .*Term.1>", "fsub", 2, 1),
    Tile("|differences| where both are known, float32", r"pair_tile<float, .*Term.2>", "fabd", 3),
    Tile("weighted sums of features, float32", r"feature_sums<float, .*Term.0>", "fabd", 2),
    Tile("weighted sums of features, float64", r"feature_sums<double, .*Term.0>", "fabd", 2, 1),
    Tile("exponential, float32", r"exp_neg<float>", "shl", 17),
    Tile("exponential, float64", r"exp_neg<double>", "shl", 23, 17),
    Tile("RBF of inner products, float32", r"rbf<float>", "shl", 25),
    Tile("RBF of inner products, float64", r"rbf<double>", "shl", 31, 19),
    Tile("differing bits of genotypes", r"pair_sums<false>", "eor", 3),
]


def find(*names: str) -> str:
    """The first of some programs that is installed."""
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        sys.exit(f"needs {names[-1]}: install Debian's llvm-19 (or newer) and binutils-aarch64-linux-gnu")
    return found


def functions(path: Path) -> dict[str, list[tuple[int, str]]]:
    """Addresses and instructions of each function of an object."""
    command = [find("aarch64-linux-gnu-objdump"), "-dC", "--no-show-raw-insn", str(path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)+)", listing, re.MULTILINE):
        lines = re.findall(r"^ +([0-9a-f]+):\t(.*?)(?:\s*//.*)?$", body, re.MULTILINE)
        found[name] = [(int(address, 16), text) for address, text in lines]
    return found


def mnemonics(loop: list[str]) -> Counter[str]:
    return Counter(text.split()[0] for text in loop)


def inner_loops(instructions: list[tuple[int, str]]) -> list[list[str]]:
    """What lies between a backward branch and its target, without another one."""
    place = {address: k for k, (address, _) in enumerate(instructions)}
    spans = []
    for k, (address, text) in enumerate(instructions):
        branch = re.match(r"(?:b\.\w+|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <", text)
        if branch and (target := int(branch[1], 16)) <= address and target in place:
            spans.append((place[target], k))
    inner = [(s, e) for s, e in spans if not any((a, b) != (s, e) and a >= s and b <= e for a, b in spans)]
    return [[text for _, text in instructions[s : e + 1]] for s, e in inner]


def cycles(loop: list[str], core: str) -> float:
    """Cycles a turn."""
    *body, branch = loop
    # A store that moves its address is two instructions, and the address needn't wait for the value.
    body = [re.sub(r"^(str\s.*\[(x\d+)\]), #(\d+)$", r"\1\nadd \2, \2, #\3", text) for text in body]
    text = "\n".join(["turn:", *body, re.sub(r"[0-9a-f]+ <.*", "turn", branch), ""])
    command = [find("llvm-mca-20", "llvm-mca-19", "llvm-mca-18", "llvm-mca")]
    command += ["-mtriple=aarch64", f"-mcpu={core}", f"-iterations={TURNS}", "--json", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "not recognized" in done.stderr:
        sys.exit(f"{done.stderr}llvm-mca can't read this loop, or is older than LLVM 18:\n{text}")
    return json.loads(done.stdout)["CodeRegions"][0]["SummaryView"]["TotalCycles"] / TURNS


def main(folder: str) -> None:
    """Print a table; exit with 1 if a loop misses the aim."""
    print(f"| cycles a turn / limit = ratio (aim: {AIM}) |" + "".join(f" {core} |" for core in PIPES))
    print("|---|" + "---|" * len(PIPES))
    found: dict[str, list[tuple[int, str]]] = {}
    for path in Path(folder).rglob("fastfs_isa_neon.dir/**/*.o"):
        found |= functions(path)
    missed = 0
    for tile in TILES:
        chosen = [instructions for name, instructions in found.items() if re.search(tile.function, name)]
        loops = [loop for instructions in chosen for loop in inner_loops(instructions)]
        loop = max(loops, key=lambda one: mnemonics(one)[tile.unit], default=[])
        units = mnemonics(loop)[tile.unit]
        if units == 0:
            sys.exit(f"{folder} has no loop of {tile.function} with {tile.unit}")
        cells = []
        for core, pipes in PIPES.items():
            limit = units * max(tile.operations / pipes, tile.products / PRODUCT_PIPES[core])
            taken = cycles(loop, core)
            late = taken > AIM * limit
            missed += late
            cells.append(f"{taken:.2f} / {limit:.2f} = {taken / limit:.2f}".join(["**", "**"] if late else ["", ""]))
        print(f"| {tile.name} |" + "".join(f" {cell} |" for cell in cells), flush=True)
    if missed:
        sys.exit(f"{missed} of {len(TILES) * len(PIPES)} missed the aim of {AIM}")


if __name__ == "__main__":
    main(*sys.argv[1:])
