"""From topic to topic: records come out as they went in, and the positions of inputs go with what was written."""
import signal

import topics
from topics import flowd_driver, records

COPY = """application: {{
  name = "{job}";  checkpoint_interval = "200ms";  {more}
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; }}; }};
  inputs:  {{ in:  {{ system = "kafka"; physical_name = "{source}"; bounded = {bounded}; serde: {{ key = "bytes"; value = "bytes"; }};
                    {input} }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{target}"; serde: {{ key = "bytes"; value = "bytes"; }}; {output} }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


class Copy(topics.Test):
    def copy(self, source, target, bounded=True, input="", output="", more="", name="job.conf"):
        self.write(name, COPY.format(job=target, servers=self.kafka.servers, source=source, target=target, bounded=str(bounded).lower(),
                                     input=input, output=output, more=more))
        return name

    def seen(self, topic):
        return [{k: v for k, v in r.items() if k not in ("offset", "timestamp_type")} for r in self.kafka.consume(self.kafka.settled(topic))]

    def test_given_records_of_all_shapes_when_they_are_copied_then_they_are_as_they_were(self):
        source, target = self.topic("from"), self.topic("to")
        shapes = [{"key": "a", "value": "1", "partition": 0, "timestamp": 1700000000000, "headers": [["h", "1"], ["h", None], ["h", ""]]},
                  {"key": None, "value": "", "partition": 0, "timestamp": 1700000000001, "headers": []},
                  {"key": "", "value": None, "partition": 0, "timestamp": 1700000000002, "headers": [["x", "y"]]},
                  {"key_hex": "ff00", "value_hex": "00ff", "partition": 0, "timestamp": 1, "headers": []}]
        self.kafka.produce(source, shapes)
        self.flowd("run", self.copy(source, target), expect=0)
        self.assertEqual(self.seen(target), shapes)

    def test_given_headers_that_are_not_wanted_when_records_are_copied_then_they_come_without(self):
        source, target = self.topic("from"), self.topic("to")
        self.kafka.produce(source, [{"value": "1", "headers": [["h", "1"]]}])
        self.flowd("run", self.copy(source, target, input="headers = false;"), expect=0)
        self.assertEqual([(r["value"], r["headers"]) for r in self.seen(target)], [("1", [])])

    def test_given_kills_when_a_group_copies_exactly_once_then_each_record_is_there_once(self):
        source, target = self.topic("from", 3), self.topic("to")
        group = f'group = "{target}"; assignment = "group"; consumer: {{ session: {{ timeout: {{ ms = 6000; }}; }}; }};'
        config = self.copy(source, target, False, group, more="parallelism = 1;")
        for turn in range(3):
            for p in range(3):
                self.kafka.produce(source, records(*(f"{turn}-{p}-{i}" for i in range(400)), partition=p))
            running = self.start(config)
            flowd_driver.until(lambda: len(self.kafka.values(target)) >= 1200 * turn + 300, "records of this turn", 60)
            if turn < 2:
                running.signal(signal.SIGKILL)
                running.wait()
        flowd_driver.until(lambda: len(self.kafka.values(target)) >= 3600, "all records", 60)
        running.signal()
        self.assertEqual(running.wait().code, 0)
        self.assertEqual(sorted(self.kafka.values(target)), sorted(f"{t}-{p}-{i}" for t in range(3) for p in range(3) for i in range(400)))
        self.assertEqual({p: o["offset"] for p, o in self.kafka.committed(target, source).items()}, {0: 1200, 1: 1200, 2: 1200})


if __name__ == "__main__":
    topics.main()
