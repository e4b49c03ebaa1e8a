"""From file to file: CSV to JSON, filtered JSON, the quickstart's job."""
import jobs
from measure import interleave, ratio


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


MEASUREMENTS = {"csv": csv_to_json, "json": json_filter, "late-flights": late_flights}
