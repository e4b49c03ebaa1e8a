"""The system kafka where no broker is asked: what `flowd check` says of its options, and that nothing secret is shown."""
import os
import unittest

import e2e

# librdkafka starts its threads by C11's thrd_create, which this sanitizer does not know: it crashes in them.
starts_clients = unittest.skipIf("thread" in os.environ.get("FLOWD_SANITIZE", ""), "clients of librdkafka do not run under ThreadSanitizer")

JOB = """application: {{
  name = "job";
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = {servers}; {system} }};  files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "t"; serde = "string"; {input} }}; }};
  outputs: {{ out: {{ system = "files"; path = "out.txt"; serde = "string"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""


class Configuration(e2e.Test):
    def check(self, system="", input="", expect=3, servers='"127.0.0.1:1"'):
        self.write("job.conf", JOB.format(system=system, input=input, servers=servers))
        return self.flowd("check", "job.conf", expect=expect)

    def test_given_a_right_configuration_when_there_is_no_broker_then_nothing_is_asked(self):
        self.check(expect=0)

    def test_given_wrong_properties_when_a_job_is_checked_then_each_is_named_with_its_line(self):
        said = self.check("""consumer: { fetch: { min: { bytes = "many"; }; };
            group: { id = "g"; };
            no: { such = 1; }; };""").err
        self.assertRegex(said, r"job.conf:3: property 'fetch.min.bytes': Invalid value")
        self.assertRegex(said, r"job.conf:4: property 'group.id': is set by flowd; use the option group of the input")
        self.assertRegex(said, r"job.conf:5: property 'no.such': librdkafka .* has no such property")

    def test_given_properties_with_dots_when_they_are_listed_then_they_are_taken(self):
        self.check('consumer = ( { name = "fetch.min.bytes"; value = 1000; }, { name = "check.crcs"; value = true; } );', expect=0)

    def test_given_a_wrong_property_of_an_input_when_a_job_is_checked_then_it_is_named(self):
        self.assertIn("property 'isolation.level': is set by flowd; use the option isolation of the input",
                      self.check(input='consumer: { isolation: { level = "read_uncommitted"; }; };').err)

    def test_given_properties_that_must_not_be_changed_when_a_job_is_checked_then_they_are_refused(self):
        for name in ("api.version.request", "group.protocol", "auto.offset.reset", "enable.auto.commit", "sasl.password"):
            self.assertIn(f"property '{name}': is set by flowd", self.check(f'consumer = ( {{ name = "{name}"; value = "x"; }} );').err)

    def test_given_brokers_that_are_none_when_a_job_is_checked_then_they_are_named_with_their_line(self):
        for wrong in ("127.0.0.1:0", "127.0.0.1:65537", "127.0.0.1:http", "127.0.0.1:", ":9092", "[::1]:99999", "a:9092,b:92000", "PLAINTEXT://a:-1"):
            self.assertRegex(self.check(servers=f'["c:9092", "{wrong}"]').err, "job.conf:3: .*bootstrap_servers: .*is no broker: HOST:PORT is needed")
        for right in ("127.0.0.1", "127.0.0.1:65535", "[::1]:9092", "a:9092, b:1", "PLAINTEXT://a:9092"):
            self.check(servers=f'["c:9092", "{right}"]', expect=0)

    def test_given_a_mechanism_from_the_command_line_when_its_name_is_missing_then_that_is_told_with_its_key(self):
        self.check(expect=0)
        said = self.flowd("check", "job.conf", "--set", "systems.kafka.security.mechanism=plain", expect=3).err
        self.assertIn("systems.kafka.security.username: the option is required", said)
        self.assertIn("systems.kafka.security.password: the option is required", said)

    def test_given_a_pattern_that_is_none_when_a_job_is_checked_then_it_is_refused(self):
        self.assertIn("pattern", self.check(input='pattern = "a(";').err)

    def test_given_offsets_of_what_is_no_partition_when_a_job_is_checked_then_they_are_refused(self):
        self.assertIn("numbers of partitions", self.check(input="start_offsets: { first = 3; };").err)

    def test_given_a_header_without_a_name_when_a_job_is_checked_then_it_is_refused_with_its_line(self):
        said = self.check(input='timestamp_type_header = "";').err
        self.assertRegex(said, "job.conf:4: .*timestamp_type_header: a header needs a name")

    def test_given_options_that_do_not_belong_together_when_a_job_is_checked_then_they_are_refused(self):
        self.assertIn("assignment", self.check(input='assignment = "group";').err)
        self.assertIn("username", self.check('security: { mechanism = "plain"; password = "s3cret"; };').err)
        self.assertIn("ca", self.check('security: { ca = "ca.pem"; };').err)

    @starts_clients
    def test_given_a_file_of_certificates_that_is_not_there_when_the_job_runs_then_it_is_named(self):
        said = self.check('security: { tls = true; ca = "no-such.pem"; };', expect=0)
        self.assertNotIn("error", said.err)
        self.assertIn("no-such.pem", self.flowd("run", "job.conf", expect=3).err)

    @starts_clients
    def test_given_secrets_when_anything_is_shown_then_they_are_masked(self):
        self.write("job.conf", JOB.format(servers='"127.0.0.1:1"', system='security: { mechanism = "plain"; username = "u"; password: { env = "P"; }; }; '
                                          'request_timeout = "300ms";', input=""))
        for words in (["check", "job.conf"], ["plan", "job.conf"], ["explain", "job.conf"], ["--log-level", "debug", "run", "job.conf"]):
            ended = self.flowd(*words, env={"P": "s3cret"})
            self.assertNotIn("s3cret", ended.out + ended.err, words)

    DEFAULT_SYSTEM = """application: {{
      name = "job";
      default_system = "shop";
      systems: {{ shop: {{ type = "kafka"; bootstrap_servers = "127.0.0.1:1"; }};  files: {{ type = "file"; }}; }};
      inputs:  {{ in: {{ system = "files"; path = "in.jsonl"; bounded = true; serde: {{ type = "json"; fields: {{ user = "string"; }}; }}; }}; }};
      outputs: {{ out: {{ system = "files"; path = "out.jsonl"; serde = "json"; }}; }};
      flow: ( {{ from = "in"; {steps} to = "out"; }} );
    }};
    """

    def test_given_a_default_system_of_topics_when_a_job_is_checked_then_it_is_refused_with_and_without_an_exchange(self):
        self.write("in.jsonl", "")
        for steps in ("", 'key_by = "user";'):
            self.write("job.conf", self.DEFAULT_SYSTEM.format(steps=steps))
            said = self.flowd("check", "job.conf", expect=3).err
            self.assertRegex(said, r"^job.conf:3: .*default_system: system 'shop' \(kafka\) is shared by processes, and intermediate "
                                   "streams do not go through such a system yet; leave default_system out", steps)
            self.assertEqual(said.count("job.conf:"), 1, said)
            self.assertNotIn("cannot carry", said)

    def test_given_an_application_in_c_when_it_is_checked_then_what_its_descriptors_say_is_right(self):
        application = e2e.BUILD / "tests/applications/shop.so"
        self.flowd("check", application, expect=0)
        shown = self.flowd("explain", application, "streams.orders", expect=0).out + self.flowd("explain", application, "systems.shop", expect=0).out
        for line in ("start_offsets", "fetch", "linger", "zstd", "oldest"):
            self.assertIn(line, shown)


if __name__ == "__main__":
    e2e.main()
