"""The cases of area avro, as files in and files out. What needs a record alone, or a buffer of exact length, is in plugins/avro/tests."""
import base64
import decimal
import hashlib
import json
import subprocess
import sys
import time

import avro_container
from flowd_driver import equal_json, parse_json, parse_json_lines
from jobs import BAD, job, run

AVRO = '"avro"'


def lines(case):
    return parse_json_lines(case.flowd.read("out.jsonl"))


def reading(schema_file, more=""):
    return f'{{ type = "avro"; schema_file = "{schema_file}"; {more} }}'


def give_schema(case, schema, name="given.avsc"):
    case.flowd.write(name, json.dumps(schema))
    return reading(name)


def decimal_bytes(case):
    schema = case.source("schema.avsc")
    for vector in case.source_json("vectors.json"):
        datum = bytes.fromhex(vector["datum_hex"])
        case.flowd.write("in.avro", avro_container.write(schema, [(1, datum)]))
        run(case, job("in.avro", AVRO))
        text = case.flowd.read("out.jsonl").decode()
        assert f'"amount":{vector["amount"]}' in text, (text, vector)
        case.flowd.write("again.jsonl", text)
        typed = '{ type = "json"; fields: { amount = "decimal(20,2)"; }; }'
        run(case, job("again.jsonl", typed, out_serde=reading("schema.avsc"), out="out.avro"))
        back, count = avro_container.datums(case.flowd.read("out.avro"))
        # `then` says "fewest bytes", the vector has ff80 for -128, of which 80 alone is the same number: the rule counts.
        if vector["unscaled_hex"] == "ff80":
            datum = b"\x02\x80"
        assert (count, back) == (1, datum), (vector, back.hex())
    case.judged("vectors.json")


def logical_type_in_union(case):
    run(case, job("input.avro", AVRO))
    case.give("expected.iso.jsonl", numbers_as_text(case.flowd.read("out.jsonl")), run="json")
    run(case, job("input.avro", AVRO, out_serde=AVRO, out="out.avro"))
    out, source = avro_container.read(case.flowd.read("out.avro")), avro_container.read(case.source("input.avro"))
    assert json.loads(out[0]["avro.schema"]) == json.loads(source[0]["avro.schema"])
    assert avro_container.datums(case.flowd.read("out.avro")) == avro_container.datums(case.source("input.avro"))
    case.judged("input.avro", run="avro")


def numbers_as_text(data):
    """Decimals, which are numbers in flowd's JSON, as the text of their digits."""
    def plain(value):
        return str(value) if isinstance(value, decimal.Decimal) and value != int(value) else value
    rows = parse_json_lines(data)
    return "".join(json.dumps({k: plain(v) for k, v in row.items()}, default=int) + "\n" for row in rows).encode()


def decimal_default(case):
    serde = reading("reader.avsc")
    run(case, job("written.avro", serde))
    text = case.flowd.read("out.jsonl").decode()
    for digits in ("0.0000", "10.0000", "-0.0001"):
        text = text.replace(f":{digits}", f':"{digits}"')
    case.give("expected.jsonl", text.encode())
    run(case, job("written.avro", serde, out_serde=serde, out="out.avro"))
    first, _ = avro_container.datums(case.flowd.read("out.avro"))
    assert first[:2 + 2 + 4 + 2 + 1] == bytes.fromhex("02" "00" "0200" "06" "0186a0" "02ff" "00"), first.hex()


def resolution_with_defaults(case):
    serde = reading("reader.avsc")
    run(case, job("written.avro", serde))
    rows = lines(case)
    for row in rows:
        for name in ("code", "b", "x"):
            row[name] = base64.b64decode(row[name]).decode("latin-1")
    expected = parse_json_lines(case.source("expected.jsonl"))
    assert len(rows) == len(expected) and all(map(equal_json, rows, expected)), rows
    case.judged("expected.jsonl")
    run(case, job("written.avro", serde, out_serde=serde, out="out.avro"))
    data, count = avro_container.datums(case.flowd.read("out.avro"))
    wanted = case.source("expected.hex").split()
    assert count == len(wanted) and data.hex().encode() == b"".join(wanted), data.hex()
    case.judged("expected.hex")


