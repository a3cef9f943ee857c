public class Main {
    public static void main(String[] args) throws Exception {
        // The runtime refuses to raise SIGKILL, so a child sends it.
        new ProcessBuilder("/bin/sh", "-c", "kill -KILL $PPID").start().waitFor();
        Thread.sleep(600_000);
    }
}
