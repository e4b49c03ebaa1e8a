#!/usr/bin/env python3
"""Rules of the house that can be read from the sources.

    lint.py includes --source FOLDER               rooms depend downward, plugins and core do not know each other
    lint.py threads --source FOLDER                each function pointer of the ABI says which thread may call it
    lint.py headers --source FOLDER --cc CC --cxx CXX   each header stands alone, in C and in C++
    lint.py style --source FOLDER                  lines, tabs, sizes of files
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOMS = ["base", "options", "config", "plugin", "expr", "graph", "state", "runtime", "transfer", "http", "host"]
LINE_MAX = 160  # 120 is the aim; a line may run over a little
TEST_LINE_MAX = 220  # inputs and expected outputs may stand on one line
FILE_MAX = 1000


def sources(folder, *endings):
    return sorted(p for p in folder.rglob("*") if p.suffix in endings and p.is_file())


def local_includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if found:
            yield number, found.group(1)


def room_of_include(name):
    first = name.split("/")[0]
    return first if "/" in name else None


def check_core(path, room, include):
    target = room_of_include(include)
    if target in (None, "flow", "flow_sdk"):
        return None
    if target not in ROOMS:
        return "core may include flow/, flow_sdk/ and rooms of the core only"
    if ROOMS.index(target) > ROOMS.index(room):
        return f"room {room} stands below room {target}"
    return None


def check_plugin(path, plugin_folder, include):
    target = room_of_include(include)
    if target in ("flow", "flow_sdk") or (path.parent / include).is_file() or (plugin_folder / include).is_file():
        return None
    if target is None or target in ROOMS or target == "support":
        return "a plugin may include flow/, flow_sdk/ and its own headers only"
    return None


def check_descriptor(include):
    """What an application includes must not pull in a plugin's insides."""
    if include != "flow_sdk/descriptor.h" and room_of_include(include) != "flow":
        return "a plugin's descriptors include flow_sdk/descriptor.h and flow/ only"
    return None


def includes(source):
    for path in sources(source / "include", ".h"):
        for number, include in local_includes(path):
            if room_of_include(include) != "flow":
                yield path, number, include, "the ABI includes nothing but itself and libc"
    for path in sources(source / "sdk" / "include", ".h") + sources(source / "sdk" / "src", ".c", ".cc", ".h"):
        for number, include in local_includes(path):
            if room_of_include(include) not in ("flow", "flow_sdk", None):
                yield path, number, include, "the SDK includes the ABI and itself only"
    for room in ROOMS:
        for path in sources(source / "core" / room, ".c", ".cc", ".h"):
            for number, include in local_includes(path):
                reason = check_core(path, room, include)
                if reason:
                    yield path, number, include, reason
    for plugin in sorted(p for p in (source / "plugins").iterdir() if p.is_dir()):
        for path in sources(plugin, ".c", ".cc", ".h"):
            if "tests" in path.relative_to(plugin).parts:
                continue
            for number, include in local_includes(path):
                reason = check_plugin(path, plugin, include)
                if path.name == f"{plugin.name}_descriptor.h":
                    reason = check_descriptor(include)
                if reason:
                    yield path, number, include, reason


def check_includes(source):
    return [f"{p.relative_to(source)}:{n}: includes \"{i}\": {r}" for p, n, i, r in includes(source)]


TAG = re.compile(r"\[(main|control|task|any)\]")


MEMBER = re.compile(r"\t(?! )[\w\s*]+\(\s*\*\s*(\w+)\s*\)\s*\(")


def check_threads_of(path, label):
    """The tag stands behind the member, or in the comment above it or above the members directly before it."""
    findings = []
    in_struct, tagged, in_comment = False, False, False
    lines = path.read_text().splitlines()
    any_by_default = re.search(r"All calls are \[any\] unless marked", "\n".join(lines)) is not None
    for number, line in enumerate(lines, 1):
        if re.match(r"(typedef\s+)?struct\s+\w*\s*\{", line):
            in_struct, tagged = True, any_by_default
        starts = line.strip().startswith("/*")
        if not line.strip() or starts:
            tagged = any_by_default
        if starts or in_comment:
            tagged = tagged or TAG.search(line) is not None
            in_comment = "*/" not in line
        member = MEMBER.match(line)
        if in_struct and member:
            tagged = tagged or trailing_tag(lines, number - 1)
            if not tagged:
                findings.append(f"{label}:{number}: {member.group(1)} does not say which thread may call it")
        if line.startswith("}"):
            in_struct = False
    return findings


def trailing_tag(lines, index):
    """A tag in the comment behind the declaration, which may end some lines below."""
    while index < len(lines):
        if TAG.search(lines[index]):
            return True
        if ";" in lines[index]:
            return False
        index += 1
    return False


def check_threads(source):
    findings = []
    for path in sources(source / "include" / "flow", ".h"):
        findings += check_threads_of(path, path.relative_to(source))
    return findings


FOREIGN = {"avro_c.h": "avro.h"}


def check_headers(source, cc, cxx):
    findings = []
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", source / "include", "-I", source / "sdk/include"]
    public = sources(source / "include", ".h") + sources(source / "sdk/include", ".h")
    inner = sources(source / "core", ".h")
    jobs = [(p, [cc, "-std=c11", "-x", "c"]) for p in public] + [(p, [cxx, "-std=c++17", "-x", "c++"]) for p in public]
    jobs += [(p, [cc, "-std=gnu11", "-x", "c", "-I", source / "core"]) for p in inner]
    for path, command in jobs:
        text = f'#include "{path}"\n#include "{path}"\n'
        if path.name in FOREIGN:  # a header over a library that need not be there
            text = f"#if __has_include(<{FOREIGN[path.name]}>)\n{text}#endif\n"
        result = subprocess.run([*command, *flags, "-"], input=text, capture_output=True, text=True)
        if result.returncode != 0:
            findings.append(f"{path.relative_to(source)}: does not stand alone ({command[0]}):\n{result.stderr}")
    return findings


def check_style(source):
    findings = []
    folders = ["include", "sdk", "core", "plugins", "tests"]
    for path in [p for f in folders for p in sources(source / f, ".c", ".cc", ".h")]:
        label = path.relative_to(source)
        lines = path.read_text().splitlines()
        if len(lines) > FILE_MAX:
            findings.append(f"{label}: {len(lines)} lines; one subject a file, at most {FILE_MAX}")
        for number, line in enumerate(lines, 1):
            limit = TEST_LINE_MAX if "tests" in label.parts else LINE_MAX
            if len(line.expandtabs(4)) > limit:
                findings.append(f"{label}:{number}: longer than {limit} columns")
            if line != line.rstrip():
                findings.append(f"{label}:{number}: blanks at the end")
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                findings.append(f"{label}:{number}: unfinished business belongs into an issue")
    return findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rule", choices=["includes", "threads", "headers", "style"])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    findings = {"includes": lambda: check_includes(source), "threads": lambda: check_threads(source),
                "headers": lambda: check_headers(source, arguments.cc, arguments.cxx),
                "style": lambda: check_style(source)}[arguments.rule]()
    print("\n".join(findings) if findings else f"{arguments.rule}: nothing found")
    return 1 if findings else 0


sys.exit(main())
