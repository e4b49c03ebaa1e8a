"""flowd run and its options; state directories."""
import datetime
import json
import os
import re
import signal

import e2e
from flowd_driver import until

SLOW = 'fields: { id = "sequence"; user = "key(7)"; }; count = 40; rate = 20;'


class Run(e2e.Test):
    def setUp(self):
        super().setUp()
        self.write("in.jsonl", "".join(f'{{"a":{i}}}\n' for i in range(2000)))
        self.write("job.conf", e2e.job())

    def count(self, name="out.jsonl"):
        return len(self.flowd.lines(name))

    def test_a_setting_of_the_command_line_wins(self):
        self.write("other.jsonl", '{"a":7}\n')
        self.flowd("run", "job.conf", "--set", "streams.in.path=other.jsonl", "--set", 'streams.out.path="o.jsonl"', expect=0)
        self.assertEqual(self.flowd.read("o.jsonl"), b'{"a":7}\n')

    def test_later_files_override_earlier_ones(self):
        self.write("more.conf", 'jobs: { job: { streams: { out: { path = "more.jsonl"; }; }; }; };\n')
        self.flowd("run", "job.conf", "more.conf", expect=0)
        self.assertEqual(self.names(), ["in.jsonl", "job.conf", "more.conf", "more.jsonl"])

    def test_paths_count_from_the_files_folder_and_state_from_the_current_one(self):
        self.write("deep/job.conf", e2e.job())
        self.write("deep/in.jsonl", '{"a":1}\n')
        self.flowd("run", "deep/job.conf", expect=0)
        self.assertEqual(self.flowd.read("deep/out.jsonl"), b'{"a":1}\n')
        self.assertTrue((self.folder / "state/job").is_dir())

    def test_a_limit_reads_so_many_records_of_each_input_and_leaves_no_state(self):
        summary = self.flowd("run", "job.conf", "--limit", "5", "--json", expect=0).json()
        self.assertEqual((summary["records_in"], self.count()), (5, 5))
        self.assertFalse((self.folder / "state").exists())
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(self.count(), 2000)

    def test_the_summary_counts_the_bytes_that_were_written(self):
        summary = self.flowd("run", "job.conf", "--json", expect=0).json()
        self.assertEqual(summary["bytes_out"], len(self.flowd.read("out.jsonl")))

    def test_a_dry_sink_writes_nothing_and_leaves_no_state(self):
        before = self.names()
        summary = self.flowd("run", "job.conf", "--dry-sink", "--json", expect=0).json()
        self.assertEqual(summary["records_in"], 2000)
        self.assertEqual(self.names(), before)
        self.assertFalse((self.folder / "state").exists())

    def test_neither_touches_the_state_that_is_there(self):
        with self.slow_job() as job:
            job.signal()
            self.assertEqual(job.wait().code, 0)
        before = {p: p.read_bytes() for p in (self.folder / "state").rglob("*") if p.is_file() and p.name != "LOCK"}
        parts = [n for n in self.names() if "out.jsonl" in n]
        for option in (["--dry-sink"], ["--limit", "3"]):
            self.flowd("run", "slow.conf", *option, "--set", "streams.in.rate=0", "--set", "streams.out.path=else.jsonl", expect=0)
        self.assertEqual({p: p.read_bytes() for p in before}, before)
        self.assertEqual([n for n in self.names() if "out.jsonl" in n], parts)

    def slow_job(self, *options):
        """Two seconds of records; when this returns, it runs."""
        self.write("slow.conf", e2e.job(system="made", options=SLOW, name="slow"))
        status = self.folder / "running.json"
        status.unlink(missing_ok=True)
        job = self.flowd.start("run", "slow.conf", "--status-file", "running.json", *options)
        until(lambda: status.exists() or not job.running(), "the job to run")
        return job

    def test_the_status_file_is_always_whole_and_ends_finished(self):
        seen = []
        with self.slow_job() as job:
            while job.running():
                seen.append(json.loads(self.flowd.read("running.json")))
            self.assertEqual(job.wait().code, 0)
        last = json.loads(self.flowd.read("running.json"))
        self.assertIn(seen[0]["state"], ("starting", "running"))
        self.assertEqual((last["state"], last["records_in"], last["records_out"]), ("finished", 40, 40))
        self.assertTrue(all(a["records_in"] <= b["records_in"] for a, b in zip(seen, seen[1:])))
        self.assertEqual([n for n in self.names() if "running" in n], ["running.json"])

    def test_a_status_file_that_cannot_be_written_is_said(self):
        done = self.flowd("run", "job.conf", "--status-file", "no/such/folder/status.json")
        self.assertIn("status.json", done.err)

    def test_a_state_directory_in_use_is_refused_with_the_owners_pid(self):
        with self.slow_job("--state-dir", "kept", "--set", "streams.in.rate=8") as job:
            refused = self.flowd("run", "slow.conf", "--state-dir", "kept", expect=1)
            self.assertIn(str(job.process.pid), refused.err)
            self.assertIn(str(job.process.pid), self.flowd("state", "ls", "--state-dir", "kept").out)
            self.assertIn(str(job.process.pid), self.flowd("state", "reset", "--state-dir", "kept", expect=1).err)
            self.assertEqual(job.wait().code, 0)
        self.assertEqual(self.count(), 40)

    def test_the_state_of_another_job_is_refused(self):
        self.flowd("run", "job.conf", "--state-dir", "kept", expect=0)
        self.write("other.conf", e2e.job(name="other"))
        refused = self.flowd("run", "other.conf", "--state-dir", "kept", expect=1)
        self.assertIn("job 'job'", refused.err)

    def test_a_finished_job_starts_anew_and_says_when_it_had_finished(self):
        begun = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        for steps in ("", 'name = "counts"; key_by = "a"; aggregate: { n = "count(*)"; };'):  # with one file, and with a store
            self.write("job.conf", e2e.job(serde='{ type = "json"; fields: { a = "int64"; }; }', steps=steps))
            options = ["--fresh"] if steps else []
            self.assertNotIn("begins anew", self.flowd("run", "job.conf", *options, expect=0).err)
            again = self.flowd("run", "job.conf", expect=0)
            said = re.search(r"the last run finished at (\S+), with epoch [1-9]\d*; this one begins anew", again.err)
            self.assertTrue(said, again.err)
            finished = datetime.datetime.fromisoformat(said[1].replace("Z", "+00:00"))
            self.assertTrue(begun <= finished <= datetime.datetime.now(datetime.timezone.utc), said[0])
            self.assertEqual(self.count(), 2000)

    def test_an_interrupted_job_does_not_say_that_it_begins_anew(self):
        self.interrupted()
        self.assertNotIn("begins anew", self.flowd("run", "slow.conf", "--set", "streams.in.rate=0", expect=0).err)

    def interrupted(self, steps="", name="slow", number=signal.SIGTERM):
        self.write(f"{name}.conf", e2e.job(system="made", options=SLOW, name=name, steps=steps, more='checkpoint_interval = "20ms";'))
        status = self.folder / "running.json"
        status.unlink(missing_ok=True)
        with self.flowd.start("run", f"{name}.conf", "--status-file", "running.json") as job:
            until(lambda: status.exists() or not job.running(), "the job to run")
            job.signal(number)
            return job.wait()

    def test_fresh_discards_what_an_interrupted_run_left(self):
        self.assertEqual(self.interrupted().code, 0)
        self.flowd("run", "slow.conf", "--fresh", "--set", "streams.in.rate=0", expect=0)
        self.assertEqual([r["id"] for r in self.records("out.jsonl")], list(range(40)))

    def test_an_interrupted_run_is_listed_and_can_be_reset(self):
        self.assertIn("no folder state", self.flowd("state", "ls", expect=0).out)
        self.interrupted()
        listed = self.flowd("state", "ls", "--json", expect=0).json()
        self.assertEqual([(s["directory"], s["checkpoint"]["finished"]) for s in listed], [("state/slow", False)])
        self.assertIn("interrupted", self.flowd("state", "ls", expect=0).out)
        self.flowd("state", "reset", "slow", expect=0)
        self.assertEqual(self.flowd("state", "ls", "--json", expect=0).json()[0]["checkpoint"], None)
        self.flowd("run", "slow.conf", "--set", "streams.in.rate=0", expect=0)
        self.assertEqual(self.count(), 40)

    def test_looking_at_state_makes_none(self):
        self.flowd("state", "ls", expect=0)
        self.flowd("state", "ls", "--state-dir", "absent", expect=1)
        self.flowd("state", "reset", "absent", expect=2)
        self.assertFalse((self.folder / "absent").exists() or (self.folder / "state").exists())

    def test_state_that_no_longer_fits_is_refused_until_it_is_dropped(self):
        count = 'name = "{}"; key_by = "user"; aggregate: {{ n = "count(*)"; }};'
        self.assertEqual(self.interrupted(steps=count.format("counts")).code, 0)
        self.write("slow.conf", e2e.job(system="made", options=SLOW, name="slow", steps=count.format("tallies")))
        refused = self.flowd("run", "slow.conf", expect=1)
        self.assertIn("counts", refused.err)
        self.assertIn("--drop-state", refused.err)
        self.assertIn("counts", self.flowd("run", "slow.conf", "--drop-state", "nothing", expect=1).err)
        dropped = ["--drop-state", "counts", "--drop-state", "tallies"]  # what is gone, and what begins empty behind the records so far
        self.flowd("run", "slow.conf", *dropped, "--set", "streams.in.rate=0", expect=0)
        self.assertLess(sum(r["n"] for r in self.records("out.jsonl")), 41)

    def with_output(self, serde, steps=""):
        """The slow job with an output of this serde, as a file's text."""
        text = e2e.job(system="made", options=SLOW, name="slow", steps=steps, out="out", more='checkpoint_interval = "20ms";')
        return text.replace('path = "out"; serde = "json";', f'path = "out"; serde = "{serde}";')

    def test_an_output_with_a_header_is_not_written_on_with_other_fields(self):
        other = 'set: { id = "id + 1"; more = "2"; };'
        for serde, refused in (("csv", True), ("json", False)):
            with self.subTest(serde=serde):
                self.write("slow.conf", self.with_output(serde))
                with self.flowd.start("run", "slow.conf", "--status-file", "running.json") as job:
                    until(lambda: (self.folder / "running.json").exists() or not job.running(), "the job to run")
                    job.signal(signal.SIGTERM)
                    self.assertEqual(job.wait().code, 0)
                (self.folder / "running.json").unlink()
                self.write("slow.conf", self.with_output(serde, other))
                words = ["run", "slow.conf", "--set", "streams.in.rate=0"]
                if refused:
                    said = self.flowd(*words, expect=1).err
                    self.assertIn("output 'out' has another form", said)
                    self.assertIn("csv", said)
                    self.write("slow.conf", self.with_output(serde))
                self.flowd(*words, expect=0)
                self.assertEqual(len(self.flowd.lines("out")), 41 if serde == "csv" else 40)

    def test_parallelism_and_options_may_change_between_runs(self):
        steps = 'name = "counts"; key_by = "user"; aggregate: { n = "count(*)"; };'
        self.assertEqual(self.interrupted(steps=steps).code, 0)
        self.flowd("run", "slow.conf", "--set", "job.parallelism=3", "--set", "streams.in.rate=0", "--set", "job.batch_rows=1", expect=0)
        self.assertEqual(sum(r["n"] for r in self.records("out.jsonl")), 40)

    def interrupted_between_files(self, records):
        """A job of one file (or several), and a slow input, is interrupted when so many records were read in all."""
        self.write("conf/job.conf", self.two_inputs())
        status = self.folder / "running.json"
        with self.flowd.start("run", "conf/job.conf", "--status-file", "running.json", "--state-dir", self.folder / "kept") as job:
            until(lambda: (status.exists() and json.loads(status.read_bytes())["records_in"] >= records) or not job.running(), "the file to be read")
            job.signal()
            self.assertEqual(job.wait().code, 0)

    def go_on(self, **options):
        return self.flowd("run", "job.conf", "--state-dir", "../kept", "--set", "streams.slow.count=1", cwd=self.folder / "conf", **options)

    def test_an_interrupted_run_goes_on_from_another_folder(self):
        self.write("conf/in-1.jsonl", "".join(f'{{"a":{i}}}\n' for i in range(2000)))
        self.interrupted_between_files(2000)
        self.go_on(expect=0)
        self.assertEqual([r["a"] for r in self.records("conf/out.jsonl")], list(range(2000)))

    def test_a_file_that_comes_after_the_start_does_not_belong_to_a_bounded_input(self):
        self.write("conf/in-1.jsonl", '{"a":1}\n')
        self.interrupted_between_files(1)
        self.write("conf/in-2.jsonl", '{"a":2}\n')
        self.assertIn("in-2.jsonl is not read", self.go_on(expect=0).err)
        self.assertEqual(self.flowd.read("conf/out.jsonl"), b'{"a":1}\n')
        self.go_on(expect=0)  # it has finished, so it starts anew
        self.assertEqual(sorted(self.flowd.lines("conf/out.jsonl")), ['{"a":1}', '{"a":2}'])

    def test_a_file_that_is_gone_before_it_was_read_is_an_error(self):
        os.mkdir(self.folder / "conf")
        os.mkfifo(self.folder / "conf/in-1.jsonl")  # nobody writes to it, so it is never read to its end
        self.write("conf/in-2.jsonl", '{"a":2}\n')
        self.interrupted_between_files(1)
        os.unlink(self.folder / "conf/in-1.jsonl")
        lost = self.go_on(expect=1)
        self.assertIn("in-1.jsonl", lost.err)
        self.assertIn("--fresh", lost.err)

    def two_inputs(self):
        """A file that is read at once, and a source that keeps the job going."""
        return """application: {
  name = "two";  checkpoint_interval = "20ms";
  systems: { files: { type = "file"; };  made: { type = "generate"; };  none: { type = "null"; }; };
  inputs:  { in: { system = "files"; path = "in-*.jsonl"; bounded = true; serde = "json"; };
             slow: { system = "made"; fields: { id = "sequence"; }; count = 100000; rate = 10; bounded = true; }; };
  outputs: { out: { system = "files"; path = "out.jsonl"; serde = "json"; };  gone: { system = "none"; }; };
  flow: ( { from = "in"; to = "out"; }, { from = "slow"; to = "gone"; } );
};
"""

    def test_log_lines_are_in_the_format_that_was_asked_for(self):
        self.write("in.jsonl", '{"a":1}\nbad\n')
        for form, parse in (("json", json.loads), ("logfmt", self.parse_logfmt)):
            done = self.flowd("run", "job.conf", "--set", "job.record_errors=skip", "--log-format", form, expect=0)
            line = next(line for line in done.err.splitlines() if "in.jsonl:2" in line)
            parsed = parse(line)
            self.assertEqual((parsed["level"], parsed["component"]), ("warn", "in"))
            self.assertIn("in.jsonl:2", parsed["message"])
        quiet = self.flowd("run", "job.conf", "--set", "job.record_errors=skip", "--log-level", "error", expect=0)
        self.assertNotIn("in.jsonl:2", quiet.err)

    @staticmethod
    def parse_logfmt(line):
        import shlex
        return dict(word.split("=", 1) for word in shlex.split(line))

    def test_standard_input_and_output_are_streams(self):
        self.write("job.conf", e2e.job(source="-", out="-", steps='where = "a > 1";', serde='{ type = "json"; fields: { a = "int64"; }; }'))
        done = self.flowd("run", "job.conf", stdin=b'{"a":1}\n{"a":2}\n', expect=0)
        self.assertEqual(done.out, '{"a":2}\n')

    def test_transfers_are_checked_and_not_run(self):
        self.write("transfer.conf", 'links: { a: { connector = "x"; }; };\n'
                   'transfers: { t: { from: { link = "a"; }; to: { link = "a"; }; }; };\n')
        self.assertIn("warning", self.flowd("check", "transfer.conf", expect=0).err)
        self.assertIn("transfer.conf:2: transfers", self.flowd("run", "transfer.conf", expect=3).err)
        self.assertIn("no application", self.flowd("plan", "transfer.conf", expect=3).err)

    def test_compressed_files_are_read_and_written_by_their_suffix(self):
        self.write("job.conf", e2e.job(out="out.jsonl.gz"))
        self.flowd("run", "job.conf", expect=0)
        os.rename(self.folder / "out.jsonl.gz", self.folder / "again.jsonl.gz")
        self.write("again.conf", e2e.job(source="again.jsonl.gz", out="out.jsonl.zst"))
        self.flowd("run", "again.conf", expect=0)
        self.write("last.conf", e2e.job(source="out.jsonl.zst", out="plain.jsonl"))
        self.flowd("run", "last.conf", expect=0)
        self.assertEqual(self.flowd.read("plain.jsonl"), self.flowd.read("in.jsonl"))


if __name__ == "__main__":
    e2e.main()
