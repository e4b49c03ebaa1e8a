"""Plugins that answer with garbage: each way ends in an error that names plugin and call (or does no harm), with and without
--check-plugins, and never in a crash, nor in a job that cannot be stopped."""
import os
import signal
import time

import fault


def job(source='system = "h";', decoder='"string"', sink='system = "h";', encoder='"string"', step=""):
    serde = lambda text: text if text.startswith('"') else "{ " + text + " }"
    return f"""application: {{
  name = "hostile";  checkpoint_interval = "10ms";  shutdown_deadline = "1s";
  systems: {{ h: {{ type = "hostile"; }};  files: {{ type = "file"; }}; }};
  inputs: {{ in: {{ bounded = true; {source} serde = {serde(decoder)}; }}; }};
  outputs: {{ out: {{ {sink} serde = {serde(encoder)}; }}; }};
  flow: ( {{ from = "in"; {step} to = "out"; }} );
}};
"""


MODE = 'type = "hostile"; mode = "{}";'
FILE = 'system = "files"; path = "out.txt";'
JSON = {"sink": FILE, "encoder": '"json"'}


def source(mode):
    return job(source=f'system = "h"; mode = "{mode}";')


def sink(mode):
    return job(sink=f'system = "h"; mode = "{mode}";')


def records(mode):
    return job(decoder=MODE.format(mode), **JSON)


def stream(mode):
    return job(source='system = "files"; path = "in.txt"; chunk = "1KiB";', decoder=MODE.format(mode), **JSON)


def encoder(mode):
    return job(decoder='type = "hostile";', encoder=MODE.format(mode))


def stream_encoder(mode):
    return job(decoder='type = "hostile";', encoder=MODE.format(mode), sink=FILE)


def function(mode, key=""):
    return job(decoder='type = "hostile";', step=f'{key} hostile = "{mode}";', **JSON)


def keyed(mode):
    return function(mode, 'name = "st"; key_by = "a";')


# What a run says. None: it does no harm, and is not noticed without --check-plugins.
CASES = {
    source: {
        "describe_77": "describe", "describe_-999": "describe", "describe_silent": "describe", "partition_count": "-5 partitions",
        "source_open_77": "source_open", "source_open_-999": "source_open", "source_open_silent": "source_open",
        "partitions_77": "source_partitions", "partitions_-999": "source_partitions", "partitions_null": "partition",
        "partitions_holes": "has no id", "partitions_no_id": "has no id", "partitions_same": None, "partitions_same_id": None,
        "assign_77": "source_assign", "assign_-999": "source_assign", "read_77": "source_read", "read_-999": "source_read",
        "read_silent": "input/output error|source_read", "read_back": None, "read_no_ordinal": "ordinal", "read_cells_type": None,
        "read_many": "more rows", "read_partition": "partition 77", "read_end_77": "partition 77", "read_rows_again": None,
        "position_77": "source_position", "position_-999": "source_position", "position_big": "position", "position_huge": "position",
    },
    sink: {
        "describe_77": "describe", "delivery": "delivery 99", "writer_open_77": "writer_open", "writer_open_-999": "writer_open",
        "write_more": "accepted", "write_77": "write", "write_-999": "write", "write_silent": "write", "status_77": None,
        "status_-999": "cannot be written|write", "prepare_77": "prepare", "prepare_-999": "prepare", "prepare_again": "prepare",
        "prepare_null": "handle", "committer_open_77": "committer_open", "committer_open_-999": "committer_open", "commit_77": "commit",
        "commit_-999": "commit", "commit_silent": "commit", "commit_again": "commit", "abort_77": "abort", "abort_-999": "abort",
    },
    records: {
        "schema_-999": "serde", "schema_null": "", "decoder_open_77": "decoder_open", "decoder_open_-999": "decoder_open",
        "decode_77": "decode_rows", "decode_-999": "decode_rows", "decode_silent": "decode_rows", "rows_source": "rows",
        "rows_many": "rows", "rows_next": "progress|decode_rows", "rows_stuck": "progress|decode_rows",
    },
    stream: {
        "decode_77": "decode", "decode_-999": "in.txt|decode", "consumed_more": "bytes", "rows_many": "more rows",
    },
    encoder: {
        "encodable_77": "check_encodable", "encodable_-999": "check_encodable", "encoder_open_77": "encoder_open",
        "encode_77": "encode", "encode_-999": "encode", "ends_wild": "end", "ends_back": "end", "encode_status_77": None,
        "encode_status_-999": "cannot be encoded|encode", "buffer_size": "buffer",
    },
    stream_encoder: {"encode_77": "encode", "encode_silent": "encode", "encode_status_-999": "cannot be encoded|encode", "buffer_size": "buffer"},
    function: {
        "bind_77": "bind", "bind_-999": "bind", "output_null": "gives no records", "shape": "shape 9", "passes": "does not have",
        "open_77": "open", "open_-999": "open", "process_77": "77", "process_-999": "unknown status|process", "process_again": "1",
        "forward_wild": "forward selects", "forward_back": None, "reject_row": "reject names|reject", "reject_good": "reject",
        "rows_many": "more rows", "end_77": "77", "end_-999": "unknown status|end_input",
    },
    keyed: {"state_kind": "kind 99", "state_size": "3 bytes", "state_no_name": "state ''", "state_wild": "not declared",
            "state_row": "names row"},
}


