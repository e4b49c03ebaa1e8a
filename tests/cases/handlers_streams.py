"""Cases of area streams: what time and keys make of records that come in some order."""
from flowd_driver import parse_json_lines

FILES = "systems: { files: { type = \"file\"; }; };"


def application(inputs, flow, more=""):
    return (f'application: {{ name = "case"; {FILES} {more}\n  inputs: {{ {inputs} }};\n'
            f'  outputs: {{ out: {{ system = "files"; path = "out.jsonl"; serde = "json"; }}; }};\n  flow: ( {flow} ); }};\n')


def source(name, path, fields, more=""):
    return f'{name}: {{ system = "files"; path = "{path}"; bounded = true; {more} serde: {{ type = "json"; fields: {{ {fields} }}; }}; }};'


def joins(case):
    """A table behind a bootstrap input; of two streams later."""
    inputs = (source("rows", "table.jsonl", 'code = "string"; name = "string";', "bootstrap = true;")
              + source("flights", "flights.jsonl", 'id = "int64"; code = "string?";'))
    for kind in ("inner", "left"):
        for tasks in (1, 2, 4):
            case.flowd.write("job.conf", application(
                inputs, '{ name = "by-code"; from = "rows"; key_by = "code"; }, { write_table = "names"; },\n'
                f'{{ from = "flights"; join_table = "names"; on = "code"; type = "{kind}"; to = "out"; }}',
                'tables: { names: { type = "memory"; }; };'))
            case.flowd("run", "--fresh", "job.conf", "--set", f"job.parallelism={tasks}", expect=0)
            case.give(f"expected.{kind}.jsonl", case.flowd.read("out.jsonl"), run=kind)


def two_levels_of_windows(case):
    """In-band watermarks say here what the records' times say too: they come in order."""
    flow = ('{ from = "in"; where = "ts is not null"; }, { name = "by-key"; key_by = "key"; },\n'
            '{ name = "one"; window: { tumbling = "60s"; time = "to_timestamp(ts)"; }; aggregate: { n = "count(*)"; }; },\n'
            '{ name = "two"; global = true; window: { tumbling = "60s"; start = "begin"; end = "until"; };\n'
            '  aggregate: { keys = "count(*)"; records = "sum(n)"; }; },\n'
            '{ select: { start = "to_epoch(begin)"; end = "to_epoch(until)"; keys = "keys"; records = "records"; }; to = "out"; }')
    fields = 'key = "string?"; ts = "int64?"; v = "int64?"; watermark = "int64?";'
    case.flowd.write("job.conf", application(source("in", "events.jsonl", fields), flow))
    for tasks in (1, 2, 4):
        # A late record would end the run: that is the policy of inputs that end.
        ended = case.flowd("run", "--fresh", "--json", "job.conf", "--set", f"job.parallelism={tasks}", expect=0)
        assert sum(int(operator.get("late", 0)) for operator in ended.json()["operators"]) == 0, ended.out
        case.give("expected.jsonl", case.flowd.read("out.jsonl"))
    assert sum(int(row["records"]) for row in parse_json_lines(case.flowd.read("out.jsonl"))) == 240
    case.saw("no late record at either level")


HANDLERS = {
    "streams/03-joins": joins,
    "streams/07-two-levels-of-windows": two_levels_of_windows,
}
