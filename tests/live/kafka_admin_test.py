"""What brokers are asked before a job runs: `flowd check --connect`, streams made and described. And what they are given besides records:
why a dead letter is one, keys or none."""
import json
import subprocess

import live
from live import kafka

JOINED = """application: { name = "$job";
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; request_timeout = "2s"; }; };
  inputs:  { views:   { system = "kafka"; physical_name = "$views";
                        serde: { key = "string"; value: { type = "json"; fields: { page = "string"; id = "int64"; }; }; }; bounded = true; };
             members: { system = "kafka"; physical_name = "$members";
                        serde: { key = "string"; value: { type = "json"; fields: { name = "string"; id = "int64"; }; }; }; bounded = true; bootstrap = true; }; };
  outputs: { named:   { system = "kafka";
                        physical_name = "$named"; serde: { key = "string"; value = "json"; }; OUTPUT }; };
  tables:  { member: { type = "memory"; }; };
  flow: ( { from = "members"; key_by = "id"; }, { write_table = "member"; },
          { from = "views"; join_table = "member"; on = "id"; to = "named"; } );
};
"""


class Connected(live.Test):
    """`flowd check --connect` over a job that joins two topics."""

    def check(self, expect, views=2, members=2, named=2, output=""):
        self.topics.clear()
        for name, partitions in ("job", 0), ("views", views), ("members", members), ("named", named):
            self.topic(name)
            if partitions:
                self.kafka.create(self.topic(name), partitions)
        self.job(JOINED.replace("OUTPUT", output))
        self.flowd("check", "job.conf", expect=0)  # asks nobody
        return self.flowd("check", "--connect", "job.conf", expect=expect).err

    def test_given_all_topics_when_brokers_are_asked_then_the_configuration_is_good(self):
        self.assertEqual(self.check(0), "")

    def test_given_an_input_whose_topic_is_missing_when_brokers_are_asked_then_it_is_an_error_with_its_place(self):
        said = self.check(3, views=0)
        self.assertRegex(said, rf"^job.conf:3: application.inputs.views.*: there is no topic '{self.topic('views')}' in this cluster")

    def test_given_an_output_whose_topic_is_missing_when_brokers_are_asked_then_it_is_an_error_unless_the_job_makes_it(self):
        said = self.check(3, named=0)
        self.assertRegex(said, rf"^job.conf:7: application.outputs.named.*: there is no topic '{self.topic('named')}' in this cluster; "
                         "make it, or set create = true")
        self.assertNotIn("warning", said)
        self.check(0, named=0, output="create = true;")
        missing = self.kafka.tool("consume", self.topic("named"), expect=1)
        self.assertIn(self.topic("named"), missing)  # who checks makes nothing

    def test_given_topics_when_a_job_is_planned_then_their_partitions_are_shown(self):
        self.check(0, views=5, members=5, named=3)
        shown = json.loads(self.flowd("plan", "--json", "job.conf", expect=0).out)
        self.assertEqual({s["id"]: s["partitions"] for s in shown["streams"]}, {"views": 5, "members": 5, "named": 3})

    def test_given_brokers_that_do_not_answer_when_they_are_asked_then_that_is_told_with_their_names(self):
        for name in ("job", "views", "members", "named"):
            self.topic(name)
        self.job(JOINED.replace("OUTPUT", ""), servers="127.0.0.1:1")
        self.flowd("check", "job.conf", expect=0)
        said = self.flowd("check", "--connect", "job.conf", expect=3).err
        self.assertRegex(said, "job.conf:3: .*no answer from the brokers within 2000 ms.*127.0.0.1:1")


