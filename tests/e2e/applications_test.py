"""Applications in C from the command line: flowd run|check|plan|explain app.so [extra.conf]; expanders and transformers that run."""
import collections
import os
import subprocess

import e2e

APPLICATIONS = e2e.BUILD / "tests/applications"
PAGE_VIEWS = APPLICATIONS / "page_views.so"
TWIN = e2e.SOURCE / "sdk/examples/page_views/page_views.conf"


class Applications(e2e.Test):
    def test_the_example_runs_and_its_twin_has_the_same_plan(self):
        self.flowd("check", PAGE_VIEWS, expect=0)
        self.flowd("run", PAGE_VIEWS, expect=0)
        expected = (TWIN.parent / "expected.jsonl").read_text().splitlines()
        self.assertEqual(sorted(self.flowd.lines("out/result.jsonl")), sorted(expected))
        code, file = (self.flowd("plan", "--json", which, expect=0).json() for which in (PAGE_VIEWS, TWIN))
        self.assertEqual((code["id"], code["state_id"]), (file["id"], file["state_id"]))

    def test_the_example_over_topics_needs_the_system_that_it_leaves_to_the_configuration(self):
        application, folder = APPLICATIONS / "page_views_kafka.so", e2e.SOURCE / "sdk/examples/page_views_kafka"
        self.flowd("check", application, folder / "site.conf", expect=0)
        self.flowd("check", folder / "page_views_kafka.conf", expect=0)
        self.assertRegex(self.flowd("check", application, expect=3).err, r"page_views_kafka\.c:\d+: .*metrics")

    def test_plans_of_code_are_equal_byte_for_byte_whatever_the_environment(self):
        german = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LOCPATH": str(e2e.BUILD / "tests/locale")}
        point = subprocess.run(["locale", "decimal_point"], env={**os.environ, **german}, capture_output=True, text=True).stdout
        self.assertEqual(point, ",\n", "the locale of the tests is not there: scripts/setup --tests installs what it is made from")
        environments = [{}, {"LC_ALL": "C"}, german, {"TZ": "Asia/Tokyo"}, {"HOME": "/nowhere"}]
        for form in ([], ["--json"], ["--dot"], ["--mermaid"]):
            printed = {self.flowd("plan", *form, PAGE_VIEWS, env=environment, expect=0).out for environment in environments}
            self.assertEqual(len(printed), 1)

    def test_a_file_beside_it_adds_and_jobs_and_set_override(self):
        self.write("extra.conf", 'streams: { page-views: { priority = 3; bounded = false; }; };\n'
                                 'jobs: { page-views: { streams: { page-views: { bootstrap = true; }; }; }; };\n')
        key = "streams.page-views."
        explain = {name: self.flowd("explain", "--json", PAGE_VIEWS, "extra.conf", key + name, expect=0).json()
                   for name in ("priority", "bounded", "bootstrap")}
        self.assertEqual((explain["priority"]["value"], explain["priority"]["layer"]), ("3", "configuration file"))
        self.assertEqual((explain["bounded"]["value"], explain["bounded"]["layer"]), ("true", "descriptor"))
        self.assertRegex(explain["bounded"]["origin"], r"(^|/)page_views\.c:\d+$")
        self.assertEqual(explain["bounded"]["overrode"][0]["value"], "false")
        self.assertEqual((explain["bootstrap"]["value"], explain["bootstrap"]["layer"]), ("true", "jobs"))
        self.assertEqual(explain["bootstrap"]["overrode"][0]["layer"], "descriptor")
        self.flowd("run", "extra.conf", PAGE_VIEWS, "--set", "streams.page-view-counts.path=else.jsonl", expect=0)
        self.assertEqual(len(self.flowd.lines("else.jsonl")), 2)

    def test_all_that_is_wrong_is_told_at_once_with_the_lines_of_the_code(self):
        refused = self.flowd("check", APPLICATIONS / "wrong.so", expect=3).err
        for line in ("wrong.c:12: application.inputs.in.pth: unknown option, did you mean \"path\"?",
                     "wrong.c:13: application.inputs.in.serde: no plugin has a serde 'jsn', did you mean \"json\"?",
                     "wrong.c:15: application.flow[0].whre: 'whre' is neither a function nor a word of a step, did you mean \"where\"?",
                     "wrong.c:16: application.outputs.out.serde: is missing: how its records are written, like serde = \"json\"",
                     "application.name: is missing: name = \"my-application\""):
            self.assertIn(line, refused)

    def test_what_cannot_be_an_application_is_refused(self):
        two = self.flowd("run", PAGE_VIEWS, APPLICATIONS / "wrong.so", expect=3).err
        self.assertIn("there are two applications", two)
        self.assertIn("json.so: application: plugin json has no application; give --plugin-dir its folder to use what it has",
                      self.flowd("run", e2e.BUILD / "plugins/json.so", expect=3).err)
        self.assertIn("several.so: application: plugin several has several applications; put each into a plugin of its own",
                      self.flowd("run", APPLICATIONS / "several.so", expect=3).err)
        self.assertIn("nowhere.so", self.flowd("run", "nowhere.so", expect=4).err)
        self.write("empty.so", "")
        self.assertIn("empty.so", self.flowd("run", "empty.so", expect=4).err)

    def contexts(self):
        """What happened to each context in order, and what it had counted in the end."""
        words, counts = collections.defaultdict(list), {}
        for line in self.flowd.lines("context.log"):
            word, number, seen = line.split()
            words[number].append(word)
            counts[number] = int(seen)
        return words, counts

    def assert_each_context_outlives_its_functions(self, contexts):
        for words in contexts.values():
            opened = words.count("open")
            self.assertEqual(words, ["init"] + ["open"] * opened + ["shut"] * opened + ["close"])

    def run_with_contexts(self, application, *options, expect=0):
        """Files of two, three and four records; what is left of an earlier run is gone."""
        for i in (2, 3, 4):
            self.write(f"in-{i}.jsonl", "".join(f'{{"x":{x}}}\n' for x in range(i)))
        self.write("options.conf", f"application: {{ {application} }};\n")
        (self.folder / "context.log").unlink(missing_ok=True)
        return self.flowd("run", "--fresh", APPLICATIONS / "shared_context.so", "options.conf", *options, expect=expect)

    def test_functions_of_a_task_share_a_context_that_outlives_them(self):
        self.write("in.jsonl", "".join(f'{{"x":{x}}}\n' for x in range(3)))
        for options in ([], ["--check-plugins"]):
            (self.folder / "context.log").unlink(missing_ok=True)
            self.flowd("run", APPLICATIONS / "shared_context.so", *options, expect=0)
            # Both steps count in one context: the first sees 1, 2, 3, the second goes on with 4, 5, 6.
            self.assertEqual([r["seen"] for r in self.records("out.jsonl")], [4, 5, 6])
            words, counts = self.contexts()
            self.assertEqual(list(words.values()), [["init", "open", "open", "shut", "shut", "close"]])
            self.assertEqual(list(counts.values()), [6])

    def test_each_task_has_a_context_of_its_own(self):
        for options in ([], ["--check-plugins"]):
            three = ["--set", "job.parallelism=3", *options]
            self.run_with_contexts("keyed = true;", *three)
            words, counts = self.contexts()
            plan = self.flowd("plan", "--json", APPLICATIONS / "shared_context.so", "options.conf", "--set", "job.parallelism=3", expect=0).json()
            self.assertEqual(len(words), sum(stage["tasks"] for stage in plan["stages"]))
            self.assert_each_context_outlives_its_functions(words)
            self.assertEqual([w.count("open") for w in words.values()].count(1), 6)
            # Each task of the first step has read one file; those of the second share what they have sent, by key.
            counted = collections.Counter(counts.values())
            self.assertLessEqual({2, 3, 4}, set(counted))
            self.assertEqual(sum(counts.values()), 2 * (2 + 3 + 4))

    def test_contexts_are_closed_when_a_function_or_another_context_fails(self):
        three = ["--set", "job.parallelism=3"]
        failed = self.run_with_contexts("keyed = true; most_seen = 2;", *three, expect=1)
        self.assertIn("no more than 2", failed.err)
        self.assert_each_context_outlives_its_functions(self.contexts()[0])
        failed = self.run_with_contexts("keyed = true; contexts = 2;", *three, expect=1)
        self.assertIn("the context of the application: it cannot be made", failed.err)
        self.assertEqual(len(self.contexts()[0]), 2)
        self.assert_each_context_outlives_its_functions(self.contexts()[0])

    def test_an_application_has_options_and_a_context_that_fails_ends_the_run(self):
        self.write("in.jsonl", '{"x":1}\n')
        self.write("options.conf", 'application: { contexts = 0; log = "other.log"; };\n')
        failed = self.flowd("run", APPLICATIONS / "shared_context.so", "options.conf", expect=1).err
        self.assertIn("the context of the application: it cannot be made", failed)
        self.assertFalse((self.folder / "other.log").exists())


