"""What live tests stand on: the executable, a folder for each test, the shared broker, and jobs that read or write topics."""
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
import kafka  # noqa: E402


class Test(unittest.TestCase):
    """A test in an empty folder, with the broker that all share: topics are its own, by kafka.unique."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="flowd-live-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.flowd = flowd_driver.Flowd(FLOWD, self.folder)
        self.write = self.flowd.write
        self.kafka = kafka.Kafka()

    def topic(self, name="topic", partitions=1, **configs):
        return self.kafka.create(kafka.unique(name), partitions, **configs)

    def lines(self, name="out.txt"):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def flowing_lines(self, name="out.txt"):
        """What a job has written so far: an unbounded one still writes its temporary."""
        return [line for path in sorted(self.folder.glob(f"*{name}*")) for line in path.read_text().splitlines()]

    def to_file(self, topic, options="", system="", bounded=True, more="", serde='serde = "string";'):
        """A job that writes the values of a topic to out.txt, a line each."""
        self.write("job.conf", to_file(self.kafka.servers, topic, options, system, bounded, more, serde))
        return "job.conf"


def to_file(servers, topic, options="", system="", bounded=True, more="", serde='serde = "string";'):
    return f"""application: {{
  name = "job";  {more}
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; {system} }};  files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; bounded = {str(bounded).lower()}; {serde}
                   {options} }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "string"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


def main():
    unittest.main(verbosity=2)
