"""Damaged and foreign files of every format: `python tests/fuzz/readers.py --minutes 5 --seed 1`.

Small real files are cut, their bits flipped, bytes and numbers replaced, pieces swapped, and their names exchanged. A
reader may then read a table, whose parts must fit each other, or raise one sentence. Reading happens in a process with
a memory limit, so that a crash of a library is a finding too, not the end.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "surfaces" / "data"
MEMORY = 6 << 30
SECONDS = 30  # of CPU time, since fuzzers run beside other work


# ------------------------------------------------------------------------------------------------------ undamaged files


def make_files(folder: Path) -> dict[str, dict]:
    """The files in `folder`, with the parameters that read each."""
    import anndata
    import mudata
    import pandas as pd
    import scipy.io
    import scipy.sparse

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (12, 6))
    names, samples = [f"g{j}" for j in range(6)], [f"s{i}" for i in range(12)]
    condition = ["u", "v"] * 6
    files: dict[str, dict] = {}
    frame = pd.DataFrame(counts / 4, index=samples, columns=names)
    frame["y"] = condition
    frame.to_csv(folder / "t.csv")
    files["t.csv"] = {"label": "y"}
    frame.to_csv(folder / "t.tsv.gz", sep="\t")
    files["t.tsv.gz"] = {"label": "y", "ignore": ["g1"]}
    frame.T.to_csv(folder / "t.txt", sep="\t")
    files["t.txt"] = {"label": "y", "transpose": True}
    frame.to_parquet(folder / "t.parquet")
    files["t.parquet"] = {"label": "y", "annotations": ["g2"]}
    np.savez(folder / "dense.npz", X=counts.astype(float), y=np.array(condition), feature_names=np.array(names))
    files["dense.npz"] = {}
    csr = scipy.sparse.csr_matrix(counts)
    parts = {name: getattr(csr, name) for name in ("data", "indices", "indptr")}
    np.savez_compressed(folder / "sparse.npz", shape=csr.shape, y=np.arange(12) % 2, **parts)
    files["sparse.npz"] = {}
    obs = pd.DataFrame({"condition": pd.Categorical(condition), "batch": np.arange(12) // 4}, index=samples)
    cells = anndata.AnnData(csr.astype(np.float32), obs, pd.DataFrame(index=names), layers={"twice": 2.0 * counts})
    cells.write_h5ad(folder / "t.h5ad")
    files["t.h5ad"] = {"label": "condition", "annotations": ["batch"]}
    cells.write_zarr(folder / "t.zarr")
    files["t.zarr"] = {"label": "condition", "layer": "twice"}
    mudata.MuData({"rna": cells}).write(folder / "t.h5mu")
    files["t.h5mu"] = {"label": "condition", "mod": "rna"}
    scipy.io.mmwrite(folder / "matrix.mtx", csr.T)
    (folder / "features.tsv").write_text("".join(f"ENSG{j}\tg{j}\tGene Expression\n" for j in range(6)))
    (folder / "barcodes.tsv").write_text("".join(f"s{i}\n" for i in range(12)))
    (folder / "labels.txt").write_text("\n".join(condition) + "\n")
    files["matrix.mtx"] = {"labels": folder / "labels.txt", "transpose": True}
    genotypes = bytes(rng.integers(0, 256, 3 * 6, dtype=np.uint8))
    (folder / "t.bed").write_bytes(b"\x6c\x1b\x01" + genotypes)
    (folder / "t.bim").write_text("".join(f"1 rs{j} 0 {1000 + j} A G\n" for j in range(6)))
    (folder / "t.fam").write_text("".join(f"f{i} s{i} 0 0 0 {1 + i % 2}\n" for i in range(12)))
    files["t.bed"] = {}
    shutil.copytree(DATA, folder, dirs_exist_ok=True)
    aside = {"label": "condition", "labels": folder / "conditions.csv"}
    for name in ("cell_ranger_2.h5", "cell_ranger_3.h5", "expression_1_2.gct.gz", "matrix.rds", "sparse.rds"):
        files[name] = aside
    files["antibodies.h5"] = aside | {"mod": "Gene Expression"}
    for name in ("cells.loom", "expression.gct", "frame.rds", "single_cell.rds", "summarized.rds", "ranged.rds"):
        files[name] = {"label": "condition"}
    files["GSE1_series_matrix.txt"] = {"label": "tissue"}
    files["missing.rds"] = {"label": "word", "ignore": ["level"]}
    return files


# --------------------------------------------------------------------------------------------------------------- damage

NUMBERS = [
    b"-1",
    b"0",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"4294967296",
    b"",
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"\n",
]
WORDS = [0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF]


def damaged(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """One to eight changes of one kind each."""
    if rng.random() < 0.03:
        return others[rng.integers(len(others))]
    packed = content[:2] == b"\x1f\x8b" and rng.random() < 0.7
    data = bytearray(gzip.decompress(content) if packed else content)
    for _ in range(int(rng.integers(1, 9)) if rng.random() < 0.5 else 1):
        if not data:
            break
        at = int(rng.integers(len(data)))
        match int(rng.integers(8)):
            case 0:
                del data[at:]
            case 1:
                data[at] ^= 1 << int(rng.integers(8))
            case 2:
                data[at] = int(rng.integers(256))
            case 3:
                word = WORDS[rng.integers(len(WORDS))]
                size = int(rng.choice([1, 2, 4, 8]))
                order = "little" if rng.random() < 0.5 else "big"
                data[at : at + size] = (word & (1 << 8 * size) - 1).to_bytes(size, order)
            case 4:
                end = min(len(data), at + int(rng.integers(1, 64)))
                del data[at:end]
            case 5:
                end = min(len(data), at + int(rng.integers(1, 64)))
                data[at:at] = data[at:end] * int(rng.integers(1, 4))
            case 6:  # a number of a text
                found = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(data[at : at + 400])))
                if found:
                    one = found[int(rng.integers(len(found)))]
                    data[at + one.start() : at + one.end()] = NUMBERS[rng.integers(len(NUMBERS))]
            case _:
                other = others[rng.integers(len(others))]
                begin = int(rng.integers(len(other) + 1))
                data[at : at + 32] = other[begin : begin + 32]
    return gzip.compress(bytes(data), 1) if packed else bytes(data)


ODD = [
    np.array(3.0),
    np.array([]),
    np.zeros((0, 6)),
    np.zeros((12, 0)),
    np.zeros((2, 2, 2)),
    np.array([np.nan, -1, 1e300]),
    np.array(["a", "b"]),
    np.array([b"x"]),
    np.array([2**62, -1]),
    np.array([1 + 2j]),
    np.arange(13),
    np.array([True, False]),
    np.zeros(3, [("a", int), ("b", float)]),
    np.array(["2020-01-01"], "M8[D]"),
]


def odd(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another array in place of one."""
    kind = int(rng.integers(5))
    if kind == 0 and values.ndim:
        return values[: int(rng.integers(len(values) + 1))]
    if kind == 1 and values.dtype.kind in "iuf" and values.size:
        changed = values.copy()
        changed.flat[int(rng.integers(values.size))] = np.array([-1.0, 0, 7, 1e9])[rng.integers(4)].astype(values.dtype)
        return changed
    if kind == 2 and values.ndim:
        return np.concatenate([values, values[:1]])
    if kind == 3:
        return values.reshape(1, -1)
    return ODD[rng.integers(len(ODD))]


