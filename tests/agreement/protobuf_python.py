#!/usr/bin/env python3
"""Messages of Python's protobuf go through flowd, and protobuf reads what comes out: every type, presence, oneofs, maps, nesting.

    protobuf_python.py FLOWD PLUGINS
"""
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    print("protobuf is not here")
    sys.exit(77)

DESCRIPTORS = pathlib.Path(__file__).resolve().parents[2] / "plugins/protobuf/tests/types.desc"
I32 = [0, 1, -1, 2**31 - 1, -2**31]
I64 = [*I32, 2**63 - 1, -2**63, 2**53 + 1]
U32 = [0, 1, 127, 128, 2**32 - 1]
U64 = [*U32, 2**63, 2**64 - 1]
FLOATS = [0.0, 1.5, -2.25, float("inf"), -float("inf"), 16777216.0]
TEXTS = ["", "a", "é漢😀", "x" * 300, "line\nend"]


def message_class(pool, name):
    descriptor = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def fill_inner(r, inner, depth=0):
    inner.name = r.choice(TEXTS)
    if r.random() < .5:
        inner.count = r.choice(I64)
    if depth < 3 and r.random() < .5:
        fill_inner(r, inner.next, depth + 1)
    for _ in range(r.choice([0, 0, 1, 2]) if depth < 2 else 0):
        fill_inner(r, inner.children.add(), depth + 1)


def fill_time(r, at):
    at.seconds = r.choice([0, 1, -1, 9 * 10**9, -9 * 10**9])
    at.nanos = r.choice([0, 1, 999999999])


def fill_all(r, m):
    m.d, m.f = r.choice([*FLOATS, 0.1, 5e-324, 1.7976931348623157e308]), r.choice(FLOATS)
    m.i32, m.s32, m.sf32 = r.choice(I32), r.choice(I32), r.choice(I32)
    m.i64, m.s64, m.sf64 = r.choice(I64), r.choice(I64), r.choice(I64)
    m.u32, m.f32, m.u64, m.f64 = r.choice(U32), r.choice(U32), r.choice(U64), r.choice(U64)
    m.b, m.s, m.y = r.random() < .5, r.choice(TEXTS), r.randbytes(r.choice([0, 3, 300]))
    m.color = r.choice([0, 1, -2**31, 2**31 - 1])
    if r.random() < .5:
        fill_inner(r, m.inner)
    if r.random() < .5:
        fill_time(r, m.at)
    if r.random() < .5:
        m.maybe = r.choice(U64)
    if r.random() < .5:
        m.note = r.choice(TEXTS)
    if r.random() < .5:
        m.shade = r.choice([0, 1])
    m.numbers.extend(r.choice(I32) for _ in range(r.choice([0, 1, 300])))
    m.words.extend(r.choice(TEXTS) for _ in range(r.choice([0, 3])))
    m.colors.extend(r.choice([0, 1]) for _ in range(r.choice([0, 3])))
    m.unpacked.extend(r.choice(FLOATS) for _ in range(r.choice([0, 3])))
    for _ in range(r.choice([0, 2])):
        fill_time(r, m.times.add())
    for k in range(r.choice([0, 1, 20])):
        m.prices[r.choice(TEXTS) + str(k)] = r.choice(FLOATS)
        m.by_number[r.choice(I64)] = r.choice(TEXTS)
        fill_inner(r, m.by_unsigned[r.choice(U64)], 2)
        m.by_truth[r.random() < .5] = r.choice([0, 1])
        m.by_signed[r.choice(I32)] = r.randbytes(3)
    choice = r.choice(["", "whole", "text", "part"])
    if choice == "whole":
        m.whole = r.choice(I32)
    elif choice == "text":
        m.text = r.choice(TEXTS)
    elif choice == "part":
        fill_inner(r, m.part)


def fill_old(r, m, depth=0):
    m.id = r.choice(I64)
    if r.random() < .5:
        m.name = r.choice(TEXTS)
    if r.random() < .5:
        m.count = r.choice(I32)
    if r.random() < .5:
        m.size = r.choice([1, 3])
    m.sizes.extend(r.choice([1, 3]) for _ in range(r.choice([0, 2])))
    if r.random() < .5:
        m.part.data = r.randbytes(4)
    m.packed.extend(r.choice(I32) for _ in range(r.choice([0, 5])))
    if depth < 3 and r.random() < .5:
        fill_old(r, m.next, depth + 1)


def varint(number):
    out = b""
    while number >= 128:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def read_varint(data, at):
    number = shift = 0
    while True:
        number, shift, at = number | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return number, at


JOB = """application: {{ name = "agreement";  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "in.pb"; bounded = true; serde: {{ type = "protobuf"; {options} }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.pb"; serde: {{ type = "protobuf"; {options} }}; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""


def pass_through(flowd, plugins, kind, name, more, messages):
    options = f'descriptor_set = "{DESCRIPTORS}"; message = "{name}"; {more}'
    with tempfile.TemporaryDirectory(prefix="flowd-agreement-") as folder:
        work = pathlib.Path(folder)
        (work / "in.pb").write_bytes(b"".join(varint(m.ByteSize()) + m.SerializeToString() for m in messages))
        (work / "job.conf").write_text(JOB.format(options=options))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True,
                              errors="replace", check=False)
        assert done.returncode == 0, done.stderr
        data, at, got = (work / "out.pb").read_bytes(), 0, []
        while at < len(data):
            size, at = read_varint(data, at)
            got.append(kind.FromString(data[at:at + size]))
            at += size
    assert len(got) == len(messages), f"{name}: {len(got)} of {len(messages)}"
    for before, after in zip(messages, got):
        assert before == after, f"{name}: {before}\nbecame\n{after}"
    print(f"{name} ({more or 'as it is'}): {len(got)} messages are the same")


def main():
    flowd, plugins = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.Add(file)
    source = random.Random(7)
    for name, fill in (("flow.test.All", fill_all), ("flow.test.old.Old", fill_old)):
        kind = message_class(pool, name)
        messages = [kind() for _ in range(300)]
        for m in messages[1:]:
            fill(source, m)
        if name.endswith("Old"):
            messages[0].id = 0
        for more in ("", 'enums = "number"; timestamps = "record";'):
            pass_through(flowd, plugins, kind, name, more, messages)


main()
