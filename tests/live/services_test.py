"""scripts/services/kafka: a broker starts, talks, is killed, comes back with what it had, and ends; nothing stale stands in its way."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import kafka  # noqa: E402


def pid_of(output):
    return int(output.split("process ")[1].split(",")[0])


class SharedBroker(unittest.TestCase):
    """The one that all live tests use."""

    def setUp(self):
        self.kafka = kafka.Kafka()

    def test_given_records_of_all_shapes_when_they_are_read_back_then_they_are_the_same(self):
        topic = self.kafka.create(kafka.unique("shapes"), 2)
        records = [{"key": "a", "value": "1", "partition": 0, "timestamp": 1700000000000, "headers": [["h", "1"], ["h", None]]},
                   {"key": None, "value": "", "partition": 0, "timestamp": 1700000000001, "headers": []},
                   {"key": "", "value": None, "partition": 1, "timestamp": 1700000000002, "headers": []},
                   {"key_hex": "ff00", "value": "x", "partition": 1, "timestamp": 1700000000003, "headers": []}]
        self.kafka.produce(topic, records)
        read = [{k: v for k, v in r.items() if k not in ("offset", "timestamp_type")} for r in self.kafka.consume(topic)]
        self.assertEqual(read, records)
        self.assertEqual([p["high"] for p in self.kafka.describe(topic)], [2, 2])

    def test_given_an_aborted_transaction_when_the_topic_is_read_then_only_committed_records_are_seen(self):
        topic = self.kafka.create(kafka.unique("transactions"))
        self.kafka.produce(topic, [{"begin": True}, {"value": "a"}, {"commit": True}, {"begin": True}, {"value": "b"}, {"abort": True}],
                           transaction=topic)
        self.assertEqual(self.kafka.values(topic), ["a"])
        self.assertEqual(self.kafka.values(topic, "--uncommitted"), ["a", "b"])

    def send_by(self, listener, value, properties, expect=0):
        return self.kafka.tool("produce", self.topic, records=[{"value": value}], properties={"message.timeout.ms": 10000, **properties},
                               servers=self.kafka.state[listener], expect=expect)

    def test_given_its_certificates_and_users_when_clients_use_them_then_each_listener_lets_them_in_and_nobody_else(self):
        state = self.kafka.state
        self.topic = self.kafka.create(kafka.unique("secure"))
        tls = {"security.protocol": "ssl", "ssl.ca.location": state["ca_pem"]}
        user = {"sasl.mechanism": "PLAIN", "sasl.username": state["user"], "sasl.password": state["password"]}
        self.send_by("tls", "by tls", tls)
        self.send_by("sasl", "by sasl", {"security.protocol": "sasl_plaintext", **user})
        self.send_by("sasl_tls", "by both", {**tls, **user, "security.protocol": "sasl_ssl"})
        self.assertEqual(self.kafka.values(self.topic), ["by tls", "by sasl", "by both"])
        wrong = {"security.protocol": "sasl_plaintext", **user, "sasl.password": "wrong", "message.timeout.ms": 2000}
        self.assertIn("TIMED_OUT", self.send_by("sasl", "x", wrong, expect=1))

    def test_given_scram_when_a_client_older_than_2_6_1_uses_it_then_a_broker_of_today_refuses_it(self):
        """librdkafka before 2.6.1 repeats its nonce, which brokers since 3.8.1 do not take: what users of Debian 12 meet."""
        state = self.kafka.state
        self.topic = self.kafka.create(kafka.unique("scram"))
        scram = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": state["user"],
                 "sasl.password": state["password"]}
        if int(self.kafka.tool("version"), 16) >= 0x02060100:
            self.send_by("sasl", "by scram", scram)
        else:
            self.assertIn("invalid credentials", self.send_by("sasl", "by scram", {**scram, "message.timeout.ms": 2000}, expect=1))


class OwnBroker(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="flowd-kafka-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name) / "broker"
        self.addCleanup(lambda: kafka.service("kill", self.folder))

    def test_given_a_broker_that_was_killed_when_it_starts_again_then_it_has_the_same_address_and_records(self):
        one = kafka.Kafka.started(self.folder, "--heap", "256m")
        topic = one.create("kept")
        one.produce(topic, [{"value": "before"}])
        first = pid_of(one.service("status"))
        os.kill(first, signal.SIGKILL)
        with self.assertRaises(AssertionError):
            one.service("status")  # down, though a zombie or a stale number may be there
        again = pid_of(one.service("start"))
        self.assertNotEqual(first, again)
        self.assertEqual(pid_of(one.service("start")), again, "a second start leaves a running broker alone")
        self.assertEqual(kafka.Kafka(self.folder).servers, one.servers)
        self.assertEqual(one.values(topic), ["before"])
        one.service("stop")
        self.assertFalse(pathlib.Path(f"/proc/{again}").exists() and "java" in pathlib.Path(f"/proc/{again}/cmdline").read_text())

    def test_given_a_process_that_the_broker_lives_with_when_that_ends_then_the_broker_does(self):
        with subprocess.Popen(["sleep", "600"]) as owner:
            kafka.service("start", self.folder, "--heap", "256m", "--while", owner.pid)
            broker = pid_of(kafka.service("status", self.folder))
            owner.kill()
        end = time.monotonic() + 30
        while pathlib.Path(f"/proc/{broker}/cmdline").exists() and pathlib.Path(f"/proc/{broker}/cmdline").read_bytes():
            self.assertLess(time.monotonic(), end, "the broker still runs")
            time.sleep(0.1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
