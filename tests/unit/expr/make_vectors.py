#!/usr/bin/env python3
"""Writes vectors.json: random expressions with the results that SQLite gives, over the part of SQL that both languages share.

Run it by hand when the generator changes; the test only reads the file. Left out, because SQLite differs on purpose: overflow
(becomes a float there), division by zero (null there), comparisons across types, max() of several values with nulls.
"""
import json
import pathlib
import random
import sqlite3

COUNT = 700
ROWS = [
    {"i": 1, "j": 10, "r": 0.5, "s": "abc", "u": "b", "b": True},
    {"i": -7, "j": 3, "r": -2.25, "s": "", "u": "abc", "b": False},
    {"i": 0, "j": None, "r": 3.0, "s": "Hello World", "u": "o", "b": None},
    {"i": None, "j": -4, "r": None, "s": None, "u": "%", "b": True},
    {"i": 9007199254740993, "j": 9007199254740992, "r": 9007199254740992.0, "s": "a_b%c", "u": "_", "b": False},
    {"i": 5, "j": 5, "r": 5.0, "s": "  pad  ", "u": "pad", "b": True},
    {"i": -1, "j": 2, "r": -0.125, "s": "aXbXc", "u": "X", "b": None},
    {"i": 123456789012, "j": -123456789012, "r": 1.5, "s": "Grüße", "u": "ü", "b": False},
    {"i": None, "j": None, "r": None, "s": None, "u": None, "b": None},
    {"i": 42, "j": 7, "r": 100.75, "s": "it's", "u": "'", "b": True},
]
TYPE = "record(i:int64?,j:int64?,r:float64?,s:string?,u:string?,b:bool?)"

random.seed(20130101)
pick = random.choice


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def integer(depth):
    if depth <= 0:
        return pick(["i", "j", str(random.randint(-20, 20)), "0", "1", "9007199254740993"])
    d = depth - 1
    return pick([
        lambda: f"({integer(d)} + {integer(d)})",
        lambda: f"({integer(d)} - {integer(d)})",
        lambda: f"{integer(0)} * {pick(['2', '-3', '0', '7'])}",
        lambda: f"{integer(d)} / {pick(['2', '-3', '7', '10'])}",
        lambda: f"{integer(d)} % {pick(['2', '-3', '7', '10'])}",
        lambda: f"(-{pick(['i', 'j', '(i + 1)'])})",
        lambda: f"abs({integer(d)})",
        lambda: f"length({string(d)})",
        lambda: f"coalesce({integer(d)}, {integer(d)})",
        lambda: f"nullif({integer(d)}, {integer(d)})",
        lambda: f"case when {boolean(d)} then {integer(d)} else {integer(d)} end",
        lambda: f"case {integer(d)} when {integer(d)} then {integer(d)} when {integer(0)} then {integer(d)} end",
        lambda: integer(0),
    ])()


def real(depth):
    if depth <= 0:
        return pick(["r", "cast(i as float64)", "cast(0.5 as float64)", "cast(-1.25 as float64)"])
    d = depth - 1
    return pick([
        lambda: f"({real(d)} + {real(d)})",
        lambda: f"({real(d)} - {real(d)})",
        lambda: f"({real(d)} * {real(0)})",
        lambda: f"abs({real(d)})",
        lambda: f"coalesce({real(d)}, {real(d)})",
        lambda: f"case when {boolean(d)} then {real(d)} end",
        lambda: real(0),
    ])()


def string(depth):
    if depth <= 0:
        return pick(["s", "u", "s", quoted(pick(["abc", "", "b", "%", "x'y", "Hello"]))])
    d = depth - 1
    return pick([
        lambda: f"{string(d)} || {string(d)}",
        lambda: f"lower({string(d)})",
        lambda: f"upper({string(d)})",
        lambda: f"trim({string(d)})",
        lambda: f"ltrim({string(d)}, {quoted(pick(['a', ' ', 'abc', 'H']))})",
        lambda: f"rtrim({string(d)}, {quoted(pick(['c', ' ', 'abc', 'd']))})",
        lambda: f"substr({string(d)}, {random.randint(1, 4)}, {random.randint(0, 5)})",
        lambda: f"substr({string(d)}, {random.randint(1, 4)})",
        lambda: f"replace({string(d)}, {quoted(pick(['a', 'X', 'll', 'ü']))}, {quoted(pick(['', 'yy', 'b']))})",
        lambda: f"coalesce({string(d)}, {string(d)})",
        lambda: f"nullif({string(d)}, {string(d)})",
        lambda: f"cast({integer(d)} as string)",
        lambda: f"case when {boolean(d)} then {string(d)} else {string(d)} end",
        lambda: string(0),
    ])()


