#!/usr/bin/env python3
"""Objects of Python's msgpack go through flowd, and msgpack reads what comes out: every type, with and without a declared one.

    msgpack_python.py FLOWD PLUGINS
"""
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import msgpack
except ImportError:
    print("msgpack is not here")
    sys.exit(77)

TYPES = {"b": "bool?", "i": "int32", "l": "int64", "u": "uint64", "f": "float64", "s": "string", "y": "bytes", "t": "timestamp(ns)",
         "a": "list<int64?>", "m": "map<string>", "r": "record(x:string?,y:list<float64>)?"}
LONGS = [0, 1, -1, 127, 128, -32, -33, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**32, 2**63 - 1, -2**63]


def record(r):
    def text():
        return r.choice(["", "é", "abcd\n", "x" * 31, "漢" * 11, "y" * 255, "😀" * 64, "z\"" * 35000])

    return {
        "b": r.choice([None, True, False]), "i": r.randrange(-2**31, 2**31), "l": r.choice([*LONGS, r.randrange(-2**63, 2**63)]),
        "u": r.choice([0, 2**63, 2**64 - 1]), "f": r.choice([0.1, -0.0, 1e300, 5e-324, float("inf"), r.random()]), "s": text(),
        "y": r.randbytes(r.choice([0, 3, 255, 256, 70000])),
        "t": msgpack.Timestamp(r.choice([0, 1, -1, 2**32 - 1, 2**32, -9 * 10**9, 9 * 10**9]), r.choice([0, 1, 999999999])),
        "a": [r.choice([None, *LONGS]) for _ in range(r.choice([0, 1, 15, 16, 300]))],
        "m": {f"{text()[:40]}{k}": text()[:9] for k in range(r.choice([0, 1, 15, 16, 40]))},
        "r": r.choice([None, {"x": None, "y": [1.5]}, {"x": "é", "y": []}]),
    }


JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "in.msgpack"; bounded = true; serde: {{ type = "msgpack"; {options} }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.msgpack"; serde: {{ type = "msgpack"; {form} }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""


def pass_through(flowd, plugins, values, options, form):
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = pathlib.Path(folder)
        (work / "in.msgpack").write_bytes(b"".join(msgpack.packb(v) for v in values))
        (work / "job.conf").write_text(JOB.format(options=options, form=form))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode == 0, done.stderr
        written = (work / "out.msgpack").read_bytes()
        unpacker = msgpack.Unpacker(max_buffer_size=2**31 - 1)
        unpacker.feed(written)
        return list(unpacker)


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    source = random.Random(7)
    records = [record(source) for _ in range(200)]
    fields = "fields: { " + " ".join(f'{name} = "{kind}";' for name, kind in TYPES.items()) + " };"
    arrays = 'records = "array"; '
    ways = {"untyped": (records, "", "", records), "declared": (records, fields, "", records),
            "as arrays": ([list(r.values()) for r in records], arrays + fields, "", records),
            "to arrays": (records, fields, arrays, [list(r.values()) for r in records])}
    for name, (values, options, form, wanted) in ways.items():
        if name == "to arrays":  # nested records are arrays too
            wanted = [[*w[:-1], w[-1] and list(w[-1].values())] for w in wanted]
        if name == "as arrays":
            values = [[*v[:-1], v[-1] and list(v[-1].values())] for v in values]
        got = pass_through(flowd, plugins, values, options, form)
        assert len(got) == len(wanted), f"{name}: {len(got)} of {len(wanted)}"
        for before, after in zip(wanted, got):
            assert before == after, f"{name}: {str(before)[:2000]}\nbecame\n{str(after)[:2000]}"
        print(f"{name}: {len(got)} records are the same")


main()
