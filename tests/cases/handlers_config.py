"""The cases of area config."""
import json
import os
import re
import signal

from flowd_driver import equal_json, parse_json_lines, until

# --- files that are checked ---------------------------------------------------------------------------------------------


def check_and_run_are_refused(case):
    case.give("errors.json", case.check_errors("flowd.conf"))
    refused = case.flowd("run", "flowd.conf", expect=3)
    assert os.listdir(case.work) and not (case.work / "state").exists(), str(refused)


def integer_overflow(case):
    check_and_run_are_refused(case)
    assert "transfers.ok" not in case.flowd("check", "flowd.conf").err


def duplicate_stream_ids(case):
    case.give("errors.json", [e for name in ("same-group.conf", "input-and-output.conf") for e in case.check_errors(name)])
    case.saw("equal.conf: ok", case.flowd("check", "equal.conf"))
    case.flowd.write("retry.jsonl", '{"tries":1}\n')
    streams = case.flowd("plan", "--json", "equal.conf", expect=0).json()["streams"]
    assert sorted((s["id"], s["direction"]) for s in streams) == [("retry", "input"), ("retry", "output")], streams


def all_errors_at_once(case):
    case.give("errors.json", case.check_errors("flowd.conf"))


def wrong_types(case):
    check_and_run_are_refused(case)


def circular_expander(case):
    for name, graph in case.source_json("graph.json").items():
        file = f"{name}.conf"
        if graph["outcome"] == "ok":
            case.flowd("check", file, expect=0)
            case.flowd.write("3.csv", "a\n1\n")
            streams = case.flowd("plan", "--json", file, expect=0).json()["streams"]
            assert [s["direction"] for s in streams] == ["input", "output"], streams
            continue
        errors = case.check_errors(file)
        assert len(errors) == 1, errors
        chain, message = graph["chain"], errors[0]["message"]
        assert " -> ".join(chain) in message, message
        lines = case.source(file).decode().splitlines()
        for system in set(chain):
            line = next(i for i, text in enumerate(lines, 1) if text.strip().startswith(f"{system}: {{"))
            assert f"{system}: {file}:{line}" in message, f"the place of {system} is not named: {message}"
        case.flowd("plan", file, expect=3)
    case.judged("graph.json")


def include_loop(case):
    case.give("errors.json", [e for name in ("loop.conf", "self.conf", "missing.conf") for e in case.check_errors(name)])
    case.saw("twice.conf: ok", case.flowd("check", "twice.conf"))


# --- units --------------------------------------------------------------------------------------------------------------

# Five options of each kind, of different components; {} is the text. The last one of each is without bounds, so its value can be read.
SIZES = {
    "file": ("inputs.{name}.chunk", 'inputs: {{ {name}: {{ system = "files"; path = "none"; serde = "lines"; chunk = {text}; }}; }};'),
    "csv": ("inputs.{name}.serde.max_record",
            'inputs: {{ {name}: {{ system = "files"; path = "none"; serde: {{ type = "csv"; max_record = {text}; }}; }}; }};'),
    "json": ("inputs.{name}.serde.max_record",
             'inputs: {{ {name}: {{ system = "files"; path = "none"; serde: {{ type = "json"; max_record = {text}; }}; }}; }};'),
    "rocksdb": ("tables.{name}.block_cache", 'tables: {{ {name}: {{ type = "rocksdb"; block_cache = {text}; }}; }};'),
    "stand_in": ("systems.{name}.buffer", 'systems: {{ {name}: {{ type = "stand_in"; buffer = {text}; }}; }};'),
}
DURATIONS = {
    "generate": ("inputs.{name}.step", 'inputs: {{ {name}: {{ system = "made"; fields: {{ a = "sequence"; }}; step = {text}; }}; }};'),
    "transfer": ("transfers.{name}.from.delta.lag", None),
    "window": ("flow[{index}].window.out_of_order", None),
    "idle": ("flow[{index}].window.idle_after", None),
    "stand_in": ("systems.{name}.poll_interval", 'systems: {{ {name}: {{ type = "stand_in"; poll_interval = {text}; }}; }};'),
}
OUT_OF_BOUNDS = re.compile("is not between|less than the minimum|more than the maximum")


def quoted(text):
    return '"' + text + '"'


