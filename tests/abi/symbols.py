#!/usr/bin/env python3
"""Each plugin exports one symbol and needs none of the host: symbols.py CORE_LIBRARY PLUGIN.so...

A symbol that the core defines and the plugin leaves open would only be found by accident (the host is not linked -rdynamic).
"""
import pathlib
import subprocess
import sys

ENTRY = "flow_plugin_v0"
SANITIZERS = ("__asan_", "__ubsan_", "__tsan_", "__lsan_", "__odr_asan", "__sanitizer_", "__gcov_", "__interceptor_")


def names(*arguments):
    output = subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in output.splitlines():
        parts = line.split()
        if len(parts) >= 2 and len(parts[-2]) == 1:
            found.add(parts[-1].split("@")[0])
    return found


def main():
    core = names("--defined-only", "--extern-only", sys.argv[1])
    findings = []
    for plugin in sys.argv[2:]:
        exported = {n for n in names("-D", "--defined-only", plugin) if not n.startswith(SANITIZERS)}
        if exported != {ENTRY}:
            findings.append(f"{plugin}: exports {', '.join(sorted(exported)) or 'nothing'} instead of {ENTRY} alone")
        for name in sorted(names("-D", "--undefined-only", plugin) & core):
            findings.append(f"{plugin}: needs {name} of the host")
    print("\n".join(findings) if findings else f"{len(sys.argv) - 2} plugins export {ENTRY} alone and need nothing of the host")
    return 1 if findings or len(sys.argv) < 3 else 0


sys.exit(main())
