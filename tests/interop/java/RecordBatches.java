import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Record batches as Apache Kafka's own classes write them. Prints a name and base64 in each line, with a tab between.
 *
 * Record i of 20 has: no key where i % 3 is 0, else "key-i"; no value where i % 5 is 0, else i times "value-i"; i % 4
 * headers, named "h0", "h1", ..., of which the second has no value and the others their number as one byte; time
 * 1700000000000 + i * 7919 % 1000 - 500, so that differences go both ways. Offsets start at 1000.
 */
public final class RecordBatches {
    private static final long BASE_OFFSET = 1000;
    private static final long NOW = 1_700_000_000_000L;

    public static void main(String[] arguments) {
        for (CompressionType type : CompressionType.values()) {
            print(type.name, TimestampType.CREATE_TIME, type, false);
        }
        print("append time", TimestampType.LOG_APPEND_TIME, CompressionType.NONE, false);
        print("transactional", TimestampType.CREATE_TIME, CompressionType.NONE, true);
        EndTransactionMarker marker = new EndTransactionMarker(ControlRecordType.COMMIT, 0);
        print("commit", MemoryRecords.withEndTransactionMarker(BASE_OFFSET, NOW, -1, 7, (short) 0, marker).buffer());
    }

    private static void print(String name, TimestampType times, CompressionType type, boolean transactional) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
                ByteBuffer.allocate(1 << 16), RecordBatch.CURRENT_MAGIC_VALUE, Compression.of(type).build(), times,
                BASE_OFFSET, NOW, transactional ? 7 : -1, (short) (transactional ? 0 : -1), transactional ? 0 : -1,
                transactional, false, -1, 1 << 16);
        for (int i = 0; i < 20; i++) {
            Header[] headers = new Header[i % 4];
            for (int j = 0; j < headers.length; j++) {
                headers[j] = new RecordHeader("h" + j, j == 1 ? null : new byte[] {(byte) j});
            }
            byte[] key = i % 3 == 0 ? null : bytes("key-" + i);
            byte[] value = i % 5 == 0 ? null : bytes(("value-" + i).repeat(i));
            builder.append(NOW + i * 7919 % 1000 - 500, key, value, headers);
        }
        print(name, builder.build().buffer());
    }

    private static void print(String name, ByteBuffer batch) {
        byte[] data = new byte[batch.remaining()];
        batch.duplicate().get(data);
        System.out.println(name + "\t" + Base64.getEncoder().encodeToString(data));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
