"""Records to topics: made when asked for, refused with a reason, visible once and together with files and state."""
import subprocess

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
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=25, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def test_given_a_topic_that_is_missing_when_it_is_to_be_made_then_it_has_the_partitions_and_settings_asked_for(self):
        self.made(output='create = true; partitions = 3; config: { cleanup: { policy = "compact"; }; };', steps='key_by = "user";')
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(len(self.kafka.describe(self.topic("out"))), 3)
        self.assertEqual(self.sorted_ids(self.topic("out")), list(range(1000)))
        refused = self.kafka.tool("produce", self.topic("out"), records=[{"value": "no key"}], expect=1)
        self.assertIn("INVALID_RECORD", refused)  # it is compacted

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


if __name__ == "__main__":
    live.main()
