public class Main {
  static int value = Integer.parseInt("no number");

  public static void main(String[] args) {}
}
