"""How what came out is compared with what a case expects (case.yaml: compare)."""
import base64
import csv
import io
import os

from flowd_driver import equal_json, parse_json, parse_json_lines


def same_bytes(expected, actual):
    assert actual == expected, f"other bytes:\n{actual[:500]!r}\nexpected:\n{expected[:500]!r}"


def same_json(expected, actual):
    expected, actual = parse_json(expected.decode()), parse_json(actual.decode())
    assert equal_json(expected, actual), f"got {actual}, expected {expected}"


def same_json_lines(expected, actual):
    expected, actual = loose_lines(expected), parse_json_lines(actual)
    for i, (wanted, got) in enumerate(zip(expected, actual)):
        assert equal_json(wanted, got), f"record {i + 1}: got {got}, expected {wanted}"
    assert len(actual) == len(expected), f"{len(actual)} records, expected {len(expected)}"


def same_json_lines_any_order(expected, actual):
    left = parse_json_lines(actual)
    for wanted in loose_lines(expected):
        found = next((i for i, got in enumerate(left) if equal_json(wanted, got)), None)
        assert found is not None, f"not there: {wanted}; left are {left}"
        del left[found]
    assert not left, f"not expected: {left}"


def loose_lines(data):
    """Of expected files, whose last line may lack its end."""
    return [parse_json(line) for line in data.decode("utf-8").split("\n") if line]


def rows(data, delimiter):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), delimiter=delimiter, strict=True))


def same_csv_rows(expected, actual, delimiter=","):
    assert rows(actual, delimiter) == rows(expected, delimiter), f"got {rows(actual, delimiter)}"


def raw_of(letter):
    raw = (letter["raw"] or "").encode()
    return base64.b64decode(raw, validate=True) if letter["raw_base64"] else raw


def letter_has(letter, facts):
    """Whether a dead letter tells these facts. Where a dead letter keeps them: docs/reference, `dead_letters`."""
    known = {
        "file": lambda v: os.path.basename(letter["place"]) == v,
        "line": lambda v: letter["line"] == v,
        "field": lambda v: letter["field"] == v,
        "pointer": lambda v: letter["field"] == v,
        "byte_offset": lambda v: letter["ordinal"] == v,
        "raw": lambda v: raw_of(letter) == v.encode(),
        "fields_expected": lambda v: str(v) in letter["reason"],
        "fields_found": lambda v: str(v) in letter["reason"],
    }
    return all(known[name](value) for name, value in facts.items())


def same_dead_letters(expected, actual):
    letters = parse_json_lines(actual)
    expected = parse_json(expected.decode())
    for facts in expected:
        assert any(letter_has(letter, facts) for letter in letters), f"no dead letter says {facts}; there are {letters}"
    assert len(letters) == len(expected), f"{len(letters)} dead letters, expected {len(expected)}: {letters}"


# --- errors of a configuration ----------------------------------------------------------------------------------------


def in_order(texts, message):
    at = 0
    for text in texts:
        at = message.find(text, at)
        if at < 0:
            return False
        at += len(text)
    return True


def words_of(expected):
    """A case's words for a type or a list of choices, as flowd says them."""
    return {"duration with a unit": "duration with a unit", "one of the mode names": "one of \"append\"",
            "string or group": "string or group"}.get(expected, expected)


def error_is(found, facts, folder):
    if os.path.basename(found.get("file", "")) != facts["file"] or found.get("line") != facts["line"]:
        return False
    if "path" in facts and found.get("path") != facts["path"]:
        return False
    if found.get("suggestion") != facts.get("suggestion", found.get("suggestion")):
        return False
    message = f"{found.get('path', '')} {found['message']}"
    if "expected" in facts and f"expected {words_of(facts['expected'])}" not in message:
        return False
    if "found" in facts and f"found {facts['found']}" not in message:
        return False
    if "other_line" in facts and not any(f"{facts['file']}:{facts['other_line']}" in m for m in [message]):
        return False
    return all(text in message for text in facts.get("says", [])) and in_order(facts.get("chain", []), message)


KNOWN_FACTS = {"file", "line", "path", "says", "suggestion", "other_line", "expected", "found", "chain"}


def same_config_errors(expected, reported, folder):
    """`reported`: the errors of `flowd check --json`, warnings left out. Exactly these."""
    left = list(reported)
    for facts in expected:
        assert not facts.keys() - KNOWN_FACTS, f"unknown facts: {facts.keys() - KNOWN_FACTS}"
        found = next((e for e in left if error_is(e, facts, folder)), None)
        assert found is not None, f"no error says {facts}; left are {left}"
        left.remove(found)
    assert not left, f"errors that are not expected: {left}"
