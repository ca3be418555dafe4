// A test in Java on a broker of its own: java -cp 'jars/*' OrdersTest.java

import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class OrdersTest {
    /** A broker that ends, and removes its data, with this object; and with this process, however that ends. */
    static class Broker implements AutoCloseable {
        private static final Pattern BOOTSTRAP = Pattern.compile("\"bootstrap\": \"([^\"]+)\"");
        private final Process process;
        private final BufferedReader output; // stays open: the broker has its standard output to write to
        final String bootstrap;

        Broker() throws IOException {
            process = new ProcessBuilder("shareq", "serve", "--ephemeral")
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            output = process.inputReader();
            String line = output.readLine();
            Matcher found = BOOTSTRAP.matcher(line == null ? "" : line);
            if (!found.find()) throw new IOException("shareq did not start: " + line);
            bootstrap = found.group(1);
        }

        @Override
        public void close() throws IOException {
            process.destroy();
            process.onExit().join();
            output.close();
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Broker broker = new Broker()) {
            write(broker.bootstrap, "a vase", "apples");
            List<String> found = read(broker.bootstrap, 2);
            if (!found.equals(List.of("a vase", "apples"))) throw new AssertionError(found);
        }
        System.out.println("1 test passed");
    }

    static void write(String bootstrap, String... orders) {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (String order : orders) producer.send(new ProducerRecord<>("orders", order));
        }
    }

    static List<String> read(String bootstrap, int count) {
        Map<String, Object> config =
                Map.of("bootstrap.servers", bootstrap, "group.id", "packers", "auto.offset.reset", "earliest");
        List<String> values = new ArrayList<>();
        long until = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            while (values.size() < count && System.nanoTime() < until)
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200)))
                    values.add(each.value());
        }
        return values;
    }
}
