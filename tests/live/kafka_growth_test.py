"""Partitions that appear while a stateful job runs, and before it is started again: what is kept by key stays together."""
import json

import topics
from topics import flowd_driver

JOB = """application: {{
  name = "job";  checkpoint_interval = "200ms";  parallelism = 3;
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; discovery_interval = "200ms";
                      serde: {{ key = "string"; value: {{ type = "json"; fields: {{ user = "string"; at = "timestamp"; }}; }}; }}; }};
             files: {{ type = "file"; }}; }};
  inputs:  {{ {inputs}  in: {{ system = "kafka"; physical_name = "{topic}"; }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{out}"; serde = "json"; }}; }};
  tables:  {{ {tables} }};
  flow: ( {flow}, {{ to = "out"; }} );
}};
"""
COUNTS = '''{ name = "keyed"; from = "in"; key_by = "user"; },
         { name = "counts"; window: { tumbling = "1h"; time = "at"; out_of_order = "1s"; }; aggregate: { n = "count(*)"; }; }'''
MEMBERS = """members: {{ system = "kafka"; physical_name = "{members}"; bounded = true; bootstrap = true;
                          serde: {{ key = "string"; value: {{ type = "json"; fields: {{ user = "string"; name = "string"; }}; }}; }}; }};"""
JOIN = '''{ from = "members"; key_by = "user"; }, { write_table = "member"; },
          { from = "in"; key_by = "user"; }, { join_table = "member"; }, { project = ["user", "name"]; }'''
USERS = [f"user-{i}" for i in range(20)]


class Growth(topics.Test):
    def add(self, topic, *users, hour=10, partition=None):
        """Where the key's hash puts them, in a topic of so many partitions."""
        records = [{"key": user, "value": json.dumps({"user": user, "at": f"2026-01-01T{hour}:00:00Z"})} for user in users]
        if partition is not None:
            records = [{**record, "partition": partition} for record in records]
        self.kafka.tool("produce", topic, records=records, properties={"partitioner": "murmur2_random"})

    def grow(self, topic, partitions):
        self.kafka.tool("grow", topic, "--partitions", partitions)
        flowd_driver.until(lambda: len(self.kafka.describe(topic)) == partitions, "the partitions")

    def read(self, count):
        """So many records of the input were read, and are in a checkpoint."""
        def is_read():
            path = self.folder / "status.json"
            inputs = json.loads(path.read_text())["inputs"] if path.exists() else []
            partitions = [p for i in inputs if i["id"] == "in" for p in i.get("partitions", {}).values()]
            return sum(p.get("committed", 0) for p in partitions) == count
        flowd_driver.until(is_read, f"{count} records in checkpoints", 60)

    def rows(self, out):
        return [json.loads(value) for value in self.kafka.values(self.kafka.settled(out))]

    def run_job(self):
        (self.folder / "status.json").unlink(missing_ok=True)
        return self.start("job.conf", "--status-file", "status.json")

    def test_given_keyed_counts_when_partitions_appear_then_they_go_on_as_if_nothing_had_happened_also_when_started_again(self):
        topic, out = self.topic(), self.topic("out")
        self.write("job.conf", JOB.format(servers=self.kafka.servers, topic=topic, out=out, inputs="", tables="", flow=COUNTS))
        rounds = 0
        for partitions in (2, 5):
            running = self.run_job()
            for grown in (False, True):
                if grown:
                    self.grow(topic, partitions)
                self.add(topic, *USERS, *USERS)
                rounds += 2
                self.read(rounds * len(USERS))
            self.end(running)
        running = self.run_job()
        for partition in range(5):
            self.add(topic, "the end", hour=20, partition=partition)
        flowd_driver.until(lambda: len(self.rows(out)) >= len(USERS), "the windows", 60)
        self.end(running)
        self.assertEqual(sorted((row["user"], row["n"]) for row in self.rows(out)), sorted((user, rounds) for user in USERS))

    def test_given_a_join_when_partitions_appear_then_every_record_finds_its_partner(self):
        members, topic, out = self.topic("members", 2), self.topic(partitions=2), self.topic("out")
        self.kafka.tool("produce", members, records=[{"key": user, "value": json.dumps({"user": user, "name": user.upper()})} for user in USERS])
        self.write("job.conf", JOB.format(servers=self.kafka.servers, topic=topic, out=out, flow=JOIN,
                                          inputs=MEMBERS.format(members=members), tables='member: { type = "memory"; };'))
        running = self.run_job()
        self.add(topic, *USERS)
        self.read(len(USERS))
        self.grow(topic, 5)
        for partition in range(5):
            self.add(topic, *USERS, partition=partition)
        flowd_driver.until(lambda: len(self.rows(out)) >= 6 * len(USERS), "all partners", 60)
        self.end(running)
        self.assertEqual(sorted((row["user"], row["name"]) for row in self.rows(out)), sorted((user, user.upper()) for user in USERS * 6))


if __name__ == "__main__":
    topics.main()
