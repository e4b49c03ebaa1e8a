"""The broker that measurements ask, its topics, and what runs between them: jobs of flowd and loops on librdkafka."""
import os
import pathlib
import statistics
import sys

import measure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import kafka  # noqa: E402

PARTITIONS = 4


class Broker:
    """A broker of the measurement's own, its data beside the other data; topics are filled once. Jobs run in one worker: one client that
    reads and one that writes, as in the loops beside them."""

    def __init__(self, place):
        self.place = place
        self.folder = place.data / ("kafka-smoke" if place.smoke else "kafka")
        kafka.service("start", self.folder, "--while", os.getpid(), "--heap", "512m", "--set", "log.segment.bytes=268435456",
                      "--set", "log.retention.check.interval.ms=1000", "--set", "log.segment.delete.delay.ms=100")
        os.environ.setdefault("FLOWD_BUILD", str(place.build))
        self.kafka = kafka.Kafka(self.folder)
        self.runs = 0

    @classmethod
    def of(cls, place):
        """One for all measurements of a process, started when it is first asked for."""
        if place.broker is None:
            place.broker = cls(place)
        return place.broker

    def close(self):
        kafka.service("stop", self.folder)

    # --- topics

    def _filled(self, topic, fill):
        try:
            highs = sum(p["high"] for p in self.kafka.describe(topic))
        except AssertionError:
            self.kafka.create(topic, PARTITIONS)
            highs = 0
        if highs == 0:
            fill(topic)
        return topic

    def _fill(self, *words):
        return lambda topic: measure.run([self.place.build / "tests/kafka_fill", self.kafka.servers, topic, *words])

    def filled(self, size, count):
        """Values that are all alike, without keys."""
        return self._filled(f"in-{size}-{count}", lambda topic: self.kafka.tool("generate", topic, count, size))

    def documents(self):
        """JSON documents of about 276 bytes."""
        return self._filled(f"documents-{self.place.document_count}", self._fill("lines", self.place.documents()))

    def keyed(self, count, keys):
        """Keys of 16 bytes; values are the keys once more."""
        return self._filled(f"keyed-{keys}-{count}", self._fill("keys", count, keys))

    def fresh(self):
        """An empty topic; those of earlier runs go, so that the disk does not fill."""
        self.runs += 1
        name = f"out-{os.getpid()}-{self.runs}"
        if self.runs > 1:
            self.kafka.delete(f"out-{os.getpid()}-{self.runs - 1}")
        return self.kafka.create(name, PARTITIONS)

    # --- runs

    def loop(self, mode, topic, count, to=None):
        def once():
            return measure.run([self.place.build / "tests/kafka_loop", mode, self.kafka.servers, topic, to or self.fresh(), count],
                               fresh=[to] if to else ())
        return once

    def flow(self, name, text, topic, count, to=None, **words):
        """A runner of a job; `text` is filled with the names of servers, of topics, and of the file, if there is one."""
        def once():
            target = to or (self.fresh() if "%(to)s" in text else "")
            job = self.place.job(name, text % {"name": name, "servers": self.kafka.servers, "from": topic, "to": target, **words})
            return self.place.flow(job, count, fresh=[to] if to else ())()
        return once


def rates(figure, samples, count):
    for name, runs in samples.items():
        figure.details[f"{name}, records a second"] = f"{count / statistics.median(run.wall for run in runs) / 1000:.0f} k"
        figure.details[f"{name}, resident at most"] = f"{statistics.median(run.memory for run in runs):.0f} MiB"
    return figure
