package org.apache.kafka.common.test.junit;

import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import outside.OutsideCluster;

/**
 * Stands before Kafka's own class of this name on the class path: what reads the annotations of a test
 * (ClusterTestExtensions, Kafka's own) makes one for each cluster that the test wants. Kafka's starts brokers in this
 * JVM; this one asks the program that started the JVM for a broker process. The broker stops when the test method has
 * returned, before the test's own clean-up, as in Kafka's.
 */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private final String name;
    private final ClusterConfig wanted;
    private final boolean combined;

    public RaftClusterInvocationContext(String name, ClusterConfig wanted, boolean combined) {
        this.name = name;
        this.wanted = wanted;
        this.combined = combined;
    }

    @Override
    public String getDisplayName(int invocation) {
        return name + " [" + invocation + "]";
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        OutsideCluster cluster = new OutsideCluster(wanted);
        Optional<String> why = OutsideCluster.whyNot(wanted, combined);
        return List.of(
            (ExecutionCondition) context -> why.map(ConditionEvaluationResult::disabled)
                .orElseGet(() -> ConditionEvaluationResult.enabled("one broker is enough")),
            (BeforeEachCallback) context -> {
                if (wanted.isAutoStart()) {
                    cluster.start();
                }
            },
            (AfterTestExecutionCallback) context -> cluster.stop(),
            new ClusterInstanceParameterResolver(cluster));
    }
}
