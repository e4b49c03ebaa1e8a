"""The process as a whole: idle, latency, start, memory."""
import json
import os
import select
import signal
import statistics
import subprocess
import time

import jobs
import measure
from measure import Figure, interleave


def to_stdout(name, input_options):
    return f"""application: {{ name = "{name}";
  systems: {{ bench: {{ type = "bench"; }}; files: {{ type = "file"; }}; }};
  inputs: {{ rows: {{ system = "bench";  {input_options} }}; }};
  outputs: {{ out: {{ system = "files";  path = "-";  serde = "json"; }}; }};
  flow: ( {{ from = "rows";  to = "out"; }} ); }};
"""


def start(place, job, **options):
    """flowd without --json, so that standard output is the records' alone."""
    command = [word for word in place.command(job, "--log-level", "error") if word != "--json"]
    return subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL, **options)


def stop(process):
    """Ends it and gives what it has used."""
    process.send_signal(signal.SIGTERM)
    if process.stdout:
        while process.stdout.read(65536):
            pass
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used


def cpu_of(pid):
    """Seconds of CPU of a process that runs, exact (the kernel's own count, in nanoseconds, by thread)."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def idle(place, pairs):
    seconds = 0.3 if place.smoke else 5
    job = place.job("idle", jobs.memory("idle", ['key_by = "key";', 'where = "number >= 0";'], 0, "rate = 1;", ""))
    values = []
    for _ in range(pairs):
        process = start(place, job, stdout=subprocess.DEVNULL)
        time.sleep(0.1 if place.smoke else 1)
        before = cpu_of(process.pid)
        time.sleep(seconds)
        values.append(100 * (cpu_of(process.pid) - before) / seconds)
        stop(process)
    yield Figure("CPU of a job that gets one record a second, of a core", values, unit="%", bar=0.5)


def arrivals(pipe, until):
    """Microseconds from making each record to reading its line here."""
    latencies, rest = [], b""
    while time.monotonic() < until:
        if not select.select([pipe], [], [], 0.2)[0]:
            continue
        piece = os.read(pipe.fileno(), 1 << 20)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        if not piece:
            break
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        latencies += [now - json.loads(line)["number"] for line in lines]
    return latencies


def latency(place, pairs):
    seconds = 0.3 if place.smoke else 3
    job = place.job("latency", to_stdout("latency", "rate = 10000;"))
    middle, slow = [], []
    for _ in range(pairs):
        process = start(place, job, stdout=subprocess.PIPE, bufsize=0)
        found = arrivals(process.stdout, time.monotonic() + seconds + 0.3)
        stop(process)
        found = sorted(found[len(found) // 10:])  # without the start
        middle.append(found[len(found) // 2] / 1000)
        slow.append(found[len(found) * 99 // 100] / 1000)
    yield Figure("latency at 10,000 records a second, p99", slow, unit=" ms", details={"p50": f"{statistics.median(middle):.3g} ms"})


# --- start and memory -----------------------------------------------------------------------------------------------------


def private_memory(pid):
    """MiB that are this process's alone."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


def first_record(place, pairs):
    """From the start of the process to the first byte of output, through a pipe."""
    documents = place.documents()
    job = place.job("start", jobs.json_filter(documents, "-"))
    walls, cpus, sizes = [], [], []
    for _ in range(pairs):
        begin = time.monotonic()
        process = start(place, job, stdout=subprocess.PIPE, bufsize=0)
        process.stdout.read(1)
        walls.append(1000 * (time.monotonic() - begin))
        cpus.append(1000 * cpu_of(process.pid))
        sizes.append(private_memory(process.pid))
        stop(process)
    yield Figure("start of a stateless job from file to file until its first record is out", walls, unit=" ms", bar=30,
                 details={"CPU until then": f"{statistics.median(cpus):.1f} ms"})
    yield Figure("its private memory then", sizes, unit=" MiB", bar=25)


def flat_memory(place, pairs):
    """Documents made by another process, through a pipe, filtered into nothing; private memory is watched."""
    total = 36_000_000 if place.long else 20_000 if place.smoke else 3_000_000
    job = place.job("flat", jobs.json_filter("-", "/dev/null"))
    maker = subprocess.Popen([str(place.loops), "make-json", str(total), "-"], stdout=subprocess.PIPE)
    process = start(place, job, stdin=maker.stdout, stdout=subprocess.DEVNULL)
    maker.stdout.close()
    seen = []
    while process.poll() is None:
        try:
            seen.append(private_memory(process.pid))
        except (OSError, ProcessLookupError):
            break
        time.sleep(0.02 if place.smoke else 0.1)
    process.wait()
    maker.wait()
    seen = [size for size in seen[:-1] if size] or seen
    early, late = seen[: max(1, len(seen) // 5)], seen[-max(1, len(seen) // 5):]
    yield Figure(f"private memory over {total * 276 / 1e9:.2g} GB: how much it grew", [max(late) - max(early)], unit=" MiB",
                 details={"at most in the first fifth": f"{max(early):.1f} MiB", "in the last": f"{max(late):.1f} MiB"})


# --- planning ---------------------------------------------------------------------------------------------------------------


def plan(place, pairs):
    """The whole command: start, plugins, planning, printing."""
    runners = {name: lambda job=place.job(f"chains-{chains}", jobs.chains(chains)): measure.run([place.flowd, "plan", job])
               for name, chains in (("200 streams", 100), ("2 streams", 1))}
    samples = interleave(pairs, **runners)
    yield Figure("CPU of flowd plan of 1,000 operators and 200 streams", [1000 * one.cpu for one in samples["200 streams"]], unit=" ms", bar=100,
                 details={name: measure.describe(samples[name]) for name in samples})


MEASUREMENTS = {"plan": plan, "idle": idle, "latency": latency, "start": first_record, "memory": flat_memory}
