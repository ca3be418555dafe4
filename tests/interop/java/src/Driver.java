import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Exit;

/**
 * Share consumers, an administrator and Apache Kafka's command-line tools in one process, driven by one JSON object a line.
 *
 * <pre>
 * {"do": "open", "name": C, "config": {...}, "topics": [...]}       {}
 * {"do": "poll", "name": C, "ms": N}                                {"records": [[partition, offset, delivery count, value], ...]}
 * {"do": "acknowledge", "name": C, "acks": [[partition, offset, type], ...]}    {}
 * {"do": "commitSync", "name": C}                                   {"partitions": {"0": null or error class}}
 * {"do": "commitAsync", "name": C}                                  {}
 * {"do": "callbacks", "name": C}    {"callbacks": [[partition, [offsets], null or error class], ...]} since the last time
 * {"do": "lockTimeout", "name": C}                                  {"ms": null or N}
 * {"do": "metrics", "name": C, "group": G}                          {"metrics": {name: number, ...}} of that group
 * {"do": "close", "name": C}                                        {}
 * {"do": "groupOffsets", "bootstrap": B, "groups": {G: null or [[topic, partition], ...]}, "stable": bool}
 *                    {"groups": {G: {"topic-partition": null or [offset, leader epoch or null, metadata]}}}
 * {"do": "alterGroupOffsets", "bootstrap": B, "group": G, "offsets": [[topic, partition, offset], ...]}    {}
 * {"do": "deleteGroupOffsets", "bootstrap": B, "group": G, "partitions": [[topic, partition], ...]}        {}
 * {"do": "tool", "main": class, "args": [...]}    {"code": N, "out": standard output, "err": standard error}
 * </pre>
 *
 * Where there is a "bootstrap" there may be "security", more properties of the client.
 * An exception is answered as {"error": class name, "message": text}. The end of the input ends the process.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, Member> members = new HashMap<>();

    private static final class Member {
        final KafkaShareConsumer<byte[], byte[]> consumer;
        final Map<List<Long>, ConsumerRecord<byte[], byte[]>> delivered = new HashMap<>();
        ArrayNode callbacks = JSON.createArrayNode();

        Member(Properties config) {
            consumer = new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.setAcknowledgementCommitCallback((offsets, error) -> offsets.forEach((where, numbers) -> {
                ArrayNode row = callbacks.addArray().add(where.partition());
                ArrayNode list = row.addArray();
                numbers.forEach(list::add);
                row.add(error == null ? null : error.getClass().getSimpleName());
            }));
        }
    }

    /** Takes a tool out of the call in which it wants to end the process. */
    private static final class ExitCalled extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** What a tool prints, until it ends itself: some catch ExitCalled and go on, which a process could not. */
    private static final class Captured extends ByteArrayOutputStream {
        @Override
        public synchronized void write(int b) {
            if (exitCode == null) {
                super.write(b);
            }
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int length) {
            if (exitCode == null) {
                super.write(bytes, from, length);
            }
        }

        String text() {
            return toString(StandardCharsets.UTF_8);
        }
    }

    private static volatile Integer exitCode; // of the running tool's first exit
    private static final List<Runnable> shutdownHooks = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Exit.setExitProcedure((code, message) -> {
            exitCode = exitCode == null ? (Integer) code : exitCode;
            throw new ExitCalled();
        });
        Exit.setShutdownHookAdder((name, hook) -> shutdownHooks.add(hook));
        Driver driver = new Driver();
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
            case "open" -> open(name, command);
            case "poll" -> poll(members.get(name), command.get("ms").asLong(), answer.putArray("records"));
            case "acknowledge" -> acknowledge(members.get(name), command);
            case "commitSync" -> commitSync(members.get(name), answer.putObject("partitions"));
            case "commitAsync" -> members.get(name).consumer.commitAsync();
            case "callbacks" -> {
                answer.set("callbacks", members.get(name).callbacks);
                members.get(name).callbacks = JSON.createArrayNode();
            }
            case "lockTimeout" -> answer.put("ms", members.get(name).consumer.acquisitionLockTimeoutMs().orElse(null));
            case "metrics" -> metrics(members.get(name), command.get("group").asText(), answer.putObject("metrics"));
            case "close" -> members.remove(name).consumer.close(Duration.ofSeconds(10));
            case "groupOffsets" -> groupOffsets(command, answer.putObject("groups"));
            case "alterGroupOffsets" -> alterGroupOffsets(command);
            case "deleteGroupOffsets" -> deleteGroupOffsets(command);
            case "tool" -> tool(command, answer);
            default -> throw new IllegalArgumentException(command.toString());
        }
    }

    private void open(String name, JsonNode command) {
        Properties config = new Properties();
        command.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        Member member = new Member(config);
        members.put(name, member);
        member.consumer.subscribe(JSON.convertValue(command.get("topics"), JSON.getTypeFactory()
            .constructCollectionType(List.class, String.class)));
    }

    private static void poll(Member member, long ms, ArrayNode records) {
        for (ConsumerRecord<byte[], byte[]> record : member.consumer.poll(Duration.ofMillis(ms))) {
            member.delivered.put(List.of((long) record.partition(), record.offset()), record);
            records.addArray().add(record.partition()).add(record.offset()).add(record.deliveryCount().orElse((short) 0))
                .add(new String(record.value(), StandardCharsets.ISO_8859_1));
        }
    }

    private static void acknowledge(Member member, JsonNode command) {
        for (JsonNode ack : command.get("acks")) {
            member.consumer.acknowledge(member.delivered.get(List.of(ack.get(0).asLong(), ack.get(1).asLong())),
                AcknowledgeType.valueOf(ack.get(2).asText()));
        }
    }

    private static void commitSync(Member member, ObjectNode partitions) {
        member.consumer.commitSync(Duration.ofSeconds(20)).forEach((where, error) ->
            partitions.put(String.valueOf(where.partition()), error.map(e -> e.getClass().getSimpleName()).orElse(null)));
    }

    private static void metrics(Member member, String group, ObjectNode metrics) {
        member.consumer.metrics().forEach((name, metric) -> {
            if (name.group().equals(group) && metric.metricValue() instanceof Number value) {
                metrics.put(name.name(), String.valueOf(value.doubleValue()));
            }
        });
    }

    private static Admin admin(JsonNode command) {
        Map<String, Object> config = new HashMap<>();
        command.path("security").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        config.put("bootstrap.servers", command.get("bootstrap").asText());
        return Admin.create(config);
    }

    private static TopicPartition place(JsonNode row) {
        return new TopicPartition(row.get(0).asText(), row.get(1).asInt());
    }

    private static List<TopicPartition> places(JsonNode rows) {
        List<TopicPartition> places = new ArrayList<>();
        rows.forEach(row -> places.add(place(row)));
        return places;
    }

    private static <T> T result(KafkaFuture<T> future) throws Exception {
        try {
            return future.get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    private static void groupOffsets(JsonNode command, ObjectNode groups) throws Exception {
        Map<String, ListConsumerGroupOffsetsSpec> asked = new HashMap<>();
        command.get("groups").properties().forEach(entry -> asked.put(entry.getKey(), new ListConsumerGroupOffsetsSpec()
            .topicPartitions(entry.getValue().isNull() ? null : places(entry.getValue()))));
        ListConsumerGroupOffsetsOptions options = new ListConsumerGroupOffsetsOptions()
            .requireStable(command.path("stable").asBoolean());
        try (Admin admin = admin(command)) {
            result(admin.listConsumerGroupOffsets(asked, options).all()).forEach((group, offsets) -> {
                ObjectNode rows = groups.putObject(group);
                offsets.forEach((where, committed) -> {
                    if (committed == null) {
                        rows.putNull(where.toString());
                    } else {
                        rows.putArray(where.toString()).add(committed.offset())
                            .add(committed.leaderEpoch().orElse(null)).add(committed.metadata());
                    }
                });
            });
        }
    }

    private static void alterGroupOffsets(JsonNode command) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        command.get("offsets").forEach(row -> offsets.put(place(row), new OffsetAndMetadata(row.get(2).asLong())));
        try (Admin admin = admin(command)) {
            result(admin.alterConsumerGroupOffsets(command.get("group").asText(), offsets).all());
        }
    }

    private static void deleteGroupOffsets(JsonNode command) throws Exception {
        Set<TopicPartition> gone = new HashSet<>(places(command.get("partitions")));
        try (Admin admin = admin(command)) {
            result(admin.deleteConsumerGroupOffsets(command.get("group").asText(), gone).all());
        }
    }

    private static void tool(JsonNode command, ObjectNode answer) throws Exception {
        String[] arguments = JSON.convertValue(command.get("args"), String[].class);
        Captured printed = new Captured();
        Captured complained = new Captured();
        PrintStream out = System.out;
        PrintStream err = System.err;
        exitCode = null;
        shutdownHooks.clear();
        try (PrintStream newOut = new PrintStream(printed, true, StandardCharsets.UTF_8);
             PrintStream newErr = new PrintStream(complained, true, StandardCharsets.UTF_8)) {
            System.setOut(newOut);
            System.setErr(newErr);
            Class.forName(command.get("main").asText()).getMethod("main", String[].class).invoke(null, (Object) arguments);
            shutdownHooks.forEach(Runnable::run);
        } catch (InvocationTargetException error) {
            if (exitCode == null) { // what the virtual machine does with it
                System.err.print("Exception in thread \"main\" ");
                error.getCause().printStackTrace();
                exitCode = 1;
            }
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        answer.put("code", exitCode == null ? 0 : exitCode).put("out", printed.text()).put("err", complained.text());
    }
}
