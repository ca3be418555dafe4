import java.util.TreeMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;

/** Prints Apache Kafka's definitions of broker and group properties: kind, name, type, default, bounds, internal. */
public class ConfigKeys {
    public static void main(String[] arguments) {
        print("broker", KafkaConfig.configDef());
        print("group", GroupConfig.CONFIG_DEF);
    }

    private static void print(String kind, ConfigDef definition) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(definition.configKeys()).values()) {
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            System.out.println(String.join("\t", kind, key.name, key.type.name(), String.valueOf(value),
                String.valueOf(key.validator), String.valueOf(key.internalConfig)));
        }
    }
}
