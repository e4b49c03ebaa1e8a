#!/usr/bin/env python3
"""The newcomer's way: installs flowd into an empty folder, builds the examples (and the code of the guide) out of the tree against
what was installed, by CMake and by pkg-config, loads them as the host does, and runs the example's configuration files where there
is a `flowd run`."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Folder, plugin, kind; the library that it needs beside the SDK (without it the example is passed over).
EXAMPLES = [("serde", "pipe", "serde", None), ("function", "running_total", "function", None), ("system", "counter", "system", None),
            ("avro_c", "discount", "function", "avro-c")]
LINES_MAX = 150


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def flags_of(sanitize):
    return {"address": ["-fsanitize=address,undefined"], "thread": ["-fsanitize=thread"]}.get(sanitize, [])


def build_by_cmake(source, build, installed, arguments):
    flags = " ".join(["-Wall -Wextra -Werror -Wshadow"] + flags_of(arguments.sanitize))
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}",
        f"-DCMAKE_C_COMPILER={arguments.compiler}", f"-DCMAKE_C_FLAGS={flags}", f"-DFLOWD_SANITIZE={arguments.sanitize}",
        "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", build)
    return sorted((build / "plugins").glob("*.so"))


def has_library(name):
    return name is None or subprocess.run(["pkg-config", "--exists", name]).returncode == 0


def build_by_pkg_config(source, folder, installed, library, arguments):
    """What a Makefile would do; the lines of flowd-sdk.pc."""
    folder.mkdir()
    environment = {"PKG_CONFIG_PATH": str(installed / "lib/pkgconfig"), "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def ask(*what):
        return run("pkg-config", *what, "flowd-sdk", env=environment).split()
    more = [] if library is None else run("pkg-config", "--cflags", "--libs", library).split()
    plugin = folder / (source.stem + ".so")
    link = [o for o in ask("--variable=link_options") if arguments.sanitize == "none" or o != "-Wl,-z,defs"]
    run(arguments.compiler, *flags_of(arguments.sanitize), "-O2", *ask("--cflags"), source, "-o", plugin, *link, *ask("--libs"), *more, "-lm")
    manifest = folder / "manifest.json"
    manifest.write_text(run(*ask("--variable=manifest_tool"), plugin))
    run("objcopy", "--add-section", f".flowd.manifest={manifest}", plugin)
    plugin.chmod(0o755)
    return plugin


def guide_project(guide, folder):
    """Code blocks of the guide that are named by a line `<!-- file: NAME -->` above them."""
    blocks = re.findall(r"<!-- file: (\S+) -->\s*```\w*\n(.*?)```", guide.read_text(), flags=re.S)
    folder.mkdir()
    for name, text in blocks:
        (folder / name).write_text(text)
    return [name for name, _ in blocks]


def check_load(load, plugin, expected):
    output = run(load, plugin)
    if expected not in output:
        sys.exit(f"{plugin}: expected \"{expected}\", found:\n{output}")


def run_configuration(installed, example, plugins, folder):
    """Runs the example's configuration and compares with the expected lines; nothing to do while there is no `flowd run`."""
    flowd = installed / "bin/flowd"
    configuration = next(example.glob("*.conf"), None)
    if configuration is None or not flowd.exists() or "run" not in subprocess.run([flowd, "--help"], capture_output=True, text=True).stdout:
        return False
    work = folder / ("run-" + example.name)
    shutil.copytree(example, work)
    run(flowd, "run", "--plugin-dir", plugins, work / configuration.name, cwd=work)
    found, expected = ((work / name).read_text() for name in ("out/result.jsonl", "expected.jsonl"))
    if sorted(found.splitlines()) != sorted(expected.splitlines()):  # several tasks may write
        sys.exit(f"{configuration}: the result is\n{found}and not\n{expected}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--sanitize", default="none")
    parser.add_argument("--load", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flowd-sdk-") as name:
        folder = pathlib.Path(name)
        installed = folder / "installed"
        run("cmake", "--install", arguments.build, "--prefix", installed)
        for where, plugin, kind, library in EXAMPLES:
            example = arguments.source / "sdk/examples" / where
            if not has_library(library):
                print(f"{plugin}: passed over, there is no {library}")
                continue
            lines = len((example / f"{plugin}.c").read_text().splitlines())
            if lines >= LINES_MAX:
                sys.exit(f"{example}: {lines} lines; an example has fewer than {LINES_MAX}")
            built = build_by_cmake(example, folder / where, installed, arguments)
            check_load(arguments.load, built[0], f"{plugin} 1.0.0: {kind} {plugin}")
            by_hand = build_by_pkg_config(example / f"{plugin}.c", folder / f"{where}-by-hand", installed, library, arguments)
            check_load(arguments.load, by_hand, f"{plugin} 1.0.0: {kind} {plugin}")
            ran = run_configuration(installed, example, folder / where / "plugins", folder)
            print(f"{plugin}: {lines} lines, built and loaded" + (", ran" if ran else ""))
        guide = arguments.source / "docs/guide/plugin.md"
        if guide.exists():
            names = guide_project(guide, folder / "guide")
            built = build_by_cmake(folder / "guide", folder / "guide-build", installed, arguments)
            for plugin in built:
                run(arguments.load, plugin)
            ran = run_configuration(installed, folder / "guide", folder / "guide-build/plugins", folder)
            print(f"the guide: {', '.join(names)} built and loaded" + (", ran" if ran else ""))


main()
