import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java clients under test: one JSON command a line on standard input, one JSON answer a line on standard output.
 *
 * Which commands there are, and what they answer, is written in tests/interop/support/clients/commands.py.
 * An exception is answered as {"error": class name, "message": text}.
 */
public final class Clients {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private final JsonNode command;
    private final ObjectNode answer = JSON.createObjectNode();

    private Clients(JsonNode command) {
        this.command = command;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Clients clients = new Clients(JSON.readTree(line));
            ObjectNode answer = clients.answer;
            try {
                clients.run();
            } catch (Exception error) {
                Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
                answer = JSON.createObjectNode().put("error", cause.getClass().getSimpleName());
                answer.put("message", messages(cause));
            }
            System.out.println(answer);
        }
    }

    /** Its own, and those of its causes: what is wrong with a certificate is the cause of a failed handshake. */
    private static String messages(Throwable error) {
        StringBuilder all = new StringBuilder(String.valueOf(error.getMessage()));
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            all.append("; ").append(cause.getMessage());
        }
        return all.toString();
    }

    private void run() throws Exception {
        switch (text("do")) {
            case "produce" -> produce();
            case "fetch" -> fetch();
            case "group" -> group();
            case "share" -> share();
            default -> {
                try (Admin admin = Admin.create(settings())) {
                    administer(admin);
                }
            }
        }
    }

    private String text(String name) {
        return command.path(name).asText();
    }

    private boolean given(String name) {
        return command.path(name).asBoolean(!text(name).isEmpty());
    }

    private TopicPartition place() {
        return new TopicPartition(text("topic"), command.path("partition").asInt());
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", text("bootstrap"));
        JsonNode login = command.path("login");
        JsonNode tls = command.path("tls");
        String transport = tls.isObject() ? "SSL" : "PLAINTEXT";
        settings.put("security.protocol", login.isObject() ? "SASL_" + transport : transport);
        if (login.has("token_file")) {
            String url = java.nio.file.Path.of(login.get("token_file").asText()).toUri().toString();
            String module = "org.apache.kafka.common.security.oauthbearer.";
            settings.put("sasl.mechanism", login.get("mechanism").asText());
            settings.put("sasl.jaas.config", module + "OAuthBearerLoginModule required;");
            settings.put("sasl.login.callback.handler.class", module + "OAuthBearerLoginCallbackHandler");
            settings.put("sasl.oauthbearer.token.endpoint.url", url);
        } else if (login.isObject()) {
            String mechanism = login.get("mechanism").asText();
            String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
            settings.put("sasl.mechanism", mechanism);
            settings.put("sasl.jaas.config", String.format(
                    "org.apache.kafka.common.security.%s required username=\"%s\" password=\"%s\";",
                    module, login.get("username").asText(), login.get("password").asText()));
        }
        if (tls.isObject()) {
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", tls.get("ca").asText());
            if (tls.has("certificate")) {
                settings.put("ssl.keystore.type", "PEM");
                settings.put("ssl.keystore.certificate.chain", textOf(tls.get("certificate").asText()));
                settings.put("ssl.keystore.key", textOf(tls.get("key").asText()));
            }
        }
        return settings;
    }

    private static String textOf(String path) {
        try {
            return java.nio.file.Files.readString(java.nio.file.Path.of(path));
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void produce() throws Exception {
        Properties settings = settings();
        settings.put("linger.ms", 20);
        settings.put("enable.idempotence", given("idempotent") || given("transaction"));
        if (given("compression")) {
            settings.put("compression.type", text("compression"));
        }
        if (given("transaction")) {
            settings.put("transactional.id", text("transaction"));
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            if (given("transaction")) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            List<Future<?>> sent = new ArrayList<>();
            for (JsonNode value : command.get("values")) {
                ProducerRecord<String, String> record = new ProducerRecord<>(text("topic"), value.asText());
                command.path("headers").properties().forEach(header -> record.headers()
                        .add(header.getKey(), header.getValue().asText().getBytes(StandardCharsets.UTF_8)));
                sent.add(producer.send(record));
            }
            producer.flush();
            for (Future<?> one : sent) {
                one.get();
            }
            if (given("abort")) {
                producer.abortTransaction();
            } else if (given("transaction")) {
                producer.commitTransaction();
            }
        }
    }

    private KafkaConsumer<String, String> consumer(Properties settings) {
        settings.put("enable.auto.commit", false);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private List<ConsumerRecord<String, String>> poll(KafkaConsumer<String, String> consumer) throws Exception {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (found.size() < command.get("count").asInt()) {
            consumer.poll(Duration.ofMillis(500)).forEach(found::add);
            if (System.nanoTime() > end) {
                throw new TimeoutException(found.size() + " records");
            }
        }
        return found;
    }

    private void fetch() throws Exception {
        Properties settings = settings();
        settings.put("isolation.level", given("committed") ? "read_committed" : "read_uncommitted");
        ArrayNode records = answer.putArray("records");
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.assign(List.of(place()));
            consumer.seekToBeginning(List.of(place()));
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                ObjectNode row = records.addObject().put("offset", record.offset()).put("value", record.value());
                ObjectNode headers = row.putObject("headers");
                for (Header header : record.headers()) {
                    headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
                }
            }
        }
    }

    private void group() throws Exception {
        Properties settings = settings();
        settings.put("group.id", text("group"));
        settings.put("group.protocol", text("protocol"));
        settings.put("auto.offset.reset", "earliest");
        if (given("instance")) {
            settings.put("group.instance.id", text("instance"));
        }
        ArrayNode values = answer.putArray("values");
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.subscribe(List.of(text("topic")));
            poll(consumer).forEach(record -> values.add(record.value()));
            consumer.commitSync();
        }
    }

    private void share() throws Exception {
        Properties settings = settings();
        settings.put("group.id", text("group"));
        settings.put("share.acknowledgement.mode", "explicit");
        ArrayNode deliveries = answer.putArray("deliveries");
        long end = System.nanoTime() + DEADLINE.toNanos();
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(text("topic")));
            for (int finished = 0; finished < command.get("count").asInt(); ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    int count = record.deliveryCount().orElseThrow();
                    deliveries.addArray().add(record.value()).add(count);
                    AcknowledgeType type = acknowledgement(record.value(), count);
                    finished += type == AcknowledgeType.RELEASE ? 0 : 1;
                    consumer.acknowledge(record, type);
                }
                for (Optional<?> error : consumer.commitSync().values()) {
                    if (error.isPresent()) {
                        throw (Exception) error.get();
                    }
                }
                if (System.nanoTime() > end) {
                    throw new TimeoutException(finished + " records");
                }
            }
        }
    }

    private static AcknowledgeType acknowledgement(String value, int count) {
        if (value.startsWith("release") && count == 1) {
            return AcknowledgeType.RELEASE;
        }
        return value.startsWith("reject") ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
    }

    private void administer(Admin admin) throws Exception {
        String topic = text("topic");
        switch (text("do")) {
            case "offsets" -> {
                answer.put("earliest", offset(admin, OffsetSpec.earliest()));
                answer.put("latest", offset(admin, OffsetSpec.latest()));
            }
            case "create_topic" ->
                admin.createTopics(List.of(new NewTopic(topic, command.get("partitions").asInt(), (short) 1))).all().get();
            case "describe_topic" -> {
                boolean known = admin.listTopics().names().get().contains(topic);
                answer.put("partitions", !known ? 0
                        : admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
            }
            case "delete_topic" -> admin.deleteTopics(List.of(topic)).all().get();
            case "configs" -> {
                ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
                ObjectNode configs = answer.putObject("configs");
                for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
                    configs.put(entry.name(), entry.value());
                }
            }
            case "groups" -> {
                ArrayNode listed = answer.putArray("listed");
                for (GroupListing one : admin.listGroups().all().get()) {
                    listed.add(one.groupId());
                }
                String group = text("group");
                answer.put("state", admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState().name());
            }
            case "delete_records" -> {
                RecordsToDelete before = RecordsToDelete.beforeOffset(command.get("before").asLong());
                admin.deleteRecords(Map.of(place(), before)).all().get();
            }
            default -> throw new IllegalArgumentException(text("do"));
        }
    }

    private long offset(Admin admin, OffsetSpec which) throws Exception {
        return admin.listOffsets(Map.of(place(), which)).partitionResult(place()).get().offset();
    }
}
