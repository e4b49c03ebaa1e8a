"""kill -9 of stateful jobs with two stages that write to topics and a file, and of the broker below: whenever one dies, each record is there
once, and what was counted agrees. Three kills of each, a hundred with FLOWD_SOAK; each kill has a seed of its own, from 1 on, which says
when it comes."""
import collections
import datetime
import json
import random
import signal
import time

import live

ROWS, KEYS, STEP, WINDOW = 30000, 7, 10, 5  # a row each 10 ms of event time; windows of 5 s
MADE = 'system = "made"; count = %d; step = "%dms"; seed = 3; fields: { id = "sequence"; user = "key(%d)"; t = "timestamp"; };' % (ROWS, STEP, KEYS)
JOB = """application: {
  name = "$job";  checkpoint_interval = "150ms";  parallelism = 2;
  systems: { made: { type = "generate"; };  files: { type = "file"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; request_timeout = "30s"; }; };
  inputs:  { in: { INPUT }; };
  outputs: { all: { system = "kafka"; physical_name = "$all"; serde = "json"; };
             counts: { system = "kafka"; physical_name = "$counts"; serde: { key = "string"; value = "json"; }; };
             copy: { system = "files"; path = "copy.jsonl"; serde = "json"; }; };
  flow: ( { name = "keyed"; from = "in"; key_by = "user"; },
          { name = "windows"; from = "keyed"; window: { tumbling = "%ds"; time = "t"; out_of_order = "1s"; };
            aggregate: { n = "count(*)"; sum = "sum(id)"; }; }, { to = "counts"; },
          { from = "in"; to = "all"; }, { from = "in"; to = "copy"; } );
};
""" % WINDOW
FROM_NOWHERE = MADE + " partitions = 2; rate = 6000;"
FROM_A_TOPIC = 'system = "kafka"; physical_name = "$source"; serde: { type = "json"; fields: { id = "int64"; user = "string"; t = "timestamp"; }; };'
FILL = """application: {
  name = "$fill";  checkpoint_interval = "100ms";
  systems: { made: { type = "generate"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
  inputs:  { in: { INPUT }; };
  outputs: { out: { system = "kafka"; physical_name = "$source"; serde = "json"; partition = "id % 2"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
""".replace("INPUT", MADE + " rate = 4000;")
KILLS = 100 if live.SOAK else 3
MOST = 5  # kills of one job


def wait_for_the_moment(seed):
    """Of a kill."""
    time.sleep(random.Random(seed).uniform(0.3, 2.5))


class Crash(live.Test):
    def kill(self, seed):
        """Runs the job and kills it; false: it has finished before."""
        with self.flowd.start("run", "job.conf", "--log-level", "error") as job:
            wait_for_the_moment(seed)
            job.signal(signal.SIGKILL)
            ended = job.wait()
        self.assertIn(ended.code, (0, -signal.SIGKILL), str(ended))
        return ended.code != 0

    def run_until_done(self, seeds):
        """Kills it with these seeds, if it takes as long, then lets it finish; how often it was killed."""
        for killed, seed in enumerate(seeds):
            if not self.kill(seed):
                return killed
        self.flowd("run", "job.conf", "--log-level", "error", expect=0)
        return len(seeds)

    def run_while_its_topic_is_filled(self, seeds):
        """Kills it with these seeds; then lets it read what is left, to the end."""
        self.topic("fill")
        self.job(FILL, "fill.conf")
        with self.flowd.start("run", "fill.conf", "--log-level", "error") as fill:
            for seed in seeds:
                self.assertTrue(self.kill(seed))
            ended = fill.wait()
        self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual(self.sorted_ids(self.topic("source")), list(range(ROWS)))
        self.flowd("run", "job.conf", "--log-level", "error", "--set", "streams.in.bounded=true", expect=0)
        return len(seeds)

    def run_above_a_broker_that_dies(self, seeds):
        """Kills the broker with these seeds while the job goes on, if it takes as long; how often it was killed."""
        killed = 0
        with self.flowd.start("run", "job.conf", "--log-level", "warn") as job:
            for seed in seeds:
                wait_for_the_moment(seed)
                if not job.running():
                    break
                self.kafka.service("kill")
                self.kafka.service("start")
                killed += 1
            ended = job.wait()
        self.assertEqual(ended.code, 0, str(ended))
        return killed

    def agree(self, seeds):
        """Of the copy in the file, what topics and windows must say."""
        rows = [json.loads(line) for line in self.flowd.lines("copy.jsonl")]
        self.assertEqual(sorted(row["id"] for row in rows), list(range(ROWS)), seeds)
        self.assertEqual(self.sorted_ids(self.topic("all")), list(range(ROWS)), seeds)
        wanted = collections.defaultdict(list)
        for row in rows:
            wanted[row["user"], row["id"] * STEP // (WINDOW * 1000) * WINDOW].append(row["id"])
        windows = [json.loads(value) for value in self.kafka.values(self.kafka.settled(self.topic("counts")))]
        self.assertEqual(sorted((w["user"], seconds(w["window_start"]), w["n"], w["sum"]) for w in windows),
                         sorted((user, start, len(ids), sum(ids)) for (user, start), ids in wanted.items()), seeds)
        (self.folder / "copy.jsonl").unlink()

    def loop(self, run, source=FROM_NOWHERE):
        """Topics and a job of its own for each few kills."""
        seed = 1
        while seed <= KILLS:
            self.topics.clear()
            for name in ("source", "all", "counts"):
                self.kafka.create(self.topic(name), 2)
            self.topic("job")
            self.job(JOB.replace("INPUT", source))
            killed = run(range(seed, min(seed + MOST, KILLS + 1)))
            self.agree(f"{killed} kills with the seeds from {seed} on")
            seed += killed

    def test_given_kills_at_random_moments_when_the_job_has_finished_then_topics_file_and_state_agree(self):
        self.loop(self.run_until_done)

    def test_given_kills_of_a_job_that_reads_a_topic_when_it_has_read_it_then_topics_file_and_state_agree(self):
        self.loop(self.run_while_its_topic_is_filled, FROM_A_TOPIC)

    def test_given_kills_of_the_broker_when_the_job_has_finished_then_topics_file_and_state_agree(self):
        self.cluster()
        self.loop(self.run_above_a_broker_that_dies)


def seconds(text):
    return datetime.datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    live.main()
