#!/usr/bin/env python3
"""What Python's csv writes in each of its dialects, flowd reads; and what flowd writes, Python reads.

    csv_python.py FLOWD PLUGINS
"""
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

# A dialect of Python's and the same in flowd's options. What means null is given to flowd alone: Python has no null.
DIALECTS = {
    "excel": (dict(), ""),
    "tabs": (dict(delimiter="\t"), 'delimiter = "\\\\t";'),
    "all quoted": (dict(quoting=csv.QUOTE_ALL, lineterminator="\n"), ""),
    "semicolons and single quotes": (dict(delimiter=";", quotechar="'"), 'delimiter = ";"; quote = "\'";'),
    "escaped quotes": (dict(doublequote=False, escapechar="\\"), 'escape = "\\\\";'),
    "escapes without quotes": (dict(quoting=csv.QUOTE_NONE, escapechar="\\", quotechar=None), 'escape = "\\\\"; quote = "";'),
}
JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "{source}"; bounded = true; serde: {{ {read} }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "{out}"; serde: {{ {write} }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""
NAMES = ["id", "text", "a name, with \"all\"; 'of' it\n", "last"]


class Work:
    def __init__(self, flowd, plugins, folder):
        self.command = [flowd, "run", "job.conf", "--fresh", "--plugin-dir", plugins]
        self.folder = pathlib.Path(folder)

    def convert(self, source, read, out, write):
        (self.folder / "job.conf").write_text(JOB.format(source=source, read=read, out=out, write=write))
        done = subprocess.run(self.command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def write(self, name, rows, dialect):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, **dialect).writerows(rows)

    def read(self, name, dialect):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.reader(file, strict=True, **dialect))


def texts(r):
    alphabet = ["a", "Z", "é", "漢", "😀", " ", ",", ";", "\t", '"', "'", "\n", "\r", "\r\n", "\\", "#", "0", ".", "-"]
    return "".join(r.choice(alphabet) for _ in range(r.choice([0, 1, 2, 5, 40])))


def check(work, name, dialect, options, rows):
    work.write("python.csv", [NAMES, *rows], dialect)
    work.convert("python.csv", f'type = "csv"; {options}', "flowd.jsonl", 'type = "json";')
    got = [list(json.loads(line).values()) for line in (work.folder / "flowd.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert got == rows, first_difference(name, "flowd reads", rows, got)
    work.convert("flowd.jsonl", 'type = "json"; schema = "' + SCHEMA.replace("\\", "\\\\").replace('"', '\\"') + '";', "flowd.csv", f'type = "csv"; {options}')
    got = work.read("flowd.csv", dialect)
    assert got == [NAMES, *rows], first_difference(name, "Python reads", [NAMES, *rows], got)
    print(f"{name}: {len(rows)} rows are the same both ways")


def first_difference(name, who, wanted, got):
    for i, pair in enumerate(zip(wanted, got)):
        if pair[0] != pair[1]:
            return f"{name}, row {i}: {pair[0]!r}; {who} {pair[1]!r}"
    return f"{name}: {len(wanted)} rows; {who} {len(got)}"


SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [
    {"name": name, "type": "string"} if name.isalpha() else {"name": f"f{i}", "flow.name": name, "type": "string"}
    for i, name in enumerate(NAMES)]})


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    source = random.Random(7)
    rows = [[str(i), texts(source), texts(source), texts(source)] for i in range(3000)]
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = Work(flowd, plugins, folder)
        for name, (dialect, options) in DIALECTS.items():
            check(work, name, dialect, options, rows)


main()
