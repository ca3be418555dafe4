package outside;

/** A test asked for something that a broker in another process does not have. Its message is why the test is left out. */
public class OutsideOnly extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public OutsideOnly(String why) {
        super(why);
    }
}
