"""The system kafka as a source, against a real broker: what is read, where reading begins and ends, and what is said when it cannot."""
import shutil
import time

import live
import topics
from topics import flowd_driver, kafka, records


class WhatIsRead(topics.Test):
    def test_given_records_in_partitions_when_a_bounded_job_reads_them_then_it_has_each_once_in_order_and_ends(self):
        topic = self.topic(partitions=4)
        for partition in range(4):
            self.kafka.produce(topic, records(*(f"{partition}:{i}" for i in range(500)), partition=partition))
        for tasks in (1, 3):
            self.flowd("run", self.to_file(topic, more=f"parallelism = {tasks};"), "--fresh", expect=0)
            seen = self.lines()
            self.assertEqual(len(seen), 2000)
            for partition in range(4):
                mine = [line for line in seen if line.startswith(f"{partition}:")]
                self.assertEqual(mine, [f"{partition}:{i}" for i in range(500)])

    def test_given_an_empty_topic_when_a_bounded_job_reads_it_then_it_ends(self):
        self.flowd("run", self.to_file(self.topic(partitions=2)), expect=0)
        self.assertEqual(self.lines(), [])

    def test_given_large_records_when_they_are_read_then_they_are_whole(self):
        topic = self.topic()
        values = ["a" * 900000, "b", "c" * 300000]
        self.kafka.produce(topic, records(*values))
        self.flowd("run", self.to_file(topic, 'fetch_message_max_bytes = "1KiB";'), expect=0)
        self.assertEqual(self.lines(), values)

    def test_given_transactions_when_they_are_read_then_only_committed_records_come_unless_all_are_wanted(self):
        topic = self.topic()
        self.kafka.produce(topic, [{"begin": True}, *records("a"), {"commit": True}, {"begin": True}, *records("b"), {"abort": True}],
                           transaction=topic)
        self.flowd("run", self.to_file(topic), expect=0)
        self.assertEqual(self.lines(), ["a"])
        self.flowd("run", self.to_file(topic, 'isolation = "read_uncommitted";'), "--fresh", expect=0)
        self.assertEqual(self.lines(), ["a", "b"])

    def gaps(self, topic):
        """How many offsets in front of a record have none."""
        offsets = [record["offset"] for record in self.kafka.consume(topic)]
        return offsets[-1] + 1 - len(offsets)

    def test_given_a_topic_that_lost_records_to_compaction_when_it_is_read_then_the_gaps_are_passed(self):
        topic = self.topic(cleanup_policy="compact", segment_ms=200, min_cleanable_dirty_ratio=0.01, delete_retention_ms=0,
                           max_compaction_lag_ms=200)
        rounds = 0

        def is_compacted():
            nonlocal rounds  # a later record rolls the segment, and only what lies in front of it is compacted
            self.kafka.produce(topic, [{"key": f"k{n}", "value": f"{rounds}"} for n in range(20)])
            rounds += 1
            return self.gaps(topic) >= 20

        flowd_driver.until(is_compacted, "the compaction", 60)
        self.flowd("run", self.to_file(topic, f'group = "{topic}";'), expect=0)
        self.assertEqual(self.lines()[-20:], [f"{rounds - 1}"] * 20)
        self.assertLessEqual(len(self.lines()), 20 * rounds - 20)
        self.assertEqual(self.kafka.committed(topic, topic)[0]["offset"], 20 * rounds)


class WhereReadingBegins(topics.Test):
    def setUp(self):
        super().setUp()
        self.name = self.topic(partitions=2)
        self.kafka.produce(self.name, [{"value": f"p0-{i}", "partition": 0, "timestamp": 1700000000000 + i * 1000} for i in range(5)] +
                           [{"value": "p1-0", "partition": 1, "timestamp": 1700000000000}])

    def read(self, options):
        self.flowd("run", self.to_file(self.name, options), "--fresh", expect=0)
        return sorted(self.lines())

    def test_given_a_time_when_reading_begins_there_then_older_records_are_not_read(self):
        self.assertEqual(self.read('start_timestamp = "2023-11-14T22:13:23Z";'), ["p0-3", "p0-4"])

    def test_given_offsets_when_reading_begins_there_then_the_others_begin_as_the_default_says(self):
        self.assertEqual(self.read('start_offsets = ( { name = "0"; value = 4; } );'), ["p0-4", "p1-0"])
        self.assertEqual(self.read('offset_default = "newest"; start_offsets = ( { name = "0"; value = 4; } );'), ["p0-4"])

    def test_given_newest_when_a_bounded_job_reads_then_there_is_nothing_for_it(self):
        self.assertEqual(self.read('offset_default = "newest";'), [])

    def test_given_an_offset_beyond_the_end_when_reading_would_begin_there_then_the_error_names_the_range(self):
        failed = self.flowd("run", self.to_file(self.name, 'start_offsets = ( { name = "0"; value = 17; } );'), expect=1)
        for word in (self.name, "partition 0", "17", "0 to 5", "offset_reset"):
            self.assertIn(word, failed.err)

    def test_given_a_group_when_a_job_has_read_then_the_group_stands_at_the_end_and_the_next_job_goes_on_there(self):
        group = f'group = "{self.name}";'
        self.assertEqual(len(self.read(group)), 6)
        self.assertEqual({p: o["offset"] for p, o in self.kafka.committed(self.name, self.name).items()}, {0: 5, 1: 1})
        self.kafka.produce(self.name, records("new"))
        self.assertEqual(self.read(group), ["new"])
        self.assertEqual(len(self.read(group + " reset_offset = true;")), 7)


