"""The cases of area kafka, on a real broker: the one that the live tests share, or one of the case's own."""
import json
import os
import re
import signal
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


# --- 02 ----------------------------------------------------------------------------------------------------------------------

MEMBER = """application: {{
  name = "{name}";  instance = "{name}";  checkpoint_interval = "200ms";  parallelism = 1;
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; consumer: {{ session: {{ timeout: {{ ms = 6000; }}; }}; }}; }};
             files: {{ type = "file"; }};  behind: {{ type = "kafka"; bootstrap_servers = "{behind}"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; serde = "string"; group = "{topic}"; assignment = "group"; {options} }}; }};
  outputs: {{ out: {{ {output} serde = "string"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


class Members:
    """Member 1 writes to a topic of a broker that can be held: what it holds is in flight, and acknowledged when it goes on. flowd
    acknowledges the records of an epoch together, in whatever order the broker does: those in front of them are 0 to 2 here.
    Member 2 writes to a file."""

    def __init__(self, case, k, behind, options):
        self.case, self.k, self.behind, self.options = case, k, behind, options
        self.topic, self.out = k.create(kafka.unique("revoke"), 2), behind.create(kafka.unique("out"))
        self.broker = int(re.search(r"process (\d+)", behind.service("status"))[1])

    def start(self, name, output):
        self.case.flowd.write(f"{name}.conf", MEMBER.format(name=name, servers=self.k.servers, behind=self.behind.servers, topic=self.topic,
                                                            options=self.options, output=output))
        return self.case.flowd.start("run", f"{name}.conf", "--state-dir", f"{self.topic}-{name}", "--status-file", self.status_file(name))

    def status_file(self, name):
        return f"{self.topic}-{name}.json"

    def partitions(self, name):
        path = self.case.work / self.status_file(name)
        return sorted(int(p) for i in json.loads(path.read_text())["inputs"] for p in i.get("partitions", {})) if path.exists() else []

    def produce(self, *numbers):
        self.k.produce(self.topic, [{"value": f"{p}:{n}", "partition": p} for p in (0, 1) for n in numbers])

    def committed(self):
        return {p: o["offset"] for p, o in self.k.committed(self.topic, self.topic).items()}

    def acknowledged(self):
        return self.behind.values(self.out)

    def written(self):
        return [line for path in self.case.work.glob(f"*{self.topic}.txt*") for line in path.read_text().splitlines()]

    def follow(self):
        with self.start("one", f'system = "behind"; physical_name = "{self.out}"; delivery = "at_least_once";') as one:
            until(lambda: self.partitions("one") == [0, 1], "both partitions")
            self.produce(0, 1, 2)
            until(lambda: self.committed() == {0: 3, 1: 3}, "the acknowledged prefix")
            os.kill(self.broker, signal.SIGSTOP)
            try:
                self.produce(3, 4, 5)
                with self.start("two", f'system = "files"; path = "{self.topic}.txt";') as two:
                    until(lambda: len(self.partitions("two")) == 1, "the partition that is taken", 60)
                    self.go_on(one, two)
            finally:
                os.kill(self.broker, signal.SIGCONT)

    def go_on(self, one, two):
        taken, kept = self.partitions("two")[0], 1 - self.partitions("two")[0]
        until(lambda: self.committed()[taken] == 6, "what the second member did")
        assert self.written() == [f"{taken}:{n}" for n in (3, 4, 5)], self.written()  # it began at the committed offset
        assert self.committed()[kept] == 3, self.committed()
        os.kill(self.broker, signal.SIGCONT)  # acknowledged late
        self.produce(6)
        until(lambda: self.committed() == {0: 7, 1: 7}, "the end", 60)
        for running in (two, one):
            running.signal()
            ended = running.wait()
            assert ended.code == 0, str(ended)
        of_kept = [v for v in self.acknowledged() if v.startswith(f"{kept}:")]
        assert self.options or of_kept == [f"{kept}:{n}" for n in range(7)], of_kept  # cooperative: once each
        assert {*self.acknowledged(), *self.written()} == {f"{p}:{n}" for p in (0, 1) for n in range(7)}
        assert self.committed() == {0: 7, 1: 7}, self.committed()


def revoke_in_flight(case):
    k, behind = broker(case), kafka.Kafka.started(case.work / "behind", "--heap", "256m")
    try:
        for options in "", 'rebalance = "eager";':
            Members(case, k, behind, options).follow()
    finally:
        behind.service("kill")
    case.judged("expected.json")


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
    keyed_state_stays(case, k)
    case.judged("expected.json")


COUNTS = """application: {{
  name = "counts";  checkpoint_interval = "200ms";  parallelism = 2;
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; discovery_interval = "200ms"; }}; }};
  inputs:  {{ in:  {{ system = "kafka"; physical_name = "{topic}"; serde: {{ type = "json"; fields: {{ user = "string"; at = "timestamp"; }}; }}; }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{topic}-counts"; serde = "json"; }}; }};
  flow: ( {{ name = "keyed"; from = "in"; key_by = "user"; }},
          {{ name = "counts"; window: {{ tumbling = "1h"; time = "at"; out_of_order = "1s"; }}; aggregate: {{ n = "count(*)"; }}; }}, {{ to = "out"; }} );
}};
"""


def keyed_state_stays(case, k):
    """Each user's records go to all partitions, old and new, of a job that runs and of one that is started again."""
    topic, users, partitions = k.create(kafka.unique("keyed")), [f"u{i}" for i in range(6)], 1
    k.create(f"{topic}-counts")
    case.flowd.write("counts.conf", COUNTS.format(servers=k.servers, topic=topic))

    def produce(hour):
        """One of each user to each partition."""
        k.produce(topic, [{"value": json.dumps({"user": user, "at": f"2026-01-01T{hour}:00:00Z"}), "partition": p}
                          for user in users for p in range(partitions)])

    def committed():
        path = case.work / "counts.json"
        inputs = json.loads(path.read_text())["inputs"] if path.exists() else []
        return sum(p.get("committed", 0) for i in inputs for p in i.get("partitions", {}).values())

    for more in (3, 4):
        with case.flowd.start("run", "counts.conf", "--state-dir", "counts", "--status-file", "counts.json") as running:
            produce(10)
            k.tool("grow", topic, "--partitions", more)
            until(lambda n=more: len(k.describe(topic)) == n, "the partitions")
            partitions = more
            produce(10)
            until(lambda n=more: committed() == len(users) * (4 if n == 3 else 11), "all that was written", 60)
            if more == 4:  # what comes later closes the windows
                produce(12)
                until(lambda: len(k.values(f"{topic}-counts")) >= len(users), "the counts", 60)
            running.signal()
            assert running.wait().code == 0
    counts = sorted((row["user"], row["n"]) for row in map(json.loads, k.values(k.settled(f"{topic}-counts"))))
    assert counts == [(user, 1 + 3 + 3 + 4) for user in users], counts


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
        ended = case.flowd("run", job(case, k.servers, topic, options), "--fresh", "--status-file", "status.json", expect=code)
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
        (status,) = json.loads((case.work / "status.json").read_text())["inputs"]
        assert status["records_lost"] == expected[policy]["lost_reported"]["0"], status
    case.judged("expected.json")


HANDLERS = {
    "kafka/01-transaction-markers-at-the-end": transaction_markers,
    "kafka/02-revoke-with-a-batch-in-flight": revoke_in_flight,
    "kafka/03-partitions-added-while-running": partitions_added,
    "kafka/04-partition-of-a-key": partition_of_a_key,
    "kafka/06-offset-out-of-range": offset_out_of_range,
}
