"""Jobs between topics of a real broker, beside loops on librdkafka: the client's CPU is the bar, rates stand beside it."""
import os
import pathlib
import statistics
import sys

import measure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import kafka  # noqa: E402

PARTITIONS = 4
JOB = """application: {
  name = "%(name)s";  checkpoint_interval = "1s";
  systems: { k: { type = "kafka"; bootstrap_servers = "%(servers)s"; compression = "none"; }; };
  inputs:  { in: { system = "k"; physical_name = "%(from)s"; serde = "bytes"; bounded = true; }; };
  outputs: { out: { system = "k"; physical_name = "%(to)s"; serde = "bytes"; %(output)s }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""


class Broker:
    """A broker of the measurement's own, its data beside the other data; topics are filled once."""

    def __init__(self, place):
        self.place = place
        self.folder = place.data / ("kafka-smoke" if place.smoke else "kafka")
        kafka.service("start", self.folder, "--while", os.getpid(), "--heap", "512m", "--set", "log.segment.bytes=268435456",
                      "--set", "log.retention.check.interval.ms=1000", "--set", "log.segment.delete.delay.ms=100")
        os.environ.setdefault("FLOWD_BUILD", str(place.build))
        self.kafka = kafka.Kafka(self.folder)
        self.runs = 0

    def filled(self, size, count):
        topic = f"in-{size}-{count}"
        try:
            highs = sum(p["high"] for p in self.kafka.describe(topic))
        except AssertionError:
            self.kafka.create(topic, PARTITIONS)
            highs = 0
        if highs == 0:
            self.kafka.tool("generate", topic, count, size)
        return topic

    def fresh(self):
        """An empty topic; those of earlier runs go, so that the disk does not fill."""
        self.runs += 1
        name = f"out-{os.getpid()}-{self.runs}"
        if self.runs > 1:
            self.kafka.delete(f"out-{os.getpid()}-{self.runs - 1}")
        return self.kafka.create(name, PARTITIONS)

    def close(self):
        kafka.service("stop", self.folder)

    def loop(self, topic, count, *more):
        def once():
            return measure.run([self.place.build / "tests/kafka_loop", self.kafka.servers, topic, self.fresh(), count, *more])
        return once

    def flow(self, name, topic, count, output):
        def once():
            words = {"name": name, "servers": self.kafka.servers, "from": topic, "to": self.fresh(), "output": output}
            job = self.place.job(name, JOB % words)
            return self.place.flow(job, count)()
        return once


def rates(figure, samples, count):
    for name, runs in samples.items():
        figure.details[f"{name}, records a second"] = f"{count / statistics.median(run.wall for run in runs) / 1000:.0f} k"
    return figure


def topics(place, pairs):
    """Topic to topic, 100 bytes (--documents of them) and 1 KiB (a fifth); and what exactly once costs."""
    broker = Broker(place)
    try:
        for size, count in ((100, place.document_count), (1024, place.document_count // 5)):
            topic = broker.filled(size, count)
            samples = measure.interleave(pairs, flowd=broker.flow("pass", topic, count, 'delivery = "at_least_once";'),
                                         librdkafka=broker.loop(topic, count))
            yield rates(measure.ratio(f"topic to topic, {size} bytes, beside a loop on librdkafka", samples, "flowd", "librdkafka", 1.15,
                                      count), samples, count)
            samples = measure.interleave(pairs, exactly=broker.flow("once", topic, count, ""),
                                         at_least=broker.flow("pass", topic, count, 'delivery = "at_least_once";'))
            name = f"topic to topic, {size} bytes, exactly once beside at least once"
            yield rates(measure.ratio(name, samples, "exactly", "at_least", 1.25, count), samples, count)
    finally:
        broker.close()


MEASUREMENTS = {"kafka": topics}
