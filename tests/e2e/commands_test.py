"""Commands besides run: help, usage errors, exit codes, what machines read, completion, man pages."""
import json
import os
import pathlib
import re
import subprocess

import e2e

COMMANDS = ["run", "cat", "convert", "check", "plan", "explain", "help", "plugin list", "plugin show", "plugin check", "state ls", "state reset", "version",
            "completion"]
COMMON = {"plugin-dir", "log-level", "log-format", "json", "help"}


class Commands(e2e.Test):
    def setUp(self):
        super().setUp()
        self.write("in.jsonl", '{"a":1}\n')
        self.write("job.conf", e2e.job())

    def options_of(self, command):
        return set(re.findall(r"^  --([a-z-]+)", self.flowd(*command.split(), "--help", expect=0).out, re.M))

    def test_the_help_lists_every_command(self):
        for words in (["--help"], ["-h"]):
            listed = re.findall(r"^  flowd ([a-z]+(?: [a-z]+)?)  ", self.flowd(*words, expect=0).out, re.M)
            self.assertEqual([name.strip() for name in listed], COMMANDS)

    def test_each_command_has_help_with_what_all_take(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                shown = self.flowd(*command.split(), "--help", expect=0)
                self.assertTrue(shown.out.startswith(f"Usage: flowd {command}"), shown.out)
                self.assertEqual(shown.err, "")
                self.assertLessEqual(COMMON, self.options_of(command))

    def test_no_command_is_a_usage_error(self):
        self.assertIn("Usage:", self.flowd(expect=2).err)

    def test_what_is_misspelt_is_named_with_the_nearest_word(self):
        for words, nearest in ((["chek", "job.conf"], "check"), (["run", "--frsh", "job.conf"], "--fresh"),
                               (["check", "--jsn", "job.conf"], "--json"), (["help", "cvs"], "csv"), (["help", "csv.delimter"], "delimiter"),
                               (["state", "reste"], "reset"), (["plugin", "shwo", "csv"], "show")):
            with self.subTest(words=words):
                refused = self.flowd(*words, expect=2)
                self.assertIn(nearest, refused.err)
                self.assertEqual(refused.out, "")

    def test_usage_errors(self):
        for words in (["run"], ["check"], ["plan"], ["explain", "job.conf"], ["plugin"], ["plugin", "show"], ["plugin", "check"], ["state"],
                      ["state", "reset"], ["run", "job.conf", "--limit"], ["run", "job.conf", "--limit", "x"], ["run", "job.conf", "--limit", "-1"],
                      ["run", "job.conf", "--log-level", "loud"], ["run", "job.conf", "--log-format", "xml"], ["version", "x"],
                      ["check", "--fresh", "job.conf"], ["run", "--fresh=yes", "job.conf"], ["run", *["job.conf"] * 17],
                      ["help", "--format", "pdf", "csv"]):
            with self.subTest(words=words):
                refused = self.flowd(*words, expect=2)
                self.assertTrue(refused.err.startswith("flowd"), refused.err)
        self.assertFalse((self.folder / "out.jsonl").exists())

    def test_configuration_errors_are_code_3_for_every_command_that_reads_one(self):
        self.write("bad.conf", e2e.job(steps='were = "a > 1";'))
        self.write("broken.conf", "application: {")
        for command in ("run", "check", "plan"):
            for name in ("bad.conf", "broken.conf", "absent.conf"):
                with self.subTest(command=command, name=name):
                    self.assertIn(name, self.flowd(command, name, expect=3).err)
        self.flowd("explain", "absent.conf", "job.workers", expect=3)
        self.flowd("explain", "job.conf", "job.wrokers", expect=3)

    def test_a_file_that_is_a_folder_or_no_text_is_refused(self):
        os.mkdir(self.folder / "folder.conf")
        self.write("binary.conf", bytes(range(256)))
        self.write("nothing.conf", "")
        for name in ("folder.conf", "binary.conf", "nothing.conf"):
            with self.subTest(name=name):
                self.assertIn(name, self.flowd("run", name, expect=3).err)

    def test_a_bad_setting_of_the_command_line_is_named(self):
        for setting, says in (("nonsense", "nonsense"), ("job.wrkers=1", "workers"), ("job.workers=many", "job.workers"),
                              ("streams.inn.path=x", "inn"), ("streams.in.serde=\"csv\"", "serde"), ("=1", "path of a key")):
            with self.subTest(setting=setting):
                self.assertIn(says, self.flowd("run", "job.conf", "--set", setting, expect=3).err)

    def test_an_option_may_stand_anywhere_behind_the_command_and_with_an_equal_sign(self):
        self.assertIn("flowd COMMAND --json", self.flowd("--json", "check", "job.conf", expect=2).err)
        for words in (["check", "--json", "job.conf"], ["check", "job.conf", "--set=job.workers=1", "--json"]):
            with self.subTest(words=words):
                self.assertEqual(self.flowd(*words, expect=0).json(), [])

    def test_what_machines_read_is_json(self):
        for words in (["check", "job.conf"], ["plan", "job.conf"], ["explain", "job.conf", "streams.in.path"], ["help"], ["help", "csv"],
                      ["plugin", "list"], ["plugin", "show", "csv"], ["plugin", "check", e2e.BUILD / "plugins/csv.so"], ["state", "ls"],
                      ["version"], ["run", "job.conf"]):
            with self.subTest(words=words):
                done = self.flowd(*words, "--json", expect=0)
                self.assertIsInstance(done.json(), (dict, list))
        self.assertEqual(self.flowd("state", "ls", "--json", expect=0).json()[0]["checkpoint"]["finished"], True)

    def test_errors_are_json_too_where_it_is_asked_for(self):
        self.write("bad.conf", e2e.job(steps='were = "a > 1";'))
        for command in ("check", "plan", "run"):
            problems = self.flowd(command, "bad.conf", "--json", expect=3).json()
            self.assertIn(("bad.conf", 6, "application.flow[0].were", "where"),
                          [(p["file"], p["line"], p["path"], p.get("suggestion")) for p in problems])

    def test_a_plan_is_deterministic_and_has_pictures(self):
        self.assertEqual(self.flowd("plan", "job.conf").out, self.flowd("plan", "job.conf").out)
        self.assertTrue(self.flowd("plan", "job.conf", "--dot", expect=0).out.startswith("digraph"))
        self.assertTrue(self.flowd("plan", "job.conf", "--mermaid", expect=0).out.startswith("flowchart"))
        self.assertFalse((self.folder / "state").exists())

    def test_explain_shows_what_was_overridden(self):
        self.write("more.conf", "job: { workers = 2; };\n")
        told = self.flowd("explain", "job.conf", "more.conf", "job.workers", "--set", "job.workers=3", "--json", expect=0).json()
        self.assertEqual((told["value"], told["layer"], [o["value"] for o in told["overrode"]]), ("3", "--set", ["2"]))

    def test_explain_shows_every_layer_that_spoke_defaults_too(self):
        def told(key, *more):
            shown = self.flowd("explain", "job.conf", key, *more, "--json", expect=0).json()
            return [(voice["value"], voice["layer"], voice["origin"]) for voice in [shown, *shown["overrode"]]]
        self.assertEqual(told("streams.in.bounded"), [("true", "descriptor", "job.conf:4"), ("false", "option default", "default")])
        self.assertEqual(told("job.checkpoint_interval", "--set", "job.checkpoint_interval=5s"),
                         [('"5s"', "--set", "--set"), ('"10s"', "option default", "default")])
        # A serde by its name alone has its defaults, and what is set is told beside what it overrode.
        self.assertEqual(told("streams.in.serde.max_record"), [('"16MiB"', "option default", "default")])
        # What follows from something else says from what.
        self.assertEqual(told("streams.out.record_errors", "--set", "job.record_errors=skip"),
                         [('"skip"', "option default", "that of the job")])

    def test_explain_of_a_group_tells_each_of_its_keys(self):
        self.write("windows.conf", e2e.job(serde='{ type = "json"; fields: { t = "timestamp"; x = "int64"; }; }',
                   steps='key_by = "x"; }, { name = "w"; window: { tumbling = "1h"; time = "t"; }; aggregate: { n = "count(*)"; };'))
        shown = self.flowd("explain", "windows.conf", "operators.w", expect=0).out
        self.assertIn('operators.w.window.tumbling = "1h"\n  from descriptor, windows.conf:6\n', shown)
        self.assertIn('operators.w.window.out_of_order = "0s"\n  from option default\n', shown)
        self.assertIn('operators.w.late_records = "fail"\n  from option default, the job\'s inputs end\n', shown)
        keys = self.flowd("explain", "--json", "windows.conf", "operators.w", expect=0).json()["keys"]
        self.assertEqual(keys["window"]["keys"]["tumbling"]["layer"], "descriptor")
        self.assertEqual(keys["late_records"]["origin"], "the job's inputs end")

    def test_check_and_plan_warn_of_a_folder_that_is_not_there(self):
        self.write("far.conf", (self.folder / "job.conf").read_text().replace('"out.jsonl"', '"gone/out.jsonl"'))
        for command in ("check", "plan"):
            self.assertIn("far.conf:5: warning: application.outputs.out.path: output 'out': ./gone/out.jsonl: the folder ./gone is not there; "
                          "make it, or set make_folders = true for this output", self.flowd(command, "far.conf", expect=0).err)
        self.assertIn("make_folders", self.flowd("run", "far.conf", expect=1).err)
        self.flowd("run", "far.conf", "--dry-sink", expect=0)

    def test_check_with_connect_refuses_what_is_not_there_also_for_outputs(self):
        self.assertEqual(self.flowd("check", "--connect", "job.conf", expect=0).err, "")
        self.write("far.conf", (self.folder / "job.conf").read_text().replace('"out.jsonl"', '"gone/out.jsonl"'))
        self.assertIn("far.conf:5: application.outputs.out.path: output 'out': ./gone/out.jsonl: the folder ./gone is not there; make it, or set "
                      "make_folders = true for this output", self.flowd("check", "--connect", "far.conf", expect=3).err)
        self.write("links.conf", 'links: { a: { connector = "x"; }; };\ntransfers: { t: { from: { link = "a"; }; to: { link = "a"; }; }; };\n')
        for words in ([], ["--connect"]):
            self.flowd("check", *words, "links.conf", expect=0)

    def test_plugins_are_listed_shown_and_checked(self):
        listed = {p["id"]: p for p in self.flowd("plugin", "list", "--json", expect=0).json()}
        self.assertLessEqual({"basic", "csv", "file", "generate", "json", "lua", "memory", "null", "rocksdb", "std"}, listed.keys())
        manifest = self.flowd("plugin", "show", "csv", "--json", expect=0).json()
        self.assertIn("csv", json.dumps(manifest, default=str))
        self.assertIn("basic", self.flowd("plugin", "show", "bsic", expect=2).err)
        for plugin in listed.values():
            self.flowd("plugin", "check", plugin["file"], expect=0)

    def test_files_that_are_no_plugins_are_refused_by_name(self):
        self.write("text.so", "no plugin")
        cut = pathlib.Path(e2e.BUILD / "plugins/csv.so").read_bytes()
        self.write("cut.so", cut[:len(cut) // 2])
        for name in ("text.so", "cut.so", "/bin/true", "absent.so"):
            with self.subTest(name=name):
                self.assertIn(name.split("/")[-1], self.flowd("plugin", "check", name, expect=4).err)

    def test_a_plugin_that_is_needed_and_cannot_be_loaded_stops_the_run(self):
        os.mkdir(self.folder / "plugins")
        good = pathlib.Path(e2e.BUILD / "plugins/json.so").read_bytes()
        damaged = bytearray(good)
        manifest = good.find(b'"json"')
        damaged[manifest + 1:manifest + 5] = b"jsun"  # the manifest no longer says what the tables do
        self.write("plugins/jsun.so", bytes(damaged))
        self.write("job.conf", e2e.job(serde='"jsun"'))
        refused = self.flowd("run", "job.conf", "--plugin-dir", "plugins")
        self.assertIn(refused.code, (3, 4), str(refused))
        self.assertFalse((self.folder / "out.jsonl").exists())

    def test_a_function_whose_plugin_is_refused_says_why(self):
        os.mkdir(self.folder / "plugins")
        copy = self.folder / "plugins/planner_fixture.so"
        copy.write_bytes((e2e.BUILD / "tests/graph_plugins/planner_fixture.so").read_bytes())
        os.chmod(self.folder / "plugins", 0o777)
        self.write("job.conf", e2e.job(steps='sink_all = true;'))
        refused = self.flowd("check", "job.conf", "--plugin-dir", "plugins", expect=4)
        self.assertIn("chmod go-w", refused.err)

    def test_versions(self):
        told = self.flowd("version", "--json", expect=0).json()
        self.assertEqual({"version", "abi", "allocator", "libraries", "plugins"}, set(told))
        self.assertIn(told["version"], self.flowd("version", expect=0).out)
        self.assertEqual(self.flowd("--version", expect=0).out, self.flowd("version", expect=0).out)

    def test_a_reader_that_has_seen_enough_is_no_failure(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([e2e.FLOWD, "help", "file"], stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([e2e.FLOWD, "help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)


class Help(e2e.Test):
    def test_every_subject_has_help_in_every_format(self):
        subjects = self.flowd("help", "--json", expect=0).json()
        self.assertGreater(len(subjects), 20)
        self.flowd("help", expect=0)
        for subject in subjects:
            name = f"{subject['kind']}/{subject['id']}"
            with self.subTest(name=name):
                self.assertIn(subject["id"], self.flowd("help", name, expect=0).out)
                self.assertTrue(subject["doc"], "it has no description")
        for form in ("markdown", "sample", "words", "schema"):
            self.flowd("help", "csv", "--format", form, expect=0)

    def test_an_option_is_explained_by_its_path(self):
        self.assertIn("delimiter", self.flowd("help", "csv.delimiter", expect=0).out)
        self.assertIn("tumbling", self.flowd("help", "aggregate.window.tumbling", expect=0).out)
        for word, owner in (("window", "aggregate.window"), ("window.tumbling", "aggregate.window.tumbling"), ("delimiter", "csv.delimiter")):
            self.assertIn(f"flowd help {owner}", self.flowd("help", word, expect=2).err)


class Completion(e2e.Test):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = self.flowd("completion", expect=0).out
        line = f"""{script}
COMP_WORDS=(flowd {' '.join(f'"{w}"' for w in words)}); COMP_CWORD={len(words)}; _flowd; printf '%s\\n' "${{COMPREPLY[@]}}" """
        path = f"{os.path.dirname(e2e.FLOWD)}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "--norc", "-c", line], cwd=self.folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    def test_words_of_the_command_line(self):
        self.assertEqual(self.complete(""), {c.split()[0] for c in COMMANDS})
        self.assertEqual(self.complete("pl"), {"plan", "plugin"})
        self.assertEqual(self.complete("plugin", ""), {"list", "show", "check"})
        self.assertEqual(self.complete("run", "--fr"), {"--fresh"})
        self.assertEqual(self.complete("run", "--log-level", "w"), {"warn"})
        self.assertEqual(self.complete("help", "--format", "m"), {"markdown"})
        self.write("late.conf", "")
        self.assertEqual(self.complete("run", "lat"), {"late.conf"})


class ManPages(e2e.Test):
    def text(self, name):
        page = (e2e.SOURCE / "docs/man" / name).read_text()
        return page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")

    def test_the_page_names_every_command_and_option(self):
        page = self.text("flowd.1")
        for command in COMMANDS:
            first, *second = command.split()
            self.assertRegex(page, rf"(?m)^\.(SS|B|BR|IR) .*flowd {first}\b", command)
            if second:
                self.assertRegex(page, rf"\b{second[0]}\b", command)
            for option in re.findall(r"^  --([a-z-]+)", self.flowd(*command.split(), "--help").out, re.M):
                self.assertIn(f"--{option}", page, f"{command} --{option}")

    def test_the_page_names_no_option_that_is_not_there(self):
        there = {o for c in COMMANDS for o in re.findall(r"^  --([a-z-]+)", self.flowd(*c.split(), "--help").out, re.M)}
        self.assertEqual(set(re.findall(r"--([a-z][a-z-]+)", self.text("flowd.1"))) - there, set())

    def test_the_example_of_the_format_is_good(self):
        example = self.text("flowd.conf.5").split(".EX\n")[1].split("\n.EE")[0].replace("\\(dq", '"')
        self.write("example.conf", example)
        self.write("flights.csv", "dep_delay,time_hour,carrier\n16,2013-01-01T10:00:00Z,UA\n")
        self.flowd("check", "example.conf", expect=0)
        self.flowd("run", "example.conf", expect=0)
        self.assertEqual(len(self.records("late.jsonl")), 1)


if __name__ == "__main__":
    e2e.main()
