"""Encryption and authentication as the option security has them, on the listeners of the shared broker."""
import time

import topics
from topics import records

PLAIN = 'mechanism = "plain"; username = "{user}"; password: {{ env = "KAFKA_PASSWORD"; }};'


class Security(topics.Test):
    def setUp(self):
        super().setUp()
        self.name = self.topic()
        self.kafka.produce(self.name, records("a", "b"))
        self.state = self.kafka.state

    def read(self, listener, security, password=None, expect=0, timeout="10s"):
        self.kafka.servers = self.state[listener]
        config = self.to_file(self.name, system=f'request_timeout = "{timeout}"; security: {{ {security.format(**self.state)} }};')
        ended = self.flowd("run", config, env={"KAFKA_PASSWORD": password or self.state["password"]}, expect=expect)
        self.assertNotIn(password or self.state["password"], ended.out + ended.err)
        return self.lines() if expect == 0 else ended.err

    def test_given_tls_when_the_authority_is_known_then_records_are_read(self):
        self.assertEqual(self.read("tls", 'tls = true; ca = "{ca_pem}";'), ["a", "b"])

    def test_given_tls_when_the_authority_is_not_known_then_the_error_says_so_at_once(self):
        began = time.monotonic()
        said = self.read("tls", "tls = true;", expect=3, timeout="60s")
        self.assertIn("certificate", said)
        self.assertLess(time.monotonic() - began, 30)

    def test_given_a_name_and_a_password_when_they_are_right_then_records_are_read(self):
        self.assertEqual(self.read("sasl", PLAIN), ["a", "b"])
        self.assertEqual(self.read("sasl_tls", PLAIN + ' tls = true; ca = "{ca_pem}";'), ["a", "b"])

    def test_given_a_wrong_password_when_a_job_is_planned_then_it_is_refused_at_once(self):
        began = time.monotonic()
        said = self.read("sasl", PLAIN, password="wr0ng-one", expect=3, timeout="60s")
        self.assertIn("uthentication failed", said)
        self.assertIn("option security", said)
        self.assertLess(time.monotonic() - began, 30)


if __name__ == "__main__":
    topics.main()
