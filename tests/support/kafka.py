"""A real Kafka broker for tests: the one that ctest's fixture started (FLOWD_KAFKA names its folder), or one of a test's own."""
import json
import os
import pathlib
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = SOURCE / "scripts" / "services" / "kafka"


def service(command, folder, *arguments):
    """scripts/services/kafka; what it prints."""
    done = subprocess.run([sys.executable, str(SCRIPT), command, "--folder", str(folder), *map(str, arguments)], check=False, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"scripts/services/kafka {command} ended with {done.returncode}\n{done.stdout}"
    return done.stdout


class Kafka:
    """A cluster and the tool that asks it."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder or os.environ["FLOWD_KAFKA"])
        self.state = json.loads((self.folder / "endpoints.json").read_text())
        self.servers = self.state["plaintext"]
        build = pathlib.Path(os.environ.get("FLOWD_BUILD", SOURCE / "build"))
        self.binary = os.environ.get("KAFKA_TOOL", str(build / "tests" / "kafka_tool"))

    @classmethod
    def started(cls, folder, *arguments):
        """A cluster of a test's own; it ends with the test's process at the latest."""
        service("start", folder, "--while", os.getpid(), *arguments)
        return cls(folder)

    def service(self, command, *arguments):
        return service(command, self.folder, *arguments)

    def words(self, *arguments, properties=None, servers=None):
        more = [word for name, value in (properties or {}).items() for word in ("-X", f"{name}={value}")]
        return [self.binary, "-b", servers or self.servers, *more, *map(str, arguments)]

    def tool(self, *arguments, records=None, expect=0, **more):
        text = "".join(json.dumps(record) + "\n" for record in records) if records is not None else ""
        done = subprocess.run(self.words(*arguments, **more), input=text.encode(), check=False, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == expect, f"kafka_tool {arguments} ended with {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode() if expect == 0 else done.stderr.decode()

    def create(self, topic, partitions=1, **configs):
        """create("t", 4, cleanup_policy="compact")"""
        self.tool("create", topic, "--partitions", partitions, *settings(configs))
        self.describe(topic)  # brokers hear of it a little later than the one that made it
        return topic

    def configure(self, topic, **configs):
        """configure("t", max_message_bytes=1000)"""
        self.tool("configure", topic, *settings(configs))

    def delete(self, topic):
        self.tool("delete", topic)

    def produce(self, topic, records, transaction=None):
        """Records as kafka_tool.c tells; {"begin": True}, {"commit": True}, {"abort": True} between them."""
        self.tool("produce", topic, *(("--transaction", transaction) if transaction else ()), records=records)

    def consume(self, topic, *arguments, **more):
        """All records that are there now (read committed), partition by partition; --count N waits for so many."""
        lines = self.tool("consume", topic, *arguments, **more).splitlines()
        return sorted(map(json.loads, lines), key=lambda r: (r["partition"], r["offset"]))

    def values(self, topic, *arguments):
        return [record["value"] for record in self.consume(topic, *arguments)]

    def settled(self, topic):
        """Waits until every transaction of the topic has ended: a commit is in the log a little after the client heard of it, and what
        nobody ends the broker aborts after transaction_timeout (a minute)."""
        end = time.monotonic() + 90
        while any(p["stable"] != p["high"] for p in self.describe(topic)):
            assert time.monotonic() < end, f"{topic} still has an open transaction"
            time.sleep(0.05)
        return topic

    def describe(self, topic):
        return json.loads(self.tool("describe", topic))["partitions"]

    def committed(self, group, topic):
        """{partition: {"offset": ..., "metadata": ...}}"""
        return {int(p): o for p, o in json.loads(self.tool("committed", group, topic)).items()}


def settings(configs):
    return [word for name, value in configs.items() for word in ("--config", f"{name.replace('_', '.')}={value}")]


def unique(name):
    """A name that no other test and no earlier run has: the broker is shared."""
    return f"{name}-{os.getpid()}-{time.monotonic_ns() % 1000000}"
