package outside;

import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.withSettings;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import kafka.network.SocketServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;
import org.mockito.invocation.InvocationOnMock;

/** The broker process as the objects of Kafka's classes that tests look at; each method they may call is listed here. */
final class OutsideBroker {
    /** Twice the longest that a client waits between two attempts to connect (reconnect.backoff.max.ms). */
    private static final long RECONNECTED_MS = 2_000;

    private final OutsideCluster cluster;
    private final KafkaConfig config;
    private final KafkaBroker seen;
    private final ControllerServer controller;
    private boolean running = true;

    OutsideBroker(OutsideCluster cluster) {
        this.cluster = cluster;
        config = new KafkaConfig(cluster.properties());
        MetadataCache metadata = standIn(MetadataCache.class, this::metadata);
        SocketServer sockets = standIn(SocketServer.class, this::sockets);
        GroupCoordinator groups = standIn(GroupCoordinator.class, OutsideBroker::groups);
        Object topics = standIn(org.apache.kafka.controller.Controller.class, this::topics);
        controller = standIn(ControllerServer.class, call -> switch (call.getMethod().getName()) {
            case "controller" -> topics;
            default -> throw missing(call);
        });
        seen = standIn(KafkaBroker.class, call -> switch (call.getMethod().getName()) {
            case "metadataCache" -> metadata;
            case "socketServer" -> sockets;
            case "groupCoordinator" -> groups;
            case "config" -> config;
            case "isShutdown" -> !running;
            case "awaitShutdown" -> null; // `stop` waits for the end of the process
            case "clusterId" -> cluster.clusterId();
            case "boundPort" -> cluster.port();
            default -> throw missing(call);
        });
    }

    KafkaBroker seen() {
        return seen;
    }

    ControllerServer controller() {
        return controller;
    }

    void stop() {
        Control.call("stop", Map.of());
        running = false;
    }

    /** Kafka's start returns long after it began to listen, so that clients are connected again: they get the time here. */
    void startAgain() {
        Control.call("start again", Map.of());
        running = true;
        try {
            Thread.sleep(RECONNECTED_MS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private interface Answers {
        Object answer(InvocationOnMock call) throws Exception;
    }

    private static <T> T standIn(Class<T> type, Answers answers) {
        return mock(type, withSettings().stubOnly().defaultAnswer(call -> switch (call.getMethod().getName()) {
            case "toString" -> "a broker process, seen as " + type.getSimpleName();
            default -> answers.answer(call);
        }));
    }

    private static OutsideOnly missing(InvocationOnMock call) {
        String type = call.getMethod().getDeclaringClass().getSimpleName();
        return new OutsideOnly("looks into the broker (" + type + "." + call.getMethod().getName() + ")");
    }

    private Object metadata(InvocationOnMock call) throws Exception {
        return switch (call.getMethod().getName()) {
            case "numPartitions" -> topic(call.getArgument(0)).map(topic -> topic.partitions().size());
            case "getLeaderAndIsr" -> {
                int partition = call.getArgument(1);
                yield topic(call.getArgument(0)).map(topic -> leaderAndIsr(topic.partitions().get(partition)));
            }
            case "getAliveBrokerNodes" -> List.copyOf(cluster.ownAdmin().describeCluster().nodes().get());
            default -> throw missing(call);
        };
    }

    private static LeaderAndIsr leaderAndIsr(TopicPartitionInfo partition) {
        return new LeaderAndIsr(partition.leader().id(), partition.isr().stream().map(node -> node.id()).toList());
    }

    private Optional<TopicDescription> topic(String name) throws InterruptedException, ExecutionException {
        Admin admin = cluster.ownAdmin();
        try {
            return Optional.of(admin.describeTopics(List.of(name)).allTopicNames().get().get(name));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private Object sockets(InvocationOnMock call) {
        return switch (call.getMethod().getName()) {
            case "boundPort" -> cluster.port();
            default -> throw missing(call);
        };
    }

    /** Topic configurations of __consumer_offsets, which a broker makes itself. Properties in 4.3.1, a map in 4.4.0. */
    private static Object groups(InvocationOnMock call) {
        return switch (call.getMethod().getName()) {
            case "groupMetadataTopicConfigs" -> new Properties();
            default -> throw missing(call);
        };
    }

    private Object topics(InvocationOnMock call) throws Exception {
        return switch (call.getMethod().getName()) {
            case "findAllTopicIds" -> {
                Map<String, Uuid> ids = new HashMap<>();
                for (TopicListing topic : cluster.ownAdmin().listTopics().listings().get()) {
                    ids.put(topic.name(), topic.topicId());
                }
                yield CompletableFuture.completedFuture(ids);
            }
            default -> throw missing(call);
        };
    }
}
