"""flowd cat and flowd convert: files in any format, without a configuration file."""
import csv
import gzip
import io
import json
import os
import pathlib
import pty
import resource
import signal
import subprocess

import e2e
from flowd_driver import until

HEADER = "id,carrier,delay,note\n"
ROWS = [("1", "UA", "2", "plain"), ("2", "AA", "-5", 'with "quotes", comma'), ("3", "UA", "120", "two\nlines"), ("4", "B6", "0", "ü€")]


def csv_text(rows=ROWS):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return HEADER + out.getvalue()


def objects(rows=ROWS):
    return [{"id": int(i), "carrier": c, "delay": int(d), "note": n} for i, c, d, n in rows]


class Convert(e2e.Test):
    def setUp(self):
        super().setUp()
        self.write("in.csv", csv_text())

    def cat(self, *words, **more):
        """Records that cat shows."""
        return [json.loads(line) for line in self.flowd("cat", *words, expect=0, **more).out.splitlines()]

    def refused(self, *words, code=2, says=()):
        ended = self.flowd(*words, expect=code)
        for text in says:
            self.assertIn(text, ended.err)
        return ended


class Cat(Convert):
    def test_json_lines_are_shown_unless_another_format_is_asked_for(self):
        self.assertEqual(self.cat("in.csv"), objects())
        self.assertEqual(self.flowd("cat", "in.csv", "--format", "csv", expect=0).out, csv_text())
        tabs = self.flowd("cat", "in.csv", "--format", "tsv", "--limit", "1", expect=0)
        self.assertEqual(tabs.out, "id\tcarrier\tdelay\tnote\n1\tUA\t2\tplain\n")

    def test_nothing_but_the_records_is_printed(self):
        shown = self.flowd("cat", "in.csv", expect=0)
        self.assertEqual(shown.err, "")

    def test_files_come_one_after_the_other_in_the_order_given(self):
        self.write("b.csv", csv_text([("5", "X", "1", "b")]))
        self.write("a.csv", csv_text([("6", "Y", "1", "a")]))
        self.assertEqual([r["id"] for r in self.cat("b.csv", "in.csv", "a.csv")], [5, 1, 2, 3, 4, 6])
        self.assertEqual([r["id"] for r in self.cat("[ab].csv")], [6, 5])

    def test_many_files_keep_their_order(self):
        names = [self.write(f"part{i:03}.csv", csv_text([(str(i), "X", "1", "b")])).name for i in range(300)]
        self.assertEqual([int(r["id"]) for r in self.cat(*names)], list(range(300)))

    def test_where_select_limit(self):
        self.assertEqual([r["id"] for r in self.cat("in.csv", "--where", "carrier = 'UA'")], [1, 3])
        self.assertEqual(self.cat("in.csv", "--select", "note,id", "--limit", "1"), [{"note": "plain", "id": 1}])
        self.assertEqual(self.flowd("cat", "in.csv", "--select", "note,id", "--limit", "1", expect=0).out, '{"note":"plain","id":1}\n')
        late = self.cat("in.csv", "--select", "id,late=delay > 1,n=coalesce(carrier, ',')", "--where", "id <> 4")
        self.assertEqual([(r["id"], r["late"], r["n"]) for r in late], [(1, True, "UA"), (2, False, "AA"), (3, True, "UA")])
        added = self.cat("in.csv", "--select", "*", "--limit", "1")
        self.assertEqual(added, objects()[:1])
        self.assertEqual(self.cat("in.csv", "--select", "*,double=delay * 2")[2], {**objects()[2], "double": 240})

    def test_a_limit_counts_what_is_shown(self):
        for limit in (1, 2, 3):
            self.assertEqual(len(self.cat("in.csv", "--where", "carrier <> 'AA'", "--limit", limit)), limit)
        self.assertEqual(len(self.cat("in.csv", "--limit", 100)), 4)

    def test_a_limit_looks_at_nothing_behind_it(self):
        self.write("bad.jsonl", '{"a":1}\n{"a":2}\nnothing\n')
        self.assertEqual(self.cat("bad.jsonl", "--limit", "2"), [{"a": 1}, {"a": 2}])

    def test_the_schema_is_shown_as_avro(self):
        schema = self.flowd("cat", "--schema", "in.csv", expect=0).json()
        self.assertEqual([f["name"] for f in schema["fields"]], ["id", "carrier", "delay", "note"])
        schema = self.flowd("cat", "--schema", "in.csv", "--select", "id,d=delay * 2", expect=0).json()
        self.assertEqual([(f["name"], f["type"]) for f in schema["fields"]], [("id", ["null", "long"]), ("d", ["null", "long"])])

    def test_options_of_the_formats(self):
        self.write("semi.txt", "a;b\n1;NA\n")
        words = ("semi.txt", "--from-format", "csv", "--set", "in.delimiter=;", "--set", "in.null_token=NA")
        self.assertEqual(self.cat(*words), [{"a": 1, "b": None}])
        self.assertEqual(self.cat(*words, "--set", "in.infer=none"), [{"a": "1", "b": None}])
        self.assertEqual(self.cat(*words, "--set", "in.fields.a=string"), [{"a": "1", "b": None}])
        self.assertEqual(self.cat(*words, "--set", 'in.fields={ a="float64"; }'), [{"a": 1.0, "b": None}])
        self.assertEqual(self.flowd("cat", *words, "--format", "csv", "--set", "out.delimiter=|", "--set", "out.null_token=-", expect=0).out,
                         "a|b\n1|-\n")
        packed = self.write("packed", gzip.compress(csv_text().encode()))
        self.assertEqual(self.cat(packed.name, "--from-format", "csv", "--set", "in.compression=gzip"), objects())

    def test_types_are_found_in_the_data_and_empty_fields_are_null(self):
        self.write("found.csv", 'n,price,day,code,empty,text\n1,1.50,2024-02-29,007,,""\n2,2.25,2024-03-01,008,,b\n')
        first = self.flowd("cat", "found.csv", "--limit", "1", expect=0).out
        self.assertEqual(first, '{"n":1,"price":1.50,"day":"2024-02-29","code":"007","empty":null,"text":""}\n')
        self.assertEqual(self.flowd("cat", "found.csv", "--format", "csv", expect=0).out_bytes, self.flowd.read("found.csv"))
        self.flowd("convert", "found.csv", "found.avro", expect=0)
        self.flowd("convert", "found.avro", "back.csv", expect=0)
        self.assertEqual(self.flowd.read("back.csv"), self.flowd.read("found.csv"))

    def test_a_value_that_is_not_of_the_type_that_was_found_is_told(self):
        self.write("late.csv", "n,text\n" + f"1,{'x' * 1000}\n" * 1200 + "NA,y\n")  # more than is looked at for types
        self.refused("cat", "late.csv", code=1, says=["late.csv:1202", '"NA" is not of type', "n = "])
        self.assertEqual(len(self.cat("late.csv", "--set", "in.null_token=NA", "--where", "n is null")), 1)

    def test_a_dump_of_a_database_is_read_and_written(self):
        text = self.write("dump.tsv", "1\tx\\ty\\nz\n\\N\t\\N\n").read_bytes()
        dump = ("{0}.escapes=c", "{0}.quote=", "{0}.header=false")
        reading, writing = ([w for option in dump for w in ("--set", option.format(side))] for side in ("in", "out"))
        self.assertEqual(self.cat("dump.tsv", *reading), [{"column1": 1, "column2": "x\ty\nz"}, {"column1": None, "column2": None}])
        self.flowd("convert", "dump.tsv", "copy.tsv", *reading, *writing, expect=0)
        self.assertEqual(self.flowd.read("copy.tsv"), text)

    def test_standard_input(self):
        self.assertEqual(self.cat("-", "--from-format", "csv", stdin=csv_text().encode()), objects())
        many = csv_text([(str(i), "UA", "1", "x" * 100) for i in range(20000)])
        self.assertEqual(len(self.cat("-", "--from-format", "csv", stdin=many.encode())), 20000)
        self.assertEqual(self.cat("-", "--from-format", "jsonl", stdin=b'{"a":1}\n{"a":2}\n'), [{"a": 1}, {"a": 2}])
        packed = gzip.compress(many.encode())
        self.assertEqual(len(self.cat("-", "--from-format", "csv", "--set", "in.compression=gzip", stdin=packed)), 20000)

    def test_a_writer_that_takes_its_time_is_waited_for(self):
        read, write = os.pipe()
        with subprocess.Popen([e2e.FLOWD, "cat", "-", "--from-format", "csv"], stdin=read, stdout=subprocess.PIPE, cwd=self.folder) as shown:
            os.close(read)
            until(lambda: pathlib.Path(f"/proc/{shown.pid}/fd").exists(), "the process")
            os.write(write, b"a,b\n1,")
            os.write(write, b"2\n")
            os.close(write)
            self.assertEqual(shown.stdout.read(), b'{"a":1,"b":2}\n')
        self.assertEqual(shown.returncode, 0)

    def test_a_closed_pipe_is_the_end_and_no_error(self):
        self.write("many.csv", csv_text([(str(i), "UA", "1", "x" * 100) for i in range(50000)]))
        with subprocess.Popen([e2e.FLOWD, "cat", "many.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder) as shown:
            shown.stdout.readline()
            shown.stdout.close()
            self.assertEqual(shown.stderr.read(), b"")
        self.assertEqual(shown.returncode, 0)

    def test_a_standard_stream_that_is_closed_is_an_error_and_nothing_else_takes_its_place(self):
        for closing, code, says in ((">&-", 1, "cannot write"), ("<&-", 0, ""), ("2>&-", 0, "")):
            with self.subTest(closing=closing):
                ended = subprocess.run(["sh", "-c", f'exec "$0" cat in.csv {closing}', e2e.FLOWD], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       cwd=self.folder, text=True)
                self.assertEqual(ended.returncode, code, ended.stderr)
                self.assertIn(says, ended.stderr)
                self.assertEqual(len(ended.stdout.splitlines()), 0 if code else len(ROWS))
        ended = subprocess.run(["sh", "-c", 'exec "$0" cat - --from-format csv <&-', e2e.FLOWD], stderr=subprocess.PIPE, cwd=self.folder, text=True)
        self.assertEqual(ended.returncode, 3)
        self.assertIn("cannot read", ended.stderr)

    def test_files_whose_suffixes_stand_for_different_options_are_no_one_format(self):
        self.write("b.tsv", "id\tcarrier\n1\tUA\n")
        self.refused("cat", "in.csv", "b.tsv", says=["in.csv is csv and b.tsv is tsv", "--from-format"])
        self.refused("convert", "b.tsv", "in.csv", "out.jsonl", says=["b.tsv is tsv and in.csv is csv"])
        self.write("a.ndjson", '{"a":1}\n')
        self.write("b.jsonl", '{"a":2}\n')
        self.assertEqual(self.cat("a.ndjson", "b.jsonl"), [{"a": 1}, {"a": 2}])

    def test_bytes_of_an_address_may_be_given_in_hexadecimal_and_names_of_files_mean_what_they_say(self):
        self.write("a b%20.csv", csv_text(ROWS[:1]))
        self.assertEqual(self.cat("a b%20.csv"), objects()[:1])
        self.assertEqual(self.cat(f"file://{self.folder}/a%20b%2520%2ecsv"), objects()[:1])

    def test_full_standard_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([e2e.FLOWD, "cat", "in.csv"], stdout=full, stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"No space left", ended.stderr)

    def test_an_address_is_read_by_the_system_that_serves_its_scheme(self):
        examples = str(e2e.BUILD / "tests/abi/examples")
        self.assertEqual(self.cat("counter:///3", "--plugin-dir", examples), [{"n": 0}, {"n": 1}, {"n": 2}])
        self.assertEqual(self.cat(f"file://{self.folder}/in.csv"), objects())
        self.assertEqual(self.cat("counter:///%33", "--plugin-dir", examples), [{"n": 0}, {"n": 1}, {"n": 2}])
        self.refused("cat", "counter:///x", "--plugin-dir", examples, code=3, says=["in.count"])
        self.refused("cat", "counter://here/3", "--plugin-dir", examples, code=3, says=["no host"])
        self.refused("convert", "in.csv", "counter:///3", "--plugin-dir", examples, says=["counter cannot be written"])


class Files(Convert):
    def test_each_pair_of_formats_keeps_the_records(self):
        names = ["a.csv", "a.tsv", "a.jsonl", "a.avro", "a.csv.gz", "a.avro.zst"]
        for name in names:
            self.flowd("convert", "in.csv", name, expect=0)
            self.assertEqual(self.cat(name), objects(), name)
            for other in names:
                with self.subTest(source=name, target=other):
                    self.flowd("convert", name, "to." + other, "--overwrite", expect=0)
                    self.assertEqual(self.cat("to." + other), objects())

    def test_json_becomes_a_format_with_columns_by_what_is_found_or_declared(self):
        self.write("in.jsonl", '{"id":1,"name":"a","in":{"x":[1.50]}}\n{"id":2}\n')
        self.flowd("convert", "in.jsonl", "found.avro", expect=0)
        self.assertEqual(self.flowd("cat", "found.avro", expect=0).out,
                         '{"id":1,"name":"a","in":{"x":[1.50]}}\n{"id":2,"name":null,"in":null}\n')
        declared = ("--set", "in.fields.id=int64", "--set", "in.fields.name=string?")
        self.refused("convert", "in.jsonl", "said.avro", *declared, code=1, says=["in.jsonl:1", "field /in", "not declared", 'extra = "ignore"'])
        self.flowd("convert", "in.jsonl", "said.avro", *declared, "--set", "in.extra=ignore", expect=0)
        self.assertEqual(self.cat("said.avro"), [{"id": 1, "name": "a"}, {"id": 2, "name": None}])
        self.assertEqual(self.flowd("cat", "in.jsonl", expect=0).out_bytes, self.flowd.read("in.jsonl"))
        self.refused("convert", "in.jsonl", "nested.csv", code=3, says=['field "in"'])
        for name in ("untyped.avro", "untyped.csv"):
            self.refused("convert", "in.jsonl", name, "--set", "in.infer=none", code=3, says=["--set in.fields.NAME=TYPE"])

    def test_an_option_without_its_side_is_told_how_to_say_it(self):
        self.write("in.csv", "a;b\n1;2\n")
        self.refused("cat", "in.csv", "--set", "delimiter=;", code=3, says=["in.delimiter=;", "out.delimiter=;"])

    def test_a_key_that_was_not_among_the_first_is_not_dropped(self):
        self.write("in.jsonl", f'{{"a":1{" " * 1000}}}\n' * 1200 + '{"a":1,"new":2}\n')
        self.refused("convert", "in.jsonl", "out.csv", code=1, says=["in.jsonl:1201", "new"])

    def test_json_in_documents_and_arrays(self):
        self.write("in.json", '{"a":1,\n "b":[1,\n 2]}\n{"a":2}')
        self.assertEqual(self.cat("in.json"), [{"a": 1, "b": [1, 2]}, {"a": 2}])
        self.write("array.json", '[{"a":1},\n {"a":2}]')
        for words in ((), ("--set", "in.framing=array")):
            self.assertEqual(self.cat("array.json", *words), [{"a": 1}, {"a": 2}])
            self.flowd("convert", "array.json", "out.csv", "--overwrite", *words, expect=0)
            self.assertEqual(self.flowd.read("out.csv"), b"a\n1\n2\n")
        self.assertEqual(self.cat("array.json", "in.json"), [{"a": 1}, {"a": 2}, {"a": 1, "b": [1, 2]}, {"a": 2}])
        self.assertEqual(self.cat("-", "--from-format", "json", stdin=b'\n[{"a":1}]'), [{"a": 1}])
        self.refused("convert", "array.json", "in.json", "bad.csv", code=1, says=["in.json:1", "b"])

    def test_lines_and_documents_that_are_arrays_are_records(self):
        text = self.write("in.jsonl", "[1,2]\n[3]\n").read_bytes()
        self.assertEqual(self.cat("in.jsonl"), [[1, 2], [3]])
        self.write("in.json", text)
        self.assertEqual(self.cat("in.json", "--set", "in.framing=documents"), [[1, 2], [3]])
        self.refused("cat", "in.json", code=1, says=["in.json:2", 'framing = "documents"'])

    def test_lines(self):
        self.write("in.log", "first\nsecond\n")
        self.assertEqual(self.cat("in.log", "--where", "text like 's%'"), [{"text": "second"}])
        self.flowd("convert", "in.log", "out.avro", expect=0)
        self.flowd("convert", "out.avro", "out.txt", expect=0)
        self.assertEqual(self.flowd.read("out.txt"), b"first\nsecond\n")

    def test_standard_input_to_standard_output(self):
        packed = self.flowd("convert", "-", "-", "--from-format", "csv", "--to-format", "avro", stdin=csv_text().encode(), expect=0)
        back = self.flowd("convert", "-", "-", "--from-format", "avro", "--to-format", "csv", stdin=packed.out_bytes, expect=0)
        self.assertEqual(back.out, csv_text())

    def test_several_inputs_become_one_file(self):
        self.write("in2.csv", csv_text([("5", "X", "1", "b")]))
        self.flowd("convert", "in.csv", "in2.csv", "out.avro", expect=0)
        self.flowd("convert", "in*.csv", "pattern.avro", expect=0)
        for name in ("out.avro", "pattern.avro"):
            self.assertEqual([r["id"] for r in self.cat(name)], [1, 2, 3, 4, 5])

    def test_an_empty_input_gives_an_empty_file(self):
        self.write("none.csv", HEADER)
        self.flowd("convert", "none.csv", "none.avro", expect=0)
        self.flowd("convert", "none.avro", "back.csv", expect=0)
        self.assertEqual(self.flowd.read("back.csv").decode(), HEADER)

    def test_how_it_went_is_told(self):
        told = self.flowd("convert", "in.csv", "out.avro", "--where", "id <> 1", expect=0)
        self.assertRegex(told.err, r"^out\.avro: 3 records of 4, [0-9]+ B in ")
        report = self.flowd("convert", "in.csv", "other.avro", "--json", expect=0).json()
        self.assertEqual((report["records_in"], report["records_out"], report["state"]), (4, 4, "finished"))

    def test_nothing_is_left_beside_the_file(self):
        self.flowd("convert", "in.csv", "out.avro", expect=0)
        self.assertEqual(self.names(), ["in.csv", "out.avro"])
        self.assertFalse((self.folder / "state").exists())

    def test_progress_is_a_line_on_a_terminal(self):
        self.write("many.csv", csv_text([(str(i), "UA", "1", "x" * 500) for i in range(40000)]))
        ours, theirs = pty.openpty()
        with subprocess.Popen([e2e.FLOWD, "convert", "many.csv", "out.csv.gz", "--set", "out.level=9"], stderr=theirs, cwd=self.folder) as run:
            os.close(theirs)
            shown = b""
            try:
                while chunk := os.read(ours, 65536):
                    shown += chunk
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        self.assertEqual(run.returncode, 0)
        self.assertIn(b"out.csv.gz: 40,000 records", shown)

    # --- what is there already, and what must not be half there --------------------------------------------------------

    def test_a_file_that_is_there_is_kept_unless_overwritten(self):
        self.write("out.avro", "precious")
        self.refused("convert", "in.csv", "out.avro", says=["out.avro is there already", "--overwrite"])
        self.assertEqual(self.flowd.read("out.avro"), b"precious")
        self.flowd("convert", "in.csv", "out.avro", "--overwrite", expect=0)
        self.assertEqual(self.cat("out.avro"), objects())
        self.flowd("convert", "in.csv", "in.csv", "--overwrite", "--where", "id = 3", expect=0)
        self.assertEqual(self.cat("in.csv"), objects()[2:3])

    def test_a_failure_leaves_nothing(self):
        self.write("bad.jsonl", '{"a":1}\n' * 3000 + "nothing\n" + '{"a":1}\n' * 10)
        self.write("out.csv", "before")
        for words in ((), ("--set", "job.batch_rows=1")):
            failed = self.refused("convert", "bad.jsonl", "out.csv", "--overwrite", "--set", "in.fields.a=int64", *words, code=1,
                                  says=["bad.jsonl:3001", "--errors skip", "--dead-letters"])
            self.assertNotIn("record_errors", failed.err)
            self.assertEqual(self.flowd.read("out.csv"), b"before")
            self.assertEqual(self.names(), ["bad.jsonl", "in.csv", "out.csv"])

    def test_a_full_disk_leaves_nothing(self):
        self.write("many.csv", csv_text([(str(i), "UA", "1", "x" * 500) for i in range(4000)]))
        for name in ("out.jsonl", "out.avro"):
            with self.subTest(name=name):
                ended = subprocess.run([e2e.FLOWD, "convert", "many.csv", name], stderr=subprocess.PIPE, cwd=self.folder,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000)))
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertIn(b"File too large", ended.stderr)
                self.assertNotIn(b"checkpoint", ended.stderr)
                self.assertEqual(self.names(), ["in.csv", "many.csv"])

    def test_killed_conversions_leave_the_target_alone_and_the_next_one_works(self):
        self.write("many.csv", csv_text([(str(i), "UA", "1", "x" * 100) for i in range(60000)]))
        self.write("out.avro", "before")
        killed = 0
        for least in (1, 100000, 2000000, 5000000):
            run = subprocess.Popen([e2e.FLOWD, "convert", "many.csv", "out.avro", "--overwrite"], cwd=self.folder, stderr=subprocess.PIPE)
            part = self.folder / ".out.avro.convert.part"
            until(lambda: run.poll() is not None or (part.exists() and part.stat().st_size >= least), "the temporary")
            run.send_signal(signal.SIGKILL)
            run.communicate()
            killed += run.returncode == -signal.SIGKILL
            if run.returncode == -signal.SIGKILL and self.flowd.read("out.avro") != b"before":
                self.assertEqual(len(self.cat("out.avro")), 60000)  # killed behind the rename
                self.write("out.avro", "before")
        self.assertGreater(killed, 0)
        self.flowd("convert", "many.csv", "out.avro", "--overwrite", expect=0)
        self.assertEqual(len(self.cat("out.avro")), 60000)
        self.assertEqual(self.names(), ["in.csv", "many.csv", "out.avro"])

    def test_names_as_long_as_they_may_be(self):
        for size in (240, 251):
            self.flowd("convert", "in.csv", "x" * size + ".csv", expect=0)
            self.assertEqual(self.flowd.read("x" * size + ".csv").decode(), csv_text())
        self.refused("convert", "in.csv", "x" * 252 + ".csv", code=1, says=["File name too long"])
        self.assertEqual(self.names(), ["in.csv", "x" * 240 + ".csv", "x" * 251 + ".csv"])

    def test_the_state_of_killed_conversions_is_removed_by_the_next_one_and_that_of_others_is_kept(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        environment = {**os.environ, "TMPDIR": str(temporary)}
        runs = []
        for name in ("killed.csv", "running.csv"):
            run = subprocess.Popen([e2e.FLOWD, "convert", "-", name, "--from-format", "csv"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=environment)
            run.stdin.write(csv_text().encode())
            run.stdin.flush()
            until(lambda: len(list(temporary.iterdir())) > len(runs), "the state")
            until(lambda: (self.folder / f".{name}.convert.part").exists(), "the temporary")
            runs.append((run, set(temporary.iterdir())))
        killed, left = runs[0]
        killed.kill()
        killed.communicate()
        subprocess.run([e2e.FLOWD, "convert", "in.csv", "out.csv"], cwd=self.folder, env=environment, check=True, stderr=subprocess.PIPE)
        self.assertEqual(set(temporary.iterdir()), runs[1][1] - left)
        runs[1][0].communicate()
        self.assertEqual((runs[1][0].returncode, list(temporary.iterdir())), (0, []))

    def test_stopped_conversions_leave_nothing(self):
        read, write = os.pipe()
        with subprocess.Popen([e2e.FLOWD, "convert", "-", "out.avro", "--from-format", "csv"], stdin=read, stderr=subprocess.PIPE,
                              cwd=self.folder) as run:
            os.close(read)
            os.write(write, csv_text().encode())
            until(lambda: (self.folder / ".out.avro.convert.part").exists(), "the temporary")
            run.send_signal(signal.SIGTERM)
            said = run.stderr.read()
        os.close(write)
        self.assertIn(b"stopped", said)
        self.assertEqual(run.returncode, 1)  # `flowd convert a b && rm a` must keep a
        self.assertEqual(self.names(), ["in.csv"])

    def test_a_cut_container_file_fails_and_leaves_the_target_alone(self):
        case = e2e.SOURCE / "tests/cases/avro/07-truncated-container"
        whole = (case / "expected.jsonl").read_bytes().splitlines(keepends=True)
        for cut in json.loads((case / "cuts.json").read_text()):
            with self.subTest(file=cut["file"]):
                self.write("out.jsonl", "before")
                shown = self.flowd("cat", case / cut["file"])
                told = self.flowd("convert", case / cut["file"], "out.jsonl", "--overwrite")
                records = [json.loads(line) for line in whole[:cut["records"]]]
                if cut["outcome"] == "ok":
                    self.assertEqual((shown.code, told.code), (0, 0))
                    self.assertEqual(self.records("out.jsonl"), records)
                    continue
                self.assertEqual((shown.code, told.code), (1, 1))
                for said in (shown.err, told.err):
                    self.assertIn(cut["file"], said)
                    self.assertIn(f"offset {cut['error_at_byte']}", said)
                self.assertEqual([json.loads(line) for line in shown.out.splitlines()], records)
                self.assertEqual(self.flowd.read("out.jsonl"), b"before")
                self.assertEqual(self.names(), ["in.csv", "out.jsonl"])

    # --- bad records ----------------------------------------------------------------------------------------------------

    def test_bad_records_by_policy(self):
        self.write("bad.csv", "a,b\n1,x\n2\nz,y\n4,w\n")
        declared = ("--set", "in.fields.a=int64", "--set", "in.null_token=-")
        self.refused("cat", "bad.csv", *declared, code=1, says=["bad.csv:3"])
        self.refused("cat", "bad.csv", *declared, "--errors", "fail", code=1, says=["bad.csv:3"])
        skipped = self.flowd("cat", "bad.csv", *declared, "--errors", "skip", expect=0)
        self.assertEqual([json.loads(line)["a"] for line in skipped.out.splitlines()], [1, 4])
        self.assertIn("2 records were skipped", skipped.err)
        self.flowd("convert", "bad.csv", "good.avro", *declared, "--dead-letters", "bad.jsonl", expect=0)
        self.assertEqual([r["a"] for r in self.cat("good.avro")], [1, 4])
        letters = self.cat("bad.jsonl")
        self.assertEqual([(r["place"], r["line"]) for r in letters], [("bad.csv", 3), ("bad.csv", 4)])
        self.refused("convert", "bad.csv", "other.avro", *declared, "--dead-letters", "bad.jsonl", says=["bad.jsonl is there already"])

    def test_a_record_that_has_no_form_in_json_is_refused_with_the_option_that_gives_it_one(self):
        self.write("nan.msgpack", b"\x81\xa1a\xcb\x7f\xf8" + bytes(6))
        self.refused("cat", "nan.msgpack", code=1, says=["nan.msgpack, record at byte 0: json: JSON has no number for NaN and the infinities (option nan)"])
        self.assertEqual(self.flowd("cat", "nan.msgpack", "--set", "out.nan=null", expect=0).out, '{"a":null}\n')

    def test_a_file_whose_name_is_no_utf8_is_read_and_written_as_others_are(self):
        name, copy = b"a\xff.csv", b"b\xff.csv"
        (self.folder / os.fsdecode(name)).write_text("a,b\n1,x\nz,y\n")
        declared = ("--set", "in.fields.a=int64")
        for words in (os.fsdecode(name),), ("a*.csv",):
            shown = self.flowd("cat", *words, *declared, "--dead-letters", "bad.jsonl", expect=0)
            self.assertEqual([json.loads(line)["a"] for line in shown.out.splitlines()], [1])
            self.assertEqual([(r["place"], r["line"]) for r in self.cat("bad.jsonl")], [("a\\xff.csv", 3)])
            (self.folder / "bad.jsonl").unlink()
        self.flowd("convert", os.fsdecode(name), os.fsdecode(copy), expect=0)
        self.assertEqual((self.folder / os.fsdecode(copy)).read_text(), "a,b\n1,x\nz,y\n")

    def test_a_record_that_an_expression_fails_on_is_told_with_the_flag_and_its_place(self):
        self.refused("cat", "in.csv", "--where", "100 / delay > 1", code=1, says=["--where", "in.csv, record at byte 8", "division by zero"])
        self.refused("cat", "in.csv", "--select", "id,q=100 / delay", code=1, says=["--select", "in.csv, record at byte 8", "division by zero"])

    def test_usage(self):
        for words, says in (
            (("cat",), "needs FILE"),
            (("convert", "in.csv"), "needs IN... OUT"),
            (("cat", "in.csv", "--limit", "0"), "at least 1"),
            (("cat", "in.csv", "--errors", "ignore"), "fail or skip"),
            (("cat", "in.csv", "--errors", "skip", "--dead-letters", "x.jsonl"), "give one"),
            (("cat", "in.csv", "--select", "a,,b"), "empty"),
            (("cat", "in.xyz"), "no format has the suffix .xyz; give it with --from-format. Known suffixes: avro, csv"),
            (("cat", "in"), "no suffix"),
            (("cat", "in.csv.bz2"), "no format has the suffix .bz2"),
            (("cat", "-"), "standard input has no name that tells its format"),
            (("convert", "in.csv", "-"), "--to-format"),
            (("convert", "in.csv", "out.parquet"), ".parquet"),
            (("cat", "in.csv", "in.jsonl"), "one run reads one format"),
            (("cat", "in.csv", "--format", "cvs"), "did you mean csv"),
            (("cat", "in.csv", "--format", "table"), "Formats are: avro, bytes, csv"),
            (("cat", "file:///in%2.csv"), "two hexadecimal digits"),
            (("cat", "file:///in%00.csv"), "two hexadecimal digits"),
            (("cat", "nowhere://host/topic"), "no plugin serves nowhere://; known are: file"),
        ):
            with self.subTest(words=words):
                self.assertEqual(self.refused(*words, says=[says]).out, "")

    def test_what_the_planner_refuses(self):
        for words, says in (
            (("cat", "none.csv"), ["none.csv", "No such file"]),
            (("cat", "in.csv", "--where", "nope > 1"), ["--where", 'unknown field "nope"']),
            (("cat", "in.csv", "--where", "delay >"), ["--where", "at character 8"]),
            (("cat", "in.csv", "--select", "nope"), ["--select", "there is no field nope; there are: id, carrier"]),
            (("cat", "in.csv", "--set", "in.delimter=;"), ["in.delimter: unknown option", "delimiter"]),
            (("cat", "in.csv", "--set", "inn.delimiter=;"), ["--set"]),
            (("cat", "in.csv", "--set", "in.delimiter"), ["--set in.KEY=VALUE"]),
            (("cat", "in.csv", "--set", "in.fields.zz=int64"), ["zz"]),
            (("convert", "in.csv", "no/such/out.csv"), []),
        ):
            with self.subTest(words=words):
                code = 1 if "no/such/out.csv" in words else 3
                self.refused(*words, code=code, says=says)
        problems = self.flowd("cat", "in.csv", "--where", "nope > 1", "--json", expect=3)
        self.assertIn("nope", json.loads(problems.out)[0]["message"])


if __name__ == "__main__":
    e2e.main()