class Hostile(fault.e2e.Test):
    def setUp(self):
        super().setUp()
        self.flowd.plugin_dirs = [fault.BUILD / "plugins", fault.BUILD / "tests" / "fault"]
        self.write("in.txt", "123\n" * 2000)

    def run_mode(self, make, mode, says, *options):
        self.write("job.conf", make(mode))
        ended = self.flowd("run", "job.conf", "--fresh", "--log-level", "error", *options)
        if says is None and not options:
            self.assertEqual(ended.code, 0, str(ended))
        elif says is not None:
            self.assertIn(ended.code, (1, 3), str(ended))
            self.assertTrue(any(text in ended.err for text in says.split("|")), str(ended))

    def run_all(self, *options):
        for make, modes in CASES.items():
            for mode, says in modes.items():
                with self.subTest(make=make.__name__, mode=mode):
                    self.run_mode(make, mode, says, *options)

    def test_each_way_is_survived(self):
        self.run_mode(source, "none", None)
        self.run_all()

    def test_each_way_is_survived_under_the_eyes_of_the_host(self):
        self.run_mode(keyed, "state", None, "--check-plugins")
        self.run_all("--check-plugins")

    def test_a_decoders_state_is_looked_at(self):
        os.mkfifo(self.folder / "pipe")
        pipe = os.open(self.folder / "pipe", os.O_RDWR)  # stays open, so that the job is asked for checkpoints
        self.addCleanup(os.close, pipe)
        for mode in ("save_77", "save_-999", "save_big", "save_null"):
            for options in ((), ("--check-plugins",)):
                with self.subTest(mode=mode, options=options):
                    os.write(pipe, b"123\n" * 100)
                    self.run_mode(lambda name: stream(name).replace("in.txt", "pipe"), mode, "save", *options)

    def test_what_never_ends_can_be_stopped(self):
        for make, mode in ((source, "read_again"), (source, "read_changed"), (source, "read_nothing"), (sink, "write_none"),
                           (sink, "write_again"), (stream, "consumed_none")):
            with self.subTest(mode=mode):
                self.write("job.conf", make(mode))
                with self.flowd.start("run", "job.conf", "--fresh", "--status-file", "status.json") as running:
                    fault.until((self.folder / "status.json").exists, "the job to run")
                    start = time.monotonic()
                    running.signal(signal.SIGTERM)
                    ended = running.wait()
                (self.folder / "status.json").unlink()
                self.assertEqual(ended.code, 0, str(ended))
                self.assertLess(time.monotonic() - start, 10, str(ended))


if __name__ == "__main__":
    fault.main()