JOINED = """application: {{
  name = "job";
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; serde: {{ key = "string"; value: {{ type = "json"; fields: {{ id = "string"; }}; }}; }}; }};
             files: {{ type = "file"; }}; }};
  inputs:  {{ members: {{ system = "kafka"; physical_name = "{members}"; bounded = true; bootstrap = true; group = "{members}";
                        serde: {{ key = "string"; value: {{ type = "json"; fields: {{ id = "string"; name = "string"; }}; }}; }}; }};
             views: {{ system = "kafka"; physical_name = "{views}"; bounded = true; group = "{views}"; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "json"; }}; }};
  tables:  {{ member: {{ type = "memory"; }}; }};
  flow: ( {{ from = "members"; key_by = "id"; }}, {{ write_table = "member"; }},
          {{ from = "views"; key_by = "id"; }}, {{ join_table = "member"; }}, {{ project = ["id", "name"]; }}, {{ to = "out"; }} );
}};
"""


class Tables(topics.Test):
    def test_given_a_compacted_topic_that_feeds_a_table_when_a_job_goes_on_by_group_then_the_table_has_all_rows_again(self):
        members, views = self.topic("members", 2, cleanup_policy="compact"), self.topic("views", 2)
        self.kafka.produce(members, [{"key": n, "value": f'{{"id": "{n}", "name": "{n.upper()}"}}'} for n in ("ann", "bob")])
        self.write("job.conf", JOINED.format(servers=self.kafka.servers, members=members, views=views))
        for name in ("ann", "bob"):
            self.kafka.produce(views, [{"key": name, "value": f'{{"id": "{name}"}}'}])
            self.flowd("run", "job.conf", expect=0)
            self.assertEqual(self.lines(), [f'{{"id":"{name}","name":"{name.upper()}"}}'])


HELD_BACK = """application: {{
  name = "job";
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; fetch_threshold_bytes = "1MiB"; }};  files: {{ type = "file"; }};
             made: {{ type = "generate"; }};  none: {{ type = "null"; }}; }};
  inputs:  {{ slow: {{ system = "made"; count = 30; rate = 10; fields: {{ id = "sequence"; }}; bounded = true; bootstrap = true; }};
             in: {{ system = "kafka"; physical_name = "{topic}"; bounded = true; serde = "string"; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "string"; }};  nowhere: {{ system = "none"; }}; }};
  flow: ( {{ from = "slow"; to = "nowhere"; }}, {{ from = "in"; to = "out"; }} );
}};
"""


class HeldBack(topics.Test):
    def test_given_an_input_that_waits_for_a_slow_bootstrap_when_its_turn_comes_then_it_has_each_record_once_in_order(self):
        topic = self.topic()
        values = [f"{i:06}" + "x" * 1000 for i in range(5000)]
        self.kafka.produce(topic, records(*values))
        self.write("job.conf", HELD_BACK.format(servers=self.kafka.servers, topic=topic))
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(self.lines(), values)


class WhatCannotBe(topics.Test):
    def test_given_a_topic_that_is_not_there_when_a_job_is_planned_then_its_name_is_told_soon(self):
        began = time.monotonic()
        failed = self.flowd("run", self.to_file("no-such-topic"), expect=3)
        self.assertIn("there is no topic 'no-such-topic'", failed.err)
        self.assertLess(time.monotonic() - began, 15)

    def test_given_no_broker_when_a_job_is_planned_then_the_error_says_so_within_the_patience_that_is_configured(self):
        self.kafka.servers = "127.0.0.1:1"
        failed = self.flowd("run", self.to_file("t", system='request_timeout = "1s";'), expect=3)
        self.assertIn("no answer from the brokers within 1000 ms", failed.err)
        self.assertIn("bootstrap_servers", failed.err)


