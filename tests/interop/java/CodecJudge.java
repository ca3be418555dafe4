import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Apache Kafka's own message classes as a judge of other codecs.
 *
 * rewrite IN OUT: for each case of IN (UTF class name, int16 version, int32 size, bytes) reads the message and writes it
 * again; OUT gets int32 size and bytes, or -1 and a UTF text of what went wrong.
 * facts: prints the API table and the error codes, tab-separated.
 */
public class CodecJudge {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("facts")) {
            printApis(System.out);
            printErrors(System.out);
        } else {
            rewriteAll(Path.of(arguments[1]), Path.of(arguments[2]));
        }
    }

    private static void rewriteAll(Path from, Path to) throws Exception {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(from)));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(to)))) {
            while (true) {
                String name;
                try {
                    name = in.readUTF();
                } catch (EOFException end) {
                    return;
                }
                short version = in.readShort();
                byte[] data = in.readNBytes(in.readInt());
                try {
                    byte[] answer = rewrite(name, version, data);
                    out.writeInt(answer.length);
                    out.write(answer);
                } catch (Throwable error) {
                    out.writeInt(-1);
                    out.writeUTF(error.toString());
                }
            }
        }
    }

    private static byte[] rewrite(String name, short version, byte[] data) throws Exception {
        Message message = (Message) Class.forName(name).getDeclaredConstructor().newInstance();
        ByteBuffer input = ByteBuffer.wrap(data);
        message.read(new ByteBufferAccessor(input), version);
        if (input.hasRemaining()) {
            throw new IllegalStateException(input.remaining() + " bytes were not read");
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(output), cache, version);
        if (output.hasRemaining()) {
            throw new IllegalStateException(output.remaining() + " bytes were not written");
        }
        return output.array();
    }

    private static void printApis(PrintStream out) {
        for (ApiMessageType api : ApiMessageType.values()) {
            StringBuilder headers = new StringBuilder();
            for (short v = api.lowestSupportedVersion(); v <= api.highestSupportedVersion(true); v++) {
                headers.append(v).append(':').append(api.requestHeaderVersion(v));
                headers.append(':').append(api.responseHeaderVersion(v)).append(' ');
            }
            out.println(String.join("\t", "api", Short.toString(api.apiKey()), api.name(),
                Short.toString(api.lowestSupportedVersion()), Short.toString(api.highestSupportedVersion(true)),
                Short.toString(api.highestSupportedVersion(false)), headers.toString().trim()));
        }
    }

    private static void printErrors(PrintStream out) {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            out.println(String.join("\t", "error", Short.toString(error.code()), error.name(), Boolean.toString(retriable)));
        }
    }
}
