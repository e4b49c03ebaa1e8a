#!/usr/bin/env python3
"""What Python's json writes, in lines, arrays and indented, flowd reads; and what flowd writes in each form, Python reads.

    json_python.py FLOWD PLUGINS
"""
import decimal
import json
import pathlib
import random
import subprocess
import sys
import tempfile

JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "in.json"; bounded = true; serde: {{ type = "json"; framing = "{read}"; }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.json"; serde: {{ type = "json"; framing = "{write}"; {pretty} }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""
NUMBERS = [0, -1, 2**31, -2**63, 2**63, 2**64, 10**40, -10**300, 0.1, -0.0, 1e300, 5e-324, 1.7976931348623157e308, 1e16, 123456.789]


def value(r, depth=0):
    def text():
        return "".join(r.choice('abé漢😀"\\/\b\f\n\r\t\0\x1f\x7f\u2028 ') for _ in range(r.choice([0, 1, 5, 70])))

    kind = r.randrange(5 if depth > 3 else 7)
    if kind < 2:
        return r.choice([*NUMBERS, r.randrange(-10**20, 10**20), r.random(), r.uniform(-1e10, 1e10)])
    if kind < 5:
        return r.choice([text(), text(), None, True, False])
    if kind == 5:
        return [value(r, depth + 1) for _ in range(r.choice([0, 1, 4]))]
    return {text() + str(i): value(r, depth + 1) for i in range(r.choice([0, 1, 4, 40]))}


def write(values, form, ascii_only):
    if form == "array":
        return json.dumps(values, ensure_ascii=ascii_only, indent=3 if ascii_only else None)
    return "\n".join(json.dumps(v, ensure_ascii=ascii_only, indent=1 if form == "documents" else None) for v in values) + "\n"


def loads(text):
    return json.loads(text, parse_float=decimal.Decimal)


def read(text, form):
    if form == "array":
        return loads(text)
    if form == "lines":
        return [loads(line) for line in text.split("\n")[:-1]]
    decoder, at, values = json.JSONDecoder(parse_float=decimal.Decimal), 0, []
    while at < len(text):
        found, at = decoder.raw_decode(text, at)
        values.append(found)
        while at < len(text) and text[at].isspace():
            at += 1
    return values


def pass_through(flowd, plugins, text, read_form, write_form, pretty):
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = pathlib.Path(folder)
        (work / "in.json").write_bytes(text.encode())
        (work / "job.conf").write_text(JOB.format(read=read_form, write=write_form, pretty="pretty = true;" if pretty else ""))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return (work / "out.json").read_bytes().decode()


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    source = random.Random(7)
    values = [value(source) for _ in range(500)]
    wanted = loads(json.dumps(values))
    for read_form, write_form, pretty in [("lines", "array", False), ("array", "lines", False), ("documents", "array", True),
                                          ("array", "documents", True), ("lines", "documents", False)]:
        for ascii_only in (False, True):
            text = write(values, read_form, ascii_only)
            got = read(pass_through(flowd, plugins, text, read_form, write_form, pretty), write_form)
            assert len(got) == len(wanted), f"{read_form} to {write_form}: {len(got)} values of {len(wanted)}"
            for before, after in zip(wanted, got):
                assert before == after, f"{read_form} to {write_form}: {before!r}\nbecame\n{after!r}"
        print(f"{read_form} to {write_form}{', pretty' if pretty else ''}: {len(values)} values are the same")


main()