class WhileAJobRuns(topics.Test):
    def run_on(self, topic, options=""):
        return self.start(self.to_file(topic, options, 'discovery_interval = "500ms";', False, 'checkpoint_interval = "200ms";'))

    def test_given_partitions_that_are_added_when_they_are_found_then_they_are_read_from_their_first_record(self):
        topic = self.topic()
        self.kafka.produce(topic, records("g0", "g1"))
        running = self.run_on(topic, 'offset_default = "newest"; start_offsets = ( { name = "0"; value = 0; } );')
        self.see("g0", "g1")
        self.kafka.tool("grow", topic, "--partitions", 3)
        self.kafka.produce(topic, records("p1-0", "p1-1", partition=1) + records("p2-0", partition=2) + records("g2"))
        self.see("g0", "g1", "g2", "p1-0", "p1-1", "p2-0")
        self.end(running)

    def test_given_a_pattern_when_topics_appear_then_they_are_read_too(self):
        first = self.topic("pattern-a")
        prefix = first.replace("pattern-a", "pattern-.")
        self.kafka.produce(first, records("a"))
        running = self.run_on("unused", f'pattern = "{prefix}";')
        self.see("a")
        second = self.kafka.create(first.replace("pattern-a", "pattern-b"), 2)
        self.kafka.produce(second, records("b", partition=1))
        self.see("a", "b")
        self.end(running)

    def run_by_the_hour(self, topic, options=""):
        """New partitions are looked for once an hour; that a topic is gone is noticed all the same."""
        return self.start(self.to_file(topic, options, 'discovery_interval = "1h";', False, 'checkpoint_interval = "200ms";'))

    def test_given_a_topic_that_is_deleted_when_it_was_being_read_then_the_job_ends_and_says_so(self):
        for options in "", 'group = "$T"; assignment = "group";':
            topic = self.topic()
            self.kafka.produce(topic, records("a"))
            (self.folder / "out.txt").unlink(missing_ok=True)
            running = self.run_by_the_hour(topic, options.replace("$T", topic))
            self.see("a")
            self.kafka.delete(topic)
            ended = running.wait()
            self.assertEqual(ended.code, 1, str(ended))
            self.assertIn(topic, ended.err)
            shutil.rmtree(self.folder / "state", ignore_errors=True)
            for path in self.folder.glob("*out.txt*"):
                path.unlink()

    def test_given_a_topic_that_is_deleted_and_made_anew_when_the_option_says_so_then_all_of_the_new_one_is_read(self):
        topic = self.topic()
        self.kafka.produce(topic, records("a"))
        running = self.run_by_the_hour(topic, 'offset_reset = "oldest";')
        self.see("a")
        self.kafka.delete(topic)
        time.sleep(6)  # it is noticed within 4 s; a topic that is back before is told from the old one by its offsets only
        self.assertTrue(running.running())
        flowd_driver.until(lambda: self.kafka.create(topic) == topic, "the topic")
        new = [f"new-{i}" for i in range(5)]
        self.kafka.produce(topic, records(*new))
        self.see("a", *new)
        ended = self.end(running)
        self.assertIn("waiting for it", ended.err)
        self.assertIn("deleted and made anew", ended.err)

    def test_given_a_topic_that_was_made_anew_when_the_job_goes_on_then_the_lost_position_is_told(self):
        topic = self.topic()
        self.kafka.produce(topic, records("a", "b", "c"))
        running = self.run_on(topic)
        self.see("a", "b", "c")
        self.end(running)
        self.kafka.delete(topic)
        flowd_driver.until(lambda: self.kafka.create(topic) == topic, "the topic")
        failed = self.flowd("run", "job.conf", expect=1)
        for word in (topic, "partition 0", "offset 3", "0 to 0", "made anew"):
            self.assertIn(word, failed.err)

    def test_given_records_that_are_deleted_while_they_wait_when_the_job_goes_on_then_it_does_as_it_is_told(self):
        topic = self.topic()
        self.kafka.produce(topic, records("a"))
        running = self.run_on(topic)
        self.see("a")
        self.end(running)
        self.kafka.produce(topic, records("b", "c", "d"))
        self.kafka.tool("cut", topic, 0, 3)
        failed = self.flowd("run", "job.conf", expect=1)
        for word in (topic, "offset 1", "3 to 4", "offset_reset"):
            self.assertIn(word, failed.err)
        running = self.run_on(topic, 'offset_reset = "oldest";')
        self.see("a", "d")
        self.assertIn("2 records from offset 1 on are lost", self.end(running).err)

    def test_given_delete_committed_messages_when_records_were_used_then_they_go(self):
        topic = self.topic()
        self.kafka.produce(topic, records("a", "b"))
        running = self.run_on(topic, "delete_committed_messages = true;")
        self.see("a", "b")
        flowd_driver.until(lambda: self.kafka.describe(topic)[0]["low"] == 2, "the deletion")
        self.end(running)

    @live.takes_minutes
    def test_given_a_broker_that_is_away_for_more_than_a_minute_when_it_is_back_then_reading_goes_on(self):
        self.kafka = kafka.Kafka.started(self.folder / "broker", "--heap", "256m")
        self.addCleanup(lambda: self.kafka.service("kill"))
        topic = self.topic()
        self.kafka.produce(topic, records("a"))
        running = self.run_on(topic)
        self.see("a")
        self.kafka.service("kill")
        time.sleep(65)
        self.assertTrue(running.running())
        self.kafka.service("start")
        self.kafka.produce(topic, records("b"))
        self.see("a", "b")
        self.end(running)


if __name__ == "__main__":
    topics.main()
