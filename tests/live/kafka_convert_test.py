"""Topics without a configuration file: flowd cat and flowd convert take kafka://HOST/TOPIC."""
import json

import topics


class Addresses(topics.Test):
    def address(self, topic):
        return f"kafka://{self.kafka.servers}/{topic}"

    def test_given_a_file_when_it_is_converted_to_a_topic_and_back_then_the_records_are_the_same(self):
        topic = self.topic("converted", 2)
        lines = [{"id": i, "name": f"name {i}"} for i in range(500)]
        self.write("in.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        self.flowd("convert", "in.jsonl", self.address(topic), "--to-format", "json", expect=0)
        self.flowd("convert", self.address(topic), "out.jsonl", "--from-format", "json", expect=0)
        back = [json.loads(line) for line in self.flowd.lines("out.jsonl")]
        self.assertEqual(sorted(back, key=lambda line: line["id"]), lines)

    def test_given_a_topic_when_it_is_looked_into_then_the_records_are_shown_up_to_its_present_end(self):
        topic = self.topic("looked-into")
        self.kafka.produce(topic, [{"value": '{"a":1}'}, {"value": '{"a":2}'}, {"value": '{"a":3}'}])
        shown = self.flowd("cat", self.address(topic), "--from-format", "json", "--where", "a > 1", expect=0)
        self.assertEqual(shown.out, '{"a":2}\n{"a":3}\n')
        self.assertEqual(self.flowd("cat", self.address(topic), "--from-format", "json", "--limit", "1", expect=0).out, '{"a":1}\n')

    def test_given_an_address_that_says_too_little_or_names_nothing_then_it_is_refused_with_what_to_say(self):
        topic = self.topic("refused")
        for words, code, says in (((self.address(topic),), 2, "--from-format"),
                                  ((f"kafka://{self.kafka.servers}", "--from-format", "json"), 3, "kafka://HOST/NAME"),
                                  ((self.address("there-is-none"), "--from-format", "json"), 3, "'there-is-none'")):
            with self.subTest(words=words):
                self.assertIn(says, self.flowd("cat", *words, expect=code).err)


if __name__ == "__main__":
    topics.main()