def aliases_and_enum_default(case):
    run(case, job("written.avro", reading("reader.avsc")))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"), run="default")
    run(case, job("written.avro", reading("reader-without-default.avsc")))
    case.give("expected.without-default.jsonl", case.flowd.read("out.jsonl"), run="without default")
    letters = parse_json_lines(case.flowd.read(BAD))
    assert [letter["field"] for letter in letters] == ["rank", "rank"], letters
    for letter, symbol in zip(letters, ("TOP", "MID")):
        assert symbol in letter["reason"], letter
    case.saw("two dead letters", run="without default")


def truncated_container(case):
    expected = case.source("expected.jsonl").splitlines(keepends=True)
    case.flowd.write("line.avsc", avro_container.read(case.source("whole.avro"))[0]["avro.schema"])
    for cut in case.source_json("cuts.json"):
        file = cut["file"]
        bad = cut["outcome"] == "error"
        failed = run(case, job(file, reading("line.avsc"), policy="fail"), expect=1 if bad else 0)
        if bad:
            assert file in failed.err and f"offset {cut['error_at_byte']}" in failed.err, str(failed)
        run(case, job(file, reading("line.avsc")))
        wanted = parse_json_lines(b"".join(expected[:int(cut["records"])]))
        assert lines(case) == wanted, (file, lines(case))
        assert len(parse_json_lines(case.flowd.read(BAD))) == (1 if bad else 0)
    case.judged("cuts.json")
    case.judged("expected.jsonl")


def wrong_sync_marker(case):
    expected = {row["n"]: row for row in parse_json_lines(case.source("expected.jsonl"))}
    for outcome in case.source_json("outcomes.json"):
        for serde, wanted in ((AVRO, outcome["default_n"]), ('{ type = "avro"; skip_bad_blocks = true; }', outcome["skip_n"])):
            run(case, job(outcome["file"], serde))
            rows, letters = lines(case), parse_json_lines(case.flowd.read(BAD))
            numbers = [row["n"] for row in rows]
            assert [n for n in numbers if n in wanted] == wanted, (outcome, numbers)
            assert set(numbers) <= {*wanted, *outcome.get("optional_n", [])}, (outcome, numbers)
            assert all(row == expected[row["n"]] for row in rows)
            assert len(letters) == 1 and f"block at offset {outcome['bad_block_offset']}" in letters[0]["reason"], letters
        assert "bytes were passed over" in letters[0]["reason"], letters
    case.judged("outcomes.json")
    case.judged("expected.jsonl")


def huge_lengths(case):
    files = ["count-2-40.avro", "size-2-40.avro", "size-negative.avro", "count-negative.avro", "empty-records-2-40.avro"]
    for datum in case.source_json("datums.json"):
        name = f"datum-{len(files)}.avro"
        case.flowd.write(name, avro_container.write(json.dumps(datum["schema"], default=int).encode(), [(1, bytes.fromhex(datum["hex"]))]))
        files.append(name)
    for name in files:
        start = time.monotonic()
        failed = run(case, job(name, AVRO, policy="fail"), expect=1)
        assert name in failed.err and ("at offset" in failed.err or "record at" in failed.err), str(failed)
        assert time.monotonic() - start < 10, name  # of the whole process; the decoder's own time is in plugins/avro/tests
    case.saw("error for each datum and each file, under 1 s and 256 MiB")


def recursive_schema(case):
    for name in ("list", "tree"):
        run(case, job(f"{name}.avro", AVRO))
        case.give(f"expected.{name}.jsonl", case.flowd.read("out.jsonl"))
        run(case, job(f"{name}.avro", AVRO, out_serde=AVRO, out="out.avro"))
        assert avro_container.datums(case.flowd.read("out.avro")) == avro_container.datums(case.source(f"{name}.avro"))
    for depth in (100, 10000, 1000000):
        made = subprocess.run([sys.executable, case.work / "gen.py", str(depth)], stdout=subprocess.PIPE, check=True).stdout
        case.flowd.write("deep.avro", made)
        run(case, job("deep.avro", AVRO, out_serde=AVRO, out="out.avro"))
        letters = parse_json_lines(case.flowd.read(BAD))
        data, count = avro_container.datums(case.flowd.read("out.avro"))
        if depth == 100:
            assert (count, letters) == (3, []), letters
            continue
        assert (count, data) == (2, b"\x02\x00\x02\x00") and len(letters) == 1, letters
        assert "depth_limit (256)" in letters[0]["reason"], letters
    case.saw("the deep files as said above")


