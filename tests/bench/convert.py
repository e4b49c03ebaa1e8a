"""flowd convert, CSV to Avro and back, beside DuckDB and Polars on one thread, which write and read Parquet: the form that is theirs."""
import statistics
import subprocess
import sys

from measure import Figure, describe, interleave, quotient, run

DUCKDB = """
import duckdb, sys
c = duckdb.connect(config={"threads": 1})
c.execute(f"copy (from {sys.argv[1]}) to '{sys.argv[2]}' ({sys.argv[3]})")
"""
POLARS = """
import polars, sys
source, target = sys.argv[1:]
if target.endswith(".parquet"):
    polars.scan_csv(source, null_values=["NA"], try_parse_dates=True).sink_parquet(target, compression="snappy")
else:
    polars.scan_parquet(source).sink_csv(target, null_value="NA", datetime_format="%Y-%m-%dT%H:%M:%SZ")
"""


def peers(place):
    """The interpreter of an environment that has them, made on first use; None: they could not be had."""
    home = place.data / "peers"
    python = home / "bin/python"
    if not (home / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        if subprocess.run([python, "-m", "pip", "install", "-q", "duckdb", "polars"]).returncode != 0:
            place.notes.append("DuckDB and Polars could not be had: flowd stands alone")
            return None
        (home / "complete").touch()
    place.notes.append(run([python, "-c", "import duckdb, polars; print('DuckDB', duckdb.__version__ + ', Polars', polars.__version__)"]).output
                       .strip())
    return python


def runners_of(place, flights):
    """By what, the commands there and back."""
    out = place.out
    flowd = [place.flowd, "convert", "--overwrite", "--log-level", "error", "--set"]
    found = {"flowd": ([*flowd, "in.null_token=NA", "--set", "out.codec=snappy", flights, out / "flowd.avro"],
                       [*flowd, "out.null_token=NA", out / "flowd.avro", out / "flowd.csv"])}
    python = None if place.smoke else peers(place)
    if python is not None:
        found["DuckDB"] = ([python, "-c", DUCKDB, f"read_csv('{flights}', nullstr='NA')", out / "duckdb.parquet", "format parquet"],
                           [python, "-c", DUCKDB, f"'{out / 'duckdb.parquet'}'", out / "duckdb.csv", "format csv, nullstr 'NA'"])
        found["Polars"] = ([python, "-c", POLARS, flights, out / "polars.parquet"],
                           [python, "-c", POLARS, out / "polars.parquet", out / "polars.csv"])
    return found


def runner(words):
    """Files that it makes are deleted before: see measure.run."""
    target = next(word for word in reversed(words) if hasattr(word, "unlink"))
    return lambda: run(words, fresh=(target,), env={"POLARS_MAX_THREADS": "1", "PATH": "/usr/bin:/bin"})


def compared(name, samples, records):
    """flowd's CPU time over that of each peer, and what each of them took."""
    details = {one: f"{describe(of)}, {max(u.memory for u in of):.0f} MiB at most" for one, of in samples.items()}
    details["a record"] = ", ".join(f"{one} {statistics.median(u.cpu for u in of) * 1e9 / records:.0f} ns" for one, of in samples.items())
    for peer in samples:
        if peer != "flowd":
            values = [quotient(a.cpu, b.cpu) for a, b in zip(samples["flowd"], samples[peer])]
            yield Figure(f"{name}, flowd beside {peer}", values, details=details)
    if len(samples) == 1:
        yield Figure(f"{name}, CPU time", [u.cpu for u in samples["flowd"]], unit=" s", details=details)


def convert(place, pairs):
    flights, records = place.flights()
    found = runners_of(place, flights)
    for direction, name in enumerate(("CSV to Avro (peers: Parquet), snappy", "and back to CSV")):
        samples = interleave(pairs, **{one: runner(words[direction]) for one, words in found.items()})
        yield from compared(f"{name}, 19 columns, {flights.stat().st_size / 1e6:.0f} MB", samples, records)
    back, there = place.out / "flowd.csv", subprocess.run(["cmp", flights, place.out / "flowd.csv"], capture_output=True, text=True)
    place.notes.append(f"{back.name} is {'the file that it came from' if there.returncode == 0 else 'another file: ' + there.stdout}")


MEASUREMENTS = {"convert": convert}
