import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What the kernel keeps for a process, its threads, mappings and descriptors: in the program, its threads, a child and a grandchild. */
public class Main {
  // Numbers and amounts that differ between two new programs as well, and the stack limit, which lets the program start by itself.
  static final Pattern VARIES = Pattern.compile(
      "(State|Tgid|Ngid|Pid|PPid|NS\\w+|Vm\\w+|Rss\\w+|HugetlbPages|SigQ|\\w*voluntary_ctxt_switches|Cpus_allowed(_list)?|Threads):.*|Max stack size.*");
  static final List<String> PLAIN = List.of("rd wr ex mr mw me sh ms io pf dw sd gd ac nr mt de".split(" "));
  static final String OF_PROCESS = "personality limits oom_score_adj loginuid sessionid cgroup uid_map gid_map mountinfo environ coredump_filter timers";

  /** The content of a file, which some kernels do not have. */
  static String read(String path) throws Exception {
    if (!Files.exists(Path.of(path))) return "none";
    return new String(Files.readAllBytes(Path.of(path)), StandardCharsets.ISO_8859_1).replaceAll("(?m)^\\d+ \\d+ \\d+:\\d+ ", "");
  }

  static String lasting(String text) {
    return text.lines().filter(line -> !VARIES.matcher(line).matches()).collect(Collectors.joining("\n"));
  }

  static String ofThread(Path task) throws Exception {
    String[] fields = read(task + "/stat").replaceAll("(?s).*\\) ", "").split(" ");
    List<String> some = new ArrayList<>();
    for (int number : new int[] {7, 18, 19, 21, 25, 38, 40, 41}) some.add(fields[number - 3]);
    return lasting(read(task + "/status")) + some;
  }

  static TreeSet<String> ofMappings() throws Exception {
    TreeSet<String> kinds = new TreeSet<>();
    for (String line : read("/proc/self/smaps").split("\n")) {
      if (!line.startsWith("VmFlags:")) continue;
      TreeSet<String> flags = new TreeSet<>(Arrays.asList(line.substring(9).trim().split(" ")));
      PLAIN.forEach(flags::remove);
      if (!flags.isEmpty()) kinds.add(flags.toString());
    }
    return kinds;
  }

  static void child(String... command) throws Exception {
    System.out.println(lasting(new String(new ProcessBuilder(command).start().getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1)));
  }

  public static void main(String[] args) throws Exception {
    new java.security.SecureRandom().nextInt();
    for (String name : OF_PROCESS.split(" ")) System.out.println(name + " " + lasting(read("/proc/self/" + name)));
    System.out.println(Files.readSymbolicLink(Path.of("/proc/self/cwd")) + " " + ofMappings());
    // Compilers start and end threads as they need them.
    TreeSet<String> threads = new TreeSet<>();
    try (var tasks = Files.list(Path.of("/proc/self/task"))) {
      for (Path task : tasks.toList()) threads.add(ofThread(task));
    }
    threads.removeIf(thread -> thread.contains("CompilerThre") || thread.contains("Common-Cleaner"));
    threads.forEach(System.out::println);
    String child = "cat /proc/self/status /proc/self/limits /proc/self/timerslack_ns /proc/self/personality; ls /proc/self/fd";
    child("/bin/sh", "-c", child + "; sh -c '" + child + "'");
    Thread thread = new Thread(() -> {
      try {
        System.out.println(ofThread(Path.of("/proc/thread-self")));
        child("/bin/sh", "-c", "cat /proc/self/status");
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    });
    thread.start();
    thread.join();
  }
}
