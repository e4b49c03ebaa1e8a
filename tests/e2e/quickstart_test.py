"""The quickstart's job against an oracle that knows nothing of flowd."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

import e2e
import flowd_driver
from late_flights_oracle import late_flights

FIELDS = ["hour", "carrier", "name", "flights", "mean_dep_delay"]


def flights():
    packed = e2e.SOURCE / "conf/data/flights-2013-01.csv.zst"
    return subprocess.run(["zstd", "-dcq", packed], stdout=subprocess.PIPE, check=True).stdout.decode()


class Quickstart(e2e.Test):
    @classmethod
    def setUpClass(cls):
        with open(e2e.SOURCE / "conf/data/carriers.csv", newline="") as carriers:
            cls.expected = list(late_flights(io.StringIO(flights(), newline=""), carriers))

    def setUp(self):
        super().setUp()
        shutil.copytree(e2e.SOURCE / "conf", self.folder / "conf")

    def run_job(self, *options):
        return self.flowd("run", "conf/late-flights.conf", *options, expect=0)

    def lines(self):
        return self.flowd.lines("out/late-flights.jsonl")

    def test_the_result_is_the_oracles_field_by_field(self):
        done = self.run_job()
        got = [json.loads(line) for line in self.lines()]  # floats: rounded once, printed in their shortest form
        self.assertTrue(all(list(row) == FIELDS for row in got))
        key = lambda row: (row["hour"], row["carrier"])
        self.assertEqual(sorted(got, key=key), sorted(self.expected, key=key))
        self.assertTrue(all(isinstance(row["flights"], int) and isinstance(row["mean_dep_delay"], float) for row in got))
        self.assertIn("out/late-flights.jsonl", done.err)
        self.assertIn("27,004", done.err)
        self.assertIn(self.lines()[0], done.err)

    def test_workers_parallelism_and_batch_sizes_do_not_change_the_lines(self):
        self.run_job()
        expected = sorted(self.lines())
        combinations = [(1, 1, 1), (1, 4, 7), (2, 2, 1024), (4, 4, 1), (4, 1, 7), (2, 4, 65536)]
        if os.environ.get("FLOWD_SANITIZE", "none") != "none":
            combinations = [(1, 4, 64), (2, 2, 1024), (4, 4, 64)]  # tens of times slower: threads matter there, not sizes
        for workers, parallelism, rows in combinations:
            with self.subTest(workers=workers, parallelism=parallelism, rows=rows):
                self.run_job("--set", f"job.workers={workers}", "--set", f"job.parallelism={parallelism}", "--set", f"job.batch_rows={rows}")
                self.assertEqual(sorted(self.lines()), expected)

    def test_the_deterministic_mode_gives_the_same_bytes_twice(self):
        results = []
        for _ in range(2):
            self.run_job("--set", "job.deterministic=true")
            results.append(self.flowd.read("out/late-flights.jsonl"))
        self.assertEqual(results[0], results[1])
        self.assertEqual(len(results[0].splitlines()), len(self.expected))

    def test_the_check_of_plugins_finds_nothing_and_changes_nothing(self):
        self.run_job()
        expected = sorted(self.lines())
        self.run_job("--check-plugins")
        self.assertEqual(sorted(self.lines()), expected)

    def test_the_summary_for_machines_counts_every_record(self):
        summary = self.run_job("--json").json()
        self.assertEqual(summary["state"], "finished")
        self.assertEqual(summary["records_in"], 27004 + 16)
        self.assertEqual(summary["records_out"], len(self.expected))
        operators = {o["name"]: o for o in summary["operators"]}
        self.assertEqual(operators["where"]["records_in"], 27004)
        self.assertEqual(operators["hourly"]["records_out"], len(self.expected))

    def test_one_row_of_the_input_more_or_less_is_seen(self):
        rows = list(csv.reader(io.StringIO(flights(), newline="")))
        late = next(i for i, row in enumerate(rows[1:], 1) if row[rows[0].index("dep_delay")].isdigit() and int(row[rows[0].index("dep_delay")]) > 15)
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows[:late] + rows[late + 1:])
        self.write("conf/data/less.csv", text.getvalue())
        self.run_job("--set", "streams.flights.path=data/less.csv")
        total = sum(json.loads(line)["flights"] for line in self.lines())
        self.assertEqual(total, sum(row["flights"] for row in self.expected) - 1)


if __name__ == "__main__":
    e2e.main()
