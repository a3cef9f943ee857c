public class Main {
    public static void main(String[] args) {
        while (true) {
            var thread = new Thread(() -> {
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException e) {
                    return;
                }
            });
            // Daemon threads, because other threads would keep the program alive after this one fails.
            thread.setDaemon(true);
            thread.start();
        }
    }
}
