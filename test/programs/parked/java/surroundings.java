import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Scanner;
import java.util.TreeMap;

/** What a program can see of the way in which it was started. */
public class Main {
  public static void main(String[] args) throws Exception {
    System.out.println(args.length + " " + Thread.currentThread().getName() + " " + Thread.currentThread().getPriority());
    System.out.println(Arrays.toString(new Throwable().getStackTrace()) + Thread.activeCount());
    for (String name : new String[] {"java.class.path", "sun.java.command", "java.version", "user.dir", "file.encoding", "stdout.encoding", "java.io.tmpdir"})
      System.out.println(name + " " + System.getProperty(name));
    System.out.println(new TreeMap<>(System.getenv()) + " " + Main.class.getClassLoader().getClass().getName());
    String[] open = new File("/proc/self/fd").list();
    System.out.println(Arrays.stream(open).mapToInt(Integer::parseInt).filter(fd -> fd < 3).sum());
    for (String name : open) {
      if (Files.isSymbolicLink(Path.of("/proc/self/fd", name)) && Files.readSymbolicLink(Path.of("/proc/self/fd", name)).toString().contains("eventfd"))
        System.out.println("an eventfd is open");
    }
    System.out.println(Arrays.toString(new File("/tmp").list()) + Runtime.getRuntime().availableProcessors() + " " + Runtime.getRuntime().maxMemory());
    Scanner input = new Scanner(System.in);
    while (input.hasNextLine()) System.out.println("line " + input.nextLine());
  }
}
