"""Brokers that die, go away, run full or hand over: a job waits, says so, goes on, and each record is there once."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import live
from live import kafka, until

JOB = """application: {
  name = "faults";  checkpoint_interval = "200ms";
  systems: { made: { type = "generate"; };  files: { type = "file"; };
             kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; %(system)s }; };
  inputs:  { in: { system = "made"; count = %(count)d; rate = %(rate)d; fields: { id = "sequence"; text = "key(1000)"; }; }; };
  outputs: { out: { system = "kafka"; physical_name = "out"; serde = "json"; %(output)s };
             copy: { system = "files"; path = "copy.jsonl"; serde = "json"; }; };
  flow: ( { from = "in"; to = "out"; }, { from = "in"; to = "copy"; } );
};
"""
# For 10 s and more no answer of a broker has come for what was sent.
WAITED = r"\d+ records have waited \d+ s for an answer of the brokers; flowd goes on when they are back"
# The same where the broker went while a transaction was committed: nothing is on its way then but the commit.
COMMITS = "commit.*trying again"
READER = """application: {
  name = "reader";  checkpoint_interval = "200ms";
  systems: { files: { type = "file"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
  inputs:  { in: { system = "kafka"; physical_name = "out"; serde: { type = "json"; fields: { id = "int64"; text = "string"; }; }; }; };
  outputs: { echo: { system = "files"; path = "echo.jsonl"; serde = "json"; }; };
  flow: ( { from = "in"; to = "echo"; } );
};
"""
AWAY = 65 if live.SOAK else 4  # seconds
LONG = 65  # a transaction that is open for a minute is lost


class Faults(live.Test):
    """Each test with a cluster of its own."""

    def cluster(self, *options, topic=("out", 2), **configs):
        super().cluster(*options)
        self.kafka.create(*topic, **configs)

    def setUp(self):
        super().setUp()
        self.kafka = None

    def written(self, count=12000, rate=3000, **parts):
        self.job(JOB % {"count": count, "rate": rate, "system": parts.get("system", ""), "output": parts.get("output", "")})

    def wait_for_some(self, job):
        try:
            until(lambda: sum(p["high"] for p in self.kafka.describe("out")) > 500, "the first records")
        except AssertionError as problem:
            job.process.kill()
            raise AssertionError(f"{problem}\n{job.wait()}") from None

    def check(self, job, count=12000, once=True):
        ended = job.wait()
        self.assertEqual(ended.code, 0, str(ended))
        ids = self.sorted_ids("out")
        doubled = [a for a, b in zip(ids, ids[1:]) if a == b]
        self.assertTrue(not once or not doubled, f"{len(doubled)} records are there twice, from {doubled[:1]}\n{ended}")
        self.assertEqual(sorted(set(ids)), list(range(count)))
        self.check_order(once)
        self.assertEqual(sorted(record["id"] for record in self.records("copy.jsonl")), list(range(count)))
        return ended

    def check_order(self, once):
        """Each partition has its records as they were written, whatever was sent again: once, or for the first time."""
        partitions = collections.defaultdict(list)
        for record in self.kafka.consume("out"):
            partitions[record["partition"]].append(json.loads(record["value"])["id"])
        for partition, ids in partitions.items():
            first = ids if once else list(dict.fromkeys(ids))
            wrong = [(a, b) for a, b in zip(first, first[1:]) if a >= b]
            self.assertFalse(wrong, f"partition {partition}: {len(wrong)} records stand behind later ones, from {wrong[:1]}")

    def killed_and_back(self, output, once, away=AWAY):
        self.cluster()
        self.written(output=output)
        with self.flowd.start("run", "job.conf") as job:
            self.wait_for_some(job)
            self.kafka.service("kill")
            time.sleep(away)
            self.kafka.service("start")
            return self.check(job, once=once)

    def test_given_a_broker_that_is_killed_and_comes_back_when_the_job_has_ended_then_each_record_is_there_once(self):
        self.killed_and_back("", True)

    @live.takes_minutes
    def test_given_a_broker_that_is_away_for_more_than_a_minute_when_it_is_back_then_each_record_is_there_once_and_the_job_said_that_it_waited(self):
        said = self.killed_and_back("", True, LONG).err
        self.assertRegex(said, f"{WAITED}|{COMMITS}")
        self.assertRegex(said, f"going back to epoch|{COMMITS}")  # the transaction's minute was over

    @live.takes_minutes
    def test_given_no_transaction_when_the_broker_is_away_for_more_than_a_minute_then_no_record_is_missing_and_the_job_said_that_it_waited(self):
        said = self.killed_and_back('delivery = "at_least_once";', False, LONG).err
        self.assertRegex(said, WAITED)
        self.assertNotIn("going back to epoch", said)

    def test_given_a_broker_that_is_killed_and_comes_back_when_delivery_is_at_least_once_then_no_record_is_missing(self):
        self.killed_and_back('delivery = "at_least_once";', False)

    def test_given_a_broker_that_stands_still_when_it_goes_on_then_each_record_is_there_once(self):
        self.cluster()
        self.written()
        broker = int(re.search(r"process (\d+)", self.kafka.service("status"))[1])
        with self.flowd.start("run", "job.conf") as job:
            self.wait_for_some(job)
            os.kill(broker, signal.SIGSTOP)
            try:
                time.sleep(2 * AWAY)
                self.assertTrue(job.running())
            finally:
                os.kill(broker, signal.SIGCONT)
            self.check(job)

    def test_given_three_brokers_when_the_leader_is_killed_then_another_one_goes_on(self):
        self.cluster("--brokers", "3", topic=("out", 1))
        self.written()
        with self.flowd.start("run", "job.conf") as job:
            self.wait_for_some(job)
            leader = self.kafka.describe("out")[0]["leader"]
            self.kafka.service("kill", "--node", leader)
            self.check(job)
        self.assertNotEqual(self.kafka.describe("out")[0]["leader"], leader)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_given_a_disk_that_is_full_when_there_is_room_again_then_the_job_goes_on(self):
        disk = pathlib.Path(tempfile.mkdtemp(prefix="flowd-disk-"))
        self.addCleanup(shutil.rmtree, disk, ignore_errors=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "flowd", disk], check=False).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        self.cluster("--data", disk, "--set", "log.segment.bytes=8388608", "--set", "log.index.size.max.bytes=1048576",
                     "--set", "log.preallocate=false", topic=("out", 1))
        self.kafka.create("ballast")
        self.written(30000)
        self.job(READER, "reader.conf")
        with self.flowd.start("run", "job.conf") as job, self.flowd.start("run", "reader.conf") as reader:
            self.wait_for_some(job)
            filler = subprocess.run(self.kafka.words("generate", "ballast", 200000, 1000, properties={"message.timeout.ms": 4000}),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120)
            self.assertNotEqual(filler.returncode, 0, "the disk was not full")
            until(lambda: "down" in self.status(), "the end of the broker")
            time.sleep(12)  # after 10 s the job says that it waits
            subprocess.run(["mount", "-o", "remount,size=400m", disk], check=True)
            self.kafka.service("start")
            self.assertRegex(self.check(job, 30000).err, f"{WAITED}|{COMMITS}")
            until(lambda: len(self.echoed()) >= 30000 or not reader.running(), "all records at the reader", 90)
            reader.signal()
            ended = reader.wait()
        self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual(sorted(self.echoed()), list(range(30000)))

    def echoed(self):
        """The numbers that the reader has written so far; an unbounded job still writes the temporary beside the file."""
        lines = [line for path in self.folder.glob("*echo.jsonl*") for line in path.read_text().splitlines(keepends=True)]
        return [json.loads(line)["id"] for line in lines if line.endswith("\n")]

    def status(self):
        return subprocess.run([str(kafka.SCRIPT), "status", "--folder", str(self.kafka.folder)], stdout=subprocess.PIPE, text=True, check=False).stdout


class Secure(live.Test):
    """The shared broker's other listeners."""

    def run_with(self, listener, security, expect):
        self.topics.clear()
        self.kafka.create(self.topic("out"))
        text = JOB % {"count": 100, "rate": 100000, "system": f"request_timeout = \"3s\"; security: {{ {security} }};", "output": ""}
        text = text.replace('"faults"', f'"{self.topic("job")}"').replace('"out"', f'"{self.topic("out")}"', 1)
        self.job(text.replace('physical_name = "out"', f'physical_name = "{self.topic("out")}"'), servers=self.kafka.state[listener])
        ended = self.flowd("run", "job.conf", expect=expect)
        self.assertNotIn("flowd-secret", ended.err + ended.out)
        (self.folder / "copy.jsonl").unlink(missing_ok=True)
        if expect == 0:
            self.assertEqual(self.sorted_ids(self.topic("out")), list(range(100)))
        return ended.err

    def test_given_tls_and_passwords_when_a_job_writes_then_it_is_let_in(self):
        state = self.kafka.state
        tls = f'tls = true; ca = "{state["ca_pem"]}";'
        plain = f'mechanism = "plain"; username = "{state["user"]}"; password = "{state["password"]}";'
        self.run_with("tls", tls, 0)
        self.run_with("tls", f'{tls} certificate = "{state["client_pem"]}"; key = "{state["client_key_pem"]}";', 0)
        self.run_with("sasl", plain, 0)
        self.run_with("sasl_tls", tls + plain, 0)

    def test_given_a_wrong_password_or_authority_when_a_job_writes_then_it_says_what_was_refused(self):
        state = self.kafka.state
        wrong = f'mechanism = "plain"; username = "{state["user"]}"; password = "wrong-secret";'
        self.assertIn("Authentication failed", self.run_with("sasl", wrong, 3))
        self.assertIn("certificate verify failed", self.run_with("tls", f'tls = true; ca = "{state["client_pem"]}";', 3))

    def test_given_scram_when_a_job_writes_then_it_is_let_in_or_told_why_not(self):
        state = self.kafka.state
        scram = f'mechanism = "scram_sha_256"; username = "{state["user"]}"; password = "{state["password"]}";'
        if int(self.kafka.tool("version"), 16) >= 0x02060100:
            self.run_with("sasl", scram, 0)
        else:
            self.assertIn("needs librdkafka 2.6.1", self.run_with("sasl", scram, 3))


if __name__ == "__main__":
    live.main()
