package outside;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/**
 * Kafka's tests of this name with one broker process in place of three brokers in this JVM, for those that ask nothing
 * else of them than where they are.
 */
public class PlaintextAdminIntegrationTest extends kafka.api.PlaintextAdminIntegrationTest {
    private int port;

    /** What Kafka's own does, but for the brokers and their controller. */
    @Override
    @BeforeEach
    public void setUp(TestInfo info) {
        JsonNode answer = Control.call("start", Map.of("settings", Map.of(), "features", Map.of()));
        port = answer.get("port").asInt();
        producerConfig().put("acks", "-1");
        producerConfig().put("key.serializer", ByteArraySerializer.class.getName());
        producerConfig().put("value.serializer", ByteArraySerializer.class.getName());
        consumerConfig().put("auto.offset.reset", "earliest");
        for (Properties config : List.of(consumerConfig(), shareConsumerConfig())) {
            config.put("group.id", "group");
            config.put("key.deserializer", ByteArrayDeserializer.class.getName());
            config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        }
        for (Properties config : List.of(producerConfig(), consumerConfig(), shareConsumerConfig(), adminClientConfig())) {
            config.put("bootstrap.servers", bootstrapServers(null));
        }
    }

    @Override
    public String bootstrapServers(ListenerName name) {
        return "127.0.0.1:" + port;
    }

    @Override
    public void tearDown() {
        try {
            super.tearDown();
        } finally {
            Control.call("remove", Map.of());
        }
    }
}
