import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.Charset;
import java.nio.file.FileSystems;
import java.util.Locale;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ForkJoinPool;

/** What the JVM has learned about itself, its user and the machine. */
public class Main {
  public static void main(String[] args) throws Exception {
    new TreeMap<>(System.getProperties()).forEach((name, value) -> System.out.println(name + " = " + value));
    for (var pool : ManagementFactory.getMemoryPoolMXBeans())
      System.out.println(pool.getName() + " " + pool.getUsage().getInit() + " " + pool.getUsage().getMax());
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    System.out.println(system.getAvailableProcessors() + " " + system.getTotalMemorySize() + " " + system.getArch());
    var machine = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    for (var option : machine.getDiagnosticOptions()) System.out.println(option.getName() + " " + option.getValue());
    for (String name : "MaxRAM MaxHeapSize InitialHeapSize NewSize ReservedCodeCacheSize CICompilerCount UseTransparentHugePages UseLargePages UseAVX UseNUMA MaxDirectMemorySize".split(" "))
      System.out.println(machine.getVMOption(name));
    System.out.println(ManagementFactory.getRuntimeMXBean().getInputArguments().stream().filter(word -> !word.startsWith("-agentpath")).toList());
    System.out.println(Locale.getDefault() + " " + TimeZone.getDefault().getID() + " " + Charset.defaultCharset() + " " + ForkJoinPool.commonPool().getParallelism());
    System.out.println(ProcessHandle.current().info().user() + " " + new File("x").getAbsolutePath());
    FileSystems.getDefault().getFileStores().forEach(System.out::println);
    TreeSet<String> threads = new TreeSet<>();
    for (Thread thread : Thread.getAllStackTraces().keySet())
      threads.add(thread.getName() + " " + thread.isDaemon() + " " + thread.getPriority() + " " + thread.threadId());
    System.out.println(threads + " " + new Thread().getName() + " " + new Thread().threadId());
    for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) System.out.println(collector.getName() + " " + collector.getCollectionCount());
  }
}
