"""The examples in conf/kafka do what they say; so do the descriptors of applications in C."""
import json
import pathlib
import shutil
import subprocess

import live
from live import kafka


class Examples(live.Test):
    def example(self, name, **topics):
        """Runs it on topics of the test's own."""
        shutil.copytree(live.SOURCE / "conf", self.folder / "conf", dirs_exist_ok=True)
        streams = [word for stream, topic in topics.items() for word in ("--set", f"streams.{stream}.physical_name={topic}")]
        system = "tracking" if name.startswith("page-views") else "shop"
        config = pathlib.Path("conf/kafka") / f"{name}.conf"
        self.flowd("check", config, expect=0)
        self.flowd("run", config, "--set", f"systems.{system}.bootstrap_servers={self.kafka.servers}", *streams, expect=0)

    def test_given_a_csv_file_when_it_goes_to_a_topic_and_on_as_avro_then_each_late_flight_is_there_once(self):
        flights, late = kafka.unique("flights"), kafka.unique("late")
        self.example("flights-to-topic", to_topic=flights)
        sent = self.kafka.consume(self.kafka.settled(flights))
        lines = subprocess.run(["zstd", "-dc", live.SOURCE / "conf/data/flights-2013-01.csv.zst"], check=True, capture_output=True).stdout
        self.assertEqual(len(sent), len(lines.splitlines()) - 1)
        self.assertTrue(all(record["key"] == json.loads(record["value"])["carrier"] for record in sent))
        self.assertEqual(len({(r["key"], r["partition"]) for r in sent}), len({r["key"] for r in sent}), "a carrier is in one partition")
        self.example("json-to-avro", flights=flights, late=late)
        wanted = sorted((v["carrier"], v["flight"], v["dep_delay"]) for v in (json.loads(r["value"]) for r in sent) if (v["dep_delay"] or 0) > 15)
        self.assertEqual(sorted(map(decode, self.kafka.consume(self.kafka.settled(late)))), wanted)

    def test_given_page_views_when_they_are_counted_then_each_member_has_a_count_an_hour(self):
        views, counts = self.kafka.create(kafka.unique("views"), 3), kafka.unique("counts")
        seen = [("ann", "10:00:00"), ("bob", "10:01:00"), ("ann", "10:59:59"), ("ann", "11:00:00"), ("bob", "12:30:00")]
        self.kafka.produce(views, [{"key": member, "value": json.dumps({"member": member, "page": "/", "at": f"2026-01-01T{at}Z"})}
                                   for member, at in seen])
        self.example("page-views", views=views, counts=counts)
        got = sorted((r["key"], v["hour"][11:13], v["views"]) for r in self.kafka.consume(self.kafka.settled(counts)) for v in [json.loads(r["value"])])
        self.assertEqual(got, [("ann", "10", 2), ("ann", "11", 1), ("bob", "10", 1), ("bob", "12", 1)])

    def test_given_the_page_views_of_the_examples_when_they_are_written_and_counted_then_each_member_has_a_count_an_hour(self):
        views, counts = kafka.unique("views"), kafka.unique("counts")
        self.example("page-views-to-topic", views=views)
        self.example("page-views", views=views, counts=counts)
        got = sorted((r["key"], v["hour"][11:13], v["views"]) for r in self.kafka.consume(self.kafka.settled(counts)) for v in [json.loads(r["value"])])
        self.assertEqual(got, [("ann", "10", 2), ("ann", "11", 1), ("bob", "10", 1)])


def decode(record):
    """An Avro datum: string, long, union of null and long."""
    data = bytes.fromhex(record["value_hex"]) if "value_hex" in record else record["value"].encode()
    at = 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)

    size = number()
    carrier = data[at:at + size].decode()
    at += size
    flight = number()
    return carrier, flight, number() if number() == 1 else None


if __name__ == "__main__":
    live.main()
