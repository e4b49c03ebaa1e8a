"""Transformers that run: one for each task, closed once whatever happens; what they drop is behind them all the same."""
import collections
import json

import e2e
from flowd_driver import until


class Transformers(e2e.Test):
    def setUp(self):
        super().setUp()
        self.flowd.plugin_dirs.append(e2e.BUILD / "tests/e2e_plugins")

    def sieved(self, *parts, options=""):
        """Three files of ten numbers each, through the sieve; --fresh, with these arguments. What it wrote of itself is that of this run."""
        for i in range(3):
            self.write(f"in-{i}.jsonl", "".join(f'{{"x":{x}}}\n' for x in range(10 * i, 10 * i + 10)))
        job = e2e.job(source="in-*.jsonl", serde='{ type = "json"; fields: { x = "int64"; }; }')
        self.write("job.conf", job.replace("bounded = true;", f'bounded = true; transformer: {{ type = "sieve"; {options} }};'))
        (self.folder / "sieve.log").unlink(missing_ok=True)
        return self.flowd("run", "--fresh", "job.conf", *parts)

    def tasks(self):
        """The words of each task's transformer, in order."""
        tasks = collections.defaultdict(list)
        for line in self.flowd.lines("sieve.log"):
            word, task, *_ = line.split()
            tasks[int(task)].append(word)
        return tasks

    def seen(self):
        return sorted(int(line.split()[2]) for line in self.flowd.lines("sieve.log") if line.startswith("saw "))

    def assert_each_is_closed_last_and_once(self, tasks):
        for words in tasks.values():
            self.assertEqual((words[0], words[-1]), ("init", "close"))
            self.assertEqual(set(words[1:-1]) | {"saw"}, {"saw"})

    def test_each_task_has_one_and_records_that_it_leaves_out_are_gone(self):
        for parallelism in (1, 3):
            for options in ([], ["--check-plugins"], ["--set", "job.batch_rows=1"]):
                with self.subTest(parallelism=parallelism, options=options):
                    ended = self.sieved("--json", "--set", f"job.parallelism={parallelism}", *options)
                    self.assertEqual(ended.code, 0, str(ended))
                    self.assertEqual(sorted(int(r["x"]) for r in self.records("out.jsonl")), list(range(1, 30, 2)))
                    self.assertEqual((int(ended.json()["records_in"]), int(ended.json()["records_out"])), (30, 15))
                    self.assertEqual(self.seen(), list(range(30)))
                    self.assertEqual(sorted(self.tasks()), list(range(parallelism)))
                    self.assert_each_is_closed_last_and_once(self.tasks())

    def test_when_one_fails_the_run_fails_and_all_are_closed(self):
        for parallelism in (1, 3):
            with self.subTest(parallelism=parallelism):
                ended = self.sieved("--set", f"job.parallelism={parallelism}", options="fails_at = 14;")
                self.assertEqual(ended.code, 1, str(ended))
                self.assertRegex(ended.err, r"in_sieve \(stage \d+(, task \d of 3)?\): there should be no 14")
                self.assertIn(14, self.seen())
                self.assert_each_is_closed_last_and_once(self.tasks())
                self.assertFalse((self.folder / "out.jsonl").exists())

    def test_when_one_cannot_begin_the_others_are_closed(self):
        for how, why in (("", "this task gets none"), ("strangely = true;", "the plugin's call init answers 1, which it may not")):
            with self.subTest(how=how):
                ended = self.sieved("--set", "job.parallelism=3", options=f"refused_task = 2; {how}")
                self.assertEqual(ended.code, 1, str(ended))
                self.assertRegex(ended.err, r"in_sieve \(stage \d+, task 3 of 3\): " + why)
                if (self.folder / "sieve.log").exists():
                    self.assertNotIn(2, self.tasks())
                    self.assert_each_is_closed_last_and_once(self.tasks())

    def test_what_it_left_out_is_not_read_again(self):
        even = range(0, 2000, 2)
        self.write("in.jsonl", "".join(f'{{"x":{x}}}\n' for x in even))
        self.write("job.conf", """application: { name = "drops"; checkpoint_interval = "20ms";
          systems: { files: { type = "file"; };  made: { type = "generate"; };  none: { type = "null"; }; };
          inputs: { in: { system = "files"; path = "in.jsonl"; bounded = true; transformer = "sieve";
                          serde: { type = "json"; fields: { x = "int64"; }; }; };
                    slow: { system = "made"; fields: { id = "sequence"; }; count = 100000; rate = 10; bounded = true; }; };
          outputs: { out: { system = "files"; path = "out.jsonl"; serde = "json"; };  gone: { system = "none"; }; };
          flow: ( { from = "in"; to = "out"; }, { from = "slow"; to = "gone"; } ); };\n""")
        status = self.folder / "running.json"
        with self.flowd.start("run", "job.conf", "--status-file", "running.json") as job:
            until(lambda: (status.exists() and json.loads(status.read_bytes())["records_in"] >= len(even)) or not job.running(), "the file to be read")
            job.signal()
            self.assertEqual(job.wait().code, 0)
        self.assertEqual(self.seen(), list(even))
        self.flowd("run", "job.conf", "--set", "streams.slow.count=1", expect=0)
        self.assertEqual(self.seen(), list(even))
        self.assertEqual(self.records("out.jsonl"), [])
        self.assertEqual(self.tasks()[0].count("init"), 2)
        self.assertEqual(self.tasks()[0].count("close"), 2)


if __name__ == "__main__":
    e2e.main()
