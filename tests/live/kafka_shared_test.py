"""Two processes that share a topic by group and write to another one: by a transaction that takes the positions along each record is there
once, whoever comes, goes or is killed; without one none is lost. A process that joins has records soon."""
import json
import random
import signal
import time

import live

PARTITIONS = 4
JOB = """application: {
  name = "$job";  instance = "INSTANCE";  checkpoint_interval = "150ms";  parallelism = 2;
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; consumer: { session: { timeout: { ms = 6000; }; }; }; }; };
  inputs:  { in: { system = "kafka"; physical_name = "$in"; serde: { type = "json"; fields: { id = "int64"; }; }; group = "$in"; assignment = "group"; OPTIONS };  };
  outputs: { out: { system = "kafka"; physical_name = "$out"; serde = "json"; OUTPUT }; };
  flow: ( { from = "in"; where = "id >= 0"; to = "out"; } );
};
"""
UNTIL = 60


class Shared(live.Test):
    def setUp(self):
        super().setUp()
        for name in "in", "out":
            self.kafka.create(self.topic(name), PARTITIONS)
        self.topic("job")
        self.next_id = 0

    def configured(self, instance="a", options="", output="", name="job.conf", steps='where = "id >= 0";'):
        text = JOB.replace("INSTANCE", instance).replace("OPTIONS", options).replace("OUTPUT", output)
        self.job(text.replace('where = "id >= 0";', steps), name)

    def member(self, instance, options="", output="", *words):
        self.configured(instance, options, output, f"{instance}.conf")
        running = self.flowd.start("run", f"{instance}.conf", "--state-dir", f"state-{instance}", "--status-file", f"{instance}.json", *words)
        self.addCleanup(running.__exit__)
        return running

    def add(self, count):
        """So many records, over all partitions."""
        self.kafka.produce(self.topic("in"), [{"value": json.dumps({"id": self.next_id + i}), "partition": (self.next_id + i) % PARTITIONS}
                                              for i in range(count)])
        self.next_id += count

    def status(self, instance):
        path = self.folder / f"{instance}.json"
        return json.loads(path.read_text()) if path.exists() else {"inputs": [], "records_in": 0}

    def partitions(self, instance):
        return sorted(p for i in self.status(instance)["inputs"] for p in i.get("partitions", {}))

    def until(self, condition, what):
        live.e2e.flowd_driver.until(condition, what, UNTIL)

    def until_shared(self):
        self.until(lambda: (len(self.partitions("a")), len(self.partitions("b"))) == (2, 2), "two partitions each")

    def until_written(self):
        def missing():
            return sorted(set(range(self.next_id)) - set(self.seen()))

        self.until(lambda: not missing(), lambda: f"{len(missing())} of {self.next_id} records, from {missing()[:20]} on")

    def seen(self):
        """What has been committed so far; open transactions are not waited for."""
        return sorted(json.loads(value)["id"] for value in self.kafka.values(self.topic("out")))

    def end(self, running):
        running.signal()
        ended = running.wait()
        self.assertEqual(ended.code, 0, str(ended))

    def come_and_go(self, options="", output=""):
        """Records all the time, while a process joins, is killed, joins again and leaves."""
        chance = random.Random(7)
        a = self.member("a", options, output)
        self.add(500)
        b = self.member("b", options, output)
        for _ in range(4):
            self.add(chance.randrange(200, 900))
        self.until_shared()
        self.add(500)
        time.sleep(chance.uniform(0, 0.4))  # somewhere within an epoch
        b.signal(signal.SIGKILL)
        b.wait()
        (self.folder / "b.json").unlink()
        self.add(500)
        b = self.member("b", options, output)
        self.add(500)
        self.until_shared()
        self.end(b)
        self.add(300)
        self.until_written()
        self.end(a)
        return self.sorted_ids(self.topic("out"))

    def test_given_a_transaction_when_processes_come_go_and_are_killed_then_each_record_is_there_once(self):
        for options in "", 'rebalance = "eager";':
            self.setUp()
            self.assertEqual(self.come_and_go(options), list(range(self.next_id)), options)
            offsets = self.kafka.committed(self.topic("in"), self.topic("in"))
            self.assertEqual(sum(o["offset"] for o in offsets.values()), self.next_id)

    def test_given_no_transaction_when_processes_come_go_and_are_killed_then_no_record_is_lost(self):
        for options in "", 'rebalance = "eager";':
            self.setUp()
            self.assertEqual(set(self.come_and_go(options, 'delivery = "at_least_once";')), set(range(self.next_id)), options)

    def test_given_a_commit_that_meets_a_new_generation_when_the_job_goes_back_then_it_stays_in_the_group(self):
        """Epochs follow so closely that most members which join make one of them fail."""
        a = self.member("a", "", "", "--set", 'job.checkpoint_interval="20ms"')
        self.until(lambda: len(self.partitions("a")) == PARTITIONS, "all partitions")
        for _ in range(6):
            b = self.member("b")
            self.until(lambda: self.add(20) or len(self.partitions("b")) == 2, "two partitions")
            b.signal(signal.SIGTERM)
            ended = b.wait()
            self.assertEqual(ended.code, 0, str(ended))
            self.assertNotIn("2 are read now", ended.err)  # a task of b has one, unless a has left
            (self.folder / "b.json").unlink()
            self.until(lambda: self.add(20) or len(self.partitions("a")) == PARTITIONS, "all partitions again")
        self.until_written()
        self.end(a)
        self.assertEqual(self.sorted_ids(self.topic("out")), list(range(self.next_id)))

    def test_given_the_plan_when_positions_go_into_the_transaction_then_it_says_exactly_once(self):
        self.configured()
        self.assertIn("shared by group, positions in the output's transaction", self.flowd("plan", "job.conf", expect=0).out)

    def test_given_a_step_that_partitions_anew_when_the_input_is_read_by_group_then_the_plan_refuses_it(self):
        self.configured(steps='name = "n"; key_by = "id";')
        self.assertIn("records do not go from process to process; read the input without a group", self.flowd("check", "job.conf", expect=3).err)

    def refused(self, steps, why, tables=""):
        """Whether the broker is asked or not; and nobody has joined the group."""
        self.configured(steps=steps)
        self.write("job.conf", (self.folder / "job.conf").read_text().replace("  flow:", f"  {tables} flow:"))
        for command in "check", "run":
            said = self.flowd(command, "job.conf", expect=3).err
            self.assertRegex(said, r"job.conf:6: application.flow\[0\].*: " + why)
        self.assertEqual(self.kafka.committed(self.topic("in"), self.topic("in")), {})

    def test_given_a_step_that_keeps_state_when_the_input_is_read_by_group_then_the_plan_refuses_it(self):
        window = """window: { tumbling = "1h"; time = "timestamp '2026-01-01T00:00:00Z'"; };"""
        self.refused(f'name = "n"; global = true; {window} aggregate: {{ n = "count(*)"; }};',
                     "'n' keeps state, and input 'in' is shared with other processes by a consumer group: a partition that goes to another "
                     "process would leave its state behind; read the input without a group")

    def test_given_a_table_when_an_input_that_is_read_by_group_fills_it_then_the_plan_refuses_it(self):
        for kind in "memory", "rocksdb":
            self.refused('name = "n"; key_by = "id"; write_table = "ids";',
                         "table 'ids' lives in this process, and input 'in' is shared with other processes by a consumer group: the table would "
                         "have a part of it; read the input without a group", f'tables: {{ ids: {{ type = "{kind}"; }}; }};')

    def test_given_a_trial_when_it_runs_beside_the_job_then_it_takes_no_partition_away(self):
        a = self.member("a", "", "", "--set", "job.parallelism=1")
        self.add(100)
        self.until_written()
        self.until(lambda: len(self.partitions("a")) == PARTITIONS, "all partitions")
        rebalances = self.status("a")["inputs"][0]["rebalances"]
        trial = self.flowd.start("run", "a.conf", "--limit", "10", "--dry-sink")
        self.addCleanup(trial.__exit__)
        self.until(lambda: not trial.running() or self.add(20), "the end of the trial")
        self.assertEqual(trial.wait().code, 0)
        self.until_written()
        self.assertEqual(len(self.partitions("a")), PARTITIONS)
        self.assertEqual(self.status("a")["inputs"][0]["rebalances"], rebalances)
        self.end(a)


if __name__ == "__main__":
    live.main()
