"""Measures flowd, each figure beside its ceiling in the same run.

usage: scripts/bench [NAME...] [--json] [--pairs N] [--documents N] [--long] [--peers] [--without NAME...]
"""
import argparse
import json
import pathlib
import platform
import subprocess
import sys

import chains
import convert
import files
import kafka_slow
import kafka_streams
import kafka_topics
import process
from workplace import Workplace

MEASUREMENTS = {**files.MEASUREMENTS, **chains.MEASUREMENTS, **process.MEASUREMENTS, **kafka_topics.MEASUREMENTS, **kafka_streams.MEASUREMENTS,
                **kafka_slow.MEASUREMENTS, **convert.MEASUREMENTS}


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0].strip()
    except OSError:
        return "not there"


def machine(place):
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    cores = sum(line.startswith("processor") for line in open("/proc/cpuinfo"))
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    version = json.loads(subprocess.run([place.flowd, "version", "--json"], capture_output=True, text=True).stdout)
    cache = place.build / "CMakeCache.txt"
    compiler = next((line.split("=", 1)[1].strip() for line in open(cache) if line.startswith("CMAKE_C_COMPILER:")), "cc")
    return {"processor": processor, "cores": cores, "load before": load, "system": platform.platform(),
            "compiler": first_line(compiler, "--version"), "simdjson": first_line("pkg-config", "--modversion", "simdjson"),
            "flowd": version}


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(MEASUREMENTS))
    parser.add_argument("--json", action="store_true", help="print for machines")
    parser.add_argument("--pairs", type=int, default=9, help="interleaved pairs of each measurement (default: 9)")
    parser.add_argument("--documents", type=int, default=5000000, help="JSON documents of about 300 bytes (default: 5 million)")
    parser.add_argument("--long", action="store_true", help="10 GB through the job whose memory is watched")
    parser.add_argument("--peers", action="store_true", help="also peers that are installed: DuckDB, Polars, mawk, Miller")
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="all but these")
    parser.add_argument("--smoke", action="store_true", help="little data and one pair: shows only that it works")
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--source", default=here, help=argparse.SUPPRESS)
    parser.add_argument("--build", default=here / "build", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(MEASUREMENTS)}")
    if given.smoke:
        given.pairs, given.documents = 1, 2000
    return given


def main():
    given = arguments()
    place = Workplace(given.source, given.build, given.smoke, given.documents)
    place.long, place.peers = given.long, given.peers
    about = machine(place)
    if not given.json:
        print("\n".join(f"{key}: {json.dumps(value) if isinstance(value, dict) else value}" for key, value in about.items()))
        print(flush=True)
    figures = []
    try:
        for name in given.names or [name for name in MEASUREMENTS if name not in given.without]:
            for figure in MEASUREMENTS[name](place, given.pairs):
                figures.append(figure)
                if not given.json:
                    print(figure.text(), flush=True)
    finally:
        place.close()
    if given.json:
        print(json.dumps({"machine": about, "figures": [figure.as_dict() for figure in figures], "notes": place.notes}, indent=2))
    elif place.notes:
        print("\n".join(place.notes))
    return 1 if any(figure.verdict == "missed" for figure in figures) and not given.smoke else 0


if __name__ == "__main__":
    sys.exit(main())
