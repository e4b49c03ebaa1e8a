"""Runs processes, interleaved; CPU time and wall; medians with intervals from order statistics."""
import math
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field

CONFIDENCE = 0.95


@dataclass
class Usage:
    """What one process has used, in seconds; its own and its children's threads."""
    user: float
    system: float
    wall: float
    output: str = ""
    memory: float = 0  # resident at most, in MiB

    @property
    def cpu(self):
        return self.user + self.system


def quotient(one, other):
    """Of two times; the kernel counts the shortest ones as none."""
    return one / max(other, 1e-6)


def run(command, fresh=(), **options):
    """Runs a command to its end; its standard output is kept, unless it goes elsewhere. The files `fresh` are deleted before: one that
    is overwritten gives its memory back to the writer, one that is replaced does not."""
    for file in fresh:
        file.unlink(missing_ok=True)
    start = time.monotonic()
    options.setdefault("stdout", subprocess.PIPE)
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, **options)
    output = process.stdout.read().decode() if process.stdout else ""
    errors = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(str(word) for word in command)}: exit code {process.returncode}\n{errors[-2000:]}{output[-2000:]}")
    return Usage(used.ru_utime, used.ru_stime, wall, output, used.ru_maxrss / 1024)


def interval(values):
    """Lower and upper end of the interval that holds the median with 95%, by order statistics: no assumption of a distribution."""
    ordered = sorted(values)
    count = len(ordered)
    for rank in range(count // 2, 0, -1):
        outside = 2 * sum(math.comb(count, i) for i in range(rank)) / 2 ** count
        if 1 - outside >= CONFIDENCE:
            return ordered[rank - 1], ordered[count - rank]
    return ordered[0], ordered[-1]


@dataclass
class Figure:
    """A median with its interval, and the bar that it stands under (or over)."""
    name: str
    values: list
    unit: str = ""
    bar: float = None
    least: bool = False  # the bar is a minimum
    details: dict = field(default_factory=dict)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def verdict(self):
        if self.bar is None:
            return "shown"
        low, high = interval(self.values)
        missed, met = (high < self.bar, low >= self.bar) if self.least else (low > self.bar, high <= self.bar)
        return "missed" if missed else "met" if met else "met, but for the interval's end" if self.within else "not shown"

    @property
    def within(self):
        return self.median >= self.bar if self.least else self.median <= self.bar

    def as_dict(self):
        low, high = interval(self.values)
        return {"name": self.name, "median": self.median, "low": low, "high": high, "unit": self.unit, "bar": self.bar,
                "bar_is": "at least" if self.least else "at most", "verdict": self.verdict, "runs": len(self.values),
                **self.details}

    def text(self):
        low, high = interval(self.values)
        bar = "" if self.bar is None else f"; bar: at {'least' if self.least else 'most'} {self.bar:g}{self.unit}"
        lines = [f"{self.name}: {self.median:.3g}{self.unit} ({low:.3g} to {high:.3g}){bar}: {self.verdict}"]
        lines += [f"    {key}: {value}" for key, value in self.details.items()]
        return "\n".join(lines)


def interleave(pairs, **runners):
    """Calls each runner once a pair, in turns that change; a list of Usage for each. One round before warms up."""
    names = list(runners)
    for name in names:
        runners[name]()
    samples = {name: [] for name in names}
    for pair in range(pairs):
        for name in names if pair % 2 == 0 else reversed(names):
            samples[name].append(runners[name]())
    return samples


def describe(samples):
    """Median CPU, wall of some runs, for people."""
    cpu = statistics.median(one.cpu for one in samples)
    user = statistics.median(one.user for one in samples)
    wall = statistics.median(one.wall for one in samples)
    return f"{cpu:.3f} s CPU ({user:.3f} user), {wall:.3f} s wall"


def ratio(name, samples, ours, bare, bar, records=0):
    """The CPU time of one over that of the other, pair by pair."""
    pairs = list(zip(samples[ours], samples[bare]))
    details = {one: describe(samples[one]) for one in samples}
    details["user time alone"] = f"{statistics.median(quotient(a.user, b.user) for a, b in pairs):.2f}"
    if records:
        details["a record"] = ", ".join(
            f"{one} {statistics.median(u.cpu for u in samples[one]) * 1e9 / records:.0f} ns" for one in samples)
    return Figure(name, [quotient(a.cpu, b.cpu) for a, b in pairs], bar=bar, details=details)


def per_record(name, samples, more, less, records, bar):
    """What one has more than the other, in nanoseconds of CPU a record."""
    values = [(a.cpu - b.cpu) * 1e9 / records for a, b in zip(samples[more], samples[less])]
    return Figure(name, values, unit=" ns", bar=bar, details={one: describe(samples[one]) for one in samples})