def boolean(depth):
    if depth <= 0:
        return pick(["b", "true", "false", "i > 0", "s = 'abc'", "r < 1", "j is null", "i = j"])
    d = depth - 1
    compare = pick(["=", "<>", "!=", "<", "<=", ">", ">="])
    negated = pick(["", "not "])
    return pick([
        lambda: f"{integer(d)} {compare} {integer(d)}",
        lambda: f"{string(d)} {compare} {string(d)}",
        lambda: f"{real(d)} {compare} {real(d)}",
        lambda: f"{integer(d)} {compare} {real(d)}",
        lambda: f"({boolean(d)} and {boolean(d)})",
        lambda: f"({boolean(d)} or {boolean(d)})",
        lambda: f"({boolean(d)} and {boolean(d)} or {boolean(d)})",
        lambda: f"({boolean(d)} or {boolean(d)} and {boolean(d)})",
        lambda: f"(not {boolean(d)})",
        lambda: f"({integer(d)} is {negated}null)",
        lambda: f"({boolean(d)} is {negated}{pick(['true', 'false'])})",
        lambda: f"{integer(d)} {negated}in ({integer(0)}, {integer(d)}, {random.randint(-5, 5)})",
        lambda: f"{integer(d)} {negated}in (1, 5, {pick(['null', '-7', '42'])})",
        lambda: f"{string(d)} {negated}in ('abc', {string(0)})",
        lambda: f"{integer(d)} {negated}between {integer(0)} and {integer(d)}",
        lambda: f"{string(d)} {negated}between {string(0)} and {string(0)}",
        lambda: f"{string(d)} {negated}like {quoted(pick(['a%', '%b%', '_b_', '%', '', '%c', 'H%o%d', '_', '%ü%']))}",
        lambda: f"{string(d)} {negated}like {quoted(pick(['a!_b!%c', '%!%%', '!%', 'a!!']))} escape '!'",
        lambda: f"{string(d)} {negated}like u",
    ])()


def for_sqlite(text):
    return (text.replace("as float64", "as real").replace("as string", "as text"))


def text_of(value, kind):
    if value is None:
        return "null"
    if kind == "bool":
        return "true" if value else "false"
    if kind == "string":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def is_shared(value, kind):
    if value is None:
        return True
    if kind == "int":
        return isinstance(value, int) and abs(value) < 2 ** 62
    if kind == "real":
        return isinstance(value, float) and (value == 0 or 1e-4 < abs(value) < 1e15) and not (value == 0 and str(value)[0] == "-")
    return True


def main():
    database = sqlite3.connect(":memory:")
    database.execute("pragma case_sensitive_like = on")
    database.execute("create table t (i integer, j integer, r real, s text, u text, b integer)")
    for row in ROWS:
        database.execute("insert into t values (:i, :j, :r, :s, :u, :b)", row)
    vectors, seen = [], set()
    kinds = {"int": integer, "real": real, "string": string, "bool": boolean}
    while len(vectors) < COUNT:
        kind = pick(["int", "real", "string", "bool", "bool", "bool"])
        text = kinds[kind](random.randint(1, 4))
        if text in seen or len(text) > 300:
            continue
        seen.add(text)
        try:
            results = [row[0] for row in database.execute(f"select {for_sqlite(text)} from t")]
        except sqlite3.Error:
            continue
        if not all(is_shared(value, kind) for value in results):
            continue
        vectors.append({"text": text, "results": [text_of(value, kind) for value in results]})
    target = pathlib.Path(__file__).with_name("vectors.json")
    rows = [json.dumps(row, ensure_ascii=False) for row in ROWS]
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    head = json.dumps({"type": TYPE, "rows": rows}, ensure_ascii=False)[:-1]
    target.write_text(f'{head}, "vectors": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
