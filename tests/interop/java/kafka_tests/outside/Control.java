package outside;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The program that started this JVM: it has the broker processes, and writes down what becomes of the tests. */
public final class Control {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static Control control;

    private final Socket socket;
    private final BufferedReader answers;

    private Control(int port) throws IOException {
        socket = new Socket("127.0.0.1", port);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    static void connect(int port) throws IOException {
        control = new Control(port);
    }

    /** The answer to a command. Throws IllegalStateException with the message where it is an error. */
    public static synchronized JsonNode call(String command, Map<String, ?> arguments) {
        Map<String, Object> line = new HashMap<>(arguments);
        line.put("do", command);
        JsonNode answer = control.exchange(line);
        if (answer.has("error")) {
            throw new IllegalStateException(answer.get("error").asText());
        }
        return answer;
    }

    private JsonNode exchange(Map<String, Object> line) {
        try {
            socket.getOutputStream().write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
            String answer = answers.readLine();
            if (answer == null) {
                throw new IllegalStateException("the program that has the brokers has gone");
            }
            return JSON.readTree(answer);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