class Kinds(e2e.Test):
    def test_a_union_reads_all_its_members_and_an_envelope_tells_where_each_record_is_from(self):
        for name, values in {"a-1.jsonl": (1, 2), "a-2.jsonl": (3,), "b.jsonl": (4, 5)}.items():
            self.write(name, "".join(f'{{"x":{x}}}\n' for x in values))
        self.write("union.conf", """application: { name = "union";
          systems: { files: { type = "file"; };
            all: { type = "union"; members: ( { system = "files"; properties: { path = "a-{1..2}.jsonl"; }; }, { system = "more"; } ); };
            more: { type = "union"; members: { system = "files"; properties: { path = "b.jsonl"; }; }; }; };
          inputs: { in: { system = "all"; bounded = true; serde: { type = "json"; fields: { x = "int64"; }; };
                          transformer: { type = "envelope"; add = ["place", "partition"]; prefix = "from_"; }; }; };
          outputs: { out: { system = "files"; path = "out.jsonl"; serde = "json"; }; };
          flow: ( { from = "in"; where = "x <> 2"; to = "out"; } ); };\n""")
        for options in ([], ["--check-plugins"], ["--set", "job.batch_rows=1"], ["--set", "job.parallelism=4"]):
            self.flowd("run", "--fresh", "union.conf", *options, expect=0)
            got = sorted((int(r["x"]), r["from_place"].split("/")[-1], int(r["from_partition"])) for r in self.records("out.jsonl"))
            self.assertEqual(got, [(1, "a-1.jsonl", 0), (3, "a-2.jsonl", 0), (4, "b.jsonl", 0), (5, "b.jsonl", 0)])

    def test_a_global_stream_behind_a_keyed_one_has_one_state(self):
        self.write("in.jsonl", "".join(f'{{"k":"{k}","x":{x},"t":"2024-01-01T00:00:0{x}Z"}}\n' for x, k in enumerate("abcab")))
        fields = '{ type = "json"; fields: { k = "string"; x = "int64"; t = "timestamp"; }; }'
        for step in ('aggregate: { n = "count(*)"; sum = "sum(x)"; };',
                     'window: { tumbling = "1h"; time = "t"; start = ""; end = ""; }; aggregate: { n = "count(*)"; sum = "sum(x)"; };'):
            # Right behind the key, and behind a step that keeps it; the partitioning in the step, and in one of its own.
            for steps in (f'key_by = "k"; }}, {{ name = "all"; global = true; {step}',
                          f'name = "by"; key_by = "k"; }}, {{ where = "x >= 0"; }}, {{ global = true; }}, {{ name = "all"; {step}'):
                self.write("job.conf", e2e.job(serde=fields, steps=steps))
                for parallelism in (1, 2, 3):
                    self.flowd("run", "--fresh", "job.conf", "--set", f"job.parallelism={parallelism}", expect=0)
                    self.assertEqual([(int(r["n"]), int(r["sum"])) for r in self.records("out.jsonl")], [(5, 10)])

    def test_two_streams_are_merged_by_a_list(self):
        self.write("a.jsonl", '{"x":1}\n')
        self.write("b.jsonl", '{"x":2}\n')
        self.write("merge.conf", """application: { name = "merge"; systems: { files: { type = "file"; }; };
          inputs: { a: { system = "files"; path = "a.jsonl"; bounded = true; serde: { type = "json"; fields: { x = "int64"; }; }; };
                    b: { system = "files"; path = "b.jsonl"; bounded = true; serde: { type = "json"; fields: { x = "int64"; }; }; }; };
          outputs: { out: { system = "files"; path = "out.jsonl"; serde = "json"; }; };
          flow: ( { from = ["a", "b"]; where = "x > 0"; to = "out"; } ); };\n""")
        self.flowd("run", "merge.conf", expect=0)
        self.assertEqual(sorted(int(r["x"]) for r in self.records("out.jsonl")), [1, 2])

    def test_what_can_be_planned_and_not_run_yet_is_refused_by_run(self):
        job = e2e.job(steps='broadcast = true;').replace('to = "out"; } );', '}, { from = "in"; to = "out"; } );')
        self.write("in.jsonl", "{}\n")
        self.write("job.conf", job)
        refused = self.flowd("run", "job.conf", "--set", "job.checkpoint_system=files", expect=3).err
        self.assertIn("job.checkpoint_system: checkpoints and state are kept in the state directory", refused)


if __name__ == "__main__":
    e2e.main()
