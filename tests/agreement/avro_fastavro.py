#!/usr/bin/env python3
"""Container files of fastavro go through flowd, and fastavro reads what comes out: every type and logical type, every codec.

    avro_fastavro.py FLOWD PLUGINS
"""
import datetime
import decimal
import pathlib
import random
import subprocess
import sys
import tempfile
import uuid

try:
    import fastavro
except ImportError:
    print("fastavro is not here")
    sys.exit(77)

UTC = datetime.timezone.utc


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


FIELDS = {
    "b": "boolean", "i": "int", "l": "long", "f": "float", "d": "double", "y": "bytes", "s": "string",
    "fx": {"type": "fixed", "name": "F4", "size": 4},
    "e": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]},
    "arr": {"type": "array", "items": ["null", "long"]},
    "m": {"type": "map", "values": "string"},
    "u": ["null", "int", "string", {"type": "record", "name": "In", "fields": [{"name": "q", "type": "double"}]}, "E"],
    "dec": logical("bytes", "decimal", precision=20, scale=4),
    "decf": {**logical("fixed", "decimal", precision=20, scale=2), "name": "DF", "size": 9},
    "date": logical("int", "date"), "tms": logical("int", "time-millis"), "tus": logical("long", "time-micros"),
    "tsm": logical("long", "timestamp-millis"), "tsu": ["null", logical("long", "timestamp-micros")],
    "ltu": logical("long", "local-timestamp-micros"), "id": logical("string", "uuid"),
    "rec": ["null", "x.y.All"],
}
SCHEMA = {"type": "record", "name": "All", "namespace": "x.y", "fields": [{"name": n, "type": t} for n, t in FIELDS.items()]}
LONGS = [0, -1, 63, 64, -64, -65, 2**55, 2**56, -2**56, 2**63 - 1, -2**63]


def record(r, depth=0):
    def text():
        return "".join(r.choice("abcdé漢😀 \n\"") for _ in range(r.choice([0, 1, 5, 70, 300])))

    def number(digits, scale):
        return decimal.Decimal(r.randrange(-10**digits + 1, 10**digits)).scaleb(-scale)

    return {
        "b": r.random() < .5, "i": r.choice([0, -1, 2**31 - 1, -2**31, r.randrange(-2**31, 2**31)]),
        "l": r.choice([*LONGS, r.randrange(-2**63, 2**63)]), "f": r.choice([0.0, 1.5, -2.25, float("inf")]),
        "d": r.choice([0.1, -1e300, 5e-324, r.random()]), "y": r.randbytes(r.choice([0, 3, 100])), "s": text(), "fx": r.randbytes(4),
        "e": r.choice("ABC"), "arr": [r.choice([None, r.randrange(-2**40, 2**40)]) for _ in range(r.choice([0, 1, 5, 200]))],
        "m": {text() + str(k): text() for k in range(r.choice([0, 1, 30]))}, "u": r.choice([None, 5, "txt", {"q": 1.25}]),
        "dec": number(20, 4), "decf": number(20, 2), "date": datetime.date(r.randrange(1, 9999), 2, 3),
        "tms": datetime.time(13, 28, 27, 31000), "tus": datetime.time(23, 59, 59, 999999),
        "tsm": datetime.datetime(r.randrange(1, 9999), 5, 6, 7, 8, 9, 123000, UTC),
        "tsu": r.choice([None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)]),
        "ltu": datetime.datetime(2024, 2, 29, 1, 2, 3, 4), "id": uuid.UUID(int=r.getrandbits(128)),
        "rec": record(r, depth + 1) if depth < 3 and r.random() < .4 else None,
    }


JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "in.avro"; bounded = true; serde = "avro"; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.avro"; serde: {{ type = "avro"; codec = "{codec}"; }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""


def pass_through(flowd, plugins, codec, rows):
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = pathlib.Path(folder)
        with open(work / "in.avro", "wb") as file:
            fastavro.writer(file, SCHEMA, rows, codec=codec, sync_interval=5000)
        (work / "job.conf").write_text(JOB.format(codec=codec))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with open(work / "in.avro", "rb") as file:
            wanted = list(fastavro.reader(file))
        with open(work / "out.avro", "rb") as file:
            reader = fastavro.reader(file)
            got = list(reader)
        assert reader.codec == codec and len(got) == len(wanted)
        for before, after in zip(wanted, got):
            assert before == after, f"{codec}: {before}\nbecame\n{after}"


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    decimal.getcontext().prec = 60
    source = random.Random(7)
    rows = [record(source) for _ in range(700)]
    for codec in ("null", "deflate", "snappy", "zstandard", "bzip2", "xz"):
        try:
            pass_through(flowd, plugins, codec, rows)
            print(f"{codec}: {len(rows)} records are the same")
        except ValueError as problem:
            assert "install" in str(problem), problem  # a codec that this fastavro lacks
            print(f"{codec}: {problem}")


main()
