"""conf/kafka/files-to-topics.conf and topics-to-files.conf: from files to topics and back, each record once, though the jobs are killed on the way."""
import collections
import csv
import json
import signal
import subprocess
import time

import live

EXAMPLES = live.SOURCE / "conf" / "kafka"


class Examples(live.Test):
    def run_killed(self, name):
        """The example with topics and a state directory of the test's own: killed once after a moment, then run to its end."""
        text = (EXAMPLES / name).read_text().replace('"../data/', f'"{live.SOURCE}/conf/data/').replace("../../out", str(self.folder))
        for topic in ("late-flights-per-day", "late-flights"):
            text = text.replace(f'"{topic}"', f'"{self.topic(topic)}"')
        job = name[:-len(".conf")]
        self.write(name, text.replace(f'name = "{job}"', f'name = "{self.topic(job)}"').replace("127.0.0.1:9092", self.kafka.servers))
        options = ["run", name, "--set", "job.checkpoint_interval=50ms"]
        with self.flowd.start(*options) as started:
            time.sleep(0.2)
            started.signal(signal.SIGKILL)
            if started.wait().code == 0:
                return  # it was faster: run again it would begin anew
        self.flowd(*options, expect=0)

    def late_flights(self):
        data = subprocess.run(["zstd", "-dc", live.SOURCE / "conf/data/flights-2013-01.csv.zst"], stdout=subprocess.PIPE, check=True).stdout
        return [row for row in csv.DictReader(data.decode().splitlines()) if row["dep_delay"] != "NA" and int(row["dep_delay"]) > 15]

    def test_given_flights_in_a_file_when_they_go_through_topics_then_each_is_there_once(self):
        expected = self.late_flights()
        self.run_killed("files-to-topics.conf")
        in_topic = self.kafka.consume(self.kafka.settled(self.topic("late-flights")))
        self.assertEqual(collections.Counter(r["key"] for r in in_topic), collections.Counter(row["carrier"] for row in expected))
        partitions = collections.defaultdict(set)
        for record in in_topic:
            partitions[record["key"]].add(record["partition"])
        self.assertTrue(all(len(where) == 1 for where in partitions.values()), "a carrier is in two partitions")
        self.run_killed("topics-to-files.conf")
        back = self.records("late-from-topic.jsonl")
        self.assertEqual(sorted((r["carrier"], r["flight"], r["dep_delay"]) for r in back),
                         sorted((row["carrier"], int(row["flight"]), int(row["dep_delay"])) for row in expected))
        days = [json.loads(value) for value in self.kafka.values(self.kafka.settled(self.topic("late-flights-per-day")))]
        self.assertEqual(sum(day["flights"] for day in days), len(expected))
        self.assertEqual(len(days), len({(row["carrier"], row["time_hour"][:10]) for row in expected}))
        self.assertEqual(max(day["longest"] for day in days), max(int(row["dep_delay"]) for row in expected))


if __name__ == "__main__":
    live.main()
