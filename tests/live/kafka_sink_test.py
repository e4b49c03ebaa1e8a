"""Records to topics: made when asked for, refused with a reason, visible once and together with files and state."""
import json
import random
import signal
import subprocess
import time

import live

MADE = """application: {
  name = "$job";  checkpoint_interval = "200ms";  %(job)s
  systems: { made: { type = "generate"; };  files: { type = "file"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; %(system)s }; };
  inputs:  { in: { system = "made"; count = %(count)d; fields: { id = "sequence"; user = "key(7)"; }; %(input)s }; };
  outputs: { out: { system = "kafka"; physical_name = "$out"; serde: { key = "string"; value = "json"; }; %(output)s };  %(outputs)s };
  flow: ( { from = "in"; %(steps)s to = "out"; } %(more)s );
};
"""


class Sink(live.Test):
    def made(self, count=1000, name="job.conf", servers=None, **parts):
        self.topic("job"), self.topic("out")
        parts = {k: parts.get(k, "") for k in ("job", "system", "input", "output", "outputs", "steps", "more")}
        return self.job(MADE % {"count": count, **parts}, name, servers)

    def failing(self, code, *more):
        """The job must end by itself, soon: what it says."""
        words = self.flowd.words(["run", "job.conf", *more])
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=15, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def test_given_a_topic_that_is_missing_when_it_is_to_be_made_then_it_has_the_partitions_and_settings_asked_for(self):
        # Compacted, but not while the test looks; the records are of 1970.
        configs = 'cleanup: { policy = "compact"; }; min: { compaction: { lag: { ms = 9223372036854775807L; }; }; };'
        self.made(output=f'create = true; partitions = 3; config: {{ {configs} }};', steps='key_by = "user";')
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(len(self.kafka.describe(self.topic("out"))), 3)
        self.assertEqual(self.sorted_ids(self.topic("out")), list(range(1000)))
        refused = self.kafka.tool("produce", self.topic("out"), records=[{"value": "no key"}], expect=1)
        self.assertIn("INVALID_RECORD", refused)  # it is compacted

    def test_given_three_brokers_when_a_topic_is_made_then_it_has_as_many_replicas_as_were_asked_for(self):
        self.cluster("--brokers", "3")
        for option, count in (("replication = 2;", 2), ("replication = 3;", 3)):
            self.topics.clear()
            self.made(output=f"create = true; partitions = 2; {option}")
            self.flowd("run", "job.conf", expect=0)
            self.assertEqual([len(set(p["replicas"])) for p in self.kafka.describe(self.topic("out"))], [count, count], option)
            self.assertEqual(self.sorted_ids(self.topic("out")), list(range(1000)))

    def test_given_a_topic_that_is_missing_when_nobody_asked_for_it_then_the_job_says_so_at_once(self):
        self.made()
        said = self.failing(1)
        self.assertIn(f"there is no topic '{self.topic('out')}' in this cluster; make it, or set create = true", said)

    def test_given_both_deliveries_when_a_job_has_run_then_each_record_is_there_once(self):
        for delivery in ("best", "at_least_once"):
            self.topics.clear()
            self.kafka.create(self.topic("out"), 4)
            self.made(count=20000, output=f'delivery = "{delivery}";')
            self.flowd("run", "job.conf", expect=0)
            self.assertEqual(self.sorted_ids(self.topic("out")), list(range(20000)), delivery)

    def test_given_two_topics_and_a_file_when_a_job_has_run_then_one_transaction_had_both_topics(self):
        self.kafka.create(self.topic("out"))
        self.kafka.create(self.topic("even"))
        self.made(count=3000, outputs='even: { system = "kafka"; physical_name = "$even"; serde = "json"; };\n'
                  'all: { system = "files"; path = "all.jsonl"; serde = "json"; };',
                  more=', { from = "in"; to = "all"; }, { from = "in"; where = "id % 2 = 0"; to = "even"; }')
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(self.sorted_ids(self.topic("out")), list(range(3000)))
        self.assertEqual(self.sorted_ids(self.topic("even")), list(range(0, 3000, 2)))
        self.assertEqual(sorted(r["id"] for r in self.records("all.jsonl")), list(range(3000)))
        marker = self.kafka.committed(f"flowd/{self.topic('job')}/", self.topic("out"))[0]
        self.assertEqual(marker, self.kafka.committed(f"flowd/{self.topic('job')}/", self.topic("even"))[0])

    def test_given_a_transaction_that_cannot_last_when_planned_then_it_is_refused_with_both_times(self):
        self.kafka.create(self.topic("out"))
        self.made(system='transaction_timeout = "5s";')
        said = self.failing(3, "--set", "job.checkpoint_interval=5s")
        self.assertIn("checkpoint_interval (5000 ms) must be shorter than transaction_timeout of the system 'kafka' (5000 ms)", said)
        self.made(output='producer: { linger: { ms = 50; }; };')
        self.assertIn("outputs that commit by a transaction share a client", self.failing(3))
        self.made(output='delivery = "at_least_once"; producer: { linger: { ms = 50; }; };')
        self.flowd("run", "job.conf", expect=0)

    def test_given_a_topic_that_is_deleted_when_it_is_being_written_then_the_job_ends_with_its_name(self):
        for delivery in ("best", "at_least_once"):
            self.topics.clear()
            self.kafka.create(self.topic("out"))
            self.made(count=10000000, input="rate = 1000;", output=f'delivery = "{delivery}";')
            with self.flowd.start("run", "job.conf") as job:
                live.until(lambda: self.kafka.describe(self.topic("out"))[0]["high"] > 100, "the first records")
                self.kafka.delete(self.topic("out"))
                ended = job.wait()
            self.assertEqual(ended.code, 1, str(ended))
            self.assertIn(self.topic("out"), ended.err.splitlines()[-1])

    def test_given_much_that_is_under_way_when_its_transaction_is_aborted_then_every_record_is_counted_once(self):
        for _ in range(3):  # two threads take the reports then; a record that is counted wrongly is waited for without end
            self.topics.clear()
            self.kafka.create(self.topic("out"), 4)
            self.made(count=100000000)
            with self.flowd.start("run", "job.conf") as job:
                live.until(lambda: self.kafka.describe(self.topic("out"))[0]["high"] > 20000, "the first records")
                self.kafka.delete(self.topic("out"))
                ended = job.wait()
            self.assertEqual(ended.code, 1, str(ended))
            self.assertIn(self.topic("out"), ended.err.splitlines()[-1])

    def test_given_a_second_process_of_the_job_when_it_starts_then_the_first_one_ends_and_says_why(self):
        self.kafka.create(self.topic("out"))
        self.made(count=10000000, input="rate = 500;")
        with self.flowd.start("run", "job.conf", "--state-dir", "one") as first:
            live.until(lambda: self.kafka.values(self.topic("out")), "the first records")
            with self.flowd.start("run", "job.conf", "--state-dir", "two") as second:
                ended = first.wait()
                self.assertEqual(ended.code, 1, str(ended))
                self.assertIn("another process with the same job and instance has taken over", ended.err)
                count = len(self.kafka.values(self.topic("out")))
                live.until(lambda: len(self.kafka.values(self.topic("out"))) > count, "records of the second")
                second.signal()
                self.assertEqual(second.wait().code, 0)

    def test_given_a_process_that_stood_still_for_too_long_when_it_goes_on_then_output_and_state_agree(self):
        self.kafka.create(self.topic("out"))
        self.made(count=4000, input="rate = 1000;", system='transaction_timeout = "2s";')
        with self.flowd.start("run", "job.conf") as job:
            live.until(lambda: self.kafka.values(self.topic("out")), "the first records")
            job.signal(signal.SIGSTOP)
            live.until(lambda: self.transaction_is_over(), "the end of the transaction")
            job.signal(signal.SIGCONT)
            ended = job.wait()
        self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual(self.sorted_ids(self.topic("out")), list(range(4000)))
        self.assertIn("going back to epoch", ended.err)

    def transaction_is_over(self):
        """The broker has ended what was open: everything in the log is settled, though the process stands still."""
        time.sleep(2.5)
        return all(p["stable"] == p["high"] for p in self.kafka.describe(self.topic("out")))


