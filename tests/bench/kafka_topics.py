"""Jobs between topics of a real broker, beside loops on librdkafka: the client's CPU is the bar, rates stand beside it."""
import statistics
import subprocess

import chains
import measure
from kafka_place import Broker, rates

SYSTEM = 'k: { type = "kafka"; bootstrap_servers = "%(servers)s"; compression = "none"; };'
PASS = """application: {
  name = "%(name)s";  checkpoint_interval = "1s";  workers = 1;
  systems: { """ + SYSTEM + """ };
  inputs:  { in: { system = "k"; physical_name = "%(from)s"; serde = "bytes"; bounded = true; }; };
  outputs: { out: { system = "k"; physical_name = "%(to)s"; serde = "bytes"; %(output)s }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""
AVRO = '{\\\\"type\\\\": \\\\"record\\\\", \\\\"name\\\\": \\\\"seen\\\\", \\\\"fields\\\\": [' + ", ".join(
    f'{{\\\\"name\\\\": \\\\"{name}\\\\", \\\\"type\\\\": \\\\"{kind}\\\\"}}'
    for name, kind in (("id", "long"), ("time", "string"), ("user", "string"), ("status", "long"))) + "]}"
FILTER = """application: {
  name = "%(name)s";  checkpoint_interval = "1s";  workers = 1;
  systems: { """ + SYSTEM + """ };
  inputs: { in: { system = "k"; physical_name = "%(from)s"; bounded = true;
    serde: { type = "json";  fields: { id = "int64"; time = "string"; user = "string"; status = "int64"; path = "string";
             agent = "string"; bytes = "int64"; }; }; }; };
  outputs: { out: { system = "k"; physical_name = "%(to)s"; delivery = "at_least_once";
    serde: { type = "avro"; schema = "SCHEMA"; }; }; };
  flow: ( { from = "in";  where = "status > 200"; }, { project = ["id", "time", "user", "status"];  to = "out"; } );
};
""".replace("SCHEMA", AVRO.replace("\\\\", "\\"))
TO_FILE = """application: {
  name = "%(name)s";  checkpoint_interval = "1s";  workers = 1;
  systems: { """ + SYSTEM + """ files: { type = "file"; }; };
  inputs:  { in: { system = "k"; physical_name = "%(from)s"; serde = "lines"; bounded = true; }; };
  outputs: { out: { system = "files"; path = "%(to)s"; serde = "lines"; }; };
  flow: ( { from = "in"; to = "out"; } );
};
"""
AT_LEAST_ONCE = 'delivery = "at_least_once";'
SIZES = ((100, "100 bytes"), (1024, "1 KiB"))


def topics(place, pairs):
    """From topic to topic, and what exactly once costs; --documents records of each size."""
    count = place.document_count
    broker = Broker.of(place)
    for size, text in SIZES:
        topic = broker.filled(size, count)
        samples = measure.interleave(pairs, flowd=broker.flow("pass", PASS, topic, count, output=AT_LEAST_ONCE),
                                     librdkafka=broker.loop("pass", topic, count))
        yield rates(measure.ratio(f"topic to topic, {text}, beside a loop on librdkafka", samples, "flowd", "librdkafka", 1.15, count),
                    samples, count)


def exactly_once(place, pairs):
    count = place.document_count
    broker = Broker.of(place)
    for size, text in SIZES:
        topic = broker.filled(size, count)
        samples = measure.interleave(pairs, exactly=broker.flow("once", PASS, topic, count, output=""),
                                     at_least=broker.flow("pass", PASS, topic, count, output=AT_LEAST_ONCE))
        name = f"topic to topic, {text}, exactly once beside at least once"
        yield rates(measure.ratio(name, samples, "exactly", "at_least", 1.25, count), samples, count)


def json_to_avro(place, pairs):
    count = place.document_count
    broker = Broker.of(place)
    topic = broker.documents()
    samples = measure.interleave(pairs, flowd=broker.flow("json-avro", FILTER, topic, count), loop=broker.loop("json", topic, count))
    name = "JSON filtered to Avro, four of seven fields, topic to topic, beside simdjson and an encoder by hand"
    yield rates(measure.ratio(name, samples, "flowd", "loop", 1.6, count), samples, count)


def to_file(place, pairs):
    count = place.document_count
    broker = Broker.of(place)
    topic = broker.documents()
    ours, bare = place.out / "flowd.lines", place.out / "loop.lines"
    samples = measure.interleave(pairs, flowd=broker.flow("to-file", TO_FILE, topic, count, to=ours),
                                 loop=broker.loop("file", topic, count, to=bare))
    if ours.stat().st_size != bare.stat().st_size:
        raise SystemExit(f"topic to file: {ours.stat().st_size} bytes, the loop wrote {bare.stat().st_size}")
    yield rates(measure.ratio("topic to file, lines of 276 bytes, beside a loop on librdkafka", samples, "flowd", "loop", 1.1, count),
                samples, count)


# --- allocations ----------------------------------------------------------------------------------------------------------


def requests(command, environment):
    """jemalloc's count of allocations over the whole process, librdkafka's among them."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          env={**environment, "MALLOC_CONF": chains.JEMALLOC_STATISTICS})
    return chains.allocations_printed(done.stderr)


def allocations(place, pairs):
    """What a job allocates for a record, less what the loop beside it does: the client's own are in both, also those that it makes when it
    is asked for a record's headers (two, without any)."""
    less = place.document_count // 5
    broker = Broker.of(place)
    few, many = broker.filled(100, less), broker.filled(100, 2 * less)
    values, details = [], {}
    for _ in range(min(pairs, 3)):
        found = {}
        for topic in (few, many):
            job = place.job("pass", PASS % {"name": "pass", "servers": broker.kafka.servers, "from": topic, "to": broker.fresh(),
                                            "output": AT_LEAST_ONCE})
            found["flowd", topic] = requests(place.command(job, "--log-level", "error"), {})
            found["loop", topic] = requests([place.build / "tests/kafka_loop", "headers", broker.kafka.servers, topic, broker.fresh(),
                                             less if topic == few else 2 * less], {"LD_PRELOAD": "libjemalloc.so.2"})
        if None in found.values():
            place.notes.append("allocations from topic to topic: no figures from jemalloc")
            return
        each = {who: (found[who, many] - found[who, few]) / less for who in ("flowd", "loop")}
        values.append(each["flowd"] - each["loop"])
        details = {f"{who}, a record": f"{each[who]:.3f}" for who in each}
    yield measure.Figure("allocations a record from topic to topic, more than librdkafka's own", values, bar=0.05, details=details)


MEASUREMENTS = {"kafka": topics, "kafka-once": exactly_once, "kafka-json": json_to_avro, "kafka-file": to_file,
                "kafka-allocations": allocations}
