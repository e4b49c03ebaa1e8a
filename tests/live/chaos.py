"""What a seed makes of a job that reads a topic: how the job is, what happens to it, and what is written meanwhile (kafka_chaos_test.py)."""
import json
import random
import signal
import subprocess
import threading
import time

SESSION = 6  # seconds
JOB = """application: {
  name = "$job";  instance = "NAME";  checkpoint_interval = "%(interval)dms";  parallelism = %(parallelism)d;
  systems: { kafka: { type = "kafka"; bootstrap_servers = "$SERVERS"; discovery_interval = "300ms"; consumer: { session: { timeout: { ms = 6000; }; }; }; };
             files: { type = "file"; }; };
  inputs:  { in: { system = "kafka"; physical_name = "$in"; group = "$in"; %(input)s }; };
  outputs: { %(outputs)s };
  flow: ( %(flow)s );
};
"""
OUTPUTS = {"topic": ["out"], "topics": ["out", "more"], "topic and file": ["out", "file"], "file": ["file"]}
PLAIN, TEXT, LINES = 'serde = "bytes";', 'serde = "string";', 'serde = "json";'
ROWS = 'serde: { type = "json"; fields: { id = "int64"; pad = "string"; }; };'


class Choice:
    """What the job is like."""

    def __init__(self, seed, chance, broker=None):
        self.seed = seed
        self.shared = chance.random() < 0.7  # by a group; else a process has all partitions
        self.members = chance.choice([1, 2, 2, 3]) if self.shared else 1
        self.eager = chance.random() < 0.4
        self.interval = chance.choice([20, 50, 150, 500])
        self.parallelism = chance.choice([1, 1, 2, 3])
        self.partitions = chance.choice([1, 2, 4, 6])
        self.outputs = chance.choice(["topic", "topic", "topics", "topic and file", "file"])
        self.exact = chance.random() < 0.7
        self.rows = chance.random() < 0.3
        self.isolation = chance.choice(["read_committed", "read_committed", "read_uncommitted"])
        self.broker_dies = chance.random() < 0.25 if broker is None else broker
        # Of who writes the input.
        self.transactions = self.isolation == "read_committed" and not self.broker_dies and chance.random() < 0.4
        self.steps = chance.randrange(8, 20)
        if self.outputs == "file" and self.shared:
            self.exact = False  # positions go into a transaction of an output alone

    def __str__(self):
        return ", ".join(f"{name} = {value}" for name, value in vars(self).items())

    def topics(self):
        return [name for name in OUTPUTS[self.outputs] if name != "file"]

    def job(self, name):
        to_file = "file" in OUTPUTS[self.outputs]
        serde = ROWS if self.rows else TEXT if to_file else PLAIN
        delivery = "" if self.exact else 'delivery = "at_least_once";'
        outputs = [f'{out}: {{ system = "kafka"; physical_name = "${out}"; {delivery} {serde} }};' for out in self.topics()]
        if to_file:
            outputs.append(f'file: {{ system = "files"; path = "{name}.txt"; {LINES if self.rows else TEXT} }};')
        where = 'where = "id >= 0"; ' if self.rows else ""
        text = JOB % {
            "interval": self.interval, "parallelism": self.parallelism, "outputs": " ".join(outputs),
            "input": f'{serde} isolation = "{self.isolation}"; '
                     + (f'assignment = "group"; rebalance = "{"eager" if self.eager else "cooperative"}";' if self.shared else ""),
            "flow": ", ".join(f'{{ from = "in"; {where}to = "{out}"; }}' for out in OUTPUTS[self.outputs])}
        return text.replace("NAME", name)


