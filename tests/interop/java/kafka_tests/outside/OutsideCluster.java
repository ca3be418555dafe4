package outside;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.server.fault.FaultHandlerException;
import org.apache.kafka.test.TestUtils;

/**
 * One broker process as the cluster of a test. What clients can find out is asked of the broker through an admin client;
 * for anything else the test is left out (OutsideOnly).
 *
 * Compiled against Apache Kafka 4.3.1 and 4.4.0. No "@Override" where only 4.4.0 has the method.
 */
public final class OutsideCluster implements ClusterInstance {
    static final int BROKER = 0;
    private static final int CONTROLLER = 3000;
    private static final Set<String> CLASSES_THAT_BROKERS_BRING = Set.of(
        "", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "org.apache.kafka.server.share.persister.DefaultStatePersister");

    private final ClusterConfig wanted;
    private final Map<String, String> settings = new TreeMap<>();
    private OutsideBroker broker;
    private Admin admin;
    private int port;
    /** The cluster and the topic that have the state of a node; empty for a broker. */
    private Optional<JsonNode> state = Optional.empty();
    private boolean started;
    private boolean stopped;

    public OutsideCluster(ClusterConfig wanted) {
        this.wanted = wanted;
    }

    /** Why a test with this cluster cannot be given one broker process; empty when it can. */
    public static Optional<String> whyNot(ClusterConfig wanted, boolean combined) {
        if (combined && wanted.clusterTypes().contains(Type.KRAFT)) {
            return Optional.of("the same test again, with broker and controller in one process of Kafka's");
        }
        if (wanted.numBrokers() != 1) {
            return Optional.of("needs " + wanted.numBrokers() + " brokers");
        }
        if (wanted.brokerSecurityProtocol() != SecurityProtocol.PLAINTEXT) {
            return Optional.of("needs a listener with " + wanted.brokerSecurityProtocol());
        }
        return wanted.serverProperties().entrySet().stream()
            .filter(property -> property.getKey().contains("class"))
            .filter(property -> !CLASSES_THAT_BROKERS_BRING.contains(property.getValue()))
            .map(property -> "puts a class of its own into the broker (" + property.getKey() + ")")
            .sorted()
            .findFirst();
    }

    @Override
    public void start() {
        Map<String, Short> features = new HashMap<>();
        wanted.features().forEach((feature, level) -> features.put(feature.featureName(), level));
        settings.putAll(wanted.serverProperties());
        settings.putAll(wanted.perServerOverrideProperties().getOrDefault(BROKER, Map.of()));
        JsonNode answer = Control.call("start", Map.of("settings", settings, "features", features));
        if (answer.has("left out")) {
            throw new OutsideOnly(answer.get("left out").asText());
        }
        port = answer.get("port").asInt();
        state = Optional.ofNullable(answer.get("state"));
        answer.get("settings").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
        admin = admin(Map.of());
        broker = new OutsideBroker(this);
        started = true;
    }

    @Override
    public void stop() {
        if (started && !stopped) {
            stopped = true;
            admin.close();
            Control.call("remove", Map.of());
        }
    }

    @Override
    public void shutdownBroker(int id) {
        broker.stop();
    }

    @Override
    public void startBroker(int id) {
        broker.startAgain();
    }

    @Override
    public void waitForReadyBrokers() {
        // The broker answered before `start` returned.
    }

    @Override
    public boolean started() {
        return started;
    }

    @Override
    public boolean stopped() {
        return stopped;
    }

    int port() {
        return port;
    }

    @Override
    public <K, V> Consumer<K, V> consumer(Map<String, Object> settings) {
        Consumer<K, V> given = ClusterInstance.super.consumer(settings);
        return state
            .map(one -> StateElsewhere.before(given, one.get("cluster").asText(), one.get("topic").asText()))
            .orElse(given);
    }

    @Override
    public Admin admin(Map<String, Object> settings, boolean ofControllers) {
        Admin given = ClusterInstance.super.admin(settings, ofControllers);
        return state.map(one -> OffsetsElsewhere.before(given, one.get("cluster").asText())).orElse(given);
    }

    /** An admin client that lives as long as the cluster. */
    Admin ownAdmin() {
        return admin;
    }

    /** What the broker was started with, as a server.properties that Kafka's own configuration class accepts. */
    Properties properties() {
        Properties properties = new Properties();
        properties.putAll(settings);
        properties.put("node.id", String.valueOf(BROKER));
        properties.put("process.roles", "broker");
        properties.put("listeners", "EXTERNAL://127.0.0.1:" + port);
        properties.put("inter.broker.listener.name", "EXTERNAL");
        properties.put("listener.security.protocol.map", "EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT");
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put("controller.quorum.voters", CONTROLLER + "@127.0.0.1:1");
        return properties;
    }

    @Override
    public Map<Integer, KafkaBroker> brokers() {
        return Map.of(BROKER, broker.seen());
    }

    /** One to ask for topic ids. It is not among the values: those are waited for until brokers are in step with them. */
    @Override
    public Map<Integer, ControllerServer> controllers() {
        Map<Integer, ControllerServer> controllers = new LinkedHashMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            public Collection<ControllerServer> values() {
                return List.of();
            }
        };
        controllers.put(CONTROLLER, broker.controller());
        return controllers;
    }

    @Override
    public Set<Integer> controllerIds() {
        return Set.of(CONTROLLER);
    }

    @Override
    public List<Integer> brokerBoundPorts() {
        return List.of(port);
    }

    @Override
    public List<Integer> controllerBoundPorts() {
        throw new OutsideOnly("talks to a controller");
    }

    @Override
    public String bootstrapServers() {
        return "127.0.0.1:" + port;
    }

    @Override
    public String bootstrapControllers() {
        throw new OutsideOnly("talks to a controller");
    }

    @Override
    public Set<GroupProtocol> supportedGroupProtocols() {
        return Set.of(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER);
    }

    @Override
    public String clusterId() {
        try {
            return admin.describeCluster().clusterId().get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void waitTopicDeletion(String topic) throws InterruptedException {
        TestUtils.waitForCondition(() -> !admin.listTopics().names().get().contains(topic), topic + " was not deleted");
    }

    @Override
    public Type type() {
        return Type.KRAFT;
    }

    @Override
    public ClusterConfig config() {
        return wanted;
    }

    @Override
    public ListenerName clientListener() {
        return wanted.brokerListenerName();
    }

    @Override
    public ListenerName controllerListenerName() {
        return wanted.controllerListenerName();
    }

    @Override
    public Optional<FaultHandlerException> firstFatalException() {
        return Optional.empty();
    }

    @Override
    public Optional<FaultHandlerException> firstNonFatalException() {
        return Optional.empty();
    }

    public Map<String, Object> setClientSslConfig(Map<String, Object> settings) {
        return settings;
    }

    public void restartBroker(int id, Map<String, Object> settings) {
        throw new OutsideOnly("restarts a broker with other settings");
    }

    public void restartBrokersWithSwappedClientListenerPorts(int one, int other) {
        throw new OutsideOnly("needs 2 brokers");
    }
}