class Passing(live.Test):
    """From topic to topic, nothing decoded."""

    DEAD = 'dead: { system = "kafka"; physical_name = "$dead"; serde = "json"; create = true; };'
    JOB = """application: {
      name = "$job";  checkpoint_interval = "200ms";  %(job)s
      systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; };  files: { type = "file"; }; };
      inputs:  { in: { system = "kafka"; physical_name = "$in"; serde: { key = "bytes"; value = "bytes"; }; bounded = true; }; };
      outputs: { out: { system = "kafka"; physical_name = "$out"; serde: { key = "bytes"; value = "bytes"; }; %(output)s };
                 """ + DEAD + """ };
      flow: ( { from = "in"; to = "out"; } );
    };
    """

    def passed(self, records, partitions=1, output="", job="", code=0, **configs):
        self.topics.clear()
        for name in ("job", "in", "out", "dead"):
            self.topic(name)
        self.kafka.create(self.topic("in"))
        self.kafka.create(self.topic("out"), partitions, **configs)
        self.kafka.produce(self.topic("in"), records)
        text = self.JOB if "dead_letters" in job else self.JOB.replace(self.DEAD, "")
        self.job(text % {"output": output, "job": job})
        self.ended = self.flowd("run", "job.conf", expect=code)
        return self.kafka.consume(self.kafka.settled(self.topic("out")))

    def test_given_records_of_all_shapes_when_they_pass_then_each_is_what_it_was(self):
        records = [{"key": "a", "value": "1", "timestamp": 1700000000000, "headers": [["h", "1"], ["h", None], ["h", ""]]},
                   {"key": "a", "value": None, "timestamp": 1700000000001, "headers": []},
                   {"key": None, "value": "", "timestamp": 1700000000002, "headers": []},
                   {"key": "", "value": None, "timestamp": 1700000000003, "headers": [["only", "x"]]},
                   {"key_hex": "ff00", "value_hex": "00fe", "timestamp": 1700000000004, "headers": []}]
        for delivery in ("best", "at_least_once"):
            read = self.passed(records, output=f'delivery = "{delivery}";')
            self.assertEqual([{k: v for k, v in r.items() if k not in ("offset", "timestamp_type", "partition")} for r in read], records)

    def test_given_round_robin_when_records_pass_then_each_partition_has_as_many(self):
        self.passed([{"key": "same", "value": str(i)} for i in range(400)], 4, output='partitioner = "round_robin";')
        counts = [sum(r["partition"] == p for r in self.kafka.consume(self.topic("out"))) for p in range(4)]
        self.assertEqual(counts, [100, 100, 100, 100])

    def test_given_other_clients_partitioners_when_records_pass_then_they_are_where_those_put_them(self):
        records = [{"key": f"user-{i}", "value": str(i)} for i in range(200)]
        for name, theirs in (("crc32", "consistent_random"), ("fnv1a", "fnv1a_random"), ("murmur2", "murmur2_random")):
            there = self.kafka.create(live.kafka.unique("there"), 5)
            self.kafka.tool("produce", there, records=records, properties={"partitioner": theirs})
            here = self.passed(records, 5, output=f'partitioner = "{name}";')
            self.assertEqual({r["key"]: r["partition"] for r in here}, {r["key"]: r["partition"] for r in self.kafka.consume(there)}, name)

    CHOSEN = """application: { name = "$job"; %(job)s
      systems: { made: { type = "generate"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; discovery_interval = "100ms"; }; };
      inputs:  { in: { system = "made"; count = %(count)d; %(rate)s fields: { id = "sequence"; user = "key(7)"; t = "timestamp"; }; }; };
      outputs: { out: { system = "kafka"; physical_name = "$out"; partition = "%(partition)s"; serde: { key = "string"; value = "json"; }; %(output)s };
                 dead: { system = "kafka"; physical_name = "$dead"; serde = "json"; create = true; }; };
      flow: ( { from = "in"; key_by = "user"; to = "out"; } );
    };
    """

    def chosen(self, partition, count=400, partitions=4, output="", job="", rate="", code=0):
        self.topics.clear()
        for name in ("job", "dead"):
            self.topic(name)
        self.kafka.create(self.topic("out"), partitions)
        self.job(self.CHOSEN % {"partition": partition, "count": count, "output": output, "job": job, "rate": rate})
        self.ended = self.flowd("run", "job.conf", expect=code)
        return {json.loads(r["value"])["id"]: r["partition"] for r in self.kafka.consume(self.kafka.settled(self.topic("out")))}

    def test_given_an_expression_when_it_chooses_partitions_then_each_record_is_where_it_says(self):
        for delivery in ("best", "at_least_once"):
            placed = self.chosen("id / 2 % 4", output=f'delivery = "{delivery}";')
            self.assertEqual(placed, {i: i // 2 % 4 for i in range(400)}, delivery)

    def test_given_an_expression_that_gives_no_partition_when_a_record_is_written_then_it_alone_follows_the_policy(self):
        for partition, wrong, why in (("id - 1", {0: "negative"}, "its partition is negative"),
                                      ("case when id <> 2 then id end", {2: "null"}, "its partition is null"),
                                      ("1 / id", {0: "divided"}, "zero"),
                                      ("id * 1000000000 * 8", {}, "its partition is greater than any"),
                                      ("id + 1", {}, "its partition is 4, and the last one of the topic is 3")):
            dead = 'record_errors = "dead_letter"; dead_letters = "dead";'
            placed = self.chosen(partition, 4, job=dead)
            letters = self.kafka.consume(self.kafka.settled(self.topic("dead")))
            self.assertEqual(len(placed) + len(letters), 4, partition)
            self.assertTrue(letters and any(why in letter["value"] for letter in letters), letters)
            self.assertFalse(set(placed) & set(wrong), partition)
            self.chosen(partition, 4, code=1)
            self.assertIn(why, self.ended.err)

    def test_given_an_expression_that_cannot_choose_when_planned_then_it_is_refused_with_its_place(self):
        for partition, why in (("user", "a partition is a whole number, and this is string"), ("idd", "did you mean")):
            self.chosen(partition, code=3)
            self.assertRegex(self.ended.err, "job.conf:4: .*" + why)

    def test_given_partitions_that_are_added_when_records_are_for_them_then_they_are_written(self):
        self.kafka.create(self.topic("out"), 1)
        self.topic("job"), self.topic("dead")
        self.job(self.CHOSEN % {"partition": "case when id < 300 then 0 else 1 end", "count": 1000, "output": 'delivery = "at_least_once";',
                                "job": 'checkpoint_interval = "100ms"; record_errors = "skip";', "rate": "rate = 200;"})
        with self.flowd.start("run", "job.conf") as job:
            live.until(lambda: self.kafka.describe(self.topic("out"))[0]["high"] > 0, "the first records")
            self.kafka.tool("grow", self.topic("out"), "--partitions", 2)
            ended = job.wait()
        self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual([p["high"] for p in self.kafka.describe(self.topic("out"))], [300, 700])

    LARGE = random.Random(1).randbytes(20000).hex()  # compressed it is large, too
    BAD = [(LARGE, "k", 0, "it takes 402", {"max_message_bytes": 10000}),
           ("v", None, 0, "it has no key, and the topic is compacted", {"cleanup_policy": "compact"}),
           ("v", "k", 1500000000000, "before now, and the topic takes 1000 (message.timestamp.before.max.ms)",
            {"message_timestamp_before_max_ms": 1000})]

    def test_given_a_record_that_the_topic_does_not_take_when_it_comes_then_it_alone_follows_the_policy(self):
        now = int(time.time() * 1000) + 600000  # the good ones are young enough, however long this takes
        for value, key, when, why, configs in self.BAD:
            records = [{"key": "a", "value": "1", "timestamp": now}, {"key": key, "value": value, "timestamp": when or now},
                       {"key": "b", "value": "2", "timestamp": now}]
            for delivery in ("best", "at_least_once"):
                read = self.passed(records, output=f'delivery = "{delivery}";',
                                   job='record_errors = "dead_letter"; dead_letters = "dead";', **configs)
                self.assertEqual([r["value"] for r in read], ["1", "2"], why)
                dead = self.kafka.consume(self.kafka.settled(self.topic("dead")))
                self.assertEqual(len(dead), 1, why)
                self.assertIn(why, dead[0]["value"])
                self.assertIn(f"topic '{self.topic('out')}'", dead[0]["value"])
                read = self.passed(records, output=f'delivery = "{delivery}";', job='record_errors = "skip";', **configs)
                self.assertEqual([r["value"] for r in read], ["1", "2"], why)
                self.passed(records, output=f'delivery = "{delivery}";', code=1, **configs)
                self.assertIn(why, self.ended.err)

    REFUSED = ["Message size too large", "failed to validate record", "Invalid timestamp"]  # what brokers call the BAD ones

    def is_refused(self, record):
        """Settings that were changed count a little later; until then the topic takes the record."""
        try:
            return bool(self.kafka.tool("produce", self.topic("out"), records=[record], expect=1))
        except AssertionError:
            return False

    def started_before(self, configs, bad, output, job):
        """The job runs and knows what the topic takes; then the topic is told to take less, and the bad record comes, between good ones."""
        self.topics.clear()
        for name in ("job", "in", "out", "dead"):
            self.topic(name)
        self.kafka.create(self.topic("in"))
        self.kafka.create(self.topic("out"))
        text = self.JOB if "dead_letters" in job else self.JOB.replace(self.DEAD, "")
        self.job(text.replace("bounded = true;", "") % {"output": output, "job": job})
        running = self.flowd.start("run", "job.conf")
        self.addCleanup(running.__exit__)
        self.kafka.produce(self.topic("in"), [{"key": "a", "value": "1", "timestamp": self.now}])
        live.until(lambda: self.passed_on() == ["1"], "the first record")
        self.kafka.configure(self.topic("out"), **configs)
        live.until(lambda: self.is_refused({**bad, "value": "probe" + bad["value"]}), "the topic's new settings")
        self.kafka.produce(self.topic("in"), [bad])
        return running

    def passed_on(self):
        return [value for value in self.kafka.values(self.topic("out")) if not value.startswith("probe")]

    def goes_on(self, running):
        self.kafka.produce(self.topic("in"), [{"key": "b", "value": "2", "timestamp": self.now}])
        live.until(lambda: self.passed_on() == ["1", "2"], "the record behind it")
        running.signal()
        ended = running.wait()
        self.assertEqual(ended.code, 0, str(ended))

    def check_reason(self, text, bad, why):
        key = "record without key" if bad["key"] is None else f"key '{bad['key']}'"
        for word in (why, f"topic '{self.topic('out')}' partition 0, {key}: "):
            self.assertIn(word, text)

    def test_given_a_topic_that_takes_less_than_before_when_a_broker_refuses_a_record_then_it_alone_follows_the_policy(self):
        self.now = int(time.time() * 1000) + 600000
        once = 'delivery = "at_least_once";'
        for (value, key, when, _, configs), why in zip(self.BAD, self.REFUSED):
            bad = {"key": key, "value": value, "timestamp": when or self.now}
            running = self.started_before(configs, bad, once, 'record_errors = "dead_letter"; dead_letters = "dead";')
            live.until(lambda: self.kafka.values(self.topic("dead")), "the dead letter")
            self.goes_on(running)
            letters = self.kafka.values(self.kafka.settled(self.topic("dead")))
            self.assertEqual(len(letters), 1, why)
            self.check_reason(json.loads(letters[0])["reason"], bad, why)
            self.goes_on(self.started_before(configs, bad, once, 'record_errors = "skip";'))
            for output, job in ((once, ""), ("", ""), ("", 'record_errors = "skip";')):  # a transaction is lost with any of its records
                ended = self.started_before(configs, bad, output, job).wait()
                self.assertEqual(ended.code, 1, str(ended))
                self.check_reason(ended.err, bad, why)

    def test_given_good_records_that_were_sent_with_a_bad_one_when_a_broker_refuses_them_together_then_each_is_written_or_a_dead_letter(self):
        self.now = int(time.time() * 1000) + 600000
        bad = {"key": None, "value": "1", "timestamp": self.now}
        running = self.started_before(self.BAD[1][4], bad, 'delivery = "at_least_once";', 'record_errors = "dead_letter"; dead_letters = "dead";')
        self.kafka.produce(self.topic("in"), [{**bad, "key": None if i == 5 else "k", "value": str(i)} for i in range(2, 10)])

        def places():
            dead = [json.loads(value)["ordinal"] for value in self.kafka.values(self.topic("dead"))]
            return sorted(dead + [int(value) for value in self.passed_on()[1:]] + [0])  # the first one says "1"
        live.until(lambda: len(places()) >= 10, "all records")
        running.signal()
        self.assertEqual(running.wait().code, 0)
        self.assertEqual(places(), list(range(10)))


if __name__ == "__main__":
    live.main()