class Member:
    """A process of the job, again and again under one name."""

    def __init__(self, name, test):
        self.name, self.test = name, test
        self.process, self.stands_until, self.runs = None, None, 0

    def running(self):
        return self.process is not None and self.process.poll() is None

    def start(self, *more):
        self.runs += 1
        status = self.test.folder / f"{self.name}.json"
        status.unlink(missing_ok=True)
        words = self.test.flowd.words(["run", f"{self.name}.conf", "--state-dir", f"state-{self.name}", "--status-file", status, "--log-level", "info", *more])
        with open(self.log(), "wb") as err:
            self.process = subprocess.Popen(words, cwd=self.test.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)

    def log(self):
        return self.test.folder / f"{self.name}.{self.runs}.err"

    def said(self):
        return "".join(f"--- {path.name}\n{shorten(path.read_text(errors='replace'))}"
                       for path in sorted(self.test.folder.glob(f"{self.name}.*.err"), key=lambda p: int(p.suffixes[-2][1:])))

    def send(self, number):
        self.process.send_signal(number)

    def stand_still(self, seconds):
        self.send(signal.SIGSTOP)
        self.stands_until = time.monotonic() + seconds

    def go_on(self):
        """1: it stood still."""
        stood = self.stands_until is not None
        if stood:
            self.send(signal.SIGCONT)
        self.stands_until = None
        return stood

    def end(self, number=signal.SIGTERM):
        """Its exit code."""
        self.go_on()
        self.send(number)
        return self.process.wait(90)

    def found_no_broker(self):
        """It was started just before the broker died: then it ends, and says so. What has begun waits."""
        text = self.log().read_text(errors="replace")
        return "going back" not in text and any(line.startswith("flowd:") and "can they be reached?" in line for line in text.splitlines())

    def reads(self):
        """It has partitions, or has had a look at least."""
        return (self.test.folder / f"{self.name}.json").exists()


def shorten(text, most=12000):
    return text if len(text) <= most else f"{text[:most // 3]}\n[...]\n{text[-most * 2 // 3:]}"


class Input(threading.Thread):
    """Writes records in bursts, until it is told to stop; `failed` is why it could not."""

    def __init__(self, test, choice, chance):
        super().__init__(daemon=True)
        self.test, self.choice, self.chance = test, choice, chance
        self.next_id, self.partitions = 0, choice.partitions
        self.stop, self.failed = threading.Event(), None

    def record(self):
        size = self.chance.choice([0, 10, 10, 10, 100, 100, 1000, 10000]) if self.chance.random() < 0.98 else 200000
        pad = "x" * self.chance.randrange(size + 1)
        value = json.dumps({"id": self.next_id, "pad": pad}, separators=(",", ":"))
        self.next_id += 1
        return {"value": value, "partition": self.chance.randrange(self.partitions)}

    def burst(self):
        """In transactions a part of it is aborted."""
        most = self.chance.choice([1, 20, 300, 2000])
        records = [self.record() for _ in range(self.chance.randrange(1, most + 1))]
        if not self.choice.transactions:
            return records
        cut = self.chance.randrange(len(records) + 1)
        begin = {"begin": True}
        return [begin, *records[:cut], {"abort": True}, begin, *records[cut:], {"commit": True}]

    def run(self):
        words = ["--transaction", self.test.topic("in")] if self.choice.transactions else []
        try:
            while not self.stop.is_set():
                self.test.kafka.tool("produce", self.test.topic("in"), *words, records=self.burst(), properties={"enable.idempotence": "true"})
                self.stop.wait(self.chance.choice([0, 0, 0.05, 0.3, 1.5]))
        except Exception as problem:  # pylint: disable=broad-except
            self.failed = problem


