"""Records of a topic that cannot be read: the job ends, goes on without them, or writes them to the dead letters, and each time says which
record it was: topic, partition, offset, and its bytes."""
import base64
import json

import live
from live import until

JOB = """application: {
  name = "$job";  instance = "INSTANCE";  checkpoint_interval = "200ms";  parallelism = 1;  record_errors = "POLICY";  LETTERS
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; consumer: { session: { timeout: { ms = 6000; }; }; }; }; };
  inputs:  { in: { system = "kafka"; physical_name = "$in"; INPUT
                   serde: { key = "string"; value: { type = "json"; fields: { id = "int64"; }; }; }; }; };
  outputs: { out: { system = "kafka"; physical_name = "$out"; serde: { key = "string"; value = "json"; }; };  DEAD };
  flow: ( { from = "in"; to = "out"; } );
};
"""
DEAD = 'dead: { system = "kafka"; physical_name = "$dead"; serde = "json"; };'
POISON = {  # by what is wrong: the record, and what the dead letters have of it
    "no JSON": ({"key": "k", "value": "{oops}"}, "{oops}"),
    "truncated": ({"key": "k", "value": '{"id": 3, "te'}, '{"id": 3, "te'),
    "no text": ({"key": "k", "value_hex": "ff00fe"}, b"\xff\x00\xfe"),
    "another type": ({"key": "k", "value": '{"id": "x"}'}, '{"id": "x"}'),
    "empty": ({"key": "k", "value": ""}, ""),
    "a key that is no text": ({"key_hex": "fffe", "value": '{"id": 7}'}, '{"id": 7}'),
}
PARTITIONS = 4


