package outside;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A consumer that reads `__share_group_state` where a node keeps it: in a topic of its cluster. It is shown the share
 * coordinator's records alone, under the name that a test knows; what a node writes down about itself is passed over.
 */
final class StateElsewhere implements InvocationHandler {
    private static final String STATE = "__share_group_state";
    /** Records of a node about itself have keys that begin with it, where the share coordinator's have 0 or 1. */
    private static final short OF_THE_NODE = 0x7FFF;

    private final Consumer<?, ?> given;
    private final Supplier<Consumer<byte[], byte[]>> opened;
    private final String topic;
    private Consumer<byte[], byte[]> state;

    private StateElsewhere(Consumer<?, ?> given, Supplier<Consumer<byte[], byte[]>> opened, String topic) {
        this.given = given;
        this.opened = opened;
        this.topic = topic;
    }

    /** `given`, until it is assigned partitions of the state. */
    @SuppressWarnings("unchecked")
    static <K, V> Consumer<K, V> before(Consumer<K, V> given, String cluster, String topic) {
        Map<String, Object> settings = Map.of("bootstrap.servers", cluster, "allow.auto.create.topics", false);
        Supplier<Consumer<byte[], byte[]>> opened =
            () -> new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        Class<?>[] seen = {Consumer.class};
        return (Consumer<K, V>) Proxy.newProxyInstance(
            Consumer.class.getClassLoader(), seen, new StateElsewhere(given, opened, topic));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("assign") && isState(arguments[0])) {
            state = opened.get();
        }
        if (state == null) {
            return of(given, method, arguments);
        }
        switch (name) {
            case "assign" -> state.assign(named(arguments[0]));
            case "seekToBeginning" -> state.seekToBeginning(named(arguments[0]));
            case "poll" -> {
                return shown(state.poll((Duration) arguments[0]));
            }
            case "close" -> {
                state.close();
                given.close();
            }
            default -> throw new OutsideOnly("asks more of the state's consumer (" + name + ")");
        }
        return null;
    }

    private static Object of(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static boolean isState(Object partitions) {
        return ((Collection<?>) partitions).stream().allMatch(one -> ((TopicPartition) one).topic().equals(STATE));
    }

    private List<TopicPartition> named(Object partitions) {
        return ((Collection<?>) partitions).stream()
            .map(one -> new TopicPartition(topic, ((TopicPartition) one).partition())).toList();
    }

    private ConsumerRecords<byte[], byte[]> shown(ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> kept = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (ByteBuffer.wrap(record.key()).getShort() != OF_THE_NODE) {
                kept.computeIfAbsent(new TopicPartition(STATE, record.partition()), partition -> new ArrayList<>())
                    .add(new ConsumerRecord<>(STATE, record.partition(), record.offset(), record.key(), record.value()));
            }
        }
        return new ConsumerRecords<>(kept, Map.of());
    }
}
