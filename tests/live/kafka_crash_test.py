"""kill -9 of a stateful job with two stages that writes to two topics and a file, and of the broker below it: whenever one dies, each
record is there once, and what was counted agrees. Three kills of each with fixed seeds; a hundred with FLOWD_SOAK."""
import collections
import json
import random
import signal
import time

import live

ROWS, KEYS, STEP = 30000, 7, 10  # a row each 10 ms of event time
JOB = """application: {
  name = "$job";  checkpoint_interval = "150ms";  parallelism = 2;
  systems: { made: { type = "generate"; };  files: { type = "file"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
  inputs:  { in: { system = "made"; count = %d; partitions = 2; rate = 6000; step = "%dms"; seed = 3;
                   fields: { id = "sequence"; user = "key(%d)"; t = "timestamp"; }; }; };
  outputs: { all: { system = "kafka"; physical_name = "$all"; serde = "json"; };
             counts: { system = "kafka"; physical_name = "$counts"; serde: { key = "string"; value = "json"; }; };
             copy: { system = "files"; path = "copy.jsonl"; serde = "json"; }; };
  flow: ( { name = "keyed"; from = "in"; key_by = "user"; },
          { name = "windows"; from = "keyed"; window: { tumbling = "5s"; time = "t"; out_of_order = "1s"; };
            aggregate: { n = "count(*)"; sum = "sum(id)"; }; }, { to = "counts"; },
          { from = "in"; to = "all"; }, { from = "in"; to = "copy"; } );
};
""" % (ROWS, STEP, KEYS)
KILLS = 100 if live.SOAK else 3


class Crash(live.Test):
    def run_until_done(self, chance, kills):
        """Kills it up to so many times, at random moments, then lets it finish; how often it was killed."""
        killed = 0
        while True:
            with self.flowd.start("run", "job.conf", "--log-level", "error") as job:
                if killed < kills:
                    time.sleep(chance.uniform(0.3, 2.5))
                    job.signal(signal.SIGKILL)
                ended = job.wait()
            if ended.code == 0:
                return killed
            self.assertEqual(ended.code, -signal.SIGKILL, str(ended))
            killed += 1

    def run_above_a_broker_that_dies(self, chance, kills):
        """Kills the broker up to so many times, at random moments, while the job goes on; how often it was killed."""
        killed = 0
        with self.flowd.start("run", "job.conf", "--log-level", "warn") as job:
            while killed < kills:
                time.sleep(chance.uniform(0.3, 2.5))
                if not job.running():
                    break
                self.kafka.service("kill")
                self.kafka.service("start")
                killed += 1
            ended = job.wait()
        self.assertEqual(ended.code, 0, str(ended))
        return killed

    def agree(self, seed):
        """Of the copy in the file, what topics and windows must say."""
        rows = [json.loads(line) for line in self.flowd.lines("copy.jsonl")]
        self.assertEqual(sorted(row["id"] for row in rows), sorted(range(ROWS)), f"seed {seed}")
        self.assertEqual(self.sorted_ids(self.topic("all")), list(range(ROWS)), f"seed {seed}")
        counts = [json.loads(value) for value in self.kafka.values(self.kafka.settled(self.topic("counts")))]
        found = collections.Counter()
        for window in counts:
            found[window["user"]] += window["n"]
        self.assertEqual(found, collections.Counter(row["user"] for row in rows), f"seed {seed}")
        self.assertEqual(sum(window["sum"] for window in counts), sum(row["id"] for row in rows), f"seed {seed}")
        self.assertEqual(len(counts), len({(w["user"], w.get("window_start")) for w in counts}), f"seed {seed}: a window twice")
        (self.folder / "copy.jsonl").unlink()

    def loop(self, run):
        done = seed = 0
        while done < KILLS:
            seed += 1
            self.topics.clear()
            for name in ("all", "counts"):
                self.kafka.create(self.topic(name), 2)
            self.topic("job")
            self.job(JOB)
            done += run(random.Random(seed), min(5, KILLS - done))
            self.agree(seed)

    def test_given_kills_at_random_moments_when_the_job_has_finished_then_topics_file_and_state_agree(self):
        self.loop(self.run_until_done)

    def test_given_kills_of_the_broker_when_the_job_has_finished_then_topics_file_and_state_agree(self):
        self.cluster()
        self.loop(self.run_above_a_broker_that_dies)


if __name__ == "__main__":
    live.main()