def units_conf(kind, texts, component):
    """One configuration with each text at one option, and the paths of these options."""
    path, group = (SIZES if kind == "size" else DURATIONS)[component]
    prefix = "" if component == "transfer" else "application."
    paths = {prefix + path.format(name=f"x{i}", index=2 * i + 1): text for i, text in enumerate(texts)}
    parts = {"systems": ['files: { type = "file"; };', 'made: { type = "generate"; };', 'none: { type = "null"; };'],
             "inputs": ['rows: { system = "made"; fields: { k = "sequence"; t = "timestamp"; }; };'], "tables": [], "transfers": [],
             "flow": ['{ from = "rows"; key_by = "k"; }'] if component in ("window", "idle") else ['{ from = "rows"; to = "gone"; }']}
    for i, text in enumerate(texts):
        if component == "transfer":
            parts["transfers"].append(f'x{i}: {{ from: {{ link = "l"; delta: {{ column = "c"; lag = {quoted(text)}; }}; }}; to: {{ link = "l"; }}; }};')
        elif component in ("window", "idle"):
            option = "out_of_order" if component == "window" else "idle_after"
            start = "" if i == 0 else '{ from = "rows"; key_by = "k"; }, '
            parts["flow"].append((start + f'{{ name = "w{i}"; window: {{ tumbling = "1h"; time = "t"; {option} = {quoted(text)}; }}; '
                                  'aggregate: { n = "count(*)"; }; to = "gone"; }').replace("}, {", "},\n{"))
        else:
            section, content = group.format(name=f"x{i}", text=quoted(text)).split(": {", 1)
            parts[section].append(content.strip()[:-2].strip())
    transfers = f'links: {{ l: {{ connector = "jdbc"; }}; }};\ntransfers: {{ {" ".join(parts["transfers"])} }};\n' if parts["transfers"] else ""
    conf = "\n".join([f'{transfers}application: {{ name = "units";', *(f"{s}: {{ {' '.join(parts[s])} }};" for s in ("systems", "inputs", "tables")),
                      'outputs: { gone: { system = "none"; }; };', "flow: (", ",\n".join(parts["flow"]), "); };"])
    return conf, paths


def refusals(case, kind, texts, component):
    """The texts that are refused at this option, with the message."""
    conf, paths = units_conf(kind, texts, component)
    case.flowd.write("units.conf", conf)
    reported = case.flowd("check", "--json", "units.conf").json()
    refused = {}
    for e in reported:
        if e["path"] in paths and e["severity"] == "error" and not OUT_OF_BOUNDS.search(e["message"]):
            refused[paths[e["path"]]] = e["message"]
        else:
            assert e["severity"] == "warning" or e["path"] in paths, f"{component}: {e}"
    return refused


def accepted_values(case, kind, texts):
    conf, _ = units_conf(kind, texts, "stand_in")
    sinks = "".join(f'o{i}: {{ system = "x{i}"; }}; ' for i in range(len(texts)))
    steps = "".join(f',\n{{ from = "rows"; to = "o{i}"; }}' for i in range(len(texts)))
    conf = conf.replace("outputs: { ", "outputs: { " + sinks).replace('to = "gone"; }', 'to = "gone"; }' + steps)
    case.flowd.write("values.conf", conf)
    systems = {s["name"]: s["options"] for s in case.flowd("plan", "--json", "values.conf", expect=0).json()["systems"]}
    option = "buffer" if kind == "size" else "poll_interval"
    return {text: systems[f"x{i}"][option] for i, text in enumerate(texts)}


def judge_unit(entry, refused, value):
    text = entry["text"]
    if refused:
        assert entry.get("refused") or entry.get("or_refused"), f"'{text}' was refused"
        return
    assert not entry.get("refused") or entry.get("or_documented"), f"'{text}' was taken for {value}"
    factor = 1000 if entry["kind"] == "duration" else 1  # durations are microseconds inside
    if "value" in entry:
        assert value == entry["value"] * factor, f"'{text}' is {value}, not {entry['value']}"
    assert value != entry.get("never"), f"'{text}' is {value}"


def one_table_of_units(case):
    entries = case.source_json("values.json")
    for kind, options, word in (("size", SIZES, "KiB"), ("duration", DURATIONS, "ms")):
        of_kind = [e for e in entries if e["kind"] == kind]
        texts = [e["text"] for e in of_kind]
        by_component = {component: refusals(case, kind, texts, component) for component in options}
        refused = by_component["stand_in"]
        for component, at in by_component.items():
            assert at.keys() == refused.keys(), f"{component} and stand_in differ in {at.keys() ^ refused.keys()}"
            assert all(word in message for message in at.values()), f"{component}: a refusal does not name the units: {at}"
            assert all(text in message for text, message in at.items()), f"{component}: a refusal does not name the text: {at}"
        values = accepted_values(case, kind, [t for t in texts if t not in refused])
        for entry in of_kind:
            judge_unit(entry, entry["text"] in refused, values.get(entry["text"]))
    case.judged("values.json")


# --- secrets ------------------------------------------------------------------------------------------------------------

