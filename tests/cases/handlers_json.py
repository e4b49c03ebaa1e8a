"""The cases of area json."""
import decimal
import subprocess
import sys
import time

from flowd_driver import equal_json, parse_json_lines
from jobs import BAD, job, run


def rejected(case):
    return parse_json_lines(case.flowd.read(BAD))


def integer_above_int64(case):
    # docs: untyped integers keep all their digits (plugins/json/README.md), so the alternative "kept exactly" is ours.
    run(case, job("input.jsonl", '"json"'))
    case.give("input.jsonl", case.flowd.read("out.jsonl"), run="untyped")
    case.give("expected.fits-int64.jsonl", case.flowd.read("out.jsonl"), run="untyped")
    case.give("dead.json", case.flowd.read(BAD), run="untyped")
    run(case, job("input.jsonl", '{ type = "json"; fields: { id = "int64"; n = "int64"; }; }'))
    case.give("expected.fits-int64.jsonl", case.flowd.read("out.jsonl"), run="declared")
    case.give("dead.json", case.flowd.read(BAD), run="declared")


def long_digits_stay(case):
    typed = '{ type = "json"; fields: { id = "int64"; long = "int64"; }; }'
    run(case, job("input.jsonl", '"json"'))
    case.give("input.jsonl", case.flowd.read("out.jsonl"), run="copy")
    run(case, job("input.jsonl", typed, ['where = "long = 9007199254740993";']))
    case.give("expected.filter.jsonl", case.flowd.read("out.jsonl"), run="filter")
    run(case, job("input.jsonl", typed, ['name = "all"; global = true; aggregate: { sum = "sum(long)"; };']))
    case.give("expected.sum.json", case.flowd.read("out.jsonl"), run="sum")
    run(case, job("input.jsonl", typed, ['name = "each"; key_by = "long"; aggregate: { count = "count(*)"; };']))
    case.give("expected.key.jsonl", case.flowd.read("out.jsonl"), run="key")


def duplicate_keys(case):
    run(case, job("input.jsonl", '"json"'))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"), run="default")
    case.give("dead.json", case.flowd.read(BAD), run="default")
    run(case, job("input.jsonl", '{ type = "json"; duplicates = "last"; }'))
    case.give("expected.last-wins.jsonl", case.flowd.read("out.jsonl"), run="last-wins")
    assert rejected(case) == []


def hex_of(data, field):
    return "".join(record[field].encode().hex() + "\n" for record in parse_json_lines(data)).encode()


def control_characters(case):
    run(case, job("input.txt", '"lines"'))
    out = case.flowd.read("out.jsonl")
    case.give("expected.jsonl", out)
    assert hex_of(out, "text") == case.source("expected.hex"), hex_of(out, "text")
    case.judged("expected.hex")
    assert all(byte >= 0x20 or byte == 0x0A for byte in out), out
    assert b"\\u001d" in out, out
    case.saw("no byte below 0x20 in the output other than 0x0a")


def escapes_at_the_end(case):
    serde = '{ type = "json"; fields: { log = "string"; }; }'
    run(case, job("good.jsonl", serde))
    first = case.flowd.read("out.jsonl")
    case.flowd.write("again.jsonl", first)
    run(case, job("again.jsonl", serde))
    for out in (first, case.flowd.read("out.jsonl")):
        assert hex_of(out, "log") == case.source("expected.hex"), hex_of(out, "log")
    case.judged("expected.hex", run="good")
    texts = case.source_json("cut.json")
    # Files that end with the text; plugins/json/tests cut the buffer there, under an address sanitizer.
    bad, good = documents(case, texts, serde)
    assert bad.keys() == set(range(len(texts))) and good == 0, (bad, good)
    assert [bad[i]["raw"] for i in range(len(texts))] == texts, bad
    case.saw(f"record error for each of the {len(texts)}", run="cut")


def documents(case, texts, serde):
    """Each text as a file of its own: dead letters by its index (the first one of each), and how many records came out."""
    for i, text in enumerate(texts):
        case.flowd.write(f"documents/{i:03}.jsonl", text)
    run(case, job("documents/*.jsonl", serde))
    bad = {}
    for letter in rejected(case):
        bad.setdefault(int(letter["place"][-9:-6]), letter)
    return bad, len(parse_json_lines(case.flowd.read("out.jsonl")))


