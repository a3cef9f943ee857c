import java.io.FileOutputStream;

public class Main {
    public static void main(String[] args) throws Exception {
        try (var file = new FileOutputStream("big")) {
            byte[] block = new byte[65536];
            while (true) file.write(block);
        }
    }
}