SECRET_JOB = """application: {
  name = "secrets";
  systems: { shop: { type = "stand_in"; password: { env = "SHOP_PASSWORD"; }; record = "password.bytes"; };
             made: { type = "generate"; }; };
  inputs:  { rows: { system = "made"; fields: { a = "sequence"; }; count = 3; bounded = true; }; };
  outputs: { out: { system = "shop"; }; };
  flow: ( { from = "rows"; to = "out"; } );
};
"""


def shown_with(case, password):
    """All that commands print about links.shop.password, or a job that has the password, with it set."""
    env = {"SHOP_PASSWORD": password}
    commands = [("check", "flowd.conf"), ("check", "--json", "flowd.conf"), ("explain", "flowd.conf", "links.shop.password"),
                ("explain", "--json", "flowd.conf", "links.shop.password"), ("check", "--json", "secrets.conf"),
                ("explain", "secrets.conf", "systems.shop.password"), ("plan", "secrets.conf"), ("plan", "--json", "secrets.conf")]
    printed = [case.flowd(*words, env=env, expect=0) for words in commands]
    return [p.out_bytes + p.err_bytes for p in printed]


def environment_values_verbatim(case):
    case.flowd.write("secrets.conf", SECRET_JOB)
    values = case.source_json("values.json")
    printed = {}
    for entry in values:
        printed[entry["name"]] = shown_with(case, entry["value"])
        got = case.flowd.read("password.bytes").hex()
        assert got == entry["value_hex"], f"{entry['name']}: {got} reached the system"
        run = case.flowd("run", "--log-level", "trace", "secrets.conf", env={"SHOP_PASSWORD": entry["value"]}, expect=0)
        escaped = json.dumps(entry["value"], ensure_ascii=False)[1:-1]
        assert len(entry["value"]) < 5 or (entry["value"] not in run.out + run.err and escaped not in run.out + run.err), str(run)
    # What is printed does not depend on the value, so it shows nothing of it.
    for name, texts in printed.items():
        assert texts == printed["reported"], f"with '{name}' the output is another one"
    case.judged("values.json")
    case.give("errors.json", case.check_errors("flowd.conf", env={"SHOP_PASSWORD": None}))


# --- dead letters -------------------------------------------------------------------------------------------------------

# The file is read at once; the other input keeps the job going over restarts, until the last run lets it end.
LETTERS_JOB = """application: {
  name = "letters";  record_errors = "dead_letter";  checkpoint_interval = "20ms";
  dead_letters: { system = "files"; path = "dead.jsonl"; serde = "json"; };
  systems: { files: { type = "file"; }; made: { type = "generate"; }; };
  inputs:  { in: { system = "files"; path = "input.jsonl"; bounded = true; serde: { type = "json"; fields: { id = "int64"; }; }; };
             slow: { system = "made"; fields: { id = "sequence"; }; count = 1000000; rate = 10; bounded = true; }; };
  outputs: { out: { system = "files"; path = "out.jsonl"; serde = "json"; };  rest: { system = "files"; path = "rest.jsonl"; serde = "json"; }; };
  flow: ( { from = "in"; to = "out"; }, { from = "slow"; to = "rest"; } );
};
"""


def letters_there(case):
    """Lines in the dead letters, which are a temporary beside their target while the job is not finished."""
    files = [p for p in case.work.iterdir() if p.name.strip(".").startswith("dead.jsonl")]
    assert len(files) <= 1, files
    return len(files[0].read_bytes().splitlines()) if files else 0


def one_run(case, number):
    """Starts the job, and ends it by a signal once it runs and both bad lines are there."""
    status = case.work / "status.json"
    status.unlink(missing_ok=True)
    with case.flowd.start("run", "--status-file", "status.json", "letters.conf") as job:
        until(lambda: not job.running() or (status.exists() and letters_there(case) == 2), "two dead letters")
        job.signal(number)
        ended = job.wait()
    assert ended.code == (0 if number == signal.SIGTERM else -number), str(ended)


def dead_letters_survive(case):
    steps = {int(s["n"]): s for s in case.source_json("steps.json")}
    later = {int(n) for n in case.deferred_runs}
    case.flowd.write("letters.conf", LETTERS_JOB)
    files = None
    for n, times, number in ((1, 1, signal.SIGTERM), (2, 1, signal.SIGTERM), (4, 1, signal.SIGKILL), (5, 10, signal.SIGTERM)):
        for _ in range(times):
            one_run(case, number)
        assert letters_there(case) == steps[n]["dead_letters"], f"step {n}"
        now = sorted(p.name for p in case.work.iterdir())
        assert files in (None, now), f"step {n}: other files: {now}, before {files}"
        files = now
    case.flowd("run", "letters.conf", "--set", "streams.slow.count=1", expect=0)  # ends at once
    letters = parse_json_lines(case.flowd.read("dead.jsonl"))
    shown = [(os.path.basename(x["place"]), x["line"], x["operator"], bool(x["reason"]), x["raw"]) for x in letters]
    assert shown == [("input.jsonl", 2, "in", True, '{"id":'), ("input.jsonl", 4, "in", True, "nonsense")], shown
    assert {1, 2, 4, 5, 7} | later == steps.keys(), "a step was neither done nor deferred"
    case.judged("steps.json")


