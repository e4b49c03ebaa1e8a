"""Processes that share a topic by a consumer group."""
import json
import shutil
import signal
import time

import topics
from topics import flowd_driver, records


class Sharing(topics.Test):
    def member(self, topic, number, options="", more="", session=6000):
        """The number-th process; it writes out<number>.txt."""
        return self.start(self.to_file(
            topic, f'group = "{topic}"; assignment = "group"; {options}', f'consumer: {{ session: {{ timeout: {{ ms = {session}; }}; }}; }};', False,
            f'checkpoint_interval = "200ms"; {more}', name=f"job{number}.conf", out=f"out{number}.txt"), "--state-dir", f"state{number}",
            "--status-file", f"status{number}.json")

    def partitions(self, number):
        path = self.folder / f"status{number}.json"
        if not path.exists():
            return []
        status = json.loads(path.read_text())
        return sorted(p for i in status["inputs"] for p in i.get("partitions", {}))

    def all_lines(self):
        return sorted(self.flowing_lines("out1.txt") + self.flowing_lines("out2.txt"))

    def wait_for(self, condition, what):
        flowd_driver.until(condition, what, 40)

    def test_given_one_process_when_it_reads_by_group_then_the_group_stands_where_it_ended_and_the_next_goes_on(self):
        topic = self.topic(partitions=3)
        for p in range(3):
            self.kafka.produce(topic, records(f"{p}-a", f"{p}-b", partition=p))
        running = self.member(topic, 1)
        self.see(*(f"{p}-{x}" for p in range(3) for x in "ab"), name="out1.txt")
        self.end(running)
        self.assertEqual({p: o["offset"] for p, o in self.kafka.committed(topic, topic).items()}, {0: 2, 1: 2, 2: 2})
        self.kafka.produce(topic, records("new", partition=1))
        running = self.member(topic, 2)
        self.see("new", name="out2.txt")
        self.end(running)

    def share(self, options):
        topic = self.topic(partitions=4)
        first = self.member(topic, 1, options)
        self.wait_for(lambda: len(self.partitions(1)) == 4, "all partitions")
        for p in range(4):
            self.kafka.produce(topic, records(f"before-{p}", partition=p))
        self.wait_for(lambda: len(self.all_lines()) == 4, "the first records")
        second = self.member(topic, 2, options)
        self.wait_for(lambda: (len(self.partitions(1)), len(self.partitions(2))) == (2, 2), "two partitions each")
        for p in range(4):
            self.kafka.produce(topic, records(f"shared-{p}", partition=p))
        self.wait_for(lambda: len(self.all_lines()) == 8, "records of both")
        self.assertEqual(sorted(self.flowing_lines("out2.txt")), sorted(f"shared-{p}" for p in self.partitions(2)))
        self.end(second)
        self.wait_for(lambda: len(self.partitions(1)) == 4, "the partitions of the one that left")
        for p in range(4):
            self.kafka.produce(topic, records(f"after-{p}", partition=p))
        self.wait_for(lambda: len(self.all_lines()) == 12, "records after it left")
        self.end(first)
        self.assertEqual(len(set(self.all_lines())), 12)

    def test_given_cooperative_members_when_one_joins_and_leaves_then_each_record_is_read_once(self):
        self.share("")

    def test_given_eager_members_when_one_joins_and_leaves_then_each_record_is_read_once(self):
        self.share('rebalance = "eager";')

    def test_given_a_member_that_is_killed_when_its_time_is_over_then_another_reads_on_where_it_had_committed(self):
        topic = self.topic(partitions=2)
        first = self.member(topic, 1, more="parallelism = 1;")  # a task is a member
        second = self.member(topic, 2, more="parallelism = 1;")
        self.wait_for(lambda: (len(self.partitions(1)), len(self.partitions(2))) == (1, 1), "one partition each")
        second.signal(signal.SIGKILL)
        for p in range(2):
            self.kafka.produce(topic, records(f"late-{p}", partition=p))
        self.wait_for(lambda: sorted(self.flowing_lines("out1.txt")) == ["late-0", "late-1"], "what the killed one had")
        self.end(first)

    def leave_while_joining(self, options):
        """Longer than the test would last whatever stays in the group."""
        topic = self.topic(partitions=4)
        first = self.member(topic, 1, options, session=120000)
        self.wait_for(lambda: len(self.partitions(1)) == 4, "all partitions")
        for turn in range(6):
            second = self.member(topic, 2, options, session=120000)
            self.wait_for(lambda: (self.folder / "state2").exists(), "its start")
            time.sleep(turn * 0.2)  # somewhere within its first second
            self.end(second)
            shutil.rmtree(self.folder / "state2")
            for p in range(4):
                self.kafka.produce(topic, records(f"{turn}-{p}", partition=p))
            self.wait_for(lambda: len(self.all_lines()) == (turn + 1) * 4, "records of all partitions")
        self.end(first)
        self.assertEqual(len(set(self.all_lines())), 24)

    def test_given_a_cooperative_member_that_joins_when_it_is_stopped_then_others_do_not_wait_for_it(self):
        self.leave_while_joining("")

    def test_given_an_eager_member_that_joins_when_it_is_stopped_then_others_do_not_wait_for_it(self):
        self.leave_while_joining('rebalance = "eager";')

    def test_given_a_group_and_newest_when_a_partition_is_added_then_it_is_read_from_its_first_record(self):
        topic = self.topic(partitions=1)
        self.kafka.produce(topic, records("past"))
        running = self.member(topic, 1, 'offset_default = "newest";')
        self.wait_for(lambda: len(self.partitions(1)) == 1, "the partition")
        self.kafka.produce(topic, records("present"))
        self.see("present", name="out1.txt")
        self.kafka.tool("grow", topic, "--partitions", 2)
        self.kafka.produce(topic, records("young", partition=1))
        self.end(running)
        running = self.member(topic, 2, 'offset_default = "newest";')
        self.see("young", name="out2.txt")
        self.end(running)


if __name__ == "__main__":
    topics.main()
