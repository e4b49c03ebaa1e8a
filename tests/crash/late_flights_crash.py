"""kill -9 of the quickstart's application, slowed down, until it has finished: the output has exactly the lines of a run that nobody
disturbed. Ten kills with fixed seeds, two hundred with FLOWD_SOAK=1.

usage: late_flights_crash.py FLOWD PLUGINS SOURCES"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

FLOWD, PLUGINS, SOURCES = (os.path.abspath(word) for word in sys.argv[1:4])
sys.path.insert(0, os.path.join(SOURCES, "tests", "e2e"))
KILLS = 200 if os.environ.get("FLOWD_SOAK") else 10


def configuration(folder, slowed):
    """The quickstart's file with paths of its own; slowed down by a Lua function that turns in circles for every record."""
    with open(os.path.join(SOURCES, "conf", "late-flights.conf")) as file:
        text = file.read()
    text = text.replace('"data/', f'"{SOURCES}/conf/data/').replace("../out/late-flights.jsonl", f"{folder}/late.jsonl")
    if slowed:
        spin = "function process(r) local x = 0 for i = 1, 4000 do x = x + i end return r end"
        step = '{ lua = "' + spin + '"; },\n    { key_by = "carrier"; },\n    # Rows stand'
        text, count = re.subn(r"\{ key_by = \"carrier\"; \},\n    # Rows stand", lambda _: step, text)
        assert count == 1, "the quickstart's file has changed"
    path = os.path.join(folder, "late.conf")
    with open(path, "w") as file:
        file.write(text)
    return path


def command(folder, path):
    return [FLOWD, "run", path, "--plugin-dir", PLUGINS, "--state-dir", f"{folder}/state", "--log-level", "error",
            "--set", "job.checkpoint_interval=30ms", "--set", "job.parallelism=2", "--set", "streams.flights.chunk=16KiB"]


def undisturbed():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command(folder, configuration(folder, False)), check=True, stderr=subprocess.DEVNULL)
        with open(f"{folder}/late.jsonl") as file:
            return sorted(file)


def killed_run(kills, seed):
    """Kills one job up to `kills` times, at random moments, then lets it finish. Returns the lines and how often it was killed."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = configuration(folder, True)
        killed = 0
        while True:
            with open(f"{folder}/errors", "w") as errors:
                process = subprocess.Popen(command(folder, path), stderr=errors)
            if killed < kills:
                time.sleep(chance.uniform(0.02, 0.9))
                process.send_signal(signal.SIGKILL)
            code = process.wait()
            if code == 0:
                break
            if code == -signal.SIGKILL:
                killed += 1
                continue
            with open(f"{folder}/errors") as errors:
                sys.exit(f"seed {seed}: after {killed} kills the run failed with {code}:\n{errors.read()}")
        with open(f"{folder}/late.jsonl") as file:
            lines = sorted(file)
        left = [name for name in os.listdir(folder) if name.endswith(".part")]
        assert not left, f"temporaries are left: {left}"
        return lines, killed


def main():
    expected = undisturbed()
    assert len(expected) == 2337, f"an undisturbed run gave {len(expected)} lines"
    done, seed = 0, 1
    while done < KILLS:
        lines, killed = killed_run(min(5, KILLS - done), seed)
        if lines != expected:
            missing, more = set(expected) - set(lines), set(lines) - set(expected)
            sys.exit(f"seed {seed}, {killed} kills: {len(lines)} lines instead of {len(expected)}\n"
                     f"missing: {sorted(missing)[:3]}\nmore: {sorted(more)[:3]}")
        done += max(killed, 1)
        seed += 1
    print(f"{done} kills, {seed - 1} jobs: every output has the lines of an undisturbed run")


main()
