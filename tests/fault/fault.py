"""What the tests in this folder stand on: those of tests/e2e, and a job whose every output form can be compared with an undisturbed run."""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("FLOWD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))

import e2e  # noqa: E402,F401
from flowd_driver import until  # noqa: E402,F401

BUILD = e2e.BUILD
main = e2e.main

# Files of all kinds, one of them empty; bad records; outputs that are compressed, of several tasks, of keyed state, of dead letters.
MILL = """application: {
  name = "mill";  record_errors = "dead_letter";  dead_letters = "rejected";  checkpoint_interval = "20ms";
  systems: { files: { type = "file"; }; };
  inputs: { rows: { system = "files"; bounded = true; chunk = "4KiB"; path = ["in*.csv", "in*.csv.gz", "in*.csv.zst"];
                    serde: { type = "csv"; fields: { id = "int64"; key = "string"; value = "int64"; }; }; }; };
  outputs: { all:      { system = "files"; path = "out/all.jsonl.gz"; make_folders = true; serde = "json"; };
             parts:    { system = "files"; path = "out/part-{task}.csv.zst"; make_folders = true; serde = "csv"; };
             sums:     { system = "files"; path = "out/sums.jsonl"; make_folders = true; serde = "json"; };
             rejected: { system = "files"; path = "out/rejected.jsonl"; make_folders = true; serde = "json"; }; };
  flow: ( { from = "rows"; SLOWED to = "all"; },
          { name = "keyed"; key_by = "key"; where = "true"; to = "parts"; },
          { name = "sums"; from = "keyed"; key_by = "key"; aggregate: { n = "count(*)"; total = "sum(value)"; }; },
          { to = "sums"; } );
};
"""
OUTPUTS = {"all.jsonl.gz", "parts", "rejected.jsonl", "sums.jsonl"}


def mill_line(number, chance):
    if number % 97 == 0:
        return b"%d,k%d,no number" % (number, number % 13)
    if number % 101 == 0:
        return b"%d,k\xff,1" % number
    if number % 103 == 0:
        return b"%d,short" % number
    return b"%d,k%d,%d" % (number, chance.randrange(50), chance.randrange(-1000, 1000))


def make_mill(folder, rows=800, slowed=0):
    """`slowed`: so many turns of a Lua script for each record."""
    folder = pathlib.Path(folder)
    chance, number = random.Random(7), 0
    for file in range(5):
        lines = [b"id,key,value"]
        for _ in range(0 if file == 3 else rows):
            number += 1
            lines.append(mill_line(number, chance))
        content, path = b"\n".join(lines) + b"\n", folder / f"in{file}.csv"
        if file == 1:
            (folder / "in1.csv.gz").write_bytes(gzip.compress(content))
            continue
        path.write_bytes(content)
        if file == 2:
            subprocess.run(["zstd", "-qf", "--rm", str(path)], check=True)
    spin = f'lua = "function process(r) local x = 0 for i = 1, {slowed} do x = x + i end return r end";' if slowed else 'where = "true";'
    (folder / "mill.conf").write_text(MILL.replace("SLOWED", spin))


def unpacked(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", str(path)], check=True, stdout=subprocess.PIPE).stdout
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def mill_result(folder):
    """Name of each output -> its sorted lines; those of the parts together. Places of dead letters without their folder."""
    result = {}
    for path in sorted((pathlib.Path(folder) / "out").iterdir()):
        assert not path.name.endswith(".part"), f"{path.name} is left"
        name = "parts" if path.name.startswith("part-") else path.name
        lines = [line for line in unpacked(path).split(b"\n") if line and not line.startswith(b"id,")]
        if name == "rejected.jsonl":
            letters = [json.loads(line) for line in lines]
            lines = [json.dumps({**x, "time": None, "place": os.path.basename(x["place"])}).encode() for x in letters]
        result.setdefault(name, []).extend(lines)
    return {name: sorted(lines) for name, lines in result.items()}


def difference(expected, got):
    """What differs, for a message; empty: nothing."""
    text = []
    for name in sorted(expected.keys() | got.keys()):
        a, b = expected.get(name, []), got.get(name, [])
        if a != b:
            text.append(f"{name}: {len(b)} lines instead of {len(a)}, missing {sorted(set(a) - set(b))[:2]}, more {sorted(set(b) - set(a))[:2]}, "
                        f"{len(b) - len(set(b))} twice")
    return "\n".join(text)
