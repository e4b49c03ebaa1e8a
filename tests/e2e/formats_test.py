"""Files in formats of other tools: logs, MessagePack, Protocol Buffers, whole files, with every call of the serdes watched."""
import base64
import json

import e2e

ACCESS = ('203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "-" "Mozilla"\n'
          "not a line of that log\n"
          '::1 - - [01/Jan/2024:00:00:00 +0000] "GET /b HTTP/1.1" 404 - "-" "curl"\n')
REGEX = """{ type = "regex"; pattern = "%{COMBINEDAPACHELOG}"; fields: { response = "int32?"; bytes = "int64?"; timestamp = "timestamp"; };
    times: { timestamp = "%d/%b/%Y:%H:%M:%S %z"; }; }"""
DESCRIPTORS = e2e.SOURCE / "plugins/protobuf/tests/types.desc"


class Formats(e2e.Test):
    def run_job(self, source, serde, *options, code=0):
        self.write("job.conf", e2e.job(source=source, serde=serde))
        return self.flowd("run", "job.conf", "--check-plugins", *options, expect=code)

    def convert(self, source, target, *options):
        self.flowd("convert", source, target, *options, expect=0)

    def cat(self, *words):
        return [json.loads(line) for line in self.flowd("cat", *words, expect=0).out.splitlines()]

    def test_a_web_servers_log(self):
        self.write("in.log", ACCESS)
        failed = self.run_job("in.log", REGEX, code=1)
        self.assertIn("in.log:2: the line does not match the pattern", failed.err)
        self.run_job("in.log", REGEX, "--set", "streams.in.record_errors=skip", "--set", "job.batch_rows=1")
        rows = self.records("out.jsonl")
        self.assertEqual([(r["timestamp"], r["response"], r["bytes"], r["request"]) for r in rows],
                         [("2000-10-10T20:55:36Z", 200, 2326, "/a.gif"), ("2024-01-01T00:00:00Z", 404, None, "/b")])

    def test_a_pattern_that_is_wrong_is_told_before_the_run(self):
        self.write("in.log", ACCESS)
        self.write("job.conf", e2e.job(source="in.log", serde='{ type = "regex"; pattern = "%{COMBINEDAPACHELOGS}"; }'))
        self.assertIn("there is no pattern 'COMBINEDAPACHELOGS'", self.flowd("check", "job.conf", expect=3).err)

    def test_from_one_format_to_the_next_and_back(self):
        self.write("in.jsonl", "".join(f'{{"id":{i},"name":"n {i}","count":null,"items":[{i},{-i}]}}\n' for i in range(3000)))
        wanted = self.cat("in.jsonl")
        message = ["--set", f"{{}}.descriptor_set={DESCRIPTORS}", "--set", "{}.message=flow.test.Plain"]
        self.convert("in.jsonl", "a.msgpack")
        self.assertEqual(self.cat("a.msgpack"), wanted)
        types = ["id=int64", "name=string", "count=int32?", "items=list<int64>"]
        declared = [word for t in types for word in ("--set", f"in.fields.{t}")]
        self.convert("a.msgpack", "b.pb", "--to-format", "protobuf", *declared, *[w.format("out") for w in message])
        self.assertEqual(self.cat("b.pb", "--from-format", "protobuf", *[w.format("in") for w in message]), wanted)

    def test_what_is_no_text_is_not_shown_as_the_result(self):
        self.write("in.jsonl", '{"a":200,"b":"x"}\n{"a":0}\n')
        self.write("job.conf", e2e.job(out="out.msgpack").replace('"out.msgpack"; serde = "json"', '"out.msgpack"; serde = "msgpack"'))
        ended = self.flowd("run", "job.conf", expect=0)
        self.assertTrue(ended.err.rstrip().endswith("Result out: ./out.msgpack"), ended.err)

    def test_pairs_are_read_as_they_were_written(self):
        self.write("in.logfmt", 'level=info msg="a \\"b\\" = c" n=5\nlevel=warn msg=x\n')
        self.assertEqual(self.cat("in.logfmt"), [{"level": "info", "msg": 'a "b" = c', "n": "5"}, {"level": "warn", "msg": "x"}])
        self.assertEqual(self.flowd("cat", "in.logfmt", "--format", "logfmt", expect=0).out, (self.folder / "in.logfmt").read_text())

    def test_a_file_is_one_record_of_bytes(self):
        content = bytes(range(256)) * 1000
        (self.folder / "in.bin").write_bytes(content)
        self.run_job("in.bin", '"bytes"', "--set", "streams.in.chunk=\"4KiB\"")
        self.assertEqual([base64.b64decode(row) for row in self.records("out.jsonl")], [content])

    def test_lines_that_end_in_both_ways(self):
        self.write("in.txt", "a\r\nb\n\r\n")
        self.run_job("in.txt", '{ type = "lines"; line_end = "any"; field = "line"; }')
        self.assertEqual(self.records("out.jsonl"), [{"line": "a"}, {"line": "b"}, {"line": ""}])


if __name__ == "__main__":
    e2e.main()
