import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.nio.file.attribute.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;
import java.util.zip.*;

/** Typical use of Java's library, which the system call filter must allow. */
public class Main {
  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void files() throws Exception {
    Path place = Files.createTempDirectory("typical"), path = place.resolve("a");
    Files.writeString(path, "text\n".repeat(1000));
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096);
      mapped.put(0, (byte) 'T');
      mapped.force();
      mapped.load();
      try (FileLock lock = channel.lock()) {
        check(lock.isValid(), "lock");
      }
      channel.write(ByteBuffer.wrap("x".getBytes()), 10);
      channel.read(ByteBuffer.allocate(10), 0);
      channel.force(true);
      channel.truncate(100);
      try (FileChannel other = FileChannel.open(place.resolve("b"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        channel.transferTo(0, 100, other);
      }
    }
    try (AsynchronousFileChannel channel = AsynchronousFileChannel.open(path)) {
      check(channel.read(ByteBuffer.allocate(10), 0).get() == 10, "asynchronous read");
    }
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.seek(5);
      file.write(1);
      file.setLength(50);
    }
    Files.copy(path, place.resolve("copy"), StandardCopyOption.COPY_ATTRIBUTES);
    Files.createLink(place.resolve("link"), path);
    Files.createSymbolicLink(place.resolve("symbolic"), path);
    Files.readSymbolicLink(place.resolve("symbolic"));
    Files.move(place.resolve("link"), place.resolve("moved"), StandardCopyOption.ATOMIC_MOVE);
    Files.setLastModifiedTime(path, FileTime.fromMillis(1));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    Files.createDirectories(place.resolve("x/y/z"));
    Files.isSameFile(path, path);
    Files.createFile(place.resolve("new"));
    try (var zip = new ZipOutputStream(Files.newOutputStream(place.resolve("zip")))) {
      zip.putNextEntry(new ZipEntry("a"));
    }
    try (Stream<Path> all = Files.walk(place)) {
      all.sorted(Comparator.reverseOrder()).forEach(each -> each.toFile().delete());
    }
  }

  static void threads() throws Exception {
    try (ExecutorService pool = Executors.newFixedThreadPool(4)) {
      List<Future<Integer>> squares = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        int n = i;
        squares.add(pool.submit(() -> n * n));
      }
      check(squares.get(9).get() == 81, "pool");
    }
    try (ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      AtomicInteger sum = new AtomicInteger();
      for (int i = 0; i < 100; i++) virtual.submit(() -> { Thread.sleep(1); return sum.incrementAndGet(); });
      virtual.shutdown();
      check(virtual.awaitTermination(5, TimeUnit.SECONDS) && sum.get() == 100, "virtual threads");
    }
    ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
    timer.schedule(() -> {}, 5, TimeUnit.MILLISECONDS).get();
    timer.shutdownNow();
    check(CompletableFuture.supplyAsync(() -> 1).thenCombine(CompletableFuture.supplyAsync(() -> 2), Integer::sum).get() == 3, "future");
    check(IntStream.range(0, 100_000).parallel().sum() > 0, "parallel stream");
    Lock lock = new ReentrantLock();
    Condition condition = lock.newCondition();
    lock.lock();
    condition.await(1, TimeUnit.MILLISECONDS);
    lock.unlock();
    Thread named = new Thread(() -> LockSupport.parkNanos(1000), "a name of its own");
    named.setPriority(Thread.MAX_PRIORITY);
    named.start();
    named.join();
    Thread.sleep(2);
    System.gc();
  }

  static void processes() throws Exception {
    Process cat = new ProcessBuilder("cat").redirectErrorStream(true).start();
    try (OutputStream to = cat.getOutputStream()) {
      to.write("x".getBytes());
    }
    check(new String(cat.getInputStream().readAllBytes()).equals("x") && cat.waitFor() == 0, "cat");
    Process slept = Runtime.getRuntime().exec(new String[] {"sleep", "10"});
    slept.destroy();
    check(slept.waitFor() == 143, "destroyed");
    ProcessHandle.current().info();
    ProcessHandle.allProcesses().count();
  }

  static void sockets() throws Exception {
    Path path = Path.of("/tmp/socket");
    var address = UnixDomainSocketAddress.of(path);
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX); Selector selector = Selector.open()) {
      server.bind(address);
      server.configureBlocking(false);
      server.register(selector, SelectionKey.OP_ACCEPT);
      try (SocketChannel client = SocketChannel.open(address)) {
        check(selector.select(1000) == 1, "selector");
        try (SocketChannel accepted = server.accept()) {
          client.write(ByteBuffer.wrap("hello".getBytes(StandardCharsets.UTF_8)));
          check(accepted.read(ByteBuffer.allocate(10)) == 5, "socket");
        }
      }
    }
    Pipe pipe = Pipe.open();
    pipe.sink().write(ByteBuffer.wrap(new byte[1]));
    check(pipe.source().read(ByteBuffer.allocate(1)) == 1, "pipe");
    try {
      new Socket("127.0.0.1", 80);
      check(false, "a network");
    } catch (IOException expected) {
    }
  }

  public static void main(String[] args) throws Exception {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {}));
    files();
    threads();
    processes();
    sockets();
    InetAddress.getLoopbackAddress().getHostName();
    System.getenv();
    new java.security.SecureRandom().nextInt();
    Runtime.getRuntime().totalMemory();
    System.in.read();
    System.out.println("ok");
  }
}
