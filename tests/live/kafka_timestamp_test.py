"""Timestamps of records that are read: who gave them, and those that no record can have."""
import topics

JOB = """application: {{
  name = "job";  {job}
  systems: {{ kafka: {{ type = "kafka"; bootstrap_servers = "{servers}"; }};  files: {{ type = "file"; }}; }};
  inputs:  {{ in: {{ system = "kafka"; physical_name = "{topic}"; bounded = true; serde = "string"; {input} }}; }};
  outputs: {{ out: {{ system = "kafka"; physical_name = "{written}"; serde = "string"; create = true; }};
             dead: {{ system = "files"; path = "dead.jsonl"; serde = "json"; }}; }};
  flow: ( {{ from = "in"; to = "out"; }} );
}};
"""
FAR = 9223372036854775807 // 1000 + 1  # milliseconds


class Timestamps(topics.Test):
    def passed(self, topic, input="", job="", code=0):
        written = topics.kafka.unique("written")
        text = JOB if "dead_letters" in job else JOB.replace('dead: {{ system = "files"; path = "dead.jsonl"; serde = "json"; }};', "")
        self.write("job.conf", text.format(servers=self.kafka.servers, topic=topic, written=written, input=input, job=job))
        self.ended = self.flowd("run", "job.conf", "--fresh", expect=code)
        return self.kafka.consume(self.kafka.settled(written)) if code == 0 else []

    def test_given_both_types_of_timestamps_when_a_header_is_asked_for_then_it_says_who_gave_them(self):
        for configs, who in (({}, "create"), ({"message_timestamp_type": "LogAppendTime"}, "log_append")):
            topic = self.topic(**configs)
            self.kafka.produce(topic, [{"value": "a", "headers": [["h", "1"]]}, {"value": "b"}])
            read = self.passed(topic, 'timestamp_type_header = "tt";')
            self.assertEqual([r["headers"] for r in read], [[["h", "1"], ["tt", who]], [["tt", who]]])
            read = self.passed(topic, 'timestamp_type_header = "tt"; headers = false;')
            self.assertEqual([r["headers"] for r in read], [[["tt", who]], [["tt", who]]])
            self.assertEqual([r["headers"] for r in self.passed(topic)], [[["h", "1"]], []])

    def test_given_a_timestamp_that_is_out_of_range_when_it_is_read_then_the_record_alone_follows_the_policy(self):
        topic = self.topic(message_timestamp_after_max_ms=9223372036854775807)
        good = 1700000000000
        for values in (["bad"], ["a", "bad", "b"], ["bad", "bad", "a"], ["a", "b", "bad"]):
            topic = self.topic(message_timestamp_after_max_ms=9223372036854775807)
            self.kafka.produce(topic, [{"value": v, "timestamp": FAR if v == "bad" else good} for v in values])
            rest = [v for v in values if v != "bad"]
            self.assertEqual([r["value"] for r in self.passed(topic, job='record_errors = "skip";')], rest)
            self.assertEqual([r["value"] for r in self.passed(topic, job='record_errors = "dead_letter"; dead_letters = "dead";')], rest)
            letters = self.records("dead.jsonl")
            self.assertEqual([(r["ordinal"], r["raw"]) for r in letters], [(i, "bad") for i, v in enumerate(values) if v == "bad"])
            self.assertIn(f"its timestamp, {FAR} milliseconds, is out of range", letters[0]["reason"])
            (self.folder / "dead.jsonl").unlink()
            self.passed(topic, code=1)
            self.assertIn(f"{topic}", self.ended.err)
            self.assertIn("is out of range", self.ended.err)


if __name__ == "__main__":
    topics.main()
