package example;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes one transfer-in as Avro: Publish KEY AMOUNT. */
public final class Publish {
  public static void main(String[] arguments) throws Exception {
    String key = arguments[0];
    long amount = Long.parseLong(arguments[1]);
    String topic = System.getenv().getOrDefault("TOPIC_PREFIX", "payments") + ".commands.transfer-in.v1";
    Registry.Registered latest = new Registry(System.getenv("SCHEMA_REGISTRY_URL")).latestOf(topic);
    ProducerRecord<String, byte[]> record =
        new ProducerRecord<>(topic, key, framed(latest.id(), transferIn(latest.schema(), amount)));
    record.headers().add("content-type", bytes("application/avro")).add("ce_id", bytes(UUID.randomUUID().toString()));
    Map<String, Object> settings =
        Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("KAFKA_BROKERS"),
            ProducerConfig.ACKS_CONFIG, "all",
            ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true,
            ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 40_000);
    // The default partitioner, by the key's hash: the partition of a key is its lane.
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
      RecordMetadata at = producer.send(record).get();
      System.out.printf("published %s to %s partition %d offset %d%n", key, at.topic(), at.partition(), at.offset());
    } catch (ExecutionException failure) {
      // It may have arrived all the same. One key is one command, so a copy does no harm.
      System.err.printf("not confirmed (%s): publish it again with the same key %s%n", failure.getCause(), key);
      System.exit(1);
    }
  }

  /** The builder fills in the defaults of fields that are not set. */
  private static GenericRecord transferIn(Schema schema, long amount) {
    return new GenericRecordBuilder(schema)
        .set("source", account(schema.getField("source").schema(), "ExternalAccount:1"))
        .set("destination", account(schema.getField("destination").schema(), "InternalAccount:1"))
        .set("amount", amount)
        .build();
  }

  private static GenericData.Record account(Schema schema, String id) {
    return new GenericRecordBuilder(schema).set("accountId", id).build();
  }

  private static byte[] framed(int schemaId, GenericRecord value) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(ByteBuffer.allocate(Registry.FRAME_BYTES).put((byte) 0).putInt(schemaId).array());
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
    new GenericDatumWriter<GenericRecord>(value.getSchema()).write(value, encoder);
    encoder.flush();
    return out.toByteArray();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
