"""From memory: hand-off between tasks, chains of functions, keyed state, workers, allocations."""
import json
import re
import statistics
import subprocess

import jobs
from measure import Figure, describe, interleave, per_record, quotient, ratio

WORKERS_ROUNDS = 200
KEYED_COUNT = ['key_by = "key";', 'name = "counts"; aggregate: { n = "count(*)"; };']


def handoff(place, pairs):
    count = 200_000 if place.smoke else 400_000_000
    direct = place.job("direct", jobs.memory("direct", [], count))
    through = place.job("handoff", jobs.memory("handoff", ["shuffle = true;"], count, job_options="workers = 1; parallelism = 1;"))
    across = place.job("across", jobs.memory("across", ["shuffle = true;"], count, job_options="workers = 2; parallelism = 1;"))
    samples = interleave(pairs, **{"without": place.flow(direct, count), "within a worker": place.flow(through, count),
                                   "between workers": place.flow(across, count), "ring alone": place.loop("ring", count)})
    yield per_record("hand-off between tasks of one worker", samples, "within a worker", "without", count, 2)
    yield per_record("hand-off between tasks of two workers", samples, "between workers", "without", count, 2)


def noop_chain(place, pairs):
    count = 200_000 if place.smoke else 200_000_000
    without = place.job("without", jobs.memory("without", [], count))
    chain = place.job("noop", jobs.memory("noop", ["noop = true;"] * 5, count))
    samples = interleave(pairs, **{"without": place.flow(without, count), "five functions": place.flow(chain, count),
                                   "called directly": place.loop("noop", count)})
    figure = per_record("a chain of five no-op functions", samples, "five functions", "without", count, 5)
    bare = statistics.median(one.cpu for one in samples["called directly"]) * 1e9 / count
    figure.details["called directly, a record"] = f"{bare:.2f} ns"
    yield figure


def keyed_count(place, pairs):
    count = 200_000 if place.smoke else 50_000_000
    keys = 100_000
    job = place.job("count", jobs.memory(
        "count", KEYED_COUNT, count, f"keys = {keys};",
        'workers = 1; checkpoint_interval = "1s";'))
    samples = interleave(pairs, flowd=place.flow(job, count), loop=place.loop("count", count, keys))
    figure = ratio("counts of 100,000 keys, a checkpoint every second, beside a hash map", samples, "flowd", "loop", 2, count)
    figure.details["checkpoints"] = f"{samples['flowd'][0].report['epoch']}"
    yield figure


def workers(place, pairs):
    count = 20_000 if place.smoke else 8_000_000
    runners = {}
    for number in (1, 2):
        job = place.job(f"workers-{number}", jobs.memory(
            f"workers-{number}", [f"spin: {{ rounds = {WORKERS_ROUNDS}; }};"], count, "partitions = 8;",
            f'workers = {number}; parallelism = {number}; checkpoint_interval = "1h";'))
        runners[f"{number} workers"] = place.flow(job, count)
    samples = interleave(pairs, **runners)
    pairwise = list(zip(samples["1 workers"], samples["2 workers"]))
    details = {name: describe(samples[name]) for name in samples}
    details["CPU of two beside one"] = f"{statistics.median(quotient(b.cpu, a.cpu) for a, b in pairwise):.3f}"
    yield Figure("speed of two workers beside one (wall)", [quotient(a.wall, b.wall) for a, b in pairwise], bar=1.7, least=True,
                 details=details)


# --- allocations --------------------------------------------------------------------------------------------------------


JEMALLOC_STATISTICS = "stats_print:true,stats_print_opts:Jgdablxe"


def allocations_printed(text):
    """jemalloc's count of allocations of a process, from what it printed at the end; None: there is nothing of it."""
    match = re.search(r'\{"jemalloc".*\}', text.replace("\n", ""), re.DOTALL)
    if match is None:
        return None
    merged = json.loads(match.group(0))["jemalloc"]["stats.arenas"]["merged"]
    return sum(merged[size]["nrequests"] for size in ("small", "large"))


def allocations_of(place, job, limit):
    """jemalloc's count of allocations over the whole process, and futex wakes, with a limit of records."""
    command = [str(word) for word in place.command(job, "--limit", limit, "--log-level", "error")]
    result = subprocess.run(command, capture_output=True, text=True, env={"MALLOC_CONF": JEMALLOC_STATISTICS})
    count = allocations_printed(result.stderr)
    if result.returncode != 0 or count is None:
        return None, None
    return count, json.loads(result.stdout)["wakes"]


def allocations(place, pairs):
    flights, _ = place.flights()
    documents = place.documents()
    count = 10_000 if place.smoke else 1_000_000
    jobs_measured = {
        "CSV to JSON": place.job("a-csv", jobs.csv_to_json(flights, "/dev/null")),
        "JSON filtered": place.job("a-json", jobs.json_filter(documents, "/dev/null")),
        "quickstart's job": place.job("a-late", jobs.late_flights(place.source, flights, place.carriers, "/dev/null", 2)),
        "hand-off": place.job("a-handoff", jobs.memory("a", ["shuffle = true;"], 10 * count, job_options="workers = 2;")),
        "five functions": place.job("a-noop", jobs.memory("a", ["noop = true;"] * 5, 10 * count)),
        "keyed count": place.job("a-count", jobs.memory("a", KEYED_COUNT, 10 * count)),
    }
    for name, job in jobs_measured.items():
        values, woken = [], []
        for _ in range(min(pairs, 3)):
            little, little_wakes = allocations_of(place, job, count)
            much, much_wakes = allocations_of(place, job, 2 * count)
            if little is None or much is None:
                place.notes.append(f"{name}: no figures from jemalloc")
                break
            values.append((much - little) * 1e6 / count)
            woken.append((much_wakes - little_wakes) * 1e6 / count)
        if values:
            yield Figure(f"allocations a million records more: {name}", values, details={"futex wakes": f"{statistics.median(woken):.0f}"})


MEASUREMENTS = {"handoff": handoff, "noop": noop_chain, "count": keyed_count, "workers": workers, "allocations": allocations}
