"""What the tests in this folder stand on: the executable, a folder for each test, and jobs that are put together often."""
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("FLOWD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("FLOWD_BUILD", SOURCE / "build"))
FLOWD = os.environ.get("FLOWD", str(BUILD / "bin" / "flowd"))
sys.path.insert(0, str(SOURCE / "tests" / "support"))

import flowd_driver  # noqa: E402


class Test(unittest.TestCase):
    """A test in an empty folder; self.flowd("run", "job.conf", expect=0) runs there."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="flowd-e2e-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.flowd = flowd_driver.Flowd(FLOWD, self.folder)
        self.write = self.flowd.write

    def names(self):
        """Files of the folder, without the state directories."""
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*")
                      if p.is_file() and p.relative_to(self.folder).parts[0] != "state")

    def records(self, name):
        return flowd_driver.parse_json_lines(self.flowd.read(name))


def job(source="in.jsonl", serde='"json"', steps="", out="out.jsonl", name="job", more="", system="files", options=""):
    """One input, steps, one output in JSON lines; `more` stands in the application."""
    serde = f"serde = {serde};" if serde.startswith('"') else f"serde: {serde};"
    path = f'path = "{source}"; {serde}' if system == "files" else options
    return f"""application: {{
  name = "{name}";  {more}
  systems: {{ files: {{ type = "file"; }};  made: {{ type = "generate"; }}; }};
  inputs:  {{ in: {{ system = "{system}"; bounded = true; {path} }}; }};
  outputs: {{ out: {{ system = "files"; path = "{out}"; serde = "json"; }}; }};
  flow: ( {{ from = "in"; {steps} to = "out"; }} );
}};
"""


def main():
    unittest.main(verbosity=2)
