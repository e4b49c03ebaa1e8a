"""The cases of area csv."""
import resource
import subprocess
import sys

from flowd_driver import parse_json_lines
from jobs import BAD, job, run


def null_is_not_empty(case):
    runs = {"token": "\\\\N", "empty": ""}
    for name, token in runs.items():
        serde = f'{{ type = "csv"; null_token = "{token}"; fields: {{ id = "int32"; a = "string?"; b = "string?"; }}; }}'
        run(case, job("input.csv", serde))
        case.give(f"expected.{name}.jsonl", case.flowd.read("out.jsonl"), run=name)
        run(case, job("input.csv", serde, out_serde=serde, out="again.csv"))
        run(case, job("again.csv", serde, out="again.jsonl"))
        again, before = case.flowd.read("again.jsonl"), case.flowd.read("out.jsonl")
        assert again == before, f"null token '{token}': read again it is\n{again.decode()}and was\n{before.decode()}"
    case.saw("the same records as before", run="both, round trip")


def quotes_and_delimiters(case):
    serde = '{ type = "csv"; delimiter = ";"; fields: { id = "int64"; name = "string"; note = "string"; }; }'
    run(case, job("input.csv", serde))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"))
    run(case, job("input.csv", serde, out_serde=serde, out="out.csv"))
    case.give("expected.csv", case.flowd.read("out.csv"))


def lossless_numbers(case):
    run(case, job("input.csv", '{ type = "csv"; fields: { id = "int32"; i = "int64"; u = "uint64"; d = "decimal"; s = "string"; }; }'))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"))
    case.give("dead.json", case.flowd.read(BAD))


def ragged_rows(case):
    serde = '{ type = "csv"; fields: { id = "int64"; name = "string"; city = "string"; }; }'
    run(case, job("input.csv", serde))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"), run="default")
    case.give("dead.json", case.flowd.read(BAD), run="default")
    failed = run(case, job("input.csv", serde, policy="fail"), expect=1)
    assert "input.csv:3:" in failed.err, f"line 3 is not named\n{failed}"
    case.saw("error", failed, run="fail")


def unterminated_quote(case):
    serde = '{ type = "csv"; fields: { id = "int64"; name = "string"; }; }'
    run(case, job("input.csv", serde))
    case.give("expected.jsonl", case.flowd.read("out.jsonl"))
    check_open_quote(case)
    failed = run(case, job("input.csv", serde, policy="fail"), expect=1)
    assert "input.csv:4:" in failed.err and "not closed" in failed.err, str(failed)
    case.saw("one dead letter, or exit code 1 with the policy fail", failed)
    large(case, serde)


def check_open_quote(case):
    letters = parse_json_lines(case.flowd.read(BAD))
    assert len(letters) == 1 and letters[0]["line"] == 4 and "not closed" in letters[0]["reason"], letters


def large(case, serde):
    """60 MB behind an open quote: the error comes when the limit of a record is passed, within the memory budget (256 MiB)."""
    with open(case.work / "large.csv", "wb") as file:
        subprocess.run([sys.executable, case.work / "gen.py", "5000000"], stdout=file, check=True)
    done = run(case, job("large.csv", serde))
    assert parse_json_lines(case.flowd.read("out.jsonl")) == parse_json_lines(case.source("expected.jsonl"))
    check_open_quote(case)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # KiB, of the largest child so far
    assert peak < 512 * 1024, f"{peak} KiB of memory\n{done}"


HANDLERS = {
    "csv/01-null-is-not-empty": null_is_not_empty,
    "csv/02-quotes-and-delimiters": quotes_and_delimiters,
    "csv/03-lossless-numbers": lossless_numbers,
    "csv/04-ragged-rows": ragged_rows,
    "csv/05-unterminated-quote": unterminated_quote,
}
