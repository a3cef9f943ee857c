import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Scanner;

public class Main {
  static final int MOD = 65521;

  static final class Random {
    private int state;

    Random(int seed) {
      state = seed;
    }

    int below(int limit) {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return (state >> 8) % limit;
    }
  }

  record Edge(int target, int weight) {}

  record Entry(long distance, int node) {}

  static long sampleSum(Random random, int count) {
    int[] values = new int[count];
    for (int i = 0; i < count; i++) values[i] = random.below(1000000);
    Arrays.sort(values);
    long sum = 0;
    for (int i = 0; i < count; i += 7) sum += values[i];
    return sum;
  }

  static int countPrimes(int limit) {
    boolean[] composite = new boolean[limit + 1];
    int count = 0;
    for (int n = 2; n <= limit; n++) {
      if (composite[n]) continue;
      count++;
      for (long multiple = (long) n * n; multiple <= limit; multiple += n) composite[(int) multiple] = true;
    }
    return count;
  }

  static long shortestPaths(Random random, int nodes, int edges) {
    List<List<Edge>> graph = new ArrayList<>();
    for (int i = 0; i < nodes; i++) graph.add(new ArrayList<>());
    for (int i = 0; i < edges; i++) {
      int a = random.below(nodes), b = random.below(nodes), weight = 1 + random.below(100);
      graph.get(a).add(new Edge(b, weight));
      graph.get(b).add(new Edge(a, weight));
    }
    long[] distance = new long[nodes];
    Arrays.fill(distance, -1);
    PriorityQueue<Entry> heap = new PriorityQueue<>(Comparator.comparingLong(Entry::distance));
    heap.add(new Entry(0, 0));
    long sum = 0;
    while (!heap.isEmpty()) {
      Entry now = heap.poll();
      if (distance[now.node()] >= 0) continue;
      distance[now.node()] = now.distance();
      sum += now.distance();
      for (Edge edge : graph.get(now.node()))
        if (distance[edge.target()] < 0) heap.add(new Entry(now.distance() + edge.weight(), edge.target()));
    }
    return sum;
  }

  static Map.Entry<String, Integer> frequentWord(Random random, int count) {
    Map<String, Integer> words = new HashMap<>();
    for (int i = 0; i < count; i++) {
      StringBuilder word = new StringBuilder();
      for (int j = 0; j < 4; j++) word.append((char) ('a' + random.below(4)));
      words.merge(word.toString(), 1, Integer::sum);
    }
    return words.entrySet().stream()
        .min(Map.Entry.<String, Integer>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
        .get();
  }

  static int commonSubsequence(Random random, int length) {
    int[] a = new int[length], b = new int[length], row = new int[length + 1];
    for (int i = 0; i < length; i++) a[i] = random.below(4);
    for (int i = 0; i < length; i++) b[i] = random.below(4);
    for (int x : a) {
      int diagonal = 0;
      for (int j = 0; j < length; j++) {
        int above = row[j + 1];
        row[j + 1] = x == b[j] ? diagonal + 1 : Math.max(above, row[j]);
        diagonal = above;
      }
    }
    return row[length];
  }

  static long[][] multiply(long[][] a, long[][] b) {
    int size = a.length;
    long[][] result = new long[size][size];
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++)
        for (int k = 0; k < size; k++) result[i][j] = (result[i][j] + a[i][k] * b[k][j]) % MOD;
    return result;
  }

  static long traceOfPower(Random random, int size, int exponent) {
    long[][] base = new long[size][size], result = new long[size][size];
    for (long[] line : base) for (int j = 0; j < size; j++) line[j] = random.below(MOD);
    for (int i = 0; i < size; i++) result[i][i] = 1;
    for (; exponent > 0; exponent >>= 1) {
      if ((exponent & 1) == 1) result = multiply(result, base);
      base = multiply(base, base);
    }
    long trace = 0;
    for (int i = 0; i < size; i++) trace = (trace + result[i][i]) % MOD;
    return trace;
  }

  static final class Parser {
    private final String text;
    private int at = 0;

    Parser(String text) {
      this.text = text;
    }

    private char peek() {
      return at < text.length() ? text.charAt(at) : 0;
    }

    long total() {
      long value = product();
      while (peek() == '+') {
        at++;
        value = (value + product()) % MOD;
      }
      return value;
    }

    private long product() {
      long value = atom();
      while (peek() == '*') {
        at++;
        value = value * atom() % MOD;
      }
      return value;
    }

    private long atom() {
      long value = 0;
      if (peek() == '(') {
        at++;
        value = total();
        at++;
        return value;
      }
      while (Character.isDigit(peek())) value = value * 10 + text.charAt(at++) - '0';
      return value;
    }
  }

  static String expression(Random random, int terms) {
    StringBuilder text = new StringBuilder("1");
    for (int i = 0; i < terms; i++) {
      text.append("+*".charAt(random.below(2)));
      text.append('(').append(random.below(1000)).append('+').append(random.below(1000)).append(')');
    }
    return text.toString();
  }

  public static void main(String[] args) {
    Scanner input = new Scanner(System.in);
    int size = input.nextInt();
    Random random = new Random(input.nextInt());
    System.out.println("sample " + sampleSum(random, size));
    System.out.println("primes " + countPrimes(size * 4));
    System.out.println("paths " + shortestPaths(random, size / 10, size / 4));
    Map.Entry<String, Integer> word = frequentWord(random, size / 4);
    System.out.println("word " + word.getKey() + " " + word.getValue());
    System.out.println("common " + commonSubsequence(random, size / 50));
    System.out.println("trace " + traceOfPower(random, 6, 1000003));
    System.out.println("value " + new Parser(expression(random, size / 20)).total());
    long sum = 0;
    for (int i = 0; i < size; i++) sum += random.below(1000);
    // Java's %.3f rounds the shortest decimal of the number, other languages the number itself.
    System.out.println("mean " + new BigDecimal((double) sum / size).setScale(3, RoundingMode.HALF_EVEN));
  }
}
