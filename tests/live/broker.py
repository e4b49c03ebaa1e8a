"""ctest's fixture: starts the broker of a build's live tests, without anything of an earlier run, and ends it.

broker.py start|stop FOLDER"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import kafka  # noqa: E402

command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if command == "start" and (folder / "endpoints.json").exists():
    kafka.service("kill", folder)  # what a killed run left
if command == "start":
    shutil.rmtree(folder, ignore_errors=True)
    print(kafka.service("start", folder, "--security", "--while", os.getppid()))  # the parent is ctest
else:
    kafka.service("stop", folder)
    print(f"its log: {folder}/node1/server.log")
