"""What the live tests stand on: a folder for each test, the executable, the shared broker and topics of the test's own."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("FLOWD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
sys.path.insert(0, str(SOURCE / "tests" / "support"))

import e2e  # noqa: E402
import kafka  # noqa: E402
from flowd_driver import until  # noqa: E402,F401

SOAK = bool(os.environ.get("FLOWD_SOAK"))
takes_minutes = unittest.skipIf(os.environ.get("FLOWD_SANITIZE") and not SOAK, "takes minutes: with the release's build alone")


def newer_client(folder):
    """The environment with which flowd uses the librdkafka that scripts/setup brings with a module of Python's; None: it is not there."""
    found = sorted((SOURCE / "build" / "python" / "confluent_kafka.libs").glob("librdkafka*.so*"))
    if not found:
        return None
    folder = pathlib.Path(folder) / "newer"
    folder.mkdir(exist_ok=True)
    link = folder / "librdkafka.so.1"
    if not link.is_symlink():
        link.symlink_to(found[0])
    return {"LD_LIBRARY_PATH": str(folder)}


class Test(e2e.Test):
    """self.kafka is the broker, self.topic("name") a name that is nobody else's."""

    def setUp(self):
        super().setUp()
        self.kafka = kafka.Kafka()
        self.topics = {}

    def cluster(self, *options):
        """A cluster of this test's own, in place of the shared one; it ends with the test."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="flowd-kafka-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(kafka.service, "kill", folder)
        self.kafka = kafka.Kafka.started(folder, "--heap", "256m", *options)
        return self.kafka

    def lacks(self, what):
        """Something is not on this machine, so the test cannot be; the CI's machine has all that scripts/setup --tests installs."""
        if os.environ.get("CI"):
            self.fail(what)
        self.skipTest(what)

    def topic(self, name):
        return self.topics.setdefault(name, kafka.unique(name))

    def job(self, text, name="job.conf", servers=None):
        """Writes a configuration; $SERVERS is the broker, $name the topic of that name, ${JOB} a job's name of its own."""
        text = text.replace("$SERVERS", servers or self.kafka.servers)
        for known in sorted(self.topics, key=len, reverse=True):
            text = text.replace(f"${known}", self.topics[known])
        return self.write(name, text)

    def sorted_ids(self, topic, field="id"):
        """The numbers in one field of all committed records, in order."""
        return sorted(json.loads(value)[field] for value in self.kafka.values(self.kafka.settled(topic)))


main = e2e.main
