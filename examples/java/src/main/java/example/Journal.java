package example;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.avro.generic.GenericRecord;

/**
 * A file with a line for each event that was handled: id, revision, source, outcome, transaction, key. A line is both the
 * effect of an event and the memory of it. A key may name another command days after its result, and a new cluster counts
 * offsets from 0 again: so key and source together identify a command.
 */
final class Journal implements AutoCloseable {
  private final RandomAccessFile file;
  private final Set<String> handled = new HashSet<>();
  private final Map<Command, Integer> revisions = new HashMap<>();

  private record Command(String key, String source) {}

  Journal(Path path) throws IOException {
    file = new RandomAccessFile(path.toFile(), "rw");
    byte[] bytes = new byte[Math.toIntExact(file.length())];
    file.readFully(bytes);
    String text = new String(bytes, StandardCharsets.UTF_8);
    // A last line that was cut off by a crash is dropped: its event comes again.
    String whole = text.substring(0, text.lastIndexOf('\n') + 1);
    file.setLength(whole.getBytes(StandardCharsets.UTF_8).length);
    file.seek(file.length());
    whole.lines().forEach(line -> remember(line.split("\t", -1)));
  }

  void handle(String id, GenericRecord result) throws IOException {
    if (handled.contains(id)) return;
    String key = result.get("commandKey").toString();
    String source = result.get("source").toString();
    int revision = (int) result.get("revision");
    String outcome = result.get("outcome").toString();
    // The highest revision counts; a conflict is about one message, and what is known of the key stands.
    boolean isNews = outcome.equals("CONFLICT") || revision > revisions.getOrDefault(new Command(key, source), 0);
    var transaction = (GenericRecord) result.get("transaction");
    var quote = (GenericRecord) result.get("quote");
    Object transactionId = transaction != null ? transaction.get("id") : quote != null ? quote.get("transactionId") : null;
    String[] fields = {
      id, Integer.toString(revision), source, outcome, transactionId == null ? "" : transactionId.toString(), key
    };
    file.write((String.join("\t", fields) + "\n").getBytes(StandardCharsets.UTF_8));
    file.getFD().sync();
    remember(fields);
    if (isNews) System.out.printf("%s revision %d: %s, %s%n", key, revision, outcome, meaningOf(outcome));
  }

  private void remember(String[] fields) {
    handled.add(fields[0]);
    if (fields[3].equals("CONFLICT")) return;
    revisions.merge(new Command(fields[5], fields[2]), Integer.parseInt(fields[1]), Math::max);
  }

  private static String meaningOf(String outcome) {
    return switch (outcome) {
      case "ACCEPTED" -> "accepted, not settled yet";
      case "REFUSED", "INVALID", "EXPIRED", "FAILED" -> "not paid by this command; a further try needs a new key";
      case "CONFLICT" -> "a message was ignored, the result of its key stands";
      case "UNKNOWN" ->
          "may have been paid: do not pay under another key; an operator decides, and a later revision tells";
      default -> "an outcome of a later release: nothing can be concluded, update this program";
    };
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
