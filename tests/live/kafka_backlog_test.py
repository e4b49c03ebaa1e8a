"""A group that reads a backlog as fast as it can while a process joins and leaves it: nothing is jumped over. librdkafka before 2.1 throws
away what a batch has taken of a partition when the group deals anew; only a client that is busy taking meets that."""
import time

import live

RECORDS = 20000000 if live.SOAK else 2000000
PARTITIONS = 4
GUESTS = 60 if live.SOAK else 5
FILL = """application: {
  name = "$job-fill";  checkpoint_interval = "5s";
  systems: { made: { type = "generate"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
  inputs:  { in: { system = "made"; count = %d; fields: { id = "sequence"; }; }; };
  outputs: { out: { system = "kafka"; physical_name = "$in"; serde = "json"; delivery = "at_least_once"; partitioner = "round_robin"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""
MEMBER = """application: {
  name = "$job";  instance = "INSTANCE";  checkpoint_interval = "500ms";
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; };  files: { type = "file"; }; };
  inputs:  { in: { system = "kafka"; physical_name = "$in"; serde = "string"; group = "$in"; assignment = "group"; rebalance = "REBALANCE"; }; };
  outputs: { out: { system = "files"; path = "INSTANCE.txt"; serde = "string"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""


class Backlog(live.Test):
    def member(self, instance, rebalance):
        self.job(MEMBER.replace("INSTANCE", instance).replace("REBALANCE", rebalance), f"{instance}.conf")
        running = self.flowd.start("run", f"{instance}.conf", "--state-dir", f"state-{instance}")
        self.addCleanup(running.__exit__)
        return running

    def committed(self):
        return sum(max(0, p["offset"]) for p in self.kafka.committed(self.topic("in"), self.topic("in")).values())

    def end(self, running):
        running.signal()
        ended = running.wait()
        self.assertEqual(ended.code, 0, str(ended))

    def written(self):
        seen = bytearray(RECORDS)
        for path in self.folder.glob(".*.txt.*.part"):  # outputs without end
            with open(path, "rb") as lines:
                for line in lines:
                    seen[int(line[6:-2])] = 1
        return seen

    def read_with_guests(self, rebalance):
        first, guests = self.member("first", rebalance), 0
        while self.committed() < RECORDS and guests < GUESTS:
            guest = self.member(f"guest{guests}", rebalance)
            time.sleep(2)
            self.end(guest)
            guests += 1
        live.until(lambda: self.committed() == RECORDS, "the rest", 120)
        self.end(first)

    def test_given_a_backlog_when_processes_come_and_go_while_it_is_read_then_no_record_is_jumped_over(self):
        for rebalance in "cooperative", "eager":
            self.setUp()
            self.kafka.create(self.topic("in"), PARTITIONS)
            self.topic("job")
            self.job(FILL % RECORDS, "fill.conf")
            self.flowd("run", "fill.conf", expect=0)
            self.read_with_guests(rebalance)
            self.assertEqual(self.written().count(0), 0, f"records were jumped over ({rebalance})")


if __name__ == "__main__":
    live.main()