def number_forms(case):
    texts = case.source_json("numbers.json")
    case.flowd.write("numbers.jsonl", "".join(f'{{"v": {t["text"]}}}\n' for t in texts))
    untyped = '{ type = "json"; fields: { v = "any"; }; }'
    run(case, job("numbers.jsonl", untyped, ['set: { w = "v"; };', 'project = ["w"];']))
    judge_numbers(case, texts, parse_json_lines(case.flowd.read("out.jsonl")))
    case.texts.append(case.flowd.read("out.jsonl"))
    case.judged("numbers.json")


def judge_numbers(case, texts, records):
    bad = [letter["raw"] for letter in rejected(case)]
    values = iter(records)
    for entry in texts:
        if f'{{"v": {entry["text"]}}}' in bad:
            assert "record error" in entry["allowed"], f"{entry['text']} was refused"
            continue
        value = next(values)["w"]
        assert "same decimal value" in entry["allowed"] and value == decimal.Decimal(entry["text"]), f"{entry['text']} became {value}"
    assert next(values, None) is None


def strict_grammar(case):
    judge_texts(case, case.source_json("texts.json"))
    case.judged("texts.json", run="texts")
    run(case, job("lines.jsonl", '"json"'))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"), run="lines")
    case.give("dead.json", case.flowd.read(BAD), run="lines")
    failed = run(case, job("lines.jsonl", '"json"', policy="fail"), expect=1)
    assert "lines.jsonl:2:" in failed.err, str(failed)
    case.saw("error", failed, run="fail")


def judge_texts(case, texts):
    """Blank texts are no lines, so nothing comes of them; as records of their own plugins/json/tests refuse them."""
    bad, good = documents(case, [t["text"] for t in texts], '"json"')
    valid = {i for i, t in enumerate(texts) if t["json"] == "valid"}
    blank = {i for i, t in enumerate(texts) if not t["text"].strip()}
    comments = {i for i, t in enumerate(texts) if "\n" in t["text"]}  # behind their bad first line stands a good one
    assert bad.keys() == set(range(len(texts))) - valid - blank, [texts[i] for i in bad.keys() ^ (set(range(len(texts))) - valid - blank)]
    assert good == len(valid) + len(comments), good
    for i, letter in bad.items():
        assert letter["line"] == 1 and "byte" in letter["reason"] and letter["raw"] == texts[i]["text"].split("\n")[0], letter


def deep_nesting(case):
    run(case, job("input.64.jsonl", '"json"'))
    case.give("input.64.jsonl", case.flowd.read("out.jsonl"))
    for depth in ("64", "100000", "1000000"):
        for how in ([], ["open"]):
            nest(case, depth, how)
    case.saw("record error for each deep line; neighbours delivered")


def nest(case, depth, how):
    made = subprocess.run([sys.executable, case.work / "gen.py", depth, *how], stdout=subprocess.PIPE, check=True).stdout
    case.flowd.write("deep.jsonl", made)
    start = time.monotonic()
    run(case, job("deep.jsonl", '"json"'))
    seconds = time.monotonic() - start
    out, bad = parse_ids(case.flowd.read("out.jsonl")), rejected(case)
    if depth == "64" and not how:
        assert out == [0, 1, 2] and not bad, (depth, how, out, bad)
        return
    assert out == [0, 2] and [letter["line"] for letter in bad] == [2], (depth, how, out, bad)
    if depth != "64":
        assert "depth_limit" in bad[0]["reason"] and "256" in bad[0]["reason"], bad[0]["reason"]
    assert seconds < 10, f"{depth} {how}: {seconds} s"


def parse_ids(data):
    """Of lines that Python's own parser is too shallow for."""
    return [int(line.split(b'"id":')[1].split(b",")[0].strip(b"}")) for line in data.splitlines()]


HANDLERS = {
    "json/01-integer-above-int64": integer_above_int64,
    "json/02-long-digits-stay": long_digits_stay,
    "json/03-duplicate-keys": duplicate_keys,
    "json/04-control-characters": control_characters,
    "json/05-escapes-at-the-end": escapes_at_the_end,
    "json/06-number-forms": number_forms,
    "json/07-strict-grammar": strict_grammar,
    "json/08-deep-nesting": deep_nesting,
}
