import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactional producers, driven by one JSON object a line.
 *
 * <pre>
 * {"do": "open", "name": P, "config": {...}}                         {} after initTransactions
 * {"do": "begin", "name": P}, "commit", "abort"                      {}
 * {"do": "send", "name": P, "topic": T, "partition": N, "values": [...]}    {"offsets": [...]} when all are written
 * {"do": "close", "name": P}                                         {} without ending what is under way
 * {"do": "copy", "config": {...}, "consumer": {...}, "from": T, "to": T, "count": N}
 *     {"transactions": N, "restarts": N}: consume, produce and commit offsets until the group has come to offset N
 * </pre>
 *
 * An exception is answered as {"error": class name, "message": text}. The end of the input ends the process.
 */
public final class Transactions {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Transactions driver = new Transactions();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                driver.handle(JSON.readTree(line), answer);
            } catch (Exception error) {
                answer.removeAll();
                answer.put("error", error.getClass().getSimpleName()).put("message", String.valueOf(error.getMessage()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        System.exit(0);
    }

    private void handle(JsonNode command, ObjectNode answer) throws Exception {
        String name = command.path("name").asText();
        switch (command.get("do").asText()) {
            case "open" -> {
                producers.put(name, producer(command.get("config")));
                producers.get(name).initTransactions();
            }
            case "begin" -> producers.get(name).beginTransaction();
            case "commit" -> producers.get(name).commitTransaction();
            case "abort" -> producers.get(name).abortTransaction();
            case "send" -> send(producers.get(name), command, answer);
            case "close" -> producers.remove(name).close(Duration.ZERO);
            case "copy" -> copy(command, answer);
            default -> throw new IllegalArgumentException(command.toString());
        }
    }

    private static Map<String, Object> config(JsonNode node) {
        Map<String, Object> config = new HashMap<>();
        node.properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        return config;
    }

    private static KafkaProducer<byte[], byte[]> producer(JsonNode node) {
        return new KafkaProducer<>(config(node), new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, JsonNode command, ObjectNode answer) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode value : command.get("values")) {
            sent.add(producer.send(new ProducerRecord<>(command.get("topic").asText(), command.get("partition").asInt(),
                null, value.asText().getBytes(StandardCharsets.UTF_8))));
        }
        producer.flush();
        try {
            for (Future<RecordMetadata> each : sent) {
                answer.withArray("offsets").add(each.get().offset());
            }
        } catch (ExecutionException error) {
            throw (Exception) error.getCause();
        }
    }

    /** As the documentation of sendOffsetsToTransaction has it; whatever goes wrong, both clients are made again. */
    private static void copy(JsonNode command, ObjectNode answer) {
        TopicPartition source = new TopicPartition(command.get("from").asText(), 0);
        long count = command.get("count").asLong();
        int transactions = 0;
        int restarts = -1;
        boolean done = false;
        while (!done) {
            restarts++;
            try (KafkaProducer<byte[], byte[]> producer = producer(command.get("config"));
                 KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config(command.get("consumer")),
                     new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                producer.initTransactions();
                consumer.subscribe(List.of(source.topic()));
                while (!done) {
                    ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(500));
                    if (!records.isEmpty()) {
                        producer.beginTransaction();
                        for (ConsumerRecord<byte[], byte[]> record : records) {
                            producer.send(new ProducerRecord<>(command.get("to").asText(), record.value()));
                        }
                        producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
                        producer.commitTransaction();
                        transactions++;
                    }
                    done = consumer.assignment().contains(source) && consumer.position(source) >= count;
                }
            } catch (KafkaException error) {
                if (restarts > 200) {
                    throw error;
                }
            }
        }
        answer.put("transactions", transactions).put("restarts", restarts);
    }
}
