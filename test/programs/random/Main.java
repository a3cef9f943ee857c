import java.io.File;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** A line for each random number, from each source: in the program, its threads, a copy, and a child. */
public class Main {
  static synchronized void show(String who) throws Exception {
    StringBuilder lines = new StringBuilder();
    Object[] sources = {
      "Math.random", Math.random(), "Random", new Random().nextLong(), "ThreadLocalRandom", ThreadLocalRandom.current().nextLong(),
      "SplittableRandom", new SplittableRandom().nextLong(), "split", new SplittableRandom().split().nextLong(),
      "RandomGenerator", RandomGenerator.getDefault().nextLong(), "Xoshiro", RandomGenerator.of("Xoshiro256PlusPlus").nextLong(),
      "SecureRandom", new SecureRandom().nextLong(), "strong", SecureRandom.getInstanceStrong().nextLong(),
      "DRBG", SecureRandom.getInstance("DRBG").nextLong(), "SHA1PRNG", SecureRandom.getInstance("SHA1PRNG").nextLong(),
      "UUID", UUID.randomUUID(), "BigInteger", new BigInteger(64, new Random()), "stream", ThreadLocalRandom.current().longs(1).sum(),
      "shuffle", shuffled(), "temporary file", File.createTempFile("assay", "").getName(),
      "key", KeyPairGenerator.getInstance("Ed25519").generateKeyPair().getPublic(),
    };
    for (int i = 0; i < sources.length; i += 2) lines.append(who + " " + sources[i] + "\t" + String.valueOf(sources[i + 1]).replace('\n', ' ') + "\n");
    System.out.print(lines);
    System.out.flush();
  }

  static String shuffled() {
    List<Integer> list = new ArrayList<>(IntStream.range(0, 40).boxed().toList());
    Collections.shuffle(list);
    return list.toString();
  }

  static void run(Thread thread) throws Exception {
    thread.start();
    thread.join();
  }

  static Runnable showing(String who) {
    return () -> {
      try {
        show(who);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    };
  }

  public static void main(String[] args) throws Exception {
    if (new String(System.in.readAllBytes()).equals("copy")) {
      show("copy");
      return;
    }
    show("program");
    for (int i = 0; i < 3; i++) run(new Thread(showing("thread " + i)));
    run(Thread.ofVirtual().unstarted(showing("virtual thread")));
    IntStream.range(0, 4).parallel().forEach(i -> showing("parallel " + i).run());
    // The same command may continue from the same state.
    List<String> command = new ArrayList<>(List.of(Files.readString(Path.of("/proc/self/cmdline")).split("\0")));
    command.removeIf(word -> word.startsWith("-agentpath"));
    Files.writeString(Path.of("input"), "copy");
    Process copy = new ProcessBuilder(command).redirectInput(new File("input")).start();
    System.out.print(new String(copy.getInputStream().readAllBytes()));
    if (copy.waitFor() != 0) throw new IllegalStateException(new String(copy.getErrorStream().readAllBytes()));
    show("program again");
  }
}