class Schedule:
    """What happens, step by step; `told` says when."""

    def __init__(self, test, choice, chance):
        self.test, self.choice, self.chance = test, choice, chance
        self.members = [Member(f"m{i}", test) for i in range(choice.members)]
        self.input = Input(test, choice, random.Random(choice.seed + 1000000))
        self.told, self.began = [], time.monotonic()

    def tell(self, what):
        self.told.append(f"{time.monotonic() - self.began:7.2f} {time.strftime('%H:%M:%S')} {what}")

    def start(self, member, *more):
        self.tell(f"{member.name} starts")
        member.start(*more)

    def ended_well(self, member, code):
        """One that had not begun may end by the signal itself."""
        if code != -signal.SIGTERM or member.reads():
            self.test.assertEqual(code, 0, f"{member.name} ended with {code}")

    def look(self):
        """Who has stood still goes on. Nobody ends by itself, but who was started when the broker was away."""
        for member in self.members:
            if member.stands_until is not None and time.monotonic() >= member.stands_until:
                self.go_on(member)
            if member.process is None or member.running():
                continue
            code, member.process = member.process.returncode, None
            if code not in (1, 3) or not self.choice.broker_dies or not member.found_no_broker():
                self.test.fail(f"{member.name} ended by itself with {code}")
            self.tell(f"{member.name} has found no broker")

    def go_on(self, member):
        if member.running() and member.go_on():
            self.tell(f"{member.name} goes on")

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(min(0.1, max(0, end - time.monotonic())))

    # --- steps

    def step_wait(self):
        self.wait(self.chance.choice([0.1, 0.5, 1, 2.5]))

    def step_start(self):
        for member in self.members:
            if not member.running():
                self.start(member)
                return

    def one_that_runs(self):
        some = [m for m in self.members if m.running()]
        return self.chance.choice(some) if some else None

    def step_end(self):
        member = self.one_that_runs()
        if member is not None:
            self.tell(f"{member.name} is told to end")
            self.ended_well(member, member.end())
            self.tell(f"{member.name} has ended")
            member.process = None

    def step_kill(self):
        member = self.one_that_runs()
        if member is not None:
            self.tell(f"{member.name} is killed")
            member.end(signal.SIGKILL)
            member.process = None

    def step_stand_still(self):
        member = self.one_that_runs()
        if member is None or member.stands_until is not None:
            return
        seconds = self.chance.choice([0.2, 1, 3, SESSION + 2, SESSION + 5])
        self.tell(f"{member.name} stands still for {seconds} s")
        member.stand_still(seconds)

    def step_grow(self):
        if self.input.partitions < 9:
            count = self.input.partitions + self.chance.randrange(1, 3)
            self.tell(f"{count} partitions")
            self.test.kafka.tool("grow", self.test.topic("in"), "--partitions", count)
            self.test.kafka.describe(self.test.topic("in"))
            self.input.partitions = count

    def step_kill_broker(self):
        if not self.choice.broker_dies:
            return
        for member in self.members:  # who starts while it is away ends, and says so
            while member.running() and not member.reads():
                self.wait(0.05)
        self.tell("the broker is killed")
        self.test.kafka.service("kill")
        self.wait(self.chance.choice([0, 0.5, 3]))
        self.test.kafka.service("start")
        self.tell("the broker is back")
        self.wait(self.chance.uniform(1, 5))  # so that something is done in between

    def steps(self):
        """The more likely ones more than once."""
        return [self.step_wait, self.step_wait, self.step_wait, self.step_start, self.step_start, self.step_start, self.step_end, self.step_kill,
                self.step_stand_still, self.step_grow, self.step_kill_broker]

    def run(self):
        self.start(self.members[0])
        self.input.start()
        for _ in range(self.choice.steps):
            self.look()
            self.chance.choice(self.steps())()
            self.wait(self.chance.uniform(0, 1))
            if self.input.failed is not None:
                raise self.input.failed
        self.input.stop.set()
        self.input.join(120)
        if self.input.failed is not None:
            raise self.input.failed
        self.look()
        for member in self.members:
            self.go_on(member)
        for member in self.members:  # also who was killed: what it had prepared is to be settled
            if not member.running() and (member.runs != 0 or member is self.members[0]):
                self.start(member)
        self.tell("all is written")

    def all_read(self):
        return all(member.reads() for member in self.members if member.running())

    def end(self):
        for member in self.members:
            if member.running():
                self.tell(f"{member.name} is told to end")
                self.test.assertEqual(member.end(), 0, member.name)
                self.tell(f"{member.name} has ended")

    def kill(self):
        self.input.stop.set()
        for member in self.members:
            if member.running():
                member.go_on()
                member.process.kill()
                member.process.wait()
