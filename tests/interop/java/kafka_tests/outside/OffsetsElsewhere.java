package outside;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * An admin client of a node that asks the node's cluster about `__consumer_offsets`, which a node does not show. Tests
 * make it before they begin, so that a broker has a group coordinator.
 */
final class OffsetsElsewhere implements InvocationHandler {
    private static final String OFFSETS = "__consumer_offsets";

    private final Admin node;
    private final Admin cluster;

    private OffsetsElsewhere(Admin node, Admin cluster) {
        this.node = node;
        this.cluster = cluster;
    }

    static Admin before(Admin node, String cluster) {
        Admin other = Admin.create(Map.of("bootstrap.servers", cluster));
        Class<?>[] seen = {Admin.class};
        return (Admin) Proxy.newProxyInstance(Admin.class.getClassLoader(), seen, new OffsetsElsewhere(node, other));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        boolean elsewhere = switch (method.getName()) {
            case "createTopics", "describeTopics" -> isOffsets(arguments[0]);
            case "close" -> {
                cluster.close();
                yield false;
            }
            default -> false;
        };
        try {
            return method.invoke(elsewhere ? cluster : node, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static boolean isOffsets(Object topics) {
        if (!(topics instanceof Collection<?> named)) {
            return false;
        }
        List<String> names = named.stream()
            .map(one -> one instanceof NewTopic topic ? topic.name() : String.valueOf(one)).toList();
        return names.equals(List.of(OFFSETS));
    }
}
