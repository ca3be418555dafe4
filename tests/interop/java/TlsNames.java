import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Scanner;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** A line "name HEX" (DER) or "user HEX HEX" (rules, name) gives "ok HEX", "none" or "error"; texts are UTF-8. */
public class TlsNames {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ", -1);
            try {
                String answer = words[0].equals("name")
                    ? new X500Principal(HEX.parseHex(words[1])).getName()
                    : SslPrincipalMapper.fromRules(text(words[1])).getName(text(words[2]));
                System.out.println("ok " + HEX.formatHex(answer.getBytes(StandardCharsets.UTF_8)));
            } catch (java.io.IOException e) {  // NoMatchingRule cannot be named here: its constructor is not public
                System.out.println("none");
            } catch (RuntimeException e) {
                System.out.println("error");
            }
        }
    }

    private static String text(String hex) {
        return new String(HEX.parseHex(hex), StandardCharsets.UTF_8);
    }
}
