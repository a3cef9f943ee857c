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
            // Or the others would keep the program alive when this one has failed.
            thread.setDaemon(true);
            thread.start();
        }
    }
}
