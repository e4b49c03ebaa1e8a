import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts records by their key with Kafka Streams, and ends when so many have been counted: KeyedCount SERVERS FROM TO COUNT GUARANTEE INTERVAL
 * FOLDER. Everything that is not named here is as Streams has it by default (one thread, RocksDB with a changelog); the cache is large enough
 * that counts come out at commits only, each INTERVAL milliseconds.
 */
public final class KeyedCount {
	private static long left; // of the one thread alone

	public static void main(String[] words) throws Exception {
		left = Long.parseLong(words[3]);
		CountDownLatch done = new CountDownLatch(1);
		Properties settings = new Properties();
		settings.put(StreamsConfig.APPLICATION_ID_CONFIG, words[2]);
		settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, words[0]);
		settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, words[4]);
		settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, words[5]);
		settings.put(StreamsConfig.STATE_DIR_CONFIG, words[6]);
		settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 64L << 20);
		settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
		settings.put(StreamsConfig.consumerPrefix("isolation.level"), "read_committed");
		settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 60000);
		StreamsBuilder builder = new StreamsBuilder();
		builder.stream(words[1], Consumed.with(Serdes.String(), Serdes.ByteArray()))
			.peek((key, value) -> {
				if (--left == 0)
					done.countDown();
			})
			.groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()))
			.count()
			.toStream()
			.to(words[2], Produced.with(Serdes.String(), Serdes.Long()));
		KafkaStreams streams = new KafkaStreams(builder.build(), settings);
		streams.setUncaughtExceptionHandler(error -> {
			error.printStackTrace();
			Runtime.getRuntime().halt(1);
			return null;
		});
		streams.start();
		done.await();
		if (!streams.close(Duration.ofMinutes(1)))
			System.exit(1);
	}
}
