"""The cases of area kafka, on a real broker: the one that the live tests share, or one of the case's own."""
import json
import os
import time

import kafka
from flowd_driver import until

TO_FILE = """application: {{
  name = "case";  checkpoint_interval = "200ms";
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; discovery_interval = "2s"; }};  files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; serde = "string"; bounded = {bounded}; {options} }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "string"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


def broker(case):
    return kafka.Kafka() if "FLOWD_KAFKA" in os.environ else kafka.Kafka.started(case.work / "broker")


def job(case, servers, topic, options="", bounded=True):
    case.flowd.write("job.conf", TO_FILE.format(servers=servers, topic=topic, options=options, bounded=str(bounded).lower()))
    return "job.conf"


def lines(case):
    """What is written, also by a job that still runs and writes its temporary."""
    return [line for path in sorted(case.work.glob("*out.txt*")) for line in path.read_text().splitlines()]


def of_partition(values, prefixes):
    return [v for v in values if v.startswith(prefixes)]


# --- 01 ----------------------------------------------------------------------------------------------------------------------


def transaction_markers(case):
    k, expected = broker(case), case.source_json("expected.json")["partitions"]
    topic = k.create(kafka.unique("tx"), 4)

    def one(value, partition):
        return {"value": value, "partition": partition}

    k.produce(topic, [one("d0", 3)])
    k.produce(topic, [{"begin": True}, one("a0", 0), one("a1", 0), one("a2", 0), one("d1", 3), {"commit": True},
                      {"begin": True}, one("b0", 0), one("b1", 0), {"abort": True},
                      {"begin": True}, one("c0", 1), one("c1", 1), {"abort": True}], transaction=topic)
    ends = [p["end_offset"] for p in case.source_json("log.json")["partitions"]]
    until(lambda: [p["stable"] for p in k.describe(topic)] == ends, "the markers")
    case.flowd("run", job(case, k.servers, topic, f'group = "{topic}";'), expect=0)
    values = lines(case)
    for partition, name in zip(expected, "abcd"):
        assert of_partition(values, ("a", "b") if name == "a" else name) == partition["values"], values
    committed = k.committed(topic, topic)
    for p in expected:
        number, wanted = int(p["partition"]), int(p["committed_offset_after"])
        assert committed.get(number, {"offset": 0})["offset"] == wanted, f"partition {number}: {committed}"
    again = case.flowd("run", "job.conf", expect=0)
    assert lines(case) == [], lines(case)
    case.saw("no record, exit code 0", again, run="2")
    watch_lag(case, job(case, k.servers, topic, f'group = "{topic}";', bounded=False))
    case.judged("expected.json", run="1")
    case.saw("lag 0 for each partition", run="3")


def watch_lag(case, config):
    def lags():
        path = case.work / "status.json"
        inputs = json.loads(path.read_text())["inputs"] if path.exists() else []
        return [p.get("lag") for i in inputs for p in i.get("partitions", {}).values()]

    with case.flowd.start("run", config, "--status-file", "status.json") as running:
        until(lambda: lags() == [0, 0, 0, 0], "a lag of 0")
        end = time.monotonic() + 10
        while time.monotonic() < end:
            assert lags() == [0, 0, 0, 0], lags()
            time.sleep(0.25)
        running.signal()
        assert running.wait().code == 0


# --- 03 ----------------------------------------------------------------------------------------------------------------------


def partitions_added(case):
    k, expected = broker(case), case.source_json("expected.json")
    topic = k.create(kafka.unique("grow"))
    pattern = f'pattern = "{topic}(-2)?"; group = "{topic}";'

    def produce(to, *pairs):
        k.produce(to, [{"value": v, "partition": p} for v, p in pairs])

    def seen(*values):
        until(lambda: sorted(lines(case)) == sorted(values), f"{values}, not {lines(case)}", 20)

    produce(topic, ("g0", 0), ("g1", 0))
    first = ["g0", "g1"]
    with case.flowd.start("run", job(case, k.servers, "unused", pattern, bounded=False)) as running:
        seen(*first)
        k.tool("grow", topic, "--partitions", 4)
        produce(topic, ("p1-0", 1), ("p1-1", 1), ("p2-0", 2), ("g2", 0))
        first += ["p1-0", "p1-1", "p2-0", "g2"]
        seen(*first)
        produce(topic, ("p3-0", 3))
        first.append("p3-0")
        seen(*first)
        running.signal()
        assert running.wait().code == 0
    config = job(case, k.servers, "unused", pattern + ' offset_default = "newest";', bounded=False)
    with case.flowd.start("run", config) as running:
        produce(topic, ("p1-2", 1))
        seen(*first, "p1-2")
        k.create(f"{topic}-2", 2)
        produce(f"{topic}-2", ("n0", 0), ("n1", 1))
        seen(*first, "p1-2", "n0", "n1")
        running.signal()
        assert running.wait().code == 0
    values = lines(case)
    for number, prefixes in {"0": "g", "1": "p1", "2": "p2", "3": "p3"}.items():
        assert of_partition(values, prefixes) == expected["grow"][number], values
    for number, name in {"0": "n0", "1": "n1"}.items():
        assert of_partition(values, name) == expected["grow-2"][number], values
    case.judged("expected.json")


# --- 04 ----------------------------------------------------------------------------------------------------------------------

COPY = """application: {{
  name = "copy-{count}";
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; }}; }};
  inputs:  {{ in:  {{ system = "kafka"; physical_name = "{source}"; bounded = true; serde: {{ key = "bytes"; value = "string"; }}; }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{target}"; serde: {{ key = "bytes"; value = "string"; }}; delivery = "at_least_once"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


def partition_of_a_key(case):
    k, keys = broker(case), case.source_json("keys.json")
    source = k.create(kafka.unique("keys"))
    k.produce(source, [{"key_hex": key["key_hex"], "value": str(i)} for i, key in enumerate(keys)])
    for count in keys[0]["partition"]:
        target = k.create(f"{source}-{count}", int(count))
        case.flowd.write("copy.conf", COPY.format(servers=k.servers, source=source, target=target, count=count))
        case.flowd("run", "copy.conf", expect=0)
        where = {int(r["value"]): r["partition"] for r in k.consume(target)}
        assert where == {i: int(key["partition"][count]) for i, key in enumerate(keys)}, f"{count} partitions: {where}"
    case.judged("keys.json")


# --- 06 ----------------------------------------------------------------------------------------------------------------------


def offset_out_of_range(case):
    k, expected, state = broker(case), case.source_json("expected.json"), case.source_json("state.json")
    topic = k.create(kafka.unique("lost"), 2)
    for s in state:
        k.produce(topic, [{"value": f"{s['partition']}:{i}", "partition": int(s["partition"])} for i in range(int(s["end"]))])
        if s["log_start"]:
            k.tool("cut", topic, s["partition"], s["log_start"])

    def run(policy, code=0):
        for s in state:
            k.tool("commit", topic, topic, s["partition"], s["committed"])
        options = f'group = "{topic}";' + (f' offset_reset = "{policy}";' if policy else "")
        ended = case.flowd("run", job(case, k.servers, topic, options), "--fresh", expect=code)
        return ended, lines(case) if code == 0 else []

    failed, _ = run("", code=1)
    for word in [topic, "partition 0", "offset_reset", *expected["default"]["mentions"]]:
        assert word in failed.err, f"{word} is not named\n{failed}"
    for policy in ("oldest", "newest"):
        ended, values = run(policy)
        for partition in ("0", "1"):
            wanted = [f"{partition}:{offset}" for offset in expected[policy][partition]]
            assert of_partition(values, partition + ":") == wanted, values
        assert f"{expected[policy]['lost_reported']['0']} records from offset 10 on are lost" in ended.err, str(ended)
        assert "partition 1: an unknown number of records is lost" in ended.err, str(ended)
    case.judged("expected.json")


HANDLERS = {
    "kafka/01-transaction-markers-at-the-end": transaction_markers,
    "kafka/03-partitions-added-while-running": partitions_added,
    "kafka/04-partition-of-a-key": partition_of_a_key,
    "kafka/06-offset-out-of-range": offset_out_of_range,
}
