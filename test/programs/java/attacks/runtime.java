// Features of the JVM: Unsafe, foreign functions, processes, attaching. Prints a line for each attempt.
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.Optional;

public class Main {
  interface Attempt {
    Object run() throws Throwable;
  }

  static void report(String name, Attempt attempt) {
    String word;
    try {
      word = String.valueOf(attempt.run());
    } catch (Throwable e) {
      word = e.getClass().getSimpleName();
    }
    System.out.println(name + ": " + word);
  }

  static Class<?> foreign(String name) throws Exception {
    return Class.forName("java.lang.foreign." + name);
  }

  /** Calls a C function with one int. By reflection, because the compiler requires a flag for this interface and the JVM does not. */
  static int call(String symbol, int argument) throws Throwable {
    Class<?> linkers = foreign("Linker"), layouts = foreign("MemoryLayout"), descriptors = foreign("FunctionDescriptor");
    Object linker = linkers.getMethod("nativeLinker").invoke(null);
    Object lookup = linkers.getMethod("defaultLookup").invoke(linker);
    Object address = ((Optional<?>) foreign("SymbolLookup").getMethod("find", String.class).invoke(lookup, symbol)).get();
    Object number = foreign("ValueLayout").getField("JAVA_INT").get(null);
    Object arguments = Array.newInstance(layouts, 1), options = Array.newInstance(foreign("Linker$Option"), 0);
    Array.set(arguments, 0, number);
    Object descriptor = descriptors.getMethod("of", layouts, arguments.getClass()).invoke(null, number, arguments);
    var handle = linkers.getMethod("downcallHandle", foreign("MemorySegment"), descriptors, options.getClass());
    return (int) ((MethodHandle) handle.invoke(linker, address, descriptor, options)).invoke(argument);
  }

  public static void main(String[] args) {
    // First, while there are no children.
    report("visible processes", () -> ProcessHandle.allProcesses().count());
    report("root by foreign functions", () -> call("setuid", 0));
    report("namespace by foreign functions", () -> call("unshare", 0x10000000));
    report("memory of the process by Unsafe", () -> {
      var field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
      field.setAccessible(true);
      var unsafe = (sun.misc.Unsafe) field.get(null);
      long at = unsafe.allocateMemory(8);
      unsafe.putLong(at, 42);
      return unsafe.getLong(at) == 42 ? "only its own" : "another's";
    });
    report("child", () -> {
      Process id = new ProcessBuilder("/usr/bin/id", "-u").start();
      return id.inputReader().readLine().equals("0") ? "root" : "nobody";
    });
    report("child's descriptors", () -> new ProcessBuilder("/bin/sh", "-c", "echo /proc/self/fd/*").start().inputReader().readLine());
    report("listen", () -> ServerSocketChannel.open().bind(null));
    report("datagrams", () -> new DatagramSocket());
    report("names", () -> InetAddress.getByName("example.com"));
    report("active interfaces", () -> {
      var all = NetworkInterface.getNetworkInterfaces();
      return all == null ? 0 : Collections.list(all).stream().filter(i -> { try { return i.isUp(); } catch (Exception e) { return false; } }).count();
    });
    report("set-uid file", () -> {
      Files.copy(Path.of("/usr/bin/id"), Path.of("copy"));
      new ProcessBuilder("/bin/chmod", "4755", "copy").start().waitFor();
      return new ProcessBuilder("./copy", "-u").start().inputReader().readLine().equals("0") ? "root" : "nobody";
    });
    report("executable in tmp", () -> {
      Files.copy(Path.of("/usr/bin/id"), Path.of("/tmp/copy"));
      Files.setPosixFilePermissions(Path.of("/tmp/copy"), PosixFilePermissions.fromString("rwxr-xr-x"));
      return new ProcessBuilder("/tmp/copy").start().waitFor();
    });
    report("owner of the image's files", () -> Files.getOwner(Path.of("/usr")).getName());
    report("agent of another process", () -> new ProcessBuilder("/bin/sh", "-c", "kill -QUIT 1").start().waitFor());
    report("host name", () -> Files.exists(Path.of("/etc/hostname")));
  }
}
