public class Main {
  static void inner() {
    throw new IllegalStateException("inner");
  }

  public static void main(String[] args) throws InterruptedException {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("at exit")));
    Thread second = new Thread(Main::inner, "second");
    second.start();
    second.join();
    try {
      inner();
    } catch (IllegalStateException error) {
      throw new RuntimeException("outer", error);
    }
  }
}
