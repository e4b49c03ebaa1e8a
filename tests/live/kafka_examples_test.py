"""The examples in conf/kafka do what they say; so do the descriptors of applications in C."""
import collections
import csv
import json
import pathlib
import shutil
import subprocess

import live
from live import kafka


class Examples(live.Test):
    def words(self, name, **topics):
        """Its file and options, for topics of the test's own."""
        shutil.copytree(live.SOURCE / "conf", self.folder / "conf", dirs_exist_ok=True)
        streams = [word for stream, topic in topics.items() for word in ("--set", f"streams.{stream}.physical_name={topic}")]
        system = "tracking" if name.startswith("page-views") else "shop"
        config = pathlib.Path("conf/kafka") / f"{name}.conf"
        self.flowd("check", config, expect=0)
        return [config, "--set", f"systems.{system}.bootstrap_servers={self.kafka.servers}", *streams]

    def example(self, name, **topics):
        self.flowd("run", *self.words(name, **topics), expect=0)

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

    def test_given_carriers_in_a_compacted_topic_when_flights_are_joined_with_them_then_each_has_its_carriers_last_name(self):
        flights, carriers, named = kafka.unique("flights"), kafka.unique("carriers"), kafka.unique("named")
        self.example("flights-to-topic", to_topic=flights)
        self.example("carriers-to-topic", to_topic=carriers)
        self.assertIn("INVALID_RECORD", self.kafka.tool("produce", carriers, records=[{"value": "no key"}], expect=1))  # it is compacted
        with open(live.SOURCE / "conf/data/carriers.csv", newline="", encoding="utf-8") as file:
            names = {row["carrier"]: row["name"] for row in csv.DictReader(file)}
        there = self.kafka.consume(self.kafka.settled(carriers))
        self.assertEqual({r["key"]: json.loads(r["value"])["name"] for r in there}, names)
        names["UA"] = "United"
        self.kafka.produce(carriers, [{"key": r["key"], "value": json.dumps({"carrier": "UA", "name": "United"}), "partition": r["partition"]}
                                      for r in there if r["key"] == "UA"])
        wanted = collections.Counter((v["carrier"], v["flight"], v["time_hour"], names[v["carrier"]])
                                     for v in map(json.loads, self.kafka.values(self.kafka.settled(flights))))
        self.assertGreater(len(wanted), 20000)
        self.example("named-flights", flights=flights, carriers=carriers, named=named)
        got = self.kafka.consume(self.kafka.settled(named))
        self.assertEqual(collections.Counter((r["key"], v["flight"], v["time_hour"], v["name"]) for r in got for v in [json.loads(r["value"])]), wanted)

    def test_given_two_processes_when_they_share_a_topic_by_group_then_both_have_a_part_and_each_late_flight_is_there_once(self):
        flights, late = self.kafka.create(kafka.unique("flights"), 4), kafka.unique("late")
        words = self.words("shared-flights", flights=flights, late=late)
        words += ["--set", f"streams.flights.group={flights}", "--set", f"job.id={kafka.unique('shared')}"]
        running = []
        for instance in "a", "b":
            running.append(self.flowd.start("run", *words, "--set", f"job.instance={instance}", "--status-file", f"{instance}.json"))
            self.addCleanup(running[-1].__exit__)
        live.until(lambda: [self.partitions("a"), self.partitions("b")] == [2, 2], "two partitions each", 60)
        records = [{"key": "UA", "partition": i % 4, "value": json.dumps({"carrier": "UA", "flight": i, "dep_delay": i % 40 if i % 3 else None,
                                                                          "time_hour": "2013-01-01T10:00:00Z"})} for i in range(2000)]
        self.kafka.produce(flights, records)
        wanted = [i for i in range(2000) if i % 3 and i % 40 > 15]
        live.until(lambda: len(self.kafka.values(late)) >= len(wanted), "the late flights", 60)
        for process in running:
            process.signal()
        for instance, process in zip("ab", running):
            ended = process.wait()
            self.assertEqual(ended.code, 0, str(ended))
            self.assertEqual(self.status(instance)["records_in"], 1000)
        self.assertEqual(self.sorted_ids(late, "flight"), wanted)

    def status(self, instance):
        path = self.folder / f"{instance}.json"
        return json.loads(path.read_text()) if path.exists() else {"inputs": []}

    def partitions(self, instance):
        return sum(len(i.get("partitions", {})) for i in self.status(instance)["inputs"])


class Applications(live.Test):
    """sdk/examples/page_views_kafka: in C, and its twin in a file."""

    FOLDER = live.SOURCE / "sdk/examples/page_views_kafka"
    IN_CODE = [live.e2e.BUILD / "tests/applications/page_views_kafka.so", FOLDER / "site.conf"]
    IN_A_FILE = [FOLDER / "page_views_kafka.conf"]

    def test_given_an_application_in_c_when_its_twin_in_a_file_is_planned_then_both_plans_are_the_same(self):
        views = self.kafka.create(kafka.unique("views"), 3)
        plans = [self.flowd("plan", "--json", *which, *self.topics_of_its_own(views, "none"), expect=0).json() for which in (self.IN_CODE, self.IN_A_FILE)]
        self.assertEqual(plans[0]["id"], plans[1]["id"])
        self.assertEqual(plans[0]["state_id"], plans[1]["state_id"])
        for stream in "views", "counts":
            self.assertEqual(*({k: v for k, v in s.items() if k != "place"} for p in plans for s in p["streams"] if s["id"] == stream))

    def test_given_page_views_in_a_topic_when_the_application_or_its_twin_runs_then_each_page_has_a_count_an_hour(self):
        seen = [("/home", "10:00:00"), ("/jobs", "10:00:07"), ("/home", "10:59:59"), ("/home", "11:00:00"), ("/jobs", "10:52:00")]
        for which in self.IN_CODE, self.IN_A_FILE:
            views, counts = self.kafka.create(kafka.unique("views"), 3), kafka.unique("counts")
            self.kafka.produce(views, [{"key": "ann", "value": json.dumps({"member": "ann", "page": page, "at": f"2026-01-01T{at}Z"})}
                                       for page, at in seen])
            self.flowd("run", *which, "--state-dir", counts, *self.topics_of_its_own(views, counts), expect=0)
            got = self.kafka.consume(self.kafka.settled(counts))
            self.assertEqual(len(self.kafka.describe(counts)), 2)
            self.assertEqual(sorted((r["key"], v["page"], v["hour"][11:13], v["views"]) for r in got for v in [json.loads(r["value"])]),
                             [("/home", "/home", "10", 2), ("/home", "/home", "11", 1), ("/jobs", "/jobs", "10", 2)])

    def topics_of_its_own(self, views, counts):
        settings = [f"systems.{system}.bootstrap_servers={self.kafka.servers}" for system in ("tracking", "metrics")]
        settings += [f"streams.views.physical_name={views}", f"streams.counts.physical_name={counts}"]
        return [word for setting in settings for word in ("--set", setting)]


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
