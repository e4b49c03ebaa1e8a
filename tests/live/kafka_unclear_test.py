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
import time

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
READER = """application: {
  name = "reader";
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; };  files: { type = "file"; }; };
  inputs:  { in: { system = "kafka"; physical_name = "in"; serde = "string"; group = "in"; bounded = true; }; };
  outputs: { out: { system = "files"; path = "out.txt"; serde = "string"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""
OFFSET_FETCH, FIND_COORDINATOR, END_TRANSACTION, NOT_COORDINATOR, INVALID_TRANSACTION_STATE = 9, 10, 26, 16, 48  # of Kafka's protocol
PATIENCE, LATE = 3, 5  # seconds


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
    it failed; "hide": the broker commits, and the client hears nothing; "hold": it waits for `let_go`. `late_coordinator`: a group, of which the first that asks for its
    coordinator hears LATE seconds later. `refused_offsets`: so many questions for committed offsets hear that another one is the coordinator."""

    def __init__(self, folder):
        self.folder, self.armed, self.hit = folder, None, threading.Event()
        self.late_coordinator = None
        self.let_go = None
        self.refused_offsets = 0
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
        if key == FIND_COORDINATOR and self.late_coordinator is not None and message.endswith(struct.pack(">h", len(self.late_coordinator))
                                                                                             + self.late_coordinator + b"\0"):
            fates[number], self.late_coordinator = "late", None
        if key == OFFSET_FETCH and self.refused_offsets > 0:
            assert version in (6, 7), f"version {version} of OffsetFetch has its error elsewhere"
            fates[number] = "refuse"
            self.refused_offsets -= 1
        if fates.get(number) == "lose":
            self.send(client, struct.pack(">iih", number, 0, INVALID_TRANSACTION_STATE), lock)
            self.hit.set()
        elif fates.get(number) == "hold":
            del fates[number]
            self.let_go = lambda: broker.sendall(struct.pack(">i", len(message)) + message)
            self.hit.set()
        else:
            broker.sendall(struct.pack(">i", len(message)) + message)

    def answers(self, message, _, client, fates, lock):
        fate = fates.pop(struct.unpack(">i", message[:4])[0], None)
        if fate == "late":
            threading.Timer(LATE, self.send_late, (client, message, lock)).start()
            return
        if fate == "refuse":
            self.send(client, message[:-3] + struct.pack(">hb", NOT_COORDINATOR, 0), lock)
            return
        if fate is not None:
            error = struct.unpack(">h", message[8:10])[0]
            assert error == 0, f"the broker answered the commit with {error}"
            message = message[:8] + struct.pack(">h", INVALID_TRANSACTION_STATE) + message[10:]
            self.hit.set()
        if fate != "hide":
            self.send(client, message, lock)

    def send_late(self, client, message, lock):
        self.hit.set()
        try:
            self.send(client, message, lock)
        except OSError:
            pass  # it does not wait any more


class Proxied(live.Test):
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


class Unclear(Proxied):
    def setUp(self):
        super().setUp()
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

    def test_given_a_coordinator_that_is_known_after_nobody_waits_for_it_when_the_job_asks_for_its_marker_then_it_asks_again(self):
        """A question that had ended ended the process as soon as the coordinator was known."""
        self.job(JOB.replace('bootstrap_servers = "$SERVERS";', f'bootstrap_servers = "$SERVERS"; request_timeout = "{PATIENCE}s";'),
                 servers=f"127.0.0.1:{self.between.port}")
        self.between.late_coordinator = b"flowd/unclear/"
        job = self.flowd.start("run", "job.conf")
        self.addCleanup(job.__exit__)
        self.assertTrue(self.between.hit.wait(30), "nobody has asked for the coordinator")
        self.assertIn("offsets of the group 'flowd/unclear/'", self.check(job.wait()))

    def test_given_a_coordinator_that_moves_when_a_job_starts_then_it_asks_for_the_offsets_of_its_group_again(self):
        self.kafka.create("in")
        self.kafka.produce("in", [{"value": str(i)} for i in range(10)])
        self.kafka.tool("commit", "in", "in", 0, 4)
        self.job(READER, servers=f"127.0.0.1:{self.between.port}")
        self.between.refused_offsets = 2
        self.flowd("run", "job.conf", expect=0)
        self.assertEqual(self.between.refused_offsets, 0)
        self.assertEqual(self.flowd.lines("out.txt"), [str(i) for i in range(4, 10)])


MEMBER = """application: {
  name = "SHARED";  instance = "NAME";  checkpoint_interval = "200ms";
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; consumer: { session: { timeout: { ms = 6000; }; }; }; }; };
  inputs:  { in: { system = "kafka"; physical_name = "SHARED"; serde = "bytes"; group = "SHARED"; assignment = "group"; isolation = "SHARED"; }; };
  outputs: { out: { system = "kafka"; physical_name = "SHARED-out"; serde = "bytes"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""


class ACommitThatComesLate(Proxied):
    """A member of a group stands still while its commit is on its way, and another one gets its partition."""

    def member(self, name, isolation):
        self.job(MEMBER.replace("NAME", name).replace("SHARED", isolation), f"{name}.conf", f"127.0.0.1:{self.between.port}")
        (self.folder / f"{name}.json").unlink(missing_ok=True)
        member = self.flowd.start("run", f"{name}.conf", "--state-dir", f"state-{name}-{isolation}", "--status-file", f"{name}.json")
        self.addCleanup(member.__exit__)
        return member

    def rebalances(self, name):
        path = self.folder / f"{name}.json"
        return sum(i.get("rebalances", 0) for i in json.loads(path.read_text())["inputs"]) if path.exists() else 0

    def share(self, isolation):
        source, out = self.kafka.create(isolation), self.kafka.create(f"{isolation}-out")
        a = self.member("a", isolation)
        self.kafka.produce(source, [{"value": "before"}])
        until(lambda: self.kafka.values(out), "the first record")
        self.between.next_commit("hold")
        self.kafka.produce(source, [{"value": "held"}])
        self.assertTrue(self.between.hit.wait(30), "no commit came")
        a.signal(signal.SIGSTOP)
        b = self.member("b", isolation)
        until(lambda: self.rebalances("b") != 0, "the partition of the one that stands still", 60)
        time.sleep(2)  # it would have read
        self.between.let_go()
        a.signal(signal.SIGCONT)
        self.kafka.produce(source, [{"value": "after"}])
        until(lambda: "after" in self.kafka.values(out), "the last record", 60)
        for member in a, b:
            member.signal(signal.SIGTERM)
            ended = member.wait()
            self.assertEqual(ended.code, 0, str(ended))
        self.assertEqual(self.kafka.values(self.kafka.settled(out)), ["before", "held", "after"], isolation)

    def test_given_a_member_that_stands_still_while_it_commits_when_another_one_goes_on_then_each_record_is_there_once(self):
        for isolation in "read_committed", "read_uncommitted":
            self.share(isolation)


if __name__ == "__main__":
    live.main()
