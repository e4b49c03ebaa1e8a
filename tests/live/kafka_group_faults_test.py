"""What stands still under readers of a group, and what groups are asked to share that they cannot."""
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time

import live
import topics
from topics import flowd_driver, kafka, records

AWAY = 60 if live.SOAK else 20  # seconds; a session lasts 6
JOB = """application: {{
  name = "{name}";  instance = "{name}";  checkpoint_interval = "200ms";  parallelism = 1;
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; consumer: {{ session: {{ timeout: {{ ms = 6000; }}; }}; }}; }};
             files: {{ type = "file"; }};  {systems} }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; serde = "string"; group = "{group}"; assignment = "group"; {options} }}; }};
  outputs: {{ out: {{ {output} serde = "string"; }};  {outputs} }};
  flow: ( {{ from = "in"; to = "out"; }} {flow} );
}};
"""


class Faults(topics.Test):
    def cluster(self, *options):
        """One of the test's own."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="flowd-kafka-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(kafka.service, "kill", folder)
        return kafka.Kafka.started(folder, "--heap", "256m", *options)

    def still(self, cluster):
        """Its broker stands still until the test goes on with it."""
        broker = int(re.search(r"process (\d+)", cluster.service("status"))[1])
        os.kill(broker, signal.SIGSTOP)
        go_on = lambda: os.kill(broker, signal.SIGCONT)  # noqa: E731
        self.addCleanup(go_on)
        return go_on

    def member(self, name, topic, output=None, systems="", group=None, options="", outputs="", flow=""):
        text = JOB.format(name=name, servers=self.kafka.servers, topic=topic, group=group or topic, systems=systems, options=options,
                          output=output or f'system = "files"; path = "{name}.txt";', outputs=outputs, flow=flow)
        self.write(f"{name}.conf", text)
        return self.start(f"{name}.conf", "--state-dir", f"state-{name}", "--status-file", f"{name}.json")

    def partitions(self, name):
        path = self.folder / f"{name}.json"
        inputs = flowd_driver.parse_json(path.read_text())["inputs"] if path.exists() else []
        return sorted(p for i in inputs for p in i.get("partitions", {}))

    def wait_for(self, condition, what):
        flowd_driver.until(condition, what, 60)


class AnOutputStandsStill(Faults):
    """The first member's output is a topic of a broker that stands still; a second one joins and writes to a file."""

    def share(self, options, delivery):
        topic, behind = self.topic(partitions=4), self.cluster()
        out = behind.create("out")
        first = self.member("a", topic, f'system = "behind"; physical_name = "{out}"; {delivery}',
                            f'behind: {{ type = "kafka"; bootstrap_servers = "{behind.servers}"; }};', options=options)
        for p in range(4):
            self.kafka.produce(topic, records(f"{p}-before", partition=p))
        self.wait_for(lambda: len(behind.values(out)) == 4, "the first records")
        go_on = self.still(behind)
        for p in range(4):
            self.kafka.produce(topic, records(f"{p}-held", partition=p))
        second = self.member("b", topic, options=options)
        self.wait_for(lambda: len(self.partitions("b")) == 2, "two partitions of the one that stands still")
        taken = self.partitions("b")
        self.see(*(f"{p}-held" for p in taken), name="b.txt")
        go_on()
        self.wait_for(lambda: {f"{p}-held" for p in range(4)} <= {*behind.values(out), *self.flowing_lines("b.txt")}, "the others")
        self.end(second)
        ended = self.end(first)
        self.assertIn("has waited 6000 ms (session.timeout.ms) for", ended.err)

    def test_given_an_output_that_stands_still_when_another_member_joins_then_it_has_its_partitions_after_a_session(self):
        self.share("", 'delivery = "at_least_once";')

    def test_given_eager_members_when_the_output_of_one_stands_still_then_the_other_has_its_partitions_after_a_session(self):
        self.share('rebalance = "eager";', 'delivery = "at_least_once";')


class ATransactionStandsStill(Faults):
    """The first member's transaction waits for another output, a topic of a broker that stands still. A second one joins; it writes to a
    topic of its own, since what is behind an open transaction is not seen."""

    def rebalances(self, name):
        return sum(i["rebalances"] for i in flowd_driver.parse_json((self.folder / f"{name}.json").read_text())["inputs"])

    def share(self, options, leaves=False):
        topic, out, other, behind = self.topic(partitions=4), self.topic("out"), self.topic("other"), self.cluster()
        copy = behind.create("copy")
        first = self.member("a", topic, f'system = "kafka"; physical_name = "{out}";', f'behind: {{ type = "kafka"; bootstrap_servers = "{behind.servers}"; }};', options=options,
                            outputs=f'copy: {{ system = "behind"; physical_name = "{copy}"; serde = "string"; delivery = "at_least_once"; }};',
                            flow=', { from = "in"; to = "copy"; }')
        for p in range(4):
            self.kafka.produce(topic, records(f"{p}-before", partition=p))
        self.wait_for(lambda: len(self.kafka.values(out)) == 4, "the first records")
        go_on = self.still(behind)
        for p in range(4):
            self.kafka.produce(topic, records(f"{p}-held", partition=p))
        second = self.member("b", topic, f'system = "kafka"; physical_name = "{other}";', options=options)
        self.wait_for(lambda: len(self.partitions("b")) == 2, "two partitions of the one that stands still")
        taken = {f"{p}-held" for p in self.partitions("b")}
        self.wait_for(lambda: taken <= set(self.kafka.values(other)), "their records")
        if leaves:
            rebalances = self.rebalances("a")
            self.end(second)
            self.wait_for(lambda: self.rebalances("a") > rebalances, "what it had")
        go_on()
        every = [f"{p}-{when}" for p in range(4) for when in ("before", "held")]
        self.wait_for(lambda: set(every) <= {*self.kafka.values(out), *self.kafka.values(other)}, "the others")
        if not leaves:
            self.end(second)
        ended = self.end(first)
        self.assertEqual(sorted(value for to in (out, other) for value in self.kafka.values(self.kafka.settled(to))), every)
        self.assertIn("were given up before what was read of them was committed", ended.err)

    def test_given_a_transaction_that_stands_still_when_its_partitions_are_given_up_then_it_is_lost_and_each_record_is_there_once(self):
        self.share("")

    def test_given_eager_members_when_the_transaction_of_one_stands_still_then_it_is_lost_and_each_record_is_there_once(self):
        self.share('rebalance = "eager";')

    def test_given_partitions_that_come_back_when_the_transaction_that_stood_still_goes_on_then_it_is_lost_and_each_record_is_there_once(self):
        """The other member has read and committed what stands in that transaction, and has left."""
        self.share("", leaves=True)

    def test_given_eager_members_when_partitions_come_back_before_the_transaction_goes_on_then_it_is_lost_and_each_record_is_there_once(self):
        self.share('rebalance = "eager";', leaves=True)


