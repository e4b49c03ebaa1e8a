"""Signals: SIGTERM and SIGINT drain and keep what was done, a second one ends at once, and after any end the result is exact."""
import json
import os
import signal
import time

import e2e
from flowd_driver import until

COUNT = 9000
JOB = f"""application: {{
  name = "steady";  checkpoint_interval = "20ms";
  systems: {{ files: {{ type = "file"; }};  made: {{ type = "generate"; }}; }};
  inputs:  {{ events: {{ system = "made"; bounded = true; count = {COUNT}; rate = 4000; partitions = 3;
                       fields: {{ id = "sequence"; user = "key(11)"; at = "timestamp"; }}; step = "10ms"; }}; }};
  outputs: {{ all: {{ system = "files"; path = "all.jsonl"; serde = "json"; }};
             counts: {{ system = "files"; path = "counts.jsonl"; serde = "json"; }}; }};
  flow: ( {{ from = "events"; to = "all"; }},
          {{ from = "events"; key_by = "user"; }},
          {{ name = "counts"; window: {{ tumbling = "1s"; time = "at"; out_of_order = "1s"; }}; aggregate: {{ n = "count(*)"; }}; }},
          {{ to = "counts"; }} );
}};
"""


class Signals(e2e.Test):
    def setUp(self):
        super().setUp()
        self.write("job.conf", JOB)

    def start(self, *options):
        status = self.folder / "status.json"
        status.unlink(missing_ok=True)
        job = self.flowd.start("run", "job.conf", "--status-file", "status.json", *options)
        until(lambda: status.exists() or not job.running(), "the job to run")
        return job

    def undisturbed(self):
        self.flowd("run", "job.conf", "--state-dir", "undisturbed", "--set", "streams.all.path=all-expected.jsonl", "--set",
                   "streams.counts.path=counts-expected.jsonl", "--set", "streams.events.rate=0", expect=0)
        return sorted(self.flowd.lines("all-expected.jsonl")), sorted(self.flowd.lines("counts-expected.jsonl"))

    def finish_and_compare(self):
        self.flowd("run", "job.conf", "--set", "streams.events.rate=0", expect=0)
        expected = self.undisturbed()
        self.assertEqual(len(expected[0]), COUNT)
        self.assertEqual((sorted(self.flowd.lines("all.jsonl")), sorted(self.flowd.lines("counts.jsonl"))), expected)

    def test_a_stop_drains_and_the_next_run_goes_on_to_an_exact_result(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            with self.start("--json") as job:
                job.signal(number)
                ended = job.wait()
            self.assertEqual(ended.code, 0, str(ended))
            self.assertEqual(ended.json()["state"], "interrupted")
            self.assertEqual(json.loads(self.flowd.read("status.json"))["state"], "interrupted")
            self.assertFalse((self.folder / "all.jsonl").exists())
        self.finish_and_compare()

    def test_a_kill_at_any_moment_changes_nothing_in_the_result(self):
        for pause in (0.0, 0.03, 0.08):
            with self.start() as job:
                time.sleep(pause)
                job.signal(signal.SIGKILL)
                self.assertEqual(job.wait().code, -signal.SIGKILL)
        self.finish_and_compare()

    def test_a_second_signal_ends_at_once(self):
        # The reader of this job waits in a pipe that nobody writes to, and the deadline of the drain is far away.
        os.mkfifo(self.folder / "pipe")
        self.write("job.conf", e2e.job(source="pipe", more='shutdown_deadline = "1h";'))
        with self.start() as job:
            job.signal()
            time.sleep(0.1)  # the drain begins; whether it has is no matter
            job.signal()
            start = time.monotonic()
            ended = job.wait()
        self.assertLess(time.monotonic() - start, 5, str(ended))
        self.assertIn(ended.code, (0, 1), str(ended))

    def test_two_signals_in_a_row_lose_nothing(self):
        with self.start() as job:
            job.signal()
            job.signal()
            ended = job.wait()
        self.assertIn(ended.code, (0, 1), str(ended))
        self.finish_and_compare()

    def test_a_reader_that_goes_away_is_no_crash(self):
        import subprocess
        self.write("job.conf", e2e.job(system="made", options='fields: { id = "sequence"; };', out="-").replace("bounded = true;", ""))
        job = subprocess.Popen([e2e.FLOWD, "run", "job.conf"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(job.stdout.readline())
        job.stdout.close()
        try:
            code = job.wait(timeout=30)
            text = job.stderr.read().decode()
        finally:
            job.kill()
            job.stderr.close()
        self.assertEqual(code, 1, text)
        self.assertIn("Broken pipe", text)


if __name__ == "__main__":
    e2e.main()
