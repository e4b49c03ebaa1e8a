"""The applications that are measured."""

NUMBERS = ["year", "month", "day", "sched_dep_time", "sched_arr_time", "flight", "distance", "hour", "minute"]
MISSING_NUMBERS = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]
TEXTS = ["carrier", "tailnum", "origin", "dest"]


def flight_fields():
    types = {**{name: "int64" for name in NUMBERS}, **{name: "int64?" for name in MISSING_NUMBERS},
             **{name: "string?" if name == "tailnum" else "string" for name in TEXTS}, "time_hour": "timestamp"}
    return " ".join(f'{name} = "{type}";' for name, type in types.items())


def csv_to_json(flights, out):
    return f"""application: {{ name = "csv-to-json";  workers = 1;
  systems: {{ files: {{ type = "file"; }}; }};
  inputs: {{ flights: {{ system = "files";  path = "{flights}";  bounded = true;
    serde: {{ type = "csv";  null_token = "NA";  fields: {{ {flight_fields()} }}; }}; }}; }};
  outputs: {{ out: {{ system = "files";  path = "{out}";  serde = "json"; }}; }};
  flow: ( {{ from = "flights";  to = "out"; }} ); }};
"""


def json_filter(documents, out, extra=""):
    return f"""application: {{ name = "json-filter";  workers = 1;
  systems: {{ files: {{ type = "file"; }}; }};
  inputs: {{ documents: {{ system = "files";  path = "{documents}";  bounded = true;
    serde: {{ type = "json";  fields: {{ id = "int64"; time = "string"; user = "string"; status = "int64"; path = "string";
              agent = "string"; bytes = "int64"; }}; }}; }}; }};
  outputs: {{ out: {{ system = "files";  path = "{out}";  serde = "json"; }}; }};
  flow: ( {{ from = "documents";  where = "status > 200"; }}, {{ project = ["id", "time", "user", "status"];  to = "out"; }} );
  {extra} }};
"""


def late_flights(source, flights, carriers, out, workers):
    """conf/late-flights.conf over other data; in the year's file the months do not come in order."""
    text = (source / "conf/late-flights.conf").read_text()
    for old, new in [("data/flights-2013-01.csv.zst", str(flights)), ("data/carriers.csv", str(carriers)),
                     ("../out/late-flights.jsonl", str(out)), ('out_of_order = "1d"', 'out_of_order = "366d"')]:
        if old not in text:
            raise SystemExit(f"conf/late-flights.conf: there is no {old} any more; tests/bench/jobs.py replaces it")
        text = text.replace(old, new)
    return text + (f"job: {{ workers = {workers}; }};\n" if workers else "")


def memory(name, steps, count, input_options="", job_options="workers = 1;"):
    """Prepared records through steps (what stands between the braces of each) into nothing."""
    steps = list(steps) or [""]
    steps[0] = 'from = "rows"; ' + steps[0]
    steps[-1] += ' to = "out";'
    return f"""application: {{ name = "{name}";  {job_options}
  systems: {{ bench: {{ type = "bench"; }}; nothing: {{ type = "null"; }}; }};
  inputs: {{ rows: {{ system = "bench";  count = {count};  {input_options} }}; }};
  outputs: {{ out: {{ system = "nothing"; }}; }};
  flow: ( {", ".join(f"{{ {step} }}" for step in steps)} ); }};
"""


def chains(count):
    """Chains from an input through eight steps, one of which partitions by key, to an output: ten operators each."""
    inputs = "\n".join(f'in{i}: {{ system = "made"; fields: {{ x = "sequence"; y = "key(100)"; }}; partitions = 4; }};' for i in range(count))
    outputs = "\n".join(f'out{i}: {{ system = "nothing"; }};' for i in range(count))
    steps = ['where = "x > {n}";'] * 3 + ['key_by = "y";'] + ['where = "x > {n}";'] * 4
    flow = ",\n".join(f'{{ name = "s{i}-{n}"; {"" if n else f"""from = "in{i}"; """}{step.format(n=n)} {"" if n < 7 else f"""to = "out{i}"; """}}}'
                      for i in range(count) for n, step in enumerate(steps))
    return f"""application: {{ name = "chains";
  systems: {{ made: {{ type = "generate"; }}; nothing: {{ type = "null"; }}; }};
  inputs: {{ {inputs} }};
  outputs: {{ {outputs} }};
  flow: ( {flow} ); }};
"""