class TheBrokerStandsStill(Faults):
    def test_given_a_broker_that_stands_still_for_longer_than_a_session_when_it_goes_on_then_its_members_read_on(self):
        self.kafka = self.cluster()
        topic = self.topic(partitions=2)
        first, second = self.member("a", topic), self.member("b", topic)
        self.wait_for(lambda: (len(self.partitions("a")), len(self.partitions("b"))) == (1, 1), "one partition each")
        for p in range(2):
            self.kafka.produce(topic, records(f"{p}-before", partition=p))
        self.wait_for(lambda: len(self.flowing_lines("a.txt") + self.flowing_lines("b.txt")) == 2, "the first records")
        go_on = self.still(self.kafka)
        time.sleep(8)  # the session ends after 6 s
        self.assertTrue(first.running() and second.running())
        go_on()
        for p in range(2):
            self.kafka.produce(topic, records(f"{p}-after", partition=p))
        wanted = {f"{p}-{when}" for p in range(2) for when in ("before", "after")}
        self.wait_for(lambda: set(self.flowing_lines("a.txt") + self.flowing_lines("b.txt")) == wanted, "what came behind it")
        self.end(first)
        self.end(second)

    def test_given_a_broker_that_is_away_for_a_while_when_it_is_back_then_a_group_reads_on(self):
        self.kafka = self.cluster()
        topic = self.topic()
        self.kafka.produce(topic, records("a"))
        running = self.member("a", topic)
        self.see("a", name="a.txt")
        self.kafka.service("kill")
        time.sleep(AWAY)
        self.assertTrue(running.running())
        self.kafka.service("start")
        self.kafka.produce(topic, records("b"))
        self.wait_for(lambda: set(self.flowing_lines("a.txt")) == {"a", "b"}, "what came later")
        self.end(running)

    def test_given_three_brokers_when_the_leader_of_a_partition_is_killed_then_each_record_is_read_once(self):
        self.kafka = self.cluster("--brokers", "3")
        topic = self.topic()
        running = self.start(self.to_file(topic, bounded=False, more='checkpoint_interval = "200ms";'))
        before = [f"before-{i}" for i in range(500)]
        self.kafka.produce(topic, records(*before))
        self.wait_for(lambda: self.flowing_lines() == before, "the first records")
        leader = self.kafka.describe(topic)[0]["leader"]
        self.kafka.service("kill", "--node", leader)
        after = [f"after-{i}" for i in range(500)]
        self.kafka.produce(topic, records(*after))
        self.wait_for(lambda: self.flowing_lines() == before + after, "records of the new leader")
        self.end(running)
        self.assertNotEqual(self.kafka.describe(topic)[0]["leader"], leader)


class OneGroupForTwo(Faults):
    def test_given_a_group_that_deals_otherwise_when_a_job_joins_it_then_it_ends_and_says_why(self):
        topic = self.topic(partitions=2)
        first = self.member("a", topic)
        self.wait_for(lambda: len(self.partitions("a")) == 2, "all partitions")
        second = self.member("b", topic, options='rebalance = "eager";')
        ended = second.wait()
        self.assertEqual(ended.code, 1, str(ended))
        for word in (topic, "rebalance", "group"):
            self.assertIn(word, ended.err)
        self.assertEqual(len(self.partitions("a")), 2)
        self.end(first)

    def test_given_a_group_of_a_job_that_reads_another_topic_when_a_job_joins_it_then_each_has_the_partitions_of_its_own(self):
        one, other = self.topic("one", 2), self.topic("other", 2)
        first, second = self.member("a", one, group=one), self.member("b", other, group=one)
        self.wait_for(lambda: (len(self.partitions("a")), len(self.partitions("b"))) == (2, 2), "their partitions")
        self.kafka.produce(one, records("1"))
        self.kafka.produce(other, records("2", partition=1))
        self.see("1", name="a.txt")
        self.see("2", name="b.txt")
        self.end(second)
        self.end(first)


if __name__ == "__main__":
    topics.main()
