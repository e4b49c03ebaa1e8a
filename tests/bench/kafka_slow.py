"""A consumer that is a little slower than what fetches for it, with queues of several sizes: does it keep its own rate?

librdkafka 2.0.2 stops fetching when its queue is full, and looks again only after a second (plugins/kafka/README.md)."""
import measure
from kafka_place import Broker

READ = """application: {
  name = "%(name)s";  checkpoint_interval = "1s";  workers = 1;
  systems: { k: { type = "kafka"; bootstrap_servers = "%(servers)s"; fetch_threshold_bytes = "%(queue)s"; }; nothing: { type = "null"; }; };
  inputs:  { in: { system = "k"; physical_name = "%(from)s"; serde = "bytes"; bounded = true; }; };
  outputs: { out: { system = "nothing"; }; };
  flow: ( { from = "in"; %(step)s to = "out"; } );
};
"""
QUEUES = ("64MiB", "128MiB", "256MiB")  # the first is the default
SLOWER = 0.9
LEAST = 0.8


def reading(usage):
    """Seconds from the first record to the last."""
    return usage.report["elapsed_seconds"] - usage.report["first_record_seconds"]


def slow_consumer(place, pairs):
    for size, count in ((100, place.document_count), (1024, place.document_count // 5)):
        broker = Broker.of(place)
        topic = broker.filled(size, count)
        for queue in QUEUES:
            shares, rates = [], []
            fast = broker.flow("fast", READ, topic, count, queue=queue, step="")
            fast()
            for _ in range(min(pairs, 3)):
                rate = int(SLOWER * count / reading(fast()))
                slow = broker.flow("slow", READ, topic, count, queue=queue, step=f"pace: {{ rate = {rate}; }};")()
                shares.append(count / reading(slow) / rate)
                rates.append(rate)
            yield measure.Figure(f"a consumer of {size} bytes, a tenth too slow, queues of {queue}: share of its own rate", shares, bar=LEAST,
                                 least=True, details={"its own rate": f"{min(rates) / 1000:.0f} to {max(rates) / 1000:.0f} k a second",
                                                      "resident at most": f"{slow.memory:.0f} MiB"})


MEASUREMENTS = {"kafka-slow": slow_consumer}
