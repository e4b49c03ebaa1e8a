"""Event time over several partitions and tasks: what is in time is never late, however the stream is keyed and shared."""
import json

import e2e

FILE = """application: {
  name = "times";
  systems: { made: { type = "generate"; };  files: { type = "file"; }; };
  inputs: { in: { system = "made"; count = 9000; partitions = 3; step = "10ms";
                  fields: { id = "sequence"; user = "key(7)"; t = "timestamp"; }; }; };
  outputs: { all: { system = "files"; path = "all.jsonl"; serde = "json"; };
             windows: { system = "files"; path = "windows.jsonl"; serde = "json"; }; };
  flow: ( { name = "keyed"; from = "in"; key_by = "user"; %s },
          { name = "counts"; from = "keyed"; window: { tumbling = "1s"; time = "t"; out_of_order = "1s"; }; aggregate: { n = "count(*)"; }; },
          { to = "windows"; } );
};
"""


class EventTime(e2e.Test):
    def counted(self, other):
        self.write("job.conf", FILE % other)
        self.flowd("run", "job.conf", "--set", "job.parallelism=2", expect=0)
        return sum(json.loads(line)["n"] for line in self.flowd.lines("windows.jsonl"))

    def test_a_key_that_only_the_window_uses(self):
        self.assertEqual(self.counted(""), 9000)

    def test_a_key_that_an_output_uses_too(self):
        self.assertEqual(self.counted('to = "all";'), 9000)
        self.assertEqual(len(self.flowd.lines("all.jsonl")), 9000)

    def test_a_step_between_the_key_and_the_window_that_makes_the_time(self):
        between = """{ name = "keyed"; from = "in"; key_by = "user"; },
          { name = "known"; set: { seen = "t"; }; },
          { name = "counts"; window: { tumbling = "1s"; time = "seen"; out_of_order = "1s"; };"""
        begin = FILE.index('{ name = "keyed"')
        end = FILE.index('aggregate')
        self.write("job.conf", FILE[:begin] + between + " " + FILE[end:])
        for parallelism in 1, 2, 3:
            self.flowd("run", "job.conf", "--set", f"job.parallelism={parallelism}", expect=0)
            self.assertEqual(sum(json.loads(line)["n"] for line in self.flowd.lines("windows.jsonl")), 9000)


if __name__ == "__main__":
    e2e.main()
