"""Bad input ends in a clear error that names place and remedy, with the right exit code; nothing is lost, nothing crashes."""
import gzip
import json
import os
import subprocess

import e2e

TYPED = '{ type = "json"; fields: { a = "int64"; }; }'
LETTERS = 'dead_letters: { system = "files"; path = "dead.jsonl"; serde = "json"; };'


class Files(e2e.Test):
    def run_bad(self, *says, conf=None, code=1):
        """A run that fails, says all of these, and leaves no output behind."""
        if conf is not None:
            self.write("job.conf", conf)
        failed = self.flowd("run", "job.conf", expect=code)
        for text in says:
            self.assertIn(text, failed.err)
        self.assertFalse((self.folder / "out.jsonl").exists(), str(failed))
        return failed

    def test_an_input_that_is_not_there(self):
        self.run_bad("job.conf:4: ", "in.jsonl", "No such file", "check the path", conf=e2e.job(), code=3)
        self.run_bad("job.conf:4: ", "*.none", "no file matches", conf=e2e.job(source="*.none"), code=3)

    def test_an_input_that_is_a_folder(self):
        os.mkdir(self.folder / "in.jsonl")
        self.run_bad("job.conf:4: ", "in.jsonl", "is a folder", conf=e2e.job(), code=3)

    def test_an_output_whose_folder_is_not_there(self):
        self.write("in.jsonl", '{"a":1}\n')
        self.run_bad("no/such", "make_folders", conf=e2e.job(out="no/such/out.jsonl"))

    def test_an_output_that_is_a_folder_or_below_a_file(self):
        self.write("in.jsonl", '{"a":1}\n')
        os.mkdir(self.folder / "target")
        for out, says in (("target", "target"), ("in.jsonl/out.jsonl", "Not a directory")):
            self.run_bad(says, conf=e2e.job(out=out))

    def test_a_state_directory_that_cannot_be(self):
        self.write("in.jsonl", '{"a":1}\n')
        self.write("state", "a file")
        self.run_bad("state", conf=e2e.job())

    def test_a_damaged_state_directory(self):
        self.write("in.jsonl", '{"a":1}\n')
        self.write("job.conf", e2e.job())
        self.flowd("run", "job.conf", expect=0)
        os.unlink(self.folder / "out.jsonl")
        for name in ("CHECKPOINT", "FORMAT"):
            with self.subTest(name=name):
                path = self.folder / "state/job" / name
                good = path.read_bytes()
                flipped = [good[:i] + bytes([good[i] ^ 1 << i % 7]) + good[i + 1:] for i in range(0, len(good), 5)]
                for bad in (good[:-3], good[:5], b"", b"\0" * 100, good[::-1], *flipped):
                    path.write_bytes(bad)
                    self.run_bad("state/job")
                path.write_bytes(good)
        (self.folder / "state/job/CHECKPOINT").write_bytes(b"damaged")
        self.flowd("run", "job.conf", "--fresh", expect=0)
        self.assertEqual(self.flowd.read("out.jsonl"), b'{"a":1}\n')

    def test_a_gzip_file_that_is_cut_or_damaged(self):
        packed = gzip.compress("".join(f'{{"a":{i}}}\n' for i in range(20000)).encode())
        damaged = packed[:len(packed) // 2] + bytes([packed[len(packed) // 2] ^ 0xFF]) + packed[len(packed) // 2 + 1:]
        for name, bad in (("cut", packed[:-20]), ("damaged", damaged), ("no gzip", b'{"a":1}\n'), ("tail", packed[:-1])):
            with self.subTest(name=name):
                self.write("in.jsonl.gz", bad)
                self.run_bad("in.jsonl.gz", conf=e2e.job(source="in.jsonl.gz"))

    def test_a_zstd_file_that_is_cut(self):
        self.write("in.jsonl", "".join(f'{{"a":{i}}}\n' for i in range(20000)))
        packed = subprocess.run(["zstd", "-qc", self.folder / "in.jsonl"], stdout=subprocess.PIPE, check=True).stdout
        self.write("in.jsonl.zst", packed[:-9])
        self.run_bad("in.jsonl.zst", conf=e2e.job(source="in.jsonl.zst"))

    def test_an_empty_input_gives_an_empty_output(self):
        for serde, content in (('"json"', ""), ('"csv"', "a,b\n"), ('"lines"', "")):
            with self.subTest(serde=serde):
                self.write("in.jsonl", content)
                self.write("job.conf", e2e.job(serde=serde))
                self.flowd("run", "job.conf", expect=0)
                self.assertEqual(self.flowd.read("out.jsonl"), b"")

    def test_a_csv_file_without_its_header_or_with_another_one(self):
        self.write("in.jsonl", "")
        self.run_bad("input 'in'", "no fields", conf=e2e.job(serde='{ type = "csv"; fields: { a = "int64"; }; }'), code=3)
        self.write("in.jsonl", "b,c\n1,2\n")
        self.run_bad("a", conf=e2e.job(serde='{ type = "csv"; fields: { a = "int64"; }; }'), code=3)

    def test_a_full_disk(self):
        self.write("in.jsonl", "".join(f'{{"a":{i}}}\n' for i in range(100000)))
        self.write("job.conf", e2e.job(out="/dev/full"))
        failed = self.flowd("run", "job.conf", expect=1)
        self.assertIn("/dev/full", failed.err)
        self.assertIn("No space left", failed.err)


class Records(e2e.Test):
    GOOD = b'{"a":1}\n{"a":2}\n{"a":3}\n'
    BAD = [b'{"a":"\xff\xfe"}', b'{"a":1e999}', b'{"a":99999999999999999999}', b'{"a":1}}', b'[1,2', b'\x00', b'"\\ud800"', b"{" * 5000]

    def setUp(self):
        super().setUp()
        good = self.GOOD.splitlines(keepends=True)
        self.write("in.jsonl", good[0] + b"\n".join(self.BAD[:4]) + b"\n" + good[1] + b"\n".join(self.BAD[4:]) + b"\n" + good[2])

    def job(self, policy, **options):
        self.write("job.conf", e2e.job(serde=TYPED, more=f'record_errors = "{policy}"; {LETTERS}', **options))

    def test_fail_stops_at_the_first_one_and_names_it(self):
        self.job("fail")
        failed = self.flowd("run", "job.conf", expect=1)
        self.assertIn("in.jsonl:2:", failed.err)
        self.assertEqual([n for n in self.names() if n in ("out.jsonl", "dead.jsonl")], [])

    def test_skip_counts_and_logs_the_first_ones(self):
        self.job("skip")
        done = self.flowd("run", "job.conf", "--json", "--set", "job.record_errors_logged=2", expect=0)
        self.assertEqual((done.json()["skipped"], done.json()["rejected"], self.flowd.read("out.jsonl")), (8, 8, self.GOOD))
        self.assertEqual(len([line for line in done.err.splitlines() if "in.jsonl:" in line]), 2, done.err)

    def test_dead_letters_have_place_reason_and_the_raw_bytes(self):
        self.job("dead_letter")
        done = self.flowd("run", "job.conf", "--json", expect=0)
        self.assertEqual((done.json()["dead_letters"], self.flowd.read("out.jsonl")), (8, self.GOOD))
        letters = self.records("dead.jsonl")
        self.assertEqual([x["line"] for x in letters], [2, 3, 4, 5, 7, 8, 9, 10])
        self.assertTrue(all(x["place"].endswith("in.jsonl") and x["reason"] and x["operator"] == "in" and x["job"] == "job" for x in letters))
        import base64
        raw = [base64.b64decode(x["raw"]) if x["raw_base64"] else x["raw"].encode() for x in letters]
        self.assertEqual(raw, self.BAD)

    def test_the_policy_of_a_stream_goes_before_that_of_the_job(self):
        self.job("fail")
        self.flowd("run", "job.conf", "--set", "streams.in.record_errors=skip", expect=0)
        self.assertEqual(self.flowd.read("out.jsonl"), self.GOOD)

    def test_records_that_a_step_cannot_process_are_dead_letters_too(self):
        self.write("in.jsonl", b'{"a":1}\n{"a":0}\n{"a":9223372036854775807}\n')
        self.job("dead_letter", steps='set: { b = "10 / a"; c = "a + 1"; };')
        self.flowd("run", "job.conf", expect=0)
        letters = self.records("dead.jsonl")
        self.assertEqual([(x["operator"], json.loads(x["raw"])["a"]) for x in letters], [("set", 0), ("set", 9223372036854775807)])
        self.assertEqual(len(self.records("out.jsonl")), 1)

    def test_a_key_that_is_null_is_a_record_error(self):
        self.write("in.jsonl", b'{"a":1,"k":"x"}\n{"a":2,"k":null}\n')
        self.write("job.conf", e2e.job(serde='{ type = "json"; fields: { a = "int64"; k = "string?"; }; }', steps='key_by = "k";',
                                       more=f'record_errors = "dead_letter"; {LETTERS}'))
        self.flowd("run", "job.conf", expect=0)
        self.assertIn("null", self.records("dead.jsonl")[0]["reason"])
        self.assertEqual(len(self.records("out.jsonl")), 1)

    def test_a_line_that_is_too_long_takes_no_neighbour_along(self):
        self.write("in.jsonl", b'{"a":1}\n{"b":"' + b"x" * 3_000_000 + b'","a":5}\n{"a":2}\n{"b":"' + b"y" * 300_000 + b'","a":4}\n{"a":3}\n')
        serde = '{ type = "json"; fields: { a = "int64"; }; max_record = "1MiB"; }'
        self.write("job.conf", e2e.job(serde=serde, more=f'record_errors = "dead_letter"; {LETTERS}'))
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual([r["a"] for r in self.records("out.jsonl")], [1, 2, 4, 3])
        letters = self.records("dead.jsonl")
        self.assertEqual([x["line"] for x in letters], [2])
        self.assertIn("max_record", letters[0]["reason"])

    def test_late_records_fail_a_bounded_job_unless_it_is_told_otherwise(self):
        self.write("in.jsonl", "".join(f'{{"k":1,"t":"2024-01-01T{h:02}:00:00Z"}}\n' for h in (1, 9, 2, 10)))
        steps = 'name = "w"; key_by = "k"; window: { tumbling = "1h"; time = "t"; }; aggregate: { n = "count(*)"; };'
        serde = '{ type = "json"; fields: { k = "int64"; t = "timestamp"; }; }'
        conf = lambda more: e2e.job(serde=serde, steps=steps + more, more=LETTERS)
        self.write("job.conf", conf(""))
        batches = ["--set", "job.batch_rows=1"]  # the clock moves on between records
        self.assertIn("late", self.flowd("run", "job.conf", *batches, expect=1).err)
        self.write("job.conf", conf(' late_records = "dead_letter";'))
        done = self.flowd("run", "job.conf", "--json", *batches, expect=0).json()
        self.assertEqual((done["late"], len(self.records("dead.jsonl")), sum(r["n"] for r in self.records("out.jsonl"))), (1, 1, 3))


if __name__ == "__main__":
    e2e.main()
