package example;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Handles each result once: Subscribe FILE; run it where ../../schemas/bundle is. */
public final class Subscribe {
  private static final Registry REGISTRY = new Registry(System.getenv("SCHEMA_REGISTRY_URL"));
  private static final Map<Integer, Schema> WRITERS = new HashMap<>();

  public static void main(String[] arguments) throws Exception {
    // By our own schema, so that fields of later releases do not disturb.
    Schema reader = new Schema.Parser().parse(new File("../../schemas/bundle/CommandResult.avsc"));
    Map<String, Object> settings =
        Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("KAFKA_BROKERS"),
            ConsumerConfig.GROUP_ID_CONFIG, System.getenv().getOrDefault("GROUP_ID", "billing"),
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false,
            // Else results are read that never came about.
            ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer());
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(consumer, main)));
    try (consumer; Journal journal = new Journal(Path.of(arguments[0]))) {
      consumer.subscribe(List.of(System.getenv().getOrDefault("TOPIC_PREFIX", "payments") + ".results.v1"));
      while (true) {
        for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          // What cannot be read ends the program, with nothing committed: better than passing over news of money.
          GenericRecord result = decode(record.value(), reader);
          // Two commands under one key have results with the same ce_id, but not at the same time.
          journal.handle(header(record, "ce_id") + " " + header(record, "ce_time"), result);
          consumer.commitSync(
              Map.of(
                  new TopicPartition(record.topic(), record.partition()),
                  new OffsetAndMetadata(record.offset() + 1)));
        }
      }
    } catch (WakeupException stopped) {
      // SIGTERM: what was handled is in the journal.
    }
  }

  private static void stop(KafkaConsumer<?, ?> consumer, Thread main) {
    consumer.wakeup();
    try {
      main.join(10_000);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static String header(ConsumerRecord<?, ?> record, String name) {
    return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
  }

  private static GenericRecord decode(byte[] value, Schema reader) throws IOException, InterruptedException {
    int id = ByteBuffer.wrap(value).getInt(1);
    if (!WRITERS.containsKey(id)) WRITERS.put(id, REGISTRY.byId(id));
    int length = value.length - Registry.FRAME_BYTES;
    var decoder = DecoderFactory.get().binaryDecoder(value, Registry.FRAME_BYTES, length, null);
    return new GenericDatumReader<GenericRecord>(WRITERS.get(id), reader).read(null, decoder);
  }
}
