#!/usr/bin/env python3
"""Walks the cases in this folder: area/NN-name/ with a case.yaml, each with a handler by that path.

    walk.py --flowd BINARY --plugins FOLDER [AREA | AREA/NN-name]...
    walk.py --complete      only: each case has a handler, each handler a case, and nothing is missing from here

Where the folder that the environment variable FLOWD_SHARED_CASES names (or ../shared/cases beside the checkout) is there, each of its
cases must be here, except those that deferred.py lists."""
import argparse
import os
import pathlib
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from case import Case  # noqa: E402
from deferred import DEFERRED  # noqa: E402
import handlers_avro  # noqa: E402
import handlers_config  # noqa: E402
import handlers_csv  # noqa: E402
import handlers_json  # noqa: E402
import handlers_kafka  # noqa: E402
import handlers_planner  # noqa: E402
import handlers_streams  # noqa: E402

HANDLERS = {**handlers_avro.HANDLERS, **handlers_config.HANDLERS, **handlers_csv.HANDLERS, **handlers_json.HANDLERS,
            **handlers_kafka.HANDLERS, **handlers_planner.HANDLERS, **handlers_streams.HANDLERS}


def cases_in(folder):
    return sorted(str(p.parent.relative_to(folder)) for p in folder.glob("*/*/case.yaml"))


def shared_folder():
    named = os.environ.get("FLOWD_SHARED_CASES")
    if named:
        return pathlib.Path(named)
    beside = HERE.parents[2] / "shared" / "cases"
    return beside if beside.is_dir() else None


def is_deferred(case):
    return case in DEFERRED or case.split("/")[0] in DEFERRED


def complete():
    here, problems = cases_in(HERE), []
    problems += [f"{c}: no handler" for c in here if c not in HANDLERS]
    problems += [f"{c}: a handler without a case" for c in HANDLERS if c not in here]
    problems += [f"{c}: is deferred and here" for c in here if is_deferred(c)]
    shared = shared_folder()
    if shared is not None:
        there = cases_in(shared)
        if not there:
            problems.append(f"{shared}: no cases there")
        problems += [f"{c}: is in {shared} and not here" for c in there if c not in here and not is_deferred(c)]
        known = {*there, *(c.split("/")[0] for c in there)}
        problems += [f"{c}: deferred, but there is no such case" for c in DEFERRED if c.split(":")[0] not in known]
    return problems


def deferred_runs(case):
    return {name.split(":", 1)[1] for name in DEFERRED if name.startswith(case + ":")}


def walk_one(name, options):
    with tempfile.TemporaryDirectory(prefix="flowd-case-") as work:
        case = Case(name, HERE / name, work, options.flowd.resolve(), options.plugins, deferred_runs(name))
        problems = case.layout_problems()
        if problems:
            return problems
        try:
            HANDLERS[name](case)
        except Exception:  # whatever a handler runs into is a failure of its case
            return [traceback.format_exc()]
        return case.verdicts()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flowd", type=pathlib.Path)
    parser.add_argument("--plugins", type=lambda p: pathlib.Path(p).resolve(), action="append", default=[])
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bad = 0
    if options.complete:
        problems = complete()
        print("\n".join(problems) or "every case has its handler")
        return 1 if problems else 0
    wanted = [n for n in cases_in(HERE) if not options.names or n in options.names or n.split("/")[0] in options.names]
    for name in wanted:
        problems = walk_one(name, options) if name in HANDLERS else ["no handler"]
        waits = [f"{n.split(':', 1)[1]}: waits for {why}" for n, why in DEFERRED.items() if n.startswith(name + ":")]
        print(f"{'FAILED' if problems else 'ok':6} {name}")
        for line in waits:
            print(f"         later: {line}")
        for problem in problems:
            print("         " + problem.replace("\n", "\n         "))
        bad += bool(problems)
    print(f"{len(wanted)} cases, {bad} failed")
    return 1 if bad or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
