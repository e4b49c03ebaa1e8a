"""Counts that never end: the result so far of each key that has changed, again and again."""
import signal

import e2e
from flowd_driver import until

COUNT = 3000
JOB = """application: {
  name = "counts";  checkpoint_interval = "50ms";
  systems: { files: { type = "file"; };  made: { type = "generate"; }; };
  inputs:  { in: { system = "made";  count = %d;  rate = 1500;   fields: { id = "sequence"; user = "key(7)"; }; }; };
  outputs: { out: { system = "files";  path = "out.jsonl";  serde = "json"; }; };
  flow: ( { from = "in";  key_by = "user"; }, { name = "counts";  aggregate: { n = "count(*)"; };  emit_every = "20ms"; }, { to = "out"; } );
};
"""


class Counts(e2e.Test):
    def counts(self):
        """The counts that were written, in their order, by user."""
        seen = {}
        for record in self.records("out.jsonl") if (self.folder / "out.jsonl").exists() else []:
            seen.setdefault(record["user"], []).append(record["n"])
        return seen

    def check(self):
        seen = self.counts()
        for user, counts in seen.items():
            self.assertEqual(counts, sorted(set(counts)), f"counts of {user} rise, and none comes twice")
        self.assertEqual(sum(counts[-1] for counts in seen.values()), COUNT)

    def test_given_an_input_that_ends_when_it_is_counted_then_counts_rise_up_to_the_whole(self):
        self.write("job.conf", JOB % COUNT)
        self.flowd("run", "job.conf", expect=0)
        self.check()
        self.assertGreater(max(len(counts) for counts in self.counts().values()), 3)

    def test_given_a_job_that_is_killed_when_it_runs_again_then_counts_go_on_where_they_were(self):
        self.write("job.conf", JOB % COUNT)
        with self.flowd.start("run", "job.conf") as job:
            until(lambda: any(self.folder.rglob("*out.jsonl*")), "results")
            job.signal(signal.SIGKILL)
            job.wait()
        self.flowd("run", "job.conf", expect=0)
        self.check()

    def test_given_an_input_without_end_when_it_is_counted_then_results_come_before_it_is_stopped(self):
        self.write("job.conf", JOB % 0)
        with self.flowd.start("run", "job.conf") as job:
            until(lambda: any(p.stat().st_size > 1000 for p in self.folder.glob("*out.jsonl*")) or not job.running(), "results")
            self.assertTrue(job.running())
            job.signal()
            self.assertEqual(job.wait().code, 0)


if __name__ == "__main__":
    e2e.main()
