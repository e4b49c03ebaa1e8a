"""One case: its case.yaml, a folder to work in, and what flowd made of it.

A handler (handlers_<area>.py) sets up the input, drives flowd, and hands what came out to `give` (a file that stands in `expect`),
`saw` (an outcome) or `judged` (a comparison that case.yaml says in plain words). `verdicts` then compares every entry of `expect`,
`either` and `never`. An entry for which the handler gave nothing fails, and so does something given that stands in no entry."""
import pathlib
import re
import shutil

import yaml

import compare
from flowd_driver import Flowd, parse_json

REQUIRED = {"title", "source", "facts", "given", "when", "then", "why", "computed_with"}
OPTIONAL = {"input", "options", "clock", "steps", "expect", "either", "never", "note"}
INPUT_KEYS = {"file", "format", "parses"}
EXPECT_KEYS = {"file", "compare", "parses", "run", "outcome", "exit_code", "status", "mentions", "rows_read"}
COMPARISONS = {
    "bytes": compare.same_bytes,
    "json": compare.same_json,
    "json-lines": compare.same_json_lines,
    "json-lines-any-order": compare.same_json_lines_any_order,
    "csv-rows": compare.same_csv_rows,
    "dead-letters": compare.same_dead_letters,
}


class Case:
    def __init__(self, name, folder, work, binary, plugin_dirs, deferred_runs):
        self.name, self.folder, self.work = name, pathlib.Path(folder), pathlib.Path(work)
        self.deferred_runs = deferred_runs
        self.meta = yaml.safe_load((self.folder / "case.yaml").read_text(encoding="utf-8"))
        self.flowd = Flowd(binary, self.work, plugin_dirs)
        self.given, self.outcomes, self.plain, self.texts = {}, {}, {}, []
        shutil.copytree(self.folder, self.work, dirs_exist_ok=True)

    # --- for handlers ---------------------------------------------------------------------------------------------------

    def source(self, name):
        return (self.folder / name).read_bytes()

    def source_json(self, name):
        return parse_json(self.source(name).decode("utf-8"))

    def give(self, file, actual, run=None):
        """What flowd made where `file` is expected: bytes, or for config-errors the list of errors."""
        self.given[run, file] = actual
        if isinstance(actual, bytes):
            self.texts.append(actual)

    def saw(self, outcome, ended=None, run=None):
        """An outcome that was seen. Of an ended command exit code and `mentions` are compared too."""
        self.outcomes[run, outcome] = ended

    def judged(self, file, run=None):
        """The handler compared this entry itself, as its `compare` says in plain words."""
        self.plain[run, file] = True

    def shown(self, ended):
        """All that a command printed is output, for `never`."""
        self.texts += [ended.out_bytes, ended.err_bytes]

    def check_errors(self, name, code=3, env=None):
        """`flowd check` of a file, as text and as JSON: its errors without warnings. Both name the same ones."""
        text = self.flowd("check", name, env=env, expect=code)
        reported = self.flowd("check", "--json", name, env=env, expect=code).json()
        errors = [e for e in reported if e["severity"] == "error"]
        for e in errors:
            place = f"{e['file']}:{e['line']}: " if "file" in e else ""
            path = f"{e['path']}: " if e.get("path") else ""
            suggestion = f", did you mean \"{e['suggestion']}\"?" if e.get("suggestion") else ""
            line = f"{place}{path}{e['message']}{suggestion}"
            assert line in text.err.splitlines(), f"not in the text: {line}\n{text}"
        return errors

    # --- the verdict ----------------------------------------------------------------------------------------------------

    def layout_problems(self):
        meta = self.meta
        problems = [f"key missing: {k}" for k in sorted(REQUIRED - meta.keys())]
        problems += [f"unknown key: {k}" for k in sorted(meta.keys() - REQUIRED - OPTIONAL)]
        problems += [f"unknown key of input: {k}" for e in meta.get("input", []) for k in e.keys() - INPUT_KEYS]
        problems += [f"unknown key of expect: {k}" for e in self.all_entries() for k in e.keys() - EXPECT_KEYS]
        if not list(self.all_entries()):
            problems.append("nothing is expected")
        named = {e["file"] for e in [*meta.get("input", []), *self.all_entries()] if "file" in e} | {"case.yaml"}
        present = {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()}
        problems += [f"not named in case.yaml: {n}" for n in sorted(present - named)]
        problems += [f"not there: {n}" for n in sorted(named - present)]
        return problems

    def all_entries(self):
        yield from self.meta.get("expect", [])
        for alternative in self.meta.get("either", []):
            yield from alternative["expect"]

    def verdicts(self):
        """Everything that is not as expected."""
        problems = [p for e in self.meta.get("expect", []) for p in self.compare_entry(e)]
        alternatives = [[p for e in a["expect"] for p in self.compare_entry(e)] for a in self.meta.get("either", [])]
        if alternatives and all(alternatives):
            problems.append(f"no alternative holds: {alternatives}")
        for text in self.meta.get("never", []):
            problems += [f"\"{text}\" stands in an output" for output in self.texts if text.encode() in output]
        files = {(e.get("run"), e["file"]) for e in self.all_entries() if "file" in e}
        outcomes = {(e.get("run"), e["outcome"]) for e in self.all_entries() if "outcome" in e}
        problems += [f"given, but nowhere expected: {x}" for x in (self.given.keys() | self.plain.keys()) - files]
        problems += [f"seen, but nowhere expected: {x}" for x in self.outcomes.keys() - outcomes]
        return problems

    def compare_entry(self, entry):
        run = entry.get("run")
        if run in self.deferred_runs:
            return []
        what = f"{run or 'the run'}, {entry.get('file') or entry.get('outcome')}"
        try:
            if "file" in entry:
                self.compare_file(run, entry["file"], entry["compare"])
            else:
                self.compare_outcome(run, entry)
            return []
        except AssertionError as e:
            return [f"{what}: {e}"]

    def compare_file(self, run, file, how):
        if (run, file) in self.plain:
            return
        assert (run, file) in self.given, "the handler gave nothing for it"
        actual = self.given[run, file]
        kind = re.match(r"[a-z-]+", how).group()
        if kind == "config-errors":
            return compare.same_config_errors(self.source_json(file), actual, self.work)
        assert kind in COMPARISONS, f"the comparison '{how}' needs lines in the handler (judged)"
        delimiter = re.search(r"delimiter (.)", how)
        more = [delimiter.group(1)] if delimiter else []
        COMPARISONS[kind](self.source(file), actual, *more)

    def compare_outcome(self, run, entry):
        assert (run, entry["outcome"]) in self.outcomes, "the handler did not see it"
        ended = self.outcomes[run, entry["outcome"]]
        assert "status" not in entry and "rows_read" not in entry, "needs lines in the walker"
        if ended is None:
            return
        if "exit_code" in entry:
            assert ended.code == entry["exit_code"], f"expected exit code {entry['exit_code']}\n{ended}"
        for text in entry.get("mentions", []):
            assert str(text) in ended.out + ended.err, f"does not mention {text}\n{ended}"
