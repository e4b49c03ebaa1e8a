"""Options that nobody sees in records: what the broker has in its log, and what the client does, with them and without."""
import struct

import live
import topics
from topics import records

WRITE = """application: {{
  name = "{out}";  checkpoint_interval = "200ms";
  systems: {{ made: {{ type = "generate"; }};  kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; {system} }}; }};
  inputs:  {{ in: {{ system = "made"; count = 500; fields: {{ id = "sequence"; text = "key(3)"; }}; }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{out}"; serde = "json"; {output} }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # as Kafka numbers them
CONTROL = 32
HEAD = struct.Struct(">qiibIhiqqqhii")  # of a batch of records in a segment: offset, size, leader epoch, magic, ...


class Effects(topics.Test):
    def batches(self, topic):
        """Codec, producer and number of records of each batch in the log, without markers of transactions."""
        found = []
        data = b"".join(segment.read_bytes() for segment in sorted(self.kafka.folder.glob(f"node1/data/**/{topic}-0/*.log")))
        at = 0
        while at + HEAD.size <= len(data):
            _, size, _, _, _, attributes, _, _, _, producer, _, _, count = HEAD.unpack_from(data, at)
            if not attributes & CONTROL:
                found.append((CODECS[attributes & 7], producer, count))
            at += 12 + size
        return found

    def written(self, system="", output=""):
        out = self.topic("out")
        self.write("job.conf", WRITE.format(servers=self.kafka.servers, out=out, system=system, output=output))
        self.flowd("run", "job.conf", "--fresh", expect=0)
        self.assertEqual(len(self.kafka.values(self.kafka.settled(out))), 500)
        found = self.batches(out)
        self.assertEqual(sum(count for _, _, count in found), 500)
        return found

    def test_given_a_codec_when_records_are_written_then_the_log_has_them_in_it_and_without_one_in_lz4(self):
        for codec in ("", *CODECS):
            found = self.written(f'compression = "{codec}";' if codec else "")
            self.assertEqual({name for name, _, _ in found}, {codec or "lz4"})

    def test_given_idempotence_when_it_is_off_then_batches_name_no_producer_and_else_they_do(self):
        once, idle = 'delivery = "at_least_once";', "idempotence = false;"
        self.assertTrue(all(producer >= 0 for _, producer, _ in self.written("", once)))
        self.assertEqual({producer for _, producer, _ in self.written(idle, once)}, {-1})

    def test_given_properties_of_the_system_and_of_an_output_when_records_are_written_then_both_have_effect(self):
        properties = "producer: {{ batch: {{ num: {{ messages = {}; }}; }}; }};"
        self.assertEqual({count for _, _, count in self.written(properties.format(1))}, {1})
        found = self.written(properties.format(1), 'delivery = "at_least_once"; ' + properties.format(7))
        self.assertLessEqual(max(count for _, _, count in found), 7)
        self.assertGreater(max(count for _, _, count in found), 1)

    def test_given_properties_of_the_system_and_of_an_input_when_records_are_read_then_both_have_effect(self):
        topic = self.topic()
        self.kafka.produce(topic, records("a"))
        debug = 'consumer: { debug = "fetch"; };'
        said = [self.flowd("run", self.to_file(topic, options, system), "--fresh", "--log-level", "debug", expect=0).err
                for options, system in (("", ""), ("", debug), (debug, ""))]
        self.assertEqual([f"Fetch topic {topic} [0]" in one for one in said], [False, True, True])


if __name__ == "__main__":
    live.main()
