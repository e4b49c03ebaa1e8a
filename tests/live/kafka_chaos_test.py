"""Jobs that read a topic while processes come, go, are killed and stand still, brokers die, partitions appear: what a seed says happens, and
then each record is there once (or at least once), the group stands at the end, and every process ends well.

Three seeds, fifty with FLOWD_SOAK; FLOWD_CHAOS_SEED and FLOWD_CHAOS_COUNT say which and how many. FLOWD_CHAOS_KEEP: a folder for what a broker
of a seed's own had when the seed failed."""
import collections
import json
import os
import random
import shutil

import chaos
import live

FEW = (7, 23, 38)  # a group that gives all anew, one process with all partitions, three members of a group; without a broker that dies
SEED = int(os.environ.get("FLOWD_CHAOS_SEED", "1"))
COUNT = int(os.environ.get("FLOWD_CHAOS_COUNT", "50"))
KEEP = os.environ.get("FLOWD_CHAOS_KEEP")
PATIENCE = 150  # seconds: two sessions, a transaction that a broker ends, and a machine that is busy


class Chaos(live.Test):
    def run_seed(self, seed, **fixed):
        chance = random.Random(seed)
        self.choice = chaos.Choice(seed, chance, **fixed)
        self.topics.clear()
        if self.choice.broker_dies:
            self.cluster()
        for name, partitions in [("in", self.choice.partitions), ("out", 3), ("more", 1)]:
            self.kafka.create(self.topic(name), partitions)
        self.topic("job")
        schedule = chaos.Schedule(self, self.choice, chance)
        self.addCleanup(schedule.kill)
        for member in schedule.members:
            self.job(self.choice.job(member.name), f"{member.name}.conf")
        try:
            schedule.run()
            self.until_all_is_committed()
            live.until(schedule.all_read, "every process that was started")
            schedule.end()
            self.agree()
        except BaseException as problem:
            schedule.tell("it has failed")
            raise AssertionError(self.failure(schedule, problem)) from problem
        finally:
            schedule.kill()

    # --- what must be

    def ends(self):
        """Where the group is to stand. Of a transaction's marker behind the last record nobody has to have heard."""
        ends = {p: (part["high"], part["high"]) for p, part in enumerate(self.kafka.describe(self.topic("in")))}
        if self.choice.transactions:
            behind = {record["partition"]: record["offset"] + 1 for record in self.kafka.consume(self.topic("in"))}
            ends = {p: (behind.get(p, 0), end) for p, (_, end) in ends.items()}
        return ends

    def committed(self):
        return {p: o["offset"] for p, o in self.kafka.committed(self.topic("in"), self.topic("in")).items()}

    def until_all_is_committed(self):
        """An empty partition may have no offset."""
        ends = self.ends()

        def behind():
            committed = self.committed()
            return {p: f"{committed.get(p)} of {least} to {most}" for p, (least, most) in ends.items()
                    if not least <= max(committed.get(p, 0), 0) <= most}

        live.until(lambda: not behind(), lambda: f"committed offsets: {behind()}", PATIENCE)

    def agree(self):
        """Outputs, with the input; what is there more than once too is there as it was written."""
        source = collections.defaultdict(list)
        for record in self.kafka.consume(self.topic("in"), *(["--uncommitted"] if self.choice.isolation == "read_uncommitted" else [])):
            source[record["value"]].append((record["partition"], record["offset"]))
        outputs = {name: self.written(name) for name in self.choice.topics()}
        if "file" in chaos.OUTPUTS[self.choice.outputs]:
            outputs["file"] = self.lines()
        for name, values in outputs.items():
            counts = collections.Counter(values)
            lost = [place for value, places in source.items() for place in places[counts[value]:]]
            twice = [(places, counts[value]) for value, places in source.items() if counts[value] > len(places)]
            foreign = [value[:200] for value in counts if value not in source]
            if not self.exactly_once(name):
                twice = []
            self.assertFalse(lost or twice or foreign, f"{name}: of {sum(map(len, source.values()))} records {len(lost)} are missing (partition, offset): "
                             f"{sorted(lost)[:40]}; {len(twice)} are there more than once: {sorted(twice)[:40]}; nobody wrote: {foreign[:3]}")
        self.check_order(source)

    def exactly_once(self, output):
        """A file beside a transaction too."""
        return self.choice.exact or (output == "file" and not self.choice.shared)

    def written(self, name):
        return [record["value"] for record in self.kafka.consume(self.kafka.settled(self.topic(name)))]

    def lines(self):
        """Unbounded jobs write a temporary still."""
        return [line for path in sorted(self.folder.glob("*.txt*")) for line in path.read_text().splitlines()]

    def check_order(self, source):
        """What was one behind the other in a partition is so in each partition of the output."""
        if not self.choice.exact:
            return
        for name in self.choice.topics():
            last = {}
            for record in self.kafka.consume(self.topic(name)):
                places = source[record["value"]]
                for partition, offset in places if len(places) == 1 else ():
                    before = last.get((record["partition"], partition), -1)
                    self.assertGreater(offset, before, f"{name}[{record['partition']}] at {record['offset']}: offset {offset} of partition {partition} "
                                       f"stands behind {before}")
                    last[record["partition"], partition] = offset

    # --- what to say when it is not

    def failure(self, schedule, problem):
        lines = [f"seed {self.choice.seed}: {problem}", str(self.choice), *schedule.told]
        lines += [member.said() for member in schedule.members]
        for name in ("in", *self.choice.topics()):
            try:
                lines.append(f"{name} ({self.topic(name)}): {json.dumps(self.kafka.describe(self.topic(name)))}")
            except AssertionError as unknown:
                lines.append(f"{name}: {unknown}")
        try:
            lines.append(f"committed: {self.committed()}")
        except AssertionError as unknown:
            lines.append(f"committed: {unknown}")
        if KEEP:
            to = os.path.join(KEEP, f"seed-{self.choice.seed}-{os.getpid()}")
            shutil.copytree(self.folder, f"{to}/job", dirs_exist_ok=True)
            if self.choice.broker_dies:
                shutil.copytree(self.kafka.folder, f"{to}/broker", dirs_exist_ok=True)
            lines.append(f"kept in {to}")
        return "\n".join(lines)

    @live.takes_minutes
    def test_given_what_seeds_choose_when_all_is_over_then_each_record_is_there_and_every_process_has_ended_well(self):
        chosen = live.SOAK or "FLOWD_CHAOS_SEED" in os.environ
        for seed in range(SEED, SEED + COUNT) if chosen else FEW:
            self.setUp()
            try:
                self.run_seed(seed, **({} if chosen else {"broker": False}))
                print(f"seed {seed}: good", flush=True)
            finally:
                self.doCleanups()


if __name__ == "__main__":
    live.main()
