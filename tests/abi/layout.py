#!/usr/bin/env python3
"""Prints offset and size of every member of every struct in include/flow, and compares them with the recorded list.

    layout.py --source FOLDER --compiler CC [--update]

Until the ABI is frozen a difference means: raise FLOW_ABI_MINOR (include/flow/abi.h) and record the new layout with --update.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def matching_brace(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("unbalanced braces")


def split_outside(text, separator):
    """Splits where no bracket is open."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(c, 0)
        if c == separator and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += c
    return parts + [current]


def members(body):
    for declaration in split_outside(body, ";"):
        declaration = declaration.strip()
        if not declaration:
            continue
        function = re.search(r"\(\s*\*\s*(?:const\s+)?(\w+)\s*\)\s*\(", declaration)
        if function:
            yield function.group(1)
            continue
        for part in split_outside(re.sub(r"\{.*\}", "", declaration, flags=re.S), ","):
            yield re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part.strip()).group(1)


def structs(text):
    """(C type, members) of each struct that is defined."""
    for start in re.finditer(r"(typedef\s+)?struct\s+(\w+)?\s*\{", text):
        end = matching_brace(text, start.end() - 1)
        body = text[start.end():end]
        if "static inline" in text[max(0, start.start() - 40):start.start()]:
            continue
        alias = re.match(r"\s*(\w+)\s*;", text[end + 1:]) if start.group(1) else None
        name = alias.group(1) if alias else "struct " + start.group(2)
        yield name, list(members(body))


def program(source):
    lines = ['#include <stdio.h>', '#include "flow/flow.h"', "int main(void) {"]
    for header in sorted((source / "include/flow").glob("*.h")):
        for name, names in structs(without_comments(header.read_text())):
            lines.append(f'printf("{name} size %zu\\n", sizeof({name}));')
            for member in names:
                lines.append(f'printf("{name}.{member} offset %zu size %zu\\n", offsetof({name}, {member}), '
                             f"sizeof((({name} *)0)->{member}));")
    return "\n".join(lines + ["return 0; }"])


def layout(source, compiler):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "layout.c").write_text(program(source))
        subprocess.run([compiler, "-I", source / "include", path / "layout.c", "-o", path / "layout"], check=True)
        return subprocess.run([path / "layout"], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    recorded_file = arguments.source / "tests/abi/layout.txt"
    found = layout(arguments.source, arguments.compiler)
    if arguments.update:
        recorded_file.write_text(found)
        return 0
    recorded = recorded_file.read_text()
    if found == recorded:
        print(f"{len(found.splitlines())} offsets and sizes are as recorded")
        return 0
    sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), found.splitlines(True), "recorded", "found", n=0))
    print("The ABI's layout changed: raise FLOW_ABI_MINOR and run: python3 tests/abi/layout.py --source . --update")
    return 1


sys.exit(main())
