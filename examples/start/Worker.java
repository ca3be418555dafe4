import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Worker {
    public static void main(String[] arguments) throws Exception {
        Properties common = new Properties();
        common.put("bootstrap.servers", arguments[0]);

        try (KafkaProducer<String, String> producer = new KafkaProducer<>(common, new StringSerializer(), new StringSerializer())) {
            for (String job : List.of("wash the car", "divide by zero", "water the plants")) {
                producer.send(new ProducerRecord<>("java-jobs", job)).get(); // returns when the broker has it
            }
        }

        try (Admin admin = Admin.create(common)) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "java-helpers");
            ConfigEntry begin = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(Map.of(group, List.of(new AlterConfigOp(begin, AlterConfigOp.OpType.SET)))).all().get();
        }

        Properties worker = new Properties();
        worker.putAll(common);
        worker.put("group.id", "java-helpers");
        worker.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(worker, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("java-jobs"));
            int ended = 0;
            while (ended < 3) { // a real worker goes on for ever
                for (ConsumerRecord<String, String> job : consumer.poll(Duration.ofSeconds(1))) {
                    boolean failed = job.value().equals("divide by zero");
                    boolean last = job.deliveryCount().orElse((short) 1) == 3;
                    AcknowledgeType verdict = !failed ? AcknowledgeType.ACCEPT : last ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE;
                    System.out.println(job.value() + ": " + verdict);
                    consumer.acknowledge(job, verdict);
                    ended += verdict == AcknowledgeType.RELEASE ? 0 : 1;
                }
                consumer.commitSync(); // returns when the broker has written it down
            }
        }
    }
}
