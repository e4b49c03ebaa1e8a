"""State in which bits were flipped, or files are cut or missing: a run goes on rightly, or ends with an error that names the state
directory. It never goes on wrongly, and never crashes."""
import os
import random
import shutil
import signal
import subprocess

import fault

ROUNDS = 400 if os.environ.get("FLOWD_SOAK") else 40


def damage(path, chance):
    """Damages one file; says how."""
    content = bytearray(path.read_bytes())
    way = chance.choice(["flip", "flip", "cut", "empty", "gone", "zeros"])
    if way == "gone":
        path.unlink()
        return way
    if way == "flip" and content:
        for _ in range(chance.choice([1, 1, 3])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif way == "cut":
        del content[chance.randrange(len(content) + 1):]
    elif way == "empty":
        content.clear()
    elif content:
        start = chance.randrange(len(content))
        content[start:start + 512] = bytes(len(content[start:start + 512]))
    path.write_bytes(content)
    return way


class DamagedState(fault.e2e.Test):
    def interrupt(self):
        """Runs the mill until it has written some checkpoints, and kills it."""
        process = subprocess.Popen([fault.e2e.FLOWD, "run", "mill.conf", "--log-level", "error"], cwd=self.folder)
        store = self.folder / "state/mill/store"
        written = lambda: sum(p.stat().st_size for p in store.glob("*.log"))
        try:
            fault.until(lambda: written() > 4096 or process.poll() is not None)
        finally:
            process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL, "the job was over before it could be interrupted")

    def test_it_goes_on_rightly_or_says_what_is_wrong(self):
        fault.make_mill(self.folder, rows=6000, slowed=1500)
        self.flowd("run", "mill.conf", expect=0)
        expected = fault.mill_result(self.folder)
        shutil.rmtree(self.folder / "out")
        shutil.rmtree(self.folder / "state")
        self.interrupt()
        shutil.copytree(self.folder / "state", self.folder / "state.good")
        shutil.copytree(self.folder / "out", self.folder / "out.good")
        fault.make_mill(self.folder, rows=6000)  # from here on as fast as it can
        refused = 0
        for seed in range(ROUNDS):
            chance = random.Random(seed)
            for name in ("state", "out"):
                shutil.rmtree(self.folder / name)
                shutil.copytree(self.folder / f"{name}.good", self.folder / name)
            files = sorted(p for p in (self.folder / "state").rglob("*") if p.is_file() and p.name not in ("LOCK", "LOG"))
            path = chance.choice(files)
            how = f"seed {seed}: {damage(path, chance)} {path.relative_to(self.folder)}"
            result = self.flowd("run", "mill.conf", "--log-level", "error")
            if result.code == 0:
                self.assertEqual(fault.difference(expected, fault.mill_result(self.folder)), "", how)
                continue
            refused += 1
            self.assertEqual(result.code, 1, f"{how}: {result.err}")
            self.assertIn("state/mill", result.err, how)
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    fault.main()
