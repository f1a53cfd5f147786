import static io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode.PERIODIC_TRANSACTIONAL_PRODUCER;
import static io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder.KEY;

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Confluent's parallel consumer, transactional: results and offsets are committed together every 100 ms. A crash calls again
 * what was in that transaction. For comparison alone; settings as of peer.ts.
 */
public final class ParallelConsumerPeer {
  private static final Duration COMMIT_INTERVAL = Duration.ofMillis(100);
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(10);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);

  private static final HttpClient SERVICE =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT_TIMEOUT).build();
  private static final URI TRANSFER_IN = URI.create(setting("API_BASE_URL").replaceAll("/$", "") + "/transfer-in");

  public static void main(String[] args) {
    String brokers = setting("KAFKA_BROKERS");
    String group = setting("GROUP_ID");
    var consumer =
        new KafkaConsumer<>(
            Map.<String, Object>of(
                "bootstrap.servers", brokers,
                "group.id", group,
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest",
                "isolation.level", "read_committed",
                "fetch.max.wait.ms", 100),
            new StringDeserializer(),
            new StringDeserializer());
    var producer =
        new KafkaProducer<>(
            Map.<String, Object>of("bootstrap.servers", brokers, "transactional.id", group + "-producer"),
            new StringSerializer(),
            new StringSerializer());
    var processor =
        ParallelStreamProcessor.createEosStreamProcessor(
            ParallelConsumerOptions.<String, String>builder()
                .consumer(consumer)
                .producer(producer)
                .ordering(KEY)
                .maxConcurrency(Integer.parseInt(setting("SLOTS")))
                .commitMode(PERIODIC_TRANSACTIONAL_PRODUCER)
                .commitInterval(COMMIT_INTERVAL)
                .build());
    String results = setting("RESULT_TOPIC");
    processor.subscribe(List.of(setting("COMMAND_TOPIC")));
    processor.pollAndProduce(
        polled -> {
          ConsumerRecord<String, String> command = polled.getSingleConsumerRecord();
          return new ProducerRecord<>(results, command.key(), resultOf(command));
        });
    System.out.println("ready");
  }

  private static String resultOf(ConsumerRecord<String, String> command) {
    HttpRequest request =
        HttpRequest.newBuilder(TRANSFER_IN)
            .timeout(CALL_TIMEOUT)
            .header("content-type", "application/json")
            .header("idempotency-key", command.key())
            .POST(HttpRequest.BodyPublishers.ofString(command.value()))
            .build();
    try {
      HttpResponse<String> answer = SERVICE.send(request, HttpResponse.BodyHandlers.ofString());
      String outcome = answer.statusCode() < 300 ? "ACCEPTED" : "REFUSED";
      return "{\"outcome\":\"" + outcome + "\",\"transaction\":" + answer.body() + "}";
    } catch (Exception failure) {
      throw new IllegalStateException("the call failed", failure);
    }
  }

  private static String setting(String name) {
    return System.getenv().getOrDefault(name, "");
  }
}
