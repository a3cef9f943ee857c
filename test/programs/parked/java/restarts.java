import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/** Starts itself again with its own options and more, as programs do that need a larger stack. */
public class Main {
  public static void main(String[] args) throws Exception {
    System.out.println(args.length > 0 ? "again" : "first");
    if (args.length > 0) return;
    List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-Xss128m", "-cp", System.getProperty("java.class.path"), "Main", "again"));
    System.out.flush();
    System.out.println(new ProcessBuilder(command).inheritIO().start().waitFor());
  }
}