class Streams(live.Test):
    def test_given_streams_between_processes_when_they_are_made_by_the_plugin_then_they_are_there_as_asked_for(self):
        name = kafka.unique("between")
        done = subprocess.run([live.e2e.BUILD / "tests" / "kafka_streams", self.kafka.servers, name], check=False, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([len(self.kafka.describe(f"{name}{suffix}")) for suffix in ("", "-usual", "-compacted")], [3, 1, 2])
        refused = self.kafka.tool("produce", f"{name}-compacted", records=[{"value": "no key"}], expect=1)
        self.assertIn("INVALID_RECORD", refused)


class DeadLetters(live.Test):
    JOB = """application: { name = "$job"; record_errors = "dead_letter"; dead_letters = "dead";
      systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
      inputs:  { in: { system = "kafka"; physical_name = "$in"; bounded = true; serde: { type = "json"; fields: { id = "int64"; }; }; }; };
      outputs: { out: { system = "kafka"; physical_name = "$out"; serde = "json"; };
                 dead: { system = "kafka"; physical_name = "$dead"; serde = "json"; DELIVERY }; };
      flow: ( { from = "in"; name = "shares"; set: { share = "100 / id"; }; to = "out"; } );
    };
    """

    def test_given_records_that_fail_when_they_go_to_a_topic_then_headers_say_why_and_where_from(self):
        for delivery in ("", 'delivery = "at_least_once";'):
            self.topics.clear()
            for name in ("in", "out", "dead"):
                self.kafka.create(self.topic(name), 2)
            self.topic("job")
            self.kafka.produce(self.topic("in"), [{"value": '{"id": 5}', "partition": 1}, {"value": '{"id": ', "partition": 1},
                                                  {"value": '{"id": 0}', "partition": 0}, {"value": '{"id": "x"}', "partition": 0}])
            self.job(self.JOB.replace("DELIVERY", delivery))
            self.flowd("run", "job.conf", expect=0)
            letters = [(json.loads(r["value"]), dict(r["headers"])) for r in self.kafka.consume(self.kafka.settled(self.topic("dead")))]
            self.assertEqual(len(letters), 3)
            for letter, headers in letters:
                for name in ("reason", "status", "job", "operator", "stream", "place", "ordinal"):
                    self.assertEqual(headers.pop(f"flowd.{name}"), str(letter[name]), name)
                self.assertEqual(headers, {} if letter["field"] is None else {"flowd.field": letter["field"]})
            told = {(letter["place"], letter["ordinal"]): letter for letter, headers in letters}
            self.assertEqual(set(told), {(f"{self.topic('in')}[1]", 1), (f"{self.topic('in')}[0]", 0), (f"{self.topic('in')}[0]", 1)})
            divided = told[f"{self.topic('in')}[0]", 0]
            self.assertEqual((divided["operator"], divided["stream"]), ("shares", "in"))
            self.assertIn("zero", divided["reason"])


class Keys(live.Test):
    """What becomes of keys: a plain serde is that of the values."""

    JOB = """application: { name = "$job";
      systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; SYSTEM }; };
      inputs:  { in: { system = "kafka"; physical_name = "$in"; bounded = true; INPUT }; };
      outputs: { out: { system = "kafka"; physical_name = "$out"; OUTPUT }; };
      flow: ( { from = "in"; STEPS to = "out"; } );
    };
    """
    KEYED = [{"key": "a", "value": '{"user":"a","n":1}'}, {"key": "b", "value": '{"user":"b","n":2}'}]
    TYPED = '{ type = "json"; fields: { user = "string"; n = "int64"; }; }'

    def passed(self, source, target, system="", steps=""):
        """(key, value) of each record behind the job, in the order of values."""
        self.topics.clear()
        for name in ("in", "out"):
            self.kafka.create(self.topic(name))
        self.topic("job")
        self.kafka.produce(self.topic("in"), self.KEYED)
        self.job(self.JOB.replace("SYSTEM", system).replace("INPUT", source).replace("OUTPUT", target).replace("STEPS", steps))
        self.flowd("run", "job.conf", expect=0)
        return sorted(((r["key"], r["value"]) for r in self.kafka.consume(self.kafka.settled(self.topic("out")))), key=lambda r: r[1])

    def with_keys(self, *keys):
        """The records, with these keys."""
        return [(key, record["value"]) for key, record in zip(keys, self.KEYED)]

    def test_given_serdes_for_key_and_value_when_records_pass_then_keys_stay(self):
        both = f'serde: {{ key = "string"; value: {self.TYPED}; }};'
        self.assertEqual(self.passed(both, both), self.with_keys("a", "b"))

    def test_given_a_plain_serde_of_an_input_when_records_pass_then_they_have_no_keys(self):
        both = f'serde: {{ key = "string"; value: {self.TYPED}; }};'
        self.assertEqual(self.passed(f"serde: {self.TYPED};", both), self.with_keys(None, None))
        self.assertEqual(self.passed('serde = "bytes";', 'serde: { key = "bytes"; value = "bytes"; };'), self.with_keys(None, None))

    def test_given_a_plain_serde_of_an_output_when_keyed_records_are_written_then_they_have_no_keys(self):
        both = f'serde: {{ key = "string"; value: {self.TYPED}; }};'
        self.assertEqual(self.passed(both, f"serde: {self.TYPED};"), self.with_keys(None, None))
        self.assertEqual(self.passed(f"serde: {self.TYPED};", f"serde: {self.TYPED};", steps='key_by = "user";'), self.with_keys(None, None))
        self.assertEqual(self.passed('serde: { key = "bytes"; value = "bytes"; };', 'serde = "bytes";'), self.with_keys(None, None))

    def test_given_a_serde_of_the_system_when_streams_say_none_then_it_is_theirs_and_one_of_a_stream_takes_its_place_whole(self):
        system = f'serde: {{ key = "string"; value: {self.TYPED}; }};'
        self.assertEqual(self.passed("", "", system), self.with_keys("a", "b"))
        self.assertEqual(self.passed("", f"serde: {self.TYPED};", system), self.with_keys(None, None))
        self.assertEqual(self.passed("", "", f"serde: {self.TYPED};"), self.with_keys(None, None))


if __name__ == "__main__":
    live.main()
