#!/usr/bin/env python3
"""Records in Avro's JSON encoding of fastavro go through flowd, and fastavro reads what comes out.

    json_avro_fastavro.py FLOWD PLUGINS
"""
import datetime
import decimal
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import fastavro
except ImportError:
    print("fastavro is not here")
    sys.exit(77)

FIELDS = {
    "b": "boolean", "i": "int", "l": "long", "d": "double", "y": "bytes", "s": "string",
    "fx": {"type": "fixed", "name": "F4", "size": 4},
    "e": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]},
    "arr": {"type": "array", "items": ["null", "long"]},
    "m": {"type": "map", "values": ["string", "bytes"]},
    "u": ["null", "int", "string", {"type": "record", "name": "In", "fields": [{"name": "q", "type": "double"}]}],
    "dec": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4},
    "date": {"type": "int", "logicalType": "date"},
    "ts": ["null", {"type": "long", "logicalType": "timestamp-micros"}],
    "rec": ["null", {"type": "record", "name": "z.Deep", "fields": [{"name": "n", "type": ["null", "long"]}]}],
}
SCHEMA = {"type": "record", "name": "All", "namespace": "x.y", "fields": [{"name": n, "type": t} for n, t in FIELDS.items()]}
JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "in.json"; bounded = true; serde: {{ {serde} }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.json"; serde: {{ {serde} }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""


def record(r):
    def text():
        return "".join(r.choice("abcdé漢😀 \n\"\\\0") for _ in range(r.choice([0, 1, 5, 70])))

    return {
        "b": r.random() < .5, "i": r.choice([0, -1, 2**31 - 1, -2**31]), "l": r.choice([0, 2**63 - 1, -2**63, r.randrange(-2**63, 2**63)]),
        "d": r.choice([0.1, -1e300, 5e-324, r.random()]), "y": r.randbytes(r.choice([0, 3, 100])), "s": text(), "fx": r.randbytes(4),
        "e": r.choice("ABC"), "arr": [r.choice([None, r.randrange(-2**40, 2**40)]) for _ in range(r.choice([0, 1, 5]))],
        "m": {text() + str(k): r.choice([text(), r.randbytes(9)]) for k in range(r.choice([0, 1, 9]))},
        "u": r.choice([None, 5, "txt", {"q": 1.25}]), "dec": decimal.Decimal(r.randrange(-10**20 + 1, 10**20)).scaleb(-4),
        "date": datetime.date(r.randrange(1, 9999), 2, 3),
        "ts": r.choice([None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, datetime.timezone.utc)]),
        "rec": r.choice([None, {"n": None}, {"n": 7}]),
    }


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    decimal.getcontext().prec = 60
    source = random.Random(7)
    schema = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
    rows = [record(source) for _ in range(500)]
    serde = 'type = "json"; encoding = "avro"; schema = "' + json.dumps(SCHEMA).replace('"', '\\"') + '";'
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = pathlib.Path(folder)
        with open(work / "in.json", "w", encoding="utf-8") as file:
            fastavro.json_writer(file, schema, rows)
        (work / "job.conf").write_text(JOB.format(serde=serde))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with open(work / "in.json", encoding="utf-8") as file:
            wanted = list(fastavro.json_reader(file, schema))
        with open(work / "out.json", encoding="utf-8") as file:
            got = list(fastavro.json_reader(file, schema))
    assert len(got) == len(rows)
    for before, after in zip(wanted, got):
        assert before == after, f"{before}\nbecame\n{after}"
    print(f"{len(rows)} records are the same")


main()
