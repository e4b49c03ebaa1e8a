"""A disk that is full, under the outputs or under the state: the run ends with an error that names the file, and once there is room the
same command finishes the job with every record once."""
import os
import subprocess
import unittest

import fault


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(can_mount(), "mounting a small disk needs root")
class FullDisk(fault.e2e.Test):
    def setUp(self):
        super().setUp()
        fault.make_mill(self.folder, rows=6000, slowed=500)
        self.flowd("run", "mill.conf", expect=0)
        self.expected = fault.mill_result(self.folder)
        subprocess.run(["rm", "-r", str(self.folder / "out"), str(self.folder / "state")], check=True)

    def small_disk(self, name, size):
        path = self.folder / name
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "flowd-test", str(path)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(path)], check=False)
        return path

    def enlarge(self, path):
        subprocess.run(["mount", "-o", "remount,size=256M", str(path)], check=True)

    def fails_then_goes_on(self, name, size):
        path = self.small_disk(name, size)
        result = self.flowd("run", "mill.conf", expect=1)
        self.assertIn("No space left on device", result.err)
        self.assertIn(f"{name}/", result.err)
        self.enlarge(path)
        self.flowd("run", "mill.conf", expect=0)
        self.assertEqual(fault.difference(self.expected, fault.mill_result(self.folder)), "")

    def test_under_the_outputs(self):
        self.fails_then_goes_on("out", "24k")

    def test_under_the_state(self):
        self.fails_then_goes_on("state", "40k")

    def test_without_any_room_at_all(self):
        path = self.small_disk("state", "4k")
        result = self.flowd("run", "mill.conf", expect=1)
        self.assertIn("No space left on device", result.err)
        self.enlarge(path)
        self.flowd("run", "mill.conf", expect=0)
        self.assertEqual(fault.difference(self.expected, fault.mill_result(self.folder)), "")


if __name__ == "__main__":
    fault.main()