class Poison(live.Test):
    def configured(self, policy, options="", instance="a"):
        text = JOB.replace("POLICY", policy).replace("INPUT", options).replace("INSTANCE", instance)
        letters = policy == "dead_letter"
        self.job(text.replace("LETTERS", 'dead_letters = "dead";' if letters else "").replace("DEAD", DEAD if letters else ""),
                 f"{instance}.conf")

    def begin(self, partitions=PARTITIONS):
        self.topics.clear()
        for name in ("in", "out", "dead"):
            self.kafka.create(self.topic(name), partitions)
        self.topic("job")
        self.ends, self.good, self.bad, self.numbers = [0] * partitions, [], [], 0

    def add(self, record, partition):
        self.kafka.produce(self.topic("in"), [{**record, "partition": partition}])
        self.ends[partition] += 1
        return partition, self.ends[partition] - 1

    def add_good(self, partition, value=True):
        """One that can be read, or one whose value is null, which is no fault."""
        self.numbers += 1
        record = {"key": f"key-{self.numbers}", "value": json.dumps({"id": self.numbers}, separators=(",", ":")) if value else None}
        self.add(record, partition)
        self.good.append((record["key"], record["value"]))

    def add_all(self):
        """Into each partition good ones, with each kind of poison in between."""
        records = []
        for partition in range(PARTITIONS):
            for number, (record, raw) in enumerate(POISON.values()):
                self.numbers += 1
                key, value = f"key-{self.numbers}", None if number % 2 else f'{{"id":{self.numbers}}}'
                records += [{"key": key, "value": value, "partition": partition}, {**record, "partition": partition}]
                self.good.append((key, value))
                self.bad.append((partition, self.ends[partition] + 1, raw))
                self.ends[partition] += 2
        self.kafka.produce(self.topic("in"), records)

    def written(self):
        return sorted(((r["key"], r["value"]) for r in self.kafka.consume(self.topic("out"))), key=str)

    def letters(self):
        return [json.loads(value) for value in self.kafka.values(self.topic("dead"))]

    def check_written(self):
        self.kafka.settled(self.topic("out"))
        self.assertEqual(self.written(), sorted(self.good, key=str))

    def check_letters(self):
        """One for each bad record: where it is, and what it is."""
        self.kafka.settled(self.topic("dead"))
        letters = self.letters()
        found = sorted((letter["partition"], letter["ordinal"]) for letter in letters)
        self.assertEqual(found, sorted((partition, offset) for partition, offset, _ in self.bad))
        raw_of = {(partition, offset): raw for partition, offset, raw in self.bad}
        for letter in letters:
            place, raw = (letter["partition"], letter["ordinal"]), letter["raw"]
            self.assertEqual(base64.b64decode(raw) if letter["raw_base64"] else raw, raw_of[place], letter)
            self.assertEqual(letter["raw_base64"], isinstance(raw_of[place], bytes), letter)
            self.assertEqual(letter["place"], f"{self.topic('in')}[{place[0]}]", letter)
            self.assertEqual((letter["stream"], letter["job"]), ("in", self.topic("job")))
            self.assertTrue(letter["reason"] and letter["status"].startswith("FLOW_E_"), letter)

    def named(self, partition, offset):
        return f"{self.topic('in')}[{partition}], record at {offset}: "

    def test_given_a_record_that_cannot_be_read_when_nothing_else_is_said_then_the_job_ends_and_names_it_and_goes_on_when_told(self):
        for what, (record, _) in POISON.items():
            with self.subTest(what):
                self.begin(2)
                self.add_good(1)
                partition, offset = self.add(record, 1)
                self.add_good(1)
                self.add_good(0, value=False)
                self.configured("fail", "bounded = true;")
                failed = self.flowd("run", "a.conf", expect=1)
                self.assertIn(self.named(partition, offset), failed.err)
                self.assertIn("record_errors", failed.err)
                if "key" in what:
                    self.assertIn("its key: ", failed.err)
                self.configured("skip", "bounded = true;")
                self.flowd("run", "a.conf", expect=0)
                self.check_written()

    def test_given_records_that_cannot_be_read_when_they_are_skipped_then_each_is_named_and_counted_and_the_others_are_there_once(self):
        self.begin()
        self.add_all()
        self.configured("skip", "bounded = true;")
        ended = self.flowd("run", "a.conf", "--status-file", "status.json", "--set", "job.parallelism=2", expect=0)
        self.check_written()
        status = json.loads((self.folder / "status.json").read_text())
        self.assertEqual((status["rejected"], status["skipped"]), (len(self.bad), len(self.bad)))
        self.assertTrue(any(self.named(partition, offset) in ended.err for partition, offset, _ in self.bad), str(ended))

    def test_given_records_that_cannot_be_read_when_dead_letters_take_them_then_each_is_there_once_with_place_and_bytes(self):
        self.begin()
        self.add_all()
        self.configured("dead_letter", "bounded = true;")
        self.flowd("run", "a.conf", expect=0)
        self.check_written()
        self.check_letters()
        (key,) = {letter["key"] for letter in self.letters() if letter["raw"] == '{"id": 7}'}
        self.assertEqual(key, "\\xff\\xfe")

    def started(self, instance="a"):
        running = self.flowd.start("run", f"{instance}.conf", "--state-dir", f"state-{instance}", "--status-file", f"{instance}.json")
        self.addCleanup(running.__exit__)
        return running

    def partitions(self, instance):
        path = self.folder / f"{instance}.json"
        inputs = json.loads(path.read_text())["inputs"] if path.exists() else []
        return sorted(p for i in inputs for p in i.get("partitions", {}))

    def until_all_written(self):
        until(lambda: len(self.written()) >= len(self.good) and len(self.letters()) >= len(self.bad), "every record", 60)

    def end(self, *running):
        for one in running:
            one.signal()
            ended = one.wait()
            self.assertEqual(ended.code, 0, str(ended))

    def test_given_a_job_without_end_when_poison_comes_then_it_goes_on_behind_it_and_has_each_once_also_when_started_again(self):
        self.begin()
        self.configured("dead_letter")
        for _ in range(2):
            running = self.started()
            self.add_all()
            self.until_all_written()
            self.end(running)
        self.check_written()
        self.check_letters()

    def test_given_members_of_a_group_when_poison_comes_then_its_partition_is_told_by_its_number(self):
        self.begin()
        options = f'group = "{self.topic("in")}"; assignment = "group";'
        for instance in "ab":
            self.configured("dead_letter", options, instance)
        first = self.started("a")
        until(lambda: len(self.partitions("a")) == PARTITIONS, "all partitions", 60)
        second = self.started("b")
        until(lambda: (len(self.partitions("a")), len(self.partitions("b"))) == (2, 2), "two partitions each", 60)
        self.add_all()
        self.until_all_written()
        self.end(second, first)
        self.check_written()
        self.check_letters()

    def test_given_a_member_of_a_group_when_poison_ends_it_then_it_names_the_record(self):
        self.begin(2)
        self.configured("fail", f'group = "{self.topic("in")}"; assignment = "group";')
        running = self.started()
        self.add_good(1)
        until(lambda: len(self.written()) == 1, "the first record", 60)
        partition, offset = self.add(POISON["truncated"][0], 1)
        ended = running.wait()
        self.assertEqual(ended.code, 1, str(ended))
        self.assertIn(self.named(partition, offset), ended.err)
        self.check_written()


if __name__ == "__main__":
    live.main()