def rebuild(path: Path, rng: np.random.Generator) -> None:
    """Replace or remove an array of an archive, or a member of an HDF5 file or one of its attributes."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = dict(archive)
        name = list(arrays)[rng.integers(len(arrays))]
        if rng.random() < 0.2:
            del arrays[name]
        else:
            arrays[name] = odd(arrays[name], rng)
        np.savez(path, **arrays)
        return
    import h5py

    with h5py.File(path, "r+") as file:
        members: list[str] = []
        file.visit(members.append)
        name = members[rng.integers(len(members))]
        of = file[name]
        if rng.random() < 0.3 and len(of.attrs):
            attribute = list(of.attrs)[rng.integers(len(of.attrs))]
            if rng.random() < 0.5:
                del of.attrs[attribute]
            else:
                of.attrs[attribute] = ["0.1.0", "csr_matrix", "nullable", 7, [1, 2], "", b"\xff", [-1, 3]][
                    rng.integers(8)
                ]
            return
        values = of[()] if isinstance(of, h5py.Dataset) else np.arange(3)
        del file[name]
        if rng.random() < 0.8:
            new = odd(np.asarray(values), rng)
            file[name] = new.astype("S") if new.dtype.kind == "U" else new.astype(int) if new.dtype.kind == "M" else new


def parts_of(path: Path) -> list[Path]:
    """The files that are read if `path` is."""
    if path.is_dir():
        return sorted(part for part in path.rglob("*") if part.is_file())
    beside = {".bed": (".bim", ".fam")}.get(path.suffix, ())
    more = ["features.tsv", "barcodes.tsv", "labels.txt"] if path.suffix == ".mtx" else []
    return [path, *(path.with_suffix(ending) for ending in beside), *(path.with_name(name) for name in more)]


def damage(folder: Path, name: str, others: list[bytes], rng: np.random.Generator) -> str:
    """Damage one of the parts of the file; returns its name."""
    parts = parts_of(folder / name)
    part = parts[0] if rng.random() < 0.6 and not (folder / name).is_dir() else parts[rng.integers(len(parts))]
    if part.suffix in (".npz", ".h5ad", ".h5mu", ".h5", ".loom") and rng.random() < 0.6:
        rebuild(part, rng)
    elif rng.random() < 0.02:
        part.unlink()
    else:
        part.write_bytes(damaged(part.read_bytes(), others, rng))
    return str(part.relative_to(folder))


# -------------------------------------------------------------------------------------------------------------- reading


def check(error: BaseException) -> str | None:
    """What is wrong with an error, or None."""
    message = str(error)
    if isinstance(error, OSError) and error.errno:
        return None if error.filename else "an OSError without the name of the file"
    if not isinstance(error, (ValueError, OSError, MemoryError)) or isinstance(error, UnicodeError):
        return f"a {type(error).__name__}"
    if "\n" in message or len(message) < 20:
        return "no sentence"
    return None


def read(folder: Path, name: str, parameters: dict, budget: int | None) -> str | None:
    """Reads the file, and all of its parts; returns what is wrong."""
    from fastfs._inputs.source import Source
    from fastfs.io import Genotypes, read_table

    try:
        table = read_table(folder / name, max_memory=budget, **parameters)
        n, d = table.X.shape
        if len(table.y) != n or len(table.feature_names) != d:
            return f"a table of {n} x {d} with {len(table.y)} labels and {len(table.feature_names)} names"
        if len(set(table.feature_names)) != d or n == 0 or d == 0:
            return "an empty table, or names that come twice"
        if any(len(values) != n for values in table.annotations.values()):
            return "annotations of another length"
        if not isinstance(table.X, np.ndarray) and hasattr(table.X, "indptr"):
            table.X.check_format()
        if isinstance(table.X, Genotypes):
            np.asarray(table.X)
        if isinstance(table.X, Source):
            Counter(len(np.shape(block)) for _, block in table.X.blocks())
    except Exception as error:
        wrong = check(error)
        return wrong and f"{wrong}: {error!r}\n{traceback.format_exc()}"
    return None


class Worker:
    """A process that reads one damaged file after the other."""

    def __init__(self, source: Path, files: dict[str, dict], seeds: range, only: str | None):
        self.reader, writer = os.pipe()
        self.place = source.with_name("where")
        self.process = os.fork()
        if self.process == 0:
            os.close(self.reader)
            try:
                with self.place.open("w") as where:
                    faulthandler.register(signal.SIGPROF, where, all_threads=False, chain=True)
                    self.work(source, files, seeds, only, os.fdopen(writer, "w", buffering=1), where)
            finally:
                os._exit(0)
        os.close(writer)
        self.lines = os.fdopen(self.reader)

    @staticmethod
    def work(source: Path, files: dict[str, dict], seeds: range, only: str | None, out, where) -> None:
        faulthandler.enable(where)
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        originals = {name: [part.read_bytes() for part in parts_of(source / name)] for name in files}
        others = [content for parts in originals.values() for content in parts if content]
        names = [name for name in files if only is None or only in name]
        for seed in seeds:
            rng = np.random.default_rng(seed)
            name = names[rng.integers(len(names))]
            out.write(json.dumps({"seed": seed, "file": name}) + "\n")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            with tempfile.TemporaryDirectory(dir=source.parent) as place:
                folder = Path(place)
                whole = source / name
                if whole.is_dir():
                    shutil.copytree(whole, folder / name)
                for part in parts_of(whole) if whole.is_file() else ():
                    shutil.copy(part, folder / part.name)
                part = damage(folder, name, others, rng)
                parameters = {
                    key: folder / value.name if isinstance(value, Path) and (folder / value.name).exists() else value
                    for key, value in files[name].items()
                }
                wrong = read(
                    folder, name, parameters, int(rng.choice([1 << 12, 1 << 28])) if rng.random() < 0.3 else None
                )
            signal.setitimer(signal.ITIMER_PROF, 0)
            if wrong:
                out.write(json.dumps({"seed": seed, "file": name, "part": part, "wrong": wrong}) + "\n")

    def is_ours(self) -> bool:
        """Whether our code was running when it ended, and not a library that it had called, in whichever thread."""
        begins = r'^(?:Stack|Current thread \w+) \(most recent call first\):\n  File "([^"]*)"'
        innermost = re.search(begins, self.place.read_text(), re.MULTILINE)
        return innermost is None or "fastfs" in Path(innermost[1]).parts


def run(minutes: float, seed: int, only: str | None = None, most: int | None = None) -> int:
    """Reads until the time is over, or so many files; returns the number of findings, which are printed."""
    end, found, n_read, theirs = time.monotonic() + 60 * minutes, Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "whole")
        source.mkdir()
        files = make_files(source)
        from fastfs.io import read_table

        for name, parameters in files.items():
            read_table(source / name, **parameters)
        while time.monotonic() < end and (most is None or sum(n_read.values()) < most):
            worker = Worker(source, files, range(seed, seed + (most or 2000)), only)
            last = None
            for line in worker.lines:
                last = json.loads(line)
                seed = last["seed"] + 1
                if "wrong" in last:
                    report(found, last["wrong"], last)
                else:
                    n_read[last["file"]] += 1
                if time.monotonic() > end:
                    os.kill(worker.process, signal.SIGKILL)
            _, status = os.waitpid(worker.process, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL and last:
                killer = signal.Signals(os.WTERMSIG(status)).name
                if worker.is_ours():
                    report(found, f"killed by {killer}: {worker.place.read_text()}", last)
                else:
                    theirs[Path(last["file"]).suffix, killer] += 1
    print(
        f"{sum(n_read.values())} damaged files of {len(n_read)} kinds, the next seed is {seed}; findings: {len(found)}"
    )
    for (suffix, killer), n in theirs.items():
        how = f"was busy for more than {SECONDS} s" if killer == "SIGPROF" else f"ended by {killer}"
        print(f"  {n} x {suffix}: the library that reads it {how}")
    for wrong, n in found.most_common():
        print(f"  {n} x {wrong}")
    return len(found)


def report(found: Counter, wrong: str, last: dict) -> None:
    """Each kind of finding once: by its first line without numbers and names of files."""
    kind = re.sub(r"'[^']*'|\d+|/\S+", "*", wrong.partition("\n")[0])[:160] + f" ({Path(last['file']).suffix})"
    found[kind] += 1
    if found[kind] == 1:
        print(f"FINDING: seed {last['seed']}, {last['file']} ({last.get('part', '?')}): {wrong}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="a part of the name of files to read")
    arguments = parser.parse_args()
    return min(run(arguments.minutes, arguments.seed, arguments.only), 1)


if __name__ == "__main__":
    sys.exit(main())
