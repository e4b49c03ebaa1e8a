"""What tests of reading stand on: topics that are made, and a job that writes a topic's values to a file."""
import live
from live import kafka

flowd_driver = live.e2e.flowd_driver

TO_FILE = """application: {{
  name = "job";  {more}
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; {system} }};  files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; bounded = {bounded}; {serde}
                   {options} }}; }};
  outputs: {{ out: {{ system = "files"; path = "{out}"; serde = "string"; {output} }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


def records(*values, partition=0):
    return [{"value": v, "partition": partition} for v in values]


class Test(live.Test):
    def topic(self, name="topic", partitions=1, **configs):
        return self.kafka.create(kafka.unique(name), partitions, **configs)

    def to_file(self, topic, options="", system="", bounded=True, more="", serde='serde = "string";', name="job.conf", out="out.txt", output=""):
        """Writes the values to out.txt, a line each."""
        text = TO_FILE.format(servers=self.kafka.servers, topic=topic, options=options, system=system, bounded=str(bounded).lower(),
                              more=more, serde=serde, out=out, output=output)
        self.write(name, text)
        return name

    def lines(self, name="out.txt"):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def flowing_lines(self, name="out.txt"):
        """What has been written so far: an unbounded job still writes the temporary beside it."""
        return [line for path in sorted(self.folder.glob(f"*{name}*")) for line in path.read_text().splitlines()]

    def start(self, *words):
        running = self.flowd.start("run", *words)
        self.addCleanup(running.__exit__)
        return running

    def see(self, *wanted, name="out.txt"):
        flowd_driver.until(lambda: sorted(self.flowing_lines(name)) == sorted(wanted), f"{wanted}: {self.flowing_lines(name)}")

    def end(self, running, code=0):
        running.signal()
        ended = running.wait()
        self.assertEqual(ended.code, code, str(ended))
        return ended


main = live.main