def malformed_datums(case):
    for entry in case.source_json("bad.json"):
        case.flowd.write("bad.avro", avro_container.write(json.dumps(entry["schema"], default=int).encode(), [(1, bytes.fromhex(entry["hex"]))]))
        failed = run(case, job("bad.avro", AVRO, policy="fail"), expect=1)
        assert "bad.avro" in failed.err and "byte" in failed.err, (entry, str(failed))
    case.judged("bad.json")
    for entry in case.source_json("good.json"):
        case.flowd.write("good.avro", avro_container.write(json.dumps(entry["schema"], default=int).encode(), [(1, bytes.fromhex(entry["hex"]))]))
        run(case, job("good.avro", AVRO))
        assert equal_json(parse_json(case.flowd.read("out.jsonl").decode()), entry["value"]), entry
    case.judged("good.json")


def text_records(data):
    rows, at = [], 0
    data, count = avro_container.datums(data)
    for _ in range(count):
        number, at = avro_container.get_long(data, at)
        text, at = avro_container.get_bytes(data, at)
        rows.append((number, text))
    assert at == len(data)
    return rows


def record_larger_than_a_block(case):
    made = subprocess.run([sys.executable, case.work / "gen.py"], stdout=subprocess.PIPE, check=True).stdout
    case.flowd.write("in.jsonl", made)
    typed = '{ type = "json"; fields: { id = "int64"; text = "string"; }; }'
    runs = {"null": 'codec = "null";', "deflate": 'codec = "deflate";', "limit": 'max_record = "64KiB";'}
    expected = case.source_json("expected.json")
    for name, options in runs.items():
        run(case, job("in.jsonl", typed, out_serde=f'{{ type = "avro"; block_size = "16KiB"; {options} }}', out="out.avro"))
        rows = text_records(case.flowd.read("out.avro"))
        digest = hashlib.sha256(b"".join(text for _, text in rows)).hexdigest()
        assert (len(rows), digest) == (expected[name]["records"], expected[name]["sha256_of_texts"]), name
    letters = parse_json_lines(case.flowd.read(BAD))
    assert len(letters) == 2 and all("limit" in json.dumps(letter, default=str) for letter in letters), letters
    case.judged("expected.json")


def schemas_to_refuse(case):
    case.flowd.write("in.avro", avro_container.write(b'"int"', []))
    for entry in json.loads(case.source("schemas.json")):
        case.flowd.write("job.conf", job("in.avro", give_schema(case, entry["schema"]), out_serde='"json"'))
        refused = entry["verdict"] == "refuse"
        checked = case.flowd("check", "job.conf", expect=3 if refused else 0)
        if refused:
            assert "given.avsc" in checked.err and "Avro schema" in checked.err, str(checked)
    case.judged("schemas.json")


def canonical_form(case):
    # Form and fingerprint show in single objects, which plugins/avro/tests read with the fingerprints of the case.
    for entry in json.loads(case.source("schemas.json")):
        text = json.dumps(entry["schema"]).encode()
        case.flowd.write("in.avro", avro_container.write(text, []))
        run(case, job("in.avro", AVRO, out_serde=AVRO, out="out.avro"))
        assert json.loads(avro_container.read(case.flowd.read("out.avro"))[0]["avro.schema"]) == json.loads(text), entry
    case.judged("schemas.json")


HANDLERS = {
    "avro/01-decimal-bytes": decimal_bytes,
    "avro/02-logical-type-in-union": logical_type_in_union,
    "avro/03-decimal-default": decimal_default,
    "avro/05-resolution-with-defaults": resolution_with_defaults,
    "avro/06-aliases-and-enum-default": aliases_and_enum_default,
    "avro/07-truncated-container": truncated_container,
    "avro/08-wrong-sync-marker": wrong_sync_marker,
    "avro/09-huge-lengths": huge_lengths,
    "avro/10-recursive-schema": recursive_schema,
    "avro/11-malformed-datums": malformed_datums,
    "avro/12-record-larger-than-a-block": record_larger_than_a_block,
    "avro/13-schemas-to-refuse": schemas_to_refuse,
    "avro/14-canonical-form": canonical_form,
}
