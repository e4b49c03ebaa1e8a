"""Cases of area config that are about planning: partition counts of what is joined."""
import pathlib


def steps_of(graph):
    """A repartition is a shuffle here, a join a function of two inputs, a table behind put or update one that a step writes."""
    for name, made in graph.get("intermediates", {}).items():
        yield f'{{ name = "{name}"; from = "{made["from"]}"; shuffle = true; pass = true; to = "spread"; }}'
    for number, (one, other) in enumerate(graph.get("joins", [])):
        yield f'{{ name = "join{number}"; from = "{one}"; connect = "{other}"; meet: {{ }}; to = "o"; }}'
    for number, (one, other) in enumerate(graph.get("joins_broadcast", [])):
        yield f'{{ name = "rules{number}"; from = "{one}"; connect = "{other}"; meet: {{ one_is_broadcast = true; }}; to = "o"; }}'
    for name, table in graph.get("tables", {}).items():
        yield f'{{ from = "{table.get("written_by", table.get("side_input"))}"; write_table = "{name}"; }}'
    for one, table in graph.get("table_joins", []):
        yield f'{{ from = "{one}"; join_table = "{table}"; to = "o"; }}'


def conf_of(graph):
    broadcast = graph.get("broadcast", [])
    inputs = "".join(f'{name}: {{ system = "local"; partitions = {count}; bounded = true;'
                     f'{" broadcast = true;" if name in broadcast else ""} }}; ' for name, count in graph["inputs"].items())
    tables = "".join(f'{name}: {{ type = "{"remote" if table.get("kind") == "remote" else "durable"}"; }}; '
                     for name, table in graph.get("tables", {}).items())
    return f"""application: {{ name = "case";
  systems: {{ local: {{ type = "messaging"; serde: {{ type = "json"; types: {{ x = "int64"; }}; }}; }}; }};
  inputs: {{ {inputs} }};  tables: {{ {tables} }};
  outputs: {{ o: {{ system = "local"; }}; spread: {{ system = "local"; }}; }};
  flow: ( {", ".join(steps_of(graph))} ); }};
"""


def partition_counts(case):
    fixture = pathlib.Path(case.flowd.plugin_dirs[0]).parent / "graph_plugins"
    for number, graph in enumerate(case.source_json("plans.json")):
        conf = f"plan{number}.conf"
        case.flowd.write(conf, conf_of(graph))
        refused = graph["outcome"] == "error"
        ended = case.flowd("plan", "--json", conf, "--plugin-dir", fixture, expect=3 if refused else 0)
        if refused:
            messages = " ".join(e["message"] for e in ended.json() if e["severity"] == "error")
            for name in graph["names"]:
                assert f"'{name}'" in messages or f" {name} partitions" in messages, f"{graph['name']}: {name} is not in {messages}"
            continue
        counts = {s["id"]: s["partitions"] for s in ended.json()["intermediates"]}
        for name, count in graph.get("intermediate_partitions", {}).items():
            assert counts[f"case-{name}"] == count, f"{graph['name']}: {counts}"
    case.judged("plans.json")


HANDLERS = {
    "config/12-partition-counts-of-joins": partition_counts,
}
