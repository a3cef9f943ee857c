// Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees.
import java.io.FileOutputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;

public class Main {
  interface Attempt {
    void run() throws Exception;
  }

  static String word(Attempt attempt, String done) {
    try {
      attempt.run();
      return done;
    } catch (Exception e) {
      return "cannot";
    }
  }

  public static void main(String[] args) throws Exception {
    Scanner in = new Scanner(System.in);
    String path = in.nextLine();
    int port = in.nextInt();
    System.out.println("file: " + word(() -> Files.readString(Path.of(path)), "read"));
    System.out.println("tcp: " + word(() -> new Socket("127.0.0.1", port), "connected"));
    System.out.println("image: " + word(() -> new FileOutputStream("/usr/attack"), "written"));
    try (var entries = Files.list(Path.of("/proc"))) {
      System.out.println("processes: " + entries.filter(e -> Character.isDigit(e.getFileName().toString().charAt(0))).count());
    }
    System.out.println("environment: " + String.join(" ", System.getenv().keySet()));
  }
}
