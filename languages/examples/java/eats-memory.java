import java.nio.ByteBuffer;
import java.util.ArrayList;

/** Outside the runtime's heap. */
public class Main {
    public static void main(String[] args) {
        var hoard = new ArrayList<ByteBuffer>();
        while (true) hoard.add(ByteBuffer.allocateDirect(1_000_000));
    }
}
