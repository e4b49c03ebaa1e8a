"""kill -9 at random moments of a job with files of all kinds, bad records, outputs of every form and keyed state: when it has finished, each
output is what an undisturbed run gave. Six kills with fixed seeds, two hundred with FLOWD_SOAK=1."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import fault

KILLS = 200 if os.environ.get("FLOWD_SOAK") else 6
COMMAND = [fault.e2e.FLOWD, "run", "mill.conf", "--log-level", "error", "--set", "job.parallelism=2"]


def run(folder, seconds=None):
    """Exit code; killed after `seconds`."""
    process = subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    errors = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode


class Kills(fault.e2e.Test):
    def test_every_output_is_that_of_an_undisturbed_run(self):
        fault.make_mill(self.folder, slowed=2000)
        self.assertEqual(run(self.folder), 0)
        expected = fault.mill_result(self.folder)
        self.assertEqual(set(expected), fault.OUTPUTS)
        done, seed = 0, 0
        while done < KILLS:
            seed += 1
            chance = random.Random(seed)
            with tempfile.TemporaryDirectory(prefix="flowd-kills-") as folder:
                for name in self.folder.glob("*"):
                    if name.is_file():
                        shutil.copy(name, folder)
                killed = 0
                while killed < 4 and run(folder, chance.uniform(0.02, 0.6)) != 0:
                    killed += 1
                if killed == 4:
                    run(folder)
                done += max(killed, 1)
                self.assertEqual(fault.difference(expected, fault.mill_result(folder)), "", f"seed {seed}, {killed} kills")


if __name__ == "__main__":
    fault.main()
