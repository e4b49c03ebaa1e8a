"""A commit whose outcome the job does not get to know: the marker in the cluster tells, and each record is there once either way. Something
stands between the job and the broker that hides the answer, or the question."""
import collections
import json
import pathlib
import shutil
import signal
import socket
import struct
import tempfile
import threading

import live
from live import kafka, until

COUNT = 3000
JOB = """application: {
  name = "unclear";  checkpoint_interval = "200ms";  parallelism = 2;
  systems: { made: { type = "generate"; };  files: { type = "file"; };  kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; }; };
  inputs:  { in: { system = "made"; count = %d; rate = 1000; seed = 5; fields: { id = "sequence"; user = "key(7)"; }; }; };
  outputs: { out: { system = "kafka"; physical_name = "out"; serde = "json"; };
             counts: { system = "kafka"; physical_name = "counts"; serde = "json"; };
             copy: { system = "files"; path = "copy.jsonl"; serde = "json"; }; };
  flow: ( { name = "counts"; from = "in"; key_by = "user"; aggregate: { n = "count(*)"; }; }, { to = "counts"; },
          { from = "in"; to = "out"; }, { from = "in"; to = "copy"; } );
};
""" % COUNT
END_TRANSACTION, INVALID_TRANSACTION_STATE = 26, 48  # of Kafka's protocol


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data


def read_message(connection):
    return read_exactly(connection, struct.unpack(">i", read_exactly(connection, 4))[0])


class Between:
    """Listens in place of the broker, and passes everything on, but for what the next commit is to suffer:
    "lose": the broker never hears of it, and the client is told that it failed; "deny": the broker commits, and the client is told that
    it failed; "hide": the broker commits, and the client hears nothing."""

    def __init__(self, folder):
        self.folder, self.armed, self.hit = folder, None, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        for one in (self.listener, *self.connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def next_commit(self, fate):
        self.hit.clear()
        self.armed = fate

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self.target())
            except OSError:
                client.close()
                continue
            self.connections += [client, broker]
            fates, lock = {}, threading.Lock()
            threading.Thread(target=self.pump, args=(self.questions, client, broker, fates, lock), daemon=True).start()
            threading.Thread(target=self.pump, args=(self.answers, broker, client, fates, lock), daemon=True).start()

    def target(self):
        host, port = json.loads((self.folder / "endpoints.json").read_text())["plaintext"].split(":")
        return host, int(port)

    def pump(self, pass_on, source, target, fates, lock):
        try:
            while True:
                pass_on(read_message(source), source, target, fates, lock)
        except OSError:
            for one in (source, target):
                one.close()

    @staticmethod
    def send(connection, message, lock):
        with lock:
            connection.sendall(struct.pack(">i", len(message)) + message)

    def questions(self, message, client, broker, fates, lock):
        key, version, number = struct.unpack(">hhi", message[:8])
        if key == END_TRANSACTION and version < 3 and message[-1] == 1 and self.armed:
            fates[number], self.armed = self.armed, None
        if fates.get(number) == "lose":
            self.send(client, struct.pack(">iih", number, 0, INVALID_TRANSACTION_STATE), lock)
            self.hit.set()
        else:
            broker.sendall(struct.pack(">i", len(message)) + message)

    def answers(self, message, _, client, fates, lock):
        fate = fates.pop(struct.unpack(">i", message[:4])[0], None)
        if fate is not None:
            error = struct.unpack(">h", message[8:10])[0]
            assert error == 0, f"the broker answered the commit with {error}"
            message = message[:8] + struct.pack(">h", INVALID_TRANSACTION_STATE) + message[10:]
            self.hit.set()
        if fate != "hide":
            self.send(client, message, lock)


class Unclear(live.Test):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="flowd-kafka-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(kafka.service, "kill", folder)
        self.between = Between(folder)
        self.addCleanup(self.between.close)
        self.kafka = kafka.Kafka.started(folder, "--heap", "256m", "--set", f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.between.port}")
        for topic in ("out", "counts"):
            self.kafka.create(topic, 2)
        self.job(JOB, servers=f"127.0.0.1:{self.between.port}")

    def run_until_commit(self, fate):
        """The job, whose next commit has had its fate."""
        job = self.flowd.start("run", "job.conf")
        self.addCleanup(job.__exit__)
        until(lambda: self.kafka.values("out"), "the first records")
        self.between.next_commit(fate)
        self.assertTrue(self.between.hit.wait(30), "no commit came")
        return job

    def check(self, ended):
        self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual(self.sorted_ids("out"), list(range(COUNT)))
        rows = self.records("copy.jsonl")
        self.assertEqual(sorted(row["id"] for row in rows), list(range(COUNT)))
        counts = [json.loads(value) for value in self.kafka.values(self.kafka.settled("counts"))]
        self.assertEqual(len(counts), len({(row["user"], row["n"]) for row in counts}), "a count is there twice")
        last = {user: max(row["n"] for row in counts if row["user"] == user) for user in {row["user"] for row in counts}}
        self.assertEqual(last, collections.Counter(row["user"] for row in rows))
        return ended.err

    def test_given_a_commit_that_was_done_and_told_as_failed_when_the_marker_is_there_then_the_epoch_counts_and_the_job_goes_on(self):
        said = self.check(self.run_until_commit("deny").wait())
        self.assertIn("asking what was committed", said)
        self.assertNotIn("going back to epoch", said)

    def test_given_a_commit_that_was_not_done_when_the_marker_is_not_there_then_the_job_goes_back_and_does_it_again(self):
        said = self.check(self.run_until_commit("lose").wait())
        self.assertIn("asking what was committed", said)
        self.assertIn("going back to epoch", said)

    def test_given_a_job_that_is_killed_behind_its_commit_when_it_had_no_answer_then_the_next_run_goes_on_behind_that_epoch(self):
        job = self.run_until_commit("hide")
        job.signal(signal.SIGKILL)
        job.wait()
        self.check(self.flowd("run", "job.conf"))


if __name__ == "__main__":
    live.main()
