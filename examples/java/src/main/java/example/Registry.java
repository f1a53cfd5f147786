package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.apache.avro.Schema;

/**
 * What is needed of a Confluent-compatible schema registry. Confluent's own serializers do the same, and more; they are not
 * in Maven Central.
 */
final class Registry {
  /** A zero byte and the schema's id before the Avro bytes. */
  static final int FRAME_BYTES = 5;

  record Registered(int id, Schema schema) {}

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  private final String url;

  Registry(String url) {
    this.url = url;
  }

  Registered latestOf(String topic) throws IOException, InterruptedException {
    JsonNode answer = get("/subjects/" + topic + "-value/versions/latest");
    return new Registered(answer.get("id").asInt(), schemaIn(answer));
  }

  Schema byId(int id) throws IOException, InterruptedException {
    return schemaIn(get("/schemas/ids/" + id));
  }

  private static Schema schemaIn(JsonNode answer) {
    return new Schema.Parser().parse(answer.get("schema").asText());
  }

  private JsonNode get(String path) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(10)).build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(path + " was answered with " + response.statusCode() + ": " + response.body());
    }
    return new ObjectMapper().readTree(response.body());
  }
}
