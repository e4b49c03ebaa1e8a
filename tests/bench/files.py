"""From file to file: CSV to JSON, filtered JSON, the quickstart's job. And the text serdes alone, within one process."""
import os

import jobs
from measure import Figure, interleave, ratio, run


def csv_to_json(place, pairs):
    flights, rows = place.flights()
    ours, bare = place.out / "flowd.jsonl", place.out / "loop.jsonl"
    job = place.job("csv", jobs.csv_to_json(flights, ours))
    outputs = (ours, bare)
    samples = interleave(pairs, flowd=place.flow(job, rows, outputs), loop=place.loop("csv", flights, bare, fresh=outputs))
    yield ratio("CSV to JSON lines, 19 typed columns, one worker, beside a loop", samples, "flowd", "loop", 2, rows)


def json_filter(place, pairs):
    documents = place.documents()
    ours, bare = place.out / "flowd.jsonl", place.out / "loop.jsonl"
    job = place.job("json", jobs.json_filter(documents, ours))
    outputs = (ours, bare)
    samples = interleave(pairs, flowd=place.flow(job, place.document_count, outputs),
                         loop=place.loop("json", documents, bare, fresh=outputs))
    yield ratio("JSON lines filtered, four of seven fields, one worker, beside simdjson and a hand-written writer", samples, "flowd",
                "loop", 2, place.document_count)


def late_flights(place, pairs):
    flights, rows = place.flights()
    runners = {}
    for name, workers in [("flowd", None), ("flowd, one worker", 1)]:
        job = place.job(f"late-{workers or 'default'}",
                        jobs.late_flights(place.source, flights, place.carriers, place.out / f"late-{workers}.jsonl", workers))
        runners[name] = place.flow(job, rows + 16)
    runners["loop"] = place.loop("late", flights, place.carriers, place.out / "late.jsonl")
    samples = interleave(pairs, **runners)
    yield ratio("the quickstart's job over the flights, beside a loop with a hash map", samples, "flowd", "loop", 2, rows)
    yield ratio("the same with one worker", samples, "flowd, one worker", "loop", 2, rows)


def serde_ratios(place, name, line):
    """CPU of a serde over that of its ceiling, a pair each; of the measurement whose line starts so."""
    environment = {**os.environ, "SERDE_BENCH_RATIOS": "1"}
    printed = run([place.build / "tests/serde_bench", "0.01" if place.smoke else "3", name], env=environment).output.splitlines()
    at = next(i for i, text in enumerate(printed) if text.startswith(line + "  "))
    return [float(word) for word in printed[at + 1].removeprefix("ratios: ").split()]


def csv_reader(place, pairs):
    values = serde_ratios(place, "csv", "csv, 19 typed columns")
    yield Figure("reading CSV, 19 typed columns, beside a loop into cells", values, bar=1.3)


def json_to_avro(place, pairs):
    values = serde_ratios(place, "json-avro", "json, 7 fields -> avro container")
    yield Figure("JSON lines to an Avro container, beside simdjson's full parse and the same encoder", values, bar=1.5)


MEASUREMENTS = {"csv-reader": csv_reader, "json-avro": json_to_avro, "csv": csv_to_json, "json": json_filter, "late-flights": late_flights}
