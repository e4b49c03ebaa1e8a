"""Counts by key of a topic's records beside Kafka Streams on the same topic: CPU and memory of both."""
import pathlib
import shutil
import statistics

import measure
from kafka_place import Broker, rates

KEYS = 65536
INTERVAL = 30  # seconds between commits, on both sides; Streams' default
COUNT = """application: {
  name = "%(name)s";  checkpoint_interval = "%(interval)ds";  workers = 1;
  systems: { k: { type = "kafka"; bootstrap_servers = "%(servers)s"; compression = "none"; }; };
  inputs:  { in: { system = "k"; physical_name = "%(from)s"; serde = "string"; bounded = true; transformer: { type = "envelope"; add = ["partition"]; }; }; };
  outputs: { out: { system = "k"; physical_name = "%(to)s"; serde: { key = "string"; value = "json"; }; %(output)s }; };
  flow: ( { from = "in"; key_by = "value"; }, { name = "counts"; aggregate: { n = "count(*)"; }; emit_every = "%(interval)ds"; to = "out"; } );
};
"""
SOURCE = pathlib.Path(__file__).resolve().parent / "streams"


def classes(place):
    """The program with its libraries, built once by Maven; None: there is no Maven or no Java compiler."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        place.notes.append("Kafka Streams could not be measured: it takes Maven (mvn) and a Java compiler (javac)")
        return None
    folder = place.data / "streams"
    made = folder / "made"
    texts = "".join(path.read_text() for path in sorted(SOURCE.rglob("*")) if path.is_file())
    if not made.exists() or made.read_text() != texts:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        measure.run(["mvn", "-B", "-q", "-f", SOURCE / "pom.xml", f"-Dout={folder}", "compile", "dependency:copy-dependencies",
                     "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'jars'}"])
        made.write_text(texts)
    return f"{folder / 'classes'}:{folder / 'jars'}/*"


def streams(place, broker, path, topic, count, guarantee):
    def once():
        folder = place.out / "streams-state"
        shutil.rmtree(folder, ignore_errors=True)
        name = broker.fresh()
        return measure.run(["java", "-cp", path, "KeyedCount", broker.kafka.servers, topic, name, count, guarantee, INTERVAL * 1000, folder])
    return once


def keyed_count(place, pairs):
    """Twice: records counted at least once, and exactly once."""
    path = classes(place)
    if path is None:
        return
    count, keys = place.document_count, min(KEYS, place.document_count)
    broker = Broker.of(place)
    topic = broker.keyed(count, keys)
    for guarantee, output, said in (("at_least_once", 'delivery = "at_least_once";', "at least once"), ("exactly_once_v2", "", "exactly once")):
        samples = measure.interleave(pairs, flowd=broker.flow("count-keys", COUNT, topic, count, output=output, interval=INTERVAL),
                                     streams=streams(place, broker, path, topic, count, guarantee))
        name = f"counts of {keys} keys from topic to topic, {said}, beside Kafka Streams"
        yield rates(measure.ratio(f"{name}: CPU", samples, "flowd", "streams", 0.1, count), samples, count)
        memory = [measure.quotient(a.memory, b.memory) for a, b in zip(samples["flowd"], samples["streams"])]
        yield measure.Figure(f"{name}: memory", memory, bar=0.1,
                             details={who: f"{statistics.median(one.memory for one in samples[who]):.0f} MiB resident" for who in samples})


MEASUREMENTS = {"kafka-count": keyed_count}
