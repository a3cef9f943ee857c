import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StreamTokenizer;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.*;
import java.util.stream.*;

/** Uses the classes that submitted programs usually use, so that the archives contain them. */
public class Main {
  record Edge(int to, long weight) {}

  sealed interface Shape permits Circle, Square {}

  record Circle(double radius) implements Shape {}

  record Square(double side) implements Shape {}

  enum Colour { RED, GREEN }

  static abstract class Animal implements Comparable<Animal> {
    final String name;

    Animal(String name) { this.name = name; }

    abstract String sound();

    @Override public int compareTo(Animal other) { return name.compareTo(other.name); }

    @Override public String toString() { return name + ": " + sound(); }
  }

  static class Dog extends Animal {
    Dog(String name) { super(name); }

    @Override String sound() { return "woof"; }
  }

  static class Pair<A, B> {
    private final A first;
    private final B second;

    Pair(A first, B second) { this.first = first; this.second = second; }

    A first() { return first; }

    B second() { return second; }
  }

  static double area(Shape shape) {
    return switch (shape) {
      case Circle c -> Math.PI * c.radius() * c.radius();
      case Square s -> s.side() * s.side();
    };
  }

  static <T extends Comparable<T>> T largest(Collection<? extends T> values) {
    T best = null;
    for (T value : values) if (best == null || value.compareTo(best) > 0) best = value;
    return best;
  }

  public static void main(String[] args) throws IOException, InterruptedException, ExecutionException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    Map<String, Integer> words = new TreeMap<>();
    String line;
    while ((line = in.readLine()) != null) {
      StringTokenizer tokens = new StringTokenizer(line);
      while (tokens.hasMoreTokens()) words.merge(tokens.nextToken(), 1, Integer::sum);
      for (String part : line.split("\\s+")) words.computeIfAbsent(part.trim().toLowerCase(), k -> k.length());
    }

    int n = 200;
    List<List<Edge>> graph = new ArrayList<>();
    for (int i = 0; i < n; i++) graph.add(new ArrayList<>());
    Random random = new Random(1);
    for (int i = 0; i < 800; i++) graph.get(random.nextInt(n)).add(new Edge(random.nextInt(n), random.nextInt(100)));
    long[] distance = new long[n];
    Arrays.fill(distance, Long.MAX_VALUE);
    distance[0] = 0;
    PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
    queue.add(new long[] {0, 0});
    while (!queue.isEmpty()) {
      long[] top = queue.poll();
      for (Edge edge : graph.get((int) top[1])) {
        long next = top[0] + edge.weight();
        if (next < distance[edge.to()]) {
          distance[edge.to()] = next;
          queue.offer(new long[] {next, edge.to()});
        }
      }
    }

    Deque<Integer> deque = new ArrayDeque<>(List.of(1, 2, 3));
    LinkedList<Integer> linked = new LinkedList<>(deque);
    Set<Integer> set = new HashSet<>(linked);
    Set<String> sorted = new TreeSet<>(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
    sorted.addAll(words.keySet());
    BitSet bits = new BitSet(100);
    bits.set(3);
    Integer[] boxed = {3, 1, 2};
    Arrays.sort(boxed, Collections.reverseOrder());
    List<Animal> animals = new ArrayList<>(List.of(new Dog("Rex"), new Dog("Bo")));
    Collections.sort(animals);
    System.out.println(animals + " " + largest(animals) + " " + set + deque + bits + Arrays.toString(boxed));
    System.out.println(new Pair<>("a", 1).first() + new Pair<>("a", 1L).second() + 'c' + 1.5 + true + 2.5f);
    System.out.println(IntStream.rangeClosed(1, 10).boxed().collect(Collectors.groupingBy(x -> x % 3, Collectors.counting())));
    System.out.println(Stream.of("b", "a").sorted().map(String::toUpperCase).collect(Collectors.joining(",", "[", "]")));
    System.out.println(Arrays.stream(distance).filter(d -> d < Long.MAX_VALUE).summaryStatistics());
    System.out.printf("%d %5.2f %s %x%n", words.size(), area(new Circle(2)) + area(new Square(3)), Colour.GREEN, 255);
    System.out.println(String.format("%08d|%-5s|%,d", 42, "x", 1234567));
    System.out.println(BigInteger.TWO.pow(100).mod(BigInteger.valueOf(97)) + " " + new BigDecimal("1.10").add(BigDecimal.ONE));
    System.out.println(Optional.of("x").map(s -> s + s).orElse("none") + EnumSet.allOf(Colour.class) + new EnumMap<>(Map.of(Colour.RED, 1)));

    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 1000; i++) text.append(i).append(' ');
    text.reverse().insert(0, "x").setLength(20);
    StreamTokenizer numbers = new StreamTokenizer(new StringReader("1 2 3"));
    numbers.nextToken();
    Scanner scanner = new Scanner("1 2.5 word 9999999999\nlast line");
    System.out.println(scanner.nextInt() + scanner.nextDouble() + scanner.next() + scanner.nextLong() + scanner.nextLine() + scanner.nextLine());

    ExecutorService pool = Executors.newFixedThreadPool(2);
    AtomicInteger counter = new AtomicInteger();
    List<Future<Integer>> futures = new ArrayList<>();
    for (int i = 0; i < 4; i++) futures.add(pool.submit(counter::incrementAndGet));
    for (Future<Integer> future : futures) future.get();
    pool.shutdown();
    Thread thread = new Thread(() -> new ConcurrentHashMap<String, Integer>().put("a", counter.get()));
    thread.start();
    thread.join();
    CompletableFuture.supplyAsync(() -> 1).thenApply(x -> x + 1).join();

    Function<Integer, Integer> twice = x -> 2 * x;
    BiFunction<Integer, Integer, Integer> sum = Integer::sum;
    Supplier<List<String>> list = ArrayList::new;
    Runnable nothing = () -> {};
    nothing.run();
    try {
      list.get().add(Integer.toString(twice.andThen(twice).apply(sum.apply(1, 2))));
      Object[] none = new Object[0];
      System.out.println(none[1]);
    } catch (ArrayIndexOutOfBoundsException | NullPointerException expected) {
      expected.printStackTrace(new PrintWriter(System.out, true));
    }
    try {
      Integer.parseInt("x");
    } catch (NumberFormatException expected) {
      System.err.println(expected.getMessage());
    } finally {
      System.out.flush();
    }
  }
}
