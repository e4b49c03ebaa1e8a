"""What the status file tells of an input from a topic: positions and lag, that it is held back, what waits in the client, rebalances."""
import json

import topics
from topics import flowd_driver, records

HELD_BACK = """application: {{
  name = "job";  checkpoint_interval = "100ms";  parallelism = 1;
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; {system} }};  files: {{ type = "file"; }};
             made: {{ type = "generate"; }};  none: {{ type = "null"; }}; }};
  inputs:  {{ slow: {{ system = "made"; count = {held}; rate = 10; fields: {{ id = "sequence"; }}; bounded = true; bootstrap = true; }};
             {inputs} }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "string"; }};  nowhere: {{ system = "none"; }}; }};
  flow: ( {{ from = "slow"; to = "nowhere"; }}, {flow} );
}};
"""


class Status(topics.Test):
    def input(self, name="in", file="status.json"):
        """Its numbers, as they are written now; without a file or an input of that name none."""
        path = self.folder / file
        inputs = json.loads(path.read_text())["inputs"] if path.exists() else []
        return next((i for i in inputs if i["id"] == name), {})

    def partition(self, number=0, **more):
        return self.input(**more).get("partitions", {}).get(str(number), {})

    def wait_for(self, condition, what):
        flowd_driver.until(condition, f"{what}: {self.input()}", 60)

    def held_back(self, topics_by_input, system="", held=50, options=""):
        """The inputs are read when a slow one has ended; held tenths of a second."""
        inputs = "".join(f'{name}: {{ system = "kafka"; physical_name = "{topic}"; serde = "string"; {options.get(name, "") if options else ""} }}; '
                         for name, topic in topics_by_input.items())
        flow = ", ".join(f'{{ from = "{name}"; to = "out"; }}' for name in topics_by_input)
        self.write("job.conf", HELD_BACK.format(servers=self.kafka.servers, system=system, inputs=inputs, flow=flow, held=held))
        return self.start("job.conf", "--fresh", "--status-file", "status.json")

    def test_given_an_input_that_is_held_back_when_its_turn_comes_then_what_waited_is_shown_and_gone(self):
        topic = self.topic()
        self.kafka.produce(topic, records(*(f"{i}" for i in range(500))))
        running = self.held_back({"in": topic})
        self.wait_for(lambda: self.input().get("queued") == 500, "all that was fetched")
        self.wait_for(lambda: self.partition().get("paused") == 1, "that it is held back")
        self.assertEqual({name: self.partition()[name] for name in ("position", "end", "lag")}, {"position": 0, "end": 500, "lag": 500})
        self.assertEqual(self.input()["lag"], 500)
        self.wait_for(lambda: self.partition().get("committed") == 500, "the end")
        self.assertEqual(self.partition(), {"position": 500, "end": 500, "lag": 0, "paused": 0, "committed": 500})
        self.assertEqual({name: self.input()[name] for name in ("queued", "lag", "records_lost")}, {"queued": 0, "lag": 0, "records_lost": 0})
        self.kafka.produce(topic, records("one", "two"))
        self.wait_for(lambda: self.partition().get("committed") == 502, "what came later")
        self.end(running)

    def test_given_a_bound_of_records_when_an_input_is_held_back_then_the_client_fetches_no_more_than_that_and_a_batch(self):
        topic = self.topic()
        self.kafka.tool("generate", topic, 20000, 1000)
        running = self.held_back({"in": topic})
        self.wait_for(lambda: self.input().get("queued") == 20000, "everything, where only bytes are bounded")
        self.end(running)
        (self.folder / "status.json").unlink()
        running = self.held_back({"in": topic}, "fetch_threshold = 1000;")
        most, read = 0, 0
        while read < 20000:
            shown = self.input()
            most, read = max(most, shown.get("queued", 0)), self.partition().get("position", 0)
            self.assertTrue(running.running())
        self.assertLess(most, 4000)  # 1 MiB, at most, comes from a partition at once
        self.assertGreaterEqual(most, 1000)
        self.end(running)

    def test_given_two_inputs_that_have_waited_when_one_has_priority_then_it_is_read_first(self):
        """But for some batches that wait for the output, which takes them in turns; without a priority all come in turns."""
        count = 20000
        for first, second in ("ab", "ba"):
            names = {name: self.topic(name) for name in "ab"}
            for name, topic in names.items():
                self.kafka.produce(topic, records(*(name for _ in range(count))))
            running = self.held_back(names, options={first: "priority = 7;", second: "priority = 3;"})
            self.wait_for(lambda: all(self.input(name).get("queued") == count for name in "ab"), "all that was fetched")
            self.wait_for(lambda: len(self.flowing_lines()) == 2 * count, "both")
            lines = self.flowing_lines()
            self.assertLess(len(lines) - lines[::-1].index(first), count * 3 / 2)
            self.end(running)
            for path in (*self.folder.glob("*out.txt*"), self.folder / "status.json"):
                path.unlink()

    def member(self, topic, number):
        return self.start(self.to_file(
            topic, f'group = "{topic}"; assignment = "group";', "consumer: { session: { timeout: { ms = 6000; }; }; };", False,
            'checkpoint_interval = "200ms"; parallelism = 1;', name=f"job{number}.conf", out=f"out{number}.txt"),
            "--state-dir", f"state{number}", "--status-file", f"{number}.json")

    def test_given_a_group_when_members_come_and_go_then_their_rebalances_are_counted(self):
        topic = self.topic(partitions=4)
        first = self.member(topic, 1)
        count = lambda number: len(self.input(file=f"{number}.json").get("partitions", {}))  # noqa: E731
        rebalances = lambda: self.input(file="1.json")["rebalances"]  # noqa: E731
        self.wait_for(lambda: count(1) == 4, "all partitions")
        alone = rebalances()
        self.assertGreaterEqual(alone, 1)
        second = self.member(topic, 2)
        self.wait_for(lambda: (count(1), count(2)) == (2, 2), "two partitions each")
        shared = rebalances()
        self.assertGreater(shared, alone)
        self.assertGreaterEqual(self.input(file="2.json")["rebalances"], 1)
        self.end(second)
        self.wait_for(lambda: count(1) == 4, "all partitions again")
        self.assertGreater(rebalances(), shared)
        self.end(first)


if __name__ == "__main__":
    topics.main()
