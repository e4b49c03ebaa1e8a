"""Drives the executable as a user does: a folder of files, a command line, what it prints and how it ends.

Used by tests/cases and tests/e2e. Nothing here knows flowd's code."""
import decimal
import json
import os
import pathlib
import signal
import subprocess
import time

DEADLINE = 120  # seconds; a command that takes longer hangs


class Ended:
    """A command that has ended."""

    def __init__(self, words, code, out, err):
        self.words, self.code = words, code
        self.out_bytes, self.err_bytes = out, err
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def json(self):
        return parse_json(self.out)

    def __str__(self):
        return f"$ {' '.join(map(str, self.words))}\nexit code {self.code}\n{self.out[-3000:]}{self.err[-3000:]}"


class Flowd:
    """The executable in a folder of its own for each test."""

    def __init__(self, binary, folder, plugin_dirs=()):
        self.binary, self.folder, self.plugin_dirs = str(binary), pathlib.Path(folder), list(plugin_dirs)

    def words(self, arguments):
        dirs = [word for d in self.plugin_dirs for word in ("--plugin-dir", str(d))]
        return [self.binary, *map(str, arguments), *dirs]

    def environment(self, env):
        return {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}

    def __call__(self, *arguments, cwd=None, env=None, stdin=b"", expect=None):
        """Runs to its end. A signal that ends it (a crash) fails at once, another code than `expect` too."""
        words = self.words(arguments)
        done = subprocess.run(words, cwd=cwd or self.folder, env=self.environment(env), input=stdin, timeout=DEADLINE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ended = Ended(words, done.returncode, done.stdout, done.stderr)
        assert ended.code >= 0, f"ended by signal {-ended.code}\n{ended}"
        assert "Sanitizer" not in ended.err, str(ended)
        assert expect is None or ended.code == expect, f"expected exit code {expect}\n{ended}"
        return ended

    def start(self, *arguments, cwd=None, env=None):
        """Starts it and lets it run."""
        words = self.words(arguments)
        return Started(words, subprocess.Popen(words, cwd=cwd or self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name):
        return (self.folder / name).read_bytes()

    def lines(self, name):
        return self.read(name).decode().splitlines()


class Started:
    """A command that runs. Use it in a `with`: it is killed if the test fails."""

    def __init__(self, words, process):
        self.words, self.process = words, process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self):
        out, err = self.process.communicate(timeout=DEADLINE)
        return Ended(self.words, self.process.returncode, out, err)

    def running(self):
        return self.process.poll() is None


def until(condition, what="it", seconds=30):
    """Waits for something that must come; fails by name when it does not (`what`: the name, or what makes it at the end)."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what() if callable(what) else what}"
        time.sleep(0.005)


def parse_json(text):
    """Strict: no duplicate keys, no NaN; numbers by their exact value."""
    def pairs(items):
        names = [name for name, _ in items]
        assert len(names) == len(set(names)), f"a key twice in {text[:200]}"
        return dict(items)

    def refuse(word):
        raise AssertionError(f"{word} is no JSON: {text[:200]}")

    return json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal, parse_constant=refuse, object_pairs_hook=pairs)


def parse_json_lines(data):
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    assert text == "" or text.endswith("\n"), "the last line has no end"
    return [parse_json(line) for line in text.split("\n") if line]


def equal_json(a, b):
    """Equal as JSON: numbers by their exact decimal value, true is not 1, order of keys free."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal_json(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal_json, a, b))
    return type(a) is type(b) and a == b
