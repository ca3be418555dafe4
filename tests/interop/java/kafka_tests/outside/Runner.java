package outside;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.MethodSelector;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs tests, one line of standard input each: `class`, or `class#method` as `list` prints them.
 *
 * Arguments: `list`, which prints the methods of classes; or `run` and the port of the program that has the brokers,
 * which is sent what begins, what becomes of each test, and when a line is done. Ends with its input.
 */
public final class Runner implements TestExecutionListener {
    /** A failure here comes after everything that a client can see: which registry of the JVM has which metric. */
    private static final String LAST_LOOK = "verifyYammerMetricCount";

    private final Map<String, Long> begun = new ConcurrentHashMap<>();

    private Runner() {
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Launcher launcher = LauncherFactory.create();
        if (arguments[0].equals("list")) {
            list(launcher.discover(request(input.lines().toList())));
        } else {
            Control.connect(Integer.parseInt(arguments[1]));
            for (String name = input.readLine(); name != null; name = input.readLine()) {
                launcher.execute(request(List.of(name)), new Runner());
                Control.call("done", Map.of());
            }
        }
        System.exit(0); // clients that a failed test left behind have threads
    }

    private static LauncherDiscoveryRequest request(List<String> names) {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true");
        for (String name : names) {
            request.selectors(name.contains("#") ? selectMethod(name) : selectClass(name));
        }
        return request.build();
    }

    private static void list(TestPlan plan) {
        List<TestIdentifier> left = new ArrayList<>(plan.getRoots());
        while (!left.isEmpty()) {
            TestIdentifier one = left.remove(left.size() - 1);
            left.addAll(plan.getChildren(one));
            if (one.getSource().orElse(null) instanceof MethodSource method) {
                System.out.println(method.getClassName() + "#" + method.getMethodName()
                    + "(" + method.getMethodParameterTypes() + ")");
            }
        }
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            begun.put(test.getUniqueId(), System.nanoTime());
            Control.call("begin", Map.of("test", name(test)));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        report(name(test), "left out", reason, "", 0);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            return; // a class, or a method with several clusters
        }
        long seconds = (System.nanoTime() - begun.getOrDefault(test.getUniqueId(), System.nanoTime())) / 1_000_000_000;
        Throwable thrown = result.getThrowable().orElse(null);
        Optional<String> why = whyLeftOut(thrown);
        if (why.isPresent()) {
            report(name(test), "left out", why.get(), "", seconds);
        } else if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
            report(name(test), "left out", "leaves itself out: " + thrown.getMessage(), "", seconds);
        } else if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            report(name(test), "passed", "", "", seconds);
        } else {
            report(name(test), "failed", String.valueOf(thrown), trace(thrown), seconds);
        }
    }

    private static void report(String test, String verdict, String reason, String trace, long seconds) {
        Map<String, Object> result = new HashMap<>();
        result.put("test", test);
        result.put("verdict", verdict);
        result.put("reason", reason);
        result.put("trace", trace);
        result.put("seconds", seconds);
        Control.call("end", result);
    }

    private static Optional<String> whyLeftOut(Throwable thrown) {
        for (Throwable one = thrown; one != null; one = one.getCause()) {
            if (one instanceof OutsideOnly) {
                return Optional.of(one.getMessage());
            }
            for (StackTraceElement place : one.getStackTrace()) {
                if (place.getMethodName().equals(LAST_LOOK)) {
                    return Optional.of("passes up to its last look, into the metrics of the broker's JVM");
                }
            }
        }
        return Optional.empty();
    }

    private static String trace(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }

    /** `ShareConsumerTest.testX`, with `#2` behind it for the second cluster of the same test. */
    private static String name(TestIdentifier test) {
        String name = "";
        for (UniqueId.Segment segment : test.getUniqueIdObject().getSegments()) {
            String value = segment.getValue();
            name = switch (segment.getType()) {
                case "class" -> value.substring(value.lastIndexOf('.') + 1);
                case "test-template", "method" -> name + "." + value.substring(0, value.indexOf('('));
                case "test-template-invocation" -> value.equals("#1") ? name : name + value;
                default -> name;
            };
        }
        return name;
    }
}