# --- layers -------------------------------------------------------------------------------------------------------------

# The options behind the neutral names of the case, and the words for values that flowd has others for.
OPTIONS = {
    "flights.bootstrap": "streams.flights.bootstrap",
    "flights.offset_default": "streams.flights.offset_default",
    "flights.priority": "streams.flights.priority",
    "files.poll_interval": "systems.local.poll_interval",
    "late.compression": "streams.late.compression",
    "flights.partitions": "streams.late-flights-late.partitions",  # of the intermediate stream: the planner counts the largest input
}
WORDS = {"upcoming": "oldest", "oldest": "newest"}
FIRST = """streams: { flights: { priority = 5; }; };
systems: { files: { stream_defaults: { offset_default = "newest"; }; };
           local: { poll_interval = "2s"; stream_defaults: { compression = "zstd"; }; }; };
application: {
  name = "late-flights";
  systems: { files: { type = "file"; };  local: { type = "stand_in"; };  made: { type = "generate"; };  none: { type = "null"; }; };
  inputs:  { flights: { system = "files"; path = "input.jsonl"; serde = "lines"; bounded = true; bootstrap = true; priority = 7; };
           ticks: { system = "made"; partitions = 8; count = 1; bounded = true; fields: { at = "timestamp"; }; }; };
  outputs: { late: { system = "local"; };  seen: { system = "none"; }; };
  flow: ( { from = "flights"; shuffle = true; to = "late"; }, { from = "ticks"; to = "seen"; } );
};
jobs: { late-flights: { streams: { flights: { bootstrap = false; };  late-flights-late: { partitions = 4; }; }; }; };
"""
SECOND = 'systems: { local: { poll_interval = "3s"; }; };\n'
FILES = ("first.conf", "second.conf", "--set", 'streams.late.compression="none"')
LAYERS = {"option default": "option defaults", "planner": "planner", "system default": "system defaults (files, local)", "descriptor": "descriptors",
          "jobs": "jobs.late-flights", "--set": "--set"}


def layer_of(explained):
    if explained["layer"] == "configuration file":
        return {"first.conf": "configuration file 1", "second.conf": "configuration file 2 (later)"}[explained["origin"].split(":")[0]]
    return LAYERS[explained["layer"]]


def written(value):
    """As a value of the case stands in a file of flowd."""
    if isinstance(value, str):
        return '"' + WORDS.get(value, value) + '"'
    return str(value).lower()


def layers_and_provenance(case):
    case.flowd.write("first.conf", FIRST)
    case.flowd.write("second.conf", SECOND)
    case.flowd.write("input.jsonl", "")
    expected = case.source_json("effective.json")
    assert expected.keys() == OPTIONS.keys() | case.deferred_runs, "an option was neither looked at nor deferred"
    for neutral, key in OPTIONS.items():
        explained = case.flowd("explain", "--json", *FILES[:2], key, *FILES[2:], expect=0).json()
        got = [(layer_of(e), e["value"].strip('"')) for e in (explained, *explained["overrode"])]
        wanted = expected[neutral]
        wanted = [(e["from"], written(e["value"]).strip('"')) for e in (wanted, *wanted["overrode"])]
        assert got == wanted, f"{key}: {got}, expected {wanted}"
    plans = [case.flowd("plan", "--json", *FILES, expect=0).json() for _ in range(2)]
    assert equal_json(plans[0], plans[1]), "the same input gave another plan"
    keys = {c["key"] for c in plans[0]["configuration"]}
    set_keys = {"bootstrap", "bounded", "offset_default", "path", "priority", "serde", "system"}
    assert {k for k in keys if k.startswith("streams.flights.")} == {f"streams.flights.{k}" for k in set_keys}, keys
    case.judged("effective.json")


HANDLERS = {
    "config/01-integer-overflow": integer_overflow,
    "config/02-duplicate-stream-ids": duplicate_stream_ids,
    "config/03-all-errors-at-once": all_errors_at_once,
    "config/04-wrong-types": wrong_types,
    "config/05-circular-expander": circular_expander,
    "config/06-include-loop": include_loop,
    "config/07-one-table-of-units": one_table_of_units,
    "config/08-environment-values-verbatim": environment_values_verbatim,
    "config/10-dead-letters-survive": dead_letters_survive,
    "config/11-layers-and-provenance": layers_and_provenance,
}
